"""What the vectors of positions have to do with each other: wavelengths, turns, products.

S sequence length · E model width
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from transformer.positions import Layout, angular_steps


def wavelengths(num_features: int, base: float = 10000.0, layout: Layout = "interleaved") -> Tensor:
    """After how many tokens each feature of a sinusoidal table comes round again: (E,), float64.

    Source: Vaswani et al. 2017, section 3.5.

    Example:
        >>> wavelengths(4)
        tensor([  6.2832,   6.2832, 628.3185, 628.3185], dtype=torch.float64)
    """
    of_pairs = 2 * math.pi / angular_steps(num_features, base)
    if layout == "halves":
        return torch.cat([of_pairs, of_pairs[: num_features // 2]])
    return of_pairs.repeat_interleave(2)[:num_features]


def features_of_pair(pair: int, num_features: int, layout: Layout = "interleaved") -> tuple[int, int]:
    """Which feature is the sine of a pair, and which its cosine; all counted from 0.

    Raises:
        IndexError: no such pair. The last feature of an odd width is in none.

    Example:
        >>> features_of_pair(1, 6), features_of_pair(1, 6, "halves")
        ((2, 3), (1, 4))
    """
    if not 0 <= pair < num_features // 2:
        raise IndexError(f"pair is {pair}, but {num_features} features make {num_features // 2}.")
    return (2 * pair, 2 * pair + 1) if layout == "interleaved" else (pair, (num_features + 1) // 2 + pair)


def rotation(angle: Tensor) -> Tensor:
    """The matrix that turns a pair (sine, cosine) on by an angle: from position p to p + k by k times the pair's step.

    It is the same for every p, so an attention can learn to look k tokens away.

    Args:
        angle: any shape, in radians.

    Returns:
        The same shape and (2, 2) behind it.

    Source: Vaswani et al. 2017, section 3.5; the angle addition theorems.

    Example:
        >>> rotation(torch.tensor(math.pi / 2)).round(decimals=3)
        tensor([[-0.,  1.],
                [-1., -0.]])
    """
    sine, cosine = angle.sin(), angle.cos()
    return torch.stack([torch.stack([cosine, sine], dim=-1), torch.stack([-sine, cosine], dim=-1)], dim=-2)


def dot_products(table: Tensor) -> Tensor:
    """Of every position's vector with every other's: (S, E) -> (S, S), float64.

    Example:
        >>> dot_products(torch.tensor([[3.0, 4.0], [0.0, 1.0]]))
        tensor([[25.,  4.],
                [ 4.,  1.]], dtype=torch.float64)
    """
    precise = table.double()
    return precise @ precise.T


def cosines(table: Tensor) -> Tensor:
    """The same of vectors brought to length 1; a vector of zeros has a cosine of 0 with every other.

    Example:
        >>> cosines(torch.tensor([[3.0, 4.0], [0.0, 1.0]]))
        tensor([[1.0000, 0.8000],
                [0.8000, 1.0000]], dtype=torch.float64)
    """
    return dot_products(torch.nn.functional.normalize(table.double(), dim=-1))


@dataclass(frozen=True)
class ByOffset:
    """What stands on the diagonals of a matrix (S, S), each (2S - 1,), for offsets -(S - 1) to S - 1.

    Attributes:
        mean, least, most: over the positions that have another one at this offset.
    """

    mean: Tensor
    least: Tensor
    most: Tensor


def by_offset(matrix: Tensor) -> ByOffset:
    """What products of positions are, by how far the second lies behind the first.

    Raises:
        ValueError: no square matrix, or an empty one.

    Example:
        >>> by_offset(torch.tensor([[1.0, 2.0], [3.0, 4.0]])).mean
        tensor([3.0000, 2.5000, 2.0000])
    """
    if matrix.dim() != 2 or matrix.size(0) != matrix.size(1) or not matrix.numel():
        raise ValueError(f"Offsets run along the diagonals of a square matrix, but the shape is {tuple(matrix.shape)}.")
    length = matrix.size(0)
    diagonals = [matrix.diagonal(offset) for offset in range(1 - length, length)]
    return ByOffset(*(torch.stack([way(one) for one in diagonals]) for way in (torch.mean, torch.amin, torch.amax)))
