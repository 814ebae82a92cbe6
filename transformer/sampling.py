"""Which token to draw.

N batch · V vocabulary
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor


def sampling_probabilities(
    logits: Tensor, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None
) -> Tensor:
    """The distribution a token is drawn from, renormalised over what is left.

    Args:
        logits: (N, V)
        temperature: what the logits are divided by: below 1 sharper, above 1 flatter.
        top_k: keep the k likeliest tokens.
        top_p: of them, keep the fewest likeliest tokens that together have at least this probability.

    Returns:
        (N, V), rows sum to 1.

    Source: top-k: Fan et al. 2018; top-p (nucleus): Holtzman et al. 2020.

    Example:
        >>> sampling_probabilities(torch.tensor([[0.5, 0.3, 0.2]]).log(), top_p=0.6)
        tensor([[0.6250, 0.3750, 0.0000]])
    """
    probabilities, order = (logits / temperature).softmax(dim=-1).sort(dim=-1, descending=True, stable=True)
    if top_k is not None:
        probabilities[:, top_k:] = 0
        probabilities /= probabilities.sum(dim=-1, keepdim=True)
    if top_p is not None:
        before = probabilities.cumsum(dim=-1) - probabilities  # of the likelier ones
        probabilities = probabilities.masked_fill(before >= top_p, 0)
        probabilities[:, 0].clamp_(min=torch.finfo(probabilities.dtype).tiny)  # the likeliest always stays
    kept = torch.zeros_like(probabilities).scatter(-1, order, probabilities)
    return kept / kept.sum(dim=-1, keepdim=True)


def draw(probabilities: Tensor, generators: Sequence[torch.Generator]) -> Tensor:
    """One token of each row, from a generator of its own, so that a sentence's draws do not depend on its company.

    (N, V) -> (N,)
    """
    chance = torch.stack([torch.rand((), generator=one) for one in generators]).to(probabilities)  # (N,), below 1
    passed = probabilities.cumsum(dim=-1) <= chance[:, None] * probabilities.sum(dim=-1, keepdim=True)
    # Rounding may carry the chance past the last token that has any: fall back on the last one that does.
    last = probabilities.size(-1) - 1 - (probabilities.flip(-1) > 0).int().argmax(dim=-1)
    return torch.minimum(passed.sum(dim=-1), last)


def check_sampling(temperature: float, top_k: int | None, top_p: float | None) -> None:
    """Raise ValueError, naming the number, unless these can be sampled with."""
    if not 0 < temperature < math.inf:
        raise ValueError(
            f"temperature must be above 0, not {temperature}; to take the likeliest token, decode greedily."
        )
    if top_k is not None and top_k < 1:
        raise ValueError(f"top_k must be at least 1, not {top_k}.")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"top_p must be above 0 and at most 1, not {top_p}.")
