"""Some heads, one sentence and some rows of an attention: what a picture is computed from.

N batch · H heads · L query length · S key length · D head width
"""

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from transformer.attention import scaled_dot_product_attention
from transformer.edited_attention import edited_attention
from transformer.masks import AttentionMasks

Head = int | Literal["mean"] | None
Indices = slice | Sequence[int] | None


@dataclass(frozen=True)
class Picked:
    """query (H, L, D), key (H, S, D), and mask (1 or H, 1 or L, S), None where nothing is masked; one head: H = 1.

    What an intervention did after the scores stands in ``zeroed``, shaped as the mask, and ``over_queries``.
    """

    query: Tensor
    key: Tensor
    mask: Tensor | None
    zeroed: Tensor | None = None
    over_queries: bool = False

    def pattern(self) -> Tensor:
        """(H, L, S)"""
        no_values = self.key[..., :0]  # only the pattern is wanted
        if self.zeroed is not None or self.over_queries:
            return edited_attention(self.query, self.key, no_values, self.mask, self.zeroed, self.over_queries)[1]
        return scaled_dot_product_attention(self.query, self.key, no_values, self.mask)[1]


def picked(query: Tensor, key: Tensor, masks: AttentionMasks, heads: slice, sentence: int, rows: Indices) -> Picked:
    """A part of query (N, H, L, D) and key (N, H, S, D), at least in float32, with the masks merged for it."""
    num_heads, length = query.shape[1:3]
    chosen_rows = torch.arange(length, device=query.device)[places(rows, length)]
    precision = torch.promote_types(query.dtype, torch.float32)
    some_queries = query[sentence, heads][:, chosen_rows].to(precision)
    keys = key[sentence, heads].to(precision)
    only = heads.start  # None: every head
    of_sentence = masks.of_sentence(sentence, num_heads, only)
    columns = keys.size(1) - of_sentence.appended
    mask = of_sentence.additive(num_heads, chosen_rows, columns, precision, query.device)
    zeroed = of_sentence.zeroes(num_heads, chosen_rows)
    merged, removed = (None if one is None else one[0] for one in (mask, zeroed))
    return Picked(some_queries, keys, merged, removed, of_sentence.over_queries)


def picked_heads(query: Tensor, site: str, head: Head, sentence: int) -> slice:
    """The heads that are asked for.

    Args:
        query: (N, H, L, D)
        site: its name, for the message.

    Raises:
        IndexError: no such head or sentence.
    """
    batch, num_heads = query.shape[:2]
    if not 0 <= sentence < batch:
        raise IndexError(f"sentence is {sentence}, but the batch has {batch}.")
    if head is None or head == "mean":
        return slice(None)
    only = operator.index(head)
    if not 0 <= only < num_heads:
        raise IndexError(f"head is {head}, but {site} has {num_heads}.")
    return slice(only, only + 1)


def of_heads(cells: Tensor, head: Head) -> Tensor:
    """(H, ...) -> what was asked for, float32 on the CPU."""
    if head == "mean":
        cells = cells.mean(dim=0)
    elif head is not None:
        cells = cells[0]
    return cells.float().cpu()


def places(indices: Indices, length: int) -> slice | Tensor:
    """Some of ``length`` places, as something a tensor is indexed with.

    Raises:
        IndexError: a place beyond them.
    """
    if indices is None or isinstance(indices, slice):
        return indices or slice(None)
    chosen = torch.as_tensor(indices, dtype=torch.long)
    if chosen.numel() and not -length <= int(chosen.min()) <= int(chosen.max()) < length:
        raise IndexError(f"rows and columns must lie within {length}, but are {list(indices)}.")
    return chosen
