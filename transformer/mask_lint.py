"""What is probably wrong with a mask, and the line that repairs it.

N batch · L query length · S key length
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

Name = Literal[
    "numbers_for_bools", "transposed", "polarity", "future", "nothing_left", "hides_tokens", "shows_padding", "shape"
]
CAUSAL = "torch.ones({rows}, {columns}, dtype=torch.bool).triu(1)"


@dataclass(frozen=True)
class Finding:
    """One suspicion.

    Attributes:
        name: what is wrong.
        places: the queries, or keys, that it is about; none where it is about the whole.
        repair: a line of Python that sets it right; nothing where only the author of the mask can know.
    """

    name: Name
    places: tuple[int, ...] = ()
    repair: str = ""


def lint_mask(
    mask: Tensor, queries: int, keys: int, argument: str = "attn_mask", causal: bool = False
) -> list[Finding]:
    """Look at an attention mask as torch.nn takes it: bool ``True`` = may not be looked at, float = added.

    Args:
        mask: (L, S)
        queries, keys: L and S, the lengths that it is for.
        argument: what the mask is called, for the repair.
        causal: no query may look at a key after itself.

    Returns:
        One finding a mistake, the ones that make the others meaningless by themselves.

    Example:
        >>> lint_mask(torch.tensor([[0.0, 1.0], [0.0, 0.0]]), 2, 2)
        [Finding(name='numbers_for_bools', places=(), repair='attn_mask = attn_mask.bool()')]
    """
    if tuple(mask.shape) != (queries, keys):
        if tuple(mask.shape) == (keys, queries):
            return [Finding("transposed", repair=f"{argument} = {argument}.T")]
        return [Finding("shape")]
    if _numbers_for_bools(mask):
        return [Finding("numbers_for_bools", repair=f"{argument} = {argument}.bool()")]
    blocked = mask if mask.dtype == torch.bool else mask == -torch.inf  # (L, S)
    future = torch.ones(queries, keys, dtype=torch.bool).triu(1)
    if causal and bool(future.any()) and bool((~blocked & future).any()) and bool(blocked[~future].all()):
        return [Finding("polarity", repair=f"{argument} = ~{argument}" if mask.dtype == torch.bool else "")]
    found = []
    if causal and (seeing := _places((~blocked & future).any(dim=1))):
        line = CAUSAL.format(rows=queries, columns=keys)
        added = f"{argument} | {line}" if mask.dtype == torch.bool else f"{argument}.masked_fill({line}, -torch.inf)"
        found.append(Finding("future", seeing, f"{argument} = {added}"))
    if empty := _places(blocked.all(dim=1)):
        found.append(Finding("nothing_left", empty, f"{argument}[{list(empty)}] = {_open(mask)}"))
    return found


def lint_padding_mask(mask: Tensor, ids: Tensor, pad_id: int, argument: str = "key_padding_mask") -> list[Finding]:
    """Look at the padding mask (S,) of one text, beside its ids (S,).

    Example:
        >>> lint_padding_mask(torch.tensor([True, True, False]), torch.tensor([5, 3, 0]), pad_id=0)
        [Finding(name='polarity', places=(), repair='key_padding_mask = ~key_padding_mask')]
    """
    if mask.shape != ids.shape:
        return [Finding("shape", repair=f"{argument} = ids == {pad_id}")]
    if _numbers_for_bools(mask):
        return [Finding("numbers_for_bools", repair=f"{argument} = {argument}.bool()")]
    blocked, padding = (mask if mask.dtype == torch.bool else mask == -torch.inf), ids == pad_id
    if bool((blocked == ~padding).all()):
        return [Finding("polarity", repair=f"{argument} = ~{argument}" if mask.dtype == torch.bool else "")]
    repair = f"{argument} = ids == {pad_id}"
    found: list[Finding] = []
    if hidden := _places(blocked & ~padding):
        found.append(Finding("hides_tokens", hidden, repair))
    if shown := _places(~blocked & padding):
        found.append(Finding("shows_padding", shown, repair))
    return found


def _numbers_for_bools(mask: Tensor) -> bool:
    """Whether a float mask is made of ones and zeros, as if one meant blocked: both would only be added."""
    return mask.is_floating_point() and bool(((mask == 0) | (mask == 1)).all()) and bool((mask == 1).any())


def _places(flags: Tensor) -> tuple[int, ...]:
    return tuple(flags.nonzero()[:, 0].tolist())


def _open(mask: Tensor) -> str:
    return "False" if mask.dtype == torch.bool else "0.0"
