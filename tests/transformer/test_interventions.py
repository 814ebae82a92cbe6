"""A head switched off gives zeros, in its block and its thread only, and leaves the model as it was."""

import copy
import threading

import pytest
import torch
from small_models import padded_batch, small_model

from transformer import MultiheadAttention, record
from transformer.interventions import switched_off

SITES = [
    "transformer.encoder.layers.1.self_attn",
    "transformer.decoder.layers.0.self_attn",
    "transformer.decoder.layers.0.multihead_attn",
]
CROSS = SITES[-1]


@pytest.fixture(scope="module")
def model():
    return small_model().requires_grad_(False)


def without_columns(model, site: str, heads: range) -> torch.Tensor:
    """The logits of a copy whose out-projection does not read those heads."""
    changed = copy.deepcopy(model)
    attention = changed.get_submodule(site)
    for head in heads:
        attention.out_proj.weight[:, head * attention.head_dim : (head + 1) * attention.head_dim] = 0
    return changed(*padded_batch())


@pytest.mark.parametrize("site", SITES)
@pytest.mark.parametrize("head", [0, 1, 2])
def test_a_head_switched_off_is_one_that_the_out_projection_does_not_read(model, site, head):
    expected = without_columns(model, site, range(head, head + 1))
    with switched_off(model, site, head):
        logits = model(*padded_batch())
    torch.testing.assert_close(logits, expected)
    assert not torch.allclose(logits, model(*padded_batch()), atol=1e-4)


def test_a_whole_site_is_switched_off_at_once_or_head_by_head(model):
    expected = without_columns(model, CROSS, range(3))
    with switched_off(model, CROSS):
        torch.testing.assert_close(model(*padded_batch()), expected)
    with switched_off(model, CROSS, 0), switched_off(model, CROSS, 2), switched_off(model, CROSS, 1):
        torch.testing.assert_close(model(*padded_batch()), expected)


def test_blocks_nest_across_sites_and_end_one_by_one(model):
    with switched_off(model, SITES[0], 1):
        outer = model(*padded_batch())
        with switched_off(model, CROSS, 2):
            both = model(*padded_batch())
        assert torch.equal(model(*padded_batch()), outer)
    assert not torch.equal(both, outer)


def test_nothing_stays_on_the_model_even_after_an_error():
    model = small_model()
    before, state = model(*padded_batch()), set(vars(model.get_submodule(CROSS).attention))
    with pytest.raises(RuntimeError, match="halfway"), switched_off(model, CROSS, 0):
        raise RuntimeError("halfway")
    assert torch.equal(model(*padded_batch()), before)
    assert all(not module._forward_hooks for module in model.modules())
    assert set(vars(model.get_submodule(CROSS).attention)) == state


def test_the_pattern_is_that_of_the_head_all_the_same(model):
    attention = model.get_submodule(CROSS)
    x = torch.randn(2, 4, 24)
    expected = attention(x, x, x, average_attn_weights=False)[1]
    with switched_off(model, CROSS, 1), record(model) as recording:
        pattern = attention(x, x, x, average_attn_weights=False)[1]
    assert torch.equal(pattern, expected)
    torch.testing.assert_close(recording.pattern(CROSS, sentence=1), expected[1])


def test_gradients_flow_through_the_other_heads_only():
    attention = MultiheadAttention(8, num_heads=2, batch_first=True)
    x = torch.randn(1, 3, 8)
    with switched_off(attention, "", 0):
        attention(x, x, x)[0].sum().backward()
    gradient = attention.out_proj.weight.grad
    assert gradient[:, :4].eq(0).all()
    assert gradient[:, 4:].ne(0).any()


def test_other_threads_do_not_see_it(model):
    plain = model(*padded_batch())
    expected = {head: without_columns(model, CROSS, range(head, head + 1)) for head in range(3)}
    start, wrong = threading.Barrier(6), []

    def run(head: int | None) -> None:
        start.wait()
        for _ in range(40):
            if head is None:
                logits, wanted = model(*padded_batch()), plain
            else:
                with switched_off(model, CROSS, head):
                    logits, wanted = model(*padded_batch()), expected[head]
            if not torch.allclose(logits, wanted, atol=1e-6):
                wrong.append(head)

    threads = [threading.Thread(target=run, args=(head,)) for head in (0, 1, 2, None, None, None)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.parametrize(
    ("site", "head", "said"),
    [
        ("decoder.layers.9.self_attn", 0, "no attention at 'decoder.layers.9.self_attn'"),
        ("transformer", None, "no attention at 'transformer'"),
        (CROSS, 3, "head is 3, but .*multihead_attn has 3"),
        (CROSS, -1, "head is -1"),
    ],
)
def test_what_is_not_there_cannot_be_switched_off(model, site, head, said):
    with pytest.raises(ValueError, match=said), switched_off(model, site, head):
        pass
