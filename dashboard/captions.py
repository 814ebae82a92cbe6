"""The sentence that says what is to be seen in a pattern."""

from collections.abc import Sequence
from string import Formatter

import numpy as np

from dashboard.words import Words

Span = tuple[str, bool]  # a text, and whether it stands out

SPECIAL = {"<s>", "</s>", "<pad>"}


def strongest_pairs(
    weights: np.ndarray, queries: Sequence[str], keys: Sequence[str], most: int = 2
) -> list[tuple[int, int]]:
    """The largest weights of a pattern (L, S) as (row, column), one a row.

    Pairs of two ordinary tokens come before pairs with a special one: most heads send what they do not need to the
    end token.
    """
    best = weights.argmax(axis=1)

    def order(row: int) -> tuple[bool, float]:
        return queries[row] in SPECIAL or keys[best[row]] in SPECIAL, -float(weights[row, best[row]])

    return [(row, int(best[row])) for row in sorted(range(len(queries)), key=order)[:most]]


def caption(
    words: Words,
    layer: int,
    head: int | None,
    rows: str,
    weights: np.ndarray,
    queries: Sequence[str],
    keys: Sequence[str],
) -> list[Span]:
    """Name the two strongest pairs.

    Args:
        layer, head: counted from 1; no head for the mean of the layer's.
        rows: how rows are named: ``encoder``, ``read`` or ``predicted``.
    """
    pairs = [
        _filled(
            words[f"caption.pair.{rows}"],
            query=[(queries[row], True)],
            key=[(keys[column], True)],
            weight=[(f"{weights[row, column]:.2f}", False)],
        )
        for row, column in strongest_pairs(weights, queries, keys)
    ]
    template = "caption.mean" if head is None else "caption.head"
    return _filled(
        words[template if len(pairs) == 2 else f"{template}.one"],
        layer=[(str(layer), False)],
        head=[(str(head), False)],
        first=pairs[0],
        second=pairs[-1],
    )


def _filled(template: str, **gaps: list[Span]) -> list[Span]:
    """The template's texts and gaps, in its order."""
    spans: list[Span] = []
    for text, gap, _, _ in Formatter().parse(template):
        spans += [(text, False)] if text else []
        spans += gaps[gap] if gap else []
    return spans
