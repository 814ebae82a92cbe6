"""One number of a forward, taken apart: what was multiplied, added up and divided to make it.

Each function gives another one, which explains a cell of the tensor that was made. Everything is in float64.

L query length · S key length · D head width · E model width
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt
from torch import Tensor, nn

Doubles = npt.NDArray[np.float64]
Sign = Literal[
    "start", "taken", "row", "column", "head",  # a number as it is found
    "scale", "position", "sublayer", "mean", "deviation", "gain", "shift", "bias", "activation",
    "sum", "root", "mask", "largest", "exp", "share", "nothing",
]  # fmt: skip


@dataclass(frozen=True)
class Line:
    """One step of the reckoning.

    Attributes:
        sign: what is done to the result of the line before.
        number: with what, where there is something; ``-inf`` for a mask that blocks.
        result: what comes out.
    """

    sign: Sign
    number: float | None
    result: float


@dataclass(frozen=True, eq=False)
class Terms:
    """What is added up: (n,) each.

    Attributes:
        over: the letter of the axis along which they stand.
        left, right: the factors of each; ``right`` is None where e is raised to ``left``.
        results: the terms.
    """

    over: Literal["D", "E", "F", "S"]
    left: Doubles
    right: Doubles | None
    results: Doubles


@dataclass(frozen=True, eq=False)
class Cell:
    """How one number came about.

    Attributes:
        lines: one after the other; the first adds up the terms, where there are any.
        own: which line gives the number itself; those after it say what becomes of it.
    """

    lines: tuple[Line, ...]
    own: int
    terms: Terms | None = None

    @property
    def value(self) -> float:
        """The number that is explained."""
        return self.lines[self.own].result


Explain = Callable[[int, int], Cell]


def found(x: Tensor, sign: Sign, number: Callable[[int, int], int | None] = lambda row, column: None) -> Explain:
    """A number that is only taken from somewhere; ``number`` says from which place there, counted from 1."""

    def explain(row: int, column: int) -> Cell:
        return Cell((Line(sign, number(row, column), float(x[row, column])),), own=0)

    return explain


def changed(x: Tensor, sign: Sign, other: Tensor | float | None, made: Tensor) -> Explain:
    """A number and another one beside it, which together give what was made; None where nothing stands beside it."""

    def explain(row: int, column: int) -> Cell:
        number = float(other[row, column]) if isinstance(other, Tensor) else other
        start = Line("start", None, float(x[row, column]))
        return Cell((start, Line(sign, number, float(made[row, column]))), own=1)

    return explain


def normalised(x: Tensor, norm: nn.LayerNorm) -> Explain:
    """(x - mean) / sqrt(variance + eps) · weight + bias, over a row.

    Source: Ba et al. 2016, "Layer normalization".
    """

    def explain(row: int, column: int) -> Cell:
        mean, start = float(x[row].mean()), float(x[row, column])
        deviation = math.sqrt(float(x[row].var(correction=0)) + norm.eps)
        lines = [
            Line("start", None, start),
            Line("mean", mean, start - mean),
            Line("deviation", deviation, (start - mean) / deviation),
        ]
        gain = float(norm.weight.detach()[column])
        lines.append(Line("gain", gain, lines[-1].result * gain))
        if norm.bias is not None:
            lines.append(_plus("shift", float(norm.bias.detach()[column]), lines[-1]))
        return Cell(tuple(lines), own=len(lines) - 1)

    return explain


def linear(x: Tensor, weight: Tensor, bias: Tensor | None, over: Literal["E", "F"]) -> Explain:
    """The product of a row of ``x`` and a row of the weight, and the bias."""

    def explain(row: int, column: int) -> Cell:
        terms = _products(over, x[row], weight[column])
        lines = [Line("sum", None, float(terms.results.sum()))]
        if bias is not None:
            lines.append(_plus("bias", float(bias[column]), lines[0]))
        return Cell(tuple(lines), len(lines) - 1, terms)

    return explain


def weighed(query: Tensor, key: Tensor, mask: Tensor, own: Sign) -> Explain:
    """The way of a score: query · key / sqrt(D), and on to its weight.

    Args:
        query: (L, D)
        key: (S, D)
        mask: (L, S), what is added.
        own: the line that gives the number: ``root`` for the score, ``mask`` for what the softmax reads.
    """
    root = math.sqrt(query.size(-1))

    def explain(row: int, column: int) -> Cell:
        terms = _products("D", query[row], key[column])
        total = float(terms.results.sum())
        score, added = total / root, float(mask[row, column])
        lines = [Line("sum", None, total), Line("root", root, score), Line("mask", added, score + added)]
        lines += _softmax((key @ query[row] / root + mask[row]).numpy(), column)
        return Cell(tuple(lines), [line.sign for line in lines].index(own), terms)

    return explain


def shared_out(masked: Tensor) -> Explain:
    """A weight: e to the power of a score, as a share of the row's sum.

    Args:
        masked: (L, S), scores with the mask added.
    """

    def explain(row: int, column: int) -> Cell:
        scores = masked[row].numpy()
        lines = _softmax(scores, column)
        if lines[0].sign == "nothing":
            return Cell(lines, own=0)
        powers = scores - scores.max()
        terms = Terms("S", powers, None, np.exp(powers))
        total = Line("sum", None, float(terms.results.sum()))
        return Cell((total, *lines[1:]), own=2, terms=terms)

    return explain


def gathered(weights: Tensor, value: Tensor) -> Explain:
    """The values of all keys, each times its weight, added up.

    Args:
        weights: (L, S)
        value: (S, D)
    """

    def explain(row: int, column: int) -> Cell:
        terms = _products("S", weights[row], value[:, column])
        return Cell((Line("sum", None, float(terms.results.sum())),), 0, terms)

    return explain


def then(first: Explain, second: Explain) -> Explain:
    """One reckoning after the other, the second of which begins with the first one's number."""

    def explain(row: int, column: int) -> Cell:
        before, after = first(row, column), second(row, column)
        lines = before.lines[: before.own + 1] + after.lines[1:]
        return replace(before, lines=lines, own=before.own + after.own)

    return explain


def _products(over: Literal["D", "E", "F", "S"], left: Tensor, right: Tensor) -> Terms:
    return Terms(over, left.numpy(), right.numpy(), (left * right).numpy())


def _plus(sign: Sign, number: float, before: Line) -> Line:
    return Line(sign, number, before.result + number)


def _softmax(scores: Doubles, column: int) -> tuple[Line, ...]:
    """From a masked score of a row to its weight, as it is computed: the row's largest is taken away first."""
    largest = float(scores.max())
    if largest == -math.inf:
        return (Line("nothing", None, 0.0),)
    power = float(scores[column]) - largest
    total = float(np.exp(scores - largest).sum())
    return (
        Line("largest", largest, power),
        Line("exp", None, math.exp(power)),
        Line("share", total, math.exp(power) / total),
    )
