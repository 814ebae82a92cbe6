"""The part of the sidebar that opens a recording and says which run and which sentence of it is looked at."""

import json
from collections.abc import Collection

import streamlit as st

from dashboard import recordings
from dashboard.fit import Problem
from dashboard.recordings import MOST_MEGABYTES, MOST_OPENED
from dashboard.runs import Answer
from dashboard.state import number
from dashboard.words import Words, as_text, unicode_of
from transformer.recording_file import RecordingError

ENDING = ".safetensors"
LONG_NOTE = 300  # characters; a longer one scrolls

# In the session: how many files were opened and tried, why the last was refused, and which one a link asks for in vain.
_OPENED, _TRIED, _REFUSED, _MISSING = "files opened", "files tried", "file refused", "recording missing"


def opener(words: Words, names: Collection[str]) -> None:
    """A button with a place for a file under it; what is opened is chosen at once.

    Args:
        names: of everything that can be chosen already.
    """
    # Under another key Streamlit draws another one: a button that is closed, a place that is empty.
    button = f"open_recording_{st.session_state.get(_OPENED, 0)}"
    with st.popover(words["recording.open"], type="tertiary", key=button):
        choose = json.dumps(words["recording.choose"], ensure_ascii=False)
        st.html(f"<style>:root {{ --choose-file: {choose} }}</style>")  # what page.css writes on its button
        key = f"file_{st.session_state.get(_TRIED, 0)}"
        st.file_uploader(
            words["recording.file"],
            ENDING,
            key=key,
            on_change=_open,
            args=(key, names),
            max_upload_size=MOST_MEGABYTES,
        )
        if refused := st.session_state.get(_REFUSED):
            st.error(as_text(refused))
        st.caption(words("recording.limit", megabytes=MOST_MEGABYTES, most=MOST_OPENED))


def _open(key: str, names: Collection[str]) -> None:
    file = st.session_state[key]
    if file is None:
        return
    st.session_state[_TRIED] = st.session_state.get(_TRIED, 0) + 1
    st.session_state[_REFUSED] = None
    try:
        st.session_state["checkpoint"] = recordings.add(file.name, file.getbuffer(), names)
    except RecordingError as error:
        st.session_state[_REFUSED] = str(error)
    else:
        st.session_state[_OPENED] = st.session_state.get(_OPENED, 0) + 1


def note_missing(names: Collection[str]) -> None:
    """Remember that a link names a recording that is not here: the box, drawn next, forgets it."""
    asked = st.query_params.get("checkpoint", "")
    if asked.endswith(ENDING) and asked not in names:
        st.session_state[_MISSING] = asked


def say_missing(words: Words, chosen: str, default: str) -> None:
    """Say so until something else is chosen than what stands in its place."""
    if chosen != default:
        st.session_state.pop(_MISSING, None)
    elif missing := st.session_state.get(_MISSING):
        st.warning(as_text(words("recording.missing", file=unicode_of(missing))))


def look(words: Words, name: str) -> Answer | Problem:
    """What the viewer looks at in a recording, or why there is nothing to see."""
    try:
        with st.spinner(words["recording.opening"]):
            opened = recordings.opened(name)
    except RecordingError as error:
        return Problem("damaged", "recording", reason=str(error))
    recording = opened.recording
    _note(words, unicode_of(recording.note.strip()))
    seen = [place for place, run in enumerate(recording.runs) if recordings.has_cells(run)]
    if not seen:
        return Problem("empty", "recording")
    runs = len(recording.runs)
    run = number(words("recording.run", most=runs), "recording_run", seen[0] + 1, runs, st.container()) - 1
    sentences = max(1, recording.runs[run].sentences)
    sentence = number(words("recording.sentence", most=sentences), "sentence", 1, sentences, st.container()) - 1
    return opened.look(run, sentence)


def _note(words: Words, note: str) -> None:
    if note:
        st.caption(words["recording.note"])
        with st.container(border=True, height=160 if len(note) > LONG_NOTE else "content"):
            st.text(note)
