"""What is changed in a run, for as long as a block is open and in its thread alone."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch
from torch import Tensor, nn

from transformer.attention import DotProductAttention, MultiheadAttention

_in_force: ContextVar[tuple[object, ...]] = ContextVar("interventions_in_force", default=())


@contextmanager
def switched_off(model: nn.Module, site: str, head: int | None = None) -> Iterator[None]:
    """Make a head give zeros in place of its output (N, L, D) in every forward inside the block, in this thread.

    The out-projection's bias stays, and so does what other heads give. Blocks nest; the model is left as it was.

    Args:
        site: the module path of an attention, as in ``recording.sites``.
        head: which, from 0; None for every head of the site.

    Raises:
        ValueError: no attention of ours at that path, or no such head.

    Source: Michel, Levy and Neubig 2019, "Are sixteen heads really better than one?".

    Example:
        >>> attention, x = MultiheadAttention(8, num_heads=2, bias=False), torch.randn(3, 1, 8)
        >>> with switched_off(attention, ""):
        ...     output, _ = attention(x, x, x)
        >>> output.abs().sum().item()
        0.0
    """
    module = dict(model.named_modules()).get(site)
    if not isinstance(module, MultiheadAttention):
        raise ValueError(f"There is no attention at {site!r} to switch off.")
    if head is not None and not 0 <= head < module.num_heads:
        raise ValueError(f"head is {head}, but {site} has {module.num_heads}.")
    heads = list(range(module.num_heads)) if head is None else [head]
    mark = object()

    # The hook stands on a module that other threads run too: only where its block is open does it act.
    def silence(
        attention: DotProductAttention, arguments: tuple[Any, ...], output: tuple[Tensor, Tensor | None]
    ) -> Any:
        if not any(known is mark for known in _in_force.get()):
            return None
        outputs, pattern = output  # (N, H, L, D)
        return outputs.index_fill(1, torch.tensor(heads, device=outputs.device), 0.0), pattern

    hook = module.attention.register_forward_hook(silence)
    token = _in_force.set((*_in_force.get(), mark))
    try:
        yield
    finally:
        _in_force.reset(token)
        hook.remove()
