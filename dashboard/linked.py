"""A page's state as one frozen value: written into the address, and moved by the browser.

What makes no sense, in a link or from a browser, is as if it were not there.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Generic, TypeVar, get_args

import streamlit as st

from dashboard.state import LONGEST_IN_URL, follow_address, lead_address, real_in

State = TypeVar("State")
MOST_AT_ONCE = 16  # of what stands in one field
_MOST = 1_000_000


@dataclass(frozen=True)
class Field:
    """One value: read from an address, taken from JSON (both None for nonsense), and written into an address."""

    read: Callable[[str], Any]
    take: Callable[[Any], Any]
    write: Callable[[Any], str] = str


class Link(Generic[State]):
    """Between a state, the address and the browser.

    Args:
        begin: what a page opens on; only what differs from it stands in an address.
        known: how each field of the state is read and written.
        in_address: names that differ there.
    """

    def __init__(self, begin: State, known: Mapping[str, Field], in_address: Mapping[str, str] | None = None) -> None:
        self.begin, self.known = begin, known
        self._in_address = {name: (in_address or {}).get(name, name) for name in known}

    @property
    def names(self) -> tuple[str, ...]:
        """What the fields are called in an address."""
        return tuple(self._in_address.values())

    def from_address(self, parameters: Mapping[str, str]) -> State:
        """The state of a link."""
        return self._made({name: parameters.get(known) for name, known in self._in_address.items()}, "read")

    def from_browser(self, sent: Any) -> State:
        """The state that the page's JavaScript sent."""
        return self._made(sent if isinstance(sent, Mapping) else {}, "take")

    def to_address(self, state: State) -> dict[str, str]:
        """What a link says of a state: all that is not as it begins, and no longer than an address can be."""
        values = {name: getattr(state, name) for name in self.known}
        said = {
            self._in_address[name]: self.known[name].write(value)
            for name, value in values.items()
            if value != getattr(self.begin, name)
        }
        return {name: text for name, text in said.items() if len(text) <= LONGEST_IN_URL}

    def _made(self, values: Mapping[str, Any], way: str) -> State:
        given = {name: values[name] for name in self.known if values.get(name) is not None}
        found = {name: getattr(self.known[name], way)(value) for name, value in given.items()}
        begin = {field.name: getattr(self.begin, field.name) for field in fields(self.begin)}  # type: ignore[arg-type]
        return type(self.begin)(**begin | {name: value for name, value in found.items() if value is not None})


def followed(key: str, link: Link[State]) -> tuple[State, int]:
    """Where the viewer is, and how often the address led there rather than the browser; the address is kept in step.

    Args:
        key: of the page's component.
    """
    if (led := follow_address(key, link.names)) is not None:
        st.session_state[state_of(key)] = link.from_address(led)
        st.session_state[f"led {key}"] = st.session_state.get(f"led {key}", 0) + 1
    state: State = st.session_state[state_of(key)]
    lead_address(key, link.to_address(state), link.names)
    return state, st.session_state[f"led {key}"]


def moved(key: str, link: Link[State]) -> Callable[[], None]:
    """What to call when the browser moved something."""

    def follow() -> None:
        st.session_state[state_of(key)] = link.from_browser(st.session_state[key].state)

    return follow


def state_of(key: str) -> str:
    """Where the session keeps a page's state."""
    return f"state of {key}"


def one_of(names: Any) -> Field:
    """One of the names of a Literal."""

    def known(value: Any) -> Any:
        return value if value in get_args(names) else None

    return Field(known, known)


def flag() -> Field:
    """On or off."""
    texts = {"true": True, "false": False}
    return Field(texts.get, lambda value: value if isinstance(value, bool) else None, lambda on: str(on).lower())


def place() -> Field:
    """A place among others, from 0; from 1 in an address, as on the screen."""
    return Field(_counted, _place, lambda at: str(at + 1))


def place_or(name: str) -> Field:
    """A place, or this name."""
    return Field(
        lambda text: text if text == name else _counted(text),
        lambda value: value if value == name else _place(value),
        lambda at: name if at == name else str(at + 1),
    )


def places() -> Field:
    """Several places."""
    return Field(lambda text: _places([_counted(one) for one in text.split(",")]), _places, _written)


def two_places() -> Field:
    """Two places, or none."""
    several = places()
    return Field(lambda text: _two(several.read(text)), lambda value: _two(several.take(value)), _written)


def whole(least: int, most: int) -> Field:
    """A whole number between these."""

    def within(value: Any) -> int | None:
        return value if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most else None

    return Field(lambda text: within(int(text)) if _is_number(text.removeprefix("-")) else None, within)


def wholes(least: int, most: int) -> Field:
    """Several whole numbers between these."""
    one = whole(least, most)

    def known(found: list[int | None]) -> tuple[int, ...] | None:
        within = tuple(number for number in found if number is not None)
        return within if len(within) == len(found) <= MOST_AT_ONCE else None

    return Field(
        lambda text: known([one.read(part) for part in text.split(",")]),
        lambda value: known([one.take(part) for part in value]) if isinstance(value, list | tuple) else None,
        lambda several: ",".join(map(str, several)),
    )


def tenths(least: float, most: float) -> Field:
    """A number between these, with one digit behind the point."""

    def within(value: Any) -> float | None:
        known = isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= most
        return round(float(value), 1) if known else None

    return Field(lambda text: within(real_in(text, least, most)), within)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 8


def _counted(text: str) -> int | None:
    return _place(int(text) - 1) if _is_number(text) else None


def _place(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST else None


def _places(value: Any) -> tuple[int, ...] | None:
    found = [_place(one) for one in value] if isinstance(value, list | tuple) else [None]
    known = tuple(one for one in found if one is not None)
    return known if len(known) == len(found) <= MOST_AT_ONCE else None


def _two(several: tuple[int, ...] | None) -> tuple[int, int] | None:
    return (several[0], several[1]) if several is not None and len(several) == 2 else None


def _written(several: tuple[int, ...] | None) -> str:
    return ",".join(str(one + 1) for one in several or ())
