"""Masks as files: CSV and NPY in, CSV, NPY and a torch expression out.

L query length · S key length
"""

import io
import re

import numpy as np
import torch
from torch import Tensor

from dashboard.mask_edits import LARGEST, LONGEST
from transformer.mask_lint import Finding, lint_mask

MOST_BYTES = 250_000
_PRINTED = re.compile(r"tensor|array|,\s*dtype=[\w.]+|[\[\]()]")  # around the numbers, where an array is printed
_WORDS = {"true": 1.0, "false": 0.0, "-inf": -np.inf, "inf": np.inf, "nan": np.nan}


class MaskFileError(ValueError):
    """A file that is no mask, said in one sentence."""


def read_mask(content: bytes) -> Tensor:
    """The mask (L, S) that a file or a pasted text holds, bool or float as it stands there.

    A text has a row a line, its cells apart by commas, semicolons, tabs or spaces; what torch or NumPy print of an
    array is such a text too. It is bool where every cell is ``True`` or ``False``.

    Raises:
        MaskFileError: says what is wrong.

    Example:
        >>> read_mask(b"False, True")
        tensor([[False,  True]])
        >>> read_mask(b"0 -inf").tolist()
        [[0.0, -inf]]
    """
    if len(content) > MOST_BYTES:
        raise MaskFileError(f"The file has {len(content):,} bytes; a mask may have {MOST_BYTES:,}.")
    array = _npy(content) if content.startswith(b"\x93NUMPY") else _text(content)
    if array.ndim != 2 or not array.size or max(array.shape) > LONGEST:
        raise MaskFileError(f"The mask has the shape {array.shape}; wanted (L, S), at most {LONGEST} each.")
    if array.dtype == bool:
        return torch.from_numpy(array)
    fine = np.isneginf(array) | (np.abs(array.astype(np.float64)) <= LARGEST)
    if not fine.all():
        odd = array[~fine][0]
        raise MaskFileError(f"The mask holds {odd:g}; wanted -inf, or numbers up to {LARGEST:g}.")
    return torch.from_numpy(array.astype(np.float32))


def fitting(mask: Tensor, queries: int, keys: int, causal: bool) -> tuple[Tensor | None, list[Finding]]:
    """A mask as it is used, (L, S) float, and what is suspicious about it; nothing where its shape does not fit."""
    findings = lint_mask(mask, queries, keys, "attn_mask", causal)
    if tuple(mask.shape) != (queries, keys):
        return None, findings
    return torch.zeros(mask.shape).masked_fill(mask, -torch.inf) if mask.dtype == torch.bool else mask, findings


def as_csv(mask: Tensor) -> bytes:
    """A float mask as text, a row a line; every number in as many digits as it takes to read it back."""
    return "".join(",".join(str(value) for value in row) + "\n" for row in mask.numpy()).encode()


def as_npy(mask: Tensor) -> bytes:
    """A float mask as NumPy keeps it."""
    buffer = io.BytesIO()
    np.save(buffer, mask.numpy(), allow_pickle=False)
    return buffer.getvalue()


def _npy(content: bytes) -> np.ndarray:
    try:
        array = np.load(io.BytesIO(content), allow_pickle=False)
    except Exception as error:  # NumPy says in many ways that it cannot read what somebody else wrote
        raise MaskFileError("The file is a damaged NPY file.") from error
    if array.dtype.kind not in "bfiu":
        raise MaskFileError(f"The array has the dtype {array.dtype}; wanted bool or numbers.")
    return array


def _text(content: bytes) -> np.ndarray:
    try:
        lines = content.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise MaskFileError("The file is neither text nor NPY.") from error
    bare = [_PRINTED.sub("", line).rstrip(" \t,;").strip() for line in lines]
    rows = [re.split(r"\s*[,;\t]\s*|\s+", line) for line in bare if line]
    if not rows:
        raise MaskFileError("The file is empty.")
    if len({len(row) for row in rows}) > 1:
        raise MaskFileError(f"The rows have different lengths: {len(rows[0])} cells in the first, others elsewhere.")
    cells = [cell.lower() for row in rows for cell in row]
    try:
        values = [_WORDS[cell] if cell in _WORDS else float(cell) for cell in cells]
    except ValueError as error:
        raise MaskFileError(
            f"The mask holds something that is no number: {str(error).rpartition(': ')[2][:40]}."
        ) from error
    array = np.array(values).reshape(len(rows), -1)
    return array.astype(bool) if set(cells) <= {"true", "false"} else array
