"""Wavelengths, turns and products of positions, against their definitions."""

import math
from typing import get_args

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from parity import normal

from transformer.position_geometry import (
    by_offset,
    cosines,
    dot_products,
    features_of_pair,
    rotation,
    wavelengths,
)
from transformer.positions import Layout, angular_steps, sinusoidal_table

WIDTHS, EVEN = st.integers(1, 17), st.integers(1, 9).map(lambda pairs: 2 * pairs)
BASES = st.floats(2, 1e6)
LAYOUTS = st.sampled_from(get_args(Layout))


def double(*size: object) -> torch.Tensor:
    return sinusoidal_table(*size, dtype=torch.float64)


@given(width=WIDTHS, base=BASES, layout=LAYOUTS, position=st.integers(0, 50))
def test_after_its_wavelength_a_feature_comes_round_again(
    width: int, base: float, layout: Layout, position: int
) -> None:
    table = double(position + 1, width, base, layout)[position]
    lengths = wavelengths(width, base, layout)
    assert lengths.shape == (width,)
    sines = (width + 1) // 2
    for feature, (value, length) in enumerate(zip(table.tolist(), lengths.tolist(), strict=True)):
        is_cosine = feature % 2 if layout == "interleaved" else feature >= sines
        wave = math.cos if is_cosine else math.sin
        assert value == pytest.approx(wave(2 * math.pi * position / length), abs=1e-9)
        assert value == pytest.approx(wave(2 * math.pi * (position + length) / length), abs=1e-9)


def test_wavelengths_worked_by_hand() -> None:
    turn = 2 * math.pi
    assert wavelengths(4, 100.0).tolist() == pytest.approx([turn, turn, 10 * turn, 10 * turn])
    assert wavelengths(5, 32.0, "halves").tolist() == pytest.approx([turn, 4 * turn, 16 * turn, turn, 4 * turn])


@given(width=st.integers(2, 17), layout=LAYOUTS, data=st.data())
def test_from_p_to_p_plus_k_is_one_turn_whatever_p_is(width: int, layout: Layout, data: st.DataObject) -> None:
    p, k = data.draw(st.integers(0, 300)), data.draw(st.integers(-300, 300))
    p = max(p, -k)
    base = data.draw(BASES)
    pair = data.draw(st.integers(0, width // 2 - 1))
    table = sinusoidal_table(p + abs(k) + 1, width, base, layout)
    features = list(features_of_pair(pair, width, layout))
    turn = rotation(k * angular_steps(width, base)[pair]).float()
    torch.testing.assert_close(turn @ table[p, features], table[p + k, features], rtol=0, atol=1e-5)


@given(angle=st.floats(-10, 10), other=st.floats(-10, 10))
def test_turns_keep_lengths_and_add_up(angle: float, other: float) -> None:
    one, two, both = (rotation(torch.tensor(a, dtype=torch.float64)) for a in (angle, other, angle + other))
    torch.testing.assert_close(one @ one.T, torch.eye(2, dtype=torch.float64))
    torch.testing.assert_close(one @ two, both)


def test_a_quarter_turn_and_many_angles_at_once() -> None:
    turns = rotation(torch.tensor([0.0, math.pi / 2, math.pi]))
    assert turns.shape == (3, 2, 2)
    expected = torch.tensor([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [-1.0, 0.0]], [[-1.0, 0.0], [0.0, -1.0]]])
    torch.testing.assert_close(turns, expected, rtol=0, atol=1e-6)


@given(width=st.integers(2, 40), layout=LAYOUTS)
def test_the_features_of_all_pairs_are_all_features_but_the_last_sine_of_an_odd_width(
    width: int, layout: Layout
) -> None:
    found = [feature for pair in range(width // 2) for feature in features_of_pair(pair, width, layout)]
    alone = {width - 1 if layout == "interleaved" else width // 2} if width % 2 else set()
    assert sorted(found) == sorted(set(range(width)) - alone)
    for pair in (-1, width // 2):
        with pytest.raises(IndexError, match=f"pair is {pair}, but {width} features make {width // 2}"):
            features_of_pair(pair, width, layout)


@given(width=EVEN, length=st.integers(1, 30), base=BASES, layout=LAYOUTS)
def test_the_dot_product_of_sinusoids_depends_on_the_offset_alone(
    width: int, length: int, base: float, layout: Layout
) -> None:
    found = by_offset(dot_products(double(length, width, base, layout)))
    offsets = torch.arange(1 - length, length)
    expected = (offsets[:, None] * angular_steps(width, base)).cos().sum(dim=1)
    for seen in (found.mean, found.least, found.most):
        torch.testing.assert_close(seen, expected, rtol=0, atol=1e-9)
    torch.testing.assert_close(by_offset(cosines(double(length, width, base, layout))).mean, expected / (width / 2))


@given(length=st.integers(1, 12), width=st.integers(1, 6), seed=st.integers(0, 9))
def test_products_of_any_vectors(length: int, width: int, seed: int) -> None:
    table = normal(length, width, seed=seed)
    dots, cosine = dot_products(table), cosines(table)
    for i in range(length):
        for j in range(length):
            one, other = table[i].double(), table[j].double()
            assert dots[i, j].item() == pytest.approx(float(one @ other), abs=1e-9)
            assert cosine[i, j].item() == pytest.approx(float(one @ other / one.norm() / other.norm()), abs=1e-9)
    found = by_offset(dots)
    assert found.mean.shape == (2 * length - 1,)
    for place, offset in enumerate(range(1 - length, length)):
        values = [dots[i, i + offset].item() for i in range(length) if 0 <= i + offset < length]
        assert found.mean[place].item() == pytest.approx(sum(values) / len(values), abs=1e-9)
        assert (found.least[place].item(), found.most[place].item()) == (min(values), max(values))


def test_offsets_count_from_the_row_to_the_column() -> None:
    found = by_offset(torch.tensor([[1.0, 20.0, 300.0], [4.0, 5.0, 60.0], [7.0, 8.0, 9.0]]))
    assert found.mean.tolist() == [7.0, 6.0, 5.0, 40.0, 300.0]
    assert found.least.tolist() == [7.0, 4.0, 1.0, 20.0, 300.0]
    assert found.most.tolist() == [7.0, 8.0, 9.0, 60.0, 300.0]


def test_a_vector_of_zeros_has_a_cosine_of_zero() -> None:
    assert cosines(torch.tensor([[0.0, 0.0], [3.0, 4.0]])).tolist() == [[0.0, 0.0], [0.0, pytest.approx(1.0)]]


@pytest.mark.parametrize("shape", [(2, 3), (0, 0), (4,)])
def test_only_square_matrices_have_offsets(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="square matrix, but the shape is"):
        by_offset(torch.zeros(shape))
