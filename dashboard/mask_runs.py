"""Runs of the mask lab: several sentences in one batch, so that padding is real, with and without edits.

N batch · S source length · T target length
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import torch
from torch import Tensor

from dashboard import shelf
from dashboard.fit import Problem, most_tokens
from dashboard.forwards import MOST_CONTINUED
from dashboard.mask_edits import Edit
from dashboard.runs import Answer, Question, Written, ask
from dashboard.slot import Slot
from transformer.checkpoint import Checkpoint
from transformer.decoding import decode, length_limit, pad
from transformer.interventions import edited
from transformer.recorder import record
from transformer.recording import Recording
from transformer.steps import Step, steps_of
from transformer.text_model import TextTransformer

MOST_SENTENCES = 6
MOST_TOKENS = 64  # of a sentence, its end token counted


@dataclass(frozen=True)
class Batch:
    """Sentences that run together.

    Attributes:
        step, written: of training, and when the weights were written (see :func:`dashboard.shelf.changed`).
        sources: ids; nothing for a decoder alone.
        reads, targets: what each decoder row reads, and what it is to predict.
    """

    checkpoint: str
    step: int | None
    written: int
    sources: tuple[tuple[int, ...], ...]
    reads: tuple[tuple[int, ...], ...]
    targets: tuple[tuple[int, ...], ...]

    @property
    def asked(self) -> Checkpoint:
        """The checkpoint that runs."""
        return shelf.checkpoint(self.checkpoint, self.step)


@dataclass(frozen=True)
class Ran:
    """What a batch did.

    Attributes:
        steps: of each sentence, a decoder row each; without its padding.
    """

    recording: Recording
    steps: tuple[tuple[Step, ...], ...]


def batch_of(question: Question, others: Sequence[str]) -> Batch | Problem:
    """The question's sentence and other ones, each with the target that it has by itself.

    Returns:
        A problem where one of them does not fit, or is longer than the lab can draw.
    """
    sources, reads, targets = [], [], []
    for i, text in enumerate([question.source, *others]):
        alone = question if i == 0 else replace(question, source=text, target=None)
        answer, among = ask(alone), text if i else ""
        if isinstance(answer, Problem):
            return replace(answer, among=among)
        source = _source_of(answer)
        longest = max(len(source), len(answer.steps))
        if longest > MOST_TOKENS:
            return Problem("masks.long", "text", longest, MOST_TOKENS, among=among)
        sources.append(source)
        reads.append(tuple(step.read for step in answer.steps))
        targets.append(tuple(step.label for step in answer.steps))
    of_one_text = not any(sources)
    written = shelf.changed(question.checkpoint, question.step)
    return Batch(
        question.checkpoint, question.step, written, () if of_one_text else tuple(sources), tuple(reads), tuple(targets)
    )


def _source_of(answer: Answer) -> tuple[int, ...]:
    """What a run's encoder read; nothing for a decoder alone."""
    ids = answer.recording.runs[-1].ids
    return tuple(ids["source"][0].tolist()) if "target" in ids else ()


def inputs_of(batch: Batch) -> tuple[Tensor, ...]:
    """What the model reads: source (N, S) and target (N, T), or the one text (N, T); padded."""
    pad_id = batch.asked.config.pad_id
    read = pad(batch.reads, pad_id)
    return (pad(batch.sources, pad_id), read) if batch.sources else (read,)


def model_of(batch: Batch, edits: tuple[Edit, ...] = ()) -> TextTransformer:
    """The checkpoint's model with the edits.

    Raises:
        ValueError: an edit of an attention that the model does not have.
    """
    model = batch.asked.model
    return edited(model, [edit.intervention for edit in edits]) if edits else model


def run(batch: Batch, edits: tuple[Edit, ...] = ()) -> Ran:
    """Run the batch with its edits; once, however many ask for it at the same time.

    Raises:
        ValueError: as :func:`model_of`.
    """
    return _ran(batch, edits).fill(lambda: _run(batch, edits))


@lru_cache(maxsize=16)
def _ran(batch: Batch, edits: tuple[Edit, ...]) -> Slot[Ran]:
    return Slot()


def _run(batch: Batch, edits: tuple[Edit, ...]) -> Ran:
    asked, inputs = batch.asked, inputs_of(batch)
    model = model_of(batch, edits)
    vocabularies = {"source": asked.source_tokenizer, "target": asked.target_tokenizer}
    with torch.inference_mode(), record(model, vocabularies) as recording:
        logits = model(*inputs)  # (N, T, V)
    steps = [
        tuple(
            steps_of(logits[i, : len(target)], inputs[-1][i, : len(target)], torch.tensor(target), asked.config.pad_id)
        )
        for i, target in enumerate(batch.targets)
    ]
    return Ran(recording, tuple(steps))


@lru_cache(maxsize=64)
def writes(batch: Batch, sentence: int, edits: tuple[Edit, ...] = ()) -> Written:
    """What the edited model makes of a sentence, greedily, or how a decoder alone goes on with it.

    Raises:
        IndexError: no such sentence.
        ValueError: as :func:`model_of`.
    """
    asked = batch.asked
    if batch.sources:
        begin = batch.sources[sentence]
        limit = length_limit(len(begin), asked.config.max_length)
    else:
        begin = batch.reads[sentence][1:]  # the begin token is put before it again
        limit = min(MOST_CONTINUED, most_tokens(asked.config, "text") - len(begin))
    decoded = decode(model_of(batch, edits), torch.tensor([begin]), limit)[0][0]
    return Written(asked.target_tokenizer.text(decoded.ids), decoded.finished)
