"""The browser's part: the explorer, and how numbers travel to it.

They travel as one buffer of bytes: a header in JSON, then arrays as they lie in memory.
"""

import json
import math
import struct
from typing import Any

import numpy as np


def packed(header: Any) -> bytes:
    """A header, in which every NumPy array is replaced by where its bytes stand behind it.

    Numbers by themselves that are not finite become null, as JSON has no others; what is no Unicode becomes ``?``.

    Layout: the JSON's length (uint32, little-endian), the JSON, zeros up to a multiple of 8, the arrays, each
    starting at a multiple of 8.
    """
    arrays: list[bytes] = []
    offset = 0

    def replace(value: Any) -> Any:
        nonlocal offset
        if isinstance(value, np.ndarray):
            place = {"$array": {"dtype": value.dtype.name, "shape": value.shape, "offset": offset}}
            content = np.ascontiguousarray(value).tobytes()
            content += bytes(-len(content) % 8)
            arrays.append(content)
            offset += len(content)
            return place
        if isinstance(value, float) and not math.isfinite(value):
            return None
        if isinstance(value, dict):
            return {key: replace(one) for key, one in value.items()}
        if isinstance(value, list | tuple):
            return [replace(one) for one in value]
        return value

    text = json.dumps(replace(header), ensure_ascii=False).encode(errors="replace")
    start = struct.pack("<I", len(text)) + text
    return b"".join([start, bytes(-len(start) % 8), *arrays])
