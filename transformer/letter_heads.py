"""What the heads of a letter model do: whether they look where the task has its answer.

A pattern (H, L, S) is one of :meth:`Recording.pattern`: rows are queries, columns are keys.
"""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

import torch
from torch import Tensor

from transformer.batches import Example, bucketed, make_batch
from transformer.checkpoint import Checkpoint
from transformer.recorder import record
from transformer.recording import Recording, Site
from transformer.tasks.task import Texts


@dataclass(frozen=True)
class HeadScore:
    """How far a head does what a measure asks for, from 0 to 1."""

    measure: str
    site: Site
    head: int
    score: float


def diagonal_share(pattern: Tensor, letters: int, backwards: bool) -> Tensor:
    """In how many of the rows that predict a letter the largest weight is on the letter that is the answer.

    Row t predicts letter t. Its answer is source letter t, or backwards the one as far from the other end; the row
    that predicts the end token is left out.

    Returns:
        (H,) shares.

    Example:
        >>> swaps = torch.tensor([[[0.1, 0.8, 0.1], [0.7, 0.2, 0.1], [0.0, 0.1, 0.9]]])
        >>> diagonal_share(swaps, letters=2, backwards=True)
        tensor([1.])
    """
    answers = torch.arange(letters)
    looked_at = pattern[:, :letters].argmax(dim=-1)  # (H, letters)
    return (looked_at == (answers.flip(0) if backwards else answers)).float().mean(dim=-1)


def induction_score(pattern: Tensor, letters: int) -> Tensor:
    """How much weight the second copy of a segment puts on what followed its letters the first time.

    The model reads a begin token, a segment of so many letters, none of them twice, and the segment again. Row
    ``letters + k`` reads letter k for the second time; letter k + 1 stands in column ``k + 1`` (after the segment's
    last letter: the first one of the second copy).

    Returns:
        (H,) means over the rows of the second copy.

    Source: Elhage et al. 2021; Olsson et al. 2022 (they call it the prefix matching score).
    """
    rows = torch.arange(1, letters + 1) + letters
    return pattern[:, rows, rows - letters + 1].mean(dim=-1)


def previous_token_score(pattern: Tensor) -> Tensor:
    """How much weight rows put on the token before their own; the first row, which has none, is left out.

    Returns:
        (H,) means over rows.

    Source: Elhage et al. 2021; Olsson et al. 2022.
    """
    return pattern.diagonal(offset=-1, dim1=-2, dim2=-1).mean(dim=-1)


def random_repeats(letters: str, length: int, count: int, seed: int = 1) -> list[Texts]:
    """Random segments of distinct letters, each written twice.

    Raises:
        ValueError: more letters wanted than there are.

    Example:
        >>> random_repeats("abc", 2, 1)
        [('caca',)]
    """
    if length > len(letters):
        raise ValueError(f"A segment of {length} different letters cannot be drawn from {len(letters)}.")
    chance = random.Random(f"repeats {seed}")
    return [("".join(chance.sample(letters, length)) * 2,) for _ in range(count)]


def score_diagonals(checkpoint: Checkpoint, texts: Sequence[Texts], backwards: bool) -> list[HeadScore]:
    """:func:`diagonal_share` of each head of cross-attention, over all rows of pairs of strings."""
    found: dict[tuple[Site, int], list[float]] = {}
    rows = 0
    for recording, group in _recorded(checkpoint, texts):
        for sentence, example in enumerate(group):
            letters = len(example[-1]) - 1  # the end token is no letter
            rows += letters
            for site in (site for site in recording.sites if site.kind == "cross"):
                shares = diagonal_share(recording.pattern(site, sentence=sentence), letters, backwards)
                for head, share in enumerate(shares.tolist()):
                    found.setdefault((site, head), []).append(share * letters)
    measure = "anti-diagonal" if backwards else "diagonal"
    return [HeadScore(measure, site, head, sum(hits) / rows) for (site, head), hits in found.items()]


def score_repeats(checkpoint: Checkpoint, repeats: Sequence[Texts]) -> list[HeadScore]:
    """:func:`induction_score` and :func:`previous_token_score` of each head of a decoder alone, over repeats."""
    found: dict[tuple[str, Site, int], list[float]] = {}
    for recording, group in _recorded(checkpoint, repeats):
        for sentence, example in enumerate(group):
            read = len(example[0])  # a begin token comes, the end token goes
            for site in recording.sites:
                pattern = recording.pattern(site, sentence=sentence)[:, :read, :read]
                induction, previous = induction_score(pattern, (read - 1) // 2), previous_token_score(pattern)
                for head in range(site.heads):
                    found.setdefault(("induction", site, head), []).append(float(induction[head]))
                    found.setdefault(("previous token", site, head), []).append(float(previous[head]))
    return [HeadScore(measure, site, head, fmean(scores)) for (measure, site, head), scores in found.items()]


def examples_of(checkpoint: Checkpoint, texts: Sequence[Texts]) -> list[Example]:
    """The ids of texts, each side with its end token."""
    tokenizers = (checkpoint.source_tokenizer, checkpoint.target_tokenizer)
    end = checkpoint.config.eos_id
    return [tuple([*t.ids(side), end] for t, side in zip(tokenizers, sides, strict=False)) for sides in texts]


def _recorded(checkpoint: Checkpoint, texts: Sequence[Texts]) -> Iterable[tuple[Recording, list[Example]]]:
    for group in bucketed(examples_of(checkpoint, texts), tokens=3000):
        batch = make_batch(group, checkpoint.config.pad_id, checkpoint.config.bos_id)
        with record(checkpoint.model) as recording, torch.inference_mode():
            checkpoint.model(*batch.inputs)
        yield recording, group
