"""What a viewer chose, and its link with the URL: a link or a reload restores the view.

Streamlit binds sliders, toggles and the source text to the URL by itself. Two things go through here instead: choices
with names, because it would write their labels, which differ from language to language; and what is not always on
the page, because it would forget it.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

Name = TypeVar("Name", bound=str)


def choice(
    where: DeltaGenerator,
    label: str,
    key: str,
    options: Sequence[Name],
    default: Name,
    texts: Callable[[Name], str],
    on_change: Callable[[], None] | None = None,
    hide_label: bool = False,
) -> Name:
    """A row of buttons, one of them chosen; its name stands in the URL under ``key`` unless it is the default."""
    _follow_url(key, default, options)
    chosen: Name = where.segmented_control(  # type: ignore[assignment]  # required: never None
        label,
        options,
        required=True,
        format_func=texts,
        key=key,
        on_change=on_change,
        label_visibility="collapsed" if hide_label else "visible",
    )
    _lead_url(key, chosen, default)
    return chosen


def text(where: DeltaGenerator, label: str, key: str, height: int, help: str) -> str:
    """A text area without a visible label; its text stands in the URL under ``key`` unless it is empty."""
    _follow_url(key, "")
    typed = where.text_area(label, key=key, height=height, help=help, label_visibility="collapsed") or ""
    _lead_url(key, typed, "")
    return typed


def _follow_url(key: str, default: str, options: Sequence[str] | None = None) -> None:
    """Take the value from the URL on the first run and after Back or Forward; otherwise the widget leads."""
    in_url = st.query_params.get(key, default)
    if options is not None and in_url not in options:
        in_url = default
    value = st.session_state.get(key)
    forgotten = value is None or (options is not None and value not in options)
    if forgotten or st.session_state.get(_last_seen(key), in_url) != in_url:
        st.session_state[key] = in_url


def _lead_url(key: str, value: str, default: str) -> None:
    st.session_state[_last_seen(key)] = value
    if value == default:
        st.query_params.pop(key, None)
    elif st.query_params.get(key) != value:
        st.query_params[key] = value


def _last_seen(key: str) -> str:
    return f"{key} in the URL"
