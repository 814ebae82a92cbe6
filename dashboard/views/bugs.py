"""The theatre of bugs: classic mistakes on trained weights, right beside broken."""

import streamlit as st

from dashboard import problem
from dashboard.bugs import LINK
from dashboard.components.bugs import bugs
from dashboard.fit import Problem
from dashboard.linked import followed, moved
from dashboard.mask_runs import batch_of
from dashboard.scenes import Scene, scene_of
from dashboard.sidebar import Chosen
from dashboard.words import Words

BUGS = "bugs"


def draw(chosen: Chosen) -> None:
    """Draw the page, or say why there is nothing to see and offer what helps."""
    words, question = chosen.words, chosen.question
    if question is None:
        st.info(words["bugs.no_model"])
        return
    batch = chosen.outcome if isinstance(chosen.outcome, Problem) else batch_of(question, ())
    if isinstance(batch, Problem):
        problem.draw(words, batch, chosen.example)
    else:
        _stage(words, scene_of(batch))


@st.fragment(key="bugs")
def _stage(words: Words, scene: Scene) -> None:
    """What the browser moves by itself; it tells where it is, for the address."""
    state, revision = followed(BUGS, LINK)
    bugs(scene, state, revision, words, key=BUGS, on_change=moved(BUGS, LINK))
