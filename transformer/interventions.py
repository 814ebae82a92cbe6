"""What a viewer changes in a run, as small values: frozen, hashable, part of a cache's key.

A changed model is another one that shares every weight: nothing is left on the one that it was made of, and no other
thread ever meets a change.

N batch · H heads · L query length · S key length · D head width · E model width
"""

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Literal, TypeVar

import torch
from torch import Tensor, nn

from transformer.attention import MultiheadAttention
from transformer.mask_rules import BLOCKED, MaskRule
from transformer.masks import AttentionMasks
from transformer.positions import LearnedPositionalEncoding, PositionalEncoding
from transformer.recorder import attentions
from transformer.recording import Kind
from transformer.text_model import TextTransformer

Model = TypeVar("Model", bound=nn.Module)


class Intervention(ABC):
    """One change."""

    @abstractmethod
    def apply(self, model: nn.Module) -> None:
        """Make the change on a model that nobody else has.

        Raises:
            ValueError: the model has nothing of the kind.
        """


def edited(model: Model, interventions: Iterable[Intervention]) -> Model:
    """A model that shares every weight with the given one and does what the interventions say, one after the other.

    Raises:
        ValueError: an intervention on what the model does not have.

    Example:
        >>> attention, x = MultiheadAttention(8, num_heads=2, bias=False), torch.randn(3, 1, 8)
        >>> silent, _ = edited(attention, [SwitchOff()])(x, x, x)
        >>> silent.abs().sum().item()
        0.0
    """
    weights = {id(tensor): tensor for tensor in chain(model.parameters(), model.buffers())}
    changed = copy.deepcopy(model, weights)
    if isinstance(changed, TextTransformer):
        changed.reads_on = False
    for intervention in interventions:
        intervention.apply(changed)
    return changed


@dataclass(frozen=True)
class OfAttention(Intervention):
    """A change of some attentions.

    Attributes:
        kind, layer: which; None for every one.
        heads: of each; None for all.
    """

    kind: Kind | None = None
    layer: int | None = None
    heads: tuple[int, ...] | None = None

    def apply(self, model: nn.Module) -> None:
        found = {
            site: attention
            for site, attention in attentions(model).items()
            if self.kind in (None, site.kind) and self.layer in (None, site.layer)
        }
        if not found:
            raise ValueError(f"The model has no {self.kind or ''} attention in layer {self.layer}.".replace("  ", " "))
        for site, attention in found.items():
            if self.heads is not None and not all(0 <= head < site.heads for head in self.heads):
                raise ValueError(f"heads are {list(self.heads)}, but {site} has {site.heads}.")
            self.change(attention)

    def change(self, attention: MultiheadAttention) -> None:
        """Change one of them."""
        raise NotImplementedError

    def of(self, heads: int) -> list[int]:
        """The chosen ones of so many heads."""
        return list(range(heads)) if self.heads is None else list(self.heads)


@dataclass(frozen=True)
class SwitchOff(OfAttention):
    """Heads give zeros in place of their output (N, L, D). Their pattern stays, and so does the out-projection's bias.

    Source: Michel, Levy and Neubig 2019, "Are sixteen heads really better than one?".
    """

    def change(self, attention: MultiheadAttention) -> None:
        heads = torch.tensor(self.of(attention.num_heads))

        def silence(_: nn.Module, arguments: Any, output: tuple[Tensor, Tensor | None]) -> Any:
            outputs, pattern = output  # (N, H, L, D)
            return outputs.index_fill(1, heads.to(outputs.device), 0.0), pattern

        attention.attention.register_forward_hook(silence)


@dataclass(frozen=True)
class EditMask(OfAttention):
    """Another mask.

    Attributes:
        rule: what heads may look at.
        renormalise: what is blocked gets no weight, and the rest makes up for it. Without it, weights become 0 after
            the softmax, and a row sums to less than 1; what the mask that was given blocks stays blocked.
    """

    rule: MaskRule = field(default_factory=MaskRule)
    renormalise: bool = True

    def change(self, attention: MultiheadAttention) -> None:
        heads = self.of(attention.num_heads)

        def mask(query: Tensor, key: Tensor, masks: AttentionMasks) -> AttentionMasks:
            (batch, num_heads, length), keys = query.shape[:3], key.size(2) - masks.appended
            own = additive(masks, query, key)  # (N, H, L, S)
            made = own.clone()
            for sentence in range(batch):
                made[sentence, heads] = self.rule.additive(num_heads, length, keys, own[sentence])[heads].to(own)
            zeroed = masks.zeroes(num_heads, length)
            if not self.renormalise:
                taken = (made == BLOCKED) & (own != BLOCKED)
                made = torch.where(taken, own, made)
                zeroed = taken if zeroed is None else taken | zeroed[..., :keys]
            return replace(
                masks,
                attn_mask=made.flatten(0, 1),
                key_padding_mask=None,
                is_causal=False,
                zeroed=None if zeroed is None else zeroed[..., :keys].expand(own.shape).flatten(0, 1),
            )

        with_masks(attention, mask)


@dataclass(frozen=True)
class ChangePositions(Intervention):
    """Positions other than those of the text.

    Attributes:
        stream: whose.
        way: ``off``: none; ``shuffle``: the same ones in another order, drawn with the seed ``amount``; ``shift``: each
            counts ``amount`` further; ``scale``: each vector times ``amount``.
    """

    stream: Literal["source", "target"] = "source"
    way: Literal["off", "shuffle", "shift", "scale"] = "off"
    amount: float = 0

    def apply(self, model: nn.Module) -> None:
        with_positions(model, self.stream, self._vectors)

    def _vectors(self, positions: nn.Module, x: Tensor) -> Tensor:
        places = torch.arange(x.size(-2))
        if self.way == "shuffle":
            places = places[torch.randperm(len(places), generator=torch.Generator().manual_seed(int(self.amount)))]
        if self.way == "shift":
            places = places + int(self.amount)
        factor = {"off": 0.0, "scale": self.amount}.get(self.way, 1.0)
        return factor * vectors(positions, places)  # (S, E), beside (N, S, E)


def with_masks(attention: MultiheadAttention, make: Callable[[Tensor, Tensor, AttentionMasks], AttentionMasks]) -> None:
    """Let an attention have the masks that ``make(query, key, masks)`` gives, before anybody looks."""

    def before(_: nn.Module, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        query, key, value, masks, *rest = arguments
        return query, key, value, make(query, key, masks), *rest

    attention.attention.register_forward_pre_hook(before)


def additive(masks: AttentionMasks, query: Tensor, key: Tensor) -> Tensor:
    """All masks of a call as one, zeros where nothing was said: (N, H, L, S)."""
    (batch, heads, length), keys = query.shape[:3], key.size(2) - masks.appended
    merged = masks.additive(heads, length, keys, query.dtype, query.device)
    size = (batch, heads, length, keys)
    return query.new_zeros(size) if merged is None else merged[..., :keys].expand(size)


def vectors(positions: nn.Module, places: Tensor) -> Tensor:
    """What a module adds to tokens at these places: (any number, E).

    Raises:
        ValueError: it adds nothing, or knows no place so far on.
    """
    last = int(places.max()) if places.numel() else 0
    if isinstance(positions, PositionalEncoding):
        return positions.rows(last + 1)[places]
    if not isinstance(positions, LearnedPositionalEncoding):
        raise ValueError("The model adds no positions, so there are none to change.")
    if last >= len(positions.weight):
        raise ValueError(f"Position {last} is wanted, but only {len(positions.weight)} were learned.")
    return positions.weight[places]


def with_positions(model: nn.Module, stream: str, make: Callable[[nn.Module, Tensor], Tensor]) -> None:
    """Let a stream have the positions that ``make(module, x)`` gives, to be added to its embedded tokens x (N, S, E).

    Raises:
        ValueError: the model has no such stream, or adds no positions to it.
    """
    positions = getattr(model, f"{stream}_positions", None)
    if positions is None:
        raise ValueError(f"The model reads no {stream}.")
    vectors(positions, torch.arange(0))

    def after(module: nn.Module, arguments: tuple[Any, ...], _: Tensor) -> Any:
        x = arguments[0]
        dropout: nn.Module = module.dropout  # type: ignore[assignment]  # every kind of positions has one
        return dropout(x + make(module, x).to(x))

    positions.register_forward_hook(after)
