"""What runs: language, checkpoint, training step, texts. Every choice lives in the URL under its key."""

from dataclasses import dataclass, replace
from typing import TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dashboard import long_work, recording_controls, recordings, runs, shelf
from dashboard.fit import Problem
from dashboard.forwards import MOST_CONTINUED
from dashboard.runs import Answer, Question, Written
from dashboard.state import choice, number, real, real_in, stop, switch, text
from dashboard.words import LANGUAGES, Words, as_text, browser_language, words_of
from transformer.checkpoint import CheckpointError
from transformer.decoding import GREEDY, Decoding

Number = TypeVar("Number", int, float)

METHODS = ("greedy", "beam", "sample")
TOP_K = ("1", "2", "5", "10", "20", "50", "all")

# The least, the most, and where it begins.
BEAMS = (1, 8, 4)
LENGTH_PENALTY = (0.0, 2.0, 1.0)
TEMPERATURE = (0.05, 2.0, 1.0)
TOP_P = (0.05, 1.0, 1.0)
SEED = (1, 99, 1)


@dataclass(frozen=True)
class Chosen:
    """What the sidebar was told.

    Attributes:
        words: the interface's texts.
        outcome: what came of the viewer's choices.
        example: a source text that the model is known to read.
        question: the choices; where its target is not None, the viewer typed it. None for a recording that was opened.
    """

    words: Words
    outcome: Answer | Problem
    example: str
    question: Question | None


def draw() -> Chosen:
    """Draw the sidebar; stops the page with one sentence where no checkpoint can be used."""
    words = _brand_and_language()
    names = [*recordings.served(), *shelf.checkpoints(), *recordings.own()]
    name = _chosen_of(words, names)
    recording_controls.opener(words, names)
    if name is None:
        st.error(as_text(words("checkpoint.none", folder=shelf.checkpoint_folder())))
        st.stop()
    recording_controls.say_missing(words, name, names[0])
    if name in recordings.own() or name in recordings.served():
        return Chosen(words, recording_controls.look(words, name), "", None)
    try:
        return _texts(words, name, _step(words, name))
    except CheckpointError as error:
        st.error(as_text(str(error)))
        st.stop()


def _chosen_of(words: Words, names: list[str]) -> str | None:
    """A checkpoint or a recording; None where there is none of either."""
    recording_controls.note_missing(names)
    if not names:
        return None
    return st.selectbox(words["checkpoint"], names, key="checkpoint", bind="query-params")


def _step(words: Words, name: str) -> int | None:
    """The step of training whose weights are looked at, where some were kept."""
    steps = shelf.snapshots(name)
    if not steps:
        return None
    stops = [*map(str, steps), "end"]
    chosen = stop(words["step"], "step", stops, "end", lambda at: words["step.end"] if at == "end" else f"{int(at):,}")
    return None if chosen == "end" else int(chosen)


def _texts(words: Words, name: str, step: int | None) -> Chosen:
    example, alone = shelf.opening_sentence(name), runs.reads_one_text(name)
    source = text(words["text" if alone else "source"], "source", example, 100, words["source.help"])
    typing = not alone and _typing(words)
    if not typing:
        _ways_to_write(words)
    question = Question(name, source, step=step, how=_how())
    outcome = long_work.watched(words, question, runs.ask)
    if typing:
        suggestion = outcome.target.text if isinstance(outcome, Answer) and outcome.target else ""
        typed = text(words["target.typed"], "target", suggestion, 110, words["source.help"])
        question = replace(question, target=typed, shifted=not switch(words["unshifted"], "unshifted", st.container()))
        if isinstance(outcome, Answer):  # what stands in the source's way stands in this one's too
            outcome = long_work.watched(words, question, runs.ask)
    elif isinstance(outcome, Answer):
        _own(words, question, outcome)
    return Chosen(words, outcome, example, question)


def _own(words: Words, question: Question, outcome: Answer) -> None:
    """What the model writes by itself, and what it will in the end."""
    own = long_work.watched(words, question, runs.written)
    if isinstance(own, Problem):
        return
    if outcome.target is None:
        _show(words, words("continuation", limit=MOST_CONTINUED), own)
    elif question.step is None:
        _show(words, words["answer"], own)
    else:
        _show(words, words["answer.finished"], outcome.target)
        _show(words, words("answer.step", step=question.step), own)


def _show(words: Words, title: str, written: Written) -> None:
    st.caption(title)
    with st.container(border=True):
        st.text(written.text + "…" * (not written.finished) if written.text else words["answer.empty"])


def _brand_and_language() -> Words:
    row = st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute")
    row.markdown("### Head:primary[light]", width="content")
    preferred = browser_language()
    label = words_of(preferred)["language"]
    name = choice(label, "language", list(LANGUAGES), preferred, LANGUAGES.__getitem__, where=row, hide_label=True)
    return words_of(name)


def _typing(words: Words) -> bool:
    """Whether the viewer types the target."""
    options = ["translate", "type"]
    texts = {name: words[f"target.{name}"] for name in options}
    return choice(words["target"], "target_from", options, "translate", texts.__getitem__) == "type"


def _ways_to_write(words: Words) -> None:
    """How the model writes, and behind a button the numbers of it."""
    method = choice(words["method"], "method", METHODS, "greedy", lambda name: words[f"method.{name}"])
    if method == "greedy":
        return
    row = st.container(horizontal=True)
    with row.popover(words["method.settings"]):
        first, second = st.container(horizontal=True), st.container(horizontal=True)
    if method == "beam":
        _, most, default = BEAMS
        number(words["beams"], "beams", default, most, first)
        _real(words, "length_penalty", LENGTH_PENALTY, first)
    else:
        _, most, default = SEED
        _real(words, "temperature", TEMPERATURE, first)
        _real(words, "top_p", TOP_P, first)
        with second:
            stop(words["top_k"], "top_k", TOP_K, "all", lambda k: words["top_k.all"] if k == "all" else k)
        number(words["seed"], "seed", default, most, second)
        row.button(words["draw_again"], key="draw_again", on_click=_draw_again)


def _real(words: Words, key: str, span: tuple[float, float, float], where: DeltaGenerator) -> None:
    least, most, default = span
    real(words[key], key, default, least, most, where)


def _draw_again() -> None:
    _, most, _ = SEED
    st.session_state["seed"] = st.session_state["seed"] % most + 1


def _how() -> Decoding:
    """How the model writes, as the link says it: the controls lead the link, and it is still known without them.

    A typed target has no such controls, but begins from what the model wrote.
    """
    method = st.query_params.get("method")
    if method == "beam":
        return Decoding("beam", beams=_said("beams", BEAMS), length_penalty=_said("length_penalty", LENGTH_PENALTY))
    if method == "sample":
        top_k, top_p = st.query_params.get("top_k"), _said("top_p", TOP_P)
        return Decoding(
            "sample",
            temperature=_said("temperature", TEMPERATURE),
            top_k=int(top_k) if top_k in TOP_K and top_k != "all" else None,
            top_p=top_p if top_p < 1 else None,
            seed=_said("seed", SEED),
        )
    return GREEDY


def _said(key: str, span: tuple[Number, Number, Number]) -> Number:
    """What the link says, or the default where that makes no sense."""
    least, most, default = span
    value = real_in(st.query_params.get(key, ""), least, most)
    return type(default)(value) if value is not None and type(default)(value) == value else default
