"""What a model thought at each step of a target that it was fed: the numbers of a teacher-forcing strip.

T target length · V vocabulary
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Step:
    """One row of the decoder, fed the right tokens up to it.

    Attributes:
        read: the id it read.
        label: the id it is to predict.
        counts: whether the loss counts it; padding it does not.
        loss: -log of the label's probability, in nats.
        probability: of the label.
        entropy: of the whole distribution, in nats.
        rank: of the label, 1 = no token is likelier.
        likeliest: the likeliest ids, each with its probability, the likeliest first.
    """

    read: int
    label: int
    counts: bool
    loss: float
    probability: float
    entropy: float
    rank: int
    likeliest: tuple[tuple[int, float], ...]


def steps_of(logits: Tensor, read: Tensor, labels: Tensor, pad_id: int, k: int = 10) -> list[Step]:
    """The steps of one teacher-forced forward, over the distributions just as the model gave them.

    Args:
        logits: (T, V), what the model made of ``read``.
        read: (T,) ids that the decoder read.
        labels: (T,) ids that it is to predict: the same target, one token on.
        pad_id: labels with this id do not count.
        k: how many of the likeliest ids to keep; all V where there are fewer.

    Raises:
        ValueError: not one id read and one label for each row of logits; k below 1.

    Example:
        >>> logits = torch.tensor([[0.5, 0.25, 0.25]]).log()
        >>> (step,) = steps_of(logits, torch.tensor([2]), torch.tensor([1]), pad_id=0, k=1)
        >>> step.rank, step.likeliest, round(step.loss, 4)
        (2, ((0, 0.5),), 1.3863)
    """
    if logits.dim() != 2 or not read.shape == labels.shape == logits.shape[:1]:
        shapes = ", ".join(str(tuple(part.shape)) for part in (logits, read, labels))
        raise ValueError(f"Logits, ids read and labels have the shapes {shapes}; wanted (T, V), (T,), (T,).")
    if k < 1:
        raise ValueError(f"k must be at least 1, not {k}.")
    log_probabilities = logits.float().log_softmax(dim=-1)  # (T, V)
    probabilities = log_probabilities.exp()
    of_label = log_probabilities.gather(1, labels[:, None])  # (T, 1)
    columns = (
        read,
        labels,
        labels != pad_id,
        of_label[:, 0].abs(),  # a certain label costs 0, and not -0
        of_label[:, 0].exp(),
        torch.special.entr(probabilities).sum(dim=-1),
        1 + (log_probabilities > of_label).sum(dim=-1),
    )
    values, ids = probabilities.topk(min(k, logits.size(1)))  # (T, k)
    likeliest = [tuple(zip(*row, strict=True)) for row in zip(ids.tolist(), values.tolist(), strict=True)]
    return [Step(*row) for row in zip(*(column.tolist() for column in columns), likeliest, strict=True)]


def forgot_the_shift(read: Sequence[int], labels: Sequence[int], pad_id: int) -> bool:
    """Whether the model is asked to predict what it just read: at every row that counts, at least two of them.

    Example:
        >>> forgot_the_shift([5, 6, 3, 0], [5, 6, 3, 0], pad_id=0), forgot_the_shift([2, 5, 6], [5, 6, 3], pad_id=0)
        (True, False)
    """
    counted = [(one, label) for one, label in zip(read, labels, strict=True) if label != pad_id]
    return len(counted) > 1 and all(one == label for one, label in counted)
