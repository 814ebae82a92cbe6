"""The letter models that ship do what their cards say, and the cards say how they were made."""

import argparse
import json
import re
import shlex
import shutil
import subprocess
from dataclasses import fields, replace
from pathlib import Path

import pytest

from transformer.checkpoint import CHECKPOINTS, TASK, list_checkpoints, list_snapshots, load_checkpoint
from transformer.commands import train_options
from transformer.config import TransformerConfig
from transformer.interventions import SwitchOff, edited
from transformer.letter_report import LetterReport, letter_samples, measure_letters
from transformer.tasks import LETTER_TASKS, LetterTask

LETTERS = ("reverse", "letters", "induction")
FRESH = 7  # a seed that neither training nor the cards drew with
TOLERANCE = 0.02  # between the figures of one seed's strings and another's


def task_of(name: str) -> LetterTask:
    task = LetterTask.load(CHECKPOINTS / name / TASK)
    assert task
    return task


def measured(name: str, strings: int, snapshot: int | None = None) -> LetterReport:
    return measure_letters(load_checkpoint(name, snapshot=snapshot), task_of(name), strings, FRESH)


def heads_of_the_card(name: str) -> list[tuple[int, int]]:
    """The layers and heads, counted from 1, that a card names in bold."""
    card = (CHECKPOINTS / name / "README.md").read_text(encoding="utf-8")
    return [(int(layer), int(head)) for layer, head in re.findall(r"\*\*layer (\d), head (\d)\*\*", card)]


def scores(report: LetterReport, measure: str) -> dict[tuple[int, int], float]:
    """What each head scores, by its layer and head, counted from 1."""
    return {(one.site.layer + 1, one.head + 1): one.score for one in report.heads if one.measure == measure}


def command_of(name: str) -> argparse.Namespace:
    """The training command of a card, as the command line understands it."""
    made = (CHECKPOINTS / name / "README.md").read_text(encoding="utf-8").partition("## How it was made")[2]
    command = re.search(r"^    python -m transformer train ((?:.*\\\n)*.*)", made, re.MULTILINE)
    assert command
    parser = argparse.ArgumentParser()
    train_options.describe(parser)
    return parser.parse_args(shlex.split(command[1].replace("\\\n", " ")))


def test_strings_are_reversed_and_one_head_reads_them_backwards():
    report = measured("reverse", 400)
    assert report.strings == 400
    assert report.right >= 0.995
    (named,) = heads_of_the_card("reverse")
    assert scores(report, "anti-diagonal")[named] >= 0.95


def test_the_model_to_read_on_a_projector_is_small_and_right():
    config = load_checkpoint("letters").config
    assert (config.nhead, config.d_model // config.nhead) == (2, 4)
    assert max(config.num_encoder_layers, config.num_decoder_layers) <= 2
    report = measured("letters", 400)
    assert report.right >= 0.95
    (named,) = heads_of_the_card("letters")
    assert scores(report, "anti-diagonal")[named] >= 0.95


def test_an_induction_head_stands_above_a_previous_token_head():
    report = measured("induction", 60)
    induction, previous = heads_of_the_card("induction")
    assert (previous[0], induction[0]) == (1, 2)
    assert scores(report, "induction")[induction] >= 0.9
    assert scores(report, "previous token")[previous] >= 0.3  # the other head of the layer does as much


def test_the_induction_head_needs_the_layer_below():
    checkpoint = load_checkpoint("induction")
    without = replace(checkpoint, model=edited(checkpoint.model, [SwitchOff("decoder", 0)]))
    report = measure_letters(without, task_of("induction"), 60, FRESH)
    assert report.best("induction").score < 0.1
    assert report.right < 0.1


@pytest.mark.parametrize("name", ["reverse", "induction"])
def test_snapshots_lead_from_chance_to_the_end(name):
    steps = list_snapshots(name)
    assert len(steps) == 12
    assert steps[0] == 0
    for step in steps[1:-1]:
        load_checkpoint(name, snapshot=step)
    first, last, kept = (measured(name, 20, step) for step in (0, steps[-1], None))
    assert first.right < 0.1
    assert first.dev_accuracy < 3 / len(task_of(name).letters)
    assert last == kept


@pytest.mark.parametrize("name", LETTERS)
def test_the_figures_beside_a_model_are_its_own(name):
    figures = json.loads((CHECKPOINTS / name / "metrics.json").read_text(encoding="utf-8"))
    kept, now = figures["letters"], measured(name, 60)
    assert kept["dev_loss"] == pytest.approx(now.dev_loss, abs=1e-3)
    assert kept["right"] == pytest.approx(now.right, abs=TOLERANCE)
    for before, after in zip(kept["heads"], now.heads, strict=True):
        assert (before["measure"], before["site"], before["head"]) == (after.measure, after.site, after.head)
        assert before["score"] == pytest.approx(after.score, abs=0.1)
    samples = letter_samples(load_checkpoint(name), task_of(name), [one["source"] for one in figures["samples"]])
    assert [one["translation"] for one in figures["samples"]] == [one.translation for one in samples]
    assert sorted(map(int, figures.get("snapshots", {}))) == list_snapshots(name)


@pytest.mark.parametrize("name", LETTERS)
def test_the_command_of_the_card_describes_the_model(name):
    chosen, config, task = command_of(name), load_checkpoint(name).config, task_of(name)
    for field in fields(TransformerConfig):
        if hasattr(chosen, field.name) and not field.name.endswith("vocabulary"):  # that of letters is the letters
            assert getattr(chosen, field.name) == getattr(config, field.name), field.name
    assert list(chosen.snapshots) == list_snapshots(name)
    assert chosen.task == task.kind
    for key in ("letters", "shortest", "longest", "examples", "dev_examples"):
        asked = getattr(chosen, key)
        assert getattr(task, key) == (getattr(LETTER_TASKS[task.kind], key) if asked is None else asked)


@pytest.mark.skipif(not shutil.which("make"), reason="no make here")
def test_make_checkpoints_prints_how_each_is_trained():
    project = Path(__file__).resolve().parents[1]
    done = subprocess.run(["make", "-s", "checkpoints"], cwd=project, capture_output=True, text=True, check=True)
    for name in list_checkpoints():
        part = done.stdout.partition(f"checkpoints/{name}/README.md\n")[2].partition("\ncheckpoints/")[0]
        assert part.lstrip().startswith("python -m transformer train "), name
