"""From what a viewer chose to an answer: a recording with what it needs beside it, never changed after it was made."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from dashboard import shelf
from dashboard.fit import Problem, ids_of
from dashboard.forwards import Watch, decoded, forced, is_alone, part_of
from transformer.beam_search import BeamStep
from transformer.decoding import GREEDY, Decoding
from transformer.recording import Recording
from transformer.steps import Step
from transformer.text_model import TextTransformer
from transformer.tokens import Tokenizer


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
    """One teacher-forced forward, or what a recording that somebody opened says of one.

    Attributes:
        model: the one that ran; None where a recording was opened, of which nothing more is known but itself.
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

    recording: Recording
    model: TextTransformer | None = None
    read: tuple[str, ...] = ()
    predicted: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    beams: tuple[BeamStep, ...] = ()
    labels: dict[int, str] = field(default_factory=dict)
    target: Written | None = None
    spelled_as_bytes: dict[str, list[str]] = field(default_factory=dict)

    @property
    def predicts(self) -> bool:
        """Whether it is known what each row is to predict."""
        return bool(self.steps)

    @property
    def probabilities(self) -> tuple[float, ...]:
        """Of each predicted token, given the ones before it."""
        return tuple(step.probability for step in self.steps)


def reads_one_text(name: str) -> bool:
    """Whether a checkpoint is a decoder alone, which goes on with its text."""
    return is_alone(shelf.checkpoint(name))


def ask(question: Question, watch: Watch | None = None) -> Answer | Problem:
    """Run the model, or say in what way the texts do not fit it.

    Args:
        watch: told how far it is, where texts are long.
    """
    name, step = question.checkpoint, question.step
    asked = shelf.checkpoint(name, step)
    alone = is_alone(asked)
    stream = "text" if alone else "source"
    source = ids_of(asked, stream, question.source)
    if isinstance(source, Problem):
        return source
    target: Sequence[int] | Problem
    beams: tuple[BeamStep, ...] = ()
    if alone:
        found, beams = decoded(name, step, source, question.how, part_of(watch, 0, 0.5))
        target = [*source[:-1], found.ids[0]]
    elif question.target is None:
        found, beams = decoded(name, None, source, question.how, part_of(watch, 0, 0.5))
        target = found.ids
    else:
        target = ids_of(asked, "target", question.target)
    if isinstance(target, Problem):
        return target
    shifted = question.shifted or question.target is None
    written_first = alone or question.target is None
    told = part_of(watch, 0.5 if written_first else 0, 1)
    recording, steps = forced(name, step, source, tuple(target), shifted, told)
    spelled = {stream: asked.source_tokenizer.spelled_as_bytes(question.source)}
    if question.target is not None:
        spelled["target"] = asked.target_tokenizer.spelled_as_bytes(question.target)
    ends = target[-1] == asked.config.eos_id
    labels = _labels(asked.target_tokenizer, steps, beams)
    return Answer(
        recording,
        asked.model,
        tuple(labels[step.read] for step in steps),
        tuple(labels[step.label] for step in steps),
        steps,
        beams,
        labels,
        None if alone else Written(asked.target_tokenizer.text(target), ends),
        spelled,
    )


def written(question: Question, watch: Watch | None = None) -> Written:
    """What the weights that are looked at answer by themselves, or how a decoder alone goes on.

    The source is one that :func:`ask` found no problem in.
    """
    asked = shelf.checkpoint(question.checkpoint, question.step)
    source = tuple(asked.source_ids(question.source))
    found, _ = decoded(question.checkpoint, question.step, source, question.how, watch)
    return Written(asked.target_tokenizer.text(found.ids), found.finished)


def _labels(tokenizer: Tokenizer, steps: Sequence[Step], beams: Sequence[BeamStep]) -> dict[int, str]:
    ids = {index for step in steps for index in (step.read, step.label, *(likely for likely, _ in step.likeliest))}
    ids.update(index for step in beams for one in step.candidates for index in one.ids)
    return dict(zip(ids, tokenizer.labels(ids), strict=True))
