"""Which keys a query may not look at.

One convention everywhere, torch.nn's: a bool mask says ``True`` = may not be looked at; a float mask is added to
the scores, and only ``-inf`` blocks.

N batch · H heads · L query length · S key length
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn import functional as F


def causal_mask(rows: int | Tensor, columns: int, device: torch.device | str | None = None) -> Tensor:
    """Block every key that stands after its query.

    Args:
        rows: how many queries, or the indices of some.
        columns: how many keys.

    Returns:
        (L, S) bool, ``True`` = may not be looked at.

    Example:
        >>> causal_mask(2, 3)
        tensor([[False,  True,  True],
                [False, False,  True]])
    """
    query = torch.arange(rows, device=device) if isinstance(rows, int) else rows.to(device)
    return torch.arange(columns, device=device) > query[:, None]


def padding_mask(ids: Tensor, pad_id: int) -> Tensor | None:
    """Block the padding that fills a batch of token ids up to one length.

    Returns:
        (N, S) bool, ``True`` = padding, may not be looked at; None where nothing is padded.

    Example:
        >>> padding_mask(torch.tensor([[5, 6, 7], [5, 0, 0]]), pad_id=0)
        tensor([[False, False, False],
                [False,  True,  True]])
    """
    padded = ids == pad_id
    return padded if bool(padded.any()) else None


def generate_square_subsequent_mask(
    sz: int, device: torch.device | str | None = None, dtype: torch.dtype | None = None
) -> Tensor:
    """The causal mask as numbers to add: 0 where a query may look, ``-inf`` after itself.

    Returns:
        (sz, sz) float.

    Example:
        >>> generate_square_subsequent_mask(2)
        tensor([[0., -inf],
                [0., 0.]])
    """
    return torch.triu(torch.full((sz, sz), -math.inf, device=device, dtype=dtype), diagonal=1)


def check_mask_dtype(name: str, mask: Tensor) -> None:
    """Raise TypeError unless a mask is bool or floating point; integers could mean either."""
    if mask.dtype != torch.bool and not mask.is_floating_point():
        raise TypeError(
            f"{name} has dtype {mask.dtype}; wanted bool (True = may not be looked at) "
            "or floating point (added to the scores)."
        )


def check_mask(name: str, mask: Tensor, wanted: dict[str, tuple[int, ...]]) -> None:
    """Refuse a mask whose dtype or shape could only be misread.

    Args:
        name: the argument's name, for the message.
        mask: what was given.
        wanted: the shapes that would do, by their letters.

    Raises:
        TypeError: neither bool nor floating point.
        ValueError: none of the wanted shapes.

    Example:
        >>> check_mask("key_padding_mask", torch.zeros(2, 3), {"(N, S)": (2, 4)})
        Traceback (most recent call last):
        ValueError: key_padding_mask has shape (2, 3); wanted (N, S) = (2, 4).
    """
    check_mask_dtype(name, mask)
    if tuple(mask.shape) not in wanted.values():
        shapes = " or ".join(f"{letters} = {shape}" for letters, shape in wanted.items())
        raise ValueError(f"{name} has shape {tuple(mask.shape)}; wanted {shapes}.")


@contextmanager
def argument_names(attn_mask: str, key_padding_mask: str) -> Iterator[None]:
    """Let a refused mask be called what the caller calls it.

    Example:
        >>> with argument_names("src_mask", "src_key_padding_mask"):
        ...     check_mask("attn_mask", torch.zeros(2, 3), {"(L, S)": (2, 2)})
        Traceback (most recent call last):
        ValueError: src_mask has shape (2, 3); wanted (L, S) = (2, 2).
    """
    try:
        yield
    except (TypeError, ValueError) as error:
        name, has, rest = str(error).partition(" has ")
        names = {"attn_mask": attn_mask, "key_padding_mask": key_padding_mask}
        if name not in names:
            raise
        raise type(error)(names[name] + has + rest) from error


@dataclass(frozen=True)
class AttentionMasks:
    """The masks of one attention call as they were given, merged only when somebody needs them.

    Attributes:
        attn_mask: (L, S), or (N*H, L, S) with the heads of a sentence side by side. Modules that are not ours may have
            been given (1 or N, 1 or H, L, S), which :meth:`check` refuses.
        key_padding_mask: (N, S).
        is_causal: no query looks at a key after itself.
        appended: keys added after the S that were given (add_bias_kv, add_zero_attn); never blocked.
        zeroed, over_queries: what an intervention does after the scores (see
            :func:`~transformer.edited_attention.edited_attention`); zeroed is shaped as attn_mask.
    """

    attn_mask: Tensor | None = None
    key_padding_mask: Tensor | None = None
    is_causal: bool = False
    appended: int = 0
    zeroed: Tensor | None = None
    over_queries: bool = False

    def check(self, batch: int | None, num_heads: int, query_length: int, key_length: int) -> None:
        """Raise TypeError or ValueError unless every mask fits these sizes (see :func:`check_mask`).

        ``batch`` is None for unbatched input, whose key_padding_mask is (S,).
        """
        square = (query_length, key_length)
        letters, masks = ("(H, L, S)", num_heads) if batch is None else ("(N*H, L, S)", batch * num_heads)
        for name, mask in (("attn_mask", self.attn_mask), ("zeroed", self.zeroed)):
            if mask is not None:
                check_mask(name, mask, {"(L, S)": square, letters: (masks, *square)})
        if self.key_padding_mask is not None:
            wanted: dict[str, tuple[int, ...]] = {"(S,)": (key_length,)}
            if batch is not None:
                wanted = {"(N, S)": (batch, key_length)}
            check_mask("key_padding_mask", self.key_padding_mask, wanted)

    @property
    def only_causal(self) -> bool:
        """Whether the causal flag says everything."""
        others = (self.attn_mask, self.key_padding_mask, self.zeroed)
        return self.is_causal and not self.appended and not self.edits and all(mask is None for mask in others)

    @property
    def edits(self) -> bool:
        """Whether something is done after the scores, which no mask can say."""
        return self.zeroed is not None or self.over_queries

    def of_sentence(self, sentence: int, num_heads: int, head: int | None = None) -> "AttentionMasks":
        """The masks of one sentence as a batch of one; with ``head``, as if that head were the only one."""

        def of_heads(mask: Tensor | None) -> Tensor | None:
            if mask is None or mask.dim() == 2:
                return mask
            if mask.dim() == 4:
                own = mask[sentence if mask.size(0) > 1 else 0]  # (1 or H, L, S)
                return own[0] if own.size(0) == 1 else own if head is None else own[head]
            several = mask[sentence * num_heads : (sentence + 1) * num_heads]  # (H, L, S)
            return several if head is None else several[head]

        padding = None if self.key_padding_mask is None else self.key_padding_mask[sentence : sentence + 1]
        return replace(self, attn_mask=of_heads(self.attn_mask), key_padding_mask=padding, zeroed=of_heads(self.zeroed))

    def additive(
        self, num_heads: int, rows: int | Tensor, columns: int, dtype: torch.dtype, device: torch.device | str | None
    ) -> Tensor | None:
        """All masks as one that is added to the scores: ``-inf`` where any of them blocks.

        Args:
            num_heads: H.
            rows: how many queries L, or the indices of some.
            columns: S, without the appended keys.
            dtype: the query's.

        Returns:
            (1 or N, 1 or H, 1 or L, S + appended), ready to broadcast; None when nothing is masked.
        """
        blocked = causal_mask(rows, columns, device)[None, None] if self.is_causal else None
        added: Tensor | None = None
        for mask in self._four_dimensional(num_heads, rows):
            if mask.dtype == torch.bool:
                blocked = mask if blocked is None else blocked | mask
            else:
                added = _add_up(added, mask, dtype)
        if added is None and blocked is None:
            return None
        if added is None:
            added = torch.zeros((), dtype=dtype, device=device)
        merged = added if blocked is None else torch.where(blocked, -math.inf, added)
        return F.pad(merged, (0, self.appended))

    def zeroes(self, num_heads: int, rows: int | Tensor) -> Tensor | None:
        """Which weights become 0 after the softmax: (1 or N, 1 or H, L, S + appended) bool; None for none."""
        return None if self.zeroed is None else F.pad(_with_heads(self.zeroed, num_heads, rows), (0, self.appended))

    def _four_dimensional(self, num_heads: int, rows: int | Tensor) -> list[Tensor]:
        """The masks that were given, as (1 or N, 1 or H, 1 or L, S)."""
        masks = []
        if self.attn_mask is not None:
            masks.append(_with_heads(self.attn_mask, num_heads, rows))
        if self.key_padding_mask is not None:
            masks.append(self.key_padding_mask[:, None, None])
        return masks


def _with_heads(mask: Tensor, num_heads: int, rows: int | Tensor) -> Tensor:
    """Any shape that a mask has, and the rows of it that are wanted -> (1 or N, 1 or H, L, S)"""
    picked = mask if isinstance(rows, int) else mask[..., rows, :]
    if picked.dim() == 4:
        return picked
    return picked[None, None] if picked.dim() == 2 else picked.unflatten(0, (-1, num_heads))


def _add_up(added: Tensor | None, mask: Tensor, dtype: torch.dtype) -> Tensor:
    """The sum in ``dtype``, where very negative numbers stay numbers and do not turn into a block."""
    if added is None and mask.dtype == dtype:
        return mask
    blocked, total = mask == -math.inf, mask.double()
    if added is not None:
        blocked, total = blocked | (added == -math.inf), total + added
    limits = torch.finfo(dtype)
    return torch.where(blocked, -math.inf, total.clamp(limits.min, limits.max)).to(dtype)
