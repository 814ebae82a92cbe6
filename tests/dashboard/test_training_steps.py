"""Snapshots: the weights at steps of training, beside the finished ones."""

import shutil
from itertools import combinations

import pytest
import torch
from opened_page import control, look, opened
from small_checkpoint import write_small_checkpoint

from dashboard import runs, shelf
from dashboard.runs import Question
from dashboard.words import words_of
from transformer.checkpoint import load_checkpoint
from transformer.recorder import record

EN, ZH = words_of("en"), words_of("zh")

pytestmark = pytest.mark.usefixtures("kinds")


@pytest.mark.parametrize("name", ["letters", "alone"])
def test_a_step_is_run_with_the_weights_of_that_step(kinds, name):
    seen = []
    for step in (None, 0, 1000):
        recording = runs.ask(Question(name, "abcdef", step=step)).recording
        model = load_checkpoint(kinds / name, snapshot=step).model
        with torch.inference_mode(), record(model) as expected:
            model(*recording.runs[0].ids.values())
        for site in expected.sites:
            torch.testing.assert_close(recording.pattern(site), expected.pattern(site))
        seen.append(recording.pattern(recording.sites[0]))
    assert not any(torch.equal(one, other) for one, other in combinations(seen, 2))


def test_rows_stay_what_the_finished_model_answers_and_the_step_answers_for_itself():
    finished = runs.ask(Question("letters", "abcdef"))
    early = runs.ask(Question("letters", "abcdef", step=0))
    assert early.predicted == finished.predicted
    assert early.probabilities != finished.probabilities
    assert runs.written(Question("letters", "abcdef")) == finished.target == early.target
    assert runs.written(Question("letters", "abcdef", step=0)).text != finished.target.text


def test_the_slider_begins_at_the_finished_weights_and_goes_into_the_link():
    page = opened(checkpoint="letters", kind="encoder", layer="1", head="3")
    slider = page.select_slider(key="step")
    assert slider.options == ["0", "40", "1,000", "end"]
    assert slider.value == "end"
    assert "step" not in page.query_params
    slider.set_value("40").run()
    assert not page.exception
    assert page.query_params["step"] == "40"
    assert (look(page)["layer"], look(page)["head"]) == (0, 2)
    assert EN("answer.step", step=40) in [one.value for one in page.caption]


def test_a_link_restores_the_step_and_one_that_was_not_kept_is_passed_over():
    assert opened(checkpoint="letters", step="1000").select_slider(key="step").value == "1000"
    assert opened(checkpoint="letters", step="7").select_slider(key="step").value == "end"
    assert opened(checkpoint="letters", step="../../x").select_slider(key="step").value == "end"


def test_a_last_step_that_is_the_finished_model_has_no_stop_of_its_own(tmp_path, monkeypatch):
    write_small_checkpoint(tmp_path / "one", letters="abc", opening="abc", steps=(3, 5))
    shutil.copy(tmp_path / "one" / "model.safetensors", tmp_path / "one" / "snapshots" / "5.safetensors")
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(tmp_path))
    assert shelf.snapshots("one") == [3]
    page = opened(step="5")
    assert page.select_slider(key="step").options == ["3", "end"]
    assert page.select_slider(key="step").value == "end"


def test_there_is_no_slider_where_nothing_was_kept():
    page = opened(checkpoint="words", step="40")
    assert not page.select_slider
    assert not page.error


def test_another_language_and_another_checkpoint_keep_the_step_that_they_have():
    page = opened(checkpoint="letters", step="1000")
    control(page, "language").set_value("zh")
    page.run()
    assert page.select_slider(key="step").value == "1000"
    page.selectbox(key="checkpoint").set_value("alone").run()
    assert page.select_slider(key="step").value == "1000"
    page.selectbox(key="checkpoint").set_value("letters").run()
    page.select_slider(key="step").set_value("40").run()
    page.selectbox(key="checkpoint").set_value("alone").run()
    assert page.select_slider(key="step").value == "end"
    assert page.select_slider(key="step").options[-1] == ZH["step.end"]


def test_the_end_stays_the_end_in_another_language():
    page = opened(checkpoint="letters")
    control(page, "language").set_value("zh")
    page.run()
    assert page.select_slider(key="step").value == "end"


def test_a_damaged_snapshot_is_said(tmp_path, monkeypatch):
    write_small_checkpoint(tmp_path / "one", letters="abc", opening="abc", steps=(3,))
    (tmp_path / "one" / "snapshots" / "3.safetensors").write_bytes(b"x")
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(tmp_path))
    assert "3.safetensors" in opened(step="3").error[0].value.replace("\\", "")
    assert not opened().error
