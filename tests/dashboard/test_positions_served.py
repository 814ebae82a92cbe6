"""What the positions lab is answered over HTTP."""

import numpy as np
import pytest
from test_components import unpacked
from test_served import asked

from dashboard import offered, runs
from dashboard.positions_numbers import free_table, own_table, product_numbers, rotation_numbers, table_numbers
from dashboard.runs import Question

FREE = {"values": "free", "width": "10", "length": "7", "base": "100", "layout": "halves", "heads": "2"}
TABLE = free_table(10, 7, 100, "halves", 2)

pytestmark = pytest.mark.usefixtures("two_checkpoints")


@pytest.fixture
def answer():
    return runs.ask(Question("first", "the cat sees the sea", target="neko umi"))


@pytest.fixture
def key(answer):
    return offered.offer(answer)


def test_a_free_table_is_of_the_size_that_was_asked_for(key):
    got = unpacked(asked(key, "positions", **FREE).body)
    np.testing.assert_array_equal(got["cells"], table_numbers(TABLE)["cells"])


@pytest.mark.parametrize("values", ["source", "target"])
def test_the_models_own_table_is_asked_for_by_its_stream(answer, key, values):
    got = unpacked(asked(key, "positions", values=values).body)
    np.testing.assert_array_equal(got["cells"], own_table(answer, values).vectors)


def test_every_view_has_its_numbers(key):
    got = unpacked(asked(key, "position_products", **FREE, measure="cosine").body)
    np.testing.assert_array_equal(got["cells"], product_numbers(TABLE, "cosine")["cells"])
    got = unpacked(asked(key, "position_rotation", **FREE, pair="3").body)
    np.testing.assert_array_equal(got["turns"], rotation_numbers(TABLE, 3)["turns"])
    assert unpacked(asked(key, "position_waves", **FREE).body)["cells"].shape == (10,)
    for past in ("true", "false"):
        got = unpacked(asked(key, "position_schemes", **FREE, past=past).body)
        assert (got["t5"][-1] == 0) == (past == "true")


@pytest.mark.parametrize(
    ("what", "query", "status"),
    [
        ("positions", FREE | {"width": "1"}, 400),
        ("positions", FREE | {"width": "1025"}, 400),
        ("positions", FREE | {"length": "99999999999999999999"}, 400),
        ("positions", FREE | {"length": "1"}, 400),
        ("positions", FREE | {"base": "1"}, 400),
        ("positions", FREE | {"base": "1e4"}, 400),
        ("positions", FREE | {"layout": "thirds"}, 400),
        ("positions", FREE | {"heads": "0"}, 400),
        ("positions", FREE | {"values": "../source"}, 400),
        ("positions", {"values": "free"}, 404),
        ("positions", {}, 404),
        ("position_products", FREE, 404),
        ("position_products", FREE | {"measure": "angle"}, 400),
        ("position_rotation", FREE | {"pair": "5"}, 404),
        ("position_rotation", FREE | {"pair": "-1"}, 400),
        ("position_schemes", FREE | {"past": "maybe"}, 400),
    ],
)
def test_questions_that_make_no_sense_are_refused_in_a_sentence(key, what, query, status):
    response = asked(key, what, **query)
    assert response.status_code == status
    assert 0 < len(response.body) < 200
