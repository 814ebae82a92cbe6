"""Rotary positions, ALiBi and T5's buckets, against their definitions and the Hugging Face implementations."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from parity import normal
from transformers.models.bloom.modeling_bloom import build_alibi_tensor
from transformers.models.t5.modeling_t5 import T5Attention

from transformer.position_schemes import alibi_bias, alibi_slopes, rotary, rotary_factor, t5_buckets

EVEN = st.integers(1, 8).map(lambda pairs: 2 * pairs)


@given(width=EVEN, m=st.integers(0, 200), n=st.integers(0, 200), base=st.floats(2, 1e5), seed=st.integers(0, 9))
def test_a_rotary_product_depends_on_the_offset_alone(width: int, m: int, n: int, base: float, seed: int) -> None:
    query, key = normal(1, width, seed=seed).double(), normal(1, width, seed=seed + 100).double()

    def product(at: int, other: int) -> float:
        turned = rotary(query, torch.tensor([at]), base), rotary(key, torch.tensor([other]), base)
        return float((turned[0] * turned[1]).sum())

    assert product(m, n) == pytest.approx(product(m + 7, n + 7), abs=1e-9)
    expected = 0.0  # each pair as a complex number, turned
    for pair in range(width // 2):
        q, k = (complex(*x[0, 2 * pair : 2 * pair + 2].tolist()) for x in (query, key))
        turn = complex(math.cos((m - n) * base ** (-2 * pair / width)), math.sin((m - n) * base ** (-2 * pair / width)))
        expected += (q * turn * k.conjugate()).real
    assert product(m, n) == pytest.approx(expected, abs=1e-9)


@given(width=EVEN, base=st.floats(2, 1e5), offset=st.integers(-100, 100))
def test_the_factor_is_that_of_equal_vectors(width: int, base: float, offset: int) -> None:
    ones = torch.ones(1, width, dtype=torch.float64)
    product = (rotary(ones, torch.tensor([200 + offset]), base) * rotary(ones, torch.tensor([200]), base)).sum()
    assert rotary_factor(torch.tensor(offset), width, base).item() == pytest.approx(float(product) / width, abs=1e-9)


def test_rotary_keeps_shape_dtype_and_length_and_turns_heads_alike() -> None:
    x = normal(2, 3, 5, 8, seed=1)  # (N, H, L, D)
    turned = rotary(x, torch.arange(5))
    assert (turned.shape, turned.dtype) == (x.shape, x.dtype)
    torch.testing.assert_close(turned.norm(dim=-1), x.norm(dim=-1))
    assert torch.equal(turned[..., 0, :], x[..., 0, :])
    assert torch.equal(rotary(x[1, 2], torch.arange(5)), turned[1, 2])


@pytest.mark.parametrize("width", [0, 3])
def test_rotary_wants_pairs(width: int) -> None:
    with pytest.raises(ValueError, match=f"turn pairs of features, but there are {width}"):
        rotary_factor(torch.tensor([0]), width)
    if width:
        with pytest.raises(ValueError, match="turn pairs of features, but there are 3"):
            rotary(torch.zeros(2, 3), torch.arange(2))


def test_the_slopes_of_the_paper() -> None:
    assert alibi_slopes(8).tolist() == [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256]
    sixteen = [2 ** (-half / 2) for half in range(1, 17)]
    assert alibi_slopes(16).tolist() == pytest.approx(sixteen)
    assert alibi_slopes(1).tolist() == [1 / 256]
    # 12 heads: those of 8, and the first, third, fifth and seventh of 16.
    assert alibi_slopes(12).tolist() == pytest.approx([2.0**-i for i in range(1, 9)] + sixteen[:8:2])


@given(heads=st.integers(1, 40), length=st.integers(1, 9))
def test_alibi_is_that_of_bloom(heads: int, length: int) -> None:
    theirs = build_alibi_tensor(torch.ones(1, length), heads, torch.float32)  # (H, 1, length): slope times position
    torch.testing.assert_close(alibi_slopes(heads)[:, None] * torch.arange(length), theirs[:, 0])


@given(heads=st.integers(1, 20), offset=st.integers(-500, 500))
def test_alibi_takes_off_with_the_distance_and_blocks_what_comes_later(heads: int, offset: int) -> None:
    bias = alibi_bias(torch.tensor([offset]), heads)
    assert bias.shape == (heads, 1)
    expected = -alibi_slopes(heads) * abs(offset) if offset <= 0 else torch.full((heads,), -math.inf)
    torch.testing.assert_close(bias[:, 0], expected)


def test_alibi_wants_heads() -> None:
    for ask in (alibi_slopes, lambda heads: alibi_bias(torch.arange(2), heads)):
        with pytest.raises(ValueError, match="at least one head, not 0"):
            ask(0)


def test_t5_buckets_worked_by_hand() -> None:
    # Of 32 buckets 16 are for a side; 0-7 hold a distance each. From 8 on bucket 8 + j begins at 8 · 16^(j/8), that is
    # at 8, 11.3, 16, 22.6, 32, 45.3, 64 and 90.5.
    begins = {0: 0, 1: 1, 7: 7, 8: 8, 11: 8, 12: 9, 15: 9, 16: 10, 22: 10, 23: 11, 31: 11, 32: 12, 45: 12, 46: 13}
    begins |= {63: 13, 64: 14, 90: 14, 91: 15, 127: 15, 128: 15, 5000: 15}
    distances = torch.tensor(list(begins))
    assert t5_buckets(-distances).tolist() == list(begins.values())
    assert t5_buckets(distances[1:]).tolist() == [16 + bucket for bucket in list(begins.values())[1:]]
    # A decoder has all 32 for what came before: 0-15 hold a distance each, bucket 16 + j begins at 16 · 8^(j/16).
    before = {0: 0, 15: 15, 16: 16, 18: 16, 19: 17, 20: 17, 21: 18, 64: 26, 112: 30, 113: 31, 128: 31, 900: 31}
    assert t5_buckets(-torch.tensor(list(before)), bidirectional=False).tolist() == list(before.values())
    assert t5_buckets(torch.tensor([1, 30, 200]), bidirectional=False).tolist() == [0, 0, 0]


@given(
    offsets=st.lists(st.integers(-2000, 2000), max_size=30), buckets=st.integers(4, 64),
    farther=st.integers(1, 300), bidirectional=st.booleans(),
)  # fmt: skip
def test_a_bucket_is_the_definitions(offsets: list[int], buckets: int, farther: int, bidirectional: bool) -> None:
    own = buckets // 2 if bidirectional else buckets
    near = own // 2
    most = near + farther
    found = t5_buckets(torch.tensor(offsets), buckets, most, bidirectional).tolist()
    for offset, bucket in zip(offsets, found, strict=True):
        distance = abs(offset) if bidirectional else max(-offset, 0)
        inside = bucket - own * (offset > 0) if bidirectional else bucket
        assert 0 <= inside < own
        if distance < near:
            assert inside == distance
            continue
        exact = near + math.log(distance / near) / math.log(most / near) * (own - near)
        # The logarithm rounds where a bucket begins; whole numbers do not.
        assert inside in {min(own - 1, math.floor(exact + nudge)) for nudge in (-1e-9, 1e-9)}


@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize(("buckets", "most"), [(32, 128), (20, 100), (64, 300)])
def test_t5_buckets_are_those_of_hugging_face(buckets: int, most: int, bidirectional: bool) -> None:
    offsets = torch.arange(-400, 401)
    theirs = T5Attention._relative_position_bucket(offsets, bidirectional, buckets, most)
    ours = t5_buckets(offsets, buckets, most, bidirectional)
    # Theirs are rounded in single precision: they may differ by one where a bucket begins, and nowhere else.
    differ = ours != theirs
    assert differ.float().mean() < 0.01
    assert (ours - theirs).abs().max() <= 1
    if (buckets, most) == (32, 128):
        assert not differ.any()


@given(buckets=st.integers(8, 64), farther=st.integers(1, 300))
def test_farther_keys_have_no_earlier_bucket_and_the_last_begins_at_the_limit_or_before(
    buckets: int, farther: int
) -> None:
    most = buckets // 2 + farther
    found = t5_buckets(-torch.arange(most + 50), buckets, most, bidirectional=False)
    assert (found.diff() >= 0).all()
    assert (found[most:] == buckets - 1).all()


@pytest.mark.parametrize(("buckets", "most", "bidirectional"), [(3, 9, True), (1, 9, False), (32, 8, True)])
def test_too_few_buckets_are_refused(buckets: int, most: int, bidirectional: bool) -> None:
    with pytest.raises(ValueError, match="leave no room for near and far ones"):
        t5_buckets(torch.tensor([0]), buckets, most, bidirectional)
