"""Work that takes long shows how far it is, and a viewer can stop it.

Streamlit ends a script that is to begin anew where it draws something next: so does one whose bar moves.
"""

import time
from collections.abc import Callable
from typing import TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dashboard.fit import Problem
from dashboard.forwards import Watch
from dashboard.runs import Question
from dashboard.words import Words

Result = TypeVar("Result")

OFTEN = 0.1  # seconds between two movements of the bar

_STOPPED = "stopped question"  # in the session


def watched(words: Words, question: Question, work: Callable[[Question, Watch], Result]) -> Result | Problem:
    """What comes of the work, which is not begun again once a viewer has stopped it."""
    if st.session_state.get(_STOPPED) == question:
        return Problem("stopped", "work")
    with st.spinner(words["running"]):
        bar = _Bar(words, question, st.empty())
        result = work(question, bar)
        bar.close()
    return result


def run_again() -> None:
    """Let what was stopped run."""
    st.session_state.pop(_STOPPED, None)


def _stop(question: Question) -> None:
    st.session_state[_STOPPED] = question


class _Bar:
    """Drawn when the work says that it is long, with a button that stops it."""

    def __init__(self, words: Words, question: Question, place: DeltaGenerator) -> None:
        self.words, self.question, self.place = words, question, place
        self.bar: DeltaGenerator | None = None
        self.moved = 0.0

    def __call__(self, share: float) -> None:
        if self.bar is None:
            with self.place.container():
                self.bar = st.progress(share)
                key = "stop" if self.question.target is None else "stop_typed"
                st.button(self.words["stop"], key=key, on_click=_stop, args=(self.question,))
        elif time.monotonic() - self.moved > OFTEN:
            self.bar.progress(share)
        else:
            return
        self.moved = time.monotonic()

    def close(self) -> None:
        if self.bar is not None:
            self.place.empty()
