"""A run learns, repeats itself to the bit, and goes on where it was stopped."""

import math
import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from run_files import numbers, written
from small_models import made_up_pairs, small_config

from transformer import TextTransformer, load_checkpoint
from transformer.tasks import LetterTask, Task, language_model, translate
from transformer.training import Training
from transformer.training_options import TrainingOptions

PAIRS, DEV = made_up_pairs()[::3], made_up_pairs()[1::6]
SHORT = TrainingOptions(
    epochs=3,
    tokens_per_batch=100,  # five batches an epoch
    learning_rate=3e-3,
    warmup_steps=4,
    averaging=0.8,
    word_dropout=0.1,
    snapshots=(0, 3, 7),
    save_seconds=0.0,  # after every batch
)


def training(folder: Path, tokenizers: tuple, options: TrainingOptions = SHORT, resume: bool = False, **changes):
    """A run that draws on every kind of chance there is: dropout, order, segmentation, dropped words."""
    torch.manual_seed(0)
    model = TextTransformer(small_config(**{"num_encoder_layers": 1, "dropout": 0.2} | changes))
    task = translate(tokenizers, PAIRS, DEV, subword_sampling=0.3, seed=options.seed)
    return Training(folder, model, task, options, resume)


def stop_after(batches: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Interrupt the run as Ctrl-C does, in the middle of a step, when so many are done."""
    step, done = Training._step, []

    def stopping(self: Training, *arguments: object) -> None:
        if len(done) == batches:
            raise KeyboardInterrupt
        done.append(1)
        step(self, *arguments)

    monkeypatch.setattr(Training, "_step", stopping)


def assert_same_run(one: Training, other: Training) -> None:
    for mine, theirs in zip(one.model.parameters(), other.model.parameters(), strict=True):
        assert torch.equal(mine, theirs)
    for mine, theirs in zip(one.average.mean().values(), other.average.mean().values(), strict=True):
        assert torch.equal(mine, theirs)
    assert written(one.folder) == written(other.folder)


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
    assert text.splitlines()[0] == "epoch,step,learning_rate,train_loss,dev_loss,dev_accuracy,labels"
    rows = numbers(uninterrupted.folder)
    assert [row["epoch"] for row in rows] == ["1", "2", "3"]
    assert int(rows[-1]["step"]) == uninterrupted.progress.step
    labels = [int(row["labels"]) for row in rows]
    assert min(labels) >= sum(len(tokenizers[1].ids(target)) + 1 for _, target in PAIRS)
    assert len(set(labels)) > 1  # the segmentations are drawn again in each epoch


def test_the_clock_is_kept_apart(uninterrupted):
    lines = (uninterrupted.folder / "timing.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "step,seconds,tokens_per_second"
    rows = [list(map(float, line.split(","))) for line in lines[1:]]
    assert [row[0] for row in rows] == [float(row["step"]) for row in numbers(uninterrupted.folder)]
    seconds = [row[1] for row in rows]
    assert 0 < seconds[0] <= seconds[1] <= seconds[2]
    assert min(row[2] for row in rows) > 100


def test_the_bar_says_loss_speed_and_the_time_left_of_the_whole_run(tokenizers, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("transformer.training.BAR_SECONDS", 0.0)
    training(tmp_path, tokenizers).run()
    bar = capsys.readouterr().err.split("\r")
    assert re.search(
        r"epoch 2: +\d+%.* \d+/\d+ \[\d\d:\d\d<\d\d:\d\d,.*step.*loss=\d\.\d+, tokens/s=[\d,]+\]", "".join(bar)
    )
    assert bar[-1].startswith("epoch 3: 100%")


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
    for change in ({"seed": 2}, {"epochs": 4}, {"snapshots": (0,)}, {"learning_rate": 1.0}):
        with pytest.raises(ValueError, match=f"began with other options: {next(iter(change))}"):
            training(uninterrupted.folder, tokenizers, replace(SHORT, **change), resume=True)


@pytest.mark.parametrize(
    "change", [{"d_model": 12}, {"num_encoder_layers": 2}, {"tie_output": False}, {"dropout": 0.3}]
)
def test_a_run_goes_on_only_with_the_model_it_began_with(change, uninterrupted, tokenizers):
    with pytest.raises(ValueError, match=f"began with other options: {next(iter(change))}"):
        training(uninterrupted.folder, tokenizers, resume=True, **change)


@pytest.mark.parametrize(
    ("odd", "task"),
    [
        ("train", lambda vocabularies: translate(vocabularies, PAIRS[1:], DEV, 0.3)),
        ("dev", lambda vocabularies: translate(vocabularies, PAIRS, DEV[1:], 0.3)),
        ("subword_sampling", lambda vocabularies: translate(vocabularies, PAIRS, DEV)),
        ("vocabularies", lambda vocabularies: translate(vocabularies[::-1], PAIRS, DEV, 0.3)),
    ],
)
def test_a_run_goes_on_only_with_the_task_it_began_with(odd, task, uninterrupted, tokenizers):
    model = TextTransformer(small_config(num_encoder_layers=1, dropout=0.2))
    with pytest.raises(ValueError, match=f"began with other options: {odd}"):
        Training(uninterrupted.folder, model, task(tokenizers), SHORT, resume=True)


def test_a_damaged_state_is_refused(uninterrupted, tokenizers, tmp_path):
    content = (uninterrupted.folder / "state.safetensors").read_bytes()
    for damaged in (b"", content[:1000], content[:-1]):
        (tmp_path / "state.safetensors").write_bytes(damaged)
        with pytest.raises(ValueError, match="is damaged, or is the state of another version"):
            training(tmp_path, tokenizers, resume=True)


def test_the_checkpoint_is_the_average_with_the_lowest_dev_loss(uninterrupted):
    checkpoint = load_checkpoint(uninterrupted.folder / "checkpoint")
    best = min(range(3), key=lambda i: float(numbers(uninterrupted.folder)[i]["dev_loss"]))
    assert best == 2  # so what was saved last is what the run ended with
    for name, parameter in uninterrupted.average.mean().items():
        assert torch.equal(checkpoint.model.get_parameter(name), parameter.half().float())


def test_the_dev_loss_is_the_mean_over_labels(uninterrupted, tokenizers):
    model = uninterrupted.averaged.eval()
    total = count = right = 0.0
    for source, target in DEV:
        ids, labels = [*tokenizers[0].ids(source), 3], [*tokenizers[1].ids(target), 3]
        with torch.no_grad():
            log = model(torch.tensor([ids]), torch.tensor([[2, *labels[:-1]]])).log_softmax(dim=-1)
        total -= float(sum(log[0, position, label] for position, label in enumerate(labels)))
        right += int((log[0].argmax(dim=-1) == torch.tensor(labels)).sum())
        count += len(labels)
    assert uninterrupted.judge(model) == pytest.approx((total / count, right / count), abs=1e-4)
    last = numbers(uninterrupted.folder)[-1]
    assert float(last["dev_loss"]) == pytest.approx(total / count, abs=1e-4)
    assert float(last["dev_accuracy"]) == pytest.approx(right / count, abs=1e-4)


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        # 1/4, 2/4, 3/4 of the top; then what is left of the run: 7/10, 6/10, ...
        ("linear", [0.2, 0.4, 0.6, 0.56, 0.48, 0.4, 0.32, 0.24, 0.16, 0.08]),
        # ... to the top; then down with the root of 4/5, 4/6, ...
        ("vaswani", [0.2, 0.4, 0.6, 0.8, *(0.8 * (4 / step) ** 0.5 for step in range(5, 11))]),
    ],
)
def test_the_learning_rate_follows_its_schedule(schedule, expected, tokenizers, tmp_path):
    options = replace(SHORT, learning_rate=0.8, warmup_steps=4, epochs=2, schedule=schedule)
    run = training(tmp_path, tokenizers, options)
    rates = []
    for step in range(10):  # two epochs of five batches
        run.progress.step, run.progress.epoch, run.progress.batch = step, step // 5, step % 5
        rates.append(run.learning_rate(run._total_steps(batches=5)))
    assert rates == pytest.approx(expected)


def test_the_rate_that_is_logged_is_the_one_that_was_taken(tokenizers, tmp_path):
    options = replace(SHORT, steps=8, evaluate_every=2, learning_rate=0.008, warmup_steps=4, schedule="cosine")
    run = training(tmp_path, tokenizers, options)
    run.run()
    # after 4 steps of warm-up, 1/4 and 3/4 of half a turn
    expected = [0.004, 0.008, 0.004 * (1 + 0.5**0.5), 0.004 * (1 - 0.5**0.5)]
    assert [float(row["learning_rate"]) for row in numbers(tmp_path)] == pytest.approx(expected, rel=1e-3)
    assert run.optimizer.param_groups[0]["lr"] == pytest.approx(expected[-1])


def test_examples_that_are_too_long_are_left_out_and_counted(tokenizers, tmp_path, capsys):
    model = TextTransformer(small_config())
    long = ("bread " * 200, "pan")
    run = Training(tmp_path, model, translate(tokenizers, [*PAIRS, long], [*DEV, long]), replace(SHORT, steps=1))
    assert len(run.dev) == len(DEV)
    assert sum(len(batch.labels) for batch in run._epoch_batches(0)) == len(PAIRS)
    assert capsys.readouterr().out == "1 of 17 examples have more than 64 tokens.\n"
    with pytest.raises(ValueError, match="No dev example fits into the 64 tokens"):
        Training(tmp_path, model, translate(tokenizers, PAIRS, [long]), SHORT)
    with pytest.raises(ValueError, match="No training example fits into the 64 tokens"):
        Training(tmp_path / "a", model, translate(tokenizers, [long], DEV), SHORT).run()


# How long, and what is judged.


def test_steps_take_the_place_of_epochs(tokenizers, tmp_path):
    run = training(tmp_path, tokenizers, replace(SHORT, epochs=1, steps=13))
    run.run()
    assert (run.progress.step, run.progress.epoch) == (13, 2)
    assert [row["step"] for row in numbers(tmp_path)] == ["5", "10", "13"]
    assert [row["epoch"] for row in numbers(tmp_path)] == ["1", "2", "3"]


def test_evaluations_come_every_so_many_steps_and_at_the_end(tokenizers, tmp_path):
    run = training(tmp_path, tokenizers, replace(SHORT, steps=14, evaluate_every=4))
    run.run()
    rows = numbers(tmp_path)
    assert [row["step"] for row in rows] == ["4", "8", "12", "14"]
    per_batch = int(rows[0]["labels"]) / 4
    assert int(rows[-1]["labels"]) < 2.5 * per_batch  # counted anew after each


def losses(monkeypatch: pytest.MonkeyPatch, *values: float) -> None:
    """Let the evaluations find these."""
    found = iter(values)
    monkeypatch.setattr(Training, "judge", lambda self, model: (next(found), 0.5))


def test_a_run_stops_when_the_dev_loss_has_not_fallen_for_so_long(tokenizers, tmp_path, monkeypatch):
    losses(monkeypatch, 3.0, 2.0, 2.5, 2.0, 1.0)
    options = replace(SHORT, steps=30, evaluate_every=2, patience=2, averaging=0.0, warmup_steps=0, snapshots=(4, 8))
    run = training(tmp_path, tokenizers, options)
    run.run()
    assert [row["dev_loss"] for row in numbers(tmp_path)] == ["3.0", "2.0", "2.5", "2.0"]
    assert run.progress.step == 8
    checkpoint = tmp_path / "checkpoint"
    assert (checkpoint / "model.safetensors").read_bytes() == (checkpoint / "snapshots/4.safetensors").read_bytes()
    resumed = training(tmp_path, tokenizers, options, resume=True)
    resumed.run()
    assert resumed.progress.step == 8


def test_patience_begins_anew_with_each_better_loss(tokenizers, tmp_path, monkeypatch):
    losses(monkeypatch, 3.0, 3.5, 2.0, 2.5, 1.0, 1.5, 1.2)
    run = training(tmp_path, tokenizers, replace(SHORT, steps=30, evaluate_every=2, patience=2))
    run.run()
    assert run.progress.step == 14


@pytest.mark.parametrize("average_last", [None, 2])
def test_what_is_judged_is_the_average(average_last, tokenizers, tmp_path, monkeypatch):
    options = replace(SHORT, steps=6, evaluate_every=2, warmup_steps=0, averaging=0.5, average_last=average_last)
    run = training(tmp_path, tokenizers, options)
    raw: list[torch.Tensor] = []
    step = Training._step

    def noting(self: Training, *arguments: object) -> None:
        step(self, *arguments)
        raw.append(self.model.output.bias.detach().clone())

    monkeypatch.setattr(Training, "_step", noting)
    run.run()
    if average_last:
        expected = (raw[3] + raw[5]) / 2
    else:
        expected = raw[0]
        for seen, weights in enumerate(raw[1:], start=1):
            kept = min(0.5, (1 + seen) / (10 + seen))
            expected = kept * expected + (1 - kept) * weights
    assert torch.allclose(run.averaged.output.bias, expected, atol=1e-7)
    assert not torch.allclose(run.averaged.output.bias, raw[-1], atol=1e-7)


def test_other_ways_to_train_are_resumed_as_well(tokenizers, tmp_path):
    options = replace(SHORT, average_last=2, evaluate_every=3, steps=11, schedule="cosine")
    whole = training(tmp_path / "whole", tokenizers, options)
    whole.run()
    for batches in (1, 8):
        with pytest.MonkeyPatch.context() as patch:
            stop_after(batches, patch)
            with pytest.raises(KeyboardInterrupt):
                training(tmp_path / "run", tokenizers, options, resume=True).run()
    resumed = training(tmp_path / "run", tokenizers, options, resume=True)
    resumed.run()
    assert_same_run(whole, resumed)


def test_dropped_words_are_read_by_the_decoder_in_training_only(tokenizers, tmp_path):
    run = training(tmp_path, tokenizers, replace(SHORT, steps=6, word_dropout=0.5))
    read: dict[bool, list[torch.Tensor]] = {True: [], False: []}
    for model in (run.model, run.averaged):
        model.target_tokens.register_forward_hook(lambda module, ids, out: read[module.training].append(ids[0]))
        model.source_tokens.register_forward_hook(lambda module, ids, out: sources.append(ids[0]))
    sources: list[torch.Tensor] = []
    run.run()
    in_training = torch.cat([ids.flatten() for ids in read[True]])
    words = in_training[(in_training != 0) & (in_training != 2)]
    assert 0.3 < float((words == 1).float().mean()) < 0.7
    assert all(bool((ids[:, 0] == 2).all()) for ids in read[True])
    assert read[False]
    assert not any(bool((ids == 1).any()) for ids in [*read[False], *sources])


def test_a_loss_that_is_no_number_ends_the_run(tokenizers, tmp_path):
    run = training(tmp_path, tokenizers)
    with torch.no_grad():
        run.model.output.bias.fill_(torch.nan)
    with pytest.raises(ValueError, match="The loss of step 1 is nan: learn more slowly"):
        run.run()


# Tasks.


def on_letters(folder: Path, task: Task, options: TrainingOptions, **changes: object) -> Training:
    sizes = {"source_vocabulary": len(task.tokenizers[0]), "target_vocabulary": len(task.tokenizers[-1])}
    torch.manual_seed(0)
    model = TextTransformer(small_config(**({"architecture": task.architecture, "dropout": 0.0} | sizes | changes)))
    return Training(folder, model, task, options)


def test_a_decoder_alone_learns_to_go_on(tokenizers, tmp_path):
    texts = [source for source, _ in made_up_pairs()]
    task = language_model(tokenizers[0], texts, texts[::5])
    options = TrainingOptions(epochs=25, tokens_per_batch=200, learning_rate=1e-2, warmup_steps=10, label_smoothing=0.0)
    run = on_letters(tmp_path, task, options)
    run.run()
    # What is left is which of 4 subjects, 3 verbs and 4 objects: log 48 nats a sentence.
    labels = sum(len(ids) + 1 for (ids,) in task.dev())
    floor = len(texts[::5]) * math.log(48) / labels
    assert floor < float(numbers(tmp_path)[-1]["dev_loss"]) < 2 * floor
    checkpoint = load_checkpoint(tmp_path / "checkpoint")
    assert checkpoint.config.architecture == "decoder"
    assert checkpoint.target_tokenizer.model == tokenizers[0].model


def test_letters_are_copied_that_were_never_seen(tmp_path):
    task = LetterTask("copy", letters="abcd", shortest=1, longest=3, examples=500, dev_examples=20).task()
    options = TrainingOptions(
        steps=150, tokens_per_batch=400, learning_rate=1e-2, warmup_steps=10, label_smoothing=0.0, evaluate_every=75
    )
    run = on_letters(tmp_path, task, options, num_encoder_layers=1)
    run.run()
    assert float(numbers(tmp_path)[-1]["dev_accuracy"]) > 0.9


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"steps": 0}, "steps must be at least 1, not 0"),
        ({"patience": 0}, "patience must be at least 1"),
        ({"average_last": -1}, "average_last must be at least 1"),
        ({"learning_rate": 0.0}, "learning_rate must be above 0"),
        ({"word_dropout": 1.0}, "word_dropout must be at least 0 and below 1"),
        ({"averaging": 1.0}, "averaging must be at least 0 and below 1"),
        ({"schedule": "steep"}, "schedule must be one of linear, cosine, vaswani, not 'steep'"),
        ({"snapshots": (-1,)}, "snapshots must be steps from 0 on"),
    ],
)
def test_options_out_of_range_are_refused(change, said):
    with pytest.raises(ValueError, match=said):
        replace(SHORT, **change)


@pytest.mark.parametrize("device", ["fpga", "cuda:99", "mps:7", "cpu:x"])
def test_a_device_that_is_not_there_is_refused(device, tokenizers, tmp_path):
    with pytest.raises(ValueError, match=f"This machine has no device {device}"):
        training(tmp_path, tokenizers, replace(SHORT, device=device))


def test_a_run_is_not_written_over(tokenizers, tmp_path):
    training(tmp_path, tokenizers, replace(SHORT, epochs=1)).run()
    with pytest.raises(ValueError, match="holds a run"):
        training(tmp_path, tokenizers)
