"""What the browser is answered when it asks for numbers."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from starlette.requests import Request
from test_components import unpacked

from dashboard import offered, runs
from dashboard.runs import Question
from dashboard.served import numbers

HEAD = {
    "kind": "cross",
    "layer": "0",
    "head": "1",
    "quantity": "weight",
    "rows": "predicted",
    "unit": "piece",
    "over": "mean",
    "hidden": "false",
    "language": "en",
}

pytestmark = pytest.mark.usefixtures("two_checkpoints")


@pytest.fixture
def answer():
    return runs.ask(Question("first", "the cat sees the sea", target="neko umi"))


def asked(key, what, waits=True, **query):
    """The response to one request, of a browser that waits for it or has gone."""
    text = "&".join(f"{name}={value}" for name, value in query.items())
    scope = {"type": "http", "method": "GET", "path": "/", "headers": [], "query_string": text.encode()}
    scope["path_params"] = {"key": key, "what": what}

    async def receive():
        if waits:
            await asyncio.sleep(3600)
        return {"type": "http.disconnect"}

    with ThreadPoolExecutor(1) as apart:  # this thread's loop may be that of the browser tests
        return apart.submit(asyncio.run, numbers(Request(scope, receive))).result()


def test_a_heads_numbers_come_as_they_are(answer):
    response = asked(offered.offer(answer), "head", **HEAD)
    assert response.status_code == 200
    got = unpacked(response.body)
    expected = answer.recording.pattern(answer.recording.site("cross", 0), 1).numpy()
    np.testing.assert_array_equal(got["cells"], expected)
    assert response.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"layer": "9"}, 404),
        ({"head": "3"}, 404),
        ({"head": "-1"}, 404),
        ({"kind": "sideways"}, 400),
        ({"layer": "x"}, 400),
        ({"unit": "sentence"}, 400),
        ({"language": "../zh"}, 400),
    ],
)
def test_questions_that_make_no_sense_are_refused_in_a_sentence(answer, changes, status):
    response = asked(offered.offer(answer), "head", **(HEAD | changes))
    assert response.status_code == status
    assert 0 < len(response.body) < 200


def test_a_question_without_its_parts_or_of_no_kind_is_refused(answer):
    key = offered.offer(answer)
    assert asked(key, "head").status_code == 404
    assert asked(key, "weights", **HEAD).status_code == 404


def test_another_key_opens_nothing(answer):
    key = offered.offer(answer)
    assert len(key) >= 20
    for other in (key[:-1], "", "../" + key, key.swapcase()):
        assert asked(other, "head", **HEAD).status_code == 410


def test_one_run_has_one_key_and_the_oldest_are_forgotten(answer, monkeypatch):
    monkeypatch.setattr(offered, "MOST_OFFERED", 2)
    first = offered.offer(answer)
    assert offered.offer(runs.ask(Question("first", "the cat sees the sea", target="neko umi"))) == first
    others = [offered.offer(runs.ask(Question("first", text))) for text in ("a dog", "a cat")]
    assert len({first, *others}) == 3
    assert offered.offered(first) is None
    assert offered.offered(others[1]) is not None
    assert asked(first, "head", **HEAD).status_code == 410


def test_long_work_ends_when_the_browser_has_gone(answer, monkeypatch):
    from transformer import pooling

    monkeypatch.setattr(pooling, "TILE_CELLS", 1)  # a row a tile
    monkeypatch.setattr("dashboard.served.LOOK_AROUND", 0.001)
    slow = runs.ask(Question("first", "the cat sees the sea " * 200, target="neko"))
    query = {"kind": "encoder", "layer": "0", "head": "0", "quantity": "weight"}
    assert asked(offered.offer(slow), "tile", waits=False, **query).status_code == 499
