"""A run learns, repeats itself to the bit, and goes on where it was stopped."""

import csv
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from small_models import made_up_pairs, small_config

from transformer import TextTransformer, load_checkpoint
from transformer.__main__ import main
from transformer.training import Training, TrainingOptions

PAIRS, DEV = made_up_pairs()[::3], made_up_pairs()[1::6]
SHORT = TrainingOptions(
    epochs=3,
    tokens_per_batch=100,  # five batches an epoch
    learning_rate=3e-3,
    warmup_steps=4,
    averaging=0.8,
    subword_sampling=0.3,
    save_seconds=0.0,  # after every batch
)


def training(folder: Path, tokenizers: tuple, options: TrainingOptions = SHORT, resume: bool = False, **changes):
    """A run that draws on every kind of chance there is: dropout, order, segmentation."""
    torch.manual_seed(0)
    model = TextTransformer(small_config(**{"num_encoder_layers": 1, "dropout": 0.2} | changes))
    return Training(folder, model, *tokenizers, PAIRS, DEV, options, resume)


def stop_after(batches: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Interrupt the run as Ctrl-C does, in the middle of a step, when so many are done."""
    step, done = Training._step, []

    def stopping(self: Training, *arguments: object) -> None:
        if len(done) == batches:
            raise KeyboardInterrupt
        done.append(1)
        step(self, *arguments)

    monkeypatch.setattr(Training, "_step", stopping)


def numbers(folder: Path) -> list[dict[str, str]]:
    """The log without its clock."""
    with (folder / "log.csv").open(encoding="utf-8") as file:
        return [{name: value for name, value in row.items() if name != "seconds"} for row in csv.DictReader(file)]


def assert_same_run(one: Training, other: Training) -> None:
    for mine, theirs in zip(one.model.parameters(), other.model.parameters(), strict=True):
        assert torch.equal(mine, theirs)
    for mine, theirs in zip(one.average.module.parameters(), other.average.module.parameters(), strict=True):
        assert torch.equal(mine, theirs)
    assert numbers(one.folder) == numbers(other.folder)
    weights = [(run.folder / "checkpoint/model.safetensors").read_bytes() for run in (one, other)]
    assert weights[0] == weights[1]


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory, tokenizers: tuple) -> Training:
    run = training(tmp_path_factory.mktemp("uninterrupted"), tokenizers)
    run.run()
    return run


def test_a_run_learns(trained_run):
    rows = numbers(trained_run)
    assert len(rows) == 30
    assert float(rows[0]["train_loss"]) > 4
    assert float(rows[-1]["train_loss"]) < 0.1
    assert float(rows[-1]["dev_loss"]) < 0.1


def test_the_log_counts_epochs_steps_and_labels(uninterrupted, tokenizers):
    text = (uninterrupted.folder / "log.csv").read_text(encoding="utf-8")
    assert text.splitlines()[0] == "epoch,step,train_loss,dev_loss,labels,seconds"
    rows = numbers(uninterrupted.folder)
    assert [row["epoch"] for row in rows] == ["1", "2", "3"]
    assert int(rows[-1]["step"]) == uninterrupted.progress.step
    labels = [int(row["labels"]) for row in rows]
    assert min(labels) >= sum(len(tokenizers[1].ids(target)) + 1 for _, target in PAIRS)
    assert len(set(labels)) > 1  # the segmentations are drawn again in each epoch


def test_one_seed_is_one_run(uninterrupted, tokenizers, tmp_path):
    again = training(tmp_path / "again", tokenizers)
    again.run()
    assert_same_run(uninterrupted, again)
    other = training(tmp_path / "other", tokenizers, replace(SHORT, seed=2))
    other.run()
    assert numbers(other.folder) != numbers(again.folder)


@pytest.mark.parametrize("batches", [1, 2, 5, 6, 7, 11])  # before and after the warm-up and the ends of epochs
def test_a_run_that_was_stopped_ends_as_if_it_had_not_been(batches, uninterrupted, tokenizers, tmp_path):
    with pytest.MonkeyPatch.context() as patch:
        stop_after(batches, patch)
        with pytest.raises(KeyboardInterrupt):
            training(tmp_path, tokenizers).run()
    resumed = training(tmp_path, tokenizers, resume=True)
    assert resumed.progress.step == batches
    resumed.run()
    assert resumed.progress.step == uninterrupted.progress.step
    assert_same_run(uninterrupted, resumed)


def test_a_run_may_be_stopped_again_and_again(uninterrupted, tokenizers, tmp_path):
    for _ in range(4):
        with pytest.MonkeyPatch.context() as patch:
            stop_after(3, patch)
            with pytest.raises(KeyboardInterrupt):
                training(tmp_path, tokenizers, resume=True).run()
    resumed = training(tmp_path, tokenizers, resume=True)
    assert resumed.progress.step == 12
    resumed.run()
    assert_same_run(uninterrupted, resumed)


def test_a_finished_run_has_nothing_to_go_on_with(uninterrupted, tokenizers):
    before = (uninterrupted.folder / "log.csv").read_bytes()
    resumed = training(uninterrupted.folder, tokenizers, resume=True)
    resumed.run()
    assert resumed.progress == uninterrupted.progress
    assert (uninterrupted.folder / "log.csv").read_bytes() == before


def test_to_resume_what_never_began_is_to_begin(tokenizers, tmp_path):
    assert training(tmp_path, tokenizers, resume=True).progress.step == 0


def test_a_run_goes_on_only_with_the_options_it_began_with(uninterrupted, tokenizers):
    for change in ({"seed": 2}, {"epochs": 4}, {"subword_sampling": None}, {"learning_rate": 1.0}):
        with pytest.raises(ValueError, match=f"began with other options: {next(iter(change))}"):
            training(uninterrupted.folder, tokenizers, replace(SHORT, **change), resume=True)


@pytest.mark.parametrize("change", [{"d_model": 12}, {"num_encoder_layers": 2}, {"tie_output": False}])
def test_a_run_goes_on_only_with_the_model_it_began_with(change, uninterrupted, tokenizers):
    with pytest.raises(ValueError, match="is damaged, or is the state of another model"):
        training(uninterrupted.folder, tokenizers, resume=True, **change)


def test_a_damaged_state_is_refused(uninterrupted, tokenizers, tmp_path):
    content = (uninterrupted.folder / "state.safetensors").read_bytes()
    for damaged in (b"", content[:1000], content[:-1]):
        (tmp_path / "state.safetensors").write_bytes(damaged)
        with pytest.raises(ValueError, match="is damaged, or is the state of another model"):
            training(tmp_path, tokenizers, resume=True)


def test_the_checkpoint_is_the_average_with_the_lowest_dev_loss(uninterrupted):
    checkpoint = load_checkpoint(uninterrupted.folder / "checkpoint")
    best = min(range(3), key=lambda i: float(numbers(uninterrupted.folder)[i]["dev_loss"]))
    assert best == 2  # so what was saved last is what the run ended with
    for name, parameter in uninterrupted.average.module.named_parameters():
        assert torch.equal(checkpoint.model.get_parameter(name), parameter.half().float())


def test_the_dev_loss_is_the_mean_over_labels(uninterrupted, tokenizers):
    model = uninterrupted.average.module.eval()
    total = count = 0.0
    for source, target in DEV:
        ids, labels = [*tokenizers[0].ids(source), 3], [*tokenizers[1].ids(target), 3]
        with torch.no_grad():
            log = model(torch.tensor([ids]), torch.tensor([[2, *labels[:-1]]])).log_softmax(dim=-1)
        total -= float(sum(log[0, position, label] for position, label in enumerate(labels)))
        count += len(labels)
    assert uninterrupted.dev_loss(model) == pytest.approx(total / count, abs=1e-4)
    assert float(numbers(uninterrupted.folder)[-1]["dev_loss"]) == pytest.approx(total / count, abs=1e-4)


def test_the_learning_rate_climbs_over_the_warm_up_and_falls_to_nothing(tokenizers, tmp_path):
    options = replace(SHORT, learning_rate=0.8, warmup_steps=4, epochs=2)
    run = training(tmp_path, tokenizers, options)
    rates = []
    for step in range(10):  # two epochs of five batches
        run.progress.step, run.progress.epoch, run.progress.batch = step, step // 5, step % 5
        rates.append(run.learning_rate(batches=5))
    # 1/4, 2/4, 3/4 of the top; then what is left of the run: 7/10, 6/10, ...
    assert rates == pytest.approx([0.2, 0.4, 0.6, 0.56, 0.48, 0.4, 0.32, 0.24, 0.16, 0.08])


def test_no_warm_up_begins_at_the_top(tokenizers, tmp_path):
    run = training(tmp_path, tokenizers, replace(SHORT, learning_rate=0.8, warmup_steps=0))
    assert run.learning_rate(batches=5) == pytest.approx(0.8)


def test_pairs_that_are_too_long_are_left_out(tokenizers, tmp_path):
    model = TextTransformer(small_config())
    long = ("bread " * 200, "pan")
    run = Training(tmp_path, model, *tokenizers, [*PAIRS, long], [*DEV, long], replace(SHORT, subword_sampling=None))
    assert len(run.dev_pairs) == len(DEV)
    assert sum(batch.source.size(0) for batch in run._epoch_batches(0)) == len(PAIRS)
    with pytest.raises(ValueError, match="No dev pair fits into the 64 tokens"):
        Training(tmp_path, model, *tokenizers, PAIRS, [long], SHORT)


def test_a_run_is_not_written_over(tokenizers, tmp_path):
    training(tmp_path, tokenizers, replace(SHORT, epochs=1)).run()
    with pytest.raises(ValueError, match="holds a run"):
        training(tmp_path, tokenizers)


def test_a_run_that_was_killed_goes_on(tmp_path):
    """A real process, really killed; its run is finished by another process, which draws the same segmentations."""
    options = {"--d-model": 24, "--nhead": 3, "--num-encoder-layers": 1, "--num-decoder-layers": 1}
    options |= {"--dim-feedforward": 40, "--source-vocabulary": 290, "--target-vocabulary": 281, "--epochs": 8}
    options |= {"--tokens-per-batch": 60, "--warmup-steps": 5, "--save-seconds": 0, "--subword-sampling": 0.3}
    for name, pairs in (("train", made_up_pairs()), ("dev", DEV)):
        lines = ["source\ttarget", *("\t".join(pair) for pair in pairs)]
        (tmp_path / f"{name}.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        options[f"--{name}"] = tmp_path / f"{name}.tsv"
    train = ["train", *(str(word) for option in options.items() for word in option)]
    whole, run = tmp_path / "whole", tmp_path / "run"
    assert main([*train, "--output", str(whole)]) == 0

    killed = subprocess.Popen(
        [sys.executable, "-m", "transformer", *train, "--output", str(run)],
        cwd=Path(__file__).parents[2],
        env=os.environ | {"OMP_NUM_THREADS": str(torch.get_num_threads())},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 120
    while not (run / "log.csv").exists() and killed.poll() is None and time.monotonic() < deadline:
        time.sleep(0.002)
    killed.send_signal(signal.SIGKILL)
    assert killed.wait() == -signal.SIGKILL
    assert main([*train, "--output", str(run), "--resume"]) == 0
    assert numbers(run) == numbers(whole)
    assert len(numbers(run)) == 8
    weights = [(folder / "checkpoint/model.safetensors").read_bytes() for folder in (run, whole)]
    assert weights[0] == weights[1]
