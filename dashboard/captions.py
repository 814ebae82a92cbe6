"""The sentence under the picture: what there is to be seen in one head."""

from string import Formatter

import numpy as np

from dashboard.words import Words
from transformer.units import Units

Span = tuple[str, bool]  # a text, and whether it stands out


def strongest_pairs(weights: np.ndarray, queries: Units, keys: Units, most: int = 2) -> list[tuple[int, int]]:
    """The largest weights of a pattern (L, S) as (row, column), one a row; blocked cells are not-a-number.

    Pairs of two ordinary tokens come before pairs with a special one: most heads send what they do not need to the
    end token. A row that may look at nothing has no pair.
    """
    rows = [row for row in range(len(weights)) if np.isfinite(weights[row]).any()]
    best = {row: int(np.nanargmax(weights[row])) for row in rows}

    def order(row: int) -> tuple[bool, float]:
        return queries.special[row] or keys.special[best[row]], -float(weights[row, best[row]])

    return [(row, best[row]) for row in sorted(rows, key=order)[:most]]


def caption(
    words: Words, layer: int, head: int | None, rows: str, weights: np.ndarray, queries: Units, keys: Units
) -> list[Span]:
    """Name the two strongest pairs.

    Args:
        layer, head: counted from 1; no head for the mean of the layer's.
        rows: how rows are named: ``encoder``, ``read`` or ``predicted``.
        weights: (L, S), or what else is largest where a head reads most.
    """
    pairs = [
        _filled(
            words[f"caption.pair.{rows}"],
            query=[(queries.labels[row], True)],
            key=[(keys.labels[column], True)],
            weight=[(brief(float(weights[row, column])), False)],
        )
        for row, column in strongest_pairs(weights, queries, keys)
    ]
    if not pairs:
        return [(words["caption.nothing"], False)]
    template = "caption.mean" if head is None else "caption.head"
    return _filled(
        words[template if len(pairs) == 2 else f"{template}.one"],
        layer=[(str(layer), False)],
        head=[(str(head), False)],
        first=pairs[0],
        second=pairs[-1],
    )


def brief(weight: float) -> str:
    """Two decimals, or of a small number its first digit.

    Example:
        >>> brief(0.973), brief(0.0042), brief(0.00031)
        ('0.97', '0.004', '<0.001')
    """
    if weight == 0 or weight >= 0.0095:
        return f"{weight:.2f}"
    return f"{weight:.1g}" if weight >= 0.00095 else "<0.001"


def _filled(template: str, **gaps: list[Span]) -> list[Span]:
    """The template's texts and gaps, in its order."""
    spans: list[Span] = []
    for text, gap, _, _ in Formatter().parse(template):
        spans += [(text, False)] if text else []
        spans += gaps[gap] if gap else []
    return spans
