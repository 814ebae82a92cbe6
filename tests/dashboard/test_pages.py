"""The attention page's logic, without a browser."""

import pytest
from opened_page import control, opened

from dashboard import runs, shelf
from dashboard.words import as_text, words_of

EN = words_of("en")

pytestmark = pytest.mark.usefixtures("two_checkpoints")


def test_the_page_opens_on_the_checkpoints_own_sentence():
    page = opened()
    assert page.text_area(key="source").value == "the cat sees the sea"
    assert control(page, "kind").value == "cross"
    assert page.session_state["cross_rows"] == "predicted"


def test_sliders_have_the_models_layers_and_heads():
    page = opened(kind="encoder")
    assert (page.slider(key="layer").min, page.slider(key="layer").max) == (1, 2)
    assert (page.slider(key="head").min, page.slider(key="head").max) == (1, 3)


def test_a_link_restores_every_choice():
    page = opened(kind="encoder", layer="1", head="3", source="a dog likes bread", language="zh")
    assert control(page, "kind").value == "encoder"
    assert (page.slider(key="layer").value, page.slider(key="head").value) == (1, 3)
    assert page.text_area(key="source").value == "a dog likes bread"
    assert page.slider(key="layer").label == words_of("zh")("layer", most=2)


def test_nonsense_in_a_link_is_passed_over():
    page = opened(kind="sideways", layer="99", head="zero", language="xx", checkpoint="../../etc")
    assert control(page, "kind").value == "cross"
    assert page.selectbox(key="checkpoint").value == "first"
    assert page.slider(key="head").value == 1
    page = opened(kind="encoder", layer="99")
    assert page.slider(key="layer").value == 2


def test_a_typed_target_is_run():
    page = opened(target_from="type", target="neko umi miru")
    assert page.text_area(key="target").value == "neko umi miru"


def test_turning_to_typing_begins_from_the_translation():
    page = opened()
    control(page, "target_from").set_value("type")
    page.run()
    translation = runs.ask(runs.Question("first", "the cat sees the sea")).target.text
    assert page.text_area(key="target").value == translation


def test_a_problem_leaves_no_old_translation_to_type_from():
    page = opened()
    page.text_area(key="source").set_value(" ").run()
    control(page, "target_from").set_value("type")
    page.run()
    assert page.text_area(key="target").value == ""


def test_a_text_that_cannot_be_shown_leaves_the_other_choices_in_the_link():
    page = opened(kind="encoder", layer="1", head="3", mean="true")
    page.text_area(key="source").set_value(" ").run()
    assert {name: page.query_params[name] for name in ("kind", "layer", "head", "mean")} == {
        "kind": "encoder",
        "layer": "1",
        "head": "3",
        "mean": "true",
    }
    page.text_area(key="source").set_value("a dog likes bread").run()
    assert (page.slider(key="layer").value, page.slider(key="head").value) == (1, 3)
    assert page.toggle(key="mean").value


def test_choices_survive_a_change_of_text_and_of_checkpoint():
    page = opened(kind="encoder", layer="1", head="2")
    page.text_area(key="source").set_value("a dog likes bread").run()
    assert (page.slider(key="layer").value, page.slider(key="head").value) == (1, 2)
    page.selectbox(key="checkpoint").set_value("second").run()
    assert not page.exception
    assert page.slider(key="head").value == 2
    assert control(page, "kind").value == "encoder"
    assert page.text_area(key="source").value == "a dog likes bread"


def test_a_head_beyond_the_other_models_last_becomes_its_last():
    page = opened(kind="encoder", head="3")
    page.selectbox(key="checkpoint").set_value("second").run()
    assert not page.exception
    assert page.slider(key="head").value == 2


def test_the_mean_of_heads_wears_a_badge():
    page = opened(kind="encoder", mean="true")
    assert page.slider(key="head").disabled
    assert any(EN("mean.badge", heads=3) in one.value for one in page.caption)


def test_moving_a_slider_does_not_run_the_model():
    page = opened(kind="encoder")
    forwards = []
    hook = shelf.checkpoint("first").model.register_forward_hook(lambda *_: forwards.append(1))
    try:
        page.slider(key="head").set_value(2).run()
        page.slider(key="layer").set_value(1).run()
    finally:
        hook.remove()
    assert not page.exception
    assert forwards == []


def test_an_empty_text_is_answered_kindly():
    page = opened(source=" ")
    assert [one.value for one in page.info] == [EN["empty.source"]]
    page = opened(target_from="type", target="")
    assert [one.value for one in page.info] == [EN["empty.target"]]


def test_a_long_text_is_refused_with_its_numbers_and_cut_on_request():
    page = opened(source="the cat sees the sea " * 40)
    assert "64" in page.warning[0].value
    page.button(key="remedy").click().run()
    assert not page.exception
    assert not page.warning
    assert "the cat sees the sea ".startswith(page.text_area(key="source").value[:10])


def test_characters_spelled_as_bytes_are_named_as_text():
    page = opened(source="the cat 🎉 <b>")
    assert any("🎉" in one.value for one in page.text)


def test_a_folder_without_checkpoints_is_said(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(tmp_path))
    page = opened()
    assert as_text(str(tmp_path)) in page.error[0].value


def test_a_damaged_checkpoint_is_said(tmp_path, monkeypatch):
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "config.json").write_text("{}")
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(tmp_path))
    page = opened()
    assert "broken" in page.error[0].value


def test_the_footer_is_always_there():
    for page in (opened(), opened(source=" ")):
        assert EN["footer"] in [one.value for one in page.caption]
