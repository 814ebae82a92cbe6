"""The numbers of long texts: what is shrunk agrees with the cells it was made of."""

import numpy as np
import pytest

from dashboard import runs
from dashboard.long_numbers import MOST_BINS, MOST_LABELS, tile_numbers, window_numbers
from dashboard.runs import Question
from dashboard.words import words_of

EN = words_of("en")

pytestmark = pytest.mark.usefixtures("two_checkpoints")


@pytest.fixture(scope="module")
def answer(folder_of_two):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADLIGHT_CHECKPOINTS", str(folder_of_two))
        return runs.ask(Question("first", "the cat sees the sea a dog likes bread " * 90, target="neko umi"))


def window(answer, rows=None, columns=None, size=(20, 30), head=0, quantity="weight", pool="max", kind="encoder"):
    return window_numbers(answer, kind, 0, head, quantity, "read", (rows, columns), size, pool, EN)


@pytest.fixture(scope="module")
def pattern(answer):
    return answer.recording.pattern(answer.recording.site("encoder", 0), 0).numpy()


@pytest.mark.parametrize("pool", ["max", "mean"])
def test_the_whole_text_is_shrunk_to_the_size_of_the_screen(answer, pattern, pool):
    got = window(answer, pool=pool)
    assert got["total"] == list(pattern.shape)
    assert got["bins"] == (20, 30)
    rows, columns = (np.arange(bins + 1) * length // bins for bins, length in zip((20, 30), pattern.shape, strict=True))
    for row in (0, 7, 19):
        for column in (0, 13, 29):
            part = pattern[rows[row] : rows[row + 1], columns[column] : columns[column + 1]]
            expected = part.max() if pool == "max" else part.mean()
            assert got["cells"][row, column] == pytest.approx(expected, rel=1e-5)
    assert got["queries"] is None or len(got["queries"]) == len(pattern)


def test_a_window_small_enough_shows_the_cells_and_their_tokens(answer, pattern):
    got = window(answer, (40, 55), (100, 120))
    np.testing.assert_allclose(got["cells"], pattern[40:55, 100:120], rtol=1e-5)
    tokens = answer.recording.key_tokens(answer.recording.site("encoder", 0))
    assert got["queries"] == tokens[40:55]
    assert got["keys"] == tokens[100:120]
    assert got["window"] == {"rows": (40, 55), "columns": (100, 120)}


def test_no_more_is_sent_than_a_screen_can_show(answer):
    got = window(answer, size=(100_000, 100_000))
    assert max(got["cells"].shape) <= MOST_BINS
    assert got["cells"].nbytes <= 2_000_000
    assert MOST_LABELS >= MOST_BINS


def test_the_sentence_names_the_strongest_cell_in_view(answer, pattern):
    said = window(answer, (40, 200), (10, 400))["caption"][0][0]
    part = pattern[40:200, 10:400]
    row, column = np.unravel_index(part.argmax(), part.shape)
    assert f"query {row + 41:,} reads key {column + 11:,} ({part.max():.1g})" in said
    assert 0.00095 < part.max() < 0.0095  # of such a small one its first digit


def test_norms_and_scores_come_through_the_same_door(answer):
    site = answer.recording.site("encoder", 0)
    for quantity, expected in (("norm", answer.recording.weighted_norms), ("score", answer.recording.scores)):
        got = window(answer, (0, 10), (5, 25), quantity=quantity, head=2)
        np.testing.assert_allclose(got["cells"], expected(site, 2).numpy()[:10, 5:25], rtol=1e-4, atol=1e-6)


def test_windows_beyond_the_text_are_refused(answer, pattern):
    for rows in ((0, len(pattern) + 1), (5, 5), (-1, 4)):
        with pytest.raises(IndexError):
            window(answer, rows)


def test_a_small_picture_of_a_head_keeps_its_spikes(answer, pattern):
    tile = tile_numbers(answer, "encoder", 0, 0, "weight")
    assert tile["cells"].shape == (96, 96)
    full = window(answer)["high"]
    assert tile["cells"].max() == round(min(1.0, float(pattern.max()) / full) * 254)
