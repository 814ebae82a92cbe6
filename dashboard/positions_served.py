"""What the positions lab's JavaScript may ask for over HTTP."""

from collections.abc import Callable
from typing import Any

from dashboard.asked import Asked, one_of, whole
from dashboard.offered import offered
from dashboard.position_effect import AMOUNTS, Way, effect_numbers
from dashboard.positions import BASES, HEADS, LENGTHS, WIDTHS, Measure, Values
from dashboard.positions_numbers import (
    Table,
    free_table,
    own_table,
    product_numbers,
    rotation_numbers,
    scheme_numbers,
    table_numbers,
    wave_numbers,
)
from dashboard.runs import Answer
from dashboard.scenes import Scene
from transformer.pooling import Proceed
from transformer.positions import Layout
from transformer.recording import Kind, Stream


def _table(answer: Answer, asked: Asked) -> Table:
    """The table that a question is about: of the run, or a free one."""
    values = one_of(Values, asked, "values")
    if values == "free":
        size = whole(asked, "width", *WIDTHS), whole(asked, "length", *LENGTHS), whole(asked, "base", *BASES)
        return free_table(*size, one_of(Layout, asked, "layout"), whole(asked, "heads", *HEADS))
    table = own_table(answer, values)
    if table is None:
        raise ValueError("This model adds no positions.")
    return table


def _vectors(answer: Answer, asked: Asked, proceed: Proceed) -> dict[str, Any]:
    return table_numbers(_table(answer, asked))


def _waves(answer: Answer, asked: Asked, proceed: Proceed) -> dict[str, Any]:
    return wave_numbers(_table(answer, asked))


def _products(answer: Answer, asked: Asked, proceed: Proceed) -> dict[str, Any]:
    return product_numbers(_table(answer, asked), one_of(Measure, asked, "measure"))


def _rotation(answer: Answer, asked: Asked, proceed: Proceed) -> dict[str, Any]:
    return rotation_numbers(_table(answer, asked), whole(asked, "pair", 0, WIDTHS[1] // 2 - 1))


def _schemes(answer: Answer, asked: Asked, proceed: Proceed) -> dict[str, Any]:
    return scheme_numbers(_table(answer, asked), one_of(("true", "false"), asked, "past") == "true")


def _effect(answer: Answer, asked: Asked, proceed: Proceed) -> dict[str, Any]:
    scene, way = offered(asked["scene"]), one_of(Way, asked, "way")
    if not isinstance(scene, Scene):
        raise KeyError("scene")
    place = one_of(Kind, asked, "kind"), whole(asked, "layer", 0, 1_000), whole(asked, "head", 0, 1_000)
    return effect_numbers(scene, one_of(Stream, asked, "values"), way, whole(asked, "amount", *AMOUNTS[way]), *place)


ANSWERS: dict[str, Callable[[Answer, Asked, Proceed], dict[str, Any]]] = {
    "positions": _vectors,
    "position_waves": _waves,
    "position_products": _products,
    "position_rotation": _rotation,
    "position_schemes": _schemes,
    "position_effect": _effect,
}
