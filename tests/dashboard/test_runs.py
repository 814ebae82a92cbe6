"""From a question to a recording, through caches that several viewers share."""

import pytest
import torch
from small_checkpoint import write_small_checkpoint

from dashboard import runs, shelf
from dashboard.fit import MOST_CHARACTERS, Problem
from dashboard.runs import Answer, Question
from transformer.checkpoint import CheckpointError
from transformer.decoding import decode, length_limit

TEXT = "the cat sees the sea"

pytestmark = pytest.mark.usefixtures("two_checkpoints")


def answer(source=TEXT, target=None, checkpoint="first"):
    outcome = runs.ask(Question(checkpoint, source, target))
    assert isinstance(outcome, Answer)
    return outcome


def test_the_translation_is_the_greedy_one_and_was_read_one_token_late():
    got = answer()
    asked = shelf.checkpoint("first")
    source = torch.tensor([asked.source_ids(TEXT)])
    decoded = decode(asked.model, source, length_limit(source.size(1), asked.config.max_length))[0][0]
    assert got.target.text == asked.target_tokenizer.text(decoded.ids)
    assert got.predicted == tuple(asked.target_tokenizer.labels(decoded.ids))
    assert got.recording.tokens["target"][0] == ["<s>", *got.predicted[:-1]]
    assert got.recording.tokens["source"][0] == asked.source_tokenizer.labels(source[0].tolist())


def test_probabilities_are_those_of_the_target_given_what_came_before():
    got = answer(target="neko umi miru")
    asked = shelf.checkpoint("first")
    ids = asked.target_ids("neko umi miru")
    source = torch.tensor([asked.source_ids(TEXT)])
    for place, label in enumerate(ids):
        with torch.inference_mode():
            logits = asked.model(source, torch.tensor([[asked.config.bos_id, *ids[:place]]]))[0, -1]
        assert got.probabilities[place] == pytest.approx(logits.softmax(-1)[label].item(), abs=1e-6)
    assert got.target.text == "neko umi miru"


def test_the_same_question_is_answered_once(monkeypatch):
    forwards = []
    asked = shelf.checkpoint("first")
    hook = asked.model.register_forward_hook(lambda *_: forwards.append(1))
    try:
        first = answer("a dog likes bread", "inu pan suki")
        again = answer("a dog likes bread", "inu pan suki")
    finally:
        hook.remove()
    assert first.recording is again.recording
    assert len(forwards) == 1


@pytest.mark.parametrize("text", ["", "   ", "\n\t", "\u200b", "\ufeff"])
def test_nothing_to_read_is_said(text):
    assert runs.ask(Question("first", text)) == Problem("empty", "source")
    assert runs.ask(Question("first", TEXT, text)) == Problem("empty", "target")


@pytest.mark.parametrize("long", ["the cat sees the sea " * 40, "😀" * 400, "龘" * 300])
@pytest.mark.parametrize("stream", ["source", "target"])
def test_a_text_that_is_too_long_is_refused_and_its_cut_fits(stream, long):
    texts = {"source": TEXT, "target": "neko"} | {stream: long}
    problem = runs.ask(Question("first", **texts))
    assert isinstance(problem, Problem)
    assert (problem.name, problem.stream) == ("long.tokens", stream)
    assert problem.limit == 64 < problem.length
    assert isinstance(runs.ask(Question("first", **(texts | {stream: problem.fits}))), Answer)
    assert long.startswith(problem.fits)
    assert problem.fits


def test_a_huge_text_is_refused_before_it_is_tokenized():
    problem = runs.ask(Question("first", "x" * (MOST_CHARACTERS + 1)))
    assert (problem.name, problem.length, problem.limit) == (
        "long.characters",
        MOST_CHARACTERS + 1,
        MOST_CHARACTERS,
    )
    assert isinstance(runs.ask(Question("first", problem.fits)), Answer)


def test_characters_spelled_as_bytes_are_named():
    assert answer("the cat 🎉 sees 你").spelled_as_bytes == {"source": ["🎉", "你"]}
    assert answer(target="neko 🎉").spelled_as_bytes == {"source": [], "target": ["🎉"]}


def test_each_checkpoint_answers_for_itself():
    assert [site.heads for site in answer(checkpoint="first").recording.sites] == [3, 3, 3, 3]
    assert [site.heads for site in answer(checkpoint="second").recording.sites] == [2, 2, 2, 2, 2]


def test_a_damaged_first_checkpoint_does_not_keep_the_server_from_starting(tmp_path, monkeypatch):
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "config.json").write_text("{}")
    write_small_checkpoint(tmp_path / "sound")
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(tmp_path))
    shelf.warm_up()
    assert shelf.checkpoint("sound").name == "sound"


def test_only_encoder_decoders_are_asked(tmp_path, monkeypatch):
    write_small_checkpoint(tmp_path / "reader", architecture="encoder", tie_output=False)
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(tmp_path))
    with pytest.raises(CheckpointError, match="reader has the architecture encoder"):
        runs.ask(Question("reader", TEXT))


@pytest.mark.parametrize("metrics", ["{", "[]", '{"samples": []}', '{"samples": [{}]}', '{"samples": ["x"]}', None])
def test_measurements_that_cannot_be_read_open_on_an_empty_text(metrics, tmp_path, monkeypatch):
    (tmp_path / "one").mkdir()
    if metrics is not None:
        (tmp_path / "one" / "metrics.json").write_text(metrics)
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(tmp_path))
    assert shelf.opening_sentence("one") == ""
