"""From what a layer is given to the query, key and value of attention: shape checks and the in-projection.

N batch · L query length · S key length · E model width · H heads · D = E/H head width
"""

from collections.abc import Callable

from torch import Tensor
from torch.nn import functional as F


def in_projection_packed(
    query: Tensor, key: Tensor, value: Tensor, weight: Tensor, bias: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Project with one packed weight, in as few products as the inputs allow.

    Self-attention (one tensor three times) is one product, encoder-decoder attention (key is value) two, three
    separate inputs three.

    Args:
        query: (L, N, E)
        key, value: (S, N, E)
        weight: (3E, E), the query's rows first, then the key's, then the value's
        bias: (3E,) or None
    """
    width = query.size(-1)
    if key is value and query is key:
        q, k, v = project(query, weight, bias).chunk(3, dim=-1)
        return q, k, v
    if key is value:
        q = project(query, weight[:width], None if bias is None else bias[:width])
        k, v = project(key, weight[width:], None if bias is None else bias[width:]).chunk(2, dim=-1)
        return q, k, v
    w_q, w_k, w_v = weight.chunk(3)
    return in_projection(query, key, value, w_q, w_k, w_v, bias)


def in_projection(
    query: Tensor, key: Tensor, value: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, bias: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Project with three weights, which may read key and value of other widths.

    Args:
        query: (L, N, E)
        key: (S, N, kdim)
        value: (S, N, vdim)
        w_q, w_k, w_v: (E, E), (E, kdim), (E, vdim)
        bias: (3E,) or None, in the order query, key, value
    """
    b_q, b_k, b_v = (None, None, None) if bias is None else bias.chunk(3)
    return project(query, w_q, b_q), project(key, w_k, b_k), project(value, w_v, b_v)


def project(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """``F.linear`` on (S, N, E), done in the order of axes in which ``x`` lies in memory.

    A batch-first tensor comes here as a transposed view; multiplied as it lies, it need not be copied first.
    """
    if x.transpose(0, 1).is_contiguous():
        return F.linear(x.transpose(0, 1), weight, bias).transpose(0, 1)
    return F.linear(x, weight, bias)


def check_axes(query: Tensor, key: Tensor, value: Tensor) -> None:
    """Raise ValueError unless all three are batched, or none is."""
    if {query.dim(), key.dim(), value.dim()} not in ({2}, {3}):
        raise ValueError(
            f"query has shape {tuple(query.shape)}, key {tuple(key.shape)} and value {tuple(value.shape)}; "
            "wanted 3 axes each, or 2 each for unbatched input."
        )


def check_inputs(query: Tensor, key: Tensor, value: Tensor, embed_dim: int, num_heads: int, same_width: bool) -> None:
    """Raise ValueError unless (L, N, E), (S, N, ..) and (S, N, ..) fit together.

    The messages give single sizes, not shapes: the caller may have handed them over batch first, or unbatched.
    """
    if embed_dim % num_heads:
        raise ValueError(f"embed_dim {embed_dim} must be a multiple of num_heads {num_heads}.")
    if key.size(1) != query.size(1):
        raise ValueError(f"key has batch size {key.size(1)}; wanted the query's, N = {query.size(1)}.")
    if value.size(1) != key.size(1):
        raise ValueError(f"value has batch size {value.size(1)}; wanted the key's, N = {key.size(1)}.")
    if value.size(0) != key.size(0):
        raise ValueError(f"value has length {value.size(0)}; wanted the key's, S = {key.size(0)}.")
    to_check = {"query": query, "key": key, "value": value} if same_width else {"query": query}
    for name, tensor in to_check.items():
        if tensor.size(-1) != embed_dim:
            raise ValueError(f"{name} has width {tensor.size(-1)}; wanted E = {embed_dim}.")


def split_heads(x: Tensor, num_heads: int) -> Tensor:
    """(S, N, E) -> (N, H, S, D)"""
    return x.unflatten(-1, (num_heads, -1)).permute(1, 2, 0, 3)


def static_heads(name: str, static: Tensor, query: Tensor) -> Tensor:
    """A key or value given ready-made: (N*H, S, D) -> (N, H, S, D).

    Raises:
        ValueError: not N*H of them, or not D wide.
    """
    batch, num_heads, _, width = query.shape
    if static.dim() != 3 or static.size(0) != batch * num_heads or static.size(2) != width:
        raise ValueError(
            f"{name} has shape {tuple(static.shape)}; wanted (N*H, S, D) = ({batch * num_heads}, S, {width})."
        )
    return static.unflatten(0, (batch, num_heads))


def add_batch_axis(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(S, E) -> (S, 1, E), where one tensor given twice stays one."""
    return _map_together(query, key, value, lambda x: x.unsqueeze(1))


def swap_batch_axis(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(N, S, E) -> (S, N, E), where one tensor given twice stays one."""
    return _map_together(query, key, value, lambda x: x.transpose(0, 1))


def _map_together(
    query: Tensor, key: Tensor, value: Tensor, function: Callable[[Tensor], Tensor]
) -> tuple[Tensor, Tensor, Tensor]:
    """Keep ``key is value`` true: :func:`in_projection_packed` looks for that."""
    done = {id(x): function(x) for x in (query, key, value)}
    return done[id(query)], done[id(key)], done[id(value)]
