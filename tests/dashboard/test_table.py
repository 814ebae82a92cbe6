"""The table of pairs: every allowed pair once, the strongest first, and what the viewer asks for of them."""

import numpy as np
import pytest
from opened_page import look, moved, opened

from dashboard import runs
from dashboard.numbers import Tokens, cells_of
from dashboard.runs import Question
from dashboard.views.table import pairs
from dashboard.words import words_of

EN = words_of("en")
TEXT = "the cat sees the sea"

pytestmark = pytest.mark.usefixtures("two_checkpoints")


@pytest.fixture
def answer():
    return runs.ask(Question("first", TEXT, target="neko umi miru"))


def shown(page):
    (frame,) = page.dataframe
    return frame.value


def test_every_allowed_pair_is_there_once_with_its_weight(answer):
    site = answer.recording.site("decoder", 0)
    frame = pairs(cells_of(answer, site, 1, "weight", "read", Tokens()), "weight")
    pattern = answer.recording.pattern(site, 1).numpy()
    length = len(pattern)
    assert len(frame) == length * (length + 1) // 2
    assert frame["weight"].is_monotonic_decreasing
    for _, query, key, weight, row, column in frame.itertuples():
        assert weight == pytest.approx(float(pattern[row - 1, column - 1]), abs=1e-6)
        assert query == answer.recording.query_tokens(site)[row - 1]
        assert key == answer.recording.key_tokens(site)[column - 1]


def test_the_page_shows_the_selected_head_and_filters_it(answer):
    page = opened(view="table", kind="encoder", layer="2", head="3")
    pattern = answer.recording.pattern(answer.recording.site("encoder", 1), 2).numpy()
    frame = shown(page)
    assert list(frame.columns) == ["query", "key", "weight", "row", "column"]
    assert frame["weight"].tolist() == pytest.approx(sorted(pattern.ravel().tolist(), reverse=True), abs=1e-6)
    keys = answer.recording.key_tokens(answer.recording.site("encoder", 1))
    (column,) = (place for place, key in enumerate(keys) if "c" in key)
    page.text_input(key="table_key").set_value("C").run()
    assert shown(page)["column"].unique().tolist() == [column + 1]
    assert len(shown(page)) == len(pattern)
    least = float(np.median(pattern[:, column]))
    page.number_input(key="table_least").set_value(least).run()
    assert (shown(page)["weight"] >= least).all()
    assert 0 < len(shown(page)) < len(pattern)
    assert EN("table.shown", shown=len(shown(page)), all=pattern.size) in [one.value for one in page.caption]


def test_a_filter_is_text_and_no_pattern():
    page = opened(view="table", kind="encoder")
    page.text_input(key="table_query").set_value("[a-z").run()
    assert not page.exception
    assert shown(page).empty


def test_other_views_have_no_table_and_scores_are_named_so():
    page = opened(kind="encoder")
    assert not page.dataframe
    moved(page, view="table", scale="score")
    assert "score" in shown(page).columns


def test_a_text_too_long_for_single_cells_has_none():
    page = opened(view="table", kind="encoder", source="the cat sees the sea " * 140)
    assert look(page)["view"] == "table"
    assert not page.dataframe
