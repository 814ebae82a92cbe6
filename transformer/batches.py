"""Texts from a file, and the batches they are trained in."""

import csv
import gzip
import random
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TextIO

import torch
from torch import Tensor

from transformer.decoding import pad

Pair = tuple[str, str]
Example = tuple[list[int], ...]  # ids of (source, target), or of the one text that a decoder alone reads


def read_pairs(path: str | Path) -> list[Pair]:
    """The pairs of a TSV file (plain or .gz): a header with ``source`` and ``target``, then a pair a line.

    Raises:
        ValueError: no such file, a damaged one, no header, no pairs, or a line without two texts; the message says
            which.
    """
    with _opened(Path(path)) as lines:
        rows = list(csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    return _pairs(Path(path), rows)


def read_sentences(path: str | Path) -> list[str]:
    """The lines of a file (plain or .gz) that are not blank.

    Raises:
        ValueError: no such file, a damaged one, or no text in it; the message says which.
    """
    with _opened(Path(path)) as lines:
        sentences = [line.strip() for line in lines if line.strip()]
    if not sentences:
        raise ValueError(f"{path} holds no text.")
    return sentences


@contextmanager
def _opened(path: Path) -> Iterator[TextIO]:
    if not path.is_file():
        raise ValueError(f"There is no file {path}.")
    try:
        with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8", newline="") as lines:
            yield lines
    except (OSError, EOFError, zlib.error, UnicodeError, csv.Error) as error:
        raise ValueError(f"{path} cannot be read: {error}.") from error


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
    """One step's worth: what the model reads, as it takes it (``model(*inputs)``), and what it should predict.

    Shapes: inputs (N, S) and (N, T), or (N, T) alone; labels (N, T), the last input one token on.
    """

    inputs: tuple[Tensor, ...]
    labels: Tensor


def make_batch(examples: Sequence[Example], pad_id: int, bos_id: int) -> Batch:
    """Pad examples, each of whose sides ends in the end token, into one batch."""
    *sources, target = zip(*examples, strict=True)
    read = [[bos_id, *ids[:-1]] for ids in target]
    return Batch(inputs=tuple(pad(side, pad_id) for side in (*sources, read)), labels=pad(target, pad_id))


def drop_words(batch: Batch, share: float, unk_id: int, kept: Sequence[int]) -> Batch:
    """Replace a share of the tokens that the decoder reads by ``unk_id``, drawn from torch's default generator.

    Args:
        kept: ids that stay (padding, the beginning). Labels and the source stay too.

    Source: Gal and Ghahramani 2016; Sennrich and Zhang 2019.
    """
    *sources, read = batch.inputs
    dropped = (torch.rand(read.shape) < share) & ~torch.isin(read, torch.tensor(kept))
    return replace(batch, inputs=(*sources, read.masked_fill(dropped, unk_id)))


def bucketed(examples: Sequence[Example], tokens: int, shuffle: random.Random | None = None) -> Iterator[list[Example]]:
    """Group examples of like length, so that little of a batch is padding.

    Args:
        tokens: the most tokens of any side that a batch may have, padding included. A longer example stands alone.
        shuffle: the order of examples of one length and of batches; None leaves both as they are.
    """
    order = list(range(len(examples)))
    if shuffle:
        shuffle.shuffle(order)
    order.sort(key=lambda i: [len(side) for side in reversed(examples[i])])
    batches: list[list[Example]] = []
    widest = 0
    for i in order:
        longest = max(map(len, examples[i]))
        if batches and max(widest, longest) * (len(batches[-1]) + 1) <= tokens:
            batches[-1].append(examples[i])
            widest = max(widest, longest)
        else:
            batches.append([examples[i]])
            widest = longest
    if shuffle:
        shuffle.shuffle(batches)
    yield from batches
