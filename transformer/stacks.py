"""Layers on top of each other, and encoder and decoder together.

N batch · S source length · T target length · E model width
"""

import copy
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer import masks
from transformer.cache import KeyValueCache, LayerCache
from transformer.layers import TransformerDecoderLayer, TransformerEncoderLayer


class TransformerEncoder(nn.Module):
    """``num_layers`` independent copies of an encoder layer, and a norm at the end if one is given.

    As :class:`torch.nn.TransformerEncoder`. Copies start with the values of the layer they were copied from.

    Args:
        enable_nested_tensor: torch's switch for ragged batches. Only False is possible: a nested batch loses the
            padded positions, and with them the rows of a picture.

    Shape:
        src (N, S, E) if the layers are ``batch_first`` else (S, N, E), or unbatched (S, E); the output is as ``src``.
        mask (S, S) or (N*H, S, S); src_key_padding_mask (N, S). Bool ``True`` = may not be looked at.

    Raises:
        ValueError: fewer than 0 layers, or ``enable_nested_tensor``.

    Source: Vaswani et al. 2017, section 3.1.

    Example:
        >>> layer = TransformerEncoderLayer(d_model=8, nhead=2, batch_first=True)
        >>> TransformerEncoder(layer, num_layers=2)(torch.randn(1, 3, 8)).shape
        torch.Size([1, 3, 8])
    """

    def __init__(
        self,
        encoder_layer: nn.Module,
        num_layers: int,
        norm: nn.Module | None = None,
        enable_nested_tensor: bool = False,
    ) -> None:
        if enable_nested_tensor:
            raise ValueError("enable_nested_tensor must be False: nested batches lose their padded positions.")
        super().__init__()
        self.layers = independent_copies(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
        *,
        cache: KeyValueCache | None = None,
    ) -> Tensor:
        x = src
        for layer, cached in zip(self.layers, _layer_caches(cache, self.num_layers), strict=True):
            x = layer(x, src_mask=mask, src_key_padding_mask=src_key_padding_mask, is_causal=bool(is_causal), **cached)
        return x if self.norm is None else self.norm(x)


class TransformerDecoder(nn.Module):
    """``num_layers`` independent copies of a decoder layer, and a norm at the end if one is given.

    As :class:`torch.nn.TransformerDecoder`. Copies start with the values of the layer they were copied from.

    Shape:
        tgt (N, T, E) and memory (N, S, E) if the layers are ``batch_first``, else (T, N, E) and (S, N, E), or
        unbatched (T, E) and (S, E); the output is as ``tgt``. Masks as in :class:`TransformerDecoderLayer`.

    Raises:
        ValueError: fewer than 0 layers.

    Source: Vaswani et al. 2017, section 3.1.

    Example:
        >>> layer = TransformerDecoderLayer(d_model=8, nhead=2, batch_first=True)
        >>> TransformerDecoder(layer, num_layers=2)(torch.randn(1, 3, 8), torch.randn(1, 5, 8)).shape
        torch.Size([1, 3, 8])
    """

    def __init__(self, decoder_layer: nn.Module, num_layers: int, norm: nn.Module | None = None) -> None:
        super().__init__()
        self.layers = independent_copies(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
        *,
        cache: KeyValueCache | None = None,
    ) -> Tensor:
        x = tgt
        for layer, cached in zip(self.layers, _layer_caches(cache, self.num_layers), strict=True):
            x = layer(
                x,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=bool(tgt_is_causal),
                memory_is_causal=memory_is_causal,
                **cached,
            )
        return x if self.norm is None else self.norm(x)


class Transformer(nn.Module):
    """An encoder that reads the source and a decoder that reads the target and the encoder's memory.

    As :class:`torch.nn.Transformer`, with its arguments and parameters: a state dict of the one loads into the
    other. Weights with two axes or more start Xavier-uniform.

    Shape:
        src (N, S, E) and tgt (N, T, E) if ``batch_first``, else (S, N, E) and (T, N, E), or unbatched (S, E) and
        (T, E); the output is as ``tgt``. src_mask (S, S), tgt_mask (T, T), memory_mask (T, S), each also with
        N*H of them; src_ and memory_key_padding_mask (N, S), tgt_key_padding_mask (N, T). Bool ``True`` = may not be
        looked at. The three ``is_causal`` flags mask by themselves.

    Raises:
        ValueError: batch sizes or widths that do not fit.
        TypeError: a mask that is neither bool nor floating point.

    Source: Vaswani et al. 2017.

    Example:
        >>> model = Transformer(d_model=8, nhead=2, num_encoder_layers=1, num_decoder_layers=1, batch_first=True)
        >>> model(torch.randn(1, 5, 8), torch.randn(1, 3, 8), tgt_is_causal=True).shape
        torch.Size([1, 3, 8])
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = F.relu,
        custom_encoder: nn.Module | None = None,
        custom_decoder: nn.Module | None = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        of_a_layer = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first)

        def norm() -> nn.LayerNorm:
            return nn.LayerNorm(d_model, layer_norm_eps, bias=bias, device=device, dtype=dtype)

        if custom_encoder is None:
            layer: nn.Module = TransformerEncoderLayer(*of_a_layer, bias, device, dtype)
            custom_encoder = TransformerEncoder(layer, num_encoder_layers, norm())
        if custom_decoder is None:
            layer = TransformerDecoderLayer(*of_a_layer, bias, device, dtype)
            custom_decoder = TransformerDecoder(layer, num_decoder_layers, norm())
        self.encoder = custom_encoder
        self.decoder = custom_decoder
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        self._check_sizes(src, tgt)
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    def _check_sizes(self, src: Tensor, tgt: Tensor) -> None:
        shapes = f"src has shape {tuple(src.shape)} and tgt {tuple(tgt.shape)}"
        if src.dim() != tgt.dim() or src.dim() not in (2, 3):
            raise ValueError(f"{shapes}; wanted both batched (3 axes) or both unbatched (2 axes).")
        batch = 0 if self.batch_first else 1
        if src.dim() == 3 and src.size(batch) != tgt.size(batch):
            raise ValueError(f"{shapes}; wanted one batch size on axis {batch}.")
        if (src.size(-1), tgt.size(-1)) != (self.d_model, self.d_model):
            raise ValueError(f"{shapes}; wanted both d_model = {self.d_model} wide.")

    @staticmethod
    def generate_square_subsequent_mask(
        sz: int, device: torch.device | str | None = None, dtype: torch.dtype | None = None
    ) -> Tensor:
        """(sz, sz): 0 where a query may look, ``-inf`` after itself."""
        return masks.generate_square_subsequent_mask(sz, device, dtype)


def _layer_caches(cache: KeyValueCache | None, num_layers: int) -> list[dict[str, LayerCache]]:
    """What to pass on to each layer; nothing without a cache, so that layers of other makers need not know of one."""
    return [{}] * num_layers if cache is None else [{"cache": layer} for layer in cache.layers]


def independent_copies(layer: nn.Module, num_layers: int) -> nn.ModuleList:
    """``num_layers`` deep copies: nothing is shared, neither with each other nor with ``layer``.

    Raises:
        ValueError: fewer than 0.
    """
    if num_layers < 0:
        raise ValueError(f"num_layers must not be negative, but is {num_layers}.")
    return nn.ModuleList(copy.deepcopy(layer) for _ in range(num_layers))
