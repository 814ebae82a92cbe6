"""Where in the sequence a token stands: sinusoidal and learned positions.

N batch · S sequence length · E model width
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer.dropout import Dropout


def sinusoidal_table(
    length: int,
    num_features: int,
    base: float = 10000.0,
    device: torch.device | str | None = None,
    dtype: torch.dtype | None = None,
) -> Tensor:
    """Sines in the even features, cosines in the odd ones, one wavelength a pair.

    Returns:
        (length, num_features). An odd width ends with a sine that has no cosine beside it.

    Source: Vaswani et al. 2017, section 3.5.

    Example:
        >>> sinusoidal_table(2, 3)
        tensor([[0.0000, 1.0000, 0.0000],
                [0.8415, 0.5403, 0.0022]])
    """
    position = torch.arange(length, device=device, dtype=torch.float64)
    pair = torch.arange(0, num_features, 2, device=device, dtype=torch.float64)
    angle = position[:, None] * torch.exp(-math.log(base) / num_features * pair)  # (length, ceil(E/2))
    table = torch.empty(length, num_features, device=device, dtype=torch.float64)
    table[:, 0::2] = angle.sin()
    table[:, 1::2] = angle.cos()[:, : num_features // 2]
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
    its first size; a longer sequence makes it grow.

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
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.batch_first = batch_first
        self.dropout = Dropout(dropout)
        table = sinusoidal_table(max_len, num_features, device=device, dtype=dtype)
        self.register_buffer("table", table, persistent=False)  # (max_len, E)

    def forward(self, x: Tensor, first: int = 0) -> Tensor:
        _check_input(x, self.num_features)
        length = first + x.size(_sequence_axis(x, self.batch_first))
        table = self.table
        if table.size(0) < length:
            # An ordinary tensor even when the first long text comes under inference_mode: training may follow.
            with torch.inference_mode(False):
                table = sinusoidal_table(length, self.num_features, device=table.device, dtype=table.dtype)
            self.table = table
        rows = table[first:length].to(x.dtype)
        return self.dropout(x + _beside(rows, x, self.batch_first))

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
