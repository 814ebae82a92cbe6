"""The numbers that the explorer's pictures are drawn from: plain arrays and labels, from one recording.

L query length · S key length, in the units that the viewer chose
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from dashboard.captions import caption
from dashboard.figures.colours import full_colour
from dashboard.runs import Answer
from dashboard.selection import Rows, site_at, sites_of
from dashboard.words import Words
from transformer.merging import OverQueries, merge_blocked, merge_scores, merge_weights, without
from transformer.picking import Head
from transformer.recording import Kind, Recording, Site
from transformer.units import Unit, Units, units_of

Quantity = Literal["weight", "norm", "score"]


MOST_EXACT = 512 * 512  # cells of a head that are drawn one by one


def is_long(recording: Recording, kind: Kind) -> bool:
    """Whether heads of a kind have too many cells to be drawn one by one."""
    sizes = [size_of(recording, site) for site in sites_of(recording, kind)]
    return any(length * keys > MOST_EXACT for length, keys in sizes)


def size_of(recording: Recording, site: Site) -> tuple[int, int]:
    """(L, S)"""
    return recording.query(site).size(2), recording.key(site).size(2)


@dataclass(frozen=True)
class Tokens:
    """How the tokens of a run are read.

    Attributes:
        unit, over: see :class:`dashboard.selection.Selection`.
        hidden: special tokens are left out, and the other keys' weights made to sum to 1 again.
    """

    unit: Unit = "piece"
    over: OverQueries = "mean"
    hidden: bool = False


@dataclass(frozen=True)
class Cells:
    """A head's cells, as they are drawn.

    Attributes:
        cells: (L, S) float32; not-a-number where the mask forbids a cell.
        removed: (L,) the share of each row that went to hidden tokens; None where none are hidden.
    """

    queries: Units
    keys: Units
    cells: np.ndarray
    removed: np.ndarray | None


def cells_of(answer: Answer, site: Site, head: Head, quantity: Quantity, rows: Rows, tokens: Tokens) -> Cells:
    """The cells of one head (or the mean, or of all: (H, L, S)) in the viewer's units."""
    recording = answer.recording
    keys = units_of(recording.key_tokens(site), tokens.unit)
    queries = units_of(row_labels(answer, site, rows), tokens.unit)
    raw = np.isneginf(recording.mask(site, head).numpy())
    blocked = merge_blocked(raw, queries, keys, tokens.over)
    removed = None
    if quantity == "score":
        cells = merge_scores(recording.scores(site, head).numpy(), raw, queries, keys, tokens.over)
    else:
        read = recording.pattern if quantity == "weight" else recording.weighted_norms
        cells = merge_weights(read(site, head).numpy(), queries, keys, tokens.over)
    if tokens.hidden:
        special_keys, special_queries = np.array(keys.special), np.array(queries.special)
        if quantity == "weight":
            cells, removed = without(cells, special_keys)
        elif quantity == "norm":
            removed = _share(cells, special_keys)
        cells = cells[..., ~special_queries, :][..., ~special_keys]
        blocked = blocked[..., ~special_queries, :][..., ~special_keys]
        removed = None if removed is None else removed[..., ~special_queries]
        queries, keys = _kept(queries), _kept(keys)
    drawn = np.where(blocked, np.nan, cells).astype(np.float32)
    return Cells(queries, keys, drawn, removed)


def row_labels(answer: Answer, site: Site, rows: Rows) -> Sequence[str]:
    """What the rows of a site are called: by what was read there, or where that is known by what is predicted."""
    return answer.predicted if rows == "predicted" and answer.predicts else answer.recording.query_tokens(site)


def head_numbers(
    answer: Answer, kind: Kind, layer: int, head: Head, quantity: Quantity, rows: Rows, tokens: Tokens, words: Words
) -> dict[str, Any]:
    """All that a picture of one head needs.

    Raises:
        KeyError, IndexError: no such layer or head.
    """
    site = site_at(answer.recording, kind, layer)
    seen = cells_of(answer, site, head, quantity, rows, tokens)
    low, high = scale_of(answer.recording, site, quantity, seen.cells)
    named = rows if kind in ("decoder", "cross") else "encoder"
    number = None if head == "mean" else int(head or 0) + 1
    weights = seen
    if quantity == "score":  # a sentence about what is read speaks of weights
        weights = cells_of(answer, site, head, "weight", rows, tokens)
    return {
        "kind": kind,
        "quantity": quantity,
        "queries": seen.queries.labels,
        "keys": seen.keys.labels,
        "special": {"queries": seen.queries.special, "keys": seen.keys.special},
        "spaced": {"queries": spaced(answer, seen.queries), "keys": spaced(answer, seen.keys)},
        "merged": seen.queries.merged or seen.keys.merged,
        "cells": seen.cells,
        "low": low,
        "high": high,
        "removed": None if seen.removed is None else [round(float(share), 4) for share in seen.removed],
        "caption": caption(words, layer + 1, number, named, weights.cells, weights.queries, weights.keys),
    }


def spaced(answer: Answer, units: Units) -> tuple[bool, ...]:
    """Which units have a space before them.

    Where nothing in an opened recording says where a word begins its tokens are names, and stand apart.
    """
    sentences = (labels for stream in answer.recording.tokens.values() for labels in stream)
    says = answer.model is not None or any("▁" in label for labels in sentences for label in labels)
    return units.spaced if says else (True,) * len(units.labels)


def scale_of(recording: Recording, site: Site, quantity: Quantity, cells: np.ndarray) -> tuple[float, float]:
    """The numbers of the palest and of the full colour.

    Weights have one scale whatever head is looked at, and weighted norms that scale times the length of the layer's
    longest value, so that heads can be compared. Scores have that of the cells.
    """
    full = full_colour(len(recording.key_tokens(site)))
    if quantity == "weight":
        return 0.0, full
    if quantity == "norm":
        longest = float(recording.value_norms(site).nan_to_num(0, 0, 0).max())
        return 0.0, full * max(longest, 1e-6)
    allowed = cells[np.isfinite(cells)]
    return (float(allowed.min()), float(allowed.max())) if allowed.size else (0.0, 1.0)


def _kept(units: Units) -> Units:
    """Without the special ones."""
    kept = [place for place, special in enumerate(units.special) if not special]
    return Units(
        labels=tuple(units.labels[place] for place in kept),
        pieces=tuple(units.pieces[place] for place in kept),
        shares=tuple(units.shares[place] for place in kept),
        special=(False,) * len(kept),
        spaced=tuple(units.spaced[place] for place in kept),
    )


def _share(cells: np.ndarray, hidden: np.ndarray) -> np.ndarray:
    total = cells.sum(axis=-1)
    return np.divide(cells[..., hidden].sum(axis=-1), total, out=np.zeros_like(total), where=total > 0)
