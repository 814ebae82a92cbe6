"""From what a viewer chose to a recording: the only place that runs the model.

Everything is cached by what was asked, a bounded number of answers for all viewers together. An answer is never
changed after it was made.
"""

import json
import logging
import os
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import streamlit as st
import torch

from transformer.checkpoint import (
    CHECKPOINTS,
    WEIGHTS,
    Checkpoint,
    CheckpointError,
    list_checkpoints,
    load_checkpoint,
)
from transformer.decoded import Decoded
from transformer.decoding import decode, length_limit
from transformer.recorder import record
from transformer.recording import Recording

MOST_CHARACTERS = 4_000


@dataclass(frozen=True)
class Question:
    """What a viewer wants to see. Without a target, the model's own translation is taken."""

    checkpoint: str
    source: str
    target: str | None = None


@dataclass(frozen=True)
class Answer:
    """One teacher-forced forward.

    Attributes:
        predicted: what each decoder row is to predict, as labels: the target, one token on from what was read.
        probabilities: of each of them, given the ones before it.
        translation: the target as text.
        finished: False where the translation stopped at the limit.
        spelled_as_bytes: characters that a vocabulary lacks, by stream.
    """

    recording: Recording
    predicted: tuple[str, ...]
    probabilities: tuple[float, ...]
    translation: str
    finished: bool
    spelled_as_bytes: dict[str, list[str]]


@dataclass(frozen=True)
class Problem:
    """Why there is nothing to see, and a text that would do.

    Attributes:
        name: of the message in the interface's texts, without its stream.
        stream: which text it is about, ``source`` or ``target``.
        length, limit: what the message's gaps are filled with.
        cut: as much of the text as fits.
    """

    name: str
    stream: str
    length: int = 0
    limit: int = 0
    cut: str | None = None


def checkpoint_folder() -> Path:
    """Where checkpoints are looked for: the project's folder, or ``HEADLIGHT_CHECKPOINTS``."""
    return Path(os.environ.get("HEADLIGHT_CHECKPOINTS") or CHECKPOINTS)


def checkpoints() -> list[str]:
    """Names to choose from."""
    return list_checkpoints(checkpoint_folder())


def warm_up() -> None:
    """Load the first checkpoint that can be used before anybody asks; the page says what is wrong with the others."""
    for name in checkpoints():
        try:
            checkpoint(name)
        except CheckpointError as error:
            logging.getLogger("headlight").warning("%s", error)
        else:
            return


def opening_sentence(name: str) -> str:
    """The first sample of the checkpoint's own measurements; nothing where there are none that can be read."""
    try:
        metrics = json.loads((checkpoint_folder() / name / "metrics.json").read_text(encoding="utf-8"))
        return str(metrics["samples"][0]["source"])
    except (OSError, ValueError, LookupError, TypeError):
        return ""


def checkpoint(name: str) -> Checkpoint:
    """A checkpoint, loaded once for all viewers and again when its file changes.

    Raises:
        CheckpointError: see :func:`transformer.load_checkpoint`.
    """
    return _checkpoint(name, _changed(name))


def ask(question: Question) -> Answer | Problem:
    """Run the model, or say in what way the texts do not fit it."""
    asked = checkpoint(question.checkpoint)
    source = _ids(asked, "source", question.source)
    if isinstance(source, Problem):
        return source
    changed = _changed(question.checkpoint)
    if question.target is None:
        decoded = _translation(question.checkpoint, changed, source)
    else:
        target = _ids(asked, "target", question.target)
        if isinstance(target, Problem):
            return target
        decoded = Decoded(target, finished=True)
    recording, probabilities = _forced(question.checkpoint, changed, source, decoded.ids)
    spelled = {"source": asked.source_tokenizer.spelled_as_bytes(question.source)}
    if question.target is not None:
        spelled["target"] = asked.target_tokenizer.spelled_as_bytes(question.target)
    return Answer(
        recording,
        tuple(asked.target_tokenizer.labels(decoded.ids)),
        probabilities,
        asked.target_tokenizer.text(decoded.ids),
        decoded.finished,
        spelled,
    )


def _ids(asked: Checkpoint, stream: str, text: str) -> tuple[int, ...] | Problem:
    encode = asked.source_ids if stream == "source" else asked.target_ids
    limit = asked.config.max_length
    read = text[:MOST_CHARACTERS]
    ids = encode(read)
    if len(text) > MOST_CHARACTERS:
        return Problem("long.characters", stream, len(text), MOST_CHARACTERS, _beginning(read, encode, limit))
    if len(ids) > limit:
        return Problem("long.tokens", stream, len(ids), limit, _beginning(read, encode, limit))
    if len(ids) == 1:  # only the end token
        return Problem("empty", stream)
    return tuple(ids)


def _beginning(text: str, encode: Callable[[str], list[int]], limit: int) -> str:
    """As many characters from the beginning of a text as have at most ``limit`` tokens."""
    characters = bisect_right(range(len(text)), limit, key=lambda length: len(encode(text[:length])))
    while len(encode(text[:characters])) > limit:  # a few more characters may have one token less
        characters -= 1
    return text[:characters]


def _changed(name: str) -> int:
    weights = checkpoint_folder() / name / WEIGHTS
    return weights.stat().st_mtime_ns if weights.is_file() else 0


@st.cache_resource(show_spinner=False, max_entries=4)
def _checkpoint(name: str, changed: int) -> Checkpoint:
    loaded = load_checkpoint(checkpoint_folder() / name)
    architecture = loaded.config.architecture
    if architecture != "encoder-decoder":
        raise CheckpointError(f"{name} has the architecture {architecture}; the dashboard wants encoder-decoder.")
    return loaded


@st.cache_resource(show_spinner=False, max_entries=16)
def _translation(name: str, changed: int, source: tuple[int, ...]) -> Decoded:
    asked = _checkpoint(name, changed)
    limit = length_limit(len(source), asked.config.max_length)
    return decode(asked.model, torch.tensor([source]), limit)[0][0]


@st.cache_resource(show_spinner=False, max_entries=16)
def _forced(
    name: str, changed: int, source: tuple[int, ...], target: tuple[int, ...]
) -> tuple[Recording, tuple[float, ...]]:
    """Record a forward that reads the target one token late, and how likely each token of it was."""
    asked = _checkpoint(name, changed)
    read = [asked.config.bos_id, *target[:-1]]
    vocabularies = {"source": asked.source_tokenizer, "target": asked.target_tokenizer}
    with torch.inference_mode(), record(asked.model, vocabularies) as recording:
        logits = asked.model(torch.tensor([source]), torch.tensor([read]))  # (1, T, V)
    likely = logits[0].softmax(dim=-1).gather(1, torch.tensor(target)[:, None])[:, 0]
    return recording, tuple(likely.tolist())
