"""Masks as small values: presets with their numbers, combined, and single cells on top.

H heads · L query length · S key length
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from transformer.masks import causal_mask
from transformer.position_schemes import alibi_slopes

BLOCKED = -math.inf
Cell = tuple[int, int, float]  # query, key, and what is added to their score: BLOCKED, 0 for nothing, or a number


@dataclass(frozen=True)
class Number:
    """One of the numbers of a preset: where it lies and where it begins."""

    name: str
    least: float
    most: float
    begin: float


@dataclass(frozen=True)
class Preset:
    """A kind of mask.

    Attributes:
        numbers: what it is made with, in the order of its function's arguments.
        code: the same as a torch expression of i, queries (L, 1), and j, keys (S,).
        source: where it comes from; nothing where it is common.
        adds: numbers are added to the scores, rather than cells blocked.
    """

    numbers: tuple[Number, ...]
    make: Callable[..., Tensor]
    code: str
    source: str = ""
    adds: bool = False


def _offsets(queries: int, keys: int) -> Tensor:
    """(L, S): how far a key stands behind its query."""
    return torch.arange(queries)[:, None] - torch.arange(keys)


def _window(queries: int, keys: int, before: float, after: float) -> Tensor:
    offsets = _offsets(queries, keys)
    return (offsets > before) | (offsets < -after)


def _prefix(queries: int, keys: int, length: float) -> Tensor:
    return causal_mask(queries, keys) & (torch.arange(keys) >= length)


def _blocks(queries: int, keys: int, size: float) -> Tensor:
    return (torch.arange(queries) // int(size))[:, None] != torch.arange(keys) // int(size)


def _strided(queries: int, keys: int, stride: float) -> Tensor:
    return _offsets(queries, keys) % int(stride) != 0


def _local_and_global(queries: int, keys: int, window: float, tokens: float) -> Tensor:
    everywhere = (torch.arange(queries) < tokens)[:, None] | (torch.arange(keys) < tokens)
    return (_offsets(queries, keys).abs() > window) & ~everywhere


def _alibi(heads: int, queries: int, keys: int, scale: float) -> Tensor:
    return -scale * alibi_slopes(heads)[:, None, None] * _offsets(queries, keys).abs()


def _relative(heads: int, queries: int, keys: int, offset: float, strength: float) -> Tensor:
    return -strength * (_offsets(queries, keys) + offset).abs()[None].float()


PRESETS: dict[str, Preset] = {
    "causal": Preset((), causal_mask, "j > i", "Vaswani et al. 2017"),
    "window": Preset(
        (Number("before", 0, 64, 2), Number("after", 0, 64, 2)),
        _window,
        "(i - j > {before:g}) | (j - i > {after:g})",
        "Beltagy et al. 2020",
    ),
    "prefix": Preset((Number("length", 0, 64, 3),), _prefix, "(j > i) & (j >= {length:g})", "Raffel et al. 2020"),
    "blocks": Preset((Number("size", 1, 64, 4),), _blocks, "i // {size:.0f} != j // {size:.0f}"),
    "strided": Preset((Number("stride", 1, 16, 2),), _strided, "(i - j) % {stride:.0f} != 0", "Child et al. 2019"),
    "local_global": Preset(
        (Number("window", 0, 64, 1), Number("tokens", 0, 16, 1)),
        _local_and_global,
        "((i - j).abs() > {window:g}) & (i >= {tokens:g}) & (j >= {tokens:g})",
        "Zaheer et al. 2020",
    ),
    "alibi": Preset(
        (Number("scale", 0, 4, 1),),
        _alibi,
        "-{scale:g} * alibi_slopes({heads})[:, None, None] * (i - j).abs()",
        "Press et al. 2022",
        adds=True,
    ),
    "relative": Preset(
        (Number("offset", -16, 16, -1), Number("strength", 0, 4, 1)),
        _relative,
        "-{strength:g} * (i - j + {offset:g}).abs()",
        "Raffel et al. 2020",
        adds=True,
    ),
}


@dataclass(frozen=True)
class Chosen:
    """A preset and its numbers.

    Raises:
        ValueError: no such preset, or numbers that are not its own.
    """

    name: str
    numbers: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if self.name not in PRESETS:
            raise ValueError(f"There is no mask called {self.name!r}; wanted {', '.join(PRESETS)}.")
        wanted = PRESETS[self.name].numbers
        if len(self.numbers) != len(wanted):
            raise ValueError(f"{self.name} has {len(wanted)} numbers, not {len(self.numbers)}.")
        for number, value in zip(wanted, self.numbers, strict=True):
            if not number.least <= value <= number.most:
                raise ValueError(f"{number.name} of {self.name} must lie between {number.least:g} and {number.most:g}.")


@dataclass(frozen=True)
class MaskRule:
    """A mask for any lengths.

    Attributes:
        own: begin with the mask that the attention was given; without it, with none at all.
        presets: those that add numbers are added up. Of the others ``all``, or ``any``, must allow a key.
        cells: what stands there in any case, whatever the rest says.

    Example:
        >>> MaskRule(presets=(Chosen("causal"),), cells=((0, 1, 0.0),)).additive(1, 2, 3)
        tensor([[[0., 0., -inf],
                 [0., 0., -inf]]])
    """

    own: bool = True
    presets: tuple[Chosen, ...] = ()
    combined: Literal["all", "any"] = "all"
    cells: tuple[Cell, ...] = ()

    def additive(self, heads: int, queries: int, keys: int, own: Tensor | None = None) -> Tensor:
        """What is added to the scores: ``-inf`` blocks.

        Args:
            own: (H, L, S) or what broadcasts to it, the mask that was given.

        Returns:
            (H, L, S) float32; a new tensor.
        """
        size = (heads, queries, keys)
        mask = own.expand(size).clone() if self.own and own is not None else torch.zeros(size)
        for chosen in self.presets:
            if PRESETS[chosen.name].adds:
                mask += PRESETS[chosen.name].make(*size, *chosen.numbers)
        blocks = [
            PRESETS[chosen.name].make(queries, keys, *chosen.numbers)
            for chosen in self.presets
            if not PRESETS[chosen.name].adds
        ]
        if blocks:
            together = torch.stack(blocks)  # one blocks: not all allow
            mask[:, together.any(0) if self.combined == "all" else together.all(0)] = BLOCKED
        for query, key, value in self.cells:
            if query < queries and key < keys:
                mask[:, query, key] = value
        return mask
