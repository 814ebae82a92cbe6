"""The whole model: token ids in, logits out.

N batch · S source length · T target length · E model width · V vocabulary
"""

import math

import torch
from torch import Tensor, nn

from transformer.cache import KeyValueCache
from transformer.config import TransformerConfig
from transformer.hook_point import HookPoint
from transformer.layers import TransformerEncoderLayer
from transformer.masks import padding_mask
from transformer.positions import LearnedPositionalEncoding, NoPositionalEncoding, PositionalEncoding
from transformer.stacks import Transformer, TransformerEncoder


class TokenEmbedding(nn.Module):
    """A vector for each token of the vocabulary, scaled by sqrt(E) so that positions do not drown it.

    Shape:
        ids (N, S) -> (N, S, E)

    Source: Vaswani et al. 2017, section 3.4.

    Example:
        >>> TokenEmbedding(100, 8)(torch.tensor([[5, 6, 7]])).shape
        torch.Size([1, 3, 8])
    """

    def __init__(self, vocabulary: int, width: int, scaled: bool = True) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(vocabulary, width))
        nn.init.normal_(self.weight, std=width**-0.5)
        self.scale = math.sqrt(width) if scaled else 1.0

    def forward(self, ids: Tensor) -> Tensor:
        return nn.functional.embedding(ids, self.weight) * self.scale

    def extra_repr(self) -> str:
        return f"{self.weight.size(0)}, {self.weight.size(1)}, scale={self.scale:.4g}"


class TextTransformer(nn.Module):
    """Embeddings, positions, Transformer, logits, as a :class:`TransformerConfig` describes them.

    Shape:
        source (N, S) and, for an encoder-decoder, target (N, T) ids -> logits (N, T, V);
        an encoder or a decoder alone reads source (N, S) -> (N, S, V of the target side).
        Padding (``config.pad_id``) is masked wherever it is a key.

    Raises:
        ValueError: ids that are not (N, S) whole numbers within the vocabulary; a target missing or too much.

    Source: Vaswani et al. 2017.

    Example:
        >>> config = TransformerConfig(source_vocabulary=100, target_vocabulary=90, d_model=8, nhead=2)
        >>> model = TextTransformer(config).eval()
        >>> model(torch.tensor([[5, 6, 7]]), torch.tensor([[2, 8]])).shape
        torch.Size([1, 2, 90])
    """

    reads_on = True  # from a cache; an edited one may do to a row what a step that reads one row cannot know

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        self.source_tokens = HookPoint()
        self.source_embedding = self._embedding(config.source_vocabulary)
        self.after_source_embedding = HookPoint()
        self.source_positions = self._positions()
        self.after_source_positions = HookPoint()
        if config.architecture == "encoder-decoder":
            self.target_tokens = HookPoint()
            self.target_embedding = (
                self.source_embedding if config.share_embeddings else self._embedding(config.target_vocabulary)
            )
            self.after_target_embedding = HookPoint()
            self.target_positions = self._positions()
            self.after_target_positions = HookPoint()
            self.transformer = Transformer(
                config.d_model,
                config.nhead,
                config.num_encoder_layers,
                config.num_decoder_layers,
                config.dim_feedforward,
                config.dropout,
                config.activation,
                layer_norm_eps=config.layer_norm_eps,
                batch_first=True,
                norm_first=config.norm_first,
                bias=config.bias,
            )
            read_last = self.target_embedding
        else:
            # The stack's name is its kind: the one is looked up as encoder.layers.0, the other as decoder.layers.0.
            setattr(self, config.architecture, self._single_stack())
            read_last = self.source_embedding
        self.output = nn.Linear(config.d_model, config.target_vocabulary)
        nn.init.zeros_(self.output.bias)
        if config.tie_output:
            if read_last.weight.shape != self.output.weight.shape:
                raise ValueError("tie_output needs an embedding and an output head of one vocabulary.")
            self.output.weight = read_last.weight

    def _embedding(self, vocabulary: int) -> TokenEmbedding:
        return TokenEmbedding(vocabulary, self.config.d_model, self.config.scale_embedding)

    def _positions(self) -> nn.Module:
        config = self.config
        if config.positions == "sinusoidal":
            return PositionalEncoding(config.d_model, config.dropout)
        if config.positions == "learned":
            return LearnedPositionalEncoding(config.d_model, config.dropout, config.max_length)
        return NoPositionalEncoding(config.dropout)

    def _single_stack(self) -> TransformerEncoder:
        config = self.config
        layer = TransformerEncoderLayer(
            config.d_model,
            config.nhead,
            config.dim_feedforward,
            config.dropout,
            config.activation,
            config.layer_norm_eps,
            batch_first=True,
            norm_first=config.norm_first,
            bias=config.bias,
        )
        layers = config.num_encoder_layers if config.architecture == "encoder" else config.num_decoder_layers
        stack = TransformerEncoder(layer, layers, nn.LayerNorm(config.d_model, config.layer_norm_eps, bias=config.bias))
        for parameter in stack.parameters():
            if parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)
        return stack

    def forward(self, source: Tensor, target: Tensor | None = None) -> Tensor:
        if self.config.architecture != "encoder-decoder":
            if target is not None:
                raise ValueError(f"A model of architecture {self.config.architecture} reads no target.")
            return self.read(source)
        if target is None:
            raise ValueError("A model of architecture encoder-decoder needs a target beside the source.")
        memory, padding = self.encode(source)
        return self.decode(target, memory, padding)

    def read(self, source: Tensor, cache: KeyValueCache | None = None) -> Tensor:
        """(N, S) ids -> logits (N, S, V) of an encoder or a decoder alone.

        With a cache (a decoder's), ``source`` is what follows the tokens that the cache holds, and has no padding.
        """
        x, padding = self._embed_source(source, cache)
        stack = self.get_submodule(self.config.architecture)
        causal = self.config.architecture == "decoder"
        return self.output(stack(x, src_key_padding_mask=padding, is_causal=causal, cache=cache))

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor | None]:
        """(N, S) ids -> the encoder's memory (N, S, E) and its padding mask (N, S) or None."""
        x, padding = self._embed_source(source)
        return self.transformer.encoder(x, src_key_padding_mask=padding), padding

    def decode(
        self,
        target: Tensor,
        memory: Tensor,
        memory_padding: Tensor | None = None,
        cache: KeyValueCache | None = None,
    ) -> Tensor:
        """(N, T) ids and the memory (N, S, E) -> logits (N, T, V); row t predicts the token after target t.

        With a cache, ``target`` is what follows the tokens that the cache holds, and has no padding.
        """
        _check_ids("target", target, self.config.target_vocabulary)
        first = 0 if cache is None else cache.length
        known = self.target_tokens(target if cache is None else cache.read(target))
        x = self.after_target_embedding(self.target_embedding(known[:, first:]))
        x = self.after_target_positions(self.target_positions(x, first))
        x = self.transformer.decoder(
            x,
            memory,
            tgt_is_causal=True,
            tgt_key_padding_mask=padding_mask(target, self.config.pad_id) if cache is None else None,
            memory_key_padding_mask=memory_padding,
            cache=cache,
        )
        return self.output(x)

    def _embed_source(self, source: Tensor, cache: KeyValueCache | None = None) -> tuple[Tensor, Tensor | None]:
        _check_ids("source", source, self.config.source_vocabulary)
        first = 0 if cache is None else cache.length
        known = self.source_tokens(source if cache is None else cache.read(source))
        x = self.after_source_embedding(self.source_embedding(known[:, first:]))
        x = self.after_source_positions(self.source_positions(x, first))
        return x, padding_mask(source, self.config.pad_id) if cache is None else None


def _check_ids(name: str, ids: Tensor, vocabulary: int) -> None:
    if ids.dim() != 2 or ids.dtype not in (torch.int64, torch.int32):
        raise ValueError(f"{name} has shape {tuple(ids.shape)} and dtype {ids.dtype}; wanted (N, S) of int64 or int32.")
    if ids.numel():
        lowest, highest = int(ids.min()), int(ids.max())
        if not 0 <= lowest <= highest < vocabulary:
            raise ValueError(f"{name} holds ids from {lowest} to {highest}; the vocabulary has {vocabulary}.")
