"""What a browser asks for over HTTP: names and numbers that anybody may have written."""

from collections.abc import Mapping
from typing import Any, get_args

Asked = Mapping[str, str]


def one_of(names: Any, asked: Asked, name: str) -> Any:
    """The value under a name, which must be one of a Literal's, or of a collection's.

    Raises:
        KeyError: nothing stands under the name.
        ValueError: it is another one.
    """
    allowed = get_args(names) or tuple(names)
    if asked[name] not in allowed:
        raise ValueError(f"{name} is {asked[name]!r}; wanted {', '.join(allowed)}.")
    return asked[name]


def whole(asked: Asked, name: str, least: int, most: int) -> int:
    """The number under a name, which must lie between these.

    Raises:
        KeyError: nothing stands under the name.
        ValueError: it is no whole number, or lies elsewhere.

    Example:
        >>> whole({"width": "64"}, "width", 2, 1024)
        64
        >>> whole({"width": "4096"}, "width", 2, 1024)
        Traceback (most recent call last):
        ValueError: width is '4096'; wanted a whole number from 2 to 1,024.
    """
    text = asked[name]
    known = text.isascii() and text.removeprefix("-").isdecimal() and len(text) < 10
    if not (known and least <= int(text) <= most):
        raise ValueError(f"{name} is {text!r}; wanted a whole number from {least:,} to {most:,}.")
    return int(text)
