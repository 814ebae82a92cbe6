"""What a viewer chose, and its link with the URL: a link or a reload restores the view.

Streamlit can bind widgets to the URL by itself, but it would write labels, which differ from language to language,
leave out defaults that another choice changes, and drop what is off the page for a moment. So here every value has a
name that does not change, and the URL keeps it whether or not its widget is drawn.
"""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

Name = TypeVar("Name", bound=str)
Value = TypeVar("Value", str, int, float, bool)

SETTLED_SECONDS = 1.0
LONGEST_IN_URL = 4000  # characters; servers refuse addresses of 64 kB, and a Chinese character takes 9 bytes there


def choice(
    label: str,
    key: str,
    options: Sequence[Name],
    default: Name,
    texts: Callable[[Name], str],
    where: DeltaGenerator | None = None,
    on_change: Callable[[], None] | None = None,
    hide_label: bool = False,
) -> Name:
    """A row of buttons, one of them chosen."""
    _follow_url(key, default, lambda name: name if name in options else None)
    if st.session_state[key] not in options:
        st.session_state[key] = default
    chosen: Name = (where or st.container()).segmented_control(  # type: ignore[assignment]  # required: never None
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


def text(label: str, key: str, default: str, height: int, help: str) -> str:
    """A text area."""
    _follow_url(key, default, lambda text: text)
    typed = st.text_area(label, key=key, height=height, help=help) or ""
    _lead_url(key, typed, default)
    return typed


def number(label: str, key: str, default: int, most: int, where: DeltaGenerator, disabled: bool = False) -> int:
    """A slider from 1; a number beyond its end, from another checkpoint, becomes the last one."""
    default = min(default, most)
    _follow_url(key, default, lambda text: int(text) if text.isdecimal() and 1 <= int(text) <= most else None)
    if st.session_state.get(f"most of {key}") != most:  # a slider of another length would forget where it stood
        st.session_state[key] = min(st.session_state[key], most)
        st.session_state[f"most of {key}"] = most
    moved = 1 if most == 1 else where.slider(label, 1, most, key=key, disabled=disabled, width=140)
    _lead_url(key, moved, default)
    return moved


def real(label: str, key: str, default: float, least: float, most: float, where: DeltaGenerator) -> float:
    """A slider in twentieths."""
    _follow_url(key, default, lambda text: real_in(text, least, most))
    moved = round(where.slider(label, least, most, key=key, step=0.05, width=140), 2)
    _lead_url(key, moved, default)
    return moved


def real_in(text: str, least: float, most: float) -> float | None:
    """The number that a text says, if it lies between these.

    Example:
        >>> real_in("0.7", 0, 2), real_in("7", 0, 2), real_in("nan", 0, 2), real_in("much", 0, 2)
        (0.7, None, None, None)
    """
    try:
        number = float(text)
    except ValueError:
        return None
    return number if least <= number <= most else None


def stop(label: str, key: str, stops: Sequence[Name], default: Name, texts: Callable[[Name], str]) -> Name:
    """A slider over named stops."""
    _follow_url(key, default, lambda name: name if name in stops else None)
    shown = [texts(name) for name in stops]
    if st.session_state.get(f"stops of {key}") != shown:  # a slider knows its stops by what they are called
        st.session_state[key] = st.session_state[key] if st.session_state[key] in stops else default
        st.session_state[f"stops of {key}"] = shown
    moved: Name = st.select_slider(label, stops, key=key, format_func=texts)
    _lead_url(key, moved, default)
    return moved


def switch(label: str, key: str, where: DeltaGenerator) -> bool:
    """A toggle, off by default."""
    _follow_url(key, False, lambda text: {"true": True, "false": False}.get(text))
    on = where.toggle(label, key=key)
    _lead_url(key, on, False)
    return on


def follow_address(key: str, names: Collection[str]) -> dict[str, str] | None:
    """What the address says under these names, on the first run and after Back or Forward; None while the page leads.

    Args:
        key: of what :func:`lead_address` writes.
    """
    in_url = {name: st.query_params[name] for name in names if name in st.query_params}
    written, when = st.session_state.get(_written(key), (None, 0.0))
    went_elsewhere = in_url != written and time.monotonic() - when > SETTLED_SECONDS
    return in_url if written is None or went_elsewhere else None


def lead_address(key: str, values: Mapping[str, str], names: Collection[str]) -> None:
    """Let the address say these values, and nothing else under these names."""
    if st.session_state.get(_written(key), (None,))[0] != values:
        st.session_state[_written(key)] = (dict(values), time.monotonic())
    for name in names:
        if name not in values:
            st.query_params.pop(name, None)
        elif st.query_params.get(name) != values[name]:
            st.query_params[name] = values[name]


def _follow_url(key: str, default: Value, read: Callable[[str], Value | None]) -> None:
    """Take the value from the URL on the first run and after Back or Forward; otherwise the widget leads.

    A value that stands at its default stays there when another choice changes the default. A browser that was just
    told a new address may still send the old one along with the next key; that is no Back.
    """
    in_url = st.query_params.get(key)
    written, when = st.session_state.get(_written(key), (in_url, 0.0))
    went_elsewhere = in_url != written and time.monotonic() - when > SETTLED_SECONDS
    # Only then: Streamlit sends an assigned value to the browser, over whatever the viewer moved meanwhile.
    if st.session_state.get(key) is None or went_elsewhere:
        value = None if in_url is None else read(in_url)
        st.session_state[key] = default if value is None else value
    elif st.session_state[key] == st.session_state.get(f"default of {key}") != default:
        st.session_state[key] = default
    st.session_state[f"default of {key}"] = default


def _lead_url(key: str, value: Value, default: Value) -> None:
    written = str(value).lower() if isinstance(value, bool) else str(value)
    shown = None if value == default or len(written) > LONGEST_IN_URL else written
    if st.session_state.get(_written(key), ("",))[0] != shown:
        st.session_state[_written(key)] = (shown, time.monotonic())
    if shown is None:
        st.query_params.pop(key, None)
    elif st.query_params.get(key) != shown:
        st.query_params[key] = shown


def _written(key: str) -> str:
    """Where the session remembers what it last wrote into the URL, and when."""
    return f"{key} in the URL"
