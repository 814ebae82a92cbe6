"""Recordings that can be looked at: the one that the server was started with, and those that a viewer opened.

A viewer's own are kept in that viewer's session: nobody else sees them, and they go when it ends.
"""

import os
import re
import tempfile
from collections.abc import Callable, Collection
from itertools import chain, count
from pathlib import Path

import streamlit as st

from dashboard.fit import Problem
from dashboard.runs import Answer
from dashboard.words import unicode_of
from transformer.recording import Attention, Recording, Run
from transformer.recording_file import open_recording

MOST_OPENED = 4  # by one viewer; the one opened first goes
MOST_MEGABYTES = 100  # of a file that a viewer opens
LONGEST_NAME = 60  # characters; a name on disk has at most 255 bytes

_OPENED = "opened recordings"  # in the session


class Opened:
    """A recording with what was looked at of it: made once, so that the browser knows it again."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self._looks: dict[tuple[int, int], Answer | Problem] = {}

    def look(self, run: int, sentence: int) -> Answer | Problem:
        """One sentence of one run, both counted from 0, or that there is nothing to be seen in it.

        Attentions without a head, a query or a key are left out.
        """
        return self._looks.setdefault((run, sentence), self._look(run, sentence))

    def _look(self, run: int, sentence: int) -> Answer | Problem:
        whole = self.recording.runs[run]
        if not sentence < whole.sentences:
            return Problem("empty", "run", length=run + 1)
        excerpt = self.recording.only(run, sentence)
        one = excerpt.runs[-1]
        one.attentions = {site: seen for site, seen in one.attentions.items() if _has_cells(seen)}
        return Answer(excerpt) if one.attentions else Problem("empty", "run", length=run + 1)


def has_cells(run: Run) -> bool:
    """Whether there is an attention in it with a head, a query and a key."""
    return any(_has_cells(seen) for seen in run.attentions.values())


def _has_cells(seen: Attention) -> bool:
    return min(seen.query.numel(), seen.key.numel(), seen.value.numel()) > 0


def not_finite(recording: Recording) -> list[str]:
    """The attentions whose queries, keys or values hold NaN or infinity."""
    return [
        site
        for run in recording.runs
        for site, seen in run.attentions.items()
        if not all(bool(part.isfinite().all()) for part in (seen.query, seen.key, seen.value))
    ]


def served() -> dict[str, Path]:
    """The recording that the server was started with, in ``HEADLIGHT_RECORDING``, by its name; or none."""
    path = os.environ.get("HEADLIGHT_RECORDING")
    return {unicode_of(Path(path).name): Path(path)} if path else {}


def opened(name: str) -> Opened:
    """A recording by its name, opened again when its file changes.

    Raises:
        RecordingError: see :func:`transformer.open_recording`.
        KeyError: no recording has that name.
    """
    if name in own():
        return own()[name]
    path = served()[name]
    return _opened(path, path.stat().st_mtime_ns if path.is_file() else 0)


def own() -> dict[str, Opened]:
    """Those that this viewer opened, by name."""
    mine: dict[str, Opened] = st.session_state.setdefault(_OPENED, {})
    return mine


def add(name: str, content: bytes | memoryview, taken: Collection[str]) -> str:
    """Open a file that a viewer sent, and give the name under which it is kept.

    Args:
        name: of the file, as the browser says.
        taken: the names of everything else.

    Raises:
        RecordingError: see :func:`transformer.open_recording`.
    """
    name = re.sub(r"[^\w .()+-]", "_", unicode_of(name))[-LONGEST_NAME:]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        recording = open_recording(path)
    mine = own()
    name = _free(name, lambda one: one in taken or one in mine)
    mine[name] = Opened(recording)
    while len(mine) > MOST_OPENED:
        del mine[next(iter(mine))]
    return name


def _free(name: str, is_taken: Callable[[str], bool]) -> str:
    """The name, or the first with a number behind it that is free."""
    stem, _, ending = name.rpartition(".")
    names = chain([name], (f"{stem} ({number}).{ending}" for number in count(2)))
    return next(one for one in names if not is_taken(one))


@st.cache_resource(show_spinner=False, max_entries=2)
def _opened(path: Path, written: int) -> Opened:
    return Opened(open_recording(path))
