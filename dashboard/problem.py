"""What stands in place of the picture when a text does not fit: one sentence, and buttons that help."""

import streamlit as st

from dashboard import long_work
from dashboard.fit import Problem
from dashboard.words import Words, as_text, listed, ranges


def draw(words: Words, problem: Problem, example: str) -> None:
    """Say it and offer what helps.

    Args:
        example: a source text that the model is known to read, or nothing.
    """
    if problem.among:
        st.text(problem.among)
    message = words(
        f"{problem.name}.{problem.stream}",
        length=problem.length,
        limit=problem.limit,
        unknown=listed(words, problem.unknown),
        known=listed(words, ranges(problem.known)),
        reason=as_text(problem.reason),
    )
    (st.info if problem.name in ("empty", "stopped") else st.warning)(message)
    if problem.among:
        return  # what helps is for the text in the sidebar
    key = "target" if problem.stream == "target" else "source"
    side_by_side = st.container(horizontal=True)
    if problem.name == "stopped":
        side_by_side.button(words["run_again"], key="run_again", on_click=long_work.run_again)
    if problem.fits:
        side_by_side.button(words[problem.remedy], key="remedy", on_click=_choose, args=(key, problem.fits))
    if key == "target":
        side_by_side.button(words["own"], key="own", on_click=_choose, args=("target_from", "translate"))
    elif example:
        side_by_side.button(words["example"], key="example", on_click=_choose, args=(key, example))


def _choose(key: str, value: str) -> None:
    st.session_state[key] = value
