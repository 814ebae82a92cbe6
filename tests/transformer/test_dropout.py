"""Dropout with masks drawn four at a time: the share that falls, what is left, and its gradient."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from transformer.dropout import Dropout, dropout_mask


@given(st.floats(0.001, 0.999), st.integers(0, 2**31))
def test_every_entry_is_dropped_or_scaled_up(p: float, seed: int) -> None:
    torch.manual_seed(seed)
    mask = dropout_mask(torch.Size((7, 11, 13)), p, torch.float32)
    kept = mask[mask != 0]
    assert mask.shape == (7, 11, 13)
    assert (1 - 1 / kept.double() - p).abs().le(1 / 65536).all()


@pytest.mark.parametrize("p", [0.02, 0.25, 0.5, 0.9])
def test_the_share_that_falls_is_p_in_every_lane_of_a_draw(p: float) -> None:
    """Four entries share a draw: each of the four must fall as often, and one must not tell of another."""
    torch.manual_seed(1)
    fallen = (dropout_mask(torch.Size((200_000, 4)), p, torch.float32) == 0).double()
    torch.testing.assert_close(fallen.mean(0), torch.full((4,), p, dtype=torch.double), atol=0.006, rtol=0)
    together = torch.corrcoef(fallen.T)
    torch.testing.assert_close(together, torch.eye(4, dtype=torch.double), atol=0.012, rtol=0)
    neighbours = torch.corrcoef(torch.stack([fallen[:-1, 0], fallen[1:, 0]]))[0, 1]
    assert abs(neighbours) < 0.012


def test_the_gradient_goes_where_the_value_went() -> None:
    torch.manual_seed(2)
    x = torch.randn(5, 6, requires_grad=True)
    y = Dropout(0.4)(x)
    y.sum().backward()
    torch.testing.assert_close(x.grad * x, y)


@pytest.mark.parametrize("p", [0.0, 1.0])
def test_nothing_or_everything_falls(p: float) -> None:
    torch.testing.assert_close(Dropout(p)(torch.ones(9)), torch.full((9,), 1 - p))


def test_eval_changes_nothing_and_a_seed_repeats() -> None:
    layer, x = Dropout(0.5), torch.randn(33)
    assert torch.equal(layer.eval()(x), x)
    layer.train()
    outputs = []
    for seed in (3, 3, 4):
        torch.manual_seed(seed)
        outputs.append(layer(x))
    assert torch.equal(outputs[0], outputs[1])
    assert not torch.equal(outputs[0], outputs[2])
