"""What runs: language, checkpoint, source and target. Every choice lives in the URL under its key."""

import json
from dataclasses import dataclass

import streamlit as st

from dashboard import runs
from dashboard.runs import Answer, Problem, Question
from dashboard.state import choice, text
from dashboard.words import LANGUAGES, Words, browser_language, words_of
from transformer.checkpoint import CheckpointError


@dataclass(frozen=True)
class Chosen:
    """The interface's texts, what was asked, and what came of it."""

    words: Words
    question: Question
    outcome: Answer | Problem


def draw() -> Chosen:
    """Draw the sidebar; stops the page with one sentence where no checkpoint can be used."""
    st.markdown("### Head:primary[light]")
    slot = st.container()
    words = _language()
    with slot:
        names = runs.checkpoints()
        if not names:
            st.error(words("checkpoint.none", folder=runs.checkpoint_folder()))
            st.stop()
        name = st.selectbox(words["checkpoint"], names, key="checkpoint", bind="query-params")
        source = st.text_area(
            words["source"],
            _opening_sentence(name),
            key="source",
            bind="query-params",
            height=110,
            help=words["source.help"],
        )
        typing = _typing(words)
        if typing:
            target = text(st.container(), words["target.typed"], "target", 90, words["source.help"])
        question = Question(name, source or "", target if typing else None)
        try:
            outcome = runs.ask(question)
        except CheckpointError as error:
            st.error(str(error))
            st.stop()
        if not typing and isinstance(outcome, Answer):
            with st.container(border=True, key="translation-box"):
                st.text(outcome.translation)
            st.session_state["translation"] = outcome.translation
    return Chosen(words, question, outcome)


def _language() -> Words:
    preferred = browser_language()
    label = words_of(preferred)["language"]
    name = choice(st.container(), label, "language", list(LANGUAGES), preferred, LANGUAGES.__getitem__, hide_label=True)
    return words_of(name)


def _typing(words: Words) -> bool:
    """Whether the viewer types the target. Who turns to typing begins from the translation on the screen."""

    def begin_from_translation() -> None:
        if st.session_state["target_from"] == "type" and not st.query_params.get("target"):
            st.session_state["target"] = st.session_state.get("translation", "")

    mode = choice(
        st.container(),
        words["target"],
        "target_from",
        ["translate", "type"],
        "translate",
        lambda name: words[f"target.{name}"],
        on_change=begin_from_translation,
    )
    return mode == "type"


def _opening_sentence(name: str) -> str:
    """The first sample of the checkpoint's own measurements."""
    metrics = runs.checkpoint_folder() / name / "metrics.json"
    if not metrics.is_file():
        return ""
    samples = json.loads(metrics.read_text(encoding="utf-8")).get("samples", [])
    return samples[0]["source"] if samples else ""
