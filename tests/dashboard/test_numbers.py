"""The numbers of short texts: what is drawn is what the recording says, in the units that the viewer chose."""

import numpy as np
import pytest
import torch
from small_recordings import batch, home_made

from dashboard import runs
from dashboard.numbers import Tokens, cells_of, head_numbers, is_long
from dashboard.overview_numbers import overview_numbers
from dashboard.runs import Answer, Question
from dashboard.words import words_of

EN = words_of("en")
SOURCE = "the cat sees the 🎉 sea"

pytestmark = pytest.mark.usefixtures("two_checkpoints")


@pytest.fixture
def answer():
    return runs.ask(Question("first", SOURCE, target="neko umi"))


def numbers(answer, kind="cross", layer=0, head=0, quantity="weight", rows="predicted", tokens=Tokens()):  # noqa: B008
    return head_numbers(answer, kind, layer, head, quantity, rows, tokens, EN)


def rows_and_columns(answer):
    site = answer.recording.site("cross", 0)
    keys = answer.recording.key_tokens(site)
    emoji = [place for place, label in enumerate(keys) if label.startswith("<0x")]
    assert len(emoji) == 4
    return keys, emoji


def test_bytes_are_joined_to_their_character_and_weights_summed(answer):
    keys, emoji = rows_and_columns(answer)
    got, pattern = numbers(answer), answer.recording.pattern(answer.recording.site("cross", 0), 0).numpy()
    assert got["keys"].count("🎉") == 1
    assert got["merged"]
    assert got["cells"].shape == (len(answer.predicted), len(keys) - 3)
    at = got["keys"].index("🎉")
    np.testing.assert_allclose(got["cells"][:, at], pattern[:, emoji].sum(axis=1), rtol=1e-5)
    np.testing.assert_allclose(got["cells"].sum(axis=1), 1, rtol=1e-5)
    assert list(got["queries"]) == list(answer.predicted)


@pytest.mark.parametrize("unit", ["piece", "word", "character"])
@pytest.mark.parametrize("hidden", [False, True])
def test_every_token_says_whether_a_space_stands_before_it(answer, unit, hidden):
    got = numbers(answer, tokens=Tokens(unit, hidden=hidden))
    for side, text in (("keys", SOURCE), ("queries", "neko umi")):
        tokens = list(zip(got["spaced"][side], got[side], got["special"][side], strict=True))
        assert [special for *_, special in tokens][-1] is not hidden
        read = "".join(" " * space + label.lstrip("▁") for space, label, special in tokens if not special)
        assert read.split() == text.split()


def test_names_that_somebody_gave_stand_apart():
    told = numbers(Answer(batch()), rows="read")
    assert told["spaced"]["keys"] == tuple(label.startswith("▁") for label in told["keys"])
    assert len(set(told["spaced"]["keys"])) == 2
    assert all(numbers(Answer(home_made()), "other")["spaced"]["keys"])


def test_rows_are_named_by_what_was_read_or_by_what_is_predicted(answer):
    site = answer.recording.site("cross", 0)
    assert list(numbers(answer, rows="read")["queries"]) == answer.recording.query_tokens(site)
    assert numbers(answer, rows="read")["queries"][0] == "<s>"
    assert numbers(answer)["queries"][-1] == "</s>"


def test_the_mean_is_the_mean_and_each_head_is_its_own(answer):
    site = answer.recording.site("encoder", 1)
    every = [numbers(answer, "encoder", 1, head, rows="read", tokens=Tokens("word"))["cells"] for head in range(3)]
    mean = numbers(answer, "encoder", 1, "mean", rows="read", tokens=Tokens("word"))["cells"]
    np.testing.assert_allclose(np.mean(every, axis=0), mean, atol=1e-6)
    assert np.abs(every[0] - every[1]).max() > 1e-4
    assert answer.recording.pattern(site).shape[0] == 3


def test_what_the_mask_forbids_is_no_number(answer):
    cells = numbers(answer, "decoder", rows="read")["cells"]
    np.testing.assert_array_equal(np.isnan(cells), np.triu(np.ones(cells.shape, dtype=bool), 1))


def test_hidden_tokens_leave_with_their_weight_which_is_told(answer):
    shown, hidden = (
        numbers(answer, "encoder", rows="read"),
        numbers(answer, "encoder", rows="read", tokens=Tokens(hidden=True)),
    )
    assert shown["removed"] is None
    assert shown["keys"][-1] == "</s>"
    assert hidden["keys"] == shown["keys"][:-1]
    assert hidden["queries"] == shown["queries"][:-1]
    lost = shown["cells"][:-1, -1]
    np.testing.assert_allclose(hidden["removed"], lost, atol=1e-4)
    np.testing.assert_allclose(hidden["cells"], shown["cells"][:-1, :-1] / (1 - lost[:, None]), rtol=1e-4)


def test_a_forbidden_cell_stays_forbidden_beside_hidden_tokens(answer):
    shown, hidden = (numbers(answer, "decoder", rows="read", tokens=Tokens(hidden=one)) for one in (False, True))
    assert hidden["keys"] == shown["keys"][1:]  # without <s>
    np.testing.assert_array_equal(np.isnan(hidden["cells"]), np.isnan(shown["cells"][1:, 1:]))
    assert np.isnan(hidden["cells"]).any()


def test_weighted_norms_and_scores_are_the_recordings(answer):
    site, recording = answer.recording.site("decoder", 0), answer.recording
    blocked = np.isneginf(recording.mask(site, 1).numpy())
    for quantity, expected in (("norm", recording.weighted_norms(site, 1)), ("score", recording.scores(site, 1))):
        got = numbers(answer, "decoder", 0, 1, quantity, "read")
        np.testing.assert_allclose(got["cells"][~blocked], expected.numpy()[~blocked], rtol=1e-5)
        assert np.isnan(got["cells"][blocked]).all()
        largest = float(recording.value_norms(site).max()) if quantity == "norm" else float(np.nanmax(got["cells"]))
        assert got["high"] == pytest.approx(largest, rel=1e-5)
        assert got["low"] <= np.nanmin(got["cells"])


def test_hidden_tokens_of_weighted_norms_are_left_out_without_making_up_for_them(answer):
    shown, hidden = (numbers(answer, "encoder", 0, 0, "norm", "read", Tokens(hidden=one)) for one in (False, True))
    np.testing.assert_allclose(hidden["cells"], shown["cells"][:-1, :-1], rtol=1e-5)
    expected = shown["cells"][:-1, -1] / shown["cells"][:-1].sum(axis=1)
    np.testing.assert_allclose(hidden["removed"], expected, atol=1e-4)


def test_the_sentence_names_what_is_drawn(answer):
    got = numbers(answer, "encoder", rows="read", tokens=Tokens("word", hidden=True))
    said = "".join(text for text, _ in got["caption"])
    row, column = np.unravel_index(np.argmax(got["cells"]), got["cells"].shape)
    assert f"{got['keys'][column]} at {got['queries'][row]} ({got['cells'][row, column]:.2f})" in said


def test_the_overview_has_every_head_and_its_strongest_pair(answer):
    overview = overview_numbers(answer, "weight", {"cross": "predicted", "decoder": "read"}, Tokens())
    layers = {"encoder": 2, "decoder": 1, "cross": 1}
    assert {one["kind"]: len(one["sizes"]) for one in overview["kinds"]} == layers
    for one in overview["kinds"]:
        rows = "predicted" if one["kind"] == "cross" else "read"
        assert len(one["tiles"]) == len(one["strongest"]) == 3 * layers[one["kind"]]
        for layer in range(layers[one["kind"]]):
            for head in range(3):
                tile, best = (one[name][layer * 3 + head] for name in ("tiles", "strongest"))
                assert tile.shape == tuple(one["sizes"][layer])
                got = numbers(answer, one["kind"], layer, head, rows=rows)
                cells = got["cells"]
                np.testing.assert_array_equal(tile == 255, np.isnan(cells))
                drawn = np.round(np.clip(cells / got["high"], 0, 1) * 254)
                assert np.nanmax(np.abs(np.where(np.isnan(cells), np.nan, tile) - drawn)) <= 1
                row, column = np.unravel_index(np.nanargmax(cells), cells.shape)
                assert (best["query"], best["key"]) == (got["queries"][row], got["keys"][column])
                assert best["weight"] == pytest.approx(np.nanmax(cells), abs=1e-5)


def test_cells_of_all_heads_are_those_of_each(answer):
    site = answer.recording.site("encoder", 0)
    every = cells_of(answer, site, None, "weight", "read", Tokens("character"))
    for head in range(3):
        one = cells_of(answer, site, head, "weight", "read", Tokens("character"))
        torch.testing.assert_close(every.cells[head], one.cells)
        assert one.keys == every.keys


def test_what_is_too_long_to_be_drawn_cell_by_cell_is_known(answer):
    assert not is_long(answer.recording, "encoder")
    long = runs.ask(Question("first", "the cat sees the sea " * 140, target="neko"))
    assert is_long(long.recording, "encoder")
    assert not is_long(long.recording, "decoder")
    assert [one["kind"] for one in overview_numbers(long, "weight", {}, Tokens())["kinds"]] == ["decoder", "cross"]
