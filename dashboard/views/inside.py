"""Inside a layer: every step from token ids to a layer's output, with its code."""

import streamlit as st

from dashboard import problem
from dashboard.components.inside import inside
from dashboard.fit import Problem
from dashboard.inside import LINK
from dashboard.linked import followed, moved
from dashboard.runs import Answer
from dashboard.sidebar import Chosen
from dashboard.words import Words

INSIDE = "inside"


def draw(chosen: Chosen) -> None:
    """Draw the page, or say why there is nothing to see and offer what helps."""
    if isinstance(chosen.outcome, Problem):
        problem.draw(chosen.words, chosen.outcome, chosen.example)
    elif chosen.outcome.model is None:
        st.info(chosen.words["inside.no_model"])
    else:
        _walk(chosen.words, chosen.outcome)


@st.fragment(key="inside")
def _walk(words: Words, answer: Answer) -> None:
    """What the browser moves by itself; it tells where it is, for the address."""
    state, revision = followed(INSIDE, LINK)
    inside(answer, state, revision, words, key=INSIDE, on_change=moved(INSIDE, LINK))
