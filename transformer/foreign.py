"""Attention in modules that are not ours, seen in the calls of the two functions of torch that compute it.

N batch · H heads · G heads of keys and values, of which several queries' heads share one · L query length ·
S key length · D head width
"""

import inspect
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from transformer.attention import DotProductAttention, multi_head_attention_forward
from transformer.masks import AttentionMasks
from transformer.recording import Attention, Kind

_MULTI_HEAD = inspect.signature(F.multi_head_attention_forward)
_ATTENTION = (F.multi_head_attention_forward, F.scaled_dot_product_attention)
_CROSS = ("multihead_attn", "encoder_attn", "EncDecAttention", "crossattention", "cross_attn")


class Saw(Protocol):
    """What is called with each attention that ran.

    Args:
        path: of the module that called it.
        module: that module.
        seen: with everything but the out-projection's weight.
    """

    def __call__(self, path: str, module: nn.Module, seen: Attention, /) -> None: ...


class AttentionCalls(TorchFunctionMode):
    """While it is on, in this thread, tells of every attention that a model computes by torch's functions.

    ``F.scaled_dot_product_attention`` is what nearly everything calls in the end, and
    ``F.multi_head_attention_forward``, in which it stands, knows the masks as they were given. torch leaves its own
    fast paths, which call neither, while such a mode is on; without them a query whose keys are all blocked gets zeros
    where the pattern is not asked for, and ``is_causal`` beside a mask that is not causal is believed.

    Queries of a call with a ``scale`` of its own are recorded times scale · sqrt(D), so that scores and patterns are
    those of the call; keys and values that several heads share are repeated for each.
    """

    def __init__(self, model: nn.Module, saw: Saw) -> None:
        super().__init__()
        self._paths = {module: path for path, module in model.named_modules()}
        self._saw = saw
        self._attend = DotProductAttention()

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func in _ATTENTION and not torch.compiler.is_compiling():
            if func is F.multi_head_attention_forward:
                return self._multi_head(func, _MULTI_HEAD.bind(*args, **kwargs))
            self._dot_product(*args, **kwargs)
        return func(*args, **kwargs)

    def _multi_head(self, func: Callable[..., Any], call: inspect.BoundArguments) -> Any:
        """torch's function does not let itself be looked into, and ours takes the same arguments.

        Where the pattern is wanted too, torch has the last word: a query whose keys are all blocked gets NaN from it.
        """
        call.apply_defaults()
        given = dict(call.arguments)
        if given["need_weights"]:
            multi_head_attention_forward(
                **given | {"is_causal": False, "need_weights": False, "attend": self._only_look}
            )
            return func(*call.args, **call.kwargs)
        # torch takes the flag for a hint of what the mask says, and leaves the mask out where that says it all.
        by_flag = given["is_causal"] and given["key_padding_mask"] is None
        masks = {"is_causal": by_flag, "attn_mask": None if by_flag else given["attn_mask"]}
        return multi_head_attention_forward(**given | masks, attend=self._look_and_attend)

    def _only_look(
        self, query: Tensor, key: Tensor, value: Tensor, masks: AttentionMasks, *_: Any
    ) -> tuple[Tensor, Tensor | None]:
        self._tell(Attention(query, key, value, masks))
        return torch.zeros_like(query), None

    def _look_and_attend(
        self, query: Tensor, key: Tensor, value: Tensor, masks: AttentionMasks, *rest: Any
    ) -> tuple[Tensor, Tensor | None]:
        self._tell(Attention(query, key, value, masks))
        return self._attend(query, key, value, masks, *rest)

    def _dot_product(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        scale: float | None = None,
        enable_gqa: bool = False,
    ) -> None:
        query, key, value = _four_axes(query), _four_axes(key), _four_axes(value)
        masks = AttentionMasks(_as_ours(attn_mask, query), None, is_causal)
        if enable_gqa:
            key, value = (one.repeat_interleave(query.size(1) // one.size(1), dim=1) for one in (key, value))
        if scale is not None and not math.isclose(scale, query.size(-1) ** -0.5):
            query = query * (scale * math.sqrt(query.size(-1)))
        self._tell(Attention(query, key, value, masks))

    def _tell(self, seen: Attention) -> None:
        path, module = self._running()
        self._saw(path, module, seen)

    def _running(self) -> tuple[str, nn.Module]:
        """The innermost module of the model whose ``forward`` is under way, found among the callers.

        Hooks on every module would say it too, but would stay in the way of torch's fast paths.
        """
        frame = sys._getframe(1)
        while frame is not None:
            module = frame.f_locals.get("self")
            if isinstance(module, nn.Module) and module in self._paths:
                return self._paths[module], module
            frame = frame.f_back  # type: ignore[assignment]  # None after the last
        return "", nn.Identity()


def kind_of(path: str) -> Kind:
    """Whose attention a module is, by what torch.nn and transformers call such modules; ``other`` where that is open.

    Example:
        >>> kind_of("decoder.layers.0.multihead_attn"), kind_of("model.decoder.layers.3.self_attn"), kind_of("h.0.attn")
        ('cross', 'decoder', 'other')
    """
    parts = path.split(".")
    if any(part in _CROSS for part in parts):
        return "cross"
    return next((side for side in ("decoder", "encoder") if side in parts), "other")


def ids_of(arguments: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Tensor]:
    """The token ids among what a model is called with, by stream: (N, S) whole numbers."""
    found = {"source": named.get("input_ids"), "target": named.get("decoder_input_ids")}
    if found["source"] is None:
        found["source"] = next(iter(arguments), None)
    return {stream: ids for stream, ids in found.items() if isinstance(ids, Tensor) and _are_ids(ids)}


def _are_ids(x: Tensor) -> bool:
    return x.dim() == 2 and not x.is_floating_point() and not x.is_complex() and x.dtype != torch.bool


def _four_axes(x: Tensor) -> Tensor:
    """(..., L, D), with one axis of heads or none, or several of batches -> (N, H, L, D)"""
    if x.dim() < 4:
        return x[(None,) * (3 - x.dim())].unsqueeze(1)
    return x.flatten(0, -4)


def _as_ours(mask: Tensor | None, query: Tensor) -> Tensor | None:
    """A mask of scaled_dot_product_attention, whose True means may be looked at, in torch.nn's convention.

    Returns:
        (L, S), or (1 or N, 1 or H, L, S).
    """
    if mask is None:
        return None
    ours = ~mask if mask.dtype == torch.bool else mask
    if ours.dim() > 4:
        ours = ours.expand(*query.shape[:-3], *ours.shape[-3:]).flatten(0, -4)
    while ours.dim() > 2 and ours.size(0) == 1:
        ours = ours[0]
    if ours.dim() == 3:
        ours = ours[:, None] if query.size(1) == 1 and query.size(0) == ours.size(0) else ours[None]
    return ours.expand(*ours.shape[:-2], query.size(-2), ours.size(-1))
