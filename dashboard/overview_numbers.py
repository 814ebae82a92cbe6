"""Every head of a run as a small picture, with its strongest pair.

H heads · L query length · S key length, in the units that the viewer chose
"""

from typing import Any, Literal

import numpy as np

from dashboard.figures.tiles import tiles
from dashboard.numbers import Quantity, Tokens, cells_of, is_long, scale_of
from dashboard.runs import Answer
from dashboard.selection import Rows, kinds_of, sites_of
from transformer.recording import Kind
from transformer.units import Units


def overview_numbers(
    answer: Answer, quantity: Literal["weight", "norm"], rows: dict[Kind, Rows], tokens: Tokens
) -> dict[str, Any]:
    """Every head of the kinds that are not long.

    Returns:
        ``kinds``: of each its ``sizes``, the rows and columns of a small picture in each layer; and head by head, layer
        after layer, the ``tiles`` and the ``strongest`` pair.
    """
    kinds = [kind for kind in kinds_of(answer.recording) if not is_long(answer.recording, kind)]
    return {"kinds": [_kind_numbers(answer, kind, quantity, rows.get(kind, "read"), tokens) for kind in kinds]}


def _kind_numbers(answer: Answer, kind: Kind, quantity: Quantity, rows: Rows, tokens: Tokens) -> dict[str, Any]:
    sizes, small, strongest = [], [], []
    for site in sites_of(answer.recording, kind):
        seen = cells_of(answer, site, None, quantity, rows, tokens)
        full = scale_of(answer.recording, site, quantity, seen.cells)[1]
        drawn = tiles(seen.cells / full, np.isnan(seen.cells), full=1.0)
        sizes.append(drawn.shape[-2:])
        small += list(drawn)
        strongest += [_strongest(cells, seen.queries, seen.keys) for cells in seen.cells]
    return {"kind": kind, "sizes": sizes, "tiles": small, "strongest": strongest}


def _strongest(cells: np.ndarray, queries: Units, keys: Units) -> dict[str, Any] | None:
    if not np.isfinite(cells).any():
        return None
    row, column = np.unravel_index(int(np.nanargmax(cells)), cells.shape)
    return {"query": queries.labels[row], "key": keys.labels[column], "weight": round(float(cells[row, column]), 6)}
