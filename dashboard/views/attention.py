"""The attention page: every way of looking at one run."""

import streamlit as st

from dashboard import problem
from dashboard.components.explorer import explorer
from dashboard.fit import Problem, beyond_training
from dashboard.linked import followed, moved
from dashboard.numbers import is_long
from dashboard.recordings import not_finite
from dashboard.runs import Answer
from dashboard.selection import LINK
from dashboard.sidebar import Chosen
from dashboard.views.table import table
from dashboard.words import Words, unicode_of, visible

EXPLORER = "explorer"


def draw(chosen: Chosen) -> None:
    """Draw the page, or say why there is nothing to see and offer what helps."""
    if isinstance(chosen.outcome, Problem):
        problem.draw(chosen.words, chosen.outcome, chosen.example)
    else:
        _explore(chosen.words, chosen.outcome)
        _remarks(chosen.words, chosen.outcome)
    st.caption(chosen.words["footer"])


@st.fragment(key="attention")
def _explore(words: Words, answer: Answer) -> None:
    """What the browser moves by itself; it tells where it is, for the address and for the table."""
    selection, revision = followed(EXPLORER, LINK)
    explorer(answer, selection, revision, words, key=EXPLORER, on_change=moved(EXPLORER, LINK))
    seen = selection.within(answer.recording, answer.predicts)
    if seen.view == "table" and not is_long(answer.recording, seen.kind):
        table(words, answer, seen)


def _remarks(words: Words, answer: Answer) -> None:
    """What a viewer should know about the texts that ran."""
    if answer.model is None and (odd := not_finite(answer.recording)):
        st.text(words("not_finite", sites=unicode_of(", ".join(odd))))
    for stream, ids in answer.recording.runs[-1].ids.items():
        if answer.model is not None and beyond_training(answer.model.config, ids[0].tolist()):
            st.text(words(f"beyond.{stream}", length=ids.size(1), limit=answer.model.config.max_length))
    for stream, characters in answer.spelled_as_bytes.items():
        if characters:
            st.text(words(f"bytes.{stream}", characters=" ".join(visible(words, one) for one in characters)))
    if answer.target and not answer.target.finished:
        st.text(words("unfinished", limit=len(answer.predicted)))
