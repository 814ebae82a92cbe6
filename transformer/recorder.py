"""What writes to the recordings open in the running context, and to nothing else: forward hooks in models of ours."""

import math
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from transformer.attention import DotProductAttention, MultiheadAttention
from transformer.foreign import AttentionCalls, ids_of, kind_of
from transformer.hook_point import HookPoint
from transformer.layers import TransformerDecoderLayer, TransformerEncoderLayer
from transformer.masks import AttentionMasks
from transformer.recording import Attention, Kind, Recording, Run, Site, Vocabulary

_open: ContextVar[tuple["_Recorder", ...]] = ContextVar("open_recordings", default=())
_installing = threading.Lock()
_copies: WeakKeyDictionary[nn.Module, "_Copy"] = WeakKeyDictionary()  # of the weights of out-projections
_INSTALLED, _INSTALLED_ROOT = "_recording_hooks_installed", "_recording_root_hooks_installed"


@contextmanager
def record(model: nn.Module, vocabularies: Mapping[str, Vocabulary] | None = None) -> Iterator[Recording]:
    """Record every forward that ``model`` does inside the block, in this thread.

    In a model of ours, hooks are installed on its modules the first time and stay, doing nothing unless a block is
    open. In any other, what calls torch's attention functions is seen (:mod:`transformer.foreign`), and nothing is
    left on it. Blocks nest, and other threads that run the same model see nothing of each other.

    Args:
        model: any module that holds attention of ours; or any that has torch compute its attention, as torch.nn and
            transformers do.
        vocabularies: what names the token ids, by stream (``source``, ``target``).

    Raises:
        ValueError: at the end of the block: a forward ran, and none of its attention could be seen.

    Example:
        >>> import torch
        >>> from transformer import MultiheadAttention
        >>> attention, x = MultiheadAttention(8, num_heads=2), torch.randn(3, 1, 8)
        >>> with record(attention) as recording:
        ...     output, _ = attention(x, x, x)
        >>> recording.pattern(recording.sites[0], head=0).shape
        torch.Size([3, 3])
    """
    recorder = _Recorder(model, Recording(vocabularies))
    token = _open.set((*_open.get(), recorder))
    try:
        if recorder.sites:
            _install_hooks(model)
            yield recorder.recording
        else:
            with _calls_seen(recorder):
                yield recorder.recording
    finally:
        _open.reset(token)


@contextmanager
def _calls_seen(recorder: "_Recorder") -> Iterator[None]:
    """Record a model that is not ours, and be told where its forwards begin and end."""
    model = recorder.model

    def begins(module: nn.Module, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        if recorder in _open.get():
            recorder.begin_forward()
            for stream, ids in ids_of(arguments, named).items():
                recorder.write("ids", stream, ids.clone())

    def ends(module: nn.Module, arguments: tuple[Any, ...], output: Any) -> None:
        if recorder in _open.get():
            recorder.end_forward(completed=output is not None)

    hooks = (
        model.register_forward_pre_hook(begins, with_kwargs=True),
        model.register_forward_hook(ends, always_call=True),
    )
    try:
        with AttentionCalls(model, recorder.saw_call):
            yield
    finally:
        for hook in hooks:
            hook.remove()
    if recorder.recording.runs and not recorder.recording.sites:
        raise ValueError(
            f"No attention was seen in {type(model).__name__}. What is compiled or scripted, or computes attention in "
            "a function of its own, cannot be looked into: run it uncompiled, and a model of transformers with "
            'attn_implementation="sdpa".'
        )


def attentions(model: nn.Module) -> dict[Site, MultiheadAttention]:
    """Every attention of ours in a model, and where it stands."""

    def owner(path: str) -> nn.Module | None:
        return model.get_submodule(path.rpartition(".")[0]) if path else None

    return {
        Site(path, _kind(path, owner(path)), _layer(path), module.num_heads): module
        for path, module in model.named_modules()
        if isinstance(module, MultiheadAttention)
    }


class _Recorder:
    """Fills one recording from the hooks of one model."""

    def __init__(self, model: nn.Module, recording: Recording) -> None:
        self.model, self.recording = model, recording
        self.paths = {module: path for path, module in model.named_modules()}
        found = attentions(model)
        self.sites = {module.attention: site for site, module in found.items()}
        self.foreign: dict[str, Site] = {}
        self.out_projections = {module.attention: module.out_proj for module in found.values()}
        self.forward_under_way: Run | None = None
        self.order: dict[tuple[str, str], int] = {}  # of the pieces of a model that is driven piece by piece
        self.reached: float = -1

    def saw_call(self, path: str, module: nn.Module, seen: Attention) -> None:
        """An attention that is not ours; of each kind the first that runs is layer 0."""
        site = self.foreign.get(path)
        if site is None:
            kind = kind_of(path)
            layer = sum(known.kind == kind for known in self.foreign.values())
            site = self.foreign[path] = Site(path, kind, layer, seen.query.size(1))
        weight = _copy_of_weight(module.out_proj) if isinstance(module, nn.MultiheadAttention) else None
        tensors = (seen.query.detach(), seen.key.detach(), seen.value.detach())
        self.write("attentions", site, Attention(*tensors, _kept(seen.masks), weight))

    def begin_forward(self) -> None:
        self.forward_under_way = Run()

    def end_forward(self, completed: bool) -> None:
        if completed and self.forward_under_way is not None:
            self.recording.runs.append(self.forward_under_way)
        self.forward_under_way = None
        self.reached = math.inf  # a piece driven by itself belongs to no forward of the whole

    def write(self, part: str, name: str, value: Any) -> None:
        """Put a value into a part of the run under way.

        In a forward of the whole model, a module called again gets a name of its own. Between such forwards (a model
        driven piece by piece) a name that comes again begins a new run, and so does one that ran before the last:
        the encoder after a decoding step has another text.
        """
        run = self.forward_under_way
        if run is None:
            position = self.order.setdefault((part, name), len(self.order))
            if position <= self.reached or not self.recording.runs:
                self.recording.runs.append(Run())
            self.reached = position
            run = self.recording.runs[-1]
        written = getattr(run, part)
        calls = sum(known.split("#")[0] == name for known in written)
        written[name if not calls else _renamed(name, f"{name}#{calls + 1}")] = value


def _install_hooks(model: nn.Module) -> None:
    with _installing:
        for module in model.modules():
            if _INSTALLED in module.__dict__:
                continue
            if isinstance(module, DotProductAttention):
                module.register_forward_hook(_saw_attention)
            elif isinstance(module, MultiheadAttention):
                module.register_forward_hook(_saw_output)
            elif isinstance(module, HookPoint):
                module.register_forward_hook(_saw_hidden)
            else:
                continue
            setattr(module, _INSTALLED, True)
        if _INSTALLED_ROOT not in model.__dict__:
            model.register_forward_pre_hook(_forward_begins)
            model.register_forward_hook(_forward_ends, always_call=True)
            setattr(model, _INSTALLED_ROOT, True)


def _forward_begins(model: nn.Module, arguments: tuple[Any, ...]) -> None:
    for recorder in _open.get():
        if recorder.model is model:
            recorder.begin_forward()


def _forward_ends(model: nn.Module, arguments: tuple[Any, ...], output: Any) -> None:
    for recorder in _open.get():
        if recorder.model is model:
            recorder.end_forward(completed=output is not None)  # None: the forward raised


def _saw_attention(module: DotProductAttention, arguments: tuple[Any, ...], output: Any) -> None:
    query, key, value, masks = arguments[:4]
    for recorder in _open.get():
        site = recorder.sites.get(module)
        if site is not None:
            out_proj_weight = _copy_of_weight(recorder.out_projections[module])
            seen = Attention(query.detach(), key.detach(), value.detach(), _kept(masks), out_proj_weight)
            recorder.write("attentions", site, seen)


def _saw_output(module: MultiheadAttention, arguments: tuple[Any, ...], output: tuple[Tensor, Tensor | None]) -> None:
    for recorder in _open.get():
        if module in recorder.paths:
            recorder.write("outputs", recorder.paths[module], output[0].detach())


def _saw_hidden(module: HookPoint, arguments: tuple[Any, ...], output: Tensor) -> None:
    for recorder in _open.get():
        if module in recorder.paths:
            path = recorder.paths[module]
            if output.is_floating_point():
                recorder.write("hidden", path, output.detach())
            else:
                recorder.write("ids", path.rpartition(".")[2].removesuffix("_tokens"), output.clone())


def _kept(masks: AttentionMasks) -> AttentionMasks:
    """The masks, safe from a caller who changes them in place for the next forward, as ids are."""

    def copied(mask: Tensor | None) -> Tensor | None:
        return None if mask is None else mask.detach().clone()

    return replace(
        masks,
        attn_mask=copied(masks.attn_mask),
        key_padding_mask=copied(masks.key_padding_mask),
        zeroed=copied(masks.zeroed),
    )


class _Copy:
    """A weight as it was. Whether another is the same is seen in its product with random numbers: the copy itself is
    not read again, which would show beside a forward. (Freivalds 1977)
    """

    def __init__(self, weight: Tensor) -> None:
        self.weight = weight.clone()
        probe = torch.randn(weight.size(1), generator=torch.Generator().manual_seed(1))  # not torch's own: dropout's
        self.probe = probe.to(weight)
        self.product = weight @ self.probe

    def is_of(self, weight: Tensor) -> bool:
        if (weight.dtype, weight.device) != (self.weight.dtype, self.weight.device):
            return False
        return torch.equal(weight @ self.probe, self.product)


def _copy_of_weight(module: nn.Linear) -> Tensor:
    """The weight as it is now, safe from training. Recordings share a copy for as long as nothing changes."""
    weight, known = module.weight.detach(), _copies.get(module)
    if known is None or not known.is_of(weight):
        known = _copies[module] = _Copy(weight)
    return known.weight


def _renamed(name: str, new: str) -> str:
    return Site(new, name.kind, name.layer, name.heads) if isinstance(name, Site) else new


def _kind(path: str, owner: nn.Module | None) -> Kind:
    if isinstance(owner, TransformerDecoderLayer):
        return "cross" if path.rpartition(".")[2] == "multihead_attn" else "decoder"
    if isinstance(owner, TransformerEncoderLayer):
        return "decoder" if "decoder" in path.split(".") else "encoder"
    return "other"


def _layer(path: str) -> int:
    numbers = [part for part in path.split(".") if part.isdecimal()]
    return int(numbers[-1]) if numbers else 0
