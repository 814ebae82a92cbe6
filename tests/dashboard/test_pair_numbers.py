"""Why this pair: the numbers of the panel are those of the pair that was clicked, in whatever units it was shown."""

import itertools
from dataclasses import asdict

import numpy as np
import pytest
import torch
from small_checkpoint import write_small_checkpoint

from dashboard import runs
from dashboard.components import packed
from dashboard.numbers import Tokens, cells_of
from dashboard.pair_numbers import pair_numbers
from dashboard.runs import Answer, Question
from dashboard.selection import LINK, Selection
from dashboard.served import ANSWERS
from transformer.pair import explain_pair, split_first_layer
from transformer.recorder import record
from transformer.units import units_of

SOURCE, TARGET = "the dog, unusually, 😀 sees <b>the sea</b>", "inu umi </b> miru"  # lengths differ

pytestmark = pytest.mark.usefixtures("two_checkpoints")

KINDS = [("encoder", 0), ("encoder", 1), ("decoder", 0), ("cross", 0)]


@pytest.fixture
def answer():
    asked = runs.ask(Question("first", SOURCE, TARGET))
    assert isinstance(asked, Answer)
    cross = asked.recording.site("cross", 0)
    assert len(asked.recording.query_tokens(cross)) != len(asked.recording.key_tokens(cross))
    return asked


def numbers(answer, kind, layer, head, pair, rows="read", **tokens):
    return pair_numbers(answer, kind, layer, head, pair, rows, Tokens(**tokens))


def single(answer, kind):
    """A row and a column of the pieces' picture that are one token each, and that token's place in the run."""
    site = answer.recording.site(kind, 0)
    queries, keys = (
        units_of(labels, "piece").pieces
        for labels in (answer.recording.query_tokens(site), answer.recording.key_tokens(site))
    )
    row = max(at for at, pieces in enumerate(queries) if len(pieces) == 1)
    column = max(at for at, pieces in enumerate(keys[: queries[row][0] + 1]) if len(pieces) == 1 and at != row)
    return (row, column), (queries[row][0], keys[column][0])


@pytest.mark.parametrize(("kind", "layer"), KINDS)
@pytest.mark.parametrize("head", [0, 2])
def test_the_numbers_are_those_of_the_pair(answer, kind, layer, head):
    recording, site = answer.recording, answer.recording.site(kind, layer)
    pair, (row, column) = single(answer, kind)
    got = numbers(answer, kind, layer, head, pair)
    assert (got["row"], got["column"], got["pairs"]) == (row, column, 1)
    weights, mask = recording.pattern(site, head)[row].numpy(), recording.mask(site, head)[row].numpy()
    np.testing.assert_allclose(got["weights"], weights, atol=1e-6)
    np.testing.assert_allclose(got["scores"], recording.scores(site, head)[row].numpy(), atol=1e-5)
    np.testing.assert_array_equal(got["blocked"] == 1, np.isneginf(mask))
    assert not got["mask"].any()
    allowed = ~np.isneginf(mask)
    assert got["allowed"] == allowed.sum()
    assert got["rank"] == sorted(weights, reverse=True).index(weights[column]) + 1
    query, keys = recording.query(site)[0, head, row], recording.key(site)[0, head]
    np.testing.assert_array_equal(got["q"], query.numpy())
    np.testing.assert_array_equal(got["k"], keys[column].numpy())
    score = float(query @ keys[column]) / len(query) ** 0.5
    assert got["parts"].sum() == pytest.approx(score, abs=1e-5) == got["scores"][column]
    assert got["centred"].sum() == pytest.approx(score - got["scores"][allowed].mean(), abs=1e-5)
    assert got["norm"] == pytest.approx(float(recording.value_norms(site, head)[column]))
    assert len(got["keys"]) == len(got["special"]) == len(weights)


@pytest.mark.parametrize(("kind", "layer"), KINDS)
def test_only_where_embeddings_are_read_is_the_score_split_by_token_and_position(answer, kind, layer):
    site = answer.recording.site(kind, layer)
    pair, (row, column) = single(answer, kind)
    got = numbers(answer, kind, layer, 1, pair)
    if layer > 0 or kind == "cross":
        assert got["first"] is None
        return
    assert sum(got["first"].values()) == pytest.approx(got["scores"][column], abs=1e-4)
    expected = split_first_layer(answer.model, answer.recording, site, 1, row, column)
    assert got["first"] == vars(expected)
    assert len(set(got["first"].values())) == 5


@pytest.mark.parametrize("unit", ["piece", "word", "character"])
@pytest.mark.parametrize("over", ["mean", "first", "last"])
@pytest.mark.parametrize("kind", ["encoder", "cross"])
def test_of_several_tokens_the_strongest_pair_is_explained(answer, unit, over, kind):
    recording, site = answer.recording, answer.recording.site(kind, 0)
    queries, keys = units_of(recording.query_tokens(site), unit), units_of(recording.key_tokens(site), unit)
    pattern = recording.pattern(site, 1)
    largest = [max(range(len(units.pieces)), key=lambda at: len(units.pieces[at])) for units in (queries, keys)]
    row, column = largest
    assert len(keys.pieces[column]) > 1
    got = numbers(answer, kind, 0, 1, (row, column), unit=unit, over=over)
    rows = {"mean": queries.pieces[row], "first": queries.pieces[row][:1], "last": queries.pieces[row][-1:]}[over]
    among = list(itertools.product(rows, keys.pieces[column]))
    assert (got["row"], got["column"]) == max(among, key=lambda cell: pattern[cell])
    assert got["pairs"] == len(among)
    assert (got["query"], got["key"]) == (queries.labels[row], keys.labels[column])
    drawn_in = [min(at for at, pieces in enumerate(keys.pieces) if piece in pieces) for piece in range(keys.num_pieces)]
    assert got["columns"].tolist() == drawn_in


def test_a_piece_inside_is_named(answer):
    site = answer.recording.site("cross", 0)
    keys = units_of(answer.recording.key_tokens(site), "piece")
    column = keys.labels.index("😀")
    got = numbers(answer, "cross", 0, 0, (1, column))
    assert got["key"] == "😀"
    assert got["tokens"]["key"] in {"<0xF0>", "<0x9F>", "<0x98>", "<0x80>"}
    assert got["tokens"]["key"] == answer.recording.key_tokens(site)[got["column"]]


def test_a_blocked_pair_is_explained_as_blocked(answer):
    got = numbers(answer, "decoder", 0, 1, (1, 3))
    assert (got["blocked"] == [0, 0, *[1] * (len(got["keys"]) - 2)]).all()
    assert (got["weights"][3], got["mask"][3]) == (0, 0)
    assert got["allowed"] == 2
    assert got["scores"][3] != 0
    weights = numbers(answer, "decoder", 0, 1, (1, 1))["weights"]
    assert weights[:2].sum() == pytest.approx(1)


@pytest.mark.parametrize("over", ["mean", "first"])
def test_of_a_unit_that_is_blocked_in_part_an_allowed_token_is_explained(tmp_path, monkeypatch, over):
    """A word that reads itself: its first piece may not look at the others."""
    write_small_checkpoint(tmp_path / "one", opening="x")
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(tmp_path))
    answer = runs.ask(Question("one", "x", "zzzz"))
    word = units_of(answer.recording.query_tokens(answer.recording.site("decoder", 0)), "word")
    place = next(at for at, pieces in enumerate(word.pieces) if len(pieces) > 2)
    got = numbers(answer, "decoder", 0, 0, (place, place), unit="word", over=over)
    assert not got["blocked"][got["column"]]
    assert got["column"] <= got["row"]


def test_the_mean_of_heads_has_weights_only(answer):
    site = answer.recording.site("cross", 0)
    (row, column), place = single(answer, "cross")
    got = numbers(answer, "cross", 0, "mean", (row, column))
    expected = answer.recording.pattern(site, "mean")[place[0]].numpy()
    np.testing.assert_allclose(got["weights"], expected, atol=1e-6)
    assert got["rank"] == sorted(expected, reverse=True).index(expected[place[1]]) + 1
    assert (got["scores"], got["norm"], got["first"]) == (None, None, None)
    assert "q" not in got
    assert numbers(answer, "decoder", 0, "mean", (1, 3))["blocked"][3] == 1


def test_hidden_tokens_are_not_counted_but_stand_in_the_row(answer):
    shown = numbers(answer, "decoder", 0, 0, (2, 1))
    hidden = numbers(answer, "decoder", 0, 0, (1, 0), hidden=True)
    assert (hidden["query"], hidden["key"]) == (shown["query"], shown["key"])
    assert (hidden["row"], hidden["column"]) == (shown["row"], shown["column"]) == (2, 1)
    np.testing.assert_array_equal(hidden["weights"], shown["weights"])
    assert hidden["keys"][0] == "<s>"
    assert hidden["special"] == [True] + [False] * (len(hidden["keys"]) - 1)
    assert hidden["columns"][:2].tolist() == [-1, 0]


def test_rows_named_by_what_they_predict_say_what_was_read(answer):
    (row, column), (place, _) = single(answer, "cross")
    got = numbers(answer, "cross", 0, 0, (row, column), rows="predicted")
    assert got["tokens"]["query"] == units_of([answer.predicted[got["row"]]], "piece").labels[0]
    assert got["read"] == units_of([answer.read[got["row"]]], "piece").labels[0]
    assert got["read"] != got["tokens"]["query"]
    read = numbers(answer, "cross", 0, 0, (row, column))
    assert read["query"] == read["tokens"]["query"] == read["read"] == answer.read[place]


def test_labels_are_those_of_the_picture_and_markup_is_only_text(answer):
    drawn = cells_of(answer, answer.recording.site("encoder", 0), 0, "weight", "read", Tokens(unit="word"))
    seen = []
    for column, key in enumerate(drawn.keys.labels):
        got = numbers(answer, "encoder", 0, 0, (0, column), unit="word")
        assert got["key"] == key
        seen.append(got["key"])
    assert {"<", "b", ">", "/"} <= set(seen)
    assert "<" in got["keys"]


def test_a_pair_of_a_longer_text_has_no_numbers(answer):
    site = answer.recording.site("cross", 0)
    named = answer.recording.query_tokens(site), answer.recording.key_tokens(site)
    rows, columns = (len(units_of(labels, "piece").labels) for labels in named)
    assert rows < columns
    assert numbers(answer, "cross", 0, 0, (rows - 1, columns - 1)) != {}
    for outside in ((0, columns), (rows, 0), (-1, 0), (0, -1)):
        assert numbers(answer, "cross", 0, 0, outside) == {}


def test_a_row_that_may_look_at_nothing_is_no_trouble(answer):
    """Of a source that is nothing but padding nothing is left to look at."""
    pad = answer.model.config.pad_id
    with torch.inference_mode(), record(answer.model) as recording:
        answer.model(torch.tensor([[pad, pad]]), torch.tensor([[2, 5, 6]]))
    changed = Answer(**{**vars(answer), "recording": recording})
    got = numbers(changed, "cross", 0, 0, (1, 0))
    assert (got["allowed"], got["centred"], got["weights"].tolist()) == (0, None, [0, 0])
    assert b"NaN" not in packed(got)


@pytest.mark.parametrize("head", ["0", "mean"])
def test_the_browser_asks_by_its_own_words(answer, head):
    asked = {"kind": "decoder", "layer": "0", "head": head, "pair": "3,1", "rows": "read"}
    got = ANSWERS["pair"](answer, asked | {"unit": "piece", "over": "mean", "hidden": "false"}, lambda done: True)
    expected = numbers(answer, "decoder", 0, head if head == "mean" else 0, (3, 1))
    assert packed(got) == packed(expected)
    assert not any(word in packed(got) for word in (b"NaN", b"Infinity"))


def test_what_is_explained_and_how_stand_in_the_address():
    chosen = Selection(pair=(2, 5), centred=True)
    assert LINK.to_address(chosen) == {"pair": "3,6", "centred": "true"}
    assert LINK.from_address(LINK.to_address(chosen)) == chosen == LINK.from_browser(asdict(chosen))
    assert LINK.from_address({"centred": "perhaps"}) == Selection() == LINK.from_browser({"centred": "true"})


def test_a_head_that_is_not_there_is_refused(answer):
    with pytest.raises(IndexError):
        numbers(answer, "cross", 0, 7, (0, 0))
    with pytest.raises(KeyError):
        numbers(answer, "cross", 7, 0, (0, 0))


def test_explanations_come_from_one_place(answer):
    site = answer.recording.site("encoder", 1)
    pair, place = single(answer, "encoder")
    reason, got = explain_pair(answer.recording, site, 2, *place), numbers(answer, "encoder", 1, 2, pair)
    for name in ("weights", "scores", "centred"):
        np.testing.assert_array_equal(got[name], getattr(reason, name))
    np.testing.assert_array_equal(got["parts"], reason.by_dimension)
    assert (got["rank"], got["allowed"], got["norm"]) == (reason.rank, reason.allowed, reason.value_norm)
