"""The mask lab: edit a mask and watch what changes."""

import streamlit as st

from dashboard import problem, shelf
from dashboard.components.masks import masks
from dashboard.fit import Problem
from dashboard.linked import followed, moved
from dashboard.mask_runs import MOST_SENTENCES, Batch, batch_of
from dashboard.masks import LINK
from dashboard.sidebar import Chosen
from dashboard.state import text
from dashboard.words import Words, as_text

MASKS = "masks"


def draw(chosen: Chosen) -> None:
    """Draw the page, or say why there is nothing to see and offer what helps."""
    words, question = chosen.words, chosen.question
    if question is None or (not isinstance(chosen.outcome, Problem) and chosen.outcome.model is None):
        st.info(words["masks.no_model"])
        return
    if isinstance(chosen.outcome, Problem):
        problem.draw(words, chosen.outcome, chosen.example)
        return
    samples = [one for one in shelf.sentences(question.checkpoint) if one != question.source]
    with st.container(key="beside_pages"), st.popover(words["masks.others"]):
        typed = text(words["masks.others.label"], "others", "\n".join(samples[:1]), 120, words["masks.others.help"])
    others = [line for line in typed.splitlines() if line.strip()]
    if len(others) >= MOST_SENTENCES:
        st.warning(as_text(words("masks.others.many", count=len(others), limit=MOST_SENTENCES - 1)))
        return
    batch = batch_of(question, others)
    if isinstance(batch, Problem):
        problem.draw(words, batch, chosen.example)
    else:
        _lab(words, batch)


@st.fragment(key="masks")
def _lab(words: Words, batch: Batch) -> None:
    """What the browser moves by itself; it tells where it is, for the address."""
    state, revision = followed(MASKS, LINK)
    masks(batch, state, revision, words, key=MASKS, on_change=moved(MASKS, LINK))
