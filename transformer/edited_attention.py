"""Attention that departs from the formula on purpose: what an intervention does after the scores.

L query length · S key length
"""

import math

import torch
from torch import Tensor

from transformer.masked_softmax import masked_softmax


def edited_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    zeroed: Tensor | None = None,
    over_queries: bool = False,
) -> tuple[Tensor, Tensor]:
    """:func:`~transformer.attention.scaled_dot_product_attention`, with weights taken away or another softmax.

    Args:
        zeroed: broadcast to (..., L, S) bool; weights that become 0 after the softmax. The others do not make up for
            them: such a row sums to less than 1.
        over_queries: the softmax goes down the columns, so that they sum to 1 and not the rows.

    Returns:
        The output (..., L, width of value), and the pattern (..., L, S).

    Example:
        >>> query, key, value = torch.zeros(1, 1), torch.zeros(2, 1), torch.tensor([[2.0], [4.0]])
        >>> edited_attention(query, key, value, zeroed=torch.tensor([[False, True]]))
        (tensor([[1.]]), tensor([[0.5000, 0.0000]]))
    """
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))  # (..., L, S)
    mask = torch.zeros_like(scores) if attn_mask is None else attn_mask.expand(scores.shape)
    if over_queries:
        pattern = masked_softmax(scores.transpose(-2, -1), mask.transpose(-2, -1)).transpose(-2, -1)
    else:
        pattern = masked_softmax(scores, mask)
    if zeroed is not None:
        pattern = pattern.masked_fill(zeroed, 0.0)
    return pattern @ value, pattern
