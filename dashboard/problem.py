"""What stands in place of the picture when a text does not fit: one sentence, and buttons that help."""

from collections.abc import Callable

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

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
        _offer(side_by_side, words["run_again"], "run_again", long_work.run_again)
    if problem.fits:
        _offer(side_by_side, words[problem.remedy], "remedy", _choose, key, problem.fits)
    if key == "target":
        _offer(side_by_side, words["own"], "own", _choose, "target_from", "translate")
    elif example:
        _offer(side_by_side, words["example"], "example", _choose, key, example)


def _offer(where: DeltaGenerator, label: str, key: str, do: Callable[..., None], *with_these: str) -> None:
    if where.button(label, key=key, on_click=do, args=with_these):
        st.rerun()  # of the sidebar too, which a page does without


def _choose(key: str, value: str) -> None:
    st.session_state[key] = value
