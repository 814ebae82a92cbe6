"""The overview: every head of a kind as a small picture that can be clicked."""

from collections.abc import Callable, Sequence
from dataclasses import asdict

import numpy as np
import streamlit as st

from dashboard.components import javascript, packed
from dashboard.figures.colours import Colours

_CSS = """
.grid { display: grid; gap: 0.5rem; align-items: center; }
span { font-size: 0.78rem; opacity: 0.75; text-align: center; font-variant-numeric: tabular-nums; }
button {
  all: unset; cursor: pointer; display: block; aspect-ratio: 1.15; border-radius: 2px;
  outline: 1px solid var(--st-border-color);
}
button:hover { outline: 2px solid var(--st-text-color); }
button:focus-visible { outline: 3px solid var(--st-text-color); outline-offset: 2px; }
button[aria-pressed="true"] { outline: 3px solid var(--selected); }
canvas { display: block; width: 100%; height: 100%; image-rendering: pixelated; }
"""
_COMPONENT = st.components.v2.component(
    "headlight_heads_grid", html="<div class='grid' role='group'></div>", css=_CSS, js=javascript("heads_grid")
)


def heads_grid(
    tiles: np.ndarray,
    selected: tuple[int, int | None],
    titles: Sequence[str],
    colours: Colours,
    name: str,
    key: str,
    on_select: Callable[[], None],
) -> None:
    """Show a grid, one row a layer.

    Args:
        tiles: (layers, heads, rows, columns) bytes, as :func:`dashboard.figures.tiles.tiles` makes them.
        selected: layer and head, or None for every head of the layer.
        titles: of each tile, row by row.
        on_select: called after a click; ``st.session_state[key].head`` is then [layer, head], from 0.
    """
    header = {
        "cells": tiles.reshape(-1),
        "shape": tiles.shape,
        "selected": selected,
        "titles": list(titles),
        "colours": asdict(colours),
        "name": name,
    }
    _COMPONENT(data=packed(header), key=key, on_head_change=on_select)
