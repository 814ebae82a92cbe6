"""What runs: language, checkpoint, source and target. Every choice lives in the URL under its key."""

from dataclasses import dataclass

import streamlit as st

from dashboard import runs
from dashboard.runs import Answer, Problem, Question
from dashboard.state import choice, text
from dashboard.words import LANGUAGES, Words, as_text, browser_language, words_of
from transformer.checkpoint import CheckpointError


@dataclass(frozen=True)
class Chosen:
    """The interface's texts, and what came of the viewer's choices."""

    words: Words
    outcome: Answer | Problem


def draw() -> Chosen:
    """Draw the sidebar; stops the page with one sentence where no checkpoint can be used."""
    words = _brand_and_language()
    names = runs.checkpoints()
    if not names:
        st.error(as_text(words("checkpoint.none", folder=runs.checkpoint_folder())))
        st.stop()
    name = st.selectbox(words["checkpoint"], names, key="checkpoint", bind="query-params")
    source = text(words["source"], "source", runs.opening_sentence(name), 130, words["source.help"])
    target = text(words["target.typed"], "target", "", 110, words["source.help"]) if _typing(words) else None
    try:
        with st.spinner(words["running"]):
            outcome = runs.ask(Question(name, source, target))
    except CheckpointError as error:
        st.error(as_text(str(error)))
        st.stop()
    if target is None:
        translation = outcome.translation if isinstance(outcome, Answer) else ""
        st.session_state["translation"] = translation
        st.caption(words["target.translation"])
        with st.container(border=True):
            st.text(translation)
    return Chosen(words, outcome)


def _brand_and_language() -> Words:
    row = st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute")
    row.markdown("### Head:primary[light]", width="content")
    preferred = browser_language()
    label = words_of(preferred)["language"]
    name = choice(label, "language", list(LANGUAGES), preferred, LANGUAGES.__getitem__, where=row, hide_label=True)
    return words_of(name)


def _typing(words: Words) -> bool:
    """Whether the viewer types the target; the first time, they begin from the translation on the screen."""

    def begin_from_translation() -> None:
        if st.session_state["target_from"] == "type" and not st.query_params.get("target"):
            st.session_state["target"] = st.session_state.get("translation", "")

    options = ["translate", "type"]
    return (
        choice(
            words["target"],
            "target_from",
            options,
            "translate",
            lambda name: words[f"target.{name}"],
            on_change=begin_from_translation,
        )
        == "type"
    )
