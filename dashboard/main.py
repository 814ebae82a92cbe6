"""What a browser gets: the sidebar and the pages."""

from pathlib import Path

import streamlit as st

from dashboard import sidebar
from dashboard.sidebar import Chosen
from dashboard.state import choice
from dashboard.views import attention, bugs, inside, masks, positions

PAGES = {
    "attention": attention.draw,
    "masks": masks.draw,
    "inside": inside.draw,
    "positions": positions.draw,
    "bugs": bugs.draw,
}


@st.fragment(key="page")
def _page(chosen: Chosen) -> None:
    """Another page needs nothing of the sidebar."""
    titles = {name: chosen.words[f"page.{name}"] for name in PAGES}
    # Streamlit's own pages would each begin with an empty address; here one address holds the choices of every page.
    strip = st.container(key="pages")
    page = choice(chosen.words["pages"], "page", list(PAGES), "attention", titles.__getitem__, strip, hide_label=True)
    PAGES[page](chosen)


st.set_page_config(page_title="Headlight", page_icon="🔦", layout="wide", initial_sidebar_state=280)
st.html(Path(__file__).parent / "page.css")
with st.sidebar:
    chosen = sidebar.draw()
_page(chosen)
