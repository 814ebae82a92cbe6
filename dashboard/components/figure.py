"""The one painter of figures: plotly's own JavaScript, kept mounted from one figure to the next."""

from pathlib import Path

import plotly.graph_objects as go
import streamlit as st

from dashboard.components import javascript, packed
from dashboard.words import Words

_CSS = (Path(__file__).parent / "figure.css").read_text(encoding="utf-8")
_COMPONENT = st.components.v2.component(
    "headlight_figure",
    html=(
        "<div class='headlight-area'><div class='headlight-figure' role='img'></div>"
        "<div class='headlight-hover' hidden></div></div>"
    ),
    css=_CSS,
    js=javascript("figure"),
    isolate_styles=False,  # plotly's own style sheet stands in the page and would not reach a shadow root
)
_BUTTONS = {"Download plot": "save", "Zoom": "zoom", "Pan": "pan", "Reset axes": "reset"}  # plotly's names for them


def figure(drawn: go.Figure, name: str, words: Words, key: str) -> None:
    """Paint a figure.

    Args:
        drawn: arrays in it travel as bytes.
        name: what it shows, in words; for screen readers, and on the element once it is painted.
        words: for the buttons beside it.
        key: the same from run to run, so that the element stays and the zoom with it.
    """
    config = {
        "displaylogo": False,
        "showTips": False,
        "modeBarButtons": [["toImage", "zoom2d", "pan2d", "resetScale2d"]],
        "toImageButtonOptions": {"format": "svg", "filename": "headlight"},
        "locale": "ours",
        "locales": {"ours": {"dictionary": {button: words[f"picture.{ours}"] for button, ours in _BUTTONS.items()}}},
    }
    header = {
        "plotly": plotly_url(),
        "traces": [trace.to_plotly_json() for trace in drawn.data],
        "layout": drawn.layout.to_plotly_json(),
        "config": config,
        "name": name,
    }
    _COMPONENT(data=packed(header), key=key, on_theme_change=lambda: None)


def plotly_url() -> str:
    """Where ``app.py`` serves plotly's JavaScript."""
    base = str(st.get_option("server.baseUrlPath") or "").strip("/")
    return "/".join(["", *([base] if base else []), "plotly/plotly.min.js"])
