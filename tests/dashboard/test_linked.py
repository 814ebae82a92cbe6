"""A page's state, in the address and from the browser."""

from dataclasses import asdict, dataclass
from typing import Literal

from hypothesis import given
from hypothesis import strategies as st

from dashboard.linked import MOST_AT_ONCE, Link, flag, one_of, place, place_or, places, two_places, whole, wholes

Side = Literal["left", "right"]


@dataclass(frozen=True)
class Chosen:
    side: Side = "left"
    layer: int = 1
    head: int | Literal["mean"] = 0
    spaces: bool = True
    heads: tuple[int, ...] = ()
    pair: tuple[int, int] | None = None
    offset: int = 0
    dimensions: tuple[int, ...] = ()


LINK = Link(
    Chosen(),
    {
        "side": one_of(Side),
        "layer": place(),
        "head": place_or("mean"),
        "spaces": flag(),
        "heads": places(),
        "pair": two_places(),
        "offset": whole(-5, 5),
        "dimensions": wholes(-1, 99),
    },
    in_address={"layer": "floor"},
)
PLACE = st.integers(0, 999_998)
CHOSEN = st.builds(
    Chosen,
    side=st.sampled_from(["left", "right"]),
    layer=PLACE,
    head=PLACE | st.just("mean"),
    spaces=st.booleans(),
    heads=st.lists(PLACE, min_size=1, max_size=MOST_AT_ONCE).map(tuple),
    pair=st.tuples(PLACE, PLACE),
    offset=st.integers(-5, 5),
    dimensions=st.lists(st.integers(-1, 99), min_size=1, max_size=MOST_AT_ONCE).map(tuple),
)


@given(CHOSEN)
def test_a_state_comes_back_from_a_link_and_from_the_browser(chosen):
    assert LINK.from_address(LINK.to_address(chosen)) == chosen == LINK.from_browser(asdict(chosen))


def test_a_link_counts_from_1_and_says_only_what_is_not_as_it_begins():
    chosen = Chosen(layer=0, head="mean", heads=(0, 2), pair=(3, 4), spaces=False, offset=-2, dimensions=(0, 8))
    assert LINK.to_address(chosen) == {
        "floor": "1",
        "head": "mean",
        "heads": "1,3",
        "pair": "4,5",
        "spaces": "false",
        "offset": "-2",
        "dimensions": "0,8",
    }
    assert LINK.to_address(Chosen()) == {}


TEXTS = st.text(max_size=8) | st.sampled_from(["0", "-1", "²", "1,,2", "1,2,3", "none", "9" * 8, "6", "--1"])
JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | TEXTS, st.lists, max_leaves=4)


@given(
    st.dictionaries(st.sampled_from(LINK.names), TEXTS), st.dictionaries(st.sampled_from(list(LINK.known)), JSON) | JSON
)
def test_nonsense_leaves_a_state_as_it_begins_or_within_bounds(link, sent):
    for state in (LINK.from_address(link), LINK.from_browser(sent)):
        assert state.side in ("left", "right")
        assert isinstance(state.spaces, bool)
        assert 0 <= state.layer < 1_000_000
        assert state.head == "mean" or 0 <= state.head < 1_000_000
        assert len(state.heads) <= MOST_AT_ONCE
        assert state.pair is None or len(state.pair) == 2
        assert -5 <= state.offset <= 5
        assert len(state.dimensions) <= MOST_AT_ONCE
        assert all(-1 <= one <= 99 for one in state.dimensions)


def test_nonsense_is_as_if_it_were_not_there():
    nonsense = {"side": "top", "floor": "0", "head": "-1", "spaces": "yes", "heads": "1,,2", "pair": "1", "offset": "6"}
    nonsense["dimensions"] = "0,100"
    assert LINK.from_address(nonsense) == Chosen()
    sent = {"side": 3, "layer": True, "head": 1.5, "spaces": "true", "heads": "12", "pair": [1], "offset": [1]}
    sent["dimensions"] = [0, True]
    assert LINK.from_browser(sent) == Chosen()
