"""What the mask lab is answered over HTTP, in an address and in a body."""

import asyncio
import io
import json
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlencode

import numpy as np
import pytest
from starlette.requests import Request
from test_components import unpacked
from test_served import HEAD, asked

from dashboard import mask_numbers, mask_probes, offered, served
from dashboard.mask_edits import as_json, read_edits
from dashboard.mask_files import MOST_BYTES, read_mask
from dashboard.mask_runs import batch_of
from dashboard.runs import Question
from dashboard.served import numbers

EDITS = '[{"kind":"cross","layer":0,"head":1,"runs":[[1,1,2,null],[2,0,0,-1.5]]}]'
ASKED = {"kind": "cross", "layer": "0", "head": "1", "sentence": "1", "edits": EDITS}
PLACE = ("cross", 0, 1)

pytestmark = pytest.mark.usefixtures("two_checkpoints")


@pytest.fixture
def batch():
    return batch_of(Question("first", "the cat sees the sea", target="neko umi"), ["a dog"])


@pytest.fixture
def key(batch):
    return offered.offer(batch)


def posted(key, what, body, parts=1, stays=True):
    """The response to a question whose parts stand in its body; of a browser that stays or leaves meanwhile."""
    scope = {"type": "http", "method": "POST", "path": "/", "headers": [], "query_string": b""}
    scope["path_params"] = {"key": key, "what": what}
    size = -(-len(body) // parts) or 1
    coming = [body[start : start + size] for start in range(0, len(body), size)] or [b""]
    messages = [
        {"type": "http.request", "body": part, "more_body": not stays or place < len(coming) - 1}
        for place, part in enumerate(coming)
    ]

    async def receive():
        if messages:
            return messages.pop(0)
        if stays:
            await asyncio.sleep(3600)
        return {"type": "http.disconnect"}

    with ThreadPoolExecutor(1) as apart:
        return apart.submit(asyncio.run, numbers(Request(scope, receive))).result()


def same(got, expected):
    """Whether an answer holds these numbers, in whatever depth."""
    if isinstance(expected, np.ndarray):
        np.testing.assert_array_equal(got, expected)
    elif isinstance(expected, dict):
        assert got.keys() == expected.keys()
        for name in expected:
            same(got[name], expected[name])
    elif isinstance(expected, list | tuple) and any(isinstance(one, dict | np.ndarray) for one in expected):
        for one, other in zip(got, expected, strict=True):
            same(one, other)
    else:
        assert got == expected


def test_every_question_has_its_numbers(batch, key):
    edits = read_edits(EDITS)
    expected = {
        "masked": mask_numbers.masked_numbers(batch, edits, *PLACE, 1),
        "chances": mask_numbers.chance_numbers(batch, edits, 1),
        "written": mask_numbers.written_numbers(batch, edits, 1),
        "layers": mask_numbers.layer_numbers(batch, edits, 1),
        "masks": mask_numbers.all_masks(batch, edits, *PLACE),
        "check": mask_numbers.lint_numbers(batch, edits, *PLACE, 1),
        "leaks": mask_probes.leak_numbers(batch, edits, 1),
        "padding": mask_probes.padding_numbers(batch, edits, 1),
    }
    for what, numbers_of_it in expected.items():
        response = asked(key, what, **ASKED)
        assert response.status_code == 200, what
        same(unpacked(response.body), numbers_of_it)
        assert response.headers["cache-control"] == "no-store"


def test_a_body_is_answered_as_an_address_is_whatever_parts_it_comes_in(key):
    by_address = asked(key, "masked", **ASKED).body
    for parts in (1, 2, 50):
        response = posted(key, "masked", urlencode(ASKED).encode(), parts)
        assert response.status_code == 200
        assert response.body == by_address


def test_many_cells_fit_into_a_body(batch, key):
    cells = {(row, column): float(row - column) / 8 for row in range(60) for column in range(60)}
    runs = [[row, column, column, value] for (row, column), value in cells.items()]
    edits = json.dumps([{"kind": "encoder", "layer": 1, "head": 2, "runs": runs}])
    response = posted(
        key, "masked", urlencode(ASKED | {"kind": "encoder", "head": "2", "layer": "1", "edits": edits}).encode()
    )
    got = unpacked(response.body)
    assert len(edits) > 50_000
    expected = np.fromfunction(lambda row, column: (row - column) / 8, got["mask"].shape)
    np.testing.assert_array_equal(got["mask"], expected.astype(np.float32))


def test_a_body_that_is_too_large_is_refused_before_it_is_read_to_its_end(key, monkeypatch):
    monkeypatch.setattr(served, "MOST_BYTES", 1000)
    fits, large = (urlencode(ASKED | {"more": "x"}).encode() for _ in range(2))
    assert posted(key, "masked", fits.ljust(1000, b"x"), 3).status_code == 200
    response = posted(key, "masked", large.ljust(1001, b"x"), 3)
    assert response.status_code == 413
    assert response.body == b"A question may have 1,000 bytes."


@pytest.mark.parametrize(
    "body", [b"", b"\xff\xfe", b"edits", b"=&=&;", b"%ff%00", b"kind=cross&layer=0", b"\x00" * 5000]
)
def test_nonsense_in_a_body_is_refused_in_a_sentence(key, body):
    response = posted(key, "masked", body)
    assert response.status_code in (400, 404)
    assert 0 < len(response.body) < 200


def test_a_browser_that_leaves_in_the_middle_of_its_question_is_no_error(key):
    response = posted(key, "masked", b"kind=cross", stays=False)
    assert response.status_code == 499


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"edits": "[{}]"}, 400),
        ({"edits": ""}, 400),
        ({"edits": '[{"kind":"cross","layer":7}]'}, 400),
        ({"edits": '[{"kind":"other"}]'}, 400),
        ({"kind": "sideways"}, 400),
        ({"kind": "other"}, 404),
        ({"layer": "1"}, 404),
        ({"layer": "-1"}, 400),
        ({"layer": "1e3"}, 400),
        ({"head": "3"}, 404),
        ({"head": "mean"}, 400),
        ({"sentence": "2"}, 400),
        ({"sentence": "-1"}, 400),
        ({"sentence": ""}, 400),
    ],
)
@pytest.mark.parametrize("what", ["masked", "check", "file"])
def test_questions_that_make_no_sense_are_refused_in_a_sentence(key, what, changes, status):
    response = asked(key, what, **(ASKED | {"format": "csv"} | changes))
    assert response.status_code == status
    assert 0 < len(response.body) < 200


def test_a_batch_has_no_numbers_of_the_explorer_and_an_answer_none_of_the_lab(key):
    assert asked(key, "head", **HEAD).status_code == 404
    assert asked(key, "../masked", **ASKED).status_code == 404
    assert asked(key, "masked").status_code == 404
    assert asked(key[:-1], "masked", **ASKED).status_code == 410


@pytest.mark.parametrize("form", ["csv", "npy"])
def test_a_mask_is_taken_along_as_a_file(batch, key, form):
    expected = mask_numbers.masked_numbers(batch, read_edits(EDITS), *PLACE, 1)["mask"]
    content = bytes(unpacked(asked(key, "file", **ASKED, format=form).body)["content"])
    np.testing.assert_array_equal(read_mask(content).numpy(), expected)
    if form == "npy":
        np.testing.assert_array_equal(np.load(io.BytesIO(content), allow_pickle=False), expected)
    assert asked(key, "file", **ASKED, format="pickle").status_code == 400


def uploaded(key, content, **changes):
    return posted(key, "uploaded", urlencode(ASKED | {"content": content.decode("latin-1")} | changes).encode())


def test_a_file_that_fits_is_answered_with_its_mask(batch, key):
    shape = mask_numbers.masked_numbers(batch, (), *PLACE, 1)["mask"].shape
    wanted = np.random.default_rng(0).choice([0, -np.inf, 1.5, -2.25], shape).astype(np.float32)
    buffer = io.BytesIO()
    np.save(buffer, wanted)
    got = unpacked(uploaded(key, buffer.getvalue()).body)
    np.testing.assert_array_equal(got["mask"], wanted)
    assert (got["shape"], got["wanted"], got["dtype"]) == ([*shape], [*shape], "torch.float32")
    used = as_json(read_edits(EDITS)[0]) | {"own": False}
    assert read_edits(json.dumps([used])) is not None


def test_what_is_wrong_with_a_file_is_said(batch, key):
    rows, columns = mask_numbers.masked_numbers(batch, (), *PLACE, 1)["mask"].shape
    transposed = unpacked(uploaded(key, b"0,0\n" * 3).body)
    assert "mask" not in transposed
    assert [one["name"] for one in transposed["findings"]] == ["shape"]
    buffer = io.BytesIO()
    np.save(buffer, np.zeros((columns, rows), bool))
    turned = unpacked(uploaded(key, buffer.getvalue()).body)
    assert turned["findings"] == [{"name": "transposed", "places": [], "repair": "attn_mask = attn_mask.T"}]
    ones = unpacked(uploaded(key, "\n".join([",".join("1" * columns)] * rows).encode()).body)
    assert [one["name"] for one in ones["findings"]] == ["numbers_for_bools"]
    length = mask_numbers.masked_numbers(batch, (), "decoder", 0, 1, 1)["mask"].shape[0]
    seeing = "\n".join([",".join(["0"] * length)] * length).encode()
    (future,) = unpacked(uploaded(key, seeing, kind="decoder").body)["findings"]
    assert (future["name"], future["places"]) == ("future", [str(place + 1) for place in range(length - 1)])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "The file is empty."),
        (b"a", "no number: 'a'"),
        (b"\x93NUMPY", "damaged NPY"),
        (b"\xff\xff", "neither text"),
    ],
)
def test_what_is_no_mask_is_answered_with_its_sentence(key, content, said):
    got = unpacked(uploaded(key, content).body)
    assert said in got["error"]
    assert got["findings"] == []


def test_the_largest_file_fits_into_a_question_and_text_beyond_bytes_is_refused(key):
    largest = uploaded(key, b"\xff" * MOST_BYTES)
    assert "neither text" in unpacked(largest.body)["error"]
    assert "bytes" in unpacked(uploaded(key, b"\xff" * (MOST_BYTES + 1)).body)["error"]
    response = posted(key, "uploaded", urlencode(ASKED | {"content": "０"}).encode())
    assert response.status_code == 400
