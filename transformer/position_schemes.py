"""Positions that are told to an attention by offset, to compare with those that are added to embeddings.

An offset is where a key stands less where its query stands, in tokens: negative for a key that was read before.

L length · H heads · D head width
"""

import torch
from torch import Tensor

from transformer.positions import angular_steps


def rotary(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    """Turn each pair of features of a query or a key by its position times the pair's own step.

    The dot product of a query and a key turned in this way depends on their offset and not on where they stand.

    Args:
        x: (..., L, D); features 0 and 1 are a pair, 2 and 3, and so on.
        positions: (L,), in tokens.

    Raises:
        ValueError: an odd D.

    Source: Su et al. 2021, "RoFormer", equation 34.

    Example:
        >>> rotary(torch.tensor([[1.0, 0.0], [1.0, 0.0]]), torch.tensor([0, 1]))
        tensor([[1.0000, 0.0000],
                [0.5403, 0.8415]])
    """
    if x.size(-1) % 2:
        raise ValueError(f"Rotary positions turn pairs of features, but there are {x.size(-1)}.")
    angle = positions.double()[:, None] * angular_steps(x.size(-1), base, device=x.device)  # (L, D/2)
    cosine, sine = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    first, second = x[..., 0::2], x[..., 1::2]
    return torch.stack([first * cosine - second * sine, first * sine + second * cosine], dim=-1).flatten(-2)


def rotary_factor(offsets: Tensor, width: int, base: float = 10000.0) -> Tensor:
    """What becomes of q·k by offset, as a factor, where query and key are equal and all their pairs equally long.

    Args:
        offsets: any shape, in tokens.
        width: D

    Returns:
        The shape of ``offsets``, float64: the mean of the cosines of the pairs' angles, 1 at offset 0.

    Raises:
        ValueError: an odd D, or none.

    Source: Su et al. 2021, "RoFormer", section 3.4.3.

    Example:
        >>> rotary_factor(torch.tensor([0, 1]), 2)
        tensor([1.0000, 0.5403], dtype=torch.float64)
    """
    if width < 2 or width % 2:
        raise ValueError(f"Rotary positions turn pairs of features, but there are {width}.")
    return (offsets.double()[..., None] * angular_steps(width, base, device=offsets.device)).cos().mean(dim=-1)


def alibi_slopes(heads: int) -> Tensor:
    """How much each head takes off a score for each token that a key is away.

    For 8 heads 1/2, 1/4, … 1/256. Where H is no power of two: the slopes of the next smaller power, and then every
    second one of twice that power.

    Returns:
        (H,)

    Raises:
        ValueError: no heads.

    Source: Press et al. 2022, "Train Short, Test Long", section 3, and the authors' code for other numbers of heads.

    Example:
        >>> alibi_slopes(4)
        tensor([0.2500, 0.0625, 0.0156, 0.0039])
        >>> alibi_slopes(3)
        tensor([0.0625, 0.0039, 0.2500])
    """
    if heads < 1:
        raise ValueError(f"ALiBi needs at least one head, not {heads}.")
    power = 1 << (heads.bit_length() - 1)
    return torch.cat([_geometric(power), _geometric(2 * power)[0::2][: heads - power]])


def _geometric(heads: int) -> Tensor:
    return 2.0 ** (-8.0 / heads * torch.arange(1, heads + 1))


def alibi_bias(offsets: Tensor, heads: int) -> Tensor:
    """What is added to the scores of each head by offset; ``-inf`` for keys behind the query, which ALiBi masks.

    Args:
        offsets: (L,), in tokens.

    Returns:
        (H, L)

    Raises:
        ValueError: no heads.

    Source: Press et al. 2022, "Train Short, Test Long", section 3.

    Example:
        >>> alibi_bias(torch.tensor([-2, -1, 0, 1]), 2)
        tensor([[-0.1250, -0.0625,  0.0000,    -inf],
                [-0.0078, -0.0039,  0.0000,    -inf]])
    """
    return (alibi_slopes(heads)[:, None] * offsets).masked_fill(offsets > 0, -torch.inf)


def t5_buckets(offsets: Tensor, buckets: int = 32, max_distance: int = 128, bidirectional: bool = True) -> Tensor:
    """Which of the learned biases a score gets by offset.

    Near keys have a bucket each, farther ones share buckets that widen logarithmically; from ``max_distance`` on all
    share the last.

    Args:
        offsets: any shape, in tokens.
        bidirectional: half of the buckets are for keys behind the query, as in an encoder. Otherwise all are for keys
            before it, and those behind it have bucket 0: a decoder masks them.

    Returns:
        The shape of ``offsets``, int64, from 0.

    Raises:
        ValueError: too few buckets to have a near and a far one, or a ``max_distance`` that lies among the near ones.

    Source: Raffel et al. 2020, "Exploring the Limits of Transfer Learning", section 2.1, and the authors' code.

    Example:
        >>> t5_buckets(torch.tensor([-200, -8, -7, 0, 1]))
        tensor([15,  8,  7,  0, 17])
    """
    own = buckets // 2 if bidirectional else buckets
    near = own // 2
    if near < 1 or max_distance <= near:
        raise ValueError(f"{buckets} buckets up to a distance of {max_distance} leave no room for near and far ones.")
    distances = offsets.abs() if bidirectional else (-offsets).clamp(min=0)
    far = torch.tensor(_far_edges(near, own - near, max_distance), dtype=torch.long, device=offsets.device)
    bucket = torch.where(distances < near, distances, near + torch.bucketize(distances, far, right=True))
    return bucket + (offsets > 0) * own if bidirectional else bucket


def _far_edges(near: int, far: int, max_distance: int) -> list[int]:
    """The distances at which the second and every further one of the far buckets begins.

    Bucket j begins at near · (max_distance / near)^(j / far). In whole numbers, so that no rounding moves an edge.
    """
    edges, distance = [], near
    for step in range(1, far):
        while distance**far < max_distance**step * near ** (far - step):
            distance += 1
        edges.append(distance)
    return edges
