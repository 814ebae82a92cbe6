"""A softmax that only sees what the mask leaves.

L query length · S key length
"""

import math

import torch
from torch import Tensor

from transformer.masks import check_mask_dtype


def masked_softmax(scores: Tensor, attn_mask: Tensor) -> Tensor:
    """Softmax over the keys that the mask leaves; a row that has none left is zeros, with a gradient of zero.

    Args:
        scores: (..., L, S)
        attn_mask: broadcast to the scores, as in :func:`~transformer.attention.scaled_dot_product_attention`.

    Raises:
        TypeError: the mask is neither bool nor floating point.
    """
    check_mask_dtype("attn_mask", attn_mask)
    if attn_mask.dtype == torch.bool:
        blocked = attn_mask
    else:
        blocked = attn_mask == -math.inf
        # Only the mask blocks: in half precision a very negative score and mask would add up to -inf.
        scores = (scores + attn_mask).clamp(min=torch.finfo(scores.dtype).min)
    nothing_left = blocked.all(dim=-1, keepdim=True)  # (..., L, 1)
    # A softmax over nothing is NaN, and so is its gradient: such a row goes through it as zeros.
    scores = scores.masked_fill(blocked, -math.inf).masked_fill(nothing_left, 0.0)
    return scores.softmax(dim=-1).masked_fill(nothing_left, 0.0)
