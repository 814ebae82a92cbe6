"""Attention: the plain formula, and the module around it.

N batch · L query length · S key length · E model width · H heads · D = E/H head width
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer.cache import AttentionCache
from transformer.edited_attention import edited_attention
from transformer.masked_softmax import masked_softmax
from transformer.masks import AttentionMasks
from transformer.projection import (
    add_batch_axis,
    check_axes,
    check_inputs,
    in_projection,
    in_projection_packed,
    project,
    split_heads,
    static_heads,
    swap_batch_axis,
)


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0
) -> tuple[Tensor, Tensor]:
    """softmax(query · keyᵀ / sqrt(D) + mask) · value.

    Args:
        query: (..., L, D)
        key: (..., S, D)
        value: (..., S, any width)
        attn_mask: broadcast to (..., L, S). Bool: ``True`` = may NOT be looked at, as everywhere in torch.nn and
            the opposite of ``torch.nn.functional.scaled_dot_product_attention``. Float: added to the scores.
        dropout_p: the share of weights dropped before they meet the values.

    Returns:
        The output (..., L, width of value), and the pattern (..., L, S) before dropout. Rows of the pattern sum
        to 1; a row whose keys are all blocked is zeros.

    Raises:
        TypeError: a mask that is neither bool nor floating point.

    Source: Vaswani et al. 2017, section 3.2.1.

    Example:
        >>> query, key, value = torch.tensor([[1.0]]), torch.tensor([[0.0], [0.0]]), torch.tensor([[2.0], [4.0]])
        >>> scaled_dot_product_attention(query, key, value)
        (tensor([[3.]]), tensor([[0.5000, 0.5000]]))
    """
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))  # (..., L, S)
    pattern = scores.softmax(dim=-1) if attn_mask is None else masked_softmax(scores, attn_mask)
    return F.dropout(pattern, dropout_p) @ value, pattern


class DotProductAttention(nn.Module):
    """The step between the in- and the out-projection, where every head stands by itself.

    A module without parameters, so that a forward hook sees the query, key and value of each head and the masks
    as they were given. Unless the pattern is wanted it is never made: the fused
    ``torch.nn.functional.scaled_dot_product_attention`` gives the same output.

    Shape:
        query (N, H, L, D), key and value (N, H, S, D) -> (N, H, L, D), and (N, H, L, S) or None.
    """

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        masks: AttentionMasks,
        dropout_p: float = 0.0,
        need_weights: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        num_heads, query_length, key_length = query.size(1), query.size(2), key.size(2) - masks.appended
        if not need_weights and masks.only_causal:
            return F.scaled_dot_product_attention(query, key, value, dropout_p=dropout_p, is_causal=True), None
        attn_mask = masks.additive(num_heads, query_length, key_length, query.dtype, query.device)
        if masks.edits:
            zeroed = masks.zeroes(num_heads, query_length)
            return edited_attention(query, key, value, attn_mask, zeroed, masks.over_queries)
        if need_weights:
            return scaled_dot_product_attention(query, key, value, attn_mask, dropout_p)
        return F.scaled_dot_product_attention(query, key, value, attn_mask, dropout_p), None


Attend = Callable[[Tensor, Tensor, Tensor, AttentionMasks, float, bool], tuple[Tensor, Tensor | None]]


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
    attend: Attend | None = None,
    cache: AttentionCache | None = None,
) -> tuple[Tensor, Tensor | None]:
    """Project, split into heads, attend, join the heads, project back.

    The arguments are those of ``torch.nn.functional.multi_head_attention_forward``, in its order.

    Args:
        query: (L, N, E), or unbatched (L, E)
        key, value: (S, N, width of key / value), or unbatched
        in_proj_weight: (3E, E), or None with ``use_separate_proj_weight`` and three weights of their own
        bias_k, bias_v: (1, 1, E), one more key and value for everyone
        add_zero_attn: one more key and value, of zeros
        key_padding_mask: (N, S), unbatched (S). Bool: ``True`` = may not be looked at. Float: added to the scores.
        attn_mask: (L, S) or (N*H, L, S). Bool: ``True`` = may not be looked at. Float: added to the scores.
        static_k, static_v: (N*H, S, D), used in place of the projected ones
        is_causal: no query looks at a key after itself, besides what ``attn_mask`` says. (torch takes it for a hint
            that ``attn_mask`` is causal, and asks for one.)
        attend: the step in the middle; :class:`DotProductAttention` unless given
        cache: keys and values of earlier forwards. In self-attention the new ones are added to it; in attention to
            something else (``key`` is not ``query``) it is filled once, and ``key`` and ``value`` are not read again.

    Returns:
        The output as the query, and the pattern before dropout or None: (N, L, S) averaged over heads, or
        (N, H, L, S); without N for unbatched input.

    Raises:
        TypeError: a mask that is neither bool nor floating point.
        ValueError: shapes that do not fit; the message names the argument, its shape and the one wanted. Several
            queries at once, causal, on a cache that is not empty.

    Source: Vaswani et al. 2017, section 3.2.2.
    """
    check_axes(query, key, value)
    batched = query.dim() == 3
    if not batched:
        query, key, value = add_batch_axis(query, key, value)
    check_inputs(query, key, value, embed_dim_to_check, num_heads, same_width=not use_separate_proj_weight)
    length, batch, width = query.shape
    remembered = cache is not None and cache.length > 0 and key is not query
    if remembered:  # nothing of it is new
        key, value = key[:0], key[:0] if value is key else value[:0]

    if use_separate_proj_weight:
        weights = (q_proj_weight, k_proj_weight, v_proj_weight)
        if any(weight is None for weight in weights):
            raise ValueError("use_separate_proj_weight needs q_proj_weight, k_proj_weight and v_proj_weight.")
        q, k, v = in_projection(query, key, value, *weights, in_proj_bias)  # type: ignore[arg-type]
    else:
        if in_proj_weight is None:
            raise ValueError("in_proj_weight is None; give it, or use_separate_proj_weight=True and three weights.")
        q, k, v = in_projection_packed(query, key, value, in_proj_weight, in_proj_bias)

    q = split_heads(q, num_heads)  # (L, N, E) -> (N, H, L, D)
    k = split_heads(k, num_heads) if static_k is None else static_heads("static_k", static_k, q)
    v = split_heads(v, num_heads) if static_v is None else static_heads("static_v", static_v, q)
    if cache is not None:
        k, v, is_causal = _recall(cache, k, v, remembered, is_causal)
    if v.size(2) != k.size(2):
        raise ValueError(f"The values have length {v.size(2)}; wanted the keys', S = {k.size(2)}.")
    AttentionMasks(attn_mask, key_padding_mask).check(batch if batched else None, num_heads, length, k.size(2))
    if not batched and key_padding_mask is not None:
        key_padding_mask = key_padding_mask.unsqueeze(0)

    appended = 0
    if bias_k is not None or bias_v is not None:
        if bias_k is None or bias_v is None:
            raise ValueError("bias_k and bias_v must be given together.")
        if static_k is not None or static_v is not None:
            raise ValueError("bias_k and bias_v cannot be added to static_k and static_v.")
        k = torch.cat([k, split_heads(bias_k.expand(1, batch, width), num_heads)], dim=2)
        v = torch.cat([v, split_heads(bias_v.expand(1, batch, width), num_heads)], dim=2)
        appended += 1
    if add_zero_attn:
        zeros = q.new_zeros(batch, num_heads, 1, width // num_heads)
        k, v = torch.cat([k, zeros], dim=2), torch.cat([v, zeros], dim=2)
        appended += 1

    masks = AttentionMasks(attn_mask, key_padding_mask, is_causal, appended)
    attend = attend or DotProductAttention()
    heads, pattern = attend(q, k, v, masks, dropout_p if training else 0.0, need_weights)
    joined = heads.transpose(1, 2).reshape(batch, length, width).transpose(0, 1)  # (N, H, L, D) -> (L, N, E)
    output = project(joined, out_proj_weight, out_proj_bias)

    if pattern is not None and average_attn_weights:
        pattern = pattern.mean(dim=1)
    if not batched:
        output = output.squeeze(1)
        pattern = None if pattern is None else pattern.squeeze(0)
    return output, pattern


def _recall(
    cache: AttentionCache, k: Tensor, v: Tensor, remembered: bool, is_causal: bool
) -> tuple[Tensor, Tensor, bool]:
    """All keys and values known so far, (N, H, S, D), and whether the new queries have a future among them."""
    if remembered and cache.key is not None and cache.value is not None:
        return cache.key, cache.value, is_causal
    if cache.length and is_causal and k.size(2) > 1:
        raise ValueError(f"{k.size(2)} tokens were given to a cache that holds {cache.length}; wanted 1 at a time.")
    return *cache.append(k, v), is_causal and cache.length == k.size(2)


class MultiheadAttention(nn.Module):
    """:class:`torch.nn.MultiheadAttention`, to be read: same arguments, same parameters, same numbers.

    It differs where torch hides or loses something: the pattern is the one before dropout, a query whose keys are
    all blocked gives zeros and finite gradients (torch: NaN or zeros, by code path), ``is_causal`` is obeyed
    rather than taken for a hint.

    Shape:
        query (N, L, E) if ``batch_first`` else (L, N, E), or unbatched (L, E); key (.., S, kdim); value (.., S, vdim).
        Returns the output, shaped as the query, and the pattern (N, L, S), (N, H, L, S) or None. ``cache`` holds the
        keys and values of earlier forwards (see :func:`multi_head_attention_forward`); then S counts them too.

    Raises:
        TypeError, ValueError: see :func:`multi_head_attention_forward`.

    Example:
        >>> attention = MultiheadAttention(8, num_heads=2, batch_first=True)
        >>> x = torch.randn(1, 3, 8)
        >>> output, pattern = attention(x, x, x, average_attn_weights=False)
        >>> output.shape, pattern.shape
        (torch.Size([1, 3, 8]), torch.Size([1, 2, 3, 3]))
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        if embed_dim < 1 or num_heads < 1 or embed_dim % num_heads:
            raise ValueError(f"embed_dim {embed_dim} must be a positive multiple of num_heads {num_heads}.")
        super().__init__()
        self.embed_dim, self.num_heads, self.head_dim = embed_dim, num_heads, embed_dim // num_heads
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self.dropout, self.batch_first, self.add_zero_attn = dropout, batch_first, add_zero_attn
        self.use_separate_proj_weight = (self.kdim, self.vdim) != (embed_dim, embed_dim)

        def parameter(*shape: int, when: bool = True) -> nn.Parameter | None:
            return nn.Parameter(torch.empty(shape, device=device, dtype=dtype)) if when else None

        separate = self.use_separate_proj_weight
        self.q_proj_weight = parameter(embed_dim, embed_dim, when=separate)
        self.k_proj_weight = parameter(embed_dim, self.kdim, when=separate)
        self.v_proj_weight = parameter(embed_dim, self.vdim, when=separate)
        self.in_proj_weight = parameter(3 * embed_dim, embed_dim, when=not separate)
        self.in_proj_bias = parameter(3 * embed_dim, when=bias)
        self.out_proj = nn.Linear(embed_dim, embed_dim, bias=bias, device=device, dtype=dtype)
        self.bias_k = parameter(1, 1, embed_dim, when=add_bias_kv)
        self.bias_v = parameter(1, 1, embed_dim, when=add_bias_kv)
        self.attention = DotProductAttention()
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        """Xavier: uniform for the in-projections, normal for bias_k and bias_v; biases start at 0."""
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                nn.init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            nn.init.zeros_(self.in_proj_bias)
            nn.init.zeros_(self.out_proj.bias)
        for vector in (self.bias_k, self.bias_v):
            if vector is not None:
                nn.init.xavier_normal_(vector)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
        *,
        cache: AttentionCache | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        check_axes(query, key, value)
        transposed = self.batch_first and query.dim() == 3
        if transposed:
            query, key, value = swap_batch_axis(query, key, value)
        output, pattern = multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            use_separate_proj_weight=self.use_separate_proj_weight,
            q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
            attend=self.attention,
            cache=cache,
        )
        return (output.transpose(0, 1) if transposed else output), pattern
