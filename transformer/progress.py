"""Being told how far a forward is, while it runs."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from torch import nn

from transformer.hook_point import HookPoint
from transformer.layers import TransformerDecoderLayer, TransformerEncoderLayer

Call = Callable[[str], None]

_told: ContextVar[tuple[tuple[dict[nn.Module, str], Call], ...]] = ContextVar("told_of_sublayers", default=())
_installing = threading.Lock()
_INSTALLED = "_progress_hook_installed"


@contextmanager
def after_each_sublayer(model: nn.Module, call: Call) -> Iterator[None]:
    """Call after every sublayer that ``model`` computes inside the block, in this thread, with its path.

    Whatever ``call`` raises ends the forward there. Hooks are installed on the model the first time and stay, doing
    nothing unless a block is open, as those of :func:`~transformer.record`.

    Raises:
        ValueError: the model holds no layer of ours.

    Example:
        >>> import torch
        >>> from transformer import TransformerEncoderLayer
        >>> layer = TransformerEncoderLayer(d_model=8, nhead=2)
        >>> with after_each_sublayer(layer, print):
        ...     output = layer(torch.randn(3, 1, 8))
        after_self_attn
        after_feedforward
    """
    paths = {model.get_submodule(path): path for path in sublayers(model)}
    if not paths:
        raise ValueError(f"There is nothing to be told of: {type(model).__name__} holds no layer of this package.")
    with _installing:
        for module in paths:
            if _INSTALLED not in module.__dict__:
                module.register_forward_hook(_passed)
                setattr(module, _INSTALLED, True)
    token = _told.set((*_told.get(), (paths, call)))
    try:
        yield
    finally:
        _told.reset(token)


def sublayers(model: nn.Module) -> tuple[str, ...]:
    """The paths of the hook points after each sublayer, in the order in which a forward comes by them.

    Example:
        >>> from transformer import TransformerEncoderLayer
        >>> sublayers(TransformerEncoderLayer(d_model=8, nhead=2))
        ('after_self_attn', 'after_feedforward')
    """
    return tuple(
        f"{path}.{name}" if path else name
        for path, layer in model.named_modules()
        if isinstance(layer, TransformerEncoderLayer | TransformerDecoderLayer)
        for name, part in layer.named_children()
        if isinstance(part, HookPoint)
    )


def _passed(module: nn.Module, arguments: Any, output: Any) -> None:
    for paths, call in _told.get():
        if module in paths:
            call(paths[module])
