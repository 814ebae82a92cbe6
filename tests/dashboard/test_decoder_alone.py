"""A decoder alone: one text, read and predicted by the same stack."""

import pytest
import torch
from opened_page import explorer, look, opened

from dashboard import fit, runs, shelf
from dashboard.fit import Problem
from dashboard.forwards import MOST_CONTINUED
from dashboard.runs import Question
from dashboard.words import words_of

TEXT = "abcXabcX"
EN, ZH = words_of("en"), words_of("zh")

pytestmark = pytest.mark.usefixtures("kinds")


def test_it_reads_its_text_behind_the_begin_token_in_one_forward():
    recording = runs.ask(Question("alone", TEXT)).recording
    assert len(recording.runs) == 1
    assert {site.kind for site in recording.sites} == {"decoder"}
    site = recording.site("decoder", 1)
    assert recording.query_tokens(site) == recording.key_tokens(site) == ["<s>", *TEXT]


def test_each_row_predicts_the_next_token_and_the_last_row_what_the_model_would_write():
    got, asked = runs.ask(Question("alone", TEXT)), shelf.checkpoint("alone")
    ids = asked.source_tokenizer.ids(TEXT)
    with torch.inference_mode():
        logits = asked.model(torch.tensor([[asked.config.bos_id, *ids]]))[0]
    likely = logits.softmax(-1)
    guess = int(logits[-1, 1:].argmax()) + 1  # padding is never written
    assert got.predicted == (*TEXT, *asked.source_tokenizer.labels([guess]))
    expected = [likely[row, token].item() for row, token in enumerate([*ids, guess])]
    assert got.probabilities == pytest.approx(expected, abs=1e-6)
    assert got.target is None


def test_it_goes_on_from_its_guess_up_to_the_limit():
    own, got = runs.written(Question("alone", TEXT)), runs.ask(Question("alone", TEXT))
    assert own.finished or len(own.text) == MOST_CONTINUED
    assert own.text.startswith(got.predicted[-1]) or got.predicted[-1].startswith("<")


def test_a_text_that_fills_the_model_still_has_a_guess_after_it(monkeypatch):
    limit = shelf.checkpoint("alone").config.max_length + 10
    monkeypatch.setattr(fit, "LONGEST", limit)
    got = runs.ask(Question("alone", "a" * (limit - 1)))
    assert len(got.predicted) == limit
    problem = runs.ask(Question("alone", "a" * limit))
    assert isinstance(problem, Problem)
    assert (problem.name, problem.stream, problem.length, problem.limit) == ("long.tokens", "text", limit + 1, limit)
    assert problem.fits == "a" * (limit - 1)


@pytest.mark.parametrize(("language", "words"), [("en", EN), ("zh", ZH)])
def test_the_page_speaks_of_one_text(language, words):
    page = opened(checkpoint="alone", language=language)
    assert page.text_area(key="source").label == words["text"]
    assert page.text_area(key="source").value == TEXT
    assert [one["kind"] for one in explorer(page)["run"]["kinds"]] == ["decoder"]
    assert explorer(page)["words"]["kind.decoder"] == words["kind.decoder"]
    assert words("continuation", limit=MOST_CONTINUED) in [one.value for one in page.caption]
    assert "target_from" not in [one.key for one in page.get("button_group")]


def test_rows_can_be_named_by_what_they_predict():
    page = opened(checkpoint="alone", decoder_rows="predicted", head="mean")
    assert (look(page)["decoder_rows"], look(page)["head"]) == ("predicted", "mean")


def test_an_empty_text_offers_the_models_example():
    page = opened(checkpoint="alone", source=" ")
    assert [one.value for one in page.info] == [EN["empty.text"]]
    page.button(key="example").click().run()
    assert not page.info
    assert page.text_area(key="source").value == TEXT
