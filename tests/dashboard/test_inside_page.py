"""The page "inside a layer", without a browser."""

import json
from dataclasses import asdict, fields, replace
from pathlib import Path

import pytest
from opened_page import control, explorer, look, opened
from small_checkpoint import write_alone, write_small_checkpoint
from small_recordings import batch

from dashboard import inside_numbers
from dashboard.inside import LINK, Inside
from dashboard.linked import state_of
from dashboard.positions import LINK as OF_POSITIONS
from dashboard.selection import LINK as OF_ATTENTION
from dashboard.selection import Selection
from dashboard.words import words_of
from transformer.walked import StepName

SHARED = {"kind", "layer", "head"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inside")
    write_small_checkpoint(folder / "first")
    write_alone(folder / "alone")
    return folder


@pytest.fixture(autouse=True)
def checkpoints(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(folder))


def inside(**url: str):
    return opened(page="inside", **{"checkpoint": "first"} | url)


CHOSEN = Inside(kind="encoder", layer=0, head=2, at="projection", tensor="v", cell=(3, 1), batch_first=False)


def test_a_link_restores_all_that_can_be_chosen():
    assert all(getattr(CHOSEN, field.name) != field.default for field in fields(CHOSEN))
    link = LINK.to_address(CHOSEN)
    page = inside(**link)
    assert look(page) == json.loads(json.dumps(asdict(CHOSEN)))
    assert {name: page.query_params[name] for name in link} == link


def test_an_address_counts_from_1_and_says_only_what_is_not_as_it_begins():
    assert LINK.to_address(CHOSEN) == {
        "kind": "encoder",
        "layer": "1",
        "head": "3",
        "inside_step": "projection",
        "inside_tensor": "v",
        "inside_cell": "4,2",
        "batch_first": "false",
    }
    assert LINK.to_address(Inside()) == {}


def test_kind_layer_and_head_are_the_explorers_and_nothing_else_is():
    assert set(LINK.names) & (set(OF_ATTENTION.names) | set(OF_POSITIONS.names)) == SHARED
    for name in SHARED:
        assert getattr(Inside(), name) == getattr(Selection(), name)


def test_the_head_that_is_looked_at_is_kept_from_page_to_page():
    page = opened(checkpoint="first", kind="encoder", layer="1", head="3")
    control(page, "page").set_value("inside")
    page.run()
    assert not page.exception
    assert [look(page)[name] for name in ("kind", "layer", "head")] == ["encoder", 0, 2]
    at = state_of("inside")
    page.session_state[at] = replace(page.session_state[at], kind="decoder", head=1, at="softmax")
    page.run()
    assert (page.query_params["head"], page.query_params["inside_step"]) == ("2", "softmax")


def test_what_the_browser_moved_goes_into_the_link_and_is_not_sent_back():
    page = inside()
    revision = explorer(page)["revision"]
    at = state_of("inside")
    page.session_state[at] = replace(page.session_state[at], at="values", cell=(0, 2))
    page.run()
    assert not page.exception
    assert (page.query_params["inside_step"], page.query_params["inside_cell"]) == ("values", "1,3")
    assert explorer(page)["revision"] == revision


def test_nonsense_in_a_link_is_passed_over():
    assert look(inside(**dict.fromkeys(LINK.names, "x"))) == json.loads(json.dumps(asdict(Inside())))
    assert look(inside(inside_cell="1", inside_step="steps", batch_first="1"))["cell"] is None


def test_the_page_is_told_what_there_is_to_walk_through():
    run = explorer(inside())["run"]
    assert [(one["kind"], one["heads"], one["long"]) for one in run["kinds"]] == [
        ("encoder", [3, 3], False),
        ("decoder", [3], False),
        ("cross", [3], False),
    ]
    assert [one["kind"] for one in explorer(inside(checkpoint="alone"))["run"]["kinds"]] == ["decoder"]


def test_a_text_with_too_many_tokens_is_said(monkeypatch):
    monkeypatch.setattr(inside_numbers, "MOST_TOKENS", 12)
    run = explorer(inside(source="the cat sees the sea " * 4, target_from="type", target="neko"))["run"]
    assert {one["kind"]: one["long"] for one in run["kinds"]} == {"encoder": True, "decoder": False, "cross": True}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_recording_without_a_model_is_answered_in_one_sentence(tmp_path, monkeypatch, language):
    batch().save(tmp_path / "step.safetensors")
    monkeypatch.setenv("HEADLIGHT_RECORDING", str(tmp_path / "step.safetensors"))
    page = opened(page="inside", language=language)
    assert [one.value for one in page.info] == [words_of(language)["inside.no_model"]]
    assert not page.get("bidi_component")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_step_has_its_words(language):
    page = inside(language=language)
    assert explorer(page)["words"] == words_of(language).all()
    names = words_of(language).names()
    for step in StepName.__args__:
        assert f"inside.step.{step}" in names
        assert step in ("mask", "activation") or f"inside.say.{step}" in names


def test_an_empty_text_is_answered_kindly():
    assert [one.value for one in inside(source=" ").info] == [words_of("en")["empty.source"]]
