"""What the page "inside a layer" is drawn from: the walk's tensors, small pictures, and one number taken apart."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from test_components import unpacked
from test_served import asked

from dashboard import inside_numbers, offered, runs
from dashboard.figures.colours import full_colour
from dashboard.inside_numbers import cell_numbers, small, tensor_numbers, walk_numbers
from dashboard.runs import Answer, Question
from transformer.walk import walk

SOURCE, TARGET = "the dog sees <b>the sea</b>", "inu umi miru"
PLACES = [("encoder", 0, 2), ("encoder", 1, 0), ("decoder", 0, 1), ("cross", 0, 2)]

pytestmark = pytest.mark.usefixtures("two_checkpoints")


@pytest.fixture
def answer():
    return runs.ask(Question("first", SOURCE, TARGET))


def way_of(answer, kind, layer, head):
    return walk(answer.model, answer.recording, kind, layer, head)


@pytest.mark.parametrize("place", PLACES)
def test_the_steps_are_those_of_the_walk(answer, place):
    got, way = walk_numbers(answer, *place), way_of(answer, *place)
    assert [(one["name"], one["part"]) for one in got["steps"]] == [(one.name, one.part) for one in way.steps]
    assert got["sizes"] == way.sizes
    assert (got["norm_first"], got["activation"]) == (True, "relu")
    for step, one in zip(got["steps"], way.steps, strict=True):
        assert [facts["name"] for facts in step["tensors"]] == [values.name for values in one.values]
        for facts, values in zip(step["tensors"], one.values, strict=True):
            assert facts["shape"] == {"batch_first": values.shape(True), "length_first": values.shape(False)}
            assert len(got["tokens"][facts["rows"]]["labels"]) == len(values.tensor)
            assert (facts["columns"] == "") == (step["name"] == "ids")


@pytest.mark.parametrize("place", PLACES)
def test_every_tensor_is_sent_as_it_is(answer, place):
    way = way_of(answer, *place)
    for step in way.steps:
        got = tensor_numbers(answer, *place, step.name)
        for one, values in zip(got["tensors"], step.values, strict=True):
            expected = values.tensor.numpy()
            np.testing.assert_array_equal(one["cells"], np.where(np.isneginf(expected), np.nan, expected))
            assert one["size"] == list(expected.shape)
            assert one["blocked"] == bool(np.isneginf(expected).any())
            if step.name == "softmax":
                assert (one["low"], one["high"]) == (0, full_colour(expected.shape[1]))
                assert "most" not in one
            else:
                assert np.mean(np.abs(expected[np.isfinite(expected)]) <= one["most"]) >= 0.99
        assert got["ours"]
        assert all(one["lit"] and one["lines"] for one in (*got["ours"], *got["torch"]))


def test_tokens_are_those_that_ran(answer):
    got = walk_numbers(answer, "cross", 0, 0)["tokens"]
    site = answer.recording.site("cross", 0)
    assert got["L"]["labels"][0] == "<s>"
    assert got["L"]["special"][0]
    assert (len(got["L"]["labels"]), len(got["S"]["labels"])) == answer.recording.pattern(site, 0).shape
    assert "<" in got["S"]["labels"]


@pytest.mark.parametrize("place", PLACES)
def test_a_number_is_sent_with_how_it_came_about(answer, place):
    way = way_of(answer, *place)
    for step in way.steps:
        for values in step.values:
            row, column = (size - 1 for size in values.tensor.shape)
            got, cell = cell_numbers(answer, *place, step.name, values.name, row, column), values.explain(row, column)
            assert [(one["sign"], one["number"], one["result"]) for one in got["lines"]] == [
                (line.sign, line.number, line.result) for line in cell.lines
            ]
            assert got["own"] == cell.own
            assert got["over"] == (cell.terms and cell.terms.over)
            if cell.terms is not None:
                np.testing.assert_allclose(got["results"], cell.terms.results, rtol=1e-6, atol=1e-7)
                np.testing.assert_allclose(got["left"], cell.terms.left, rtol=1e-6, atol=1e-7)
            assert (got["right"] is None) == (cell.terms is None or cell.terms.right is None)


def test_a_logit_is_named_by_its_token(answer):
    place = ("decoder", 0, 0)
    (name,) = answer.recording.labels("target", [270])
    assert cell_numbers(answer, *place, "logits", "", 1, 270)["token"] == name
    assert cell_numbers(answer, *place, "scores", "", 1, 1)["token"] is None


# Over HTTP.

PLACE = {"kind": "cross", "layer": "0", "head": "1"}


def test_the_browser_asks_by_its_own_words(answer):
    key, place = offered.offer(answer), ("cross", 0, 1)
    assert unpacked(asked(key, "walk", **PLACE).body)["sizes"] == walk_numbers(answer, *place)["sizes"]
    got = unpacked(asked(key, "walk_tensors", **PLACE, step="scores").body)
    np.testing.assert_array_equal(
        got["tensors"][0]["cells"], answer.recording.scores(answer.recording.site("cross", 0), 1)
    )
    cell = {"tensor": "k", "row": "2", "column": "3"}
    got = unpacked(asked(key, "walk_cell", **PLACE, step="projection", **cell).body)
    expected = cell_numbers(answer, *place, "projection", "k", 2, 3)
    np.testing.assert_array_equal(got["results"], expected["results"])
    assert got["lines"] == expected["lines"]


def test_what_is_blocked_travels_as_null(answer):
    key = offered.offer(answer)
    asked_for = {"kind": "decoder", "layer": "0", "head": "0", "step": "mask", "tensor": "", "row": "0", "column": "1"}
    lines = unpacked(asked(key, "walk_cell", **asked_for).body)["lines"]
    assert [(one["sign"], one["number"], one["result"]) for one in lines[2:3]] == [("mask", None, None)]
    assert lines[-1]["result"] == 0


CELL = PLACE | {"step": "scores", "tensor": "", "row": "0", "column": "0"}


@pytest.mark.parametrize(
    ("what", "changes", "status"),
    [
        ("walk", {"layer": "9"}, 404),
        ("walk", {"head": "3"}, 404),
        ("walk", {"head": "-1"}, 400),
        ("walk", {"head": "mean"}, 400),
        ("walk", {"kind": "sideways"}, 400),
        ("walk_tensors", {"step": "nowhere"}, 400),
        ("walk_tensors", {"step": "final_norm", "kind": "encoder"}, 404),
        ("walk_cell", {"row": "99"}, 404),
        ("walk_cell", {"column": "-1"}, 400),
        ("walk_cell", {"tensor": "q"}, 404),
        ("walk_cell", {"tensor": "x"}, 400),
    ],
)
def test_questions_that_make_no_sense_are_refused_in_a_sentence(answer, what, changes, status):
    response = asked(offered.offer(answer), what, **(CELL | changes))
    assert response.status_code == status
    assert 0 < len(response.body) < 250


def test_a_long_text_and_a_recording_without_a_model_are_refused(answer, monkeypatch):
    opened = Answer(answer.recording)
    response = asked(offered.offer(opened), "walk", **PLACE)
    assert (response.status_code, b"no model" in response.body) == (400, True)
    monkeypatch.setattr(inside_numbers, "MOST_TOKENS", 5)
    response = asked(offered.offer(answer), "walk", **PLACE)
    assert (response.status_code, b"more than 5 tokens" in response.body) == (400, True)


# Small pictures.


def test_of_several_cells_the_largest_of_either_sign_shows():
    cells = np.zeros((1, 56), np.float32)
    cells[0, [3, 10, 11]] = -5, 2, -1
    got = small(cells)
    assert got["size"] == [1, 28]
    assert got["cells"][0, 1] == -5
    assert got["cells"][0, 5] == 2
    assert np.count_nonzero(got["cells"]) == 2


@given(arrays(np.float32, st.tuples(st.integers(1, 40), st.integers(1, 90)), elements=st.floats(-9, 9, width=32)))
def test_a_small_picture_keeps_the_largest_number_and_its_place(cells):
    got = small(cells)
    rows, columns = got["size"]
    assert (rows, columns) == (min(12, cells.shape[0]), min(28, cells.shape[1])) == got["cells"].shape
    assert np.abs(got["cells"]).max() == np.abs(cells).max()
    edges = [
        np.cumsum([0, *(len(part) for part in np.array_split(np.arange(size), most))])
        for size, most in zip(cells.shape, (rows, columns), strict=True)
    ]
    for row, (top, bottom) in enumerate(pairwise(edges[0])):
        for column, (left, right) in enumerate(pairwise(edges[1])):
            assert got["cells"][row, column] in cells[top:bottom, left:right]


def test_what_is_blocked_shows_only_where_nothing_else_is():
    cells = np.full((1, 56), np.nan, np.float32)
    cells[0, 0] = -0.5
    got = small(cells)["cells"]
    assert got[0, 0] == -0.5
    assert np.isnan(got[0, 1:]).all()
