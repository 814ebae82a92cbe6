"""What runs: language, checkpoint, training step, texts. Every choice lives in the URL under its key."""

from dataclasses import dataclass, replace

import streamlit as st

from dashboard import runs, shelf
from dashboard.fit import Problem
from dashboard.runs import MOST_CONTINUED, Answer, Question, Written
from dashboard.state import choice, stop, text
from dashboard.words import LANGUAGES, Words, as_text, browser_language, words_of
from transformer.checkpoint import CheckpointError


@dataclass(frozen=True)
class Chosen:
    """The interface's texts, what came of the viewer's choices, and a source text that the model is known to read."""

    words: Words
    outcome: Answer | Problem
    example: str


def draw() -> Chosen:
    """Draw the sidebar; stops the page with one sentence where no checkpoint can be used."""
    words = _brand_and_language()
    names = shelf.checkpoints()
    if not names:
        st.error(as_text(words("checkpoint.none", folder=shelf.checkpoint_folder())))
        st.stop()
    name = st.selectbox(words["checkpoint"], names, key="checkpoint", bind="query-params")
    try:
        return _texts(words, name, _step(words, name))
    except CheckpointError as error:
        st.error(as_text(str(error)))
        st.stop()


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
    source = text(words["text" if alone else "source"], "source", example, 130, words["source.help"])
    question = Question(name, source, step=step)
    outcome = _ask(words, question)
    if not alone and _typing(words):
        suggestion = outcome.target.text if isinstance(outcome, Answer) and outcome.target else ""
        typed = text(words["target.typed"], "target", suggestion, 110, words["source.help"])
        return Chosen(words, _ask(words, replace(question, target=typed)), example)
    if isinstance(outcome, Answer):
        _own(words, question, outcome)
    return Chosen(words, outcome, example)


def _own(words: Words, question: Question, outcome: Answer) -> None:
    """What the model writes by itself, and what it will in the end."""
    own = runs.written(question)
    if outcome.target is None:
        _show(words, words("continuation", limit=MOST_CONTINUED), own)
    elif question.step is None:
        _show(words, words["answer"], own)
    else:
        _show(words, words["answer.finished"], outcome.target)
        _show(words, words("answer.step", step=question.step), own)


def _ask(words: Words, question: Question) -> Answer | Problem:
    with st.spinner(words["running"]):
        return runs.ask(question)


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
