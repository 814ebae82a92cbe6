"""The positions lab: what is added to a token so that the model knows where it stands."""

import streamlit as st

from dashboard import problem
from dashboard.components.positions import positions
from dashboard.fit import Problem
from dashboard.linked import followed, moved
from dashboard.mask_runs import Batch, batch_of
from dashboard.positions import LINK
from dashboard.runs import Answer, Question
from dashboard.scenes import Scene, scene_of
from dashboard.sidebar import Chosen
from dashboard.words import Words

POSITIONS = "positions"


def draw(chosen: Chosen) -> None:
    """Draw the page, or say why there is nothing to see and offer what helps."""
    if isinstance(chosen.outcome, Problem):
        problem.draw(chosen.words, chosen.outcome, chosen.example)
    else:
        _lab(chosen.words, chosen.outcome, _scene(chosen.question))


def _scene(question: Question | None) -> Scene | None:
    """The sentence by itself; None for a recording, and where it is too long."""
    batch = None if question is None else batch_of(question, ())
    return scene_of(batch) if isinstance(batch, Batch) else None


@st.fragment(key="positions")
def _lab(words: Words, answer: Answer, scene: Scene | None) -> None:
    state, revision = followed(POSITIONS, LINK)
    positions(answer, scene, state, revision, words, key=POSITIONS, on_change=moved(POSITIONS, LINK))
