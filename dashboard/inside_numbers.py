"""The numbers of the page "inside a layer": the steps of a walk, the tensors of one, and one number taken apart.

L query length · S key length
"""

from dataclasses import asdict
from typing import Any

import numpy as np
from torch import Tensor

from dashboard.code_beside import beside, setting_of
from dashboard.figures.colours import full_colour
from dashboard.numbers import size_of
from dashboard.passages import Passage, found
from dashboard.runs import Answer
from dashboard.selection import site_at
from transformer.recording import Kind, Recording, Site
from transformer.units import SPECIAL, units_of
from transformer.walk import walk
from transformer.walked import Step, Values, Walk

MOST_TOKENS = 512  # queries or keys of an attention that is walked through
SMALL = (12, 28)  # rows and columns of a small picture at most
FULL = 0.99  # this share of a tensor's numbers is smaller than what has the full colour


def is_too_long(recording: Recording, site: Site) -> bool:
    """Whether an attention has more queries or keys than are shown."""
    return max(size_of(recording, site)) > MOST_TOKENS


def walk_numbers(answer: Answer, kind: Kind, layer: int, head: int) -> dict[str, Any]:
    """All steps of a walk, each with what it makes as a small picture.

    Raises:
        KeyError, IndexError: no such layer or head.
        ValueError: a run without a model, or too long a text.
    """
    way = _walk(answer, kind, layer, head)
    recording, site = answer.recording, way.site
    return {
        "steps": [
            {"name": step.name, "part": step.part, "tensors": [_facts(one) for one in step.values]}
            for step in way.steps
        ],
        "sizes": way.sizes,
        "tokens": {"L": _tokens(recording.query_tokens(site)), "S": _tokens(recording.key_tokens(site))},
        "norm_first": setting_of(_model(answer), recording, way).norm_first,
        "activation": _model(answer).config.activation,
    }


def tensor_numbers(answer: Answer, kind: Kind, layer: int, head: int, step: str) -> dict[str, Any]:
    """The tensors that a step makes, and the code that makes them. Arguments and errors as :func:`walk_numbers`."""
    way = _walk(answer, kind, layer, head)
    walked = way.step(step)
    code = beside(walked.name, setting_of(_model(answer), answer.recording, way))
    return {
        "tensors": [_cells(walked, one) for one in walked.values],
        "ours": [_lines(passage) for passage in code.ours],
        "torch": [_lines(passage) for passage in code.torch],
    }


def cell_numbers(
    answer: Answer, kind: Kind, layer: int, head: int, step: str, tensor: str, row: int, column: int
) -> dict[str, Any]:
    """How one number of a step came about. Arguments and errors as :func:`walk_numbers`."""
    values = next((one for one in _walk(answer, kind, layer, head).step(step).values if one.name == tensor), None)
    if values is None:
        raise KeyError(f"tensor {tensor!r} at {step}")
    rows, columns = values.tensor.shape
    if not (0 <= row < rows and 0 <= column < columns):
        raise IndexError(f"cell ({row}, {column}) at {step}")
    cell = values.explain(row, column)
    terms = cell.terms
    says = values.axes[-1] == "V"
    return {
        "token": _tokens(answer.recording.labels(_predicted(answer), [column]))["labels"][0] if says else None,
        "lines": [{"sign": line.sign, "number": line.number, "result": line.result} for line in cell.lines],
        "own": cell.own,
        "over": terms and terms.over,
        "left": None if terms is None else terms.left.astype(np.float32),
        "right": None if terms is None or terms.right is None else terms.right.astype(np.float32),
        "results": None if terms is None else terms.results.astype(np.float32),
    }


def _predicted(answer: Answer) -> str:
    """The stream whose vocabulary a model writes in."""
    return "target" if _model(answer).config.architecture == "encoder-decoder" else "source"


def _walk(answer: Answer, kind: Kind, layer: int, head: int) -> Walk:
    site = site_at(answer.recording, kind, layer)
    if is_too_long(answer.recording, site):
        raise ValueError(f"The text has more than {MOST_TOKENS} tokens.")
    return walk(_model(answer), answer.recording, kind, layer, head)


def _model(answer: Answer) -> Any:
    if answer.model is None:
        raise ValueError("A recording from a file has no model to walk through.")
    return answer.model


def _facts(values: Values) -> dict[str, Any]:
    cells = _finite(values.tensor)
    return {
        "name": values.name,
        "rows": _rows(values),
        "columns": _columns(values),
        "shape": {"batch_first": values.shape(True), "length_first": values.shape(False)},
        "small": small(cells),
        "most": _most(cells),
    }


def _cells(step: Step, values: Values) -> dict[str, Any]:
    """A tensor's numbers; those the mask blocks are not numbers. Weights have the scale that they have everywhere."""
    cells = _finite(values.tensor)
    facts = {**_facts(values), "cells": cells, "size": list(cells.shape), "blocked": bool(np.isnan(cells).any())}
    if step.name == "softmax":
        del facts["most"]
        facts |= {"low": 0.0, "high": full_colour(cells.shape[1])}
    return facts


def _rows(values: Values) -> str:
    """The letter of the tokens that are a tensor's rows."""
    return "S" if "L" not in values.axes else "L"


def _columns(values: Values) -> str:
    """The letter of a tensor's columns; nothing for a single column."""
    return "" if values.axes == ("N", "L") else values.axes[-1]


def _finite(tensor: Tensor) -> np.ndarray:
    cells = tensor.numpy().astype(np.float32)
    return np.where(np.isneginf(cells), np.float32(np.nan), cells)


def _most(cells: np.ndarray) -> float:
    """The number, on both sides of 0, from which on a cell has the full colour."""
    known = np.abs(cells[np.isfinite(cells)])
    return float(np.quantile(known, FULL, method="higher")) or 1.0 if known.size else 1.0


def small(cells: np.ndarray) -> dict[str, Any]:
    """A tensor as a small picture: where several cells fall into one, the largest of either sign shows.

    Example:
        >>> small(np.array([[1.0, -2.0]], np.float32))["cells"]
        array([[ 1., -2.]], dtype=float32)
    """
    for axis, most in enumerate(SMALL):
        if cells.shape[axis] > most:
            parts = np.array_split(cells, most, axis=axis)
            cells = np.stack([_largest(part, axis) for part in parts], axis=axis)
    return {"cells": np.ascontiguousarray(cells, dtype=np.float32), "size": list(cells.shape)}


def _largest(cells: np.ndarray, axis: int) -> np.ndarray:
    size = np.where(np.isnan(cells), -1, np.abs(cells))
    return np.take_along_axis(cells, size.argmax(axis=axis, keepdims=True), axis).squeeze(axis)


def _tokens(labels: list[str]) -> dict[str, Any]:
    return {
        "labels": [units_of([label], "piece").labels[0] for label in labels],
        "special": [label in SPECIAL for label in labels],
    }


def _lines(passage: Passage) -> dict[str, Any]:
    return {"role": passage.role, **asdict(found(passage))}
