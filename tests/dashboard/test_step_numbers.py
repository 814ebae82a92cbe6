"""The numbers of the decoding view: those of the steps that ran, with the labels of the ids that ran."""

from dataclasses import replace

import numpy as np
import pytest

from dashboard import runs
from dashboard.components import packed
from dashboard.numbers import Tokens, cells_of
from dashboard.runs import Answer, Question
from dashboard.step_numbers import MOST_OF_A_BEAM, step_numbers
from transformer.beam_search import BeamStep, Candidate
from transformer.decoding import GREEDY, Decoding
from transformer.units import units_of

TEXT, TARGET = "the cat sees the sea", "neko 😀 umi miru"

pytestmark = pytest.mark.usefixtures("kinds")


def answer(checkpoint="words", source=TEXT, target=None, how=GREEDY):
    outcome = runs.ask(Question(checkpoint, source, target, how=how))
    assert isinstance(outcome, Answer)
    return outcome


@pytest.fixture
def typed():
    return answer(target=TARGET)


def test_tokens_are_named_by_the_ids_that_ran(typed):
    told = step_numbers(typed)
    names = [told["tokens"][place] for place in told["read"]]
    assert names == typed.recording.query_tokens(typed.recording.site("decoder", 0))
    assert [told["tokens"][place] for place in told["label"]] == [*names[1:], "</s>"]
    assert [told["special"][place] for place in told["read"]] == [True] + [False] * (len(names) - 1)
    assert len(names) != len(set(names)) or len(told["tokens"]) > len(names)


def test_what_nothing_would_be_seen_of_has_a_sign_and_a_byte_stays_one(typed):
    label, read = typed.steps[1].label, typed.steps[1].read
    told = step_numbers(replace(typed, labels=typed.labels | {label: "\n", read: "\x07"}))
    assert (told["tokens"][told["label"][1]], told["tokens"][told["read"][1]]) == ("⏎", "U+0007")
    assert {"<0xF0>", "<0x9F>"} < {told["tokens"][place] for place in told["label"]}


def test_every_step_is_the_one_that_ran(typed):
    told = step_numbers(typed)
    assert len(typed.steps) > 10
    for place, step in enumerate(typed.steps):
        assert (told["counts"][place], told["rank"][place]) == (True, step.rank)
        for name in ("probability", "loss", "entropy"):
            assert told[name][place] == pytest.approx(getattr(step, name), rel=1e-6)
        labels = [told["tokens"][token] for token in told["likeliest"][place]]
        assert labels == [units_of([typed.labels[token]], "piece").labels[0] for token, _ in step.likeliest]
        assert told["chances"][place] == pytest.approx([chance for _, chance in step.likeliest], rel=1e-6)
    assert (told["likeliest"].shape, told["chances"].shape) == ((len(typed.steps), 10),) * 2
    assert told["guess"] is None


def test_padding_does_not_count(typed):
    padded = replace(typed, steps=(*typed.steps[:-1], replace(typed.steps[-1], counts=False)))
    assert step_numbers(padded)["counts"] == [True] * (len(typed.steps) - 1) + [False]


def test_somebody_typed_the_target_or_nobody_did(typed):
    assert step_numbers(typed)["typed"] is True
    assert step_numbers(answer())["typed"] is False
    assert step_numbers(answer("alone", "abcXabc"))["typed"] is False


def test_a_forgotten_shift_is_said(typed):
    assert step_numbers(typed)["forgotten"] is False
    unshifted = tuple(replace(step, read=step.label) for step in typed.steps)
    assert step_numbers(replace(typed, steps=unshifted))["forgotten"] is True
    padding = replace(typed.steps[0], label=typed.steps[1].label, counts=False)  # what does not count says nothing
    assert step_numbers(replace(typed, steps=(*unshifted, padding)))["forgotten"] is True


def test_a_decoder_alone_ends_with_a_guess_that_no_loss_counts():
    told = step_numbers(answer("alone", "abcXabc"))
    assert told["guess"] == len(told["read"]) - 1 == 7
    assert told["counts"] == [True] * 7 + [False]


@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.parametrize("unit", ["piece", "word", "character"])
@pytest.mark.parametrize("rows", ["read", "predicted"])
def test_each_step_finds_its_row_among_the_rows_of_a_head(typed, rows, unit, hidden):
    told = step_numbers(typed)["rows"][rows][unit]["shown" if hidden else "row"]
    site = typed.recording.site("cross", 0)
    seen = cells_of(typed, site, 0, "weight", rows, Tokens(unit, "mean", hidden)).queries
    labels = typed.predicted if rows == "predicted" else typed.read
    for step, row in enumerate(told):
        if row >= 0:
            assert seen.pieces[row][0] <= step <= seen.pieces[row][-1]
            assert row == 0 or step not in seen.pieces[row - 1]
        else:
            assert hidden
            assert labels[step] in ("<s>", "</s>")
    assert (min(told) == -1) == hidden
    assert len(set(told)) < len(told)  # the emoji's bytes share a row, whatever the unit


def test_rows_worked_by_hand(typed):
    labels = ("<s>", "▁ne", "ko", "<0xC3>", "<0xA4>", "</s>")
    told = step_numbers(replace(typed, read=labels))["rows"]["read"]
    expected = {
        "piece": ([0, 1, 2, 3, 3, 4], [-1, 0, 1, 2, 2, -1]),
        "word": ([0, 1, 1, 1, 1, 2], [-1, 0, 0, 0, 0, -1]),
        "character": ([0, 1, 3, 5, 5, 6], [-1, 0, 2, 4, 4, -1]),
    }
    assert {unit: (list(one["row"]), list(one["shown"])) for unit, one in told.items()} == expected


def test_candidates_are_those_of_the_search_and_one_of_each_step_became_the_answer():
    got = answer(how=Decoding("beam", beams=3))
    told = step_numbers(got)
    written = [told["tokens"][place] for place in told["label"]]
    assert len(told["beams"]) == len(got.steps)
    for step, (beam, candidates) in enumerate(zip(got.beams, told["beams"], strict=False)):
        assert len(candidates) == 6
        for candidate, known in zip(candidates, beam.candidates, strict=True):
            ids = (*known.beam[-MOST_OF_A_BEAM:], known.token)
            names = [told["tokens"][place] for place in (*candidate["before"], candidate["token"])]
            assert names == [units_of([got.labels[one]], "piece").labels[0] for one in ids]
            assert (candidate["score"], candidate["fate"]) == (known.score, known.fate)
        (chosen,) = (one for one in candidates if one["answer"])
        seen = [told["tokens"][place] for place in (*chosen["before"], chosen["token"])]
        assert seen == written[max(0, step - MOST_OF_A_BEAM) : step + 1]
        assert chosen["cut"] is (step > MOST_OF_A_BEAM)


def test_a_beam_that_others_overtook_is_none_of_the_answers():
    got = answer(target="neko umi")
    ids = [step.label for step in got.steps]
    beams = (
        BeamStep((Candidate((), ids[0], -1, -1, "kept"), Candidate((), ids[1], -2, -2, "dropped")), (), ()),
        BeamStep((Candidate((ids[1],), ids[1], -1, -1, "kept"), Candidate((ids[0],), ids[1], -2, -2, "kept")), (), ()),
    )
    flags = [[one["answer"] for one in step] for step in step_numbers(replace(got, beams=beams))["beams"]]
    assert flags == [[True, False], [False, True]]


def test_only_the_guess_of_a_decoder_alone_was_searched_for():
    got = answer("alone", "abcXabc", how=Decoding("beam", beams=2))
    told = step_numbers(got)
    assert [len(step) for step in told["beams"]] == [0] * 7 + [4]
    assert [one["token"] for one in told["beams"][-1] if one["answer"]] == [told["label"][-1]]


def test_nothing_was_searched_for():
    assert step_numbers(answer())["beams"] == step_numbers(answer(target=TARGET))["beams"] == []


def test_a_label_that_is_ruled_out_still_travels(typed):
    ruled_out = replace(typed.steps[0], loss=float("inf"), probability=0.0)
    told = step_numbers(replace(typed, steps=(ruled_out, *typed.steps[1:])))
    assert told["loss"][0] == np.inf
    header = packed(told)
    assert b"Infinity" not in header  # which a browser cannot read
    assert b"NaN" not in header
