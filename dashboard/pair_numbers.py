"""The numbers behind one pair of a head: why a query gives a key its weight.

L query length · S key length · D head width, all in tokens as they ran
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from dashboard.numbers import Tokens, row_labels
from dashboard.runs import Answer
from dashboard.selection import Rows, site_at
from transformer.pair import explain_pair, split_first_layer
from transformer.picking import Head
from transformer.recording import Kind, Recording, Site
from transformer.units import SPECIAL, units_of


def pair_numbers(
    answer: Answer, kind: Kind, layer: int, head: Head, pair: tuple[int, int], rows: Rows, tokens: Tokens
) -> dict[str, Any]:
    """The row in which a pair stands, from scores to weights, and what its score is made of.

    Args:
        head: for the mean of the heads there are weights only, as it has no query and no key.
        pair: row and column of a picture, in the viewer's units. Of several tokens in them, the two with the largest
            weight are explained; ``pairs`` says among how many.

    Returns:
        Nothing where the picture has no such row or column: it may be one of a longer text.

    Raises:
        KeyError, IndexError: no such layer or head.
    """
    recording = answer.recording
    site = site_at(recording, kind, layer)
    names, labels = recording.key_tokens(site), row_labels(answer, site, rows)
    queries, keys = _drawn(labels, tokens), _drawn(names, tokens)
    if not (0 <= pair[0] < len(queries) and 0 <= pair[1] < len(keys)):
        return {}
    (query, among_rows), (key, among_columns) = queries[pair[0]], keys[pair[1]]
    if tokens.over != "mean":
        among_rows = (among_rows[0 if tokens.over == "first" else -1],)
    row, column = _strongest(recording, site, head, among_rows, among_columns)
    explained = _mean_row(recording, site, row, column) if head == "mean" else _reason(answer, site, head, row, column)
    return {
        "query": query,
        "key": key,
        "pairs": len(among_rows) * len(among_columns),
        "tokens": {"query": _named(labels[row]), "key": _named(names[column])},
        "read": _named(recording.query_tokens(site)[row]),
        "row": row,
        "column": column,
        "keys": [_named(name) for name in names],
        "special": [name in SPECIAL for name in names],
        "columns": _columns(keys, len(names)),
        **explained,
    }


def _reason(answer: Answer, site: Site, head: Head, row: int, column: int) -> dict[str, Any]:
    reason = explain_pair(answer.recording, site, head, row, column)
    model = answer.model
    split = None if model is None else split_first_layer(model, answer.recording, site, head, row, column)
    return {
        **_row(reason.weights, reason.masks),
        "scores": reason.scores,
        "rank": reason.rank,
        "allowed": reason.allowed,
        "q": reason.query,
        "k": reason.key,
        "parts": reason.by_dimension,
        "centred": reason.centred if reason.allowed else None,
        "norm": reason.value_norm,
        "first": None if split is None else asdict(split),
    }


def _mean_row(recording: Recording, site: Site, row: int, column: int) -> dict[str, Any]:
    weights, masks = (read(site, "mean", rows=[row])[0].numpy() for read in (recording.pattern, recording.mask))
    rank = 1 + int((weights > weights[column]).sum())
    allowed = int((~np.isneginf(masks)).sum())
    return {**_row(weights, masks), "scores": None, "rank": rank, "allowed": allowed, "norm": None, "first": None}


def _row(weights: np.ndarray, masks: np.ndarray) -> dict[str, np.ndarray]:
    blocked = np.isneginf(masks)
    return {"weights": weights, "mask": np.where(blocked, np.float32(0), masks), "blocked": blocked.astype(np.uint8)}


def _drawn(labels: Sequence[str], tokens: Tokens) -> list[tuple[str, tuple[int, ...]]]:
    """What a picture shows: each unit's label and the tokens that it is made of."""
    units = units_of(labels, tokens.unit)
    drawn = zip(units.labels, units.pieces, units.special, strict=True)
    return [(label, pieces) for label, pieces, special in drawn if not (special and tokens.hidden)]


def _strongest(
    recording: Recording, site: Site, head: Head, rows: Sequence[int], columns: Sequence[int]
) -> tuple[int, int]:
    """Of some rows and columns, those of the largest weight; of a cell that may be looked at, if any may."""
    weights = recording.pattern(site, head, rows=rows, columns=columns).numpy()
    blocked = np.isneginf(recording.mask(site, head, rows=rows, columns=columns).numpy())
    row, column = np.unravel_index(int(np.where(blocked, -1, weights).argmax()), weights.shape)
    return rows[int(row)], columns[int(column)]


def _columns(keys: Sequence[tuple[str, tuple[int, ...]]], length: int) -> np.ndarray:
    """(S,) the column in which a token is drawn, the first of several; -1 for one that is hidden."""
    columns = np.full(length, -1, dtype=np.int32)
    for column, (_, pieces) in reversed(list(enumerate(keys))):
        columns[list(pieces)] = column
    return columns


def _named(label: str) -> str:
    """A token by itself, with signs for what could not be seen."""
    return units_of([label], "piece").labels[0]
