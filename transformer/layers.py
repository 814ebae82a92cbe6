"""One layer of an encoder and one of a decoder.

N batch · S source length · T target length · E model width · F feed-forward width
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer.attention import MultiheadAttention
from transformer.cache import AttentionCache, LayerCache
from transformer.dropout import Dropout
from transformer.hook_point import HookPoint
from transformer.masks import argument_names

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": F.relu, "gelu": F.gelu}


class TransformerEncoderLayer(nn.Module):
    """Self-attention, then a feed-forward network, each added to what came in and normalised.

    As :class:`torch.nn.TransformerEncoderLayer`, with its arguments and parameters. ``norm_first`` normalises what
    a sublayer reads instead of what it leaves (pre-norm).

    Shape:
        src (N, S, E) if ``batch_first`` else (S, N, E), or unbatched (S, E); the output is as ``src``.
        src_mask (S, S) or (N*H, S, S); src_key_padding_mask (N, S). Bool ``True`` = may not be looked at.
        ``cache`` holds keys and values of earlier forwards; then the masks' S counts them too.

    Raises:
        ValueError: an activation by a name other than relu and gelu; shapes that do not fit.
        TypeError: a mask that is neither bool nor floating point.

    Source: Vaswani et al. 2017, section 3.1; pre-norm: Xiong et al. 2020.

    Example:
        >>> layer = TransformerEncoderLayer(d_model=8, nhead=2, batch_first=True)
        >>> layer(torch.randn(1, 3, 8)).shape
        torch.Size([1, 3, 8])
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout, bias, batch_first=batch_first, device=device, dtype=dtype
        )
        self.linear1 = nn.Linear(d_model, dim_feedforward, bias, device, dtype)
        self.dropout = Dropout(dropout)
        self.linear2 = nn.Linear(dim_feedforward, d_model, bias, device, dtype)
        self.norm_first = norm_first
        self.norm1 = nn.LayerNorm(d_model, layer_norm_eps, bias=bias, device=device, dtype=dtype)
        self.norm2 = nn.LayerNorm(d_model, layer_norm_eps, bias=bias, device=device, dtype=dtype)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.activation = activation_function(activation)
        self.after_self_attn = HookPoint()
        self.after_feedforward = HookPoint()

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
        *,
        cache: LayerCache | None = None,
    ) -> Tensor:
        x, masks = src, (src_mask, src_key_padding_mask, is_causal, None if cache is None else cache.own)
        if self.norm_first:
            x = self.after_self_attn(x + self._self_attention(self.norm1(x), *masks))
            x = self.after_feedforward(x + self._feedforward(self.norm2(x)))
        else:
            x = self.after_self_attn(self.norm1(x + self._self_attention(x, *masks)))
            x = self.after_feedforward(self.norm2(x + self._feedforward(x)))
        return x

    def _self_attention(
        self, x: Tensor, mask: Tensor | None, padding: Tensor | None, is_causal: bool, cache: AttentionCache | None
    ) -> Tensor:
        with argument_names("src_mask", "src_key_padding_mask"):
            output, _ = self.self_attn(
                x, x, x, padding, need_weights=False, attn_mask=mask, is_causal=is_causal, cache=cache
            )
        return self.dropout1(output)

    def _feedforward(self, x: Tensor) -> Tensor:
        return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))  # E -> F -> E


class TransformerDecoderLayer(nn.Module):
    """Self-attention, attention to the encoder's memory, then a feed-forward network.

    As :class:`torch.nn.TransformerDecoderLayer`, with its arguments and parameters.

    Shape:
        tgt (N, T, E) and memory (N, S, E) if ``batch_first``, else (T, N, E) and (S, N, E), or unbatched (T, E) and
        (S, E); the output is as ``tgt``. tgt_mask (T, T) or (N*H, T, T); memory_mask (T, S) or (N*H, T, S);
        tgt_key_padding_mask (N, T); memory_key_padding_mask (N, S). Bool ``True`` = may not be looked at.
        ``cache`` holds keys and values of earlier forwards; then the masks' T counts them too.

    Raises:
        ValueError: an activation by a name other than relu and gelu; shapes that do not fit.
        TypeError: a mask that is neither bool nor floating point.

    Source: Vaswani et al. 2017, section 3.1; pre-norm: Xiong et al. 2020.

    Example:
        >>> layer = TransformerDecoderLayer(d_model=8, nhead=2, batch_first=True)
        >>> layer(torch.randn(1, 3, 8), torch.randn(1, 5, 8), tgt_is_causal=True).shape
        torch.Size([1, 3, 8])
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout, bias, batch_first=batch_first, device=device, dtype=dtype
        )
        self.multihead_attn = MultiheadAttention(
            d_model, nhead, dropout, bias, batch_first=batch_first, device=device, dtype=dtype
        )
        self.linear1 = nn.Linear(d_model, dim_feedforward, bias, device, dtype)
        self.dropout = Dropout(dropout)
        self.linear2 = nn.Linear(dim_feedforward, d_model, bias, device, dtype)
        self.norm_first = norm_first
        self.norm1 = nn.LayerNorm(d_model, layer_norm_eps, bias=bias, device=device, dtype=dtype)
        self.norm2 = nn.LayerNorm(d_model, layer_norm_eps, bias=bias, device=device, dtype=dtype)
        self.norm3 = nn.LayerNorm(d_model, layer_norm_eps, bias=bias, device=device, dtype=dtype)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.dropout3 = Dropout(dropout)
        self.activation = activation_function(activation)
        self.after_self_attn = HookPoint()
        self.after_multihead_attn = HookPoint()
        self.after_feedforward = HookPoint()

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
        *,
        cache: LayerCache | None = None,
    ) -> Tensor:
        x = tgt
        own_cache, memory_cache = (None, None) if cache is None else (cache.own, cache.memory)
        own = (tgt_mask, tgt_key_padding_mask, tgt_is_causal, own_cache)
        cross = (memory_mask, memory_key_padding_mask, memory_is_causal, memory_cache)
        if self.norm_first:
            x = self.after_self_attn(x + self._self_attention(self.norm1(x), *own))
            x = self.after_multihead_attn(x + self._cross_attention(self.norm2(x), memory, *cross))
            x = self.after_feedforward(x + self._feedforward(self.norm3(x)))
        else:
            x = self.after_self_attn(self.norm1(x + self._self_attention(x, *own)))
            x = self.after_multihead_attn(self.norm2(x + self._cross_attention(x, memory, *cross)))
            x = self.after_feedforward(self.norm3(x + self._feedforward(x)))
        return x

    def _self_attention(
        self, x: Tensor, mask: Tensor | None, padding: Tensor | None, is_causal: bool, cache: AttentionCache | None
    ) -> Tensor:
        with argument_names("tgt_mask", "tgt_key_padding_mask"):
            output, _ = self.self_attn(
                x, x, x, padding, need_weights=False, attn_mask=mask, is_causal=is_causal, cache=cache
            )
        return self.dropout1(output)

    def _cross_attention(
        self,
        x: Tensor,
        memory: Tensor,
        mask: Tensor | None,
        padding: Tensor | None,
        is_causal: bool,
        cache: AttentionCache | None,
    ) -> Tensor:
        with argument_names("memory_mask", "memory_key_padding_mask"):
            output, _ = self.multihead_attn(
                x, memory, memory, padding, need_weights=False, attn_mask=mask, is_causal=is_causal, cache=cache
            )
        return self.dropout2(output)

    def _feedforward(self, x: Tensor) -> Tensor:
        return self.dropout3(self.linear2(self.dropout(self.activation(self.linear1(x)))))  # E -> F -> E


def activation_function(activation: str | Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """The function of that name, or the callable itself.

    Raises:
        ValueError: a name other than relu and gelu.
    """
    if not isinstance(activation, str):
        return activation
    if activation not in ACTIVATIONS:
        raise ValueError(f"activation must be {' or '.join(ACTIVATIONS)} or a callable, not {activation!r}.")
    return ACTIVATIONS[activation]
