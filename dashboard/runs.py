"""From what a viewer chose to a recording: the only place that runs the model.

Everything is cached by what was asked, a bounded number of answers for all viewers together. An answer is never
changed after it was made.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st
import torch

from dashboard import shelf
from dashboard.fit import Problem, ids_of
from transformer.checkpoint import Checkpoint
from transformer.decoded import Decoded
from transformer.decoding import decode, length_limit
from transformer.recorder import record
from transformer.recording import Recording

MOST_CONTINUED = 20  # tokens that a decoder alone may add to a text


@dataclass(frozen=True)
class Question:
    """What a viewer wants to see.

    Attributes:
        source: what the encoder reads, or the one text of a decoder alone.
        target: without one, what the finished model answers is taken.
        step: of training, whose weights are looked at; None for the finished ones.
    """

    checkpoint: str
    source: str
    target: str | None = None
    step: int | None = None


@dataclass(frozen=True)
class Written:
    """A text of the model's own; ``finished`` is False where it stopped at the limit."""

    text: str
    finished: bool


@dataclass(frozen=True)
class Answer:
    """One teacher-forced forward.

    Attributes:
        predicted: what each decoder row is to predict, as labels: the target, one token on from what was read. A
            decoder alone is to predict its text; what comes after the text's last token is its own guess.
        probabilities: of each of them, given the ones before it.
        target: as text; None for a decoder alone.
        spelled_as_bytes: characters that a vocabulary lacks, by stream.
    """

    recording: Recording
    predicted: tuple[str, ...]
    probabilities: tuple[float, ...]
    target: Written | None
    spelled_as_bytes: dict[str, list[str]]


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
    if alone:
        target = [*source[:-1], _decoded(question.checkpoint, question.step, source).ids[0]]
    elif question.target is None:
        target = _decoded(question.checkpoint, None, source).ids
    else:
        target = ids_of(asked, "target", question.target)
    if isinstance(target, Problem):
        return target
    changed = shelf.changed(question.checkpoint, question.step)
    recording, probabilities = _forced(question.checkpoint, question.step, changed, source, tuple(target))
    spelled = {stream: asked.source_tokenizer.spelled_as_bytes(question.source)}
    if question.target is not None:
        spelled["target"] = asked.target_tokenizer.spelled_as_bytes(question.target)
    ends = target[-1] == asked.config.eos_id
    return Answer(
        recording,
        tuple(asked.target_tokenizer.labels(target)),
        probabilities,
        None if alone else Written(asked.target_tokenizer.text(target), ends),
        spelled,
    )


def written(question: Question) -> Written:
    """What the weights that are looked at answer by themselves, or how a decoder alone goes on.

    The source is one that :func:`ask` found no problem in.
    """
    asked = shelf.checkpoint(question.checkpoint, question.step)
    decoded = _decoded(question.checkpoint, question.step, tuple(asked.source_ids(question.source)))
    return Written(asked.target_tokenizer.text(decoded.ids), decoded.finished)


def _alone(asked: Checkpoint) -> bool:
    return asked.config.architecture == "decoder"


def _decoded(name: str, step: int | None, source: tuple[int, ...]) -> Decoded:
    return _greedy(name, step, shelf.changed(name, step), source)


@st.cache_resource(show_spinner=False, max_entries=32)
def _greedy(name: str, step: int | None, changed: int, source: tuple[int, ...]) -> Decoded:
    """What a source becomes, or what a decoder alone adds to it: a token at least, for the last row to predict."""
    asked = shelf.checkpoint(name, step)
    if _alone(asked):
        source = source[:-1]
        limit = min(MOST_CONTINUED, asked.config.max_length - len(source))  # the begin token is read too, the last not
    else:
        limit = length_limit(len(source), asked.config.max_length)
    return decode(asked.model, torch.tensor([source]), limit)[0][0]


@st.cache_resource(show_spinner=False, max_entries=16)
def _forced(
    name: str, step: int | None, changed: int, source: tuple[int, ...], target: tuple[int, ...]
) -> tuple[Recording, tuple[float, ...]]:
    """Record a forward that reads the target one token late, and how likely each token of it was."""
    asked = shelf.checkpoint(name, step)
    read = torch.tensor([[asked.config.bos_id, *target[:-1]]])
    inputs = (read,) if _alone(asked) else (torch.tensor([source]), read)
    vocabularies = {"source": asked.source_tokenizer, "target": asked.target_tokenizer}
    with torch.inference_mode(), record(asked.model, vocabularies) as recording:
        logits = asked.model(*inputs)  # (1, T, V)
    likely = logits[0].softmax(dim=-1).gather(1, torch.tensor(target)[:, None])[:, 0]
    return recording, tuple(likely.tolist())
