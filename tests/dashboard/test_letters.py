"""Vocabularies of letters: what they lack is said in one sentence, with a way out."""

import pytest
from opened_page import control, opened

from dashboard import fit, runs, shelf
from dashboard.fit import MOST_CHARACTERS, Problem
from dashboard.runs import Answer, Question
from dashboard.words import ranges, words_of

EN, ZH = words_of("en"), words_of("zh")

pytestmark = pytest.mark.usefixtures("kinds")


@pytest.mark.parametrize(
    ("text", "unknown", "fits"),
    [
        ("abÉc7", ("É", "7"), "abc"),
        ("Hello", ("H",), "hello"),
        ("a b\nc", (" ", "\n"), "abc"),
        ("猫", ("猫",), ""),
        ("a<s>b", ("<", ">"), "asb"),
        ("a▁b", (" ",), "ab"),
        ("x\u200by", ("\u200b",), "xy"),
    ],
)
@pytest.mark.parametrize("stream", ["source", "target"])
def test_unknown_characters_are_named_and_rewritten(stream, text, unknown, fits):
    texts = {"source": "abc", "target": "cba"} | {stream: text}
    problem = runs.ask(Question("letters", **texts))
    assert isinstance(problem, Problem)
    assert (problem.name, problem.stream, problem.fits) == ("unknown", stream, fits)
    assert set(unknown) <= set(problem.unknown)
    assert ranges(problem.known) == ["a–z"]
    if fits:
        assert isinstance(runs.ask(Question("letters", **(texts | {stream: fits}))), Answer)


def test_a_huge_text_of_unknown_characters_is_answered_too():
    problem = runs.ask(Question("letters", "Ab" * MOST_CHARACTERS))
    assert (problem.unknown, problem.fits) == (("A",), "ab" * MOST_CHARACTERS)
    problem = runs.ask(Question("letters", problem.fits))
    assert problem.name == "long.characters"
    assert isinstance(runs.ask(Question("letters", problem.fits)), Answer)


def test_a_text_longer_than_any_in_training_is_fine_up_to_the_limit(monkeypatch):
    limit = shelf.checkpoint("letters").config.max_length + 10
    monkeypatch.setattr(fit, "LONGEST", limit)
    assert isinstance(runs.ask(Question("letters", "a" * (limit - 1))), Answer)
    assert runs.ask(Question("letters", "a" * limit)).name == "long.tokens"


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        ("en", "This model reads only a–z; in the source text it does not know: É, 7, \\*, space."),
        ("zh", "此模型只能读 a–z；源文本里它不认识：É、7、\\*、空格。"),
    ],
)
def test_the_page_says_it_and_its_button_helps(language, sentence):
    page = opened(checkpoint="letters", source="abÉc7* z", language=language)
    assert [one.value for one in page.warning] == [sentence]
    page.button(key="remedy").click().run()
    assert not page.exception
    assert not page.warning
    assert page.text_area(key="source").value == "abcz"
    assert page.query_params["source"] == "abcz"


def test_where_nothing_would_remain_the_models_example_is_offered():
    page = opened(checkpoint="letters", source="猫")
    assert "remedy" not in [one.key for one in page.button]
    page.button(key="example").click().run()
    assert not page.warning
    assert page.text_area(key="source").value == "abcdef"


def test_a_target_that_does_not_fit_can_be_left_to_the_model():
    page = opened(checkpoint="letters", target_from="type", target="猫")
    assert page.warning[0].value.startswith("This model writes only a–z")
    page.button(key="own").click().run()
    assert not page.warning
    assert control(page, "target_from").value == "translate"


def test_many_unknown_characters_are_cut_short():
    page = opened(checkpoint="alone", source="".join(chr(0x4E00 + i) for i in range(90)))
    assert page.warning[0].value.endswith("一, 丁, 丂, 七, 丄, 丅, 丆, 万, 丈, 三, 上, 下, ….")
    assert "a–z, A–Z, 0–9" in page.warning[0].value
