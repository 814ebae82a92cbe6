"""What a browser gets: the sidebar and the pages."""

from pathlib import Path

import streamlit as st

from dashboard import sidebar
from dashboard.views import attention

st.set_page_config(page_title="Headlight", page_icon="🔦", layout="wide", initial_sidebar_state=280)
st.html(Path(__file__).parent / "page.css")
with st.sidebar:
    chosen = sidebar.draw()
page = st.navigation([st.Page(lambda: attention.draw(chosen), title=chosen.words["page.attention"], default=True)])
page.run()
