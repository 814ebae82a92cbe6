"""Leak and padding tests find what is wrong with a model, and find nothing where nothing is."""

import pytest
import torch
from small_models import small_model

from transformer import TransformerEncoder, TransformerEncoderLayer, assert_causal, assert_padding_invariant
from transformer.bugs import Bug
from transformer.interventions import EditMask, edited
from transformer.mask_rules import BLOCKED, Chosen, MaskRule
from transformer.probes import LONGEST, leaks, padding_moves

SOURCE, TARGET = torch.tensor([11, 12, 13, 14, 3]), torch.tensor([2, 41, 42, 43])


def of_target(model):
    return lambda target: model(SOURCE.expand(len(target), -1), target)


def of_source(model):
    return lambda source: model(source, TARGET.expand(len(source), -1))


@pytest.fixture(scope="module")
def model():
    return small_model().requires_grad_(False)


def test_a_change_is_what_another_token_changes(model):
    found = leaks(of_target(model), TARGET, torch.tensor([5, 51, 52, 53]))
    logits = model(SOURCE[None], TARGET[None])
    for place, other in enumerate([5, 51, 52, 53]):
        changed = TARGET.clone()
        changed[place] = other
        expected = (model(SOURCE[None], changed[None]) - logits).abs().amax(dim=-1)[0]
        torch.testing.assert_close(found[:, place], expected, atol=1e-5, rtol=1e-4)
    assert found.tril().gt(0).sum() == 10
    assert found.triu(1).max() < 1e-5


def test_a_decoder_is_causal_and_an_encoder_is_not(model):
    assert_causal(of_target(model), TARGET)
    encoder = small_model(architecture="encoder", tie_output=False).requires_grad_(False)
    with pytest.raises(AssertionError, match=r"Output \d depends on token \d, which comes after it"):
        assert_causal(encoder, SOURCE)


@pytest.mark.parametrize("bug", ["no_causal_mask", "inverted_mask", "masked_with_zero", "softmax_over_queries"])
def test_mistakes_that_let_the_future_in_are_found(model, bug):
    with pytest.raises(AssertionError, match="comes after it"):
        assert_causal(of_target(edited(model, [Bug(bug)])), TARGET)


def test_one_unblocked_cell_is_one_leak(model):
    leaky = edited(model, [EditMask("decoder", rule=MaskRule(cells=((1, 3, 0.0),)))])
    with pytest.raises(AssertionError, match="Output 1 depends on token 3"):
        assert_causal(of_target(leaky), TARGET)


def test_what_no_head_reads_changes_nothing(model):
    """Blocked everywhere, a source token could as well be another one."""
    nobody = MaskRule(cells=tuple((query, 2, BLOCKED) for query in range(5)))
    deaf = edited(model, [EditMask("encoder", rule=nobody), EditMask("cross", rule=nobody)])
    found = leaks(lambda source: model_logits(deaf, source), SOURCE, SOURCE + 100)
    assert found[:, 2].max() < 1e-5
    assert found[:, 1].min() > 1e-4


def model_logits(model, source):
    """As many outputs as inputs, for a map."""
    return model(source, torch.tensor([2, 41, 42, 43, 44]).expand(len(source), -1))


def test_padding_moves_nothing_where_it_is_masked(model):
    assert_padding_invariant(of_source(model), SOURCE, pad_id=0)
    assert_padding_invariant(of_target(model), TARGET, pad_id=0)
    assert padding_moves(of_source(model), SOURCE, 0, most=3).shape == (3, 4)


def test_padding_that_is_looked_at_is_found(model):
    seen = edited(model, [EditMask("cross", rule=MaskRule(own=False))])
    with pytest.raises(AssertionError, match=r"Output \d moves when \d pads are added"):
        assert_padding_invariant(of_source(seen), SOURCE, pad_id=0)


def test_not_a_number_is_no_proof():
    with pytest.raises(AssertionError, match="nan"):
        assert_causal(lambda ids: torch.full((*ids.shape, 3), torch.nan), TARGET)
    with pytest.raises(AssertionError, match="nan"):
        assert_padding_invariant(lambda ids: torch.full((*ids.shape, 3), torch.nan), TARGET, 0)


def test_torchs_own_modules_can_be_tried_too():
    torch.manual_seed(0)
    embedding, head = torch.nn.Embedding(20, 8), torch.nn.Linear(8, 20)
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    causal = torch.nn.Transformer.generate_square_subsequent_mask(5)
    ids = torch.tensor([3, 4, 5, 6, 7])
    assert_causal(lambda ids: head(layer(embedding(ids), src_mask=causal)), ids)
    with pytest.raises(AssertionError):
        assert_causal(lambda ids: head(layer(embedding(ids))), ids)


def test_what_cannot_be_tried_is_said(model):
    with pytest.raises(ValueError, match="another one"):
        leaks(of_target(model), TARGET, TARGET)
    with pytest.raises(ValueError, match=f"at most {LONGEST} tokens"):
        leaks(of_target(model), torch.ones(LONGEST + 1).long(), torch.zeros(LONGEST + 1).long())
    with pytest.raises(ValueError, match="At least one pad"):
        padding_moves(of_target(model), TARGET, 0, most=0)


def test_ours_and_torchs_encoder_leak_alike():
    torch.manual_seed(0)
    theirs = torch.nn.TransformerEncoder(
        torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2, enable_nested_tensor=False
    ).eval()
    ours = TransformerEncoder(TransformerEncoderLayer(8, 2, 16, batch_first=True), 2).eval()
    ours.load_state_dict(theirs.state_dict())
    embedding = torch.nn.Embedding(20, 8)
    window = MaskRule(presets=(Chosen("window", (1, 0)),)).additive(1, 4, 4)[0]
    ids, others = torch.tensor([3, 4, 5, 6]), torch.tensor([7, 8, 9, 10])
    maps = [leaks(lambda x, stack=stack: stack(embedding(x), mask=window), ids, others) for stack in (ours, theirs)]
    torch.testing.assert_close(*maps, atol=1e-5, rtol=1e-4)
    reach = torch.ones(4, 4).triu(-2).tril().bool()  # two layers of one step back each
    assert maps[0][~reach].max() < 1e-6
    assert maps[0][reach].min() > 1e-6
