"""Weights as they were at chosen steps: kept by training, listed and loaded by their step."""

from pathlib import Path

import pytest
import torch
from small_models import made_up_pairs, small_config

from transformer import TextTransformer, load_checkpoint
from transformer.checkpoint import CheckpointError, list_snapshots
from transformer.tasks import translate
from transformer.training import Training
from transformer.training_options import TrainingOptions

PAIRS = made_up_pairs()
OPTIONS = TrainingOptions(steps=6, evaluate_every=2, tokens_per_batch=200, learning_rate=1e-2, warmup_steps=1)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, tokenizers: tuple) -> tuple[Path, list[torch.Tensor]]:
    """The folder of a run with snapshots, and one parameter as it was after 0, 1, ... steps."""
    folder = tmp_path_factory.mktemp("snapshots")
    torch.manual_seed(0)
    model = TextTransformer(small_config())
    options = TrainingOptions(**(vars(OPTIONS) | {"snapshots": (0, 1, 5, 6, 700)}))
    run = Training(folder, model, translate(tokenizers, PAIRS, PAIRS[:8]), options)
    after = [model.output.bias.detach().clone()]
    step = run._step

    def noting(*arguments: object) -> None:
        step(*arguments)  # type: ignore[arg-type]
        after.append(model.output.bias.detach().clone())

    run._step = noting  # type: ignore[method-assign]
    run.run()
    return folder, after


def test_snapshots_hold_the_weights_of_their_step(run):
    folder, after = run
    assert list_snapshots(folder / "checkpoint") == [0, 1, 5, 6]
    assert len(after) == 7
    for step in (0, 1, 5, 6):
        snapshot = load_checkpoint(folder / "checkpoint", snapshot=step)
        assert torch.equal(snapshot.model.output.bias, after[step].half().float())
        assert not snapshot.model.training
    assert not torch.equal(after[5].half(), after[6].half())


def test_they_are_found_by_the_checkpoints_name(run):
    folder, after = run
    assert list_snapshots("checkpoint", folder) == [0, 1, 5, 6]
    read = load_checkpoint("checkpoint", folder, snapshot=5)
    assert read.name == "checkpoint"
    assert torch.equal(read.model.output.bias, after[5].half().float())


def test_without_a_step_the_final_weights_are_meant(run):
    folder, after = run
    final = load_checkpoint(folder / "checkpoint").model.output.bias
    assert not any(torch.equal(final, weights.half().float()) for weights in after)  # they are an average


def test_a_step_that_was_not_kept_is_refused_by_naming_those_that_were(run, tmp_path, tokenizers):
    folder, _ = run
    with pytest.raises(CheckpointError, match=r"has no snapshot of step 700; it has those of 0, 1, 5, 6\."):
        load_checkpoint(folder / "checkpoint", snapshot=700)
    model = TextTransformer(small_config())
    Training(tmp_path, model, translate(tokenizers, PAIRS, PAIRS[:8]), OPTIONS).run()
    assert list_snapshots(tmp_path / "checkpoint") == []
    with pytest.raises(CheckpointError, match="has no snapshot of step 0; it has none"):
        load_checkpoint(tmp_path / "checkpoint", snapshot=0)
    with pytest.raises(CheckpointError, match="There is no checkpoint folder"):
        list_snapshots(tmp_path / "missing")


def test_a_damaged_snapshot_is_named(run, tmp_path):
    folder, _ = run
    path = folder / "checkpoint/snapshots/1.safetensors"
    content = path.read_bytes()
    try:
        path.write_bytes(content[:100])
        with pytest.raises(CheckpointError, match=r"checkpoint/snapshots/1\.safetensors is damaged"):
            load_checkpoint(folder / "checkpoint", snapshot=1)
    finally:
        path.write_bytes(content)


def test_other_files_are_no_snapshots(run):
    folder, _ = run
    odd = [folder / "checkpoint/snapshots" / name for name in ("best.safetensors", "7.safetensors.unfinished", "8.txt")]
    for path in odd:
        path.write_bytes(b"")
    assert list_snapshots(folder / "checkpoint") == [0, 1, 5, 6]
    for path in odd:
        path.unlink()
