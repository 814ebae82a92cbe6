"""The attention page's logic, without a browser."""

import json
from dataclasses import asdict, fields

import pytest
from opened_page import control, explorer, look, moved, opened

from dashboard import fit, runs, shelf, state
from dashboard.selection import LINK, Selection
from dashboard.words import as_text, words_of

EN = words_of("en")

pytestmark = pytest.mark.usefixtures("two_checkpoints")


def test_the_page_opens_on_the_checkpoints_own_sentence():
    page = opened()
    assert page.text_area(key="source").value == "the cat sees the sea"
    assert (look(page)["kind"], look(page)["cross_rows"]) == ("cross", "predicted")


def test_the_explorer_is_told_the_models_layers_and_heads():
    kinds = explorer(opened())["run"]["kinds"]
    assert {one["kind"]: one["heads"] for one in kinds} == {"encoder": [3, 3], "decoder": [3], "cross": [3]}
    assert [(one["queries"], one["keys"]) for one in kinds] == [
        ("source", "source"),
        ("target", "target"),
        ("target", "source"),
    ]


def test_a_link_restores_every_choice():
    page = opened(kind="encoder", layer="1", head="3", source="a dog likes bread", language="zh")
    assert [look(page)[name] for name in ("kind", "layer", "head")] == ["encoder", 0, 2]
    assert page.text_area(key="source").value == "a dog likes bread"
    assert explorer(page)["words"] == words_of("zh").all()


def test_a_link_restores_all_that_can_be_chosen():
    chosen = Selection(
        view="lines", kind="encoder", layer=0, head="mean", decoder_rows="predicted", cross_rows="read", measure="norm",
        scale="log", unit="word", over="first", special="hidden", spaces=False, heads=(0, 2), pair=(3, 1), centred=True,
        picked=(4, 0), joint="product", reading="read_by", step=2, pool="mean",
    )  # fmt: skip
    assert all(getattr(chosen, field.name) != field.default for field in fields(chosen))
    link = LINK.to_address(chosen)
    page = opened(**link)
    assert look(page) == json.loads(json.dumps(asdict(chosen)))
    assert {name: page.query_params[name] for name in link} == link


def test_nonsense_in_a_link_is_passed_over():
    page = opened(kind="sideways", layer="99", head="zero", language="xx", checkpoint="../../etc")
    assert page.selectbox(key="checkpoint").value == "first"
    assert (look(page)["kind"], look(page)["head"]) == ("cross", 0)
    assert look(opened(kind="encoder", layer="x"))["layer"] == 1
    assert look(opened(pair="1", picked="x", heads="0", spaces="maybe", step="-1")) == look(opened())


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
    url = {"kind": "encoder", "layer": "1", "head": "mean"}
    page = opened(**url)
    page.text_area(key="source").set_value(" ").run()
    assert {name: page.query_params[name] for name in url} == url
    page.text_area(key="source").set_value("a dog likes bread").run()
    assert [look(page)[name] for name in ("kind", "layer", "head")] == ["encoder", 0, "mean"]


def test_what_the_browser_moved_goes_into_the_link_and_is_not_sent_back():
    page = opened(kind="encoder", layer="1")
    revision = explorer(page)["revision"]
    moved(page, head=2, scale="log")
    assert (page.query_params["head"], page.query_params["scale"]) == ("3", "log")
    assert explorer(page)["revision"] == revision
    moved(page, head=0)
    assert "head" not in page.query_params


def test_an_address_that_leads_elsewhere_is_followed(monkeypatch):
    page = opened(kind="encoder", layer="1")
    moved(page, head=2)
    monkeypatch.setattr(state, "SETTLED_SECONDS", 0.0)
    revision = explorer(page)["revision"]
    page.query_params["kind"] = "decoder"
    page.run()
    assert look(page)["kind"] == "decoder"
    assert explorer(page)["revision"] == revision + 1


def test_choices_survive_a_change_of_text_and_of_checkpoint():
    page = moved(opened(), kind="encoder", layer=0, head=1)
    page.text_area(key="source").set_value("a dog likes bread").run()
    assert [look(page)[name] for name in ("kind", "layer", "head")] == ["encoder", 0, 1]
    page.selectbox(key="checkpoint").set_value("second").run()
    assert not page.exception
    assert [look(page)[name] for name in ("kind", "layer", "head")] == ["encoder", 0, 1]
    assert page.text_area(key="source").value == "a dog likes bread"


def test_a_head_beyond_the_other_models_last_stays_wanted():
    page = opened(kind="encoder", head="3", view="table")
    page.selectbox(key="checkpoint").set_value("second").run()
    assert not page.exception
    assert look(page)["head"] == 2  # the browser shows the last there is, as Selection.within does
    assert page.query_params["head"] == "3"


def test_moving_a_slider_does_not_run_the_model():
    page = opened(kind="encoder")
    forwards = []
    hook = shelf.checkpoint("first").model.register_forward_hook(lambda *_: forwards.append(1))
    try:
        moved(page, head=1)
        moved(page, layer=0)
    finally:
        hook.remove()
    assert forwards == []


def test_the_run_keeps_its_key_while_it_is_the_same():
    page = opened()
    key = explorer(page)["run"]["key"]
    control(page, "language").set_value("zh")
    page.run()
    assert explorer(page)["run"]["key"] == key
    page.text_area(key="source").set_value("a dog likes bread").run()
    assert explorer(page)["run"]["key"] != key


def test_an_empty_text_is_answered_kindly():
    page = opened(source=" ")
    assert [one.value for one in page.info] == [EN["empty.source"]]
    page = opened(target_from="type", target="")
    assert [one.value for one in page.info] == [EN["empty.target"]]


def test_a_text_beyond_training_is_run_and_said():
    said = EN("beyond.source", length=681, limit=64)
    page = opened(source="the cat sees the sea " * 40)
    assert said in [one.value for one in page.text]
    assert said not in [one.value for one in opened().text]


def test_a_long_text_is_refused_with_its_numbers_and_cut_on_request(monkeypatch):
    monkeypatch.setattr(fit, "LONGEST", 64)
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
