"""What is said of a letter model is so, and the command line says it."""

import json
from pathlib import Path

import pytest
import torch

from transformer import TextTransformer, TransformerConfig, load_checkpoint
from transformer.__main__ import main
from transformer.checkpoint import Checkpoint
from transformer.decoding import translate
from transformer.letter_heads import random_repeats
from transformer.letter_report import exactly_right, letter_samples, measure_letters, repeated_right
from transformer.tasks import LetterTask
from transformer.training import Training
from transformer.training_options import TrainingOptions

COPY = LetterTask("copy", "abcd", 1, 4, examples=400, dev_examples=4)
REPEATS = LetterTask("induction", "abcdefgh", 4, 12, examples=100, dev_examples=20)


def learned(folder: Path, letters: LetterTask, steps: int) -> Path:
    """The checkpoint of a short run."""
    task = letters.task()
    torch.manual_seed(0)
    config = TransformerConfig(
        len(task.tokenizers[0]), len(task.tokenizers[-1]), task.architecture, 16, 2, 1, 2, 32, 0.0, max_length=16
    )
    options = TrainingOptions(
        steps=steps,
        learning_rate=1e-2,
        warmup_steps=10,
        averaging=0,
        label_smoothing=0,
        snapshots=(0, steps),
        tokens_per_batch=500,
    )
    Training(folder, TextTransformer(config), task, options).run()
    return folder / "checkpoint"


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return learned(tmp_path_factory.mktemp("copies"), COPY, 200)


@pytest.fixture(scope="module")
def repeats(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return learned(tmp_path_factory.mktemp("repeats"), REPEATS, 4)


def test_strings_are_right_when_every_letter_and_the_end_are(copies):
    checkpoint = load_checkpoint(copies)
    sources = ["a", "bcd", "ddab", "ca"]
    made = [checkpoint.target_tokenizer.text(one.ids) for one in translate(checkpoint, sources)]
    pairs = list(zip(sources, made, strict=True))
    assert exactly_right(checkpoint, pairs) == 1
    assert exactly_right(checkpoint, [*pairs[:3], ("ca", made[3] + "a")]) == 0.75
    assert exactly_right(checkpoint, [("a", made[0][:-1])]) == 0


def test_letters_that_the_first_copy_tells_are_counted_one_by_one(repeats):
    checkpoint = load_checkpoint(repeats)
    texts = random_repeats(REPEATS.letters, 5, 3)
    right = []
    for (text,) in texts:
        ids = checkpoint.source_tokenizer.ids(text)
        likeliest = checkpoint.model(torch.tensor([[2, *ids]]))[0].argmax(dim=-1).tolist()  # row i: the letter ids[i]
        right += [likeliest[i] == ids[i] for i in range(6, 10)]
    assert repeated_right(checkpoint, texts) == pytest.approx(sum(right) / 12)


def test_a_report_of_a_model_that_copies(copies):
    checkpoint, at_first = load_checkpoint(copies), load_checkpoint(copies, snapshot=0)
    report, before = measure_letters(checkpoint, COPY), measure_letters(at_first, COPY)
    assert report.strings == before.strings == len(COPY.unseen(500)) < 30  # of 340 strings, a twentieth is held out
    assert report.right > 0.7 > 0.2 > before.right
    assert report.measures == ["diagonal"]
    assert report.best("diagonal").score == max(one.score for one in report.heads)
    log = (copies.parent / "log.csv").read_text().splitlines()
    last = dict(zip(log[0].split(","), log[-1].split(","), strict=True))
    assert report.dev_loss == pytest.approx(float(last["dev_loss"]), abs=2e-3)  # the log's weights were not yet rounded
    assert report.dev_accuracy == pytest.approx(float(last["dev_accuracy"]), abs=1e-4)


def test_a_report_of_a_decoder_alone(repeats):
    report = measure_letters(load_checkpoint(repeats), REPEATS, strings=7)
    assert report.strings == 7
    assert report.measures == ["induction", "previous token"]
    assert len(report.heads) == 2 * 2 * 2


def test_samples_come_with_their_answers(copies, repeats):
    texts = ["abca", "d"]
    samples = letter_samples(load_checkpoint(copies), COPY, texts)
    assert [(one.source, one.references) for one in samples] == [("abca", ["abca"]), ("d", ["d"])]
    checkpoint = load_checkpoint(copies)
    assert [one.translation for one in samples] == [
        checkpoint.target_tokenizer.text(one.ids) for one in translate(checkpoint, texts)
    ]
    (sample,) = letter_samples(load_checkpoint(repeats), REPEATS, ["abcab"])
    assert sample.references == []


def test_no_strings_measure_nothing(copies):
    with pytest.raises(ValueError, match="at least one string is wanted, not 0"):
        measure_letters(load_checkpoint(copies), COPY, strings=0)


def test_evaluate_prints_the_heads_and_writes_what_it_measured(copies, tmp_path, capsys):
    arguments = ["evaluate", "--checkpoint", str(copies), "--snapshots", "--sample", "abc"]
    assert main([*arguments, "--output", str(tmp_path / "metrics.json")]) == 0
    out = capsys.readouterr().out.splitlines()
    figures = json.loads((tmp_path / "metrics.json").read_text(encoding="utf-8"))
    letters = figures["letters"]
    assert out[0] == f"{letters['right']:.2%} right, of {letters['strings']} strings drawn anew"
    assert out[2].split() == ["layer", "head", "diagonal"]
    scores = [f"{one['score']:.3f}" for one in letters["heads"]]
    assert [line.split() for line in out[3:7]] == [
        [*place, score] for place, score in zip((("1", "1"), ("1", "2"), ("2", "1"), ("2", "2")), scores, strict=True)
    ]
    assert out[7].split() == ["step", "dev", "loss", "accuracy", "right", "diagonal"]
    assert [line.split()[0] for line in out[8:]] == ["0", "200"]
    assert figures["snapshots"]["200"] == letters  # without averaging, the last weights are the best
    assert figures["task"]["kind"] == "copy"
    assert figures["samples"][0]["source"] == "abc"


def test_the_head_that_does_most_is_named_by_layer_and_head(repeats, capsys):
    assert main(["evaluate", "--checkpoint", str(repeats), "--snapshots", "--strings", "5"]) == 0
    line = capsys.readouterr().out.splitlines()[-1]
    best = measure_letters(load_checkpoint(repeats, snapshot=4), REPEATS, 5).best("previous token")
    assert line.endswith(f"{best.score:.3f} ({best.site.layer + 1}.{best.head + 1})")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--test", "x.tsv"], "--test is for models of texts, but {} learned copy."),
        (["--alignment", "x.jsonl"], "--alignment is for models of texts, but {} learned copy."),
        (["--strings", "-1"], "at least one string is wanted, not -1."),
        (["--sample", "xyz"], "no token for 'x' 'y' 'z'"),
    ],
)
def test_what_evaluate_cannot_do_with_letters_is_one_sentence(more, said, copies, capsys):
    assert main(["evaluate", "--checkpoint", str(copies), *more]) == 2
    assert said.format(copies) in capsys.readouterr().err


def test_snapshots_that_were_not_kept_cannot_be_measured(copies, trained_run, tmp_path, capsys):
    for file in copies.iterdir():
        if file.is_file():
            (tmp_path / file.name).write_bytes(file.read_bytes())
    assert main(["evaluate", "--checkpoint", str(tmp_path), "--snapshots"]) == 2
    assert capsys.readouterr().err == f"The checkpoint {tmp_path} has no snapshots.\n"
    of_texts = str(trained_run / "checkpoint")
    assert main(["evaluate", "--checkpoint", of_texts, "--snapshots"]) == 2
    assert "--snapshots is for models of letters" in capsys.readouterr().err


def test_a_task_of_another_vocabulary_does_not_fit(copies):
    checkpoint: Checkpoint = load_checkpoint(copies)
    with pytest.raises(ValueError, match="no token for"):
        measure_letters(checkpoint, LetterTask("copy", "wxyz", 1, 4))
