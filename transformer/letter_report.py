"""How well a letter model does its task, and which heads do it."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from transformer.batches import make_batch
from transformer.checkpoint import Checkpoint
from transformer.decoding import translate
from transformer.evaluation import Sample
from transformer.letter_heads import HeadScore, examples_of, random_repeats, score_diagonals, score_repeats
from transformer.loss import loss_and_accuracy
from transformer.tasks import LetterTask, Texts


@dataclass(frozen=True)
class LetterReport:
    """One set of weights.

    Attributes:
        strings: how many were drawn anew: unseen ones, or for induction random repeats.
        right: the share of strings that came out right to the last letter; for induction, of the letters in second
            copies that the first copies tell.
        dev_loss, dev_accuracy: as log.csv has them: nats a label, share of labels held to be the likeliest.
        heads: the measures that the task asks for, of each head.
    """

    strings: int
    right: float
    dev_loss: float
    dev_accuracy: float
    heads: list[HeadScore]

    @property
    def measures(self) -> list[str]:
        """What heads were measured by."""
        return list(dict.fromkeys(one.measure for one in self.heads))

    def best(self, measure: str) -> HeadScore:
        """The head that does most of what a measure asks for."""
        return max((one for one in self.heads if one.measure == measure), key=lambda one: one.score)


def measure_letters(checkpoint: Checkpoint, task: LetterTask, strings: int = 500, seed: int = 1) -> LetterReport:
    """Measure a checkpoint on strings drawn from the seed, none of which it was trained on.

    Raises:
        ValueError: no strings wanted, or none that are unseen; a checkpoint of another vocabulary than the task's.
    """
    if strings < 1:
        raise ValueError(f"To measure, at least one string is wanted, not {strings}.")
    loss, accuracy = loss_and_accuracy(
        lambda batch: checkpoint.model(*batch.inputs), examples_of(checkpoint, task.task().dev_texts), checkpoint.config
    )
    if task.kind == "induction":
        length = min(task.longest // 2, len(task.letters))
        texts = random_repeats(task.letters, length, strings, seed)
        right, heads = repeated_right(checkpoint, texts), score_repeats(checkpoint, texts)
    else:
        texts = task.unseen(strings, seed)
        right, heads = exactly_right(checkpoint, texts), score_diagonals(checkpoint, texts, task.kind == "reverse")
    return LetterReport(len(texts), right, loss, accuracy, heads)


def exactly_right(checkpoint: Checkpoint, texts: Sequence[Texts]) -> float:
    """The share of sources whose greedy translation is the target, to the last letter and no further."""
    decoded = translate(checkpoint, [source for source, _ in texts])
    right = [
        one.finished and checkpoint.target_tokenizer.text(one.ids) == target
        for one, (_, target) in zip(decoded, texts, strict=True)
    ]
    return sum(right) / len(right)


@torch.inference_mode()
def repeated_right(checkpoint: Checkpoint, repeats: Sequence[Texts]) -> float:
    """The share of letters in second copies that were held to be the likeliest; the first of each nothing foretells.

    Args:
        repeats: of one length, as :func:`random_repeats` draws them.
    """
    batch = make_batch(examples_of(checkpoint, repeats), checkpoint.config.pad_id, checkpoint.config.bos_id)
    foretold = slice(len(repeats[0][0]) // 2 + 1, -1)  # the label of row i is letter i; the last one is the end token
    right = checkpoint.model(*batch.inputs).argmax(dim=-1) == batch.labels  # (N, T)
    return float(right[:, foretold].float().mean())


def letter_samples(checkpoint: Checkpoint, task: LetterTask, texts: Sequence[str]) -> list[Sample]:
    """What the model makes of some texts, with the right answers; a decoder alone goes on with them."""
    return [
        Sample(text, checkpoint.target_tokenizer.text(one.ids), list(task.sides(text)[1:]))
        for text, one in zip(texts, translate(checkpoint, texts), strict=True)
    ]
