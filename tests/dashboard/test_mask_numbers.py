"""The numbers of the mask lab, each beside what the model itself gives: several sentences, so that padding is real."""

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from string import ascii_lowercase
from threading import Barrier

import numpy as np
import pytest
import torch
from small_checkpoint import write_alone, write_small_checkpoint

from dashboard import mask_runs, runs, shelf
from dashboard.figures.colours import full_colour
from dashboard.fit import Problem
from dashboard.mask_edits import Edit
from dashboard.mask_numbers import (
    all_masks,
    chance_numbers,
    layer_numbers,
    lint_numbers,
    masked_numbers,
    written_numbers,
)
from dashboard.mask_probes import MOST_PADS, leak_numbers, padding_numbers
from dashboard.mask_runs import MOST_TOKENS, Batch, batch_of, inputs_of, writes
from dashboard.runs import Question
from transformer import record
from transformer.decoding import decode, length_limit
from transformer.interventions import edited
from transformer.mask_rules import BLOCKED, Chosen, MaskRule
from transformer.parting import parting
from transformer.probes import leaks, padding_moves

ASKED, OTHERS = Question("first", "the cat sees the sea", target="neko umi miru"), ["a dog", "my friend likes bread"]
KINDS = [("encoder", 1), ("decoder", 0), ("cross", 0)]
CUT = Edit("cross", 0, 1, MaskRule(cells=((1, 2, BLOCKED), (1, 3, BLOCKED), (2, 0, -1.5))))
ZEROED = Edit("cross", None, None, MaskRule(cells=((1, 2, BLOCKED), (0, 0, BLOCKED))), renormalise=False)
SEEING = Edit("decoder", 0, 2, MaskRule(cells=((0, 2, 0.0), (1, 3, 0.0))))
WINDOW = Edit("encoder", None, None, MaskRule(presets=(Chosen("window", (1, 1)), Chosen("alibi", (0.5,)))))
EMPTY = Edit("cross", 0, 0, MaskRule(cells=tuple((2, key, BLOCKED) for key in range(64))))
FEWER = Edit("cross", 0, None, MaskRule(cells=((3, 1, BLOCKED), (4, 4, 2.5))))
GONE = Edit("cross", 0, 1, MaskRule(cells=((3, 0, BLOCKED), (5, 5, BLOCKED))), renormalise=False)
SOME = [(), (CUT,), (ZEROED,), (SEEING, WINDOW), (ZEROED, CUT, EMPTY), (ZEROED, FEWER, CUT, GONE)]


@pytest.fixture(autouse=True, scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("masks")
    write_small_checkpoint(folder / "first")
    write_alone(folder / "alone")
    short = {"architecture": "decoder", "num_decoder_layers": 1, "positions": "learned", "nhead": 2}
    write_small_checkpoint(folder / "short", letters=ascii_lowercase, **short)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADLIGHT_CHECKPOINTS", str(folder))
        yield folder


@pytest.fixture(scope="module")
def batch() -> Batch:
    return batch_of(ASKED, OTHERS)


@pytest.fixture(scope="module")
def alone() -> Batch:
    return batch_of(Question("alone", "abcXabcX"), ["abc", "xyzxyz0123"])


def ran(batch, edits=()):
    """A recording of the padded batch and its logits, by the model alone."""
    model = edited(batch.asked.model, [edit.intervention for edit in edits])
    with torch.inference_mode(), record(model) as recording:
        logits = model(*inputs_of(batch))
    return recording, logits


def names(tokenizer, ids):
    """The pieces of ids, bytes as the characters that they are."""
    return [re.sub(r"^<0x(..)>$", lambda byte: chr(int(byte[1], 16)), piece) for piece in tokenizer.labels(ids)]


def with_nan(pattern, mask):
    return np.where(np.isneginf(mask.numpy()), np.nan, pattern.numpy())


@pytest.mark.parametrize("edits", SOME)
@pytest.mark.parametrize(("kind", "layer"), KINDS)
def test_masks_and_patterns_are_those_of_the_edited_model(batch, edits, kind, layer):
    before, after = ran(batch)[0], ran(batch, edits)[0]
    site = before.site(kind, layer)
    for head, sentence in [(0, 0), (1, 1), (2, 2), (1, 0)]:
        got = masked_numbers(batch, edits, kind, layer, head, sentence)
        given, mask = (one.mask(site, head, sentence) for one in (before, after))
        np.testing.assert_array_equal(got["given"], given)
        np.testing.assert_array_equal(got["mask"], mask)
        np.testing.assert_allclose(got["before"], with_nan(before.pattern(site, head, sentence), given), atol=1e-6)
        np.testing.assert_allclose(got["after"], with_nan(after.pattern(site, head, sentence), mask), atol=1e-6)
        assert got["empty"] == [row for row in range(mask.size(0)) if mask[row].eq(-torch.inf).all()]
        assert (got["low"], got["high"]) == (0, full_colour(mask.size(1)))
        assert [len(got[name]) for name in ("queries", "keys")] == [*mask.shape]


def test_a_pattern_is_the_softmax_of_scores_and_mask(batch):
    edits = (CUT, WINDOW)
    recording, _ = ran(batch, edits)
    for kind, layer in KINDS:
        site = recording.site(kind, layer)
        got = masked_numbers(batch, edits, kind, layer, 1, 1)
        expected = (recording.scores(site, 1, 1) + torch.from_numpy(got["mask"])).softmax(dim=-1).numpy()
        sees = [row for row in range(len(expected)) if row not in got["empty"]]  # a window may hold nothing but padding
        np.testing.assert_allclose(np.nan_to_num(got["after"])[sees], expected[sees], atol=1e-6)
        np.testing.assert_allclose(np.nansum(got["after"], axis=1)[sees], 1, atol=1e-5)


def test_what_is_zeroed_is_taken_and_its_row_sums_to_less(batch):
    got = masked_numbers(batch, (ZEROED,), "cross", 0, 1, 0)
    assert {(row, column) for row, column in zip(*np.nonzero(got["taken"]), strict=True)} == {(0, 0), (1, 2)}
    assert (got["mask"] == got["given"]).all()  # nothing was masked
    assert (got["after"][got["taken"] == 1] == 0).all()
    lost = got["before"][got["taken"] == 1]
    assert (lost > 0).all()
    sums = np.nansum(got["after"], axis=1)
    np.testing.assert_allclose(sums[:2], 1 - lost, atol=1e-6)
    np.testing.assert_allclose(sums[2:], 1, atol=1e-6)
    assert not masked_numbers(batch, (CUT,), "cross", 0, 1, 0)["taken"].any()


def test_what_is_zeroed_is_of_its_head_and_never_of_padding(batch):
    length = len(batch.sources[1])
    row = tuple((1, key, BLOCKED) for key in range(20))
    of_one = Edit("cross", 0, 1, MaskRule(cells=row), renormalise=False)
    for sentence, keys in ((0, len(batch.sources[0])), (1, length)):
        taken = [masked_numbers(batch, (of_one,), "cross", 0, head, sentence)["taken"] for head in range(3)]
        assert taken[1].sum(axis=1).tolist() == [keys if place == 1 else 0 for place in range(len(taken[1]))]
        assert not taken[0].any()
        assert not taken[2].any()


def test_labels_are_of_the_ids_that_ran_and_padding_has_its_name(batch):
    source, target = inputs_of(batch)
    read, written = batch.asked.source_tokenizer, batch.asked.target_tokenizer
    for sentence in range(3):
        cross = masked_numbers(batch, (), "cross", 0, 0, sentence)
        predicted = names(written, batch.targets[sentence])
        length = len(predicted)
        assert cross["queries"] == predicted + ["<pad>"] * (target.size(1) - length)
        assert cross["keys"] == names(read, source[sentence].tolist())
        decoder = masked_numbers(batch, (), "decoder", 0, 0, sentence)
        assert decoder["queries"] == decoder["keys"] == names(written, target[sentence].tolist())
        assert cross["special"]["queries"] == [name in ("<s>", "</s>", "<pad>") for name in cross["queries"]]
    assert cross["queries"][-1] != "<pad>" or len(batch.targets[2]) < target.size(1)


def test_padding_is_masked_and_a_sentence_comes_out_as_it_would_alone(batch):
    source, _ = inputs_of(batch)
    lengths = [len(one) for one in batch.sources]
    assert len(set(lengths)) == 3
    for sentence, length in enumerate(lengths):
        mask = masked_numbers(batch, (), "encoder", 0, 0, sentence)["mask"]
        assert np.isneginf(mask[:, length:]).all()
        assert (mask[:, :length] == 0).all()
        by_itself = replace(
            batch,
            sources=batch.sources[sentence : sentence + 1],
            reads=batch.reads[sentence : sentence + 1],
            targets=batch.targets[sentence : sentence + 1],
        )
        recording, _ = ran(by_itself, (CUT,))
        rows = len(batch.targets[sentence])
        got = masked_numbers(batch, (CUT,), "cross", 0, 1, sentence)["after"][:rows, :length]
        site = recording.site("cross", 0)
        expected = with_nan(recording.pattern(site, 1), recording.mask(site, 1))
        np.testing.assert_allclose(got, expected, atol=1e-5)
    assert source.shape == (3, max(lengths))


@pytest.mark.parametrize("edits", SOME)
def test_the_code_of_a_head_makes_its_mask_and_what_is_zeroed(batch, edits):
    before, _ = ran(batch)
    for kind, layer in KINDS:
        site = before.site(kind, layer)
        for head in range(3):
            got = masked_numbers(batch, edits, kind, layer, head, 1)
            scope: dict[str, object] = {"torch": torch, "given": before.mask(site, None, 1)}
            exec(got["code"], scope)
            np.testing.assert_array_equal(scope["mask"], got["mask"])
            zeroed = scope.get("zeroed", torch.zeros(got["mask"].shape))
            np.testing.assert_array_equal(zeroed.numpy(), got["taken"])


@pytest.mark.parametrize("edits", SOME)
def test_probabilities_are_those_of_the_labels(batch, edits):
    plain, changed = (ran(batch, some)[1].log_softmax(dim=-1) for some in ((), edits))
    for sentence, labels in enumerate(batch.targets):
        got = chance_numbers(batch, edits, sentence)
        rows = torch.arange(len(labels))
        expected = [logs[sentence, rows, torch.tensor(labels)] for logs in (plain, changed)]
        np.testing.assert_allclose(got["before"], expected[0].exp(), atol=1e-6)
        np.testing.assert_allclose(got["after"], expected[1].exp(), atol=1e-6)
        assert got["loss"] == pytest.approx([-float(one.mean()) for one in expected], abs=1e-5)
        assert got["tokens"] == names(batch.asked.target_tokenizer, labels)
        if edits and sentence == 0:
            assert np.abs(got["after"] - got["before"]).max() > 0


def test_what_is_written_is_what_the_edited_model_decodes(batch):
    edits = (ZEROED, WINDOW)
    for sentence in (0, 1):
        got = written_numbers(batch, edits, sentence)
        source = batch.sources[sentence]
        for side, some in (("before", ()), ("after", edits)):
            model = edited(batch.asked.model, [edit.intervention for edit in some])
            decoded = decode(model, torch.tensor([source]), length_limit(len(source), 64))[0][0]
            assert got[side] == {
                "text": batch.asked.target_tokenizer.text(decoded.ids),
                "finished": decoded.finished,
            }
    assert got["before"]["text"] == runs.written(replace(ASKED, source=OTHERS[0])).text


@pytest.mark.parametrize("edits", SOME)
def test_layers_part_as_the_hidden_states_do(batch, edits):
    plain, changed = ran(batch)[0], ran(batch, edits)[0]
    parted = {one.path: one.distance for one in parting(plain, changed, 1)}
    got = layer_numbers(batch, edits, 1)["streams"]
    assert [one["kind"] for one in got] == ["encoder", "decoder"]
    for stream in got:
        for place, distance in zip(stream["places"], stream["distance"], strict=True):
            path = f"transformer.{stream['kind']}.layers.{place['layer']}.after_{place['after']}"
            np.testing.assert_array_equal(distance, parted[path])
        assert stream["distance"].shape == (len(stream["places"]), len(stream["tokens"]))
    decoder = got[1]
    assert [place["after"] for place in decoder["places"]] == ["self_attn", "multihead_attn", "feedforward"]
    assert decoder["tokens"] == names(batch.asked.target_tokenizer, inputs_of(batch)[1][1].tolist())
    assert (decoder["distance"].max() > 0) == bool(edits)
    if edits == (CUT,):
        assert got[0]["distance"].max() == 0
        assert (decoder["distance"][1] > 0).nonzero()[0].tolist() == [
            1,
            2,
        ]  # the rows that were cut, after cross-attention


def test_all_masks_are_as_the_model_gets_them(batch):
    source, target = inputs_of(batch)
    edits = (CUT, WINDOW)
    got = all_masks(batch, edits, "encoder", 1, 2)
    by_name = {one["name"]: one for one in got["masks"]}
    assert [(name, one["shape"], one["dtype"], one["means"]) for name, one in by_name.items()] == [
        ("src_key_padding_mask", "(N, S)", "torch.bool", "padding"),
        ("tgt_key_padding_mask", "(N, T)", "torch.bool", "padding"),
        ("memory_key_padding_mask", "(N, S)", "torch.bool", "padding"),
        ("tgt_is_causal", "(T, T)", "bool", "flag"),
        ("merged", "(N, L, S)", "torch.float32", "merged"),
    ]
    blocked = {name: np.isneginf(one["cells"]) for name, one in by_name.items()}
    np.testing.assert_array_equal(blocked["src_key_padding_mask"], source == 0)
    np.testing.assert_array_equal(blocked["memory_key_padding_mask"], source == 0)
    np.testing.assert_array_equal(blocked["tgt_key_padding_mask"], target == 0)
    np.testing.assert_array_equal(blocked["tgt_is_causal"], np.triu(np.ones((target.size(1),) * 2), 1))
    recording, _ = ran(batch, edits)
    merged = torch.stack([recording.mask(recording.site("encoder", 1), 2, sentence) for sentence in range(3)])
    np.testing.assert_array_equal(by_name["merged"]["cells"], merged)
    assert (merged[merged.isfinite()] < 0).any()  # ALiBi's numbers are there
    assert [one["size"] for one in got["masks"]] == [[*one["cells"].shape] for one in got["masks"]]
    assert got["sentences"] == 3


def test_a_mask_that_is_not_needed_is_none():
    one = batch_of(ASKED, [])
    got = all_masks(one, (), "cross", 0, 0)["masks"]
    assert [(mask["means"], mask["dtype"]) for mask in got[:3]] == [("none", "None")] * 3
    assert not any(np.isneginf(mask["cells"]).any() for mask in got[:3])


def finding(batch, edits, kind, layer, head, sentence):
    return [(one["name"], one["places"]) for one in lint_numbers(batch, edits, kind, layer, head, sentence)["findings"]]


def test_the_models_own_masks_are_left_in_peace(batch, alone):
    for kind, layer in KINDS:
        for sentence in range(3):
            assert finding(batch, (), kind, layer, 0, sentence) == []
    assert finding(alone, (), "decoder", 1, 0, 1) == []


def test_what_an_edit_breaks_is_found_where_it_is_broken(batch):
    rows = masked_numbers(batch, (), "decoder", 0, 0, 0)["queries"]
    assert finding(batch, (SEEING,), "decoder", 0, 2, 0) == [("future", [rows[0], rows[1]])]
    assert finding(batch, (SEEING,), "decoder", 0, 1, 0) == []
    words = masked_numbers(batch, (), "cross", 0, 0, 0)
    assert finding(batch, (EMPTY,), "cross", 0, 0, 0) == [("nothing_left", [words["queries"][2]])]
    hiding = Edit("cross", 0, None, MaskRule(cells=tuple((row, 3, BLOCKED) for row in range(64))))
    assert finding(batch, (hiding,), "cross", 0, 2, 0) == [("hides_tokens", [words["keys"][3]])]
    none = Edit("encoder", 0, None, MaskRule(own=False))
    (shown,) = finding(batch, (none,), "encoder", 0, 0, 1)
    assert shown == ("shows_padding", ["<pad>"] * int((inputs_of(batch)[0][1] == 0).sum()))
    nothing = Edit("cross", 0, 0, MaskRule(cells=tuple((row, key, BLOCKED) for row in range(64) for key in range(64))))
    (all_rows,) = finding(batch, (nothing,), "cross", 0, 0, 0)
    assert (all_rows[0], len(all_rows[1])) == ("nothing_left", len(words["queries"]))


@pytest.mark.parametrize("edits", [(), (SEEING,), (WINDOW,)])
def test_leaks_are_those_of_the_probe(batch, edits):
    for sentence in range(2):
        got = leak_numbers(batch, edits, sentence)
        read, source = torch.tensor(batch.reads[sentence]), torch.tensor([batch.sources[sentence]])
        model = edited(batch.asked.model, [edit.intervention for edit in edits])
        expected = leaks(lambda ids, to=model, read=source: to(read.expand(len(ids), -1), ids), read, read + 1)
        np.testing.assert_allclose(got["cells"], expected, atol=1e-5)
        assert got["future"] == pytest.approx(float(expected.triu(1).max()), abs=1e-6)
        assert (got["future"] > 1e-4) == (edits == (SEEING,))
        assert got["tokens"] == names(batch.asked.target_tokenizer, batch.reads[sentence])
        assert got["cells"].diagonal().min() > 0


def test_the_last_token_of_the_vocabulary_can_be_replaced_too(batch):
    last = batch.asked.config.target_vocabulary - 1
    strange = replace(batch, reads=((2, last, 41), *batch.reads[1:]), targets=((last, 41, 42), *batch.targets[1:]))
    assert leak_numbers(strange, (), 0)["cells"].diagonal().min() > 0


@pytest.mark.parametrize("edits", [(), (Edit("cross", None, None, MaskRule(own=False)),)])
def test_padding_moves_as_the_probe_says(batch, edits):
    got = padding_numbers(batch, edits, 1)
    assert [one["stream"] for one in got["streams"]] == ["source", "target"]
    source, target = torch.tensor(batch.sources[1]), torch.tensor(batch.reads[1])
    model = edited(batch.asked.model, [edit.intervention for edit in edits])
    expected = {
        "source": padding_moves(lambda ids: model(ids, target[None]), source, 0, MOST_PADS),
        "target": padding_moves(lambda ids: model(source[None], ids), target, 0, MOST_PADS),
    }
    for one in got["streams"]:
        np.testing.assert_allclose(one["cells"], expected[one["stream"]], atol=1e-5)
        assert one["cells"].shape == (MOST_PADS, len(batch.reads[1]))
    assert got["most"] == pytest.approx(max(float(one.max()) for one in expected.values()), abs=1e-5)
    assert (got["most"] > 1e-3) == bool(edits)


@pytest.mark.parametrize("name", ["batch", "alone"])
def test_what_is_written_begins_where_the_text_ends_and_by_the_edited_model(name, request, monkeypatch):
    """An untrained model may write the same whatever it is asked: so what it is asked is looked at."""
    several, asked = request.getfixturevalue(name), []
    edit = Edit("decoder", 0, 1, MaskRule(cells=((3, 1, BLOCKED),)))

    def spied(model, begin, limit):
        asked.append((begin.tolist(), limit, model))
        return decode(model, begin, limit)

    monkeypatch.setattr(mask_runs, "decode", spied)
    writes(several, 1, (edit,))
    ((begin, limit, model),) = asked
    if name == "alone":
        assert (begin, limit) == ([several.asked.source_ids("abc")[:-1]], 20)
    else:
        assert (begin, limit) == ([several.asked.source_ids("a dog")], length_limit(7, 64))
    with torch.inference_mode():
        expected = edited(several.asked.model, [edit.intervention])(*inputs_of(several))
        torch.testing.assert_close(model(*inputs_of(several)), expected)
        assert not torch.allclose(several.asked.model(*inputs_of(several)), expected)


class TestADecoderAlone:
    """It has one text, which it goes on with."""

    EDITS = (Edit("decoder", 0, None, MaskRule(cells=((3, 1, BLOCKED), (4, 0, BLOCKED)))),)

    def test_it_reads_its_texts_padded(self, alone):
        (read,) = inputs_of(alone)
        assert alone.sources == ()
        assert read.tolist() == [list(one) + [0] * (11 - len(one)) for one in alone.reads]
        assert [one[1:] for one in alone.reads] == [one[:-1] for one in alone.targets]

    def test_masks_patterns_and_probabilities(self, alone):
        for edits in ((), self.EDITS):
            recording, logits = ran(alone, edits)
            for layer, sentence in [(0, 0), (1, 1)]:
                site = recording.site("decoder", layer)
                got = masked_numbers(alone, edits, "decoder", layer, 1, sentence)
                mask = recording.mask(site, 1, sentence)
                np.testing.assert_array_equal(got["mask"], mask)
                np.testing.assert_allclose(
                    got["after"], with_nan(recording.pattern(site, 1, sentence), mask), atol=1e-6
                )
                assert got["queries"] == names(alone.asked.source_tokenizer, inputs_of(alone)[0][sentence].tolist())
            labels = torch.tensor(alone.targets[1])
            chances = logits[1, : len(labels)].softmax(dim=-1)[torch.arange(len(labels)), labels]
            np.testing.assert_allclose(chance_numbers(alone, edits, 1)["after"], chances, atol=1e-6)

    def test_masks_layers_and_probes(self, alone):
        masks = all_masks(alone, (), "decoder", 0, 0)["masks"]
        assert [(one["name"], one["shape"]) for one in masks] == [
            ("src_key_padding_mask", "(N, S)"),
            ("is_causal", "(S, S)"),
            ("merged", "(N, L, S)"),
        ]
        assert [one["kind"] for one in layer_numbers(alone, self.EDITS, 0)["streams"]] == ["decoder"]
        assert layer_numbers(alone, self.EDITS, 0)["streams"][0]["distance"].max() > 0
        assert leak_numbers(alone, (), 0)["future"] < 1e-5
        (moved,) = padding_numbers(alone, (), 0)["streams"]
        assert moved["stream"] == "text"
        assert moved["cells"].max() < 1e-4

    def test_it_goes_on_as_it_does_elsewhere(self, alone):
        got = written_numbers(alone, self.EDITS, 0)
        assert got["before"]["text"] == runs.written(Question("alone", "abcXabcX")).text
        model = edited(alone.asked.model, [edit.intervention for edit in self.EDITS])
        ids = alone.asked.source_ids("abcXabcX")[:-1]
        assert got["after"]["text"] == alone.asked.target_tokenizer.text(
            decode(model, torch.tensor([ids]), 20)[0][0].ids
        )

    def test_a_text_without_room_is_written_no_further(self):
        full = batch_of(Question("short", "a" * 63), [])  # learned positions: 64 and no more
        assert len(full.reads[0]) == MOST_TOKENS
        assert len(writes(full, 0).text) == 1
        assert writes(full, 0).text == runs.written(Question("short", "a" * 63)).text


class TestABatch:
    """Made of the question's sentence and others."""

    def test_holds_what_each_sentence_has_by_itself(self, batch):
        asked = batch.asked
        assert batch.sources == tuple(tuple(asked.source_ids(text)) for text in [ASKED.source, *OTHERS])
        assert batch.targets[0] == tuple(asked.target_ids(ASKED.target))
        for place, text in enumerate(OTHERS, 1):
            by_itself = runs.ask(Question("first", text))
            assert batch.targets[place] == tuple(step.label for step in by_itself.steps)
            assert batch.reads[place] == (asked.config.bos_id, *batch.targets[place][:-1])

    def test_a_forgotten_shift_is_of_the_typed_target_only(self):
        forgotten = batch_of(replace(ASKED, shifted=False), ["a dog"])
        assert forgotten.reads[0] == forgotten.targets[0]
        assert forgotten.reads[1] == (2, *forgotten.targets[1][:-1])

    def test_is_one_value(self, batch):
        assert batch_of(ASKED, OTHERS) == batch
        assert len({batch, batch_of(ASKED, OTHERS), batch_of(ASKED, OTHERS[:1])}) == 2

    @pytest.mark.parametrize(
        ("source", "others", "name", "stream", "among"),
        [
            (" ", [], "empty", "source", ""),
            ("a dog", ["a cat", " "], "empty", "source", " "),
            ("the cat sees the sea " * 4, [], "masks.long", "text", ""),
            ("a dog", ["the cat sees the sea " * 4], "masks.long", "text", "the cat sees the sea " * 4),
            ("a dog " * 4000, [], "long.tokens", "source", ""),
        ],
    )
    def test_a_text_that_does_not_fit_is_said(self, source, others, name, stream, among):
        problem = batch_of(Question("first", source, target="neko"), others)
        assert isinstance(problem, Problem)
        assert (problem.name, problem.stream, problem.among) == (name, stream, among)

    def test_as_long_as_the_limit_and_not_a_token_longer(self):
        # A letter is a token, and so is the end.
        fits, long = (batch_of(Question("alone", "a" * length), []) for length in (MOST_TOKENS - 1, MOST_TOKENS))
        assert isinstance(fits, Batch)
        assert isinstance(long, Problem)

    def test_characters_that_are_not_known_are_said_of_the_sentence_that_has_them(self):
        problem = batch_of(Question("alone", "abc"), ["ab!"])
        assert (problem.name, problem.unknown, problem.among) == ("unknown", ("!",), "ab!")

    def test_new_weights_are_another_batch(self, batch, monkeypatch):
        monkeypatch.setattr(shelf, "changed", lambda name, step: 7)
        assert batch_of(ASKED, OTHERS) != batch


def test_a_run_is_computed_once_however_many_ask(batch, monkeypatch):
    ways, begin = [], Barrier(4)
    compute = mask_runs._run
    edits = (replace(CUT, layer=None),)  # of no other test

    def counted(*asked):
        ways.append(asked)
        return compute(*asked)

    def ask():
        begin.wait()
        return mask_runs.run(batch, edits)

    monkeypatch.setattr(mask_runs, "_run", counted)
    with ThreadPoolExecutor(4) as several:
        made = [one.result() for one in [several.submit(ask) for _ in range(4)]]
    assert len(ways) == 1
    assert all(one is made[0] for one in made)


def test_the_model_that_is_edited_stays_as_it_was(batch):
    before = ran(batch)[1]
    masked_numbers(batch, (ZEROED, CUT, WINDOW), "cross", 0, 0, 0)
    torch.testing.assert_close(ran(batch)[1], before, atol=0, rtol=0)


@pytest.mark.parametrize("place", [("cross", 4, None), ("cross", 0, 9), ("other", 0, 0)])
def test_an_edit_of_what_the_model_lacks_is_refused(batch, place):
    edit = Edit(*place, MaskRule())
    with pytest.raises(ValueError, match=r"no (cross|other) attention|heads are"):
        masked_numbers(batch, (edit,), "cross", 0, 0, 0)
