"""What other positions do is what the model does with them."""

import copy

import numpy as np
import pytest
import torch
from small_checkpoint import write_small_checkpoint
from torch.nn import functional as F

from dashboard import shelf
from dashboard.mask_runs import batch_of
from dashboard.position_effect import effect_numbers
from dashboard.runs import Question
from dashboard.scenes import scene_of
from transformer import record


@pytest.fixture
def scene(tmp_path, monkeypatch):
    write_small_checkpoint(tmp_path / "small")
    write_small_checkpoint(tmp_path / "learned", positions="learned", max_length=12)
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(tmp_path))
    return scene_of(batch_of(Question("small", "the cat sees", target="neko umi miru"), ()))


def by_hand(scene, stream, change):
    """The recording and loss of a copy whose positions are changed in its table."""
    model = copy.deepcopy(shelf.checkpoint("small").model)
    module = getattr(model, f"{stream}_positions")
    module.table = change(module.rows(40).clone())
    source, target = torch.tensor([scene.batch.sources[0]]), scene.batch.targets[0]
    with torch.inference_mode(), record(model) as recording:
        logits = model(source, torch.tensor([[2, *target[:-1]]]))[0]
    return recording, F.cross_entropy(logits, torch.tensor(target)).item()


@pytest.mark.parametrize(
    ("way", "amount", "change"),
    [
        ("off", 0, torch.zeros_like),
        ("shift", 7, lambda table: table[7:]),
        ("scale", 15, lambda table: 1.5 * table),
    ],
)
@pytest.mark.parametrize(("stream", "kind"), [("source", "encoder"), ("target", "decoder"), ("source", "cross")])
def test_the_changed_side_is_a_model_with_another_table(scene, stream, kind, way, amount, change):
    recording, loss = by_hand(scene, stream, change)
    numbers = effect_numbers(scene, stream, way, amount, kind, 0, 1)
    site = recording.site(kind, 0)
    blocked = torch.isneginf(recording.mask(site, 1))
    expected = recording.pattern(site, 1).masked_fill(blocked, torch.nan)
    np.testing.assert_allclose(numbers["broken"]["cells"], expected, atol=1e-5)
    assert numbers["broken"]["loss"] == pytest.approx(loss, abs=1e-4)
    _, plain_loss = by_hand(scene, stream, lambda table: table)
    assert numbers["right"]["loss"] == pytest.approx(plain_loss, abs=1e-4)
    right, broken = (np.nan_to_num(numbers[side]["cells"]) for side in ("right", "broken"))
    assert not np.allclose(right, broken, atol=1e-4)


def test_each_draw_shuffles_in_another_way(scene):
    losses = {effect_numbers(scene, "source", "shuffle", draw, "encoder", 0, 0)["broken"]["loss"] for draw in (1, 2, 3)}
    assert len(losses) == 3


def test_learned_positions_end(scene):
    learned = scene_of(batch_of(Question("learned", "the cat sees", target="neko"), ()))
    assert effect_numbers(learned, "target", "shift", 2, "decoder", 0, 0)["broken"]["loss"] > 0
    with pytest.raises(ValueError, match="only 12 were learned"):
        effect_numbers(learned, "source", "shift", 20, "encoder", 0, 0)
