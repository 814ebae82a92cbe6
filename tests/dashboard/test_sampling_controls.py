"""The controls of how a model writes its own answer: they change it, and a link keeps them."""

import pytest
from opened_page import control, opened

from dashboard import runs, sidebar
from dashboard.runs import Question
from dashboard.state import real_in
from dashboard.words import words_of
from transformer.decoding import GREEDY, Decoding

TEXT = "the cat sees the sea"
EN, ZH = words_of("en"), words_of("zh")
METHOD = ("method", "beams", "length_penalty", "temperature", "top_p", "top_k", "seed")

pytestmark = pytest.mark.usefixtures("two_checkpoints")


@pytest.fixture
def asked(monkeypatch):
    """Every question that the page asks, the last one last."""
    questions, ask = [], runs.ask
    monkeypatch.setattr(runs, "ask", lambda question, *watch: questions.append(question) or ask(question))
    return questions


def choose(page, method):
    control(page, "method").set_value(method)
    page.run()
    assert not page.exception
    return page


def in_link(page):
    """What the address says of the way of writing."""
    return {name: page.query_params[name] for name in METHOD if name in page.query_params}


def keys(page):
    return {one.key for one in (*page.slider, *page.select_slider, *page.button) if one.key}


def shown_answer(page):
    return page.sidebar.text[-1].value.removesuffix("…")


def test_a_page_opens_greedily_and_shows_no_numbers(asked):
    page = opened()
    assert control(page, "method").value == "greedy"
    assert in_link(page) == {}
    assert not keys(page) & {*METHOD, "draw_again"}
    assert asked[-1].how == GREEDY


def test_beams_change_the_answer_and_its_steps_and_the_address_says_so(asked):
    page = opened()
    greedy = runs.ask(asked[-1])
    assert shown_answer(page) == greedy.target.text
    choose(page, "beam")
    assert asked[-1] == Question("first", TEXT, how=Decoding("beam", beams=4))
    answer = runs.ask(asked[-1])
    assert [step.label for step in answer.steps] != [step.label for step in greedy.steps]
    assert len(answer.beams) == len(answer.steps)
    assert shown_answer(page) == answer.target.text != greedy.target.text
    assert in_link(page) == {"method": "beam"}
    page.slider(key="beams").set_value(2)
    page.slider(key="length_penalty").set_value(0.35).run()
    assert in_link(page) == {"method": "beam", "beams": "2", "length_penalty": "0.35"}
    assert asked[-1].how == Decoding("beam", beams=2, length_penalty=0.35)


def test_the_numbers_of_sampling_are_drawn_with(asked):
    page = choose(opened(), "sample")
    assert asked[-1].how == Decoding("sample")
    page.slider(key="temperature").set_value(0.7)
    page.slider(key="top_p").set_value(0.9)
    page.select_slider(key="top_k").set_value("20").run()
    assert asked[-1].how == Decoding("sample", temperature=0.7, top_k=20, top_p=0.9, seed=1)
    assert in_link(page) == {"method": "sample", "temperature": "0.7", "top_p": "0.9", "top_k": "20"}
    assert shown_answer(page) == runs.ask(asked[-1]).target.text


def test_drawing_again_takes_the_next_seed_and_begins_anew_after_the_last(asked):
    page = choose(opened(), "sample")
    first = shown_answer(page)
    page.button(key="draw_again").click().run()
    assert asked[-1].how == Decoding("sample", seed=2)
    assert page.slider(key="seed").value == 2
    assert page.query_params["seed"] == "2"
    assert shown_answer(page) != first
    page.slider(key="seed").set_value(99).run()
    page.button(key="draw_again").click().run()
    assert not page.exception
    assert asked[-1].how == Decoding("sample", seed=1)
    assert shown_answer(page) == first


BEAM_LINK = {"method": "beam", "beams": "7", "length_penalty": "0.5"}
SAMPLE_LINK = {"method": "sample", "temperature": "1.3", "top_p": "0.8", "top_k": "5", "seed": "12"}


@pytest.mark.parametrize(
    ("link", "how"),
    [
        (BEAM_LINK, Decoding("beam", beams=7, length_penalty=0.5)),
        (SAMPLE_LINK, Decoding("sample", temperature=1.3, top_p=0.8, top_k=5, seed=12)),
    ],
)
def test_a_link_restores_the_way_of_writing(link, how, asked):
    page = opened(**link)
    assert control(page, "method").value == link["method"]
    assert asked[-1].how == how
    assert in_link(page) == link
    controls = {one.key: one.value for one in (*page.slider, *page.select_slider)}
    assert {name: str(controls[name]) for name in link if name != "method"} == {
        name: value for name, value in link.items() if name != "method"
    }


@pytest.mark.parametrize(
    ("link", "how"),
    [
        ({"method": "guess", "beams": "2"}, GREEDY),
        ({"method": "beam", "beams": "9", "length_penalty": "much"}, Decoding("beam")),
        ({"method": "beam", "beams": "0", "length_penalty": "-1"}, Decoding("beam")),
        ({"method": "beam", "beams": "2.5", "length_penalty": "nan"}, Decoding("beam")),
        ({"method": "sample", "temperature": "0", "top_p": "0", "top_k": "3", "seed": "0"}, Decoding("sample")),
        ({"method": "sample", "temperature": "inf", "top_p": "1.5", "top_k": "-1", "seed": "x"}, Decoding("sample")),
    ],
)
@pytest.mark.parametrize("target_from", ["translate", "type"])
def test_nonsense_in_a_link_is_passed_over(link, how, target_from, asked):
    page = opened(target_from=target_from, **link)
    assert asked[0].how == asked[-1].how == how
    if target_from == "translate" and how != GREEDY:
        assert in_link(page) == {"method": how.method}


def test_a_typed_target_begins_from_the_answer_that_was_there(asked):
    page = choose(opened(), "beam")
    answer = runs.ask(asked[-1]).target.text
    control(page, "target_from").set_value("type")
    page.run()
    assert page.text_area(key="target").value == answer
    assert "method" not in {one.key for one in page.get("button_group")}
    assert not keys(page) & {*METHOD, "draw_again"}
    assert asked[-1].target == answer
    again = opened(target_from="type", method="beam")  # the link of this page
    assert again.text_area(key="target").value == answer
    control(page, "target_from").set_value("translate")
    page.run()
    assert control(page, "method").value == "beam"
    assert shown_answer(page) == answer


def test_the_numbers_of_one_method_wait_while_another_one_writes(asked):
    page = opened(method="beam", beams="2")
    choose(choose(page, "greedy"), "sample")
    assert asked[-1].how == Decoding("sample")
    assert page.query_params["beams"] == "2"
    choose(page, "beam")
    assert page.slider(key="beams").value == 2
    assert asked[-1].how == Decoding("beam", beams=2)


def test_a_decoder_alone_goes_on_in_the_chosen_way(kinds, asked):
    page = choose(opened(checkpoint="alone"), "sample")
    question = Question("alone", "abcXabcX", how=Decoding("sample"))
    assert asked[-1] == question
    assert shown_answer(page) == runs.written(question).text
    assert runs.written(question) != runs.written(Question("alone", "abcXabcX"))


def test_a_training_step_answers_in_the_chosen_way(kinds):
    page = opened(checkpoint="letters", step="40", method="sample", seed="3")
    question = Question("letters", "abcdef", step=40, how=Decoding("sample", seed=3))
    assert shown_answer(page) == runs.written(question).text


@pytest.mark.parametrize(("language", "words"), [("en", EN), ("zh", ZH)])
def test_the_controls_speak_the_viewers_language(language, words):
    page = opened(language=language, method="sample")
    assert control(page, "method").label == words["method"]
    assert page.slider(key="temperature").label == words["temperature"]
    assert page.select_slider(key="top_k").options[-1] == words["top_k.all"]
    assert page.button(key="draw_again").label == words["draw_again"]


def test_the_page_knows_what_was_asked(asked, monkeypatch):
    """A view tells a typed target from the model's own by the question."""
    chosen, draw = [], sidebar.draw
    monkeypatch.setattr(sidebar, "draw", lambda: chosen.append(draw()) or chosen[-1])
    opened(method="beam")
    opened(method="beam", target_from="type", target="neko")
    assert [one.question for one in chosen] == [
        Question("first", TEXT, how=Decoding("beam")),
        Question("first", TEXT, "neko", how=Decoding("beam")),
    ]


@pytest.mark.parametrize(
    ("text", "number"),
    [("0", 0), ("2", 2), ("0.35", 0.35), ("-0.1", None), ("2.01", None), ("inf", None), ("nan", None), ("", None)],
)
def test_numbers_of_a_link_lie_within_their_slider(text, number):
    assert real_in(text, 0.0, 2.0) == number
