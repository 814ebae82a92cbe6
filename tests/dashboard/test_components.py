"""What travels to the browser: a header and arrays in one buffer of bytes."""

import json
import struct

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from dashboard.components import packed


def unpacked(buffer):
    (length,) = struct.unpack_from("<I", buffer)
    start = (4 + length + 7) // 8 * 8

    def restore(value):
        if "$array" not in value:
            return value
        place = value["$array"]
        count = int(np.prod(place["shape"]))
        flat = np.frombuffer(buffer, place["dtype"], count, start + place["offset"])
        return flat.reshape(place["shape"])

    return json.loads(buffer[4 : 4 + length].decode(), object_hook=restore)


@given(
    st.lists(
        st.one_of(
            arrays(np.float32, array_shapes(max_dims=2, max_side=5), elements=st.floats(width=32)),
            arrays(np.uint8, array_shapes(max_dims=1, max_side=9)),
        ),
        max_size=4,
    ),
    st.text(max_size=20),
)
def test_every_array_and_text_comes_back(content, text):
    back = unpacked(packed({"text": text, "inner": [{"array": one} for one in content]}))
    assert back["text"] == text
    for given_one, got in zip(content, back["inner"], strict=True):
        np.testing.assert_array_equal(given_one, got["array"])


def test_arrays_begin_at_multiples_of_eight():
    header = {"a": np.zeros(3, np.uint8), "b": np.zeros(5, np.float32)}
    buffer = packed(header)
    (length,) = struct.unpack_from("<I", buffer)
    described = json.loads(buffer[4 : 4 + length].decode())
    assert [described[name]["$array"]["offset"] for name in "ab"] == [0, 8]
    assert len(buffer) % 8 == 0


def test_what_json_has_not_becomes_null_and_what_is_no_unicode_a_question_mark():
    back = unpacked(packed({"low": float("nan"), "all": [float("inf"), 1.5], "key": "a\ud800b"}))
    assert back == {"low": None, "all": [None, 1.5], "key": "a?b"}
