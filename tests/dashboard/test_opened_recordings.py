"""The page on a recording from a file: the server's, or one that a viewer opened."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from opened_page import control, explorer, look, moved, opened
from small_recordings import NOTE, batch, home_made, of_one_attention, steps
from test_components import unpacked
from test_served import HEAD, asked
from test_value_norms import of_version_1

from dashboard import numbers, recordings
from dashboard.offered import offered
from dashboard.recordings import MOST_MEGABYTES, MOST_OPENED
from dashboard.runs import Answer
from dashboard.words import as_text, words_of
from transformer.recording import Recording

EN = words_of("en")

pytestmark = pytest.mark.usefixtures("two_checkpoints")


@pytest.fixture
def serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Start the server, so to speak, with a recording."""

    def serving(recording: Recording, name: str = "step.safetensors") -> Path:
        recording.save(tmp_path / name)
        monkeypatch.setenv("HEADLIGHT_RECORDING", str(tmp_path / name))
        return tmp_path / name

    return serving


def upload(page, path: Path, name: str | None = None):
    (place,) = page.file_uploader
    place.upload(name or path.name, path.read_bytes()).run()
    assert not page.exception, page.exception
    return page


def saved(recording: Recording, path: Path) -> Path:
    recording.save(path)
    return path


def shown(page) -> Answer:
    answer = offered(explorer(page)["run"]["key"])
    assert answer is not None
    return answer


def numbers_of(page, **changes: str):
    """What the browser is told of a head."""
    response = asked(explorer(page)["run"]["key"], "head", **(HEAD | {"rows": "read"} | changes))
    assert response.status_code == 200, response.body
    return unpacked(response.body)


def test_the_page_opens_on_the_servers_recording(serve):
    whole = batch()
    serve(whole)
    page = opened()
    assert page.selectbox(key="checkpoint").value == "step.safetensors"
    assert page.selectbox(key="checkpoint").options == ["step.safetensors", "first", "second"]
    assert not page.text_area
    assert NOTE in [one.value for one in page.text]
    run = explorer(page)["run"]
    assert {one["kind"]: one["heads"] for one in run["kinds"]} == {"encoder": [3, 3], "decoder": [3], "cross": [3]}
    assert (run["steps"], run["norms"], run["opened"]) == (0, True, True)
    pattern, drawn = whole.pattern(whole.site("cross", 0), 1, run=0).numpy(), numbers_of(page)["cells"]
    np.testing.assert_array_equal(np.nan_to_num(drawn), pattern)
    np.testing.assert_array_equal(np.isnan(drawn), pattern == 0)  # the padding
    assert np.isnan(drawn).any()
    page.selectbox(key="checkpoint").set_value("first").run()
    assert not page.exception
    assert page.text_area(key="source").value == "the cat sees the sea"
    assert not explorer(page)["run"]["opened"]


@pytest.mark.parametrize(("run", "sentence"), [(1, 2), (2, 1), (2, 3)])
def test_run_and_sentence_are_chosen_and_stand_in_the_address(serve, run, sentence):
    whole = batch()
    serve(whole)
    page = opened()
    page.slider(key="recording_run").set_value(run).run()
    page.slider(key="sentence").set_value(sentence).run()
    in_url = {"recording_run": str(run), "sentence": str(sentence)}
    assert {name: page.query_params.get(name, "1") for name in in_url} == in_url
    again = opened(**in_url)
    for one in (page, again):
        for kind, layer in (("encoder", 1), ("decoder", 0), ("cross", 0)):
            got, site = numbers_of(one, kind=kind, layer=str(layer), head="2"), whole.site(kind, layer)
            place = {"sentence": sentence - 1, "run": run - 1}
            blocked = whole.mask(site, 2, **place).isneginf()
            expected = whole.pattern(site, 2, **place).masked_fill(blocked, torch.nan)
            np.testing.assert_array_equal(got["cells"], expected.numpy())
            assert list(got["keys"]) == whole.key_tokens(site, **place)
            assert list(got["queries"]) == whole.query_tokens(site, **place)


def test_the_same_sentence_is_the_same_run_for_the_browser(serve):
    serve(batch())
    page = opened()
    key = explorer(page)["run"]["key"]
    page.slider(key="sentence").set_value(2).run()
    assert explorer(page)["run"]["key"] != key
    page.slider(key="sentence").set_value(1).run()
    assert explorer(page)["run"]["key"] == key == explorer(opened())["run"]["key"]


def test_a_decoding_step_reads_the_source_that_was_encoded_before(serve):
    whole = steps()
    serve(whole)
    page = opened(recording_run="3", sentence="2")
    site = whole.site("cross", 0)
    assert list(numbers_of(page)["keys"]) == whole.key_tokens(site, 1, run=2)
    assert "</s>" in numbers_of(page)["keys"]
    assert "encoder" not in [one["kind"] for one in explorer(page)["run"]["kinds"]]


def test_what_a_recording_does_not_know_is_not_asked_for(serve, tmp_path, monkeypatch):
    recording = batch()
    old = of_version_1(recording, tmp_path / "old.safetensors")
    monkeypatch.setenv("HEADLIGHT_RECORDING", str(old))
    page = opened(view="table", measure="norm", cross_rows="predicted", kind="cross", layer="1")
    assert not explorer(page)["run"]["norms"]
    assert look(page)["measure"] == "norm"  # it comes back with a run that knows
    frame = page.dataframe[0].value
    site = recording.site("cross", 0)
    assert frame.iloc[0, 2] == pytest.approx(float(recording.pattern(site, 0, run=0).max()), abs=1e-6)
    assert set(frame.iloc[:, 0]) <= set(recording.query_tokens(site, run=0))
    assert list(numbers_of(page, rows="predicted")["queries"]) == recording.query_tokens(site, run=0)
    page = moved(page, view="steps")
    assert not page.exception
    page.selectbox(key="checkpoint").set_value("first").run()
    assert explorer(page)["run"]["norms"]
    assert look(page)["view"] == "steps"


def test_a_pair_is_explained_without_a_model(serve):
    serve(batch())
    page = opened()
    key = explorer(page)["run"]["key"]
    response = asked(key, "pair", **(HEAD | {"kind": "encoder", "rows": "read", "pair": "1,2"}))
    assert response.status_code == 200
    got = unpacked(response.body)
    assert got["first"] is None
    assert got["norm"] > 0


def test_attention_of_a_module_of_ones_own_is_seen(serve):
    whole = home_made()
    serve(whole)
    page = opened(sentence="2", layer="2")
    (kind,) = explorer(page)["run"]["kinds"]
    assert kind == {
        "kind": "other",
        "queries": "text",
        "keys": "text",
        "heads": [2, 1, 4, 2],
        "sizes": [[5, 5], [3, 5], [3, 3], [3, 3]],
        "paths": ["look", "glance", "stare", "look#2"],
        "long": False,
    }
    assert list(explorer(page)["palettes"]["light"]) == ["other"]
    for layer, site in enumerate(whole.sites):
        for head in range(site.heads):
            got = numbers_of(page, kind="other", layer=str(layer), head=str(head))
            np.testing.assert_array_equal(got["cells"], whole.pattern(site, head, sentence=1).numpy())
            assert " at " in "".join(text for text, _ in got["caption"])
    asked_for = {name: HEAD[name] for name in ("quantity", "unit", "over", "hidden", "language")}
    response = asked(explorer(page)["run"]["key"], "heads", cross="read", decoder="read", **asked_for)
    (overview,) = unpacked(response.body)["kinds"]
    assert overview["sizes"] == kind["sizes"]
    assert [tile.size for tile in overview["tiles"]] == [25] * 2 + [15] + [9] * 4 + [9] * 2
    for site, best in zip([s for s in whole.sites for _ in range(s.heads)], overview["strongest"], strict=True):
        assert best["query"] in whole.query_tokens(site, 1)


@pytest.mark.parametrize("outside", ["-1", "4", "9"])
def test_layers_are_counted_by_place(serve, outside):
    serve(home_made())
    key = explorer(opened())["run"]["key"]
    assert asked(key, "head", **(HEAD | {"kind": "other", "layer": outside, "rows": "read"})).status_code == 404


def test_a_long_recording_is_seen_from_afar(serve, monkeypatch):
    monkeypatch.setattr(numbers, "MOST_EXACT", 20)
    whole = home_made()
    serve(whole)
    page = opened()
    (kind,) = explorer(page)["run"]["kinds"]
    assert kind["long"]  # one of its layers has 25 cells, and all are drawn alike
    window = {"rows_in_view": "", "columns_in_view": "1-3", "side": "2", "pool": "max"}
    for layer, site in enumerate(whole.sites):
        response = asked(
            explorer(page)["run"]["key"],
            "window",
            **(HEAD | window | {"kind": "other", "layer": str(layer), "rows": "read", "head": "0"}),
        )
        got = unpacked(response.body)
        pattern = whole.pattern(site, 0).numpy()
        assert got["total"] == list(pattern.shape)
        assert got["cells"].max() == pattern[:, 1:3].max()


# Opened by a viewer.


def test_what_a_viewer_opens_is_chosen_at_once_and_is_that_viewers_only(tmp_path):
    path, page = saved(batch(), tmp_path / "mine.safetensors"), opened()
    assert page.selectbox(key="checkpoint").value == "first"
    assert f"{MOST_MEGABYTES} MB" in " ".join(one.value for one in page.caption)
    assert page.file_uploader[0].proto.max_upload_size_mb == MOST_MEGABYTES
    upload(page, path)
    assert page.selectbox(key="checkpoint").value == "mine.safetensors"
    assert page.query_params["checkpoint"] == "mine.safetensors"
    assert explorer(page)["run"]["opened"]
    assert not page.file_uploader[0].value
    assert "mine.safetensors" not in opened().selectbox(key="checkpoint").options
    page.selectbox(key="checkpoint").set_value("second").run()
    page.selectbox(key="checkpoint").set_value("mine.safetensors").run()
    assert explorer(page)["run"]["opened"]


def test_a_few_are_kept_each_under_a_name_of_its_own(tmp_path):
    path, page = saved(home_made(), tmp_path / "a.safetensors"), opened()
    for _ in range(MOST_OPENED + 1):
        upload(page, path)
    names = page.selectbox(key="checkpoint").options
    assert names[:2] == ["first", "second"]
    assert len(set(names)) == 2 + MOST_OPENED
    assert page.selectbox(key="checkpoint").value == names[-1]
    assert "a.safetensors" not in names  # the one opened first
    upload(page, path)
    assert page.selectbox(key="checkpoint").value == "a.safetensors"


@pytest.mark.parametrize(
    "name",
    [
        "../../x.safetensors",
        "<b>x</b>.safetensors",
        "a\\b:c*.safetensors",
        "中文 ünï.safetensors",
        "é" * 300 + ".safetensors",
        "\ud800.safetensors",
    ],
)
def test_the_name_of_a_file_is_text_and_leads_nowhere(name, tmp_path, monkeypatch):
    content = saved(home_made(), tmp_path / "a").read_bytes()
    monkeypatch.setattr(recordings.st, "session_state", {})
    kept = recordings.add(name, content, ())
    assert kept.endswith(".safetensors")
    assert len(kept.encode()) <= 255
    assert not set(kept) & set("/\\<>:*\ud800")
    assert list(recordings.own()) == [kept]
    assert kept == name or any(letter in name for letter in "/<\\é\ud800")


def test_a_name_that_something_else_has_gets_a_number(tmp_path, monkeypatch):
    content = saved(home_made(), tmp_path / "a").read_bytes()
    monkeypatch.setattr(recordings.st, "session_state", {})
    assert recordings.add("x.safetensors", content, ["x.safetensors"]) == "x (2).safetensors"
    assert recordings.add("x.safetensors", content, ["x.safetensors"]) == "x (3).safetensors"


def test_a_damaged_file_is_said_where_it_was_given_and_the_page_goes_on(tmp_path):
    path, page = saved(batch(), tmp_path / "cut_off.safetensors"), opened()
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    key = explorer(page)["run"]["key"]
    upload(page, path)
    said = "cut_off.safetensors is damaged or not a safetensors file."
    assert [one.value for one in page.error] == [as_text(said)]
    assert page.selectbox(key="checkpoint").value == "first"
    assert explorer(page)["run"]["key"] == key
    path.write_bytes(whole)
    upload(page, path)
    assert not page.error
    assert page.selectbox(key="checkpoint").value == "cut_off.safetensors"


def test_files_that_are_no_recordings_are_refused(tmp_path, folder_of_two):
    page = upload(opened(), folder_of_two / "first" / "model.safetensors")
    assert "not a recording" in page.error[0].value
    assert explorer(page)["run"]["opened"] is False


def test_a_damaged_file_of_the_server_is_said_and_a_checkpoint_can_be_chosen(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADLIGHT_RECORDING", str(tmp_path / "no<b>ne.safetensors"))
    page = opened()
    assert as_text("There is no file no<b>ne.safetensors.") in page.warning[0].value
    page.selectbox(key="checkpoint").set_value("second").run()
    assert not page.exception
    assert not page.warning
    assert explorer(page)["run"]["opened"] is False


def test_a_file_of_the_server_that_changes_is_read_again(serve):
    serve(home_made())
    assert explorer(opened())["run"]["kinds"][0]["sizes"][0] == [5, 5]
    serve(home_made((4, 3)))
    assert explorer(opened())["run"]["kinds"][0]["sizes"][0] == [4, 4]


def test_without_a_checkpoint_a_recording_can_still_be_opened(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(tmp_path))
    page = opened()
    assert as_text(str(tmp_path)) in page.error[0].value
    upload(page, saved(home_made(), tmp_path / "a.safetensors"))
    assert not page.error
    assert explorer(page)["run"]["opened"]


def test_a_link_to_a_recording_that_is_not_here_is_said(tmp_path):
    page = opened(checkpoint="gone*.safetensors")
    assert [one.value for one in page.warning] == [as_text(EN("recording.missing", file="gone*.safetensors"))]
    assert explorer(page)["run"]["opened"] is False
    page.text_area(key="source").set_value("a dog likes bread").run()
    assert page.warning
    page.selectbox(key="checkpoint").set_value("second").run()
    assert not page.warning
    page.selectbox(key="checkpoint").set_value("first").run()
    assert not page.warning
    assert not opened(checkpoint="second").warning


# Recordings in which there is nothing to see.


def test_a_recording_of_nothing_says_so(serve):
    serve(Recording())
    assert [one.value for one in opened().info] == [EN["empty.recording"]]


@pytest.mark.parametrize("shape", [(0, 2, 2), (2, 0, 2), (2, 2, 0)])
def test_attention_over_nothing_says_so(serve, shape):
    serve(of_one_attention(*shape))
    assert [one.value for one in opened().info] == [EN["empty.recording"]]


def test_an_empty_run_among_others_says_so_and_the_page_opens_on_one_that_is_not(serve):
    recording = home_made()
    recording.runs = [of_one_attention(2, 2, 0).runs[0], recording.runs[0]]
    serve(recording)
    page = opened()
    assert page.slider(key="recording_run").value == 2
    page.slider(key="recording_run").set_value(1).run()
    assert [one.value for one in page.info] == [EN("empty.run", length=1)]
    page.slider(key="recording_run").set_value(2).run()
    assert explorer(page)["run"]["opened"]


def test_an_empty_attention_among_others_is_left_out(serve):
    recording, empty = home_made(), of_one_attention(2, 2, 0).runs[0]
    run = recording.runs[0]
    ((site, seen),) = empty.attentions.items()
    named = type(site)("void", "other", 0, 2)
    run.attentions = {named: seen} | run.attentions
    run.outputs["void"] = empty.outputs[""]
    serve(recording)
    assert explorer(opened())["run"]["kinds"][0]["paths"] == ["look", "glance", "stare", "look#2"]


def test_numbers_that_are_not_finite_are_said_and_drawn_as_blocked(serve):
    recording = home_made()
    site, seen = next(iter(recording.runs[0].attentions.items()))
    query = seen.query.clone()
    query[0, :, 1] = torch.nan
    recording.runs[0].attentions[site] = replace(seen, query=query, value=seen.value * torch.inf)
    serve(recording)
    page = opened()
    assert EN("not_finite", sites="look") in [one.value for one in page.text]
    for quantity in ("weight", "norm", "score"):
        got = numbers_of(page, kind="other", quantity=quantity)
        assert np.isnan(got["cells"][1]).all()
        assert np.isfinite([got["low"], got["high"]]).all()
    key = explorer(page)["run"]["key"]
    pair = {"kind": "other", "rows": "read", "pair": "1,1"}
    assert b"NaN" not in asked(key, "pair", **(HEAD | pair)).body


def test_labels_that_are_no_unicode_are_shown_as_something(serve):
    recording = home_made()
    recording.tokens = {"source": [["\ud800", "b", "c", "d", "e"]]}
    recording.note = "half \ud83d"
    serve(recording)
    page = opened()
    assert "half ?" in [one.value for one in page.text]
    assert numbers_of(page, kind="other")["keys"][0] == "U+D800"


def test_the_page_speaks_chinese(serve):
    serve(batch())
    page = opened(language="zh")
    assert page.slider(key="sentence").label == words_of("zh")("recording.sentence", most=3)
    control(page, "language").set_value("en")
    page.run()
    assert page.slider(key="sentence").label == EN("recording.sentence", most=3)
