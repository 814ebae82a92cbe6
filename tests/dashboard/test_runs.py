"""From a question to a recording, through caches that several viewers share."""

from operator import attrgetter

import pytest
import torch
from small_checkpoint import write_small_checkpoint

from dashboard import forwards, runs, shelf
from dashboard.fit import MOST_CHARACTERS, Problem
from dashboard.runs import Answer, Question
from transformer.checkpoint import CheckpointError
from transformer.decoding import GREEDY, Decoding, decode, length_limit
from transformer.steps import forgot_the_shift, steps_of

TEXT = "the cat sees the sea"

pytestmark = pytest.mark.usefixtures("two_checkpoints")


BEAM, DRAWN, DRAWN_AGAIN = Decoding("beam", beams=3), Decoding("sample", seed=1), Decoding("sample", seed=2)


def answer(source=TEXT, target=None, checkpoint="first", how=GREEDY):
    outcome = runs.ask(Question(checkpoint, source, target, how=how))
    assert isinstance(outcome, Answer)
    return outcome


def decoded(how, trace=None, checkpoint="first", step=None, source=TEXT):
    asked = shelf.checkpoint(checkpoint, step)
    ids = torch.tensor([asked.source_ids(source)])
    limit = length_limit(ids.size(1), asked.config.max_length)
    return decode(asked.model, ids, limit, how, trace=trace)[0][0].ids


@pytest.mark.parametrize("how", [GREEDY, BEAM, DRAWN, DRAWN_AGAIN], ids=attrgetter("method"))
def test_the_translation_is_written_as_asked_and_was_read_one_token_late(how):
    got = answer(how=how)
    asked = shelf.checkpoint("first")
    ids = decoded(how)
    assert got.target.text == asked.target_tokenizer.text(ids)
    assert got.predicted == tuple(asked.target_tokenizer.labels(ids))
    assert got.read == ("<s>", *got.predicted[:-1])
    assert got.recording.tokens["target"][0] == list(got.read)
    assert got.recording.tokens["source"][0] == asked.source_tokenizer.labels(asked.source_ids(TEXT))
    assert runs.written(Question("first", TEXT, how=how)) == got.target


def test_each_way_of_writing_has_an_answer_of_its_own():
    assert len({answer(how=how).predicted for how in (GREEDY, BEAM, DRAWN, DRAWN_AGAIN)}) == 4
    assert answer(how=DRAWN).steps == answer(how=Decoding("sample", seed=1)).steps


@pytest.mark.parametrize("how", [GREEDY, DRAWN], ids=attrgetter("method"))
def test_steps_are_those_of_the_models_own_distribution(how):
    got, asked, ids = answer(how=how), shelf.checkpoint("first"), decoded(how)
    read = torch.tensor([asked.config.bos_id, *ids[:-1]])
    with torch.inference_mode():
        logits = asked.model(torch.tensor([asked.source_ids(TEXT)]), read[None])[0]
    assert got.steps == tuple(steps_of(logits, read, torch.tensor(ids), asked.config.pad_id))
    assert got.probabilities == tuple(step.probability for step in got.steps)
    assert len(got.steps[0].likeliest) == 10


def test_the_beams_are_those_of_the_search_that_found_the_target():
    got, trace = answer(how=BEAM), []
    ids = decoded(BEAM, [trace])
    assert list(got.beams) == trace
    assert len(got.beams) == len(got.steps)
    for length, step in enumerate(got.beams, start=1):
        assert ids[:length] in [one.ids for one in step.candidates]


@pytest.mark.parametrize(("target", "how"), [(None, GREEDY), (None, DRAWN), ("neko umi miru", BEAM)])
def test_there_are_no_beams_where_none_were_searched(target, how):
    assert answer(target=target, how=how).beams == ()


def test_every_id_that_can_be_shown_has_its_label():
    got = answer(how=Decoding("beam", beams=8))
    in_steps = {index for step in got.steps for index in (step.read, step.label, *dict(step.likeliest))}
    in_beams = {i for step in got.beams for one in (*step.candidates, *step.live, *step.ended) for i in one.ids}
    assert in_beams - in_steps  # 16 candidates reach beyond the 10 likeliest
    assert got.labels.keys() == in_steps | in_beams
    tokenizer = shelf.checkpoint("first").target_tokenizer
    assert all(label == tokenizer.labels([index])[0] for index, label in got.labels.items())


def test_a_way_of_writing_is_decoded_once(monkeypatch):
    asked = []
    monkeypatch.setattr(forwards, "decode", lambda *given, **named: asked.append(given[3]) or decode(*given, **named))
    for how in (GREEDY, BEAM, DRAWN, DRAWN_AGAIN, BEAM, GREEDY, Decoding("beam", beams=3), Decoding("beam", beams=2)):
        answer("my friend likes bread", how=how)
        runs.written(Question("first", "my friend likes bread", how=how))
    assert asked == [GREEDY, BEAM, DRAWN, DRAWN_AGAIN, Decoding("beam", beams=2)]


def test_a_step_of_training_writes_in_the_same_way(kinds):
    how, tokenizer = Decoding("sample", seed=3), shelf.checkpoint("letters").target_tokenizer
    question = Question("letters", "abcdef", step=40, how=how)
    finished = decoded(how, checkpoint="letters", source="abcdef")
    early = decoded(how, checkpoint="letters", source="abcdef", step=40)
    assert finished != early
    assert runs.ask(question).predicted == tuple(tokenizer.labels(finished))
    assert runs.written(question).text == tokenizer.text(early)


@pytest.mark.parametrize("how", [GREEDY, BEAM, DRAWN], ids=attrgetter("method"))
def test_a_decoder_alone_goes_on_as_asked(how, kinds):
    text, asked, trace = "abcXabcX", shelf.checkpoint("alone"), []
    ids = asked.source_tokenizer.ids(text)
    goes_on = decode(asked.model, torch.tensor([ids]), forwards.MOST_CONTINUED, how, trace=[trace])[0][0].ids
    got = answer(text, checkpoint="alone", how=how)
    assert got.predicted == (*text, *asked.source_tokenizer.labels(goes_on[:1]))
    assert got.read == ("<s>", *text)
    assert [step.label for step in got.steps] == [*ids, goes_on[0]]
    assert list(got.beams) == trace
    own = runs.written(Question("alone", text, how=how))
    assert own.text == asked.source_tokenizer.text(goes_on)


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


@pytest.fixture
def learned(tmp_path, monkeypatch):
    """A checkpoint whose positions end."""
    write_small_checkpoint(tmp_path / "learned", positions="learned")
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(tmp_path))


@pytest.mark.parametrize("long", ["the cat sees the sea " * 40, "😀" * 400, "龘" * 300])
@pytest.mark.parametrize("stream", ["source", "target"])
def test_a_text_that_is_too_long_is_refused_and_its_cut_fits(stream, long, learned):
    texts = {"source": TEXT, "target": "neko"} | {stream: long}
    problem = runs.ask(Question("learned", **texts))
    assert isinstance(problem, Problem)
    assert (problem.name, problem.stream) == ("long.tokens", stream)
    assert problem.limit == 64 < problem.length
    assert isinstance(runs.ask(Question("learned", **(texts | {stream: problem.fits}))), Answer)
    assert long.startswith(problem.fits)
    assert problem.fits


def test_a_huge_text_is_refused_before_it_is_tokenized(learned):
    problem = runs.ask(Question("learned", "x" * (MOST_CHARACTERS + 1)))
    assert (problem.name, problem.length, problem.limit) == (
        "long.characters",
        MOST_CHARACTERS + 1,
        MOST_CHARACTERS,
    )
    assert isinstance(runs.ask(Question("learned", problem.fits)), Answer)


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


def test_an_unshifted_target_is_read_as_it_stands_and_the_steps_say_so():
    right, wrong = (runs.ask(Question("first", TEXT, "neko umi", shifted=shifted)) for shifted in (True, False))
    assert wrong.read == wrong.predicted == right.predicted
    assert right.read == ("<s>", *right.predicted[:-1])
    asked = shelf.checkpoint("first")
    target = torch.tensor([asked.target_ids("neko umi")])
    with torch.inference_mode():
        losses = torch.nn.functional.cross_entropy(
            asked.model(torch.tensor([asked.source_ids(TEXT)]), target)[0], target[0], reduction="none"
        )
    assert [step.loss for step in wrong.steps] == pytest.approx(losses.tolist(), abs=1e-5)
    assert forgot_the_shift([step.read for step in wrong.steps], [step.label for step in wrong.steps], 0)
