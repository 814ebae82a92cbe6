"""What the JavaScript of the page "inside a layer" may ask for over HTTP."""

from collections.abc import Callable
from typing import Any

from dashboard.asked import Asked, one_of, whole
from dashboard.inside_numbers import cell_numbers, tensor_numbers, walk_numbers
from dashboard.runs import Answer
from transformer.pooling import Proceed
from transformer.recording import Kind
from transformer.walked import Name, StepName

_MOST = 1_000_000


def _place(asked: Asked) -> tuple[Kind, int, int]:
    return one_of(Kind, asked, "kind"), whole(asked, "layer", 0, _MOST), whole(asked, "head", 0, _MOST)


def _walk(answer: Answer, asked: Asked, proceed: Proceed) -> dict[str, Any]:
    return walk_numbers(answer, *_place(asked))


def _tensors(answer: Answer, asked: Asked, proceed: Proceed) -> dict[str, Any]:
    return tensor_numbers(answer, *_place(asked), one_of(StepName, asked, "step"))


def _cell(answer: Answer, asked: Asked, proceed: Proceed) -> dict[str, Any]:
    row, column = whole(asked, "row", 0, _MOST), whole(asked, "column", 0, _MOST)
    step, tensor = one_of(StepName, asked, "step"), one_of(Name, asked, "tensor")
    return cell_numbers(answer, *_place(asked), step, tensor, row, column)


ANSWERS: dict[str, Callable[[Answer, Asked, Proceed], dict[str, Any]]] = {
    "walk": _walk,
    "walk_tensors": _tensors,
    "walk_cell": _cell,
}
