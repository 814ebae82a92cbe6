"""The mask lab's page, without a browser."""

import json
from dataclasses import asdict, fields, replace
from pathlib import Path

import pytest
from opened_page import control, explorer, look, opened
from small_checkpoint import write_alone, write_small_checkpoint
from small_recordings import batch as recorded_batch

from dashboard import mask_files
from dashboard.bugs import LINK as OF_BUGS
from dashboard.inside import LINK as OF_INSIDE
from dashboard.linked import state_of
from dashboard.mask_edits import MOST_CELLS, MOST_EDITS, MOST_PRESETS, Edit, as_json
from dashboard.mask_runs import MOST_SENTENCES, MOST_TOKENS
from dashboard.masks import LINK, MaskLab
from dashboard.positions import LINK as OF_POSITIONS
from dashboard.selection import LINK as OF_ATTENTION
from dashboard.selection import Selection
from dashboard.state import LONGEST_IN_URL
from dashboard.words import words_of
from transformer.mask_rules import BLOCKED, PRESETS, Chosen, MaskRule

EDITS = (
    Edit("encoder", None, None, MaskRule(presets=(Chosen("window", (1.0, 2.0)), Chosen("causal")), combined="any")),
    Edit("cross", 0, 1, MaskRule(own=False, cells=((1, 2, BLOCKED), (1, 3, BLOCKED), (2, 0, -1.5))), renormalise=False),
)
CHOSEN = MaskLab(
    kind="encoder",
    layer=0,
    head=2,
    text=1,
    scope="all",
    edits=EDITS,
    show="leaks",
    compared="difference",
    brush="number",
    amount=-0.5,
    pair=(3, 1),
)
SHARED = {"kind", "layer", "head"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("masks")
    write_small_checkpoint(folder / "first")
    write_alone(folder / "alone")
    return folder


@pytest.fixture(autouse=True)
def checkpoints(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(folder))


def masks(**url: str):
    return opened(page="masks", **{"checkpoint": "first"} | url)


def as_sent(state: MaskLab) -> dict:
    return json.loads(json.dumps({**asdict(state), "edits": [as_json(edit) for edit in state.edits]}))


def test_a_link_restores_all_that_can_be_chosen_edits_too():
    assert all(getattr(CHOSEN, field.name) != field.default for field in fields(CHOSEN))
    link = LINK.to_address(CHOSEN)
    page = masks(**link)
    assert look(page) == as_sent(CHOSEN)
    assert {name: page.query_params[name] for name in link} == link
    assert page.session_state[state_of("masks")] == CHOSEN


def test_an_address_says_only_what_is_not_as_it_begins():
    said = LINK.to_address(CHOSEN)
    assert json.loads(said.pop("edits")) == [as_json(edit) for edit in EDITS]
    assert said == {
        "kind": "encoder",
        "layer": "1",
        "head": "3",
        "of_batch": "2",
        "scope": "all",
        "mask_view": "leaks",
        "compared": "difference",
        "brush": "number",
        "amount": "-0.5",
        "mask_cell": "4,2",
    }
    assert LINK.to_address(MaskLab()) == {}


def test_kind_layer_and_head_are_the_explorers_and_nothing_else_is():
    others = {name for link in (OF_ATTENTION, OF_INSIDE, OF_POSITIONS, OF_BUGS) for name in link.names}
    assert set(LINK.names) & others == SHARED
    for name in SHARED:
        assert getattr(MaskLab(), name) == getattr(Selection(), name)


def test_the_head_that_is_looked_at_is_kept_from_page_to_page():
    page = opened(checkpoint="first", kind="encoder", layer="1", head="3")
    control(page, "page").set_value("masks")
    page.run()
    assert not page.exception
    assert [look(page)[name] for name in ("kind", "layer", "head")] == ["encoder", 0, 2]


def test_what_the_browser_moved_goes_into_the_link_and_is_not_sent_back():
    page = masks()
    revision = explorer(page)["revision"]
    at = state_of("masks")
    page.session_state[at] = LINK.from_browser(as_sent(replace(CHOSEN, text=0)))
    page.run()
    assert not page.exception
    assert page.query_params["mask_view"] == "leaks"
    assert json.loads(page.query_params["edits"]) == [as_json(edit) for edit in EDITS]
    assert explorer(page)["revision"] == revision


def test_edits_too_long_for_an_address_are_not_cut_but_left_out():
    cells = tuple((row, column, row + column / 8) for row in range(30) for column in range(30))
    state = replace(CHOSEN, edits=(Edit("encoder", 0, 0, MaskRule(cells=cells)),))
    assert len(json.dumps(as_json(state.edits[0]))) > LONGEST_IN_URL
    said = LINK.to_address(state)
    assert "edits" not in said
    assert said["mask_view"] == "leaks"
    assert LINK.from_browser(as_sent(state)) == state


def test_nonsense_in_a_link_is_passed_over():
    assert look(masks(**dict.fromkeys(LINK.names, "x"))) == as_sent(MaskLab())
    assert look(masks(edits="[{}]", amount="11", mask_cell="1", brush="erase"))["edits"] == []


def test_edits_of_another_checkpoint_are_kept_for_it():
    """The browser leaves out what this one has not; the link still says it."""
    link = LINK.to_address(replace(MaskLab(), edits=(Edit("cross", 5, 9, MaskRule(own=False)),)))
    page = masks(**link)
    assert [edit["layer"] for edit in look(page)["edits"]] == [5]
    assert page.query_params["edits"] == link["edits"]


def test_the_page_is_told_what_ran_and_its_limits():
    run = explorer(masks(source="the cat sees the sea", target_from="type", target="neko umi", others="a dog"))["run"]
    assert run["texts"] == 2
    assert not run["continues"]
    assert [(one["kind"], one["heads"], one["queries"], one["keys"]) for one in run["kinds"]] == [
        ("encoder", [3, 3], "source", "source"),
        ("decoder", [3], "target", "target"),
        ("cross", [3], "target", "source"),
    ]
    sizes = [one["size"] for one in run["kinds"]]
    assert sizes[0] == [sizes[2][1]] * 2
    assert sizes[1] == [sizes[2][0]] * 2
    assert run["limits"] == {
        "edits": MOST_EDITS,
        "presets": MOST_PRESETS,
        "cells": MOST_CELLS,
        "bytes": mask_files.MOST_BYTES,
        "address": LONGEST_IN_URL,
    }
    assert [one["name"] for one in run["presets"]] == list(PRESETS)
    alone = explorer(masks(checkpoint="alone", others="abc"))["run"]
    assert [one["kind"] for one in alone["kinds"]] == ["decoder"]
    assert alone["continues"]


def test_the_sentence_beside_is_a_sample_of_the_checkpoint_unless_it_is_the_same():
    assert explorer(masks())["run"]["texts"] == 1  # the only sample is looked at already
    assert explorer(masks(source="a dog"))["run"]["texts"] == 2
    assert explorer(masks(others="a dog\n\n  \nmy friend"))["run"]["texts"] == 3


def test_as_many_sentences_as_the_limit_and_not_one_more():
    fits = masks(others="\n".join(["a dog"] * (MOST_SENTENCES - 1)))
    assert explorer(fits)["run"]["texts"] == MOST_SENTENCES
    page = masks(others="\n".join(["a dog"] * MOST_SENTENCES))
    assert [one.value for one in page.warning] == [
        words_of("en")("masks.others.many", count=MOST_SENTENCES, limit=MOST_SENTENCES - 1)
    ]
    assert not page.get("bidi_component")


def test_a_sentence_that_does_not_fit_is_shown_with_its_problem_and_nothing_to_press():
    long = "the cat sees the sea " * 4
    page = masks(source="a dog", others=long.strip())
    (warning,) = page.warning
    assert f"at most {MOST_TOKENS}" in warning.value
    assert long.strip() in [one.value for one in page.text]
    assert not [one for one in page.button if one.key in ("remedy", "example", "own")]
    assert not page.get("bidi_component")


def test_a_first_sentence_that_is_too_long_can_be_replaced_by_the_example():
    page = masks(source="the cat sees the sea " * 4)
    (warning,) = page.warning
    assert f"at most {MOST_TOKENS}" in warning.value
    next(one for one in page.button if one.key == "example").click()
    page.run()
    assert not page.warning
    assert explorer(page)["run"]["texts"] == 1


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_recording_without_a_model_is_answered_in_one_sentence(tmp_path, monkeypatch, language):
    recorded_batch().save(tmp_path / "step.safetensors")
    monkeypatch.setenv("HEADLIGHT_RECORDING", str(tmp_path / "step.safetensors"))
    page = opened(page="masks", language=language)
    assert [one.value for one in page.info] == [words_of(language)["masks.no_model"]]
    assert not page.get("bidi_component")


def test_an_empty_text_is_answered_kindly():
    assert [one.value for one in masks(source=" ").info] == [words_of("en")["empty.source"]]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_preset_and_number_has_its_name(language):
    names = words_of(language).names()
    for name, preset in PRESETS.items():
        assert f"masks.preset.{name}" in names
        for number in preset.numbers:
            assert f"masks.number.{number.name}" in names
    assert explorer(masks(language=language))["words"] == words_of(language).all()
