"""Pictures as numbers: nothing is lost, swapped or merged on the way from arrays to a figure."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.figures.colours import colours, full_colour, readable
from dashboard.figures.heat_map import Axis, heat_map, shown_labels
from dashboard.figures.tiles import BLOCKED, MOST_CELLS, tiles

HOVER = {"query": "query", "key": "key", "weight": "weight", "score": "score", "blocked": "blocked"}


def drawn(weights, blocked=None, queries=None, keys=None, full=1.0):
    weights = np.asarray(weights, dtype=np.float32)
    blocked = np.zeros(weights.shape, dtype=bool) if blocked is None else np.asarray(blocked)
    queries = queries or [f"q{i}" for i in range(weights.shape[0])]
    keys = keys or [f"k{i}" for i in range(weights.shape[1])]
    palette = colours("cross", "light")
    return heat_map(weights, weights * 10, blocked, Axis("Q", queries), Axis("K", keys), HOVER, palette, full, "here")


def trace(figure, name):
    return next(one for one in figure.data if one.name == name)


def test_rows_are_queries_and_columns_are_keys():
    figure = drawn([[0.1, 0.2, 0.7], [0.3, 0.3, 0.4]])
    np.testing.assert_array_equal(trace(figure, "weights").z, np.float32([[0.1, 0.2, 0.7], [0.3, 0.3, 0.4]]))
    np.testing.assert_array_equal(trace(figure, "weights").customdata, np.float32([[1, 2, 7], [3, 3, 4]]))
    assert list(figure.layout.yaxis.ticktext) == ["q0", "q1"]
    assert list(figure.layout.xaxis.ticktext) == ["k0", "k1", "k2"]
    assert (figure.layout.yaxis.range, figure.layout.xaxis.range) == ((1.5, -0.5), (-0.5, 2.5))
    assert (figure.layout.yaxis.title.text, figure.layout.xaxis.title.text) == ("Q", "K")


def test_repeated_tokens_keep_places_of_their_own():
    figure = drawn(np.full((3, 3), 1 / 3), queries=["the", "cat", "the"], keys=["the", "cat", "the"])
    assert list(figure.layout.xaxis.ticktext) == ["the", "cat", "the"]
    assert list(figure.layout.xaxis.tickvals) == [0, 1, 2]
    assert figure.layout.meta["keys"] == ["the", "cat", "the"]


def test_a_token_that_looks_like_html_is_text():
    figure = drawn([[0.5, 0.5]], keys=["<b>", "&amp;"])
    assert list(figure.layout.xaxis.ticktext) == ["&lt;b&gt;", "&amp;amp;"]
    assert figure.layout.meta["keys"] == ["<b>", "&amp;"]


def test_blocked_is_not_zero():
    figure = drawn([[1.0, 0.0], [0.0, 1.0]], blocked=[[False, True], [False, False]])
    weights, blocked = trace(figure, "weights").z, trace(figure, "blocked").z
    assert np.isnan(weights[0, 1])
    assert weights[1, 0] == 0
    np.testing.assert_array_equal(np.isnan(blocked), [[True, False], [True, True]])


def test_nothing_grey_is_drawn_where_nothing_is_blocked():
    assert "blocked" not in {one.name for one in drawn([[0.5, 0.5]]).data}


def test_large_weights_are_written_into_their_cells():
    numbers = trace(drawn([[0.91, 0.09], [0.2, 0.8]]), "numbers")
    assert list(zip(numbers.y, numbers.x, numbers.text, strict=True)) == [(0, 0, "0.91"), (1, 1, "0.80")]


def test_colours_run_from_the_background_to_the_full_colour():
    weights = trace(drawn([[0.1, 0.05]], full=0.2), "weights")
    assert (weights.zmin, weights.zmax) == (0, 0.2)
    assert [colour for _, colour in weights.colorscale] == ["#ffffff", colours("cross", "light").strong]


@pytest.mark.parametrize(
    ("keys", "full"), [(1, 1.0), (16, 1.0), (31, 1.0), (32, 0.5), (80, 0.2), (256, 0.1), (9999, 0.02)]
)
def test_full_colour(keys, full):
    assert full_colour(keys) == full


def test_numbers_stand_out_from_their_cells():
    light, dark = colours("cross", "light"), colours("cross", "dark")
    assert [readable(share, light) for share in (0.3, 0.6, 1.0)] == ["#1f2328", "#1f2328", "#ffffff"]
    assert [readable(share, dark) for share in (0.3, 1.0)] == ["#e6edf3", "#0e1116"]


@given(st.integers(1, 400), st.integers(2, 60))
def test_labels_are_few_enough_and_the_first_and_the_last_are_among_them(length, most):
    places, texts = shown_labels([str(i) for i in range(length)], most)
    assert len(places) <= most
    assert (places[0], places[-1]) == (0, length - 1)
    assert texts == [str(place) for place in places]
    if length <= most:
        assert places == list(range(length))


def test_kinds_have_colours_of_their_own():
    for theme in ("light", "dark"):
        assert len({colours(kind, theme).strong for kind in ("encoder", "decoder", "cross")}) == 3


def test_tiles_are_bytes_with_one_kept_for_blocked():
    weights = np.array([[[[0.0, 1.0], [0.5, 0.0]]]])
    blocked = np.array([[[[False, False], [False, True]]]])
    np.testing.assert_array_equal(tiles(weights, blocked, 1.0)[0, 0], [[0, 254], [127, BLOCKED]])
    np.testing.assert_array_equal(tiles(weights, blocked, 2.0)[0, 0], [[0, 127], [64, BLOCKED]])


def test_a_lone_spike_stays_visible_in_a_large_tile():
    weights = np.zeros((1, 1, 500, 300))
    weights[0, 0, 123, 45] = 1.0
    small = tiles(weights, np.zeros(weights.shape, dtype=bool), 1.0)
    assert small.shape == (1, 1, MOST_CELLS, MOST_CELLS)
    assert small.max() == 254
    assert 1 <= (small > 0).sum() <= 4


def test_a_pooled_cell_is_blocked_only_where_every_cell_is():
    blocked = np.triu(np.ones((192, 192), dtype=bool), 1)[None, None]
    small = tiles(np.where(blocked, 0.0, 0.01), blocked, 1.0)[0, 0]
    np.testing.assert_array_equal(small == BLOCKED, np.triu(np.ones((96, 96), dtype=bool), 1))
