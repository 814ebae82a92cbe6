"""Names and numbers that a browser asks with."""

from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.asked import one_of, whole


@given(st.integers(-2000, 2000), st.integers(-2000, 2000), st.integers(0, 2000))
def test_whole_numbers_within_their_bounds_are_taken(number, least, more):
    most = least + more
    if least <= number <= most:
        assert whole({"width": str(number)}, "width", least, most) == number
    else:
        with pytest.raises(ValueError, match=f"width is '{number}'; wanted a whole number from"):
            whole({"width": str(number)}, "width", least, most)


@pytest.mark.parametrize("text", ["", "x", "1.5", " 1", "1e3", "²", "٣", "--1", "+1", "9" * 5000, "None", "true"])
def test_anything_else_is_refused(text):
    with pytest.raises(ValueError, match="wanted a whole number from 0 to 9"):
        whole({"width": text}, "width", 0, 9)


def test_names_are_those_of_a_literal_or_a_collection():
    side = Literal["left", "right"]
    assert one_of(side, {"side": "left"}, "side") == "left"
    assert one_of(("a", "b"), {"side": "b"}, "side") == "b"
    with pytest.raises(ValueError, match="side is 'up'; wanted left, right"):
        one_of(side, {"side": "up"}, "side")


def test_what_is_missing_is_named():
    for ask in (lambda: one_of(("a",), {}, "side"), lambda: whole({}, "side", 0, 1)):
        with pytest.raises(KeyError, match="side"):
            ask()
