"""Patterns of pieces -> patterns of what people read; and patterns with some keys left out.

The weights of a unit's keys are summed. Of its queries the first or the last one is taken, or their mean.

L queries · S keys, both in pieces · L' and S' the same in units
"""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from transformer.units import Units

OverQueries = Literal["first", "last", "mean"]
Floats = npt.NDArray[np.floating]
Bools = npt.NDArray[np.bool_]


def merge_weights(pattern: Floats, queries: Units, keys: Units, over_queries: OverQueries) -> Floats:
    """(..., L, S) weights of pieces -> (..., L', S') weights of units. A row keeps its sum.

    A character has its share of the weight of its piece as a key, and the whole row of its piece as a query.

    Raises:
        ValueError: the pattern is not one of these queries and keys, or ``over_queries`` is none of the three.

    Example:
        >>> from transformer.units import units_of
        >>> source = units_of(["▁un", "usual", "</s>"], "word")
        >>> pattern = np.array([[0.5, 0.25, 0.25], [0.125, 0.125, 0.75], [1.0, 0.0, 0.0]])
        >>> merge_weights(pattern, source, source, "last")
        array([[0.25, 0.75],
               [1.  , 0.  ]])
    """
    cells = _cells(pattern, queries, keys, over_queries) * _shares(keys, pattern.dtype)
    weights = np.add.reduceat(cells, _starts(keys), axis=-1)
    if over_queries != "mean":
        return weights
    sums = np.add.reduceat(weights, _starts(queries), axis=-2)
    return sums / _sizes(queries)[:, None].astype(pattern.dtype)


def merge_scores(scores: Floats, blocked: Bools, queries: Units, keys: Units, over_queries: OverQueries) -> Floats:
    """(..., L, S) scores of pieces -> (..., L', S') scores of units, -inf where blocked.

    A unit's score is the log of the sum of exp(score) over the pieces that may be looked at, so that the softmax over
    units gives the same as :func:`merge_weights`. That holds for first and last; a mean of scores (over the queries
    that may look there) is not the log of a mean of weights.

    Args:
        scores: with what a float mask adds to them.
        blocked: (..., L, S), True = may not be looked at.

    Raises:
        ValueError: as :func:`merge_weights`.
    """
    cells = _cells(np.where(blocked, scores.dtype.type(-np.inf), scores), queries, keys, over_queries)
    highest = np.maximum.reduceat(cells, _starts(keys), axis=-1)
    highest[np.isneginf(highest)] = 0
    above = np.exp(cells - np.repeat(highest, _sizes(keys), axis=-1))  # at most 1, and 1 once in each unit: no overflow
    with np.errstate(divide="ignore"):  # log 0 = -inf: all of the unit is blocked
        merged = highest + np.log(np.add.reduceat(above * _shares(keys, scores.dtype), _starts(keys), axis=-1))
    if over_queries != "mean":
        return merged
    open_cells = ~np.isneginf(merged)
    sums = np.add.reduceat(np.where(open_cells, merged, 0), _starts(queries), axis=-2)
    counts = np.add.reduceat(open_cells, _starts(queries), axis=-2, dtype=scores.dtype)
    return np.divide(sums, counts, out=np.full_like(sums, -np.inf), where=counts > 0)


def merge_blocked(blocked: Bools, queries: Units, keys: Units, over_queries: OverQueries) -> Bools:
    """(..., L, S) -> (..., L', S'): a pair of units is blocked where every pair of pieces that it is made of is.

    Raises:
        ValueError: as :func:`merge_weights`.
    """
    cells = _cells(blocked, queries, keys, over_queries)
    merged = np.logical_and.reduceat(cells, _starts(keys), axis=-1)
    return merged if over_queries != "mean" else np.logical_and.reduceat(merged, _starts(queries), axis=-2)


def without(weights: Floats, hidden: Bools) -> tuple[Floats, Floats]:
    """Leave keys out and let each row's other weights sum to 1 again.

    Args:
        weights: (..., L, S).
        hidden: (S,), the keys to leave out.

    Returns:
        The weights (..., L, S), 0 for the keys left out and in rows that looked at nothing else; and what each row
        gave to the keys left out (..., L).

    Raises:
        ValueError: hidden does not say something of each key.

    Example:
        >>> without(np.array([[0.25, 0.25, 0.5], [0.0, 0.0, 1.0]]), np.array([False, False, True]))
        (array([[0.5, 0.5, 0. ], [0. , 0. , 0. ]]), array([0.5, 1. ]))
    """
    if hidden.shape != weights.shape[-1:]:
        raise ValueError(f"Which of {weights.shape[-1]} keys to hide takes as many bools, not {hidden.shape}.")
    kept = np.where(hidden, 0, weights).astype(weights.dtype, copy=False)
    sums = kept.sum(axis=-1, keepdims=True)
    return np.divide(kept, sums, out=np.zeros_like(kept), where=sums > 0), weights[..., hidden].sum(axis=-1)


def _cells(pattern: npt.NDArray[Any], queries: Units, keys: Units, over_queries: OverQueries) -> npt.NDArray[Any]:
    """The cells that units take their values from, one unit's after the other's, by rows and by columns."""
    size = queries.num_pieces, keys.num_pieces
    if pattern.shape[-2:] != size:
        raise ValueError(f"Units of {size[0]} queries and {size[1]} keys do not fit a pattern of {pattern.shape}.")
    if over_queries not in ("first", "last", "mean"):
        raise ValueError(f"Over a unit's queries the first, last or mean is taken, not {over_queries!r}.")
    rows = queries.pieces
    if over_queries != "mean":
        rows = tuple((pieces[0 if over_queries == "first" else -1],) for pieces in rows)
    return np.take(np.take(pattern, _flat(rows), axis=-2), _flat(keys.pieces), axis=-1)


def _flat(pieces: Sequence[Sequence[int]]) -> npt.NDArray[np.intp]:
    return np.fromiter((piece for unit in pieces for piece in unit), dtype=np.intp)


def _sizes(units: Units) -> npt.NDArray[np.intp]:
    return np.fromiter((len(pieces) for pieces in units.pieces), dtype=np.intp)


def _starts(units: Units) -> npt.NDArray[np.intp]:
    sizes = _sizes(units)
    return np.cumsum(sizes) - sizes


def _shares(units: Units, dtype: npt.DTypeLike) -> Floats:
    return np.fromiter((share for shares in units.shares for share in shares), dtype=dtype)
