"""The numbers of a head of a long text: the part in view, shrunk to what a screen can show.

L query length · S key length
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, Literal

import numpy as np

from dashboard.captions import brief
from dashboard.figures.tiles import BLOCKED, MOST_CELLS
from dashboard.numbers import Quantity, row_labels, scale_of, size_of
from dashboard.runs import Answer
from dashboard.selection import Pool, Rows, site_at
from dashboard.words import Words
from transformer.pooling import Pooled, Proceed, Window, bin_edges, pooled, strongest
from transformer.recording import Kind, Recording, Site

MOST_BINS = 512  # along each side of what is sent: with four bytes a bin 1 MB
MOST_LABELS = 1_024  # rows or columns in view whose tokens are sent


def window_numbers(
    answer: Answer,
    kind: Kind,
    layer: int,
    head: int | Literal["mean"],
    quantity: Quantity,
    naming: Rows,
    window: tuple[Window, Window],
    size: tuple[int, int],
    pool: Pool,
    words: Words,
    proceed: Proceed | None = None,
) -> dict[str, Any]:
    """Rows and columns in view, pooled to at most ``size`` bins.

    Raises:
        KeyError, IndexError: no such layer, head or window.
        ValueError: a size below 1.
        Stopped: ``proceed`` said no.
    """
    site = site_at(answer.recording, kind, layer)
    length, keys = size_of(answer.recording, site)
    rows, columns = window[0] or (0, length), window[1] or (0, keys)
    bins = min(size[0], MOST_BINS), min(size[1], MOST_BINS)
    seen = _pooled(answer, site, head, quantity, (rows, columns), bins, proceed)
    cells = seen.max if pool == "max" else seen.mean
    low, high = scale_of(answer.recording, site, quantity, np.stack([seen.mean, seen.max]))
    queries, names = row_labels(answer, site, naming), answer.recording.key_tokens(site)
    return {
        "kind": kind,
        "quantity": quantity,
        "total": [length, keys],
        "window": {"rows": rows, "columns": columns},
        "bins": cells.shape,
        "queries": _labels(queries, *rows),
        "keys": _labels(names, *columns),
        "cells": cells,
        "low": low,
        "high": high,
        "pool": pool,
        "caption": _sentence(answer, site, head, seen, rows, columns, words),
    }


def tile_numbers(
    answer: Answer, kind: Kind, layer: int, head: int, quantity: Quantity, proceed: Proceed | None = None
) -> dict[str, Any]:
    """One head of a long text as a small picture of bytes, the largest cell of each bin."""
    site = site_at(answer.recording, kind, layer)
    length, keys = size_of(answer.recording, site)
    small = _pooled(answer, site, head, quantity, ((0, length), (0, keys)), (MOST_CELLS, MOST_CELLS), proceed).max
    full = scale_of(answer.recording, site, quantity, small)[1]
    shares = np.nan_to_num(np.clip(small / full, 0, 1)) * (BLOCKED - 1)
    return {
        "rows": small.shape[0],
        "columns": small.shape[1],
        "cells": np.where(np.isnan(small), BLOCKED, np.round(shares)).astype(np.uint8),
    }


def _pooled(
    answer: Answer,
    site: Site,
    head: int | Literal["mean"],
    quantity: Quantity,
    window: tuple[tuple[int, int], tuple[int, int]],
    bins: tuple[int, int],
    proceed: Proceed | None,
) -> Pooled:
    read = Recording.weighted_norms if quantity == "norm" else quantity
    return pooled(answer.recording, site, head, *window, bins, quantity=read, proceed=proceed)


def _labels(labels: Sequence[str], begin: int, end: int) -> list[str] | None:
    return list(labels[begin:end]) if end - begin <= MOST_LABELS else None


def _sentence(
    answer: Answer,
    site: Site,
    head: int | Literal["mean"],
    seen: Pooled,
    rows: tuple[int, int],
    columns: tuple[int, int],
    words: Words,
) -> list[tuple[str, bool]]:
    """Where the strongest cell in view stands: found among the bins, then within its bin."""
    if not np.isfinite(seen.max).any():
        return [(words["caption.nothing"], False)]
    row, column = np.unravel_index(int(np.nanargmax(seen.max)), seen.max.shape)
    within = partial(_bin, seen.max.shape)
    found = strongest(
        answer.recording,
        site,
        head,
        most=1,
        rows=within(0, int(row), rows),
        columns=within(1, int(column), columns),
    )
    if not found:
        return [(words["caption.nothing"], False)]
    query, key, weight = found[0]
    gaps = {"row": query + 1, "column": key + 1, "weight": brief(weight)}
    return [(words("caption.long", **gaps), False)]


def _bin(shape: tuple[int, int], axis: int, place: int, window: tuple[int, int]) -> tuple[int, int]:
    begin, end = window
    edges = bin_edges(end - begin, shape[axis]) + begin
    return int(edges[place]), int(edges[place + 1])
