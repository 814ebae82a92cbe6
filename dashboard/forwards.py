"""Forwards and decodings, each done once for all viewers, and long ones so that they can be watched and ended.

What Streamlit caches is an empty slot for each question; the work itself is done outside of its caches, where a page
may draw how far it is, and where Streamlit may end a script that nobody waits for.
"""

from collections.abc import Callable
from typing import TypeVar

import streamlit as st
import torch

from dashboard import shelf
from dashboard.fit import most_tokens
from dashboard.slot import Slot
from transformer.beam_search import BeamStep
from transformer.checkpoint import Checkpoint
from transformer.decoded import Decoded
from transformer.decoding import Decoding, decode, length_limit
from transformer.progress import after_each_sublayer, sublayers
from transformer.recorder import record
from transformer.recording import Recording
from transformer.steps import Step, steps_of

MOST_CONTINUED = 20  # tokens that a decoder alone may add to a text
LONG = 1_024  # tokens of a text from which on its work is watched
READING = 0.7  # of the work of writing, about: the text itself; the rest is what the model writes, token by token

Result = TypeVar("Result")
Watch = Callable[[float], None]  # told what share is done, again and again; what it raises ends the work
Wrote = tuple[Decoded, tuple[BeamStep, ...]]
Forced = tuple[Recording, tuple[Step, ...]]


def part_of(watch: Watch | None, begin: float, end: float) -> Watch | None:
    """What is told of a part of the work, which begins and ends at these shares of the whole."""
    return None if watch is None else lambda share: watch(begin + (end - begin) * share)


def is_alone(asked: Checkpoint) -> bool:
    """Whether a checkpoint is a decoder alone."""
    return asked.config.architecture == "decoder"


def decoded(
    name: str, step: int | None, source: tuple[int, ...], how: Decoding, watch: Watch | None = None
) -> tuple[Decoded, tuple[BeamStep, ...]]:
    """What a source becomes, or what a decoder alone adds to it, with the weights of a training step.

    A token at least, for the last row to predict, and the steps of beam search.
    """
    asked = shelf.checkpoint(name, step)
    begin = source
    if is_alone(asked):
        begin = source[:-1]
        room = most_tokens(asked.config, "text") - len(begin)  # the begin token is read too, the last not
        limit = min(MOST_CONTINUED, room)
    else:
        limit = length_limit(len(source), asked.config.max_length)

    def compute() -> Wrote:
        beams: list[BeamStep] = []
        found = decode(asked.model, torch.tensor([begin]), limit, how, trace=[beams])[0][0]
        return found, tuple(beams)

    slot = _decoded(name, step, shelf.changed(name, step), source, how)
    each = sum("decoder" in path.split(".") for path in sublayers(asked.model))
    return _watched(slot, compute, asked, (limit - 1) * each, len(source), watch)


def forced(
    name: str,
    step: int | None,
    source: tuple[int, ...],
    target: tuple[int, ...],
    shifted: bool,
    watch: Watch | None = None,
) -> tuple[Recording, tuple[Step, ...]]:
    """Record a forward that reads the target, one token late where it is shifted, and what it made of each token."""
    asked = shelf.checkpoint(name, step)

    def compute() -> Forced:
        read = torch.tensor([[asked.config.bos_id, *target[:-1]] if shifted else target])
        inputs = (read,) if is_alone(asked) else (torch.tensor([source]), read)
        vocabularies = {"source": asked.source_tokenizer, "target": asked.target_tokenizer}
        with torch.inference_mode(), record(asked.model, vocabularies) as recording:
            logits = asked.model(*inputs)  # (1, T, V)
        return recording, tuple(steps_of(logits[0], read[0], torch.tensor(target), asked.config.pad_id))

    slot = _forced(name, step, shelf.changed(name, step), source, target, shifted)
    return _watched(slot, compute, asked, 0, max(len(source), len(target)), watch)


@st.cache_resource(show_spinner=False, max_entries=32)
def _decoded(name: str, step: int | None, changed: int, source: tuple[int, ...], how: Decoding) -> Slot[Wrote]:
    return Slot()


@st.cache_resource(show_spinner=False, max_entries=16)
def _forced(
    name: str, step: int | None, changed: int, source: tuple[int, ...], target: tuple[int, ...], shifted: bool
) -> Slot[Forced]:
    return Slot()


def _watched(
    slot: Slot[Result], compute: Callable[[], Result], asked: Checkpoint, more: int, tokens: int, watch: Watch | None
) -> Result:
    """What a slot holds or will; ``watch`` is told after each sublayer, if the text is long.

    Args:
        more: sublayers at most after those that read the text, one token each.
    """
    if watch is None or tokens < LONG:
        return slot.fill(compute)
    first, done = len(sublayers(asked.model)), 0
    reading = READING if more else 1.0

    def tell(path: str) -> None:
        nonlocal done
        done += 1
        if done <= first:
            watch(reading * done / first)
        else:
            watch(reading + (1 - reading) * min(1.0, (done - first) / more))

    def compute_watched() -> Result:
        watch(0.0)
        with after_each_sublayer(asked.model, tell):
            return compute()

    return slot.fill(compute_watched, waiting=lambda: watch(0.0))
