"""What stands in place of the picture when a text does not fit: one sentence, and buttons that help."""

import streamlit as st

from dashboard.fit import Problem
from dashboard.words import Words, listed, ranges


def draw(words: Words, problem: Problem, example: str) -> None:
    """Say it and offer what helps.

    Args:
        example: a source text that the model is known to read, or nothing.
    """
    message = words(
        f"{problem.name}.{problem.stream}",
        length=problem.length,
        limit=problem.limit,
        unknown=listed(words, problem.unknown),
        known=listed(words, ranges(problem.known)),
    )
    (st.info if problem.name == "empty" else st.warning)(message)
    key = "target" if problem.stream == "target" else "source"
    side_by_side = st.container(horizontal=True)
    if problem.fits:
        side_by_side.button(words[problem.remedy], key="remedy", on_click=_choose, args=(key, problem.fits))
    if key == "target":
        side_by_side.button(words["own"], key="own", on_click=_choose, args=("target_from", "translate"))
    elif example:
        side_by_side.button(words["example"], key="example", on_click=_choose, args=(key, example))


def _choose(key: str, value: str) -> None:
    st.session_state[key] = value
