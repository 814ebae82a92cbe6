"""The theatre's numbers are those of the model, right and with the mistake made by hand."""

import copy

import numpy as np
import pytest
import torch
from small_checkpoint import write_alone, write_small_checkpoint
from torch.nn import functional as F

from dashboard import shelf
from dashboard.bug_code import NO_SHIFT, SLIPS
from dashboard.bug_numbers import broken, impossible, played_numbers
from dashboard.mask_runs import batch_of
from dashboard.runs import Question
from dashboard.scenes import play, scene_of
from transformer import record


@pytest.fixture
def folder(tmp_path, monkeypatch):
    write_small_checkpoint(tmp_path / "small")
    write_alone(tmp_path / "alone")
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(tmp_path))
    return tmp_path


@pytest.fixture
def scene(folder):
    return scene_of(batch_of(Question("small", "the cat sees", target="neko umi miru"), ("a dog",)))


def inputs(scene, shifted=True):
    source, target = scene.batch.sources[0], scene.batch.targets[0]
    read = (2, *target[:-1]) if shifted else target
    return torch.tensor([source]), torch.tensor([read]), torch.tensor(target)


def test_a_scene_is_the_first_sentence(scene):
    assert len(scene.batch.sources) == len(scene.batch.targets) == 1
    assert scene.batch.sources[0] == tuple(shelf.checkpoint("small").source_ids("the cat sees"))
    assert scene.batch.targets[0] == tuple(shelf.checkpoint("small").target_ids("neko umi miru"))


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_the_right_side_is_the_model_itself(scene, kind):
    model = shelf.checkpoint("small").model
    source, read, target = inputs(scene)
    with torch.inference_mode(), record(model) as recording:
        logits = model(source, read)[0]
    numbers = played_numbers(scene, "no_scaling", 1, kind, 0, 2)["right"]
    site = recording.site(kind, 0)
    blocked = torch.isneginf(recording.mask(site, 2))
    expected = recording.pattern(site, 2).masked_fill(blocked, torch.nan).numpy()
    np.testing.assert_allclose(numbers["cells"], expected, atol=1e-6)
    assert numbers["loss"] == pytest.approx(F.cross_entropy(logits, target).item(), abs=1e-5)
    probabilities = logits.softmax(-1)[range(len(target)), target]
    np.testing.assert_allclose(numbers["probabilities"], probabilities, atol=1e-6)
    tokenizer = shelf.checkpoint("small").target_tokenizer
    assert numbers["said"] == tokenizer.text(logits.argmax(-1).tolist())
    assert numbers["cells"].shape == (len(numbers["queries"]), len(numbers["keys"]))


def test_the_broken_side_has_the_mistake(scene):
    by_hand = copy.deepcopy(shelf.checkpoint("small").model)
    for layer in by_hand.transformer.encoder.layers[1:]:
        layer.load_state_dict(by_hand.transformer.encoder.layers[0].state_dict())
    source, read, target = inputs(scene)
    with torch.inference_mode(), record(by_hand) as recording:
        logits = by_hand(source, read)[0]
    numbers = played_numbers(scene, "shared_layer", 1, "encoder", 1, 0)["broken"]
    np.testing.assert_allclose(numbers["cells"], recording.pattern(recording.site("encoder", 1), 0), atol=1e-6)
    assert numbers["loss"] == pytest.approx(F.cross_entropy(logits, target).item(), abs=1e-5)


def test_a_target_that_is_not_shifted_is_read_itself(scene):
    model = shelf.checkpoint("small").model
    source, read, target = inputs(scene, shifted=False)
    with torch.inference_mode():
        logits = model(source, read)[0]
    numbers = played_numbers(scene, NO_SHIFT, 1, "decoder", 0, 0)
    assert numbers["broken"]["loss"] == pytest.approx(F.cross_entropy(logits, target).item(), abs=1e-5)
    assert numbers["broken"]["queries"] == numbers["tokens"]
    assert numbers["right"]["queries"][0] == "<s>"
    assert numbers["broken"]["written"] == numbers["right"]["written"]  # alone, the model feeds itself


def test_keys_of_cross_attention_are_what_it_reads(scene):
    numbers = played_numbers(scene, "cross_reads_target", 1, "cross", 0, 0)
    right, broken = numbers["right"], numbers["broken"]
    assert (right["keys_of"], broken["keys_of"]) == ("source", "target")
    assert len(right["keys"]) == len(scene.batch.sources[0])
    assert broken["keys"] == played_numbers(scene, "cross_reads_target", 1, "decoder", 0, 0)["right"]["keys"]
    assert right["queries"] == broken["queries"] == numbers["tokens"]


def test_dropout_draws_anew_with_every_seed_and_the_same_again(scene):
    losses = [broken(scene, "dropout_on", seed).loss for seed in (1, 2)]
    assert losses[0] != losses[1]
    play.cache_clear()
    assert broken(scene, "dropout_on", 1).loss == losses[0]


def test_every_mistake_shows_somewhere(scene):
    for name in SLIPS:
        numbers = played_numbers(scene, name, 1, "decoder", 0, 0)
        assert numbers["broken"]["loss"] != pytest.approx(numbers["right"]["loss"], abs=1e-6), name


def test_a_decoder_alone_writes_no_translation_and_has_no_cross_attention(folder):
    scene = scene_of(batch_of(Question("alone", "abcXabc"), ()))
    assert set(impossible(scene)) == {"cross_reads_target"}
    numbers = played_numbers(scene, "no_causal_mask", 1, "decoder", 1, 0)
    assert numbers["right"]["written"] is None
    assert not np.isnan(numbers["broken"]["cells"]).any()
    assert np.isnan(numbers["right"]["cells"]).any()
    with pytest.raises(ValueError, match="no cross-attention"):
        played_numbers(scene, "cross_reads_target", 1, "decoder", 0, 0)


def test_what_is_not_there_is_said(scene):
    with pytest.raises(IndexError):
        played_numbers(scene, "no_scaling", 1, "encoder", 7, 0)
