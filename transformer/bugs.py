"""The classic mistakes with Transformers, as interventions on trained weights.

N batch · H heads · S sequence length · L query length · D head width · E model width
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from transformer.attention import MultiheadAttention
from transformer.dropout import Dropout
from transformer.interventions import Intervention, additive, vectors, with_masks, with_positions
from transformer.layers import TransformerDecoderLayer, TransformerEncoderLayer
from transformer.masks import AttentionMasks
from transformer.recorder import attentions
from transformer.recording import Kind
from transformer.stacks import TransformerDecoder, TransformerEncoder

STREAMS = ("source", "target")


@dataclass(frozen=True)
class Bug(Intervention):
    """One mistake.

    Attributes:
        name: one of BUGS.
        seed: of what is drawn at random, where dropout is left on.

    Raises:
        ValueError: no such mistake.
    """

    name: str
    seed: int = 1

    def __post_init__(self) -> None:
        if self.name not in BUGS:
            raise ValueError(f"There is no mistake called {self.name!r}; wanted {', '.join(BUGS)}.")

    def apply(self, model: nn.Module) -> None:
        BUGS[self.name](model, self.seed)


def shared_layer(model: nn.Module, seed: int) -> None:
    """``[layer] * n`` in place of copies: every layer is the first one."""
    stacks = [module for module in model.modules() if isinstance(module, TransformerEncoder | TransformerDecoder)]
    if all(len(stack.layers) < 2 for stack in stacks):
        raise ValueError("No stack of the model has a second layer that could be the first one again.")
    for stack in stacks:
        for layer in stack.layers[1:]:
            for copied, first in zip(layer.modules(), stack.layers[0].modules(), strict=True):
                copied._parameters.update(first._parameters)


def positions_on_batch(model: nn.Module, seed: int) -> None:
    """The table is added along the batch: every token of a sentence gets the vector of the sentence's place."""

    def by_sentence(positions: nn.Module, x: Tensor) -> Tensor:  # (N, S, E) -> (N, 1, E)
        return vectors(positions, torch.arange(x.size(0)))[:, None]

    for stream in _streams(model):
        with_positions(model, stream, by_sentence)


def positions_in_every_layer(model: nn.Module, seed: int) -> None:
    """Positions are added to what every layer reads, not to the embeddings alone."""
    for stream, layers in _layers(model).items():
        positions = getattr(model, f"{stream}_positions")
        vectors(positions, torch.arange(0))

        def before(_: nn.Module, arguments: tuple[Any, ...], positions: nn.Module = positions) -> Any:
            x, *others = arguments  # (N, S, E)
            return x + vectors(positions, torch.arange(x.size(1))).to(x), *others

        for layer in layers[1:]:
            layer.register_forward_pre_hook(before)


def no_target_positions(model: nn.Module, seed: int) -> None:
    """The decoder is not told where its tokens stand."""
    stream = _streams(model)[-1]
    with_positions(model, stream, lambda positions, x: 0 * vectors(positions, torch.arange(x.size(1))))


def dropout_on(model: nn.Module, seed: int) -> None:
    """``model.train()`` was never undone: every forward drops other numbers."""
    for module in model.modules():
        if isinstance(module, Dropout | MultiheadAttention):
            module.train()

    def draw_anew(*_: Any) -> None:
        torch.manual_seed(seed)

    model.get_submodule("source_tokens").register_forward_pre_hook(draw_anew)


def inverted_mask(model: nn.Module, seed: int) -> None:
    """True was taken for "may be looked at": the decoder sees the future only."""

    def inverted(query: Tensor, key: Tensor, masks: AttentionMasks) -> AttentionMasks:
        return _with_blocked(masks, query, key, ~_blocked(masks, query, key))

    _of_kind(model, "decoder", inverted)


def no_causal_mask(model: nn.Module, seed: int) -> None:
    """The decoder sees the tokens that it is to predict."""
    _of_kind(model, "decoder", lambda query, key, masks: replace(masks, attn_mask=None, is_causal=False))


def no_scaling(model: nn.Module, seed: int) -> None:
    """Scores are not divided by sqrt(D)."""
    for attention in attentions(model).values():

        def before(_: nn.Module, arguments: tuple[Any, ...]) -> Any:
            query, *others = arguments
            return query * math.sqrt(query.size(-1)), *others

        attention.attention.register_forward_pre_hook(before)


def softmax_over_queries(model: nn.Module, seed: int) -> None:
    """``softmax(dim=-2)``: columns sum to 1 and not rows."""
    _of_kind(model, None, lambda query, key, masks: replace(masks, over_queries=True))


def masked_with_zero(model: nn.Module, seed: int) -> None:
    """Blocked scores are set to 0 and not to -inf, so that they still get a weight."""

    def zeroed(query: Tensor, key: Tensor, masks: AttentionMasks) -> AttentionMasks:
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))  # (N, H, L, S)
        mask = torch.where(_blocked(masks, query, key), -scores, additive(masks, query, key))
        return replace(masks, attn_mask=mask.flatten(0, 1), key_padding_mask=None, is_causal=False)

    _of_kind(model, None, zeroed)


def cross_reads_target(model: nn.Module, seed: int) -> None:
    """Cross-attention gets the target for keys and values too, and nothing of the source."""
    layers = [module for module in model.modules() if isinstance(module, TransformerDecoderLayer)]
    if not layers:
        raise ValueError("The model has no cross-attention.")

    def before(_: nn.Module, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        query = arguments[0]
        return (query, query, query, None), named

    for layer in layers:
        layer.multihead_attn.register_forward_pre_hook(before, with_kwargs=True)


BUGS: dict[str, Callable[[nn.Module, int], None]] = {
    "shared_layer": shared_layer,
    "positions_on_batch": positions_on_batch,
    "positions_in_every_layer": positions_in_every_layer,
    "no_target_positions": no_target_positions,
    "dropout_on": dropout_on,
    "inverted_mask": inverted_mask,
    "no_causal_mask": no_causal_mask,
    "no_scaling": no_scaling,
    "softmax_over_queries": softmax_over_queries,
    "masked_with_zero": masked_with_zero,
    "cross_reads_target": cross_reads_target,
}


def _streams(model: nn.Module) -> list[str]:
    found = [stream for stream in STREAMS if hasattr(model, f"{stream}_positions")]
    if not found:
        raise ValueError("The model reads no tokens, so that it has no positions.")
    return found


def _layers(model: nn.Module) -> dict[str, list[nn.Module]]:
    """The layers that read a stream: a model alone has one stream, and one stack."""
    of_decoder: list[nn.Module] = [module for module in model.modules() if isinstance(module, TransformerDecoderLayer)]
    of_encoder: list[nn.Module] = [module for module in model.modules() if isinstance(module, TransformerEncoderLayer)]
    return dict(zip(_streams(model), [layers for layers in (of_encoder, of_decoder) if layers], strict=True))


def _of_kind(
    model: nn.Module, kind: Kind | None, make: Callable[[Tensor, Tensor, AttentionMasks], AttentionMasks]
) -> None:
    found = [attention for site, attention in attentions(model).items() if kind in (None, site.kind)]
    if not found:
        raise ValueError(f"The model has no {kind} attention.")
    for attention in found:
        with_masks(attention, make)


def _blocked(masks: AttentionMasks, query: Tensor, key: Tensor) -> Tensor:
    return additive(masks, query, key) == -math.inf


def _with_blocked(masks: AttentionMasks, query: Tensor, key: Tensor, blocked: Tensor) -> AttentionMasks:
    return replace(masks, attn_mask=blocked.flatten(0, 1), key_padding_mask=None, is_causal=False)
