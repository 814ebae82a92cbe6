"""Sentence pairs from a file, and the batches they are trained in."""

import csv
import gzip
import random
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from torch import Tensor

from transformer.decoding import pad

Pair = tuple[str, str]
PairIds = tuple[list[int], list[int]]


def read_pairs(path: str | Path) -> list[Pair]:
    """The pairs of a TSV file (plain or .gz): a header with ``source`` and ``target``, then a pair a line.

    Raises:
        ValueError: no such file, a damaged one, no header, no pairs, or a line without two texts; the message says
            which.
    """
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"There is no file {path}.")
    try:
        with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8", newline="") as lines:
            rows = list(csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    except (OSError, EOFError, zlib.error, UnicodeError, csv.Error) as error:
        raise ValueError(f"{path} cannot be read: {error}.") from error
    return _pairs(path, rows)


def _pairs(path: Path, rows: list[list[str]]) -> list[Pair]:
    header = rows[0] if rows else []
    if not {"source", "target"} <= set(header):
        raise ValueError(f"{path} must begin with a header line that names the columns source and target.")
    source, target = header.index("source"), header.index("target")
    pairs = []
    for number, row in enumerate(rows[1:], start=2):
        if len(row) <= max(source, target) or not row[source].strip() or not row[target].strip():
            raise ValueError(f"{path}, line {number}: a source and a target are wanted.")
        pairs.append((row[source], row[target]))
    if not pairs:
        raise ValueError(f"{path} holds no pairs.")
    return pairs


@dataclass(frozen=True)
class Batch:
    """One step's worth: what the encoder reads, what the decoder reads, what it should predict.

    Shapes: source (N, S), target and labels (N, T); labels are the target one token on.
    """

    source: Tensor
    target: Tensor
    labels: Tensor


def make_batch(pairs: Sequence[PairIds], pad_id: int, bos_id: int) -> Batch:
    """Pad pairs of ids, each ending in the end token, into one batch."""
    return Batch(
        source=pad([source for source, _ in pairs], pad_id),
        target=pad([[bos_id, *target[:-1]] for _, target in pairs], pad_id),
        labels=pad([target for _, target in pairs], pad_id),
    )


def bucketed(pairs: Sequence[PairIds], tokens: int, shuffle: random.Random | None = None) -> Iterator[list[PairIds]]:
    """Group pairs of like length, so that little of a batch is padding.

    Args:
        tokens: the most tokens of either side that a batch may have, padding included. A longer pair stands alone.
        shuffle: the order of pairs of one length and of batches; None leaves both as they are.
    """
    order = list(range(len(pairs)))
    if shuffle:
        shuffle.shuffle(order)
    order.sort(key=lambda i: (len(pairs[i][1]), len(pairs[i][0])))
    batches: list[list[PairIds]] = []
    widest = 0
    for i in order:
        longest = max(len(pairs[i][0]), len(pairs[i][1]))
        if batches and max(widest, longest) * (len(batches[-1]) + 1) <= tokens:
            batches[-1].append(pairs[i])
            widest = max(widest, longest)
        else:
            batches.append([pairs[i]])
            widest = longest
    if shuffle:
        shuffle.shuffle(batches)
    yield from batches
