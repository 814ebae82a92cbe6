"""Ours beside torch's: the same weights, the same inputs, then everything that comes out is compared."""

import inspect
import math
from collections.abc import Callable

import torch
from hypothesis import strategies as st
from torch import Tensor, nn

TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-10}
DTYPES = list(TOLERANCE)
MASK_KINDS = [None, "bool", "float", "float with -inf"]

seeds = st.integers(0, 2**16)


def normal(*shape: int, seed: int, dtype: torch.dtype = torch.float32, scale: float = 1.0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype) * scale


def normals(shapes: dict[str, tuple[int, ...]], seed: int, dtype: torch.dtype) -> dict[str, Tensor]:
    return {
        name: normal(*shape, seed=seed + number, dtype=dtype, scale=0.4)
        for number, (name, shape) in enumerate(shapes.items())
    }


def some_mask(kind: str | None, *shape: int, seed: int, dtype: torch.dtype = torch.float32) -> Tensor | None:
    """A mask that leaves the first key to every query: what torch does with a row without keys is no reference."""
    if kind is None:
        return None
    blocked = normal(*shape, seed=seed) > 0
    blocked[..., 0] = False
    if kind == "bool":
        return blocked
    added = normal(*shape, seed=seed + 1, dtype=dtype, scale=2.0)
    return added if kind == "float" else added.masked_fill(blocked, -math.inf)


def causal_besides(mask: Tensor | None, query_length: int, key_length: int) -> Tensor:
    """``mask`` and the causal mask in one, for torch, which takes its flag for a hint about ``mask``."""
    future = torch.ones(query_length, key_length).triu(diagonal=1).bool()
    if mask is None:
        return future
    return mask | future if mask.dtype == torch.bool else mask.masked_fill(future, -math.inf)


def share_weights(ours: nn.Module, theirs: nn.Module, seed: int = 0) -> None:
    """Random weights (biases too: zeros would hide a forgotten one), through state dicts in both directions."""
    fill(theirs, seed)
    ours.load_state_dict(theirs.state_dict(), strict=True)
    fill(ours, seed + 1)
    theirs.load_state_dict(ours.state_dict(), strict=True)


def fill(module: nn.Module, seed: int) -> None:
    with torch.no_grad():
        for number, parameter in enumerate(module.parameters()):
            parameter.copy_(normal(*parameter.shape, seed=seed + 100 * number, dtype=parameter.dtype, scale=0.4))


def everything(function: Callable, tensors: dict[str, Tensor], module: nn.Module | None = None) -> dict[str, Tensor]:
    """The outputs of ``function(**tensors)`` and, for one random weighting of them, every gradient.

    A tensor given under two names stays one tensor: self-attention is told by that.
    """
    leaves = {id(tensor): tensor.detach().clone().requires_grad_() for tensor in tensors.values()}
    outputs = function(**{name: leaves[id(tensor)] for name, tensor in tensors.items()})
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    results = {f"output {i}": output for i, output in enumerate(outputs) if output is not None}

    loss = sum((out * normal(*out.shape, seed=i, dtype=out.dtype)).sum() for i, out in enumerate(results.values()))
    named = {f"input {name}": leaves[id(tensor)] for name, tensor in tensors.items()}
    named |= {} if module is None else dict(module.named_parameters())
    gradients = torch.autograd.grad(loss, list(named.values()), allow_unused=True)
    results |= {f"gradient of {name}": g for name, g in zip(named, gradients, strict=True) if g is not None}
    return {name: result.detach() for name, result in results.items()}


def assert_all_close(ours: dict[str, Tensor], theirs: dict[str, Tensor]) -> None:
    """Equal to 1e-5 (float32) or 1e-10 (float64); of the largest entry, where that is over 1: sums are rounded so."""
    assert ours.keys() == theirs.keys()
    for name, result in ours.items():
        tolerance = TOLERANCE[result.dtype]
        largest = float(theirs[name].detach().abs().nan_to_num().amax()) if result.numel() else 0.0
        torch.testing.assert_close(
            result,
            theirs[name],
            rtol=tolerance,
            atol=tolerance * max(1.0, largest),
            msg=lambda text, name=name: f"{name}: {text}",
        )


def assert_parity(
    ours: nn.Module,
    theirs: nn.Module,
    tensors: dict[str, Tensor],
    arguments: dict,
    theirs_arguments: dict | None = None,
) -> None:
    """Same outputs and gradients; ``arguments`` are what needs no gradient."""
    given = arguments if theirs_arguments is None else theirs_arguments
    assert_all_close(
        everything(lambda **leaves: ours(**leaves, **arguments), tensors, ours),
        everything(lambda **leaves: theirs(**leaves, **given), tensors, theirs),
    )


def arguments_of(function: Callable) -> list[tuple]:
    """Names and defaults of what can be given in order; what is ours alone (``cache``) goes by name only."""
    parameters = inspect.signature(function).parameters.values()
    return [(p.name, p.default) for p in parameters if p.kind is not p.KEYWORD_ONLY]
