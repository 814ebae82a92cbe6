"""Every option of ``python -m transformer train`` does something, or is refused where it would do nothing."""

import argparse
import shlex
from pathlib import Path

import pytest
from small_models import made_up_pairs

from transformer import load_checkpoint
from transformer.__main__ import main
from transformer.checkpoint import list_snapshots
from transformer.commands import train_options
from transformer.tasks import LETTER_TASKS
from transformer.training import Training
from transformer.training_options import TrainingOptions

SMALL = shlex.split("--d-model 12 --nhead 3 --num-encoder-layers 1 --num-decoder-layers 1 --dim-feedforward 8")
QUICK = [*SMALL, *shlex.split("--steps 4 --evaluate-every 2 --warmup-steps 1 --tokens-per-batch 300 --examples 80")]
COPY = [*QUICK, *shlex.split("--task copy --letters abcde --shortest 2 --longest 5 --dev-examples 8 --max-length 12")]
PAIRS = [word for word in QUICK if word not in ("--examples", "80")]
PAIRS += shlex.split("--source-vocabulary 290 --target-vocabulary 281")

# What is said here comes after the base, and has to leave another run; files are written by the fixture.
CHANGES = {
    "task": (COPY, "--task reverse"),
    "letters": (COPY, "--letters abcdx"),
    "shortest": (COPY, "--shortest 3"),
    "longest": (COPY, "--longest 6"),
    "examples": (COPY, "--examples 40"),
    "dev_examples": (COPY, "--dev-examples 4"),
    "train": (PAIRS, "--train fewer.tsv"),
    "dev": (PAIRS, "--dev fewer.tsv"),
    "source_vocabulary": (PAIRS, "--source-vocabulary 283"),
    "target_vocabulary": (PAIRS, "--target-vocabulary 279"),
    "source_without_spaces": (PAIRS, "--source-vocabulary 285 --source-without-spaces"),
    "target_without_spaces": (PAIRS, "--target-vocabulary 278 --target-without-spaces"),
    "epochs": ([word for word in COPY if word not in ("--steps", "4")], "--epochs 2"),
    "steps": (COPY, "--steps 5"),
    "tokens_per_batch": (COPY, "--tokens-per-batch 60"),
    "schedule": (COPY, "--schedule cosine"),
    "learning_rate": (COPY, "--learning-rate 0.01"),
    "warmup_steps": (COPY, "--warmup-steps 3"),
    "evaluate_every": (COPY, "--evaluate-every 3"),
    "dropout": (COPY, "--dropout 0.3"),
    "label_smoothing": (COPY, "--label-smoothing 0.3"),
    "word_dropout": (COPY, "--word-dropout 0.5"),
    "subword_sampling": (PAIRS, "--subword-sampling 0.1"),
    "weight_decay": (COPY, "--weight-decay 20"),
    "clip_norm": (COPY, "--clip-norm 0.001"),
    "averaging": (COPY, "--averaging 0"),
    "average_last": (COPY, "--average-last 2"),
    "d_model": (COPY, "--d-model 15"),
    "nhead": (COPY, "--nhead 2"),
    "num_encoder_layers": (COPY, "--num-encoder-layers 2"),
    "num_decoder_layers": (COPY, "--num-decoder-layers 2"),
    "dim_feedforward": (COPY, "--dim-feedforward 9"),
    "activation": (COPY, "--activation gelu"),
    "positions": (COPY, "--positions learned"),
    "max_length": (COPY, "--max-length 5"),
    "norm_first": (COPY, "--no-norm-first"),
    "tie_output": (COPY, "--no-tie-output"),
    "share_embeddings": (COPY, "--share-embeddings"),
    "start_from": (COPY, "--start-from parent/checkpoint"),
    "keep_vocabulary": (
        [*PAIRS, "--source-vocabulary", "285", "--start-from", "parent-of-pairs/checkpoint"],
        "--keep-vocabulary source",
    ),
    "snapshots": (COPY, "--snapshots 0,3"),
    "precision": (COPY, "--precision bf16"),
    "seed": (COPY, "--seed 2"),
}
TESTED_ELSEWHERE = {"help", "output", "resume", "device", "save_seconds", "patience"}


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with pairs and sentences, and runs to start from."""
    folder = tmp_path_factory.mktemp("options")
    pairs = made_up_pairs()
    for name, some in (("pairs", pairs), ("fewer", pairs[:40])):
        lines = ["source\ttarget", *("\t".join(pair) for pair in some)]
        (folder / f"{name}.tsv").write_text("\n".join(lines), encoding="utf-8")
    (folder / "sentences.txt").write_text("\n".join(source for source, _ in pairs), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(["train", *COPY, "--seed", "9", "--output", "parent"]) == 0
        assert main(["train", *with_files(PAIRS), "--seed", "9", "--output", "parent-of-pairs"]) == 0
    return folder


def with_files(base: list[str]) -> list[str]:
    files = shlex.split("--train pairs.tsv --dev pairs.tsv")
    return base if "--task" in base else [*files, *base]


def left_by(folder: Path) -> dict[str, bytes]:
    own = {"state.safetensors", "timing.csv"}
    paths = [path for path in folder.rglob("*") if path.is_file() and path.name not in own]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser()
    train_options.describe(made)
    return made


def test_all_options_are_tested():
    names = {action.dest for action in parser()._actions}
    assert names == set(CHANGES) | TESTED_ELSEWHERE
    assert not set(CHANGES) & TESTED_ELSEWHERE
    assert set(vars(TrainingOptions())) < names


@pytest.fixture(scope="module")
def usual(work: Path) -> dict[str, dict[str, bytes]]:
    """What the bases leave, by what they say."""
    return {}


@pytest.mark.parametrize("option", CHANGES)
def test_the_option_makes_another_run(option, work, usual, monkeypatch):
    monkeypatch.chdir(work)
    base, change = with_files(CHANGES[option][0]), CHANGES[option][1].split()
    key = " ".join(base)
    if key not in usual:
        assert main(["train", *base, "--output", f"usual-{len(usual)}"]) == 0
        usual[key] = left_by(work / f"usual-{len(usual)}")
    assert main(["train", *base, *change, "--output", option]) == 0
    assert left_by(work / option) != usual[key]


def test_what_is_said_about_the_model_is_in_its_configuration(work, monkeypatch):
    monkeypatch.chdir(work)
    said = "--activation gelu --positions learned --no-norm-first --no-tie-output --max-length 33 --dropout 0.2"
    assert main(["train", *COPY, *said.split(), "--share-embeddings", "--output", "model"]) == 0
    config = load_checkpoint("model/checkpoint").config
    assert (config.activation, config.positions, config.norm_first, config.tie_output) == (
        "gelu",
        "learned",
        False,
        False,
    )
    assert (config.max_length, config.dropout, config.share_embeddings) == (33, 0.2, True)
    assert (config.d_model, config.nhead, config.num_encoder_layers, config.dim_feedforward) == (12, 3, 1, 8)
    assert (config.source_vocabulary, config.target_vocabulary) == (9, 9)


def test_patience_stops_a_run(work, monkeypatch):
    monkeypatch.chdir(work)
    found = iter([3.0, 3.5, 2.0])
    monkeypatch.setattr(Training, "judge", lambda self, model: (next(found), 0.0))
    assert main(["train", *COPY, "--steps", "20", "--patience", "1", "--output", "patience"]) == 0
    assert (work / "patience/log.csv").read_text().count("\n") == 3


@pytest.mark.parametrize(("seconds", "saves"), [(0, 1 + 4), (1000, 1 + 2)])
def test_the_state_is_saved_at_the_start_at_evaluations_and_by_the_clock(seconds, saves, work, monkeypatch):
    monkeypatch.chdir(work)
    made, save = [], Training._save_state
    monkeypatch.setattr(Training, "_save_state", lambda self: (made.append(1), save(self)))
    assert main(["train", *COPY, "--save-seconds", str(seconds), "--output", f"saves-{seconds}"]) == 0
    assert len(made) == saves


def test_one_vocabulary_serves_both_sides_when_embeddings_are_shared(work, monkeypatch):
    monkeypatch.chdir(work)
    base = [word for word in with_files(PAIRS) if word not in ("--target-vocabulary", "281")]
    assert main(["train", *base, "--share-embeddings", "--output", "shared"]) == 0
    checkpoint = load_checkpoint("shared/checkpoint")
    assert checkpoint.source_tokenizer.model == checkpoint.target_tokenizer.model
    for text in ("the cat", "neko"):
        assert checkpoint.source_tokenizer.spelled_as_bytes(text) == []
    assert checkpoint.model.source_embedding is checkpoint.model.target_embedding


def test_a_vocabulary_may_be_kept_and_the_rest_is_said(work, monkeypatch, capsys):
    monkeypatch.chdir(work)
    parent = load_checkpoint("parent-of-pairs/checkpoint")
    start = shlex.split("--start-from parent-of-pairs/checkpoint --keep-vocabulary")
    changed = with_files(PAIRS) + shlex.split("--source-vocabulary 285 --target-vocabulary 279")
    assert main(["train", *changed, *start, "both", "--output", "both"]) == 0
    kept = load_checkpoint("both/checkpoint")
    assert kept.source_tokenizer.model == parent.source_tokenizer.model
    assert kept.target_tokenizer.model == parent.target_tokenizer.model
    everything = sum(parameter.numel() for parameter in parent.model.parameters())
    assert f"{everything:,} parameters taken from parent-of-pairs/checkpoint\n" in capsys.readouterr().out
    assert main(["train", *changed, *start, "target", "--output", "one"]) == 0
    kept = load_checkpoint("one/checkpoint")
    assert len(kept.source_tokenizer) == 285
    assert kept.target_tokenizer.model == parent.target_tokenizer.model


def test_a_run_that_starts_from_another_begins_with_its_weights(work, monkeypatch):
    monkeypatch.chdir(work)
    run = [*COPY, "--start-from", "parent/checkpoint", "--snapshots", "0", "--output", "child"]
    assert main(["train", *run]) == 0
    first, parent = load_checkpoint("child/checkpoint", snapshot=0), load_checkpoint("parent/checkpoint")
    for name, parameter in parent.model.named_parameters():
        assert (first.model.get_parameter(name) == parameter).all()


@pytest.mark.parametrize("task", ["language-model", "induction"])
def test_a_decoder_alone_is_trained_and_kept(task, work, monkeypatch):
    monkeypatch.chdir(work)
    words = SMALL[:4] + SMALL[6:] + shlex.split("--steps 2 --snapshots 0,2 --source-vocabulary 290")
    if task == "induction":
        words = [*words[:-2], "--letters", "abcdefgh", "--examples", "50"]
    else:
        words += shlex.split("--train sentences.txt --dev sentences.txt")
    assert main(["train", "--task", task, *words, "--output", task]) == 0
    checkpoint = load_checkpoint(f"{task}/checkpoint")
    assert checkpoint.config.architecture == "decoder"
    assert len(checkpoint.source_tokenizer) == (12 if task == "induction" else 290)
    assert list_snapshots(work / task / "checkpoint") == [0, 2]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("", "The task translate needs --train FILE."),
        ("--train pairs.tsv", "The task translate needs --dev FILE."),
        ("--task language-model --train sentences.txt", "The task language-model needs --dev FILE."),
        ("--task reverse --train pairs.tsv", "--train is for translate, language-model, not for reverse."),
        (
            "--task induction --share-embeddings",
            "--share-embeddings is for translate, reverse, copy, not for induction.",
        ),
        ("--task induction --num-encoder-layers 2", "--num-encoder-layers is for translate, reverse, copy"),
        ("--letters abc", "--letters is for reverse, copy, induction, not for translate."),
        ("--task copy --subword-sampling 0.1", "--subword-sampling is for translate, language-model, not for copy."),
        ("--task copy --letters aab", "Letters must be printable, not blank, and each stand once, not 'aab'."),
        ("--task copy --shortest 7 --longest 3", "not from 7 to 3"),
        ("--train pairs.tsv --dev pairs.tsv --keep-vocabulary both", "--keep-vocabulary needs --start-from"),
        (
            "--train pairs.tsv --dev pairs.tsv --share-embeddings --target-vocabulary 300",
            "leave out --target-vocabulary",
        ),
        ("--task copy --start-from nowhere", "There is no checkpoint folder nowhere."),
        ("--task copy --device cuda:77", "This machine has no device cuda:77"),
        ("--task copy --steps 0", "steps must be at least 1, not 0."),
        ("--task copy --d-model 15 --nhead 3 --start-from parent/checkpoint", "has d_model 12, but this model has 15"),
    ],
)
def test_what_cannot_be_is_one_sentence(words, said, work, monkeypatch, capsys):
    monkeypatch.chdir(work)
    assert main(["train", *words.split(), "--output", "refused"]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1
    assert not (work / "refused/state.safetensors").exists()


@pytest.mark.parametrize("words", ["--snapshots 1,x", "--task juggle", "--epochs many", "--schedule steep"])
def test_words_that_are_no_values_are_refused(words, capsys):
    with pytest.raises(SystemExit) as left:
        main(["train", "--output", "x", *words.split()])
    assert left.value.code == 2
    assert words.split()[0] in capsys.readouterr().err


def test_the_help_says_each_letter_tasks_own_defaults():
    text = " ".join(parser().format_help().split())
    for task in LETTER_TASKS.values():
        assert task.letters in text.replace(" ", "")
    assert "(default: 3; induction: 8)" in text
    assert "(default: 10000)" in text
