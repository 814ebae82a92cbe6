"""The colours of numbers, and small pictures of many."""

import numpy as np
import pytest

from dashboard.figures.colours import colours, full_colour
from dashboard.figures.tiles import BLOCKED, MOST_CELLS, tiles
from dashboard.selection import KINDS


@pytest.mark.parametrize(
    ("keys", "full"), [(1, 1.0), (16, 1.0), (31, 1.0), (32, 0.5), (80, 0.2), (256, 0.1), (9999, 0.02)]
)
def test_full_colour(keys, full):
    assert full_colour(keys) == full


def test_kinds_have_colours_of_their_own():
    for theme in ("light", "dark"):
        assert len({colours(kind, theme).strong for kind in KINDS}) == 4


def test_tiles_are_bytes_with_one_kept_for_blocked():
    weights = np.array([[[0.0, 1.0], [0.5, 0.0]]])
    blocked = np.array([[[False, False], [False, True]]])
    np.testing.assert_array_equal(tiles(weights, blocked, 1.0)[0], [[0, 254], [127, BLOCKED]])
    np.testing.assert_array_equal(tiles(weights, blocked, 2.0)[0], [[0, 127], [64, BLOCKED]])


def test_a_lone_spike_stays_visible_in_a_large_tile():
    weights = np.zeros((1, 500, 300))
    weights[0, 123, 45] = 1.0
    small = tiles(weights, np.zeros(weights.shape, dtype=bool), 1.0)
    assert small.shape == (1, MOST_CELLS, MOST_CELLS)
    assert small.max() == 254
    assert 1 <= (small > 0).sum() <= 4


def test_a_pooled_cell_is_blocked_only_where_every_cell_is():
    blocked = np.triu(np.ones((192, 192), dtype=bool), 1)[None]
    small = tiles(np.where(blocked, 0.0, 0.01), blocked, 1.0)[0]
    np.testing.assert_array_equal(small == BLOCKED, np.triu(np.ones((96, 96), dtype=bool), 1))
