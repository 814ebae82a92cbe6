"""What becomes of the viewer's choices when they turn to another checkpoint."""

from dataclasses import replace

import pytest
from opened_page import look, moved, opened

from dashboard import runs, shelf
from dashboard.runs import Question
from dashboard.selection import Selection

pytestmark = pytest.mark.usefixtures("kinds")


def turn_to(page, name):
    page.selectbox(key="checkpoint").set_value(name).run()
    assert not page.exception
    return page


def test_an_opening_text_makes_room_for_the_other_models():
    page = turn_to(opened(checkpoint="words"), "letters")
    assert page.text_area(key="source").value == "abcdef"
    assert "source" not in page.query_params
    assert not page.warning
    assert turn_to(page, "alone").text_area(key="source").value == "abcXabcX"
    assert turn_to(page, "words").text_area(key="source").value == "the cat sees the sea"


def test_a_typed_text_stays_and_what_does_not_fit_is_said():
    page = opened(checkpoint="words")
    page.text_area(key="source").set_value("a dog likes bread").run()
    turn_to(page, "letters")
    assert page.text_area(key="source").value == "a dog likes bread"
    assert page.query_params["source"] == "a dog likes bread"
    assert "space" in page.warning[0].value
    assert not turn_to(page, "words").warning


def test_a_selection_is_fitted_to_a_model_and_wanted_again_by_the_next():
    recordings = {
        name: runs.ask(Question(name, text)).recording for name, text in (("words", "a dog"), ("alone", "ab"))
    }
    wanted = Selection(kind="cross", layer=9, head=2, heads=(0, 2))
    assert wanted.within(recordings["words"], predicts=True) == replace(wanted, layer=0)
    assert wanted.within(recordings["alone"], predicts=True) == replace(
        wanted, kind="decoder", layer=1, head=1, heads=(0,)
    )
    assert replace(wanted, head=9, heads=(9,)).within(recordings["words"], predicts=True) == replace(
        wanted, layer=0, heads=()
    )
    assert replace(wanted, head="mean").within(recordings["words"], predicts=True).head == "mean"


def test_the_kind_that_is_wanted_comes_back_after_a_model_without_it():
    page = moved(opened(checkpoint="words"), kind="encoder")
    turn_to(page, "alone")
    assert look(turn_to(page, "words"))["kind"] == "encoder"


def test_a_target_that_nobody_changed_follows_the_model_and_the_source():
    page = opened(checkpoint="letters", target_from="type")

    def models(source):
        return runs.ask(Question("letters", source)).target.text

    assert page.text_area(key="target").value == models("abcdef")
    page.text_area(key="source").set_value("xyz").run()
    assert page.text_area(key="target").value == models("xyz")
    assert "target" not in page.query_params
    page.text_area(key="target").set_value("zyx").run()
    page.text_area(key="source").set_value("abc").run()
    assert page.text_area(key="target").value == "zyx"


def test_a_typed_target_stays_over_a_model_that_has_none():
    page = opened(checkpoint="letters", target_from="type", target="zyx")
    turn_to(turn_to(page, "alone"), "letters")
    assert page.text_area(key="target").value == "zyx"


def test_en_zh_is_the_first_choice_where_it_is_there(tmp_path, monkeypatch):
    for name in ("aa", "en-zh", "zz"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text("{}")
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(tmp_path))
    assert shelf.checkpoints() == ["en-zh", "aa", "zz"]
