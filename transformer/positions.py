"""Where in the sequence a token stands: sinusoidal and learned positions.

N batch · S sequence length · E model width
"""

import math
from typing import Literal, get_args

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer.dropout import Dropout

Layout = Literal["interleaved", "halves"]


def angular_steps(num_features: int, base: float = 10000.0, device: torch.device | str | None = None) -> Tensor:
    """By how many radians each pair of features turns from one position to the next: (ceil(E/2),), float64.

    Source: Vaswani et al. 2017, section 3.5.

    Example:
        >>> angular_steps(4)
        tensor([1.0000, 0.0100], dtype=torch.float64)
    """
    feature = torch.arange(0, num_features, 2, device=device, dtype=torch.float64)
    return torch.exp(-math.log(base) / num_features * feature)


def sinusoidal_table(
    length: int,
    num_features: int,
    base: float = 10000.0,
    layout: Layout = "interleaved",
    device: torch.device | str | None = None,
    dtype: torch.dtype | None = None,
) -> Tensor:
    """A sine and a cosine for each pair of features, one wavelength a pair.

    Args:
        base: the ratio of the longest wavelength, which no pair quite reaches, to the shortest.
        layout: ``interleaved``: sines in the even features, cosines in the odd ones, as in the paper; ``halves``: all
            sines, then all cosines, as in MarianMT.

    Returns:
        (length, num_features). With an odd width the last sine has no cosine.

    Raises:
        ValueError: no such layout.

    Source: Vaswani et al. 2017, section 3.5.

    Example:
        >>> sinusoidal_table(2, 3)
        tensor([[0.0000, 1.0000, 0.0000],
                [0.8415, 0.5403, 0.0022]])
    """
    if layout not in get_args(Layout):
        raise ValueError(f"layout must be one of {', '.join(get_args(Layout))}, not {layout!r}.")
    position = torch.arange(length, device=device, dtype=torch.float64)
    angle = position[:, None] * angular_steps(num_features, base, device)  # (length, ceil(E/2))
    sines, cosines = angle.sin(), angle.cos()[:, : num_features // 2]
    table = torch.cat([sines, cosines], dim=1)
    if layout == "interleaved":
        table[:, 0::2], table[:, 1::2] = sines, cosines
    return table.to(dtype or torch.get_default_dtype())


def positional_encoding(
    x: Tensor, num_features: int, dropout_p: float = 0.1, max_len: int = 512, training: bool = False
) -> Tensor:
    """Add sinusoidal positions to embedded tokens, then drop out while training.

    Args:
        x: (N, S, E) or (S, E); the sequence is the axis before the last, never the batch.
        num_features: E.
        dropout_p: how much is dropped, when ``training``.
        max_len: rows the table is made with; a longer sequence gets a longer table.
        training: whether dropout is active.

    Returns:
        The shape and dtype of ``x``.

    Raises:
        ValueError: ``x`` is not ``num_features`` wide or has no sequence axis.

    Source: Vaswani et al. 2017, section 3.5.

    Example:
        >>> positional_encoding(torch.zeros(1, 2, 3), 3)
        tensor([[[0.0000, 1.0000, 0.0000],
                 [0.8415, 0.5403, 0.0022]]])
    """
    _check_input(x, num_features)
    length = x.size(-2)
    table = sinusoidal_table(max(length, max_len), num_features, device=x.device, dtype=x.dtype)
    return F.dropout(x + table[:length], dropout_p, training)


class PositionalEncoding(nn.Module):
    """:func:`positional_encoding` as a module that keeps its table.

    The table is a non-persistent buffer: it follows ``.to()`` and stays out of state dicts. ``max_len`` is only
    its first size; a longer sequence makes it grow. For ``base`` and ``layout`` see :func:`sinusoidal_table`.

    Shape:
        x: (N, S, E) if ``batch_first`` else (S, N, E), or unbatched (S, E). The output is as the input. ``first`` is
        the position of the first token, where the ones before it were read earlier.

    Source: Vaswani et al. 2017, section 3.5.

    Example:
        >>> PositionalEncoding(3, dropout=0.0, max_len=1)(torch.zeros(1, 2, 3))
        tensor([[[0.0000, 1.0000, 0.0000],
                 [0.8415, 0.5403, 0.0022]]])
    """

    table: Tensor

    def __init__(
        self,
        num_features: int,
        dropout: float = 0.1,
        max_len: int = 512,
        batch_first: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        base: float = 10000.0,
        layout: Layout = "interleaved",
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.batch_first = batch_first
        self.base, self.layout = base, layout
        self.dropout = Dropout(dropout)
        table = sinusoidal_table(max_len, num_features, base, layout, device, dtype)
        self.register_buffer("table", table, persistent=False)  # (max_len, E)

    def forward(self, x: Tensor, first: int = 0) -> Tensor:
        _check_input(x, self.num_features)
        rows = self.rows(first + x.size(_sequence_axis(x, self.batch_first)))[first:]
        return self.dropout(x + _beside(rows.to(x.dtype), x, self.batch_first))

    def rows(self, length: int) -> Tensor:
        """The table's first rows, (length, E); it grows where it is too short."""
        table = self.table
        if table.size(0) < length:
            # An ordinary tensor even when the first long text comes under inference_mode: training may follow.
            with torch.inference_mode(False):
                size = (length, self.num_features)
                table = sinusoidal_table(*size, self.base, self.layout, table.device, table.dtype)
            self.table = table
        return table[:length]

    def extra_repr(self) -> str:
        return f"{self.num_features}, batch_first={self.batch_first}"


class LearnedPositionalEncoding(nn.Module):
    """A trained vector for each of ``max_len`` positions, as in BERT and GPT-2.

    Shape:
        x: (N, S, E) if ``batch_first`` else (S, N, E), or unbatched (S, E). The output is as the input. ``first`` is
        the position of the first token, where the ones before it were read earlier.

    Raises:
        ValueError: the sequence is longer than the table: no vector was learned for the rest.

    Example:
        >>> positions = LearnedPositionalEncoding(3, dropout=0.0, max_len=2)
        >>> positions(torch.zeros(1, 2, 3)).shape
        torch.Size([1, 2, 3])
        >>> positions(torch.zeros(1, 4, 3))
        Traceback (most recent call last):
        ValueError: The sequence has 4 positions, but only 2 were learned.
    """

    def __init__(
        self,
        num_features: int,
        dropout: float = 0.1,
        max_len: int = 512,
        batch_first: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.batch_first = batch_first
        self.dropout = Dropout(dropout)
        self.weight = nn.Parameter(torch.empty(max_len, num_features, device=device, dtype=dtype))
        nn.init.normal_(self.weight, std=0.02)

    def forward(self, x: Tensor, first: int = 0) -> Tensor:
        _check_input(x, self.num_features)
        length = first + x.size(_sequence_axis(x, self.batch_first))
        if length > self.weight.size(0):
            raise ValueError(f"The sequence has {length} positions, but only {self.weight.size(0)} were learned.")
        return self.dropout(x + _beside(self.weight[first:length].to(x.dtype), x, self.batch_first))

    def extra_repr(self) -> str:
        return f"{self.num_features}, max_len={self.weight.size(0)}, batch_first={self.batch_first}"


class NoPositionalEncoding(nn.Module):
    """Only the dropout: the model is told nothing of where a token stands.

    Shape:
        any; the output is as the input.
    """

    def __init__(self, dropout: float = 0.1) -> None:
        super().__init__()
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, first: int = 0) -> Tensor:
        return self.dropout(x)


def _sequence_axis(x: Tensor, batch_first: bool) -> int:
    return 1 if batch_first and x.dim() == 3 else 0


def _beside(rows: Tensor, x: Tensor, batch_first: bool) -> Tensor:
    """(S, E) rows, shaped to be added along the sequence axis of ``x``."""
    return rows if batch_first or x.dim() == 2 else rows[:, None]


def _check_input(x: Tensor, num_features: int) -> None:
    if x.dim() not in (2, 3) or x.size(-1) != num_features:
        raise ValueError(
            f"x has shape {tuple(x.shape)}; wanted a batch of sequences or one sequence of width {num_features}."
        )
