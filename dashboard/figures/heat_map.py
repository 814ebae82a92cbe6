"""The pattern of one head as a heat map: rows are queries, columns are keys.

L query length · S key length
"""

import html
import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from dashboard.figures.colours import Colours, readable

MOST_CELLS_WITH_GAPS = 60
MOST_ROW_LABELS, MOST_COLUMN_LABELS = 28, 36  # what can be read on a screen of 1280 x 800
MOST_CHARACTERS_IN_A_ROW = 52
MOST_COLUMNS_WITH_NUMBERS, MOST_ROWS_WITH_NUMBERS = 16, 24
SMALLEST_NUMBER_SHOWN = 0.3  # as a share of full colour
TOKEN_FONT = "'Source Code Pro', 'Noto Sans Mono CJK SC', 'Noto Sans CJK SC', monospace"


@dataclass(frozen=True)
class Axis:
    """What stands along one side: its title and a label for each row or column."""

    title: str
    labels: Sequence[str]


def heat_map(
    weights: np.ndarray,
    scores: np.ndarray,
    blocked: np.ndarray,
    queries: Axis,
    keys: Axis,
    hover: dict[str, str],
    colours: Colours,
    full: float,
    same_place: str,
) -> go.Figure:
    """Draw a pattern, blocked cells apart from small ones.

    Args:
        weights: (L, S), 0 to 1.
        scores: (L, S), for the hover.
        blocked: (L, S) bool: cells that the mask forbids, drawn as such and never as a weight.
        hover: what the hover calls query, key, weight, score and a blocked cell.
        full: the weight from which on a cell has the full colour.
        same_place: zoom is kept from one figure to the next while this stays.

    Returns:
        A figure whose axes are numbers with the labels as tick texts, so that equal tokens keep places of their own.
        ``layout.meta`` holds all labels and the hover's words, for the component that paints it.
    """
    weights = np.where(blocked, np.nan, weights).astype(np.float32)
    cell_gap = 1 if max(weights.shape) <= MOST_CELLS_WITH_GAPS else 0
    shared = {"xgap": cell_gap, "ygap": cell_gap, "hoverinfo": "none", "showscale": False}
    traces: list[go.Heatmap | go.Scatter] = [
        go.Heatmap(
            name="weights",
            z=weights,
            customdata=scores.astype(np.float32),
            zmin=0,
            zmax=full,
            colorscale=[[0, colours.background], [1, colours.strong]],
            **shared,
        )
    ]
    if blocked.any():
        grey = [[0, colours.blocked], [1, colours.blocked]]
        z = np.where(blocked, 1, np.nan).astype(np.float32)
        traces.append(go.Heatmap(name="blocked", z=z, colorscale=grey, **shared))
    if weights.shape[1] <= MOST_COLUMNS_WITH_NUMBERS and weights.shape[0] <= MOST_ROWS_WITH_NUMBERS:
        traces.append(_numbers(weights, full, colours))
    rows, columns = weights.shape
    layout = go.Layout(
        template="none",
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor=colours.blocked if cell_gap else colours.background,
        font={"color": colours.text, "family": "'Source Sans', sans-serif", "size": 13},
        margin={"l": 96, "r": 46, "t": 84, "b": 10},  # room for most labels, so that the picture stays in place
        showlegend=False,
        uirevision=same_place,
        dragmode="zoom",
        modebar={"orientation": "v", "bgcolor": "rgba(0,0,0,0)", "color": colours.faint, "activecolor": colours.strong},
        meta={"queries": list(queries.labels), "keys": list(keys.labels), "hover": hover},
        # Ranges are given: left to itself, plotly would widen them for the numbers in the outer cells.
        xaxis=_axis(keys, colours, MOST_COLUMN_LABELS, _fit_side_by_side(keys.labels))
        | {"side": "top", "range": [-0.5, columns - 0.5]},
        yaxis=_axis(queries, colours, MOST_ROW_LABELS, upright=True) | {"range": [rows - 0.5, -0.5]},
    )
    return go.Figure(traces, layout)


def shown_labels(labels: Sequence[str], most: int) -> tuple[list[int], list[str]]:
    """Where labels stand and what they say: all, or every second, third, … and the last, at most ``most``.

    They are escaped: the painter takes a token such as ``<b>`` for a command otherwise.
    """
    last = len(labels) - 1
    step = max(1, math.ceil(len(labels) / most))
    places = [place for place in range(0, last, step) if last - place >= step] + [last]
    return places, [html.escape(labels[place], quote=False) for place in places]


def _fit_side_by_side(labels: Sequence[str]) -> bool:
    """Whether the labels can stand upright next to each other above a picture of the usual width."""
    return len(labels) * max(map(_width, labels)) <= MOST_CHARACTERS_IN_A_ROW


def _width(label: str) -> int:
    """In columns of a monospaced face; Chinese and the like take two."""
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in label)


def _axis(axis: Axis, colours: Colours, most_labels: int, upright: bool) -> dict[str, object]:
    places, texts = shown_labels(axis.labels, most_labels)
    size = 15 if len(axis.labels) <= 12 else 14 if len(axis.labels) <= 20 else 12
    return {
        "title": {"text": html.escape(axis.title), "font": {"size": 13, "color": colours.faint}, "standoff": 8},
        "tickmode": "array",
        "tickvals": places,
        "ticktext": texts,
        "tickfont": {"family": TOKEN_FONT, "size": size},
        "tickangle": 0 if upright else -45 if len(axis.labels) <= 20 else -90,
        "automargin": True,
        "showgrid": False,
        "zeroline": False,
        "ticks": "",
        "ticklabelstandoff": 6,
    }


def _numbers(weights: np.ndarray, full: float, colours: Colours) -> go.Scatter:
    """The large weights, written into their cells."""
    rows, columns = np.nonzero(np.nan_to_num(weights) >= SMALLEST_NUMBER_SHOWN * full)
    values = weights[rows, columns]
    colour = [readable(value / full, colours) for value in values]
    return go.Scatter(
        name="numbers",
        x=columns.tolist(),
        y=rows.tolist(),
        text=[f"{value:.2f}" for value in values],
        mode="text",
        textfont={"size": 13 if max(weights.shape) <= 14 else 11, "color": colour},
        hoverinfo="skip",
    )
