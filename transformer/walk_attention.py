"""The steps of a walk between what an attention reads and what it gives.

H heads · L query length · S key length · D head width · E model width
"""

from collections.abc import Callable
from typing import Any

from torch import Tensor
from torch.nn import functional as F

from transformer import breakdown
from transformer.recording import Recording
from transformer.walked import Axes, Name, Values
from transformer.walking import Path, double, double_or_none

_NAMES: tuple[tuple[Name, Any], ...] = (("q", "L"), ("k", "S"), ("v", "S"))
_OF_PATTERN: Axes = ("N", "H", "L", "S")


def attention_steps(path: Path, recording: Recording, attention: Any, x: Tensor, keys: Tensor, head: int) -> Tensor:
    """Walk from the in-projection to the out-projection.

    Args:
        attention: the module.
        x: (L, E), what queries are made of.
        keys: (S, E), what keys and values are made of.

    Returns:
        (L, E), what the attention gave.

    Raises:
        ValueError: what was recorded is not what the module computes.
    """
    seen, place = path.run.attentions[path.site], _place(recording, path)
    if seen.masks.edits:
        raise ValueError(path.other_model)
    query, key, value = (path.of_sentence(one) for one in (seen.query, seen.key, seen.value))  # (H, L or S, D)
    _projection(path, attention, (x, keys, keys), (query, key, value))
    _heads(path, (query[head], key[head], value[head]), first=head * attention.head_dim)

    def recorded(read: Callable[..., Tensor], one: int | None) -> Tensor:
        return read(path.site, one, path.sentence, run=place).double()

    scores, mask, pattern = (
        recorded(recording.scores, head),
        recorded(recording.mask, head),
        recorded(recording.pattern, None),
    )
    for_scores, for_mask = (breakdown.weighed(query[head], key[head], mask, own) for own in ("root", "mask"))
    path.add("scores", scores, for_scores, _OF_PATTERN, inside=True)
    path.add("mask", scores + mask, for_mask, _OF_PATTERN, inside=True)
    path.add("softmax", pattern[head], breakdown.shared_out(scores + mask), _OF_PATTERN, inside=True)

    heads = pattern @ value  # (H, L, D)
    gathered = breakdown.gathered(pattern[head], value[head])
    path.add("values", heads[head], gathered, ("N", "H", "L", "D"), inside=True)
    joined = heads.transpose(0, 1).flatten(1)  # (L, E)
    of_head = breakdown.found(joined, "head", lambda _, column: column // attention.head_dim + 1)
    path.add("joined", joined, of_head, ("L", "N", "E"), inside=True)

    weight, bias = double(attention.out_proj.weight), double_or_none(attention.out_proj.bias)
    output = path.of_sentence(path.run.outputs[path.site])
    path.check(F.linear(joined, weight, bias), output)
    path.add("out", output, breakdown.linear(joined, weight, bias, "E"))
    return output


def _projection(path: Path, attention: Any, read: tuple[Tensor, ...], made: tuple[Tensor, ...]) -> None:
    weights = double(attention.in_proj_weight).chunk(3)
    biases = (None,) * 3 if attention.in_proj_bias is None else double(attention.in_proj_bias).chunk(3)
    values = []
    for (name, axis), x, heads, weight, bias in zip(_NAMES, read, made, weights, biases, strict=True):
        whole = heads.transpose(0, 1).flatten(1)  # (H, L, D) -> (L, E)
        path.check(F.linear(x, weight, bias), whole)
        values.append(Values(name, whole.float(), (axis, "N", "E"), True, breakdown.linear(x, weight, bias, "E")))
    path.add_several("projection", values)


def _heads(path: Path, made: tuple[Tensor, ...], first: int) -> None:
    """The columns of one head, of which the first is counted from 0 in all."""
    values = []
    for (name, axis), one in zip(_NAMES, made, strict=True):
        explain = breakdown.found(one, "column", lambda _, column: first + column + 1)
        values.append(Values(name, one.float(), ("N", "H", axis, "D"), True, explain))
    path.add_several("heads", values)


def _place(recording: Recording, path: Path) -> int:
    """Which of the recording's runs is walked through."""
    return next(at for at, known in enumerate(recording.runs) if known is path.run)
