"""Long work is told of while it runs, and what was broken off leaves nothing behind."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from opened_page import control, explorer, opened

from dashboard import forwards, long_work, runs, shelf
from dashboard.runs import Answer, Question
from dashboard.slot import Slot
from dashboard.words import words_of
from transformer.decoding import Decoding
from transformer.progress import sublayers

EN = words_of("en")
TEXT = "the cat sees the sea"


class Ended(BaseException):
    """As Streamlit ends a script."""


# Slots.


def test_one_computes_and_the_others_wait_for_it():
    slot, computed = Slot(), []
    begun, waited, going = threading.Event(), threading.Event(), threading.Event()

    def compute() -> object:
        computed.append(1)
        begun.set()
        going.wait(20)
        return object()

    with ThreadPoolExecutor(4) as viewers:
        first = viewers.submit(slot.fill, compute)
        assert begun.wait(20)
        others = [viewers.submit(slot.fill, compute, waited.set) for _ in range(3)]
        assert waited.wait(20)
        assert not any(one.done() for one in (first, *others))
        going.set()
        assert len({first.result(20), *(one.result(20) for one in others)}) == 1
    assert computed == [1]


def test_work_that_is_broken_off_leaves_the_slot_to_who_waits():
    slot, begun, going = Slot(), threading.Event(), threading.Event()

    def broken() -> int:
        begun.set()
        going.wait(20)
        raise Ended

    with ThreadPoolExecutor(2) as viewers:
        first = viewers.submit(slot.fill, broken)
        assert begun.wait(20)
        second = viewers.submit(slot.fill, lambda: 2, going.set)
        with pytest.raises(Ended):
            first.result(20)
        assert second.result(20) == 2
    assert slot.fill(lambda: 3) == 2


def test_who_waits_may_leave_and_the_work_goes_on():
    slot, begun, going = Slot(), threading.Event(), threading.Event()

    def leave() -> None:
        raise Ended

    with ThreadPoolExecutor(1) as viewers:
        first = viewers.submit(slot.fill, lambda: begun.set() or int(going.wait(20)))
        assert begun.wait(20)
        with pytest.raises(Ended):
            slot.fill(lambda: 2, leave)
        going.set()
        assert first.result(20) == 1
    assert slot.fill(lambda: 2) == 1


def test_nothing_and_none_are_values_too():
    slot, computed = Slot(), []
    assert [slot.fill(lambda: computed.append(1)) for _ in range(3)] == [None] * 3
    assert computed == [1]


# Questions.


@pytest.fixture
def short_is_long(monkeypatch):
    monkeypatch.setattr(forwards, "LONG", 4)


@pytest.fixture
def forgotten():
    """Nothing has been asked before."""
    forwards._decoded.clear()
    forwards._forced.clear()


FORGOTTEN = pytest.mark.usefixtures("two_checkpoints", "forgotten")
WATCHED = pytest.mark.usefixtures("two_checkpoints", "forgotten", "short_is_long")


@FORGOTTEN
def test_a_short_text_is_not_told_of():
    told = []
    assert isinstance(runs.ask(Question("first", TEXT), told.append), Answer)
    runs.written(Question("first", TEXT), told.append)
    assert told == []


@WATCHED
@pytest.mark.parametrize("how", [Decoding(), Decoding("beam", beams=3)])
def test_a_long_text_is_told_of_from_nothing_to_all(how):
    told, question = [], Question("first", TEXT, how=how)
    answer = runs.ask(question, told.append)
    assert told[0] == 0
    assert told[-1] == 1
    assert told == sorted(told)
    assert 0.5 in told  # the text is written, and read
    parts, end = len(sublayers(answer.model)), told[told.index(0.5) + 1 :]
    assert end == pytest.approx([0.5 + 0.5 * (done + 1) / parts for done in range(-1, parts)][-len(end) :])
    again = []
    assert runs.ask(question, again.append).recording is answer.recording
    assert again == []


@WATCHED
def test_a_typed_target_is_told_of_too():
    told, question = [], Question("first", TEXT, target="neko")
    answer = runs.ask(question, told.append)
    parts = len(sublayers(answer.model))
    assert told == pytest.approx([done / parts for done in range(parts + 1)])


@WATCHED
@pytest.mark.parametrize("question", [Question("first", TEXT), Question("first", TEXT, target="neko umi")])
def test_what_was_ended_leaves_nothing_and_the_next_question_is_answered(question):
    told: list[float] = []
    expected = runs.ask(question, told.append)
    for ends_after in range(0, len(told), 3):
        forwards._decoded.clear()
        forwards._forced.clear()
        left = ends_after

        def end(share: float) -> None:
            nonlocal left
            if left == 0:
                raise Ended
            left -= 1

        with pytest.raises(Ended):
            runs.ask(question, end)
        ids = tuple(shelf.checkpoint("first").source_ids(TEXT))
        slot = forwards._decoded("first", None, shelf.changed("first", None), ids, question.how)
        written = question.target is None and ends_after > told.index(0.5)  # that part was done
        assert (slot._filled is not None) == written
        answer = runs.ask(question)
        assert (answer.predicted, answer.steps) == (expected.predicted, expected.steps)
        for site in expected.recording.sites:
            assert torch.equal(answer.recording.pattern(site), expected.recording.pattern(site))


# The page.


@WATCHED
def test_the_button_is_gone_when_the_work_is_done():
    page = opened(source=TEXT)
    assert explorer(page)["run"]["steps"]
    assert not [one for one in page.button if one.key == "stop"]


@WATCHED
@pytest.mark.parametrize("target_from", ["translate", "type"])
def test_stopped_work_is_said_and_not_begun_again_until_it_is_asked_for(target_from, monkeypatch):
    asked, ask = [], runs.ask
    monkeypatch.setattr(runs, "ask", lambda question, *watch: asked.append(question) or ask(question, *watch))
    page = opened(source=TEXT, target_from=target_from)
    long_work_stops(page, asked[0])
    asked.clear()
    page.run()
    assert [one.value for one in page.info] == [EN["stopped.work"]]
    assert asked == []
    control(page, "language").set_value("zh")
    page.run()
    assert [one.value for one in page.info] == [words_of("zh")["stopped.work"]]
    assert asked == []
    page.button(key="run_again").click().run()
    assert not page.exception
    assert not page.info
    assert explorer(page)["run"]["steps"]
    assert asked


@WATCHED
def test_another_text_runs_after_one_was_stopped():
    page = opened(source=TEXT)
    long_work_stops(page, Question("first", TEXT))
    page.run()
    assert page.info
    page.text_area(key="source").set_value("a dog likes bread").run()
    assert not page.info
    assert explorer(page)["run"]["steps"]
    page.text_area(key="source").set_value(TEXT).run()
    assert page.info


def long_work_stops(page, question: Question) -> None:
    """What the button does, which is only there while the work goes on."""
    page.session_state[long_work._STOPPED] = question
