"""The numbers of the positions lab: tables of vectors, and what is drawn from them.

S positions · E model width · H heads · O = 2S - 1 offsets, from -(S - 1) to S - 1
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from dashboard.positions import LENGTHS, Measure
from dashboard.runs import Answer
from transformer.position_geometry import by_offset, cosines, dot_products, features_of_pair, rotation, wavelengths
from transformer.position_schemes import alibi_bias, rotary_factor, t5_buckets
from transformer.positions import Layout, LearnedPositionalEncoding, PositionalEncoding, angular_steps, sinusoidal_table
from transformer.recording import Recording, Stream

T5_BUCKETS, T5_MAX_DISTANCE = 32, 128  # those of the paper
BASE = 10_000.0  # of rotary positions beside a model that has no base of its own


@dataclass(frozen=True)
class Table:
    """Vectors of positions, and how they came about.

    Attributes:
        vectors: (S, E) float32
        kind: ``recorded``: what an opened recording says was added, by whatever module.
        base, layout: of sinusoids.
        tokens: that stand at the first positions of the text that ran.
        whole: how many positions there are; S of them are drawn.
        heads: of the model.
    """

    vectors: Tensor
    kind: Literal["sinusoidal", "learned", "recorded"]
    base: float | None = None
    layout: Layout | None = None
    tokens: tuple[str, ...] = ()
    whole: int = 0
    heads: int = 1


def free_table(width: int, length: int, base: float, layout: Layout, heads: int) -> Table:
    """Sinusoids of any size."""
    return Table(sinusoidal_table(length, width, base, layout), "sinusoidal", base, layout, (), length, heads)


def own_table(answer: Answer, stream: Stream) -> Table | None:
    """What the running model's own module added to a text, as the hooks before and behind it saw; or, where positions
    were learned, the module's table. None where it adds nothing.

    Raises:
        KeyError: the run has no such stream.
    """
    tokens = tuple(answer.recording.tokens[stream][0])
    module = None if answer.model is None else answer.model.get_submodule(f"{stream}_positions")
    heads = max(site.heads for site in answer.recording.sites)
    if isinstance(module, LearnedPositionalEncoding):
        vectors = module.weight.detach()
    else:
        vectors = added_positions(answer.recording, stream)
        if not vectors.any():
            return None
    kind, base, layout = _made_by(module)
    shown = vectors[: LENGTHS[1]].float().cpu()
    return Table(shown, kind, base, layout, tokens[: len(shown)], len(vectors), heads)


def added_positions(recording: Recording, stream: Stream) -> Tensor:
    """What was added to each embedded token of the first sentence that ran last: (S, E).

    Raises:
        KeyError: it was not recorded.
    """
    return (recording.hidden(f"after_{stream}_positions") - recording.hidden(f"after_{stream}_embedding"))[0]


def _made_by(module: nn.Module | None) -> tuple[Literal["sinusoidal", "learned", "recorded"], float | None, Any]:
    if isinstance(module, PositionalEncoding):
        return "sinusoidal", module.base, module.layout
    return ("learned" if isinstance(module, LearnedPositionalEncoding) else "recorded"), None, None


def table_numbers(table: Table) -> dict[str, Any]:
    """The vectors themselves: ``cells`` (S, E); ``most``, the largest of them without its sign."""
    return {"cells": _floats(table.vectors), "most": float(table.vectors.abs().max())}


def wave_numbers(table: Table) -> dict[str, Any]:
    """Of sinusoids: ``cells`` (E,), the wavelengths in tokens, and ``sine`` (E,), 1 for sines and 0 for cosines.

    Raises:
        ValueError: the table is none of sinusoids.
    """
    base, layout = _of_sinusoids(table)
    width = table.vectors.size(1)
    sine = np.zeros(width, dtype=np.uint8)
    sine[0 :: 2 if layout == "interleaved" else 1][: (width + 1) // 2] = 1
    return {"cells": _floats(wavelengths(width, base, layout)), "sine": sine}


def product_numbers(table: Table, measure: Measure) -> dict[str, Any]:
    """How alike two positions are.

    Returns:
        ``cells``: (S, S); ``most``: the largest of them without its sign. ``mean``, ``low`` and ``high``: (O,), over
        the pairs of positions at an offset.
    """
    products = dot_products(table.vectors) if measure == "dot" else cosines(table.vectors)
    return {"cells": _floats(products), "most": float(products.abs().max()), **_offset_numbers(products)}


def rotation_numbers(table: Table, pair: int) -> dict[str, Any]:
    """One pair of dimensions.

    Returns:
        ``features``: which dimensions they are. ``cells``: (S, 2), where each position stands in their plane. Of
        sinusoids also ``step``: the radians from one position to the next, and ``turns``: (O, 2, 2), the matrices that
        turn a position on by each offset; None for others, which have no such thing.

    Raises:
        IndexError: no such pair.
    """
    length, width = table.vectors.shape
    features = features_of_pair(pair, width, table.layout or "interleaved")
    numbers = {"features": features, "cells": _floats(table.vectors[:, features]), "step": None, "turns": None}
    if table.base is None:
        return numbers
    step = angular_steps(width, table.base)[pair]
    return {**numbers, "step": step.item(), "turns": _floats(rotation(step * _offsets(length)))}


def scheme_numbers(table: Table, past: bool) -> dict[str, Any]:
    """What each scheme of positions does to an attention, by offset.

    Returns:
        ``added``: cosines of the table's vectors, as ``mean``, ``low`` and ``high`` (O,). ``sinusoidal``: (O,), the
        same of sinusoids of that size, where the table is another. ``rotary``: (O,), a factor, for heads of width
        ``head_width``. ``alibi``: (H, O), added to the scores, -inf for what is masked. ``t5``: (O,) int32, buckets,
        of ``buckets`` up to the distance ``max_distance``.
    """
    length, width = table.vectors.shape
    offsets, base = _offsets(length), table.base or BASE
    head_width = max(2, width // table.heads // 2 * 2)
    sinusoids = None if table.base else by_offset(cosines(sinusoidal_table(length, width, base))).mean
    buckets = t5_buckets(offsets, T5_BUCKETS, T5_MAX_DISTANCE, bidirectional=not past)
    return {
        "added": _offset_numbers(cosines(table.vectors)),
        "sinusoidal": None if sinusoids is None else _floats(sinusoids),
        "rotary": _floats(rotary_factor(offsets, head_width, base)),
        "head_width": head_width,
        "base": base,
        "alibi": _floats(alibi_bias(offsets, table.heads)),
        "t5": buckets.numpy().astype(np.int32),
        "buckets": T5_BUCKETS,
        "max_distance": T5_MAX_DISTANCE,
    }


def _offset_numbers(products: Tensor) -> dict[str, np.ndarray]:
    found = by_offset(products)
    return {"mean": _floats(found.mean), "low": _floats(found.least), "high": _floats(found.most)}


def _offsets(length: int) -> Tensor:
    return torch.arange(1 - length, length)


def _of_sinusoids(table: Table) -> tuple[float, Layout]:
    if table.base is None or table.layout is None:
        raise ValueError("Only sinusoids have wavelengths.")
    return table.base, table.layout


def _floats(numbers: Tensor) -> np.ndarray:
    return numbers.numpy().astype(np.float32)
