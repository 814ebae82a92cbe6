"""Each classic mistake, against the same mistake made by hand in plain code."""

import copy
import math

import pytest
import torch
from small_models import padded_batch, small_model
from torch.nn import functional as F

from transformer import record
from transformer.bugs import BUGS, Bug
from transformer.interventions import edited

SOURCE, TARGET = torch.tensor([[11, 12, 13, 14, 3]]), torch.tensor([[2, 41, 42, 43]])


@pytest.fixture(scope="module")
def model():
    return small_model(num_encoder_layers=3, num_decoder_layers=2, dropout=0.2).requires_grad_(False)


def recorded(model, source=SOURCE, target=TARGET):
    with torch.inference_mode(), record(model) as recording:
        logits = model(source, target)
    return recording, logits


@pytest.mark.parametrize("name", sorted(BUGS))
def test_every_mistake_shows_and_leaves_the_model_alone(model, name):
    _, before = recorded(model)
    _, wrong = recorded(edited(model, [Bug(name)]))
    assert not torch.allclose(wrong, before, atol=1e-3)
    assert torch.equal(recorded(model)[1], before)


def test_one_layer_shared_by_all(model):
    by_hand = copy.deepcopy(model)
    for stack in (by_hand.transformer.encoder, by_hand.transformer.decoder):
        stack.layers = torch.nn.ModuleList([stack.layers[0]] * len(stack.layers))
    changed = edited(model, [Bug("shared_layer")])
    torch.testing.assert_close(changed(SOURCE, TARGET), by_hand(SOURCE, TARGET))
    recording, _ = recorded(changed)
    assert [site.layer for site in recording.sites if site.kind == "encoder"] == [0, 1, 2]


def test_positions_along_the_batch_axis(model):
    by_hand = copy.deepcopy(model)
    for module in (by_hand.source_positions, by_hand.target_positions):
        module.batch_first = False
    source, target = padded_batch()
    torch.testing.assert_close(edited(model, [Bug("positions_on_batch")])(source, target), by_hand(source, target))


def test_positions_added_in_every_layer(model):
    x = model.source_embedding(SOURCE)
    for layer in model.transformer.encoder.layers:
        x = layer(model.source_positions(x))
    changed = edited(model, [Bug("positions_in_every_layer")])
    torch.testing.assert_close(changed.encode(SOURCE)[0], model.transformer.encoder.norm(x))


def test_no_positions_in_the_decoder(model):
    memory, _ = model.encode(SOURCE)
    expected = model.output(model.transformer.decoder(model.target_embedding(TARGET), memory, tgt_is_causal=True))
    torch.testing.assert_close(edited(model, [Bug("no_target_positions")])(SOURCE, TARGET), expected)


def test_dropout_left_on_drops_other_numbers_with_every_seed(model):
    one, again, other = (edited(model, [Bug("dropout_on", seed)])(SOURCE, TARGET) for seed in (1, 1, 2))
    assert torch.equal(one, again)
    assert not torch.allclose(one, other, atol=1e-3)
    assert not model.transformer.encoder.layers[0].dropout.training


def test_an_inverted_mask_shows_the_future_only(model):
    recording, _ = recorded(edited(model, [Bug("inverted_mask")]))
    for layer in (0, 1):
        pattern = recording.pattern(recording.site("decoder", layer))
        assert torch.equal(pattern > 0, torch.ones(4, 4).triu(1).bool().expand(3, 4, 4))
    assert recording.pattern(recording.site("encoder", 0)).min() > 0


def test_without_a_causal_mask_the_future_counts(model):
    changed = edited(model, [Bug("no_causal_mask")])
    other = TARGET.clone()
    other[0, 3] = 77
    assert torch.equal(model(SOURCE, TARGET)[0, :3], model(SOURCE, other)[0, :3])
    assert not torch.allclose(changed(SOURCE, TARGET)[0, :3], changed(SOURCE, other)[0, :3], atol=1e-3)


def test_without_scaling_scores_are_sqrt_d_times_as_large(model):
    recording, _ = recorded(edited(model, [Bug("no_scaling")]))
    before, _ = recorded(model)
    site = before.site("encoder", 0)
    expected = before.scores(site) * math.sqrt(8)
    torch.testing.assert_close(recording.scores(site), expected)
    torch.testing.assert_close(recording.pattern(site), expected.softmax(dim=-1))


def test_the_softmax_over_queries_sums_columns_to_1(model):
    recording, _ = recorded(edited(model, [Bug("softmax_over_queries")]))
    before, _ = recorded(model)
    first = before.site("encoder", 0)
    torch.testing.assert_close(recording.pattern(first), before.scores(first).softmax(dim=-2))
    torch.testing.assert_close(
        recording.pattern(first, 1, rows=[2, 0]), before.scores(first, 1).softmax(dim=-2)[[2, 0]]
    )
    for site in recording.sites:
        torch.testing.assert_close(recording.pattern(site).sum(dim=-2), torch.ones(3, recording.key(site).size(2)))
        heads = recording.pattern(site) @ recording.value(site)[0]
        projection = model.get_submodule(site).out_proj
        expected = F.linear(heads.transpose(0, 1).flatten(1), projection.weight, projection.bias)
        torch.testing.assert_close(recording.output(site)[0], expected)


def test_scores_masked_with_0_leave_a_weight_for_the_future(model):
    recording, _ = recorded(edited(model, [Bug("masked_with_zero")]))
    site = recording.site("decoder", 0)
    scores = recording.scores(site)
    future = torch.ones(4, 4).triu(1).bool()
    torch.testing.assert_close(recording.pattern(site), scores.masked_fill(future, 0.0).softmax(dim=-1))


def test_cross_attention_that_reads_the_target_knows_nothing_of_the_source(model):
    changed = edited(model, [Bug("cross_reads_target")])
    other = torch.tensor([[99, 98, 3]])
    assert torch.equal(changed(SOURCE, TARGET), changed(other, TARGET))
    recording, _ = recorded(changed)
    site = recording.site("cross", 0)
    assert recording.pattern(site).shape == (3, 4, 4)


def test_a_decoder_alone_has_its_mistakes_too():
    model = small_model(architecture="decoder", num_decoder_layers=2, tie_output=False).requires_grad_(False)
    ids = torch.tensor([[2, 11, 12, 13, 14]])
    for name in sorted(BUGS):
        if name == "cross_reads_target":
            with pytest.raises(ValueError, match="no cross-attention"):
                edited(model, [Bug(name)])
        else:
            assert not torch.allclose(edited(model, [Bug(name)])(ids), model(ids), atol=1e-4), name


def test_what_is_no_mistake_is_said():
    with pytest.raises(ValueError, match="no mistake called 'typo'"):
        Bug("typo")
    with pytest.raises(ValueError, match="second layer"):
        edited(small_model(num_encoder_layers=1), [Bug("shared_layer")])
    with pytest.raises(ValueError, match="adds no positions"):
        edited(small_model(positions="none"), [Bug("positions_in_every_layer")])
