"""A number taken apart: its terms add up, each line follows from the one before, and they end at the number."""

import functools
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from small_models import padded_batch, small_model
from torch import nn

from transformer import breakdown, record
from transformer.walk import walk

INF = math.inf
FOLLOWS = {
    "scale": lambda before, number: before * number,
    "position": lambda before, number: before + number,
    "sublayer": lambda before, number: before + number,
    "mean": lambda before, number: before - number,
    "deviation": lambda before, number: before / number,
    "gain": lambda before, number: before * number,
    "shift": lambda before, number: before + number,
    "bias": lambda before, number: before + number,
    "root": lambda before, number: before / number,
    "mask": lambda before, number: before + number,
    "largest": lambda before, number: before - number,
    "exp": lambda before, number: math.exp(before),
    "share": lambda before, number: before / number,
    "activation": lambda before, number: max(0.0, before),
}
BEGINS = {"start", "taken", "row", "column", "head", "sum", "nothing"}


@functools.cache
def way(norm_first, kind, layer, head, sentence):
    model = small_model(seed=4, num_decoder_layers=2, norm_first=norm_first)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
        with record(model) as recording:
            model(*padded_batch())
    return walk(model, recording, kind, layer, head, sentence)


ways = st.builds(
    way,
    st.booleans(),
    st.sampled_from(["encoder", "decoder", "cross"]),
    st.integers(0, 1),
    st.integers(0, 2),
    st.integers(0, 2),
)


def reckoned_out(walked, values, row, column):
    cell = values.explain(row, column)
    assert cell.value == pytest.approx(float(values.tensor[row, column]), abs=1e-5)
    if cell.terms is not None:
        terms = cell.terms
        made = np.exp(terms.left) if terms.right is None else terms.left * terms.right
        np.testing.assert_allclose(terms.results, made)
        assert len(terms.results) == walked.sizes[terms.over]
        assert cell.lines[0] == breakdown.Line("sum", None, pytest.approx(terms.results.sum()))
    assert cell.lines[0].sign in BEGINS
    before = cell.lines[0].result
    for line in cell.lines[1:]:
        if line.sign == "nothing":
            assert (before, line.result) == (-INF, 0)
        elif cell.terms is not None and cell.terms.right is None:  # of the row; then the key's own
            break
        else:
            assert line.result == pytest.approx(FOLLOWS[line.sign](before, line.number), rel=1e-6, abs=1e-6)
        before = line.result


@given(ways, st.data())
def test_every_number_is_reckoned_out(walked, data):
    step = walked.steps[data.draw(st.integers(0, len(walked.steps) - 1))]
    values = step.values[data.draw(st.integers(0, len(step.values) - 1))]
    reckoned_out(walked, values, *(data.draw(st.integers(0, size - 1)) for size in values.tensor.shape))


@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
@pytest.mark.parametrize("layer", [0, 1])
def test_numbers_of_every_step_are_reckoned_out(norm_first, kind, layer):
    walked = way(norm_first, kind, layer, head=1, sentence=0)
    for step in walked.steps:
        for values in step.values:
            rows, columns = values.tensor.shape
            for row, column in {(0, 0), (rows - 1, columns - 1), (rows // 2, columns // 3)}:
                reckoned_out(walked, values, row, column)


@given(ways, st.data())
def test_a_score_is_followed_to_its_weight(walked, data):
    masked, weights = walked.step("mask").tensor, walked.step("softmax").tensor
    row, column = (data.draw(st.integers(0, size - 1)) for size in weights.shape)
    for name, own in (("scores", "root"), ("mask", "mask")):
        cell = walked.step(name).values[0].explain(row, column)
        assert cell.lines[cell.own].sign == own
        assert cell.lines[-1].result == pytest.approx(float(weights[row, column]), abs=1e-6)
        query, key = (one.tensor for one in walked.step("heads").values[:2])
        np.testing.assert_allclose(cell.terms.left, query[row].numpy())
        np.testing.assert_allclose(cell.terms.right, key[column].numpy())
    cells = [walked.step("softmax").values[0].explain(row, at) for at in range(weights.size(1))]
    if (masked[row] == -INF).all():
        assert [one.lines for one in cells] == [(breakdown.Line("nothing", None, 0.0),)] * len(cells)
    else:
        assert sum(one.value for one in cells) == pytest.approx(1)
        one = cells[column]
        assert [line.sign for line in one.lines] == ["sum", "exp", "share"]
        assert one.lines[0].result == one.lines[2].number
        assert one.terms.results[column] == one.lines[1].result
        assert one.terms.results.max() == 1


@given(ways, st.data())
def test_what_is_only_taken_says_from_where(walked, data):
    projected, width = walked.step("projection").values, walked.sizes["D"]
    at = data.draw(st.integers(0, 2))
    head = walked.step("heads").values[at]
    row, column = (data.draw(st.integers(0, size - 1)) for size in head.tensor.shape)
    (line,) = head.explain(row, column).lines
    assert projected[at].tensor[row, line.number - 1] == line.result == head.tensor[row, column]
    (line,) = walked.step("joined").values[0].explain(0, line.number - 1).lines  # a column of the same head
    assert (line.number - 1) * width <= walked.step("heads").values[0].explain(0, column).lines[0].number - 1
    assert walked.step("heads").values[0].explain(0, column).lines[0].number <= line.number * width
    if walked.steps[0].name == "ids":
        ids, embedding = walked.step("ids"), walked.step("embedding").values[0]
        assert embedding.explain(1, 2).lines[0].number == int(ids.tensor[1, 0])


def test_by_hand():
    query, key = torch.tensor([[1.0, 2, 0, 1]]).double(), torch.tensor([[2.0, 1, 5, 0], [0, 0, 0, 2]]).double()
    mask = torch.tensor([[0.0, -1.0]]).double()
    cell = breakdown.weighed(query, key, mask, "root")(0, 0)
    assert cell.terms.results.tolist() == [2, 2, 0, 0]
    share = 1 / (1 + math.exp(0.5 * 2 - 1 - 2))  # beside 2 / 2 - 1 = 0
    assert [(line.sign, line.number, line.result) for line in cell.lines] == [
        ("sum", None, 4), ("root", 2, 2), ("mask", 0, 2), ("largest", 2, 0), ("exp", None, 1),
        ("share", pytest.approx(1 / share), pytest.approx(share)),
    ]  # fmt: skip
    assert (cell.own, cell.value) == (1, 2)
    assert breakdown.weighed(query, key, mask, "mask")(0, 1).value == 0


def test_what_is_blocked_has_no_weight_and_a_row_without_keys_none_at_all():
    one = torch.ones(2, 4).double()
    mask = torch.tensor([[0.0, -INF], [-INF, -INF]]).double()
    blocked = breakdown.weighed(one, one, mask, "mask")
    assert [line.result for line in blocked(0, 1).lines] == [4, 2, -INF, -INF, 0, 0]
    assert blocked(0, 1).value == -INF
    assert [line.sign for line in blocked(1, 0).lines] == ["sum", "root", "mask", "nothing"]
    assert blocked(1, 0).lines[-1].result == 0
    shared = breakdown.shared_out(2 + mask)
    assert shared(0, 1).value == 0
    assert shared(0, 1).terms.results.tolist() == [1, 0]
    assert shared(1, 1).lines == (breakdown.Line("nothing", None, 0.0),)
    assert shared(1, 1).terms is None


def test_a_row_is_normalised_by_hand():
    norm = nn.LayerNorm(4, eps=0.0)
    with torch.no_grad():
        norm.weight.copy_(torch.tensor([1.0, 1, 1, 3]))
        norm.bias.copy_(torch.tensor([0.0, 0, 0, -1]))
    cell = breakdown.normalised(torch.tensor([[1.0, 1, 3, 3]]).double(), norm)(0, 3)
    assert [(line.sign, line.number, line.result) for line in cell.lines] == [
        ("start", None, 3), ("mean", 2, 1), ("deviation", 1, 1), ("gain", 3, 3), ("shift", -1, 2),
    ]  # fmt: skip


def test_one_after_the_other():
    x, y = torch.tensor([[1.0, 3]]).double(), torch.tensor([[1.0, 3]]).double()
    norm = nn.LayerNorm(2)
    with torch.no_grad():
        norm.bias.fill_(3)
    both = breakdown.then(breakdown.changed(x, "sublayer", y, x + y), breakdown.normalised(x + y, norm))
    cell = both(0, 1)
    assert [line.sign for line in cell.lines] == ["start", "sublayer", "mean", "deviation", "gain", "shift"]
    assert cell.lines[1].result == 6
    assert cell.value == cell.lines[-1].result == pytest.approx(4, abs=1e-4)
