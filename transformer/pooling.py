"""A long pattern made small enough to be drawn, and its strongest pairs.

Both read it by tiles, a few rows at a time: memory grows with the length of a text and not with its square.

H heads · L query length · S key length
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from transformer.recording import Recording

Window = tuple[int, int] | None  # the first and the one after the last; None: all
Pair = tuple[int, int, float]  # row, column, weight
Quantity = Literal["weight", "score"] | Callable[..., Tensor]
Proceed = Callable[[float], bool]

TILE_CELLS = 4_000_000  # scores of a tile, those of all keys and heads counted: 16 MB
QUANTITIES: dict[str, Callable[..., Tensor]] = {"weight": Recording.pattern, "score": Recording.scores}


class Stopped(Exception):  # noqa: N818  # nothing went wrong
    """Whoever waited for the numbers wants them no more."""


@dataclass(frozen=True)
class Pooled:
    """A part of a pattern, a number for each bin of cells.

    Attributes:
        mean, max: (h, w) float32, over the cells of a bin that no mask blocks; NaN where all of them are blocked.
    """

    mean: npt.NDArray[np.float32]
    max: npt.NDArray[np.float32]


def bin_edges(length: int, most: int) -> npt.NDArray[np.intp]:
    """Where bins begin, and where the last one ends: ``most`` of them, as equal as possible, or one a cell.

    Raises:
        ValueError: not even one bin.

    Example:
        >>> bin_edges(10, 4).tolist(), bin_edges(3, 4).tolist()
        ([0, 2, 5, 7, 10], [0, 1, 2, 3])
    """
    if most < 1:
        raise ValueError(f"A side is shrunk to at least 1 bin, not {most}.")
    bins = min(length, most)
    return np.arange(bins + 1) * length // bins


def pooled(
    recording: Recording,
    site: str,
    head: int | Literal["mean"],
    rows: Window,
    columns: Window,
    size: tuple[int, int],
    sentence: int = 0,
    quantity: Quantity = "weight",
    proceed: Proceed | None = None,
) -> Pooled:
    """The rows and columns in view of one head, or of the mean of them, shrunk to at most ``size`` bins.

    Args:
        rows, columns: a part of the queries and of the keys, half-open; the softmax is over all keys in any case.
        size: the most bins down and across. A side that is not longer stays cell by cell.
        sentence: of the batch.
        quantity: what is pooled: another one than these two is called, and answers, as :meth:`Recording.pattern`, so
            :meth:`Recording.weighted_norms` is one.
        proceed: told after each tile what share is done; says whether to go on.

    Raises:
        KeyError, IndexError: as :meth:`Recording.pattern`; a window that is empty or beyond the pattern.
        ValueError: a size below 1.
        Stopped: ``proceed`` said no.

    Example:
        >>> from transformer import MultiheadAttention, record
        >>> attention, x = MultiheadAttention(8, num_heads=2), torch.randn(1000, 1, 8)
        >>> with torch.inference_mode(), record(attention) as recording:
        ...     output, _ = attention(x, x, x, need_weights=False)
        >>> pooled(recording, recording.sites[0], 0, None, (250, 260), size=(64, 64)).max.shape
        (64, 10)
    """
    view = _View.of(recording, site, head, rows, columns)
    tops, lefts = bin_edges(view.height, size[0]), bin_edges(view.width, size[1])
    shape = len(tops) - 1, len(lefts) - 1
    total, allowed, most = np.zeros(shape), np.zeros(shape), np.full(shape, -np.inf)
    for first, cells, blocked in _tiles(recording, view, sentence, quantity, proceed):
        begin = int(np.searchsorted(tops, first, side="right")) - 1
        end = int(np.searchsorted(tops, first + len(cells)))
        here = slice(begin, end)  # the bins that the tile has rows of, of the outer two perhaps not all
        heights = np.diff(tops[begin : end + 1].clip(first, first + len(cells))).tolist()
        lowest, nothing = cells, cells
        if bool(blocked.any()):
            lowest, nothing = cells.masked_fill(blocked, -torch.inf), cells.masked_fill(blocked, 0.0)
        sums = torch.stack([part.sum(dim=0) for part in nothing.split(heights)])  # (bins, columns in view)
        counts = torch.stack([part.logical_not().sum(dim=0) for part in blocked.split(heights)])
        peaks = torch.stack([part.amax(dim=0) for part in lowest.split(heights)])
        total[here] += np.add.reduceat(sums.double().numpy(), lefts[:-1], axis=1)
        allowed[here] += np.add.reduceat(counts.numpy(), lefts[:-1], axis=1)
        most[here] = np.maximum(most[here], np.maximum.reduceat(peaks.numpy(), lefts[:-1], axis=1))
    some = allowed > 0
    mean = np.divide(total, allowed, out=np.full(shape, np.nan), where=some)
    return Pooled(mean.astype(np.float32), np.where(some, most, np.nan).astype(np.float32))


def strongest(
    recording: Recording,
    site: str,
    head: int | Literal["mean"],
    most: int = 2,
    rows: Window = None,
    columns: Window = None,
    sentence: int = 0,
    quantity: Quantity = "weight",
    proceed: Proceed | None = None,
) -> list[Pair]:
    """The largest cells of a pattern, or of a part of it, as (row, column, weight): one a row, the largest first.

    Blocked cells do not count. Of equal ones the upper left comes first.

    Args:
        most: how many.
        rows, columns, sentence, quantity, proceed: as :func:`pooled`, and the errors too.
    """
    view = _View.of(recording, site, head, rows, columns)
    best: list[Pair] = []
    for first, cells, blocked in _tiles(recording, view, sentence, quantity, proceed):
        found = cells.masked_fill(blocked, -torch.inf).max(dim=1)
        rows_of_tile = range(view.top + first, view.top + first + len(cells))
        columns_of_tile = (view.left + found.indices).tolist()
        pairs = zip(rows_of_tile, columns_of_tile, found.values.tolist(), strict=True)
        best += [pair for pair, nothing in zip(pairs, blocked.all(dim=1).tolist(), strict=True) if not nothing]
        best = sorted(best, key=lambda pair: -pair[2])[:most]
    return best


@dataclass(frozen=True)
class _View:
    """Which part of which pattern is looked at, and what a tile of it costs."""

    site: str
    head: int | Literal["mean"]
    top: int
    bottom: int
    left: int
    right: int
    rows_of_a_tile: int

    @classmethod
    def of(cls, recording: Recording, site: str, head: int | Literal["mean"], rows: Window, columns: Window) -> "_View":
        _, heads, length, _ = recording.query(site).shape
        keys = recording.key(site).size(2)
        cells_of_a_row = keys * (heads if head == "mean" else 1)
        top, bottom = _within("rows", rows, length)
        left, right = _within("columns", columns, keys)
        return cls(site, head, top, bottom, left, right, max(1, TILE_CELLS // cells_of_a_row))

    @property
    def height(self) -> int:
        return self.bottom - self.top

    @property
    def width(self) -> int:
        return self.right - self.left


def _within(name: str, window: Window, length: int) -> tuple[int, int]:
    begin, end = (0, length) if window is None else window
    if not 0 <= begin < end <= length:
        raise IndexError(f"{name} {begin} to {end} are no part of a pattern that has {length}.")
    return begin, end


def _tiles(
    recording: Recording, view: _View, sentence: int, quantity: Quantity, proceed: Proceed | None
) -> Iterator[tuple[int, Tensor, Tensor]]:
    """The first row, counted within the view, the cells and which are blocked, both (rows of a tile, columns)."""
    read = QUANTITIES[quantity] if isinstance(quantity, str) else quantity
    for top in range(view.top, view.bottom, view.rows_of_a_tile):
        bottom = min(top + view.rows_of_a_tile, view.bottom)
        rows, columns = slice(top, bottom), slice(view.left, view.right)
        cells = read(recording, view.site, view.head, sentence=sentence, rows=rows, columns=columns)
        blocked = recording.mask(view.site, view.head, sentence=sentence, rows=rows, columns=columns) == -torch.inf
        yield top - view.top, cells, blocked
        if proceed is not None and not proceed((bottom - view.top) / view.height):
            raise Stopped
