"""The distribution that tokens are drawn from, worked by hand; draws that follow it and repeat."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from small_models import made_up_pairs, small_model

from transformer.decoding import Decoding, decode, translate
from transformer.sampling import draw, sampling_probabilities

LOGITS = torch.tensor([[0.1, 0.4, 0.2, 0.3]]).log()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [0.1, 0.4, 0.2, 0.3]),
        ({"temperature": 0.5}, [0.01 / 0.3, 0.16 / 0.3, 0.04 / 0.3, 0.09 / 0.3]),
        ({"top_k": 2}, [0, 4 / 7, 0, 3 / 7]),
        ({"top_k": 9}, [0.1, 0.4, 0.2, 0.3]),
        ({"top_p": 0.5}, [0, 4 / 7, 0, 3 / 7]),
        ({"top_p": 0.39}, [0, 1, 0, 0]),
        ({"top_p": 1.0}, [0.1, 0.4, 0.2, 0.3]),
        ({"top_k": 3, "top_p": 0.5}, [0, 4 / 7, 0, 3 / 7]),  # of 4/9, 3/9, 2/9: the second passes the half
        ({"temperature": 1e-6}, [0, 1, 0, 0]),
    ],
)
def test_probabilities_worked_by_hand(options: dict, expected: list[float]) -> None:
    torch.testing.assert_close(sampling_probabilities(LOGITS, **options), torch.tensor([expected], dtype=torch.float32))


@given(st.integers(0, 10_000), st.floats(0.05, 5), st.none() | st.integers(1, 12), st.none() | st.floats(1e-6, 1))
def test_what_is_left_is_the_likeliest_and_sums_to_one(seed, temperature, top_k, top_p) -> None:
    logits = torch.randn(3, 9, generator=torch.Generator().manual_seed(seed)) * 4
    kept = sampling_probabilities(logits, temperature, top_k, top_p)
    torch.testing.assert_close(kept.sum(-1), torch.ones(3))
    for row, original in zip(kept, logits, strict=True):
        assert 1 <= (row > 0).sum() <= (top_k or 9)
        assert original[row > 0].min() >= original[row == 0].max() if (row == 0).any() else True
        if top_p is not None and top_k is None:
            full = (original / temperature).softmax(-1)
            assert full[row > 0].sum() >= top_p - 1e-5
            assert full[row > 0].sum() - full[row > 0].min() < top_p + 1e-5  # without the last one: too little


def test_draws_follow_the_probabilities() -> None:
    probabilities = torch.tensor([0.5, 0.0, 0.2, 0.3])
    rows = 20_000
    generators = [torch.Generator().manual_seed(1)] * rows
    drawn = draw(probabilities.expand(rows, 4), generators).bincount(minlength=4) / rows
    torch.testing.assert_close(drawn, probabilities, atol=0.015, rtol=0)
    assert drawn[1] == 0


def test_nothing_impossible_is_drawn_at_the_ends() -> None:
    generator = torch.Generator().manual_seed(0)
    for row in ([0.0, 1.0, 0.0], [0.0, 1e-30, 0.0], [0.3333333, 0.3333333, 0.0]):
        drawn = draw(torch.tensor([row]).expand(500, 3), [generator] * 500)
        assert set(drawn.tolist()) <= {i for i, p in enumerate(row) if p}


def test_a_seed_repeats_and_company_changes_nothing() -> None:
    model = small_model(tie_output=False)
    source = torch.tensor([[11, 12, 3], [21, 22, 3], [31, 32, 3]])
    once = decode(model, source, 9, Decoding("sample", seed=5))
    assert decode(model, source, 9, Decoding("sample", seed=5)) == once
    assert decode(model, source, 9, Decoding("sample", seed=6)) != once
    assert decode(model, source[1:2], 9, Decoding("sample", seed=5), places=[1])[0] == once[1]
    assert once[0] != once[1]


def test_sampling_from_one_token_is_greedy(trained) -> None:
    texts = [source for source, _ in made_up_pairs()[::5]]
    assert translate(trained, texts, Decoding("sample", top_k=1)) == translate(trained, texts)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"temperature": 0.0}, "temperature must be above 0, not 0.0"),
        ({"temperature": float("nan")}, "temperature must be above 0"),
        ({"top_k": 0}, "top_k must be at least 1, not 0"),
        ({"top_p": 0.0}, "top_p must be above 0 and at most 1, not 0.0"),
        ({"top_p": 1.5}, "top_p must be above 0 and at most 1"),
        ({"beams": 0}, "beams must be at least 1, not 0"),
        ({"method": "best"}, "method must be greedy, beam or sample, not 'best'"),
    ],
)
def test_numbers_that_make_no_sense_are_named(options: dict, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        Decoding(**options)
