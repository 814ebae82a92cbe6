"""The least a Streamlit page can do when a slider moves: the yardstick for ours."""

import gc

import streamlit as st


@st.cache_resource
def frozen() -> bool:
    gc.collect()
    gc.freeze()
    return True


frozen()
st.text(f"value {st.slider('Value', 1, 4)}")
