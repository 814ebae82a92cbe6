"""From what a viewer chose to a recording: the only place that runs the model.

Everything is cached by what was asked, a bounded number of answers for all viewers together. An answer is never
changed after it was made.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st
import torch

from dashboard import shelf
from dashboard.fit import Problem, ids_of, most_tokens
from transformer.beam_search import BeamStep
from transformer.checkpoint import Checkpoint
from transformer.decoded import Decoded
from transformer.decoding import GREEDY, Decoding, decode, length_limit
from transformer.recorder import record
from transformer.recording import Recording
from transformer.steps import Step, steps_of
from transformer.text_model import TextTransformer
from transformer.tokens import Tokenizer

MOST_CONTINUED = 20  # tokens that a decoder alone may add to a text


@dataclass(frozen=True)
class Question:
    """What a viewer wants to see.

    Attributes:
        source: what the encoder reads, or the one text of a decoder alone.
        target: without one, what the finished model answers is taken.
        step: of training, whose weights are looked at; None for the finished ones.
        how: the model writes where it writes by itself.
        shifted: the decoder reads a typed target one token late, behind the begin token. False shows the bug of those
            who forget it: it reads the very tokens that it is to predict.
    """

    checkpoint: str
    source: str
    target: str | None = None
    step: int | None = None
    how: Decoding = GREEDY
    shifted: bool = True


@dataclass(frozen=True)
class Written:
    """A text of the model's own; ``finished`` is False where it stopped at the limit."""

    text: str
    finished: bool


@dataclass(frozen=True)
class Answer:
    """One teacher-forced forward.

    Attributes:
        model: the one that ran.
        read: what each decoder row read, as labels.
        predicted: what each is to predict: the target, one token on from what was read. A decoder alone is to predict
            its text; what comes after the text's last token is its own guess.
        steps: a decoder row each, over the distribution that the model gave, whatever a viewer chose to draw from.
        beams: the search that found the target, or what comes after the text of a decoder alone, a step a token; empty
            where it was found in another way, or typed.
        labels: of every id that stands in ``steps`` and ``beams``.
        target: as text; None for a decoder alone.
        spelled_as_bytes: characters that a vocabulary lacks, by stream.
    """

    model: TextTransformer
    recording: Recording
    read: tuple[str, ...]
    predicted: tuple[str, ...]
    steps: tuple[Step, ...]
    beams: tuple[BeamStep, ...]
    labels: dict[int, str]
    target: Written | None
    spelled_as_bytes: dict[str, list[str]]

    @property
    def probabilities(self) -> tuple[float, ...]:
        """Of each predicted token, given the ones before it."""
        return tuple(step.probability for step in self.steps)


def reads_one_text(name: str) -> bool:
    """Whether a checkpoint is a decoder alone, which goes on with its text."""
    return _alone(shelf.checkpoint(name))


def ask(question: Question) -> Answer | Problem:
    """Run the model, or say in what way the texts do not fit it."""
    asked = shelf.checkpoint(question.checkpoint, question.step)
    alone = _alone(asked)
    stream = "text" if alone else "source"
    source = ids_of(asked, stream, question.source)
    if isinstance(source, Problem):
        return source
    target: Sequence[int] | Problem
    beams: tuple[BeamStep, ...] = ()
    if alone:
        decoded, beams = _decoded(question, question.step, source)
        target = [*source[:-1], decoded.ids[0]]
    elif question.target is None:
        decoded, beams = _decoded(question, None, source)
        target = decoded.ids
    else:
        target = ids_of(asked, "target", question.target)
    if isinstance(target, Problem):
        return target
    changed = shelf.changed(question.checkpoint, question.step)
    shifted = question.shifted or question.target is None
    recording, steps = _forced(question.checkpoint, question.step, changed, source, tuple(target), shifted)
    spelled = {stream: asked.source_tokenizer.spelled_as_bytes(question.source)}
    if question.target is not None:
        spelled["target"] = asked.target_tokenizer.spelled_as_bytes(question.target)
    ends = target[-1] == asked.config.eos_id
    labels = _labels(asked.target_tokenizer, steps, beams)
    return Answer(
        asked.model,
        recording,
        tuple(labels[step.read] for step in steps),
        tuple(labels[step.label] for step in steps),
        steps,
        beams,
        labels,
        None if alone else Written(asked.target_tokenizer.text(target), ends),
        spelled,
    )


def written(question: Question) -> Written:
    """What the weights that are looked at answer by themselves, or how a decoder alone goes on.

    The source is one that :func:`ask` found no problem in.
    """
    asked = shelf.checkpoint(question.checkpoint, question.step)
    decoded, _ = _decoded(question, question.step, tuple(asked.source_ids(question.source)))
    return Written(asked.target_tokenizer.text(decoded.ids), decoded.finished)


def _alone(asked: Checkpoint) -> bool:
    return asked.config.architecture == "decoder"


def _labels(tokenizer: Tokenizer, steps: Sequence[Step], beams: Sequence[BeamStep]) -> dict[int, str]:
    ids = {index for step in steps for index in (step.read, step.label, *(likely for likely, _ in step.likeliest))}
    ids.update(index for step in beams for one in step.candidates for index in one.ids)
    return dict(zip(ids, tokenizer.labels(ids), strict=True))


def _decoded(question: Question, step: int | None, source: tuple[int, ...]) -> tuple[Decoded, tuple[BeamStep, ...]]:
    """What a source becomes, or what a decoder alone adds to it, with the weights of a step."""
    changed = shelf.changed(question.checkpoint, step)
    return _decoded_once(question.checkpoint, step, changed, source, question.how)


@st.cache_resource(show_spinner=False, max_entries=32)
def _decoded_once(
    name: str, step: int | None, changed: int, source: tuple[int, ...], how: Decoding
) -> tuple[Decoded, tuple[BeamStep, ...]]:
    """A token at least, for the last row to predict, and the steps of beam search."""
    asked = shelf.checkpoint(name, step)
    if _alone(asked):
        source = source[:-1]
        room = most_tokens(asked.config, "text") - len(source)  # the begin token is read too, the last not
        limit = min(MOST_CONTINUED, room)
    else:
        limit = length_limit(len(source), asked.config.max_length)
    beams: list[BeamStep] = []
    decoded = decode(asked.model, torch.tensor([source]), limit, how, trace=[beams])[0][0]
    return decoded, tuple(beams)


@st.cache_resource(show_spinner=False, max_entries=16)
def _forced(
    name: str, step: int | None, changed: int, source: tuple[int, ...], target: tuple[int, ...], shifted: bool
) -> tuple[Recording, tuple[Step, ...]]:
    """Record a forward that reads the target, one token late where it is shifted, and what it made of each token."""
    asked = shelf.checkpoint(name, step)
    read = torch.tensor([[asked.config.bos_id, *target[:-1]] if shifted else target])
    inputs = (read,) if _alone(asked) else (torch.tensor([source]), read)
    vocabularies = {"source": asked.source_tokenizer, "target": asked.target_tokenizer}
    with torch.inference_mode(), record(asked.model, vocabularies) as recording:
        logits = asked.model(*inputs)  # (1, T, V)
    return recording, tuple(steps_of(logits[0], read[0], torch.tensor(target), asked.config.pad_id))
