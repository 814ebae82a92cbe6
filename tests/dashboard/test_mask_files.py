"""Masks as files: there and back, whatever they hold; and what is no mask is said."""

import io
import pickle
import struct
from contextlib import suppress

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from dashboard.mask_edits import LARGEST, LONGEST
from dashboard.mask_files import MOST_BYTES, MaskFileError, as_csv, as_npy, fitting, read_mask

SHAPES = array_shapes(min_dims=2, max_dims=2, max_side=6)
ADDED = arrays(
    np.float32, SHAPES, elements=st.floats(-LARGEST, LARGEST, width=32, allow_nan=False) | st.just(float("-inf"))
)
BOOLS = arrays(np.bool_, SHAPES)


def npy(array: np.ndarray, **options: object) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, **options)
    return buffer.getvalue()


def typed(array: np.ndarray, between: str) -> bytes:
    return "\n".join(between.join(str(value) for value in row) for row in array).encode()


@given(ADDED)
def test_a_mask_that_is_taken_along_comes_back_bit_for_bit(array):
    for write in (as_csv, as_npy):
        back = read_mask(write(torch.from_numpy(array)))
        assert back.dtype == torch.float32
        np.testing.assert_array_equal(back.numpy(), array)


@given(
    BOOLS,
    st.sampled_from([",", ", ", ";", "\t", " ", "   "]),
    st.sampled_from(["True False", "true false", "TRUE FALSE"]),
)
def test_true_and_false_are_a_bool_mask(array, between, spelled):
    true, false = spelled.split()
    text = "\n".join(between.join(true if value else false for value in row) for row in array)
    for content in (text.encode(), npy(array), ("\ufeff" + text).encode(), text.replace("\n", "\r\n").encode()):
        back = read_mask(content)
        assert back.dtype == torch.bool
        np.testing.assert_array_equal(back.numpy(), array)


@given(ADDED, st.sampled_from([",", ";", "\t", " "]))
def test_numbers_are_added_however_they_are_set_apart(array, between):
    np.testing.assert_array_equal(read_mask(typed(array, between)).numpy(), array)


@given(st.one_of(ADDED, BOOLS))
def test_what_torch_and_numpy_print_can_be_pasted(array):
    precise = {"precision": 9, "threshold": 1000, "floatmode": "unique", "linewidth": 10_000}
    with np.printoptions(**precise):
        printed = [repr(array), str(array)]
    for text in printed:
        back = read_mask(text.encode())
        assert (back.dtype == torch.bool) == (array.dtype == bool)
        np.testing.assert_array_equal(back.numpy(), array)


def test_a_printed_tensor_can_be_pasted():
    mask = torch.nn.Transformer.generate_square_subsequent_mask(4)
    assert torch.equal(read_mask(repr(mask).encode()), mask)
    assert torch.equal(read_mask(repr(mask == -torch.inf).encode()), mask == -torch.inf)


@given(SHAPES, st.sampled_from(["<f8", ">f8", ">f4", "<f2", "<i8", ">i2", "|u1", "|i1"]), st.booleans(), st.data())
def test_every_kind_of_number_is_read(shape, dtype, fortran, data):
    array = data.draw(arrays(np.int8, shape, elements=st.integers(0, 100))).astype(dtype)
    back = read_mask(npy(np.asfortranarray(array) if fortran else array))
    assert back.dtype == torch.float32
    np.testing.assert_array_equal(back.numpy(), array.astype(np.float32))
    used, _ = fitting(back, *shape, causal=False)
    np.testing.assert_array_equal(used.numpy(), array.astype(np.float32))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "The file is empty."),
        (b" \n,;\n[]\n", "The file is empty."),
        (b"0,1\n0", "The rows have different lengths: 2 cells in the first"),
        (b"0,1\n,0,1", "The rows have different lengths"),
        (b",1\n,0", "something that is no number: ''"),
        (b"0,one", "something that is no number: 'one'"),
        ("0，1".encode(), "something that is no number: '0，1'"),
        (b"\xff\xfe0", "neither text nor NPY"),
        (b"0,nan", "The mask holds nan; wanted -inf, or numbers up to 10000"),
        (b"0,inf", "The mask holds inf"),
        (b"0,-10001", "The mask holds -10001"),
        (b"0,1e39", r"The mask holds 1e\+39"),
        (b"0\n" * (LONGEST + 1), rf"has the shape \({LONGEST + 1}, 1\); wanted \(L, S\), at most {LONGEST} each"),
        (b" " * (MOST_BYTES + 1), f"The file has {MOST_BYTES + 1:,} bytes; a mask may have {MOST_BYTES:,}"),
        (npy(np.zeros(3)), r"has the shape \(3,\)"),
        (npy(np.zeros((2, 2, 2))), r"has the shape \(2, 2, 2\)"),
        (npy(np.float64(1)), r"has the shape \(\)"),
        (npy(np.zeros((0, 3))), r"has the shape \(0, 3\)"),
        (npy(np.zeros((2, LONGEST + 1), bool)), "at most 512 each"),
        (npy(np.array([[1 + 2j]])), "dtype complex128; wanted bool or numbers"),
        (npy(np.array([["a", "b"]])), "dtype <U1; wanted bool or numbers"),
        (npy(np.zeros((2, 2), "datetime64[s]")), "dtype datetime64"),
        (npy(np.zeros((2, 2), [("x", "f4")])), "wanted bool or numbers"),
        (npy(np.array([[np.nan]])), "The mask holds nan"),
        (npy(np.array([[1e300]])), r"The mask holds 1e\+300"),
        (npy(np.array([[2**60]])), "The mask holds 1.15292e"),
    ],
)
def test_what_is_no_mask_is_said_in_one_sentence(content, said):
    with pytest.raises(MaskFileError, match=said) as raised:
        read_mask(content)
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 150


def test_the_limits_themselves_are_fine():
    assert read_mask(b"0," * (LONGEST - 1) + b"0").shape == (1, LONGEST)
    assert read_mask(f"{LARGEST:.0f} {-LARGEST:.0f} -inf".encode()).tolist() == [[LARGEST, -LARGEST, -torch.inf]]
    assert read_mask(b"0" + b" " * (MOST_BYTES - 1)).tolist() == [[0.0]]


class Dangerous:
    """Sets a flag when it is unpickled."""

    ran = False

    def __reduce__(self):
        return _run, ()


def _run():
    Dangerous.ran = True
    return 0


def test_nothing_is_ever_unpickled():
    holds = np.empty((2, 2), object)
    holds[:] = Dangerous()
    for content in (npy(holds, allow_pickle=True), pickle.dumps(holds), pickle.dumps(Dangerous())):
        with pytest.raises(MaskFileError):
            read_mask(content)
    assert not Dangerous.ran


@given(st.one_of(ADDED, BOOLS), st.data())
def test_a_damaged_file_is_said_to_be_one_or_read_as_another_mask(array, data):
    content = bytearray(npy(array))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(6, len(content) - 1))] = data.draw(st.integers(0, 255))
    content = bytes(content[: data.draw(st.integers(6, len(content)))])
    try:
        back = read_mask(content)
    except MaskFileError as error:
        assert len(str(error)) < 250  # noqa: PT017
    else:
        assert back.dim() == 2


@pytest.mark.parametrize("shape", ["(99999999, 99999999)", "(4294967296, 4294967296)", "(-1, 4)", "(2, 'x')", "(2,"])
def test_a_header_that_promises_too_much_is_not_believed(shape):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".encode().ljust(118) + b"\n"
    with pytest.raises(MaskFileError, match="damaged NPY"):
        read_mask(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + bytes(16))


@given(st.binary(max_size=60))
def test_any_bytes_are_a_mask_or_a_sentence(content):
    for tried in (content, b"\x93NUMPY" + content, b"\x93NUMPY\x01\x00" + content):
        with suppress(MaskFileError):
            assert read_mask(tried).dim() == 2


def test_a_fitting_mask_is_used_as_numbers():
    bools = torch.tensor([[False, True, True], [False, False, True]])
    used, findings = fitting(bools, 2, 3, causal=True)
    assert used.tolist() == [[0, -torch.inf, -torch.inf], [0, 0, -torch.inf]]
    assert findings == []
    numbers = torch.tensor([[-1.5, 0.0]])
    used, findings = fitting(numbers, 1, 2, causal=False)
    assert torch.equal(used, numbers)
    assert findings == []


def test_a_mask_of_another_shape_is_not_used_but_told_of():
    used, findings = fitting(torch.zeros(3, 2), 2, 3, causal=False)
    assert used is None
    assert [one.name for one in findings] == ["transposed"]
    used, findings = fitting(torch.zeros(3, 3), 2, 3, causal=False)
    assert used is None
    assert [one.name for one in findings] == ["shape"]


def test_true_beside_a_number_is_a_number():
    assert read_mask(b"True,-2.5").tolist() == [[1.0, -2.5]]


def test_ones_and_zeros_are_used_as_they_stand_and_told_of():
    used, findings = fitting(read_mask(b"0,1\n0,0"), 2, 2, causal=True)
    assert used.tolist() == [[0, 1], [0, 0]]
    assert [one.name for one in findings] == ["numbers_for_bools"]
