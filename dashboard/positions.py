"""What the positions lab shows: one value for all its views, and how it is written into the address.

Positions, dimensions and pairs count from 0 here and on the screen, as in the formulas.
"""

from dataclasses import dataclass
from typing import Literal

from dashboard.linked import Link, flag, one_of, place, place_or, whole, wholes
from dashboard.position_effect import MOST, Way
from dashboard.selection import Selection
from transformer.positions import Layout
from transformer.recording import Kind

View = Literal["curves", "table", "waves", "products", "rotation", "compare", "effect"]
Values = Literal["source", "target", "free"]
Measure = Literal["dot", "cosine"]

# The least and the most. A table of the largest size, or the products of its vectors, has a million cells: 4 MB.
WIDTHS = (2, 1_024)
LENGTHS = (2, 1_024)
BASES = (2, 1_000_000)
HEADS = (1, 32)


@dataclass(frozen=True)
class Positions:
    """What every view of the lab shows.

    Attributes:
        values: of the running model's source or target, or of a free table of sinusoids.
        width, length, base, layout: of the free table.
        dimensions: those drawn as curves; none: some that the page picks.
        curve: which of them the slider moves.
        measure: of how alike two positions are.
        pair, position, offset: the pair of dimensions that turns, from which position, and how far on.
        heads: of the attention that other schemes are compared for, where the values are free.
        past: T5's buckets as a decoder has them, for keys before the query alone.
        kind, layer, head: the attention in which other positions show, as on the page of the explorer.
        way, amount: how they are changed (see :func:`dashboard.position_effect.effect_numbers`).
    """

    view: View = "curves"
    values: Values = "source"
    width: int = 64
    length: int = 64
    base: int = 10_000
    layout: Layout = "interleaved"
    dimensions: tuple[int, ...] = ()
    curve: int = 0
    measure: Measure = "dot"
    pair: int = 2
    position: int = 0
    offset: int = 3
    heads: int = 8
    past: bool = False
    kind: Kind = Selection.kind
    layer: int = Selection.layer
    head: int | Literal["mean"] = Selection.head
    way: Way = "off"
    amount: int = 0


_FIELDS = {
    "view": one_of(View),
    "values": one_of(Values),
    "width": whole(*WIDTHS),
    "length": whole(*LENGTHS),
    "base": whole(*BASES),
    "layout": one_of(Layout),
    "dimensions": wholes(0, WIDTHS[1] - 1),
    "curve": place(),
    "measure": one_of(Measure),
    "pair": whole(0, WIDTHS[1] // 2 - 1),
    "position": whole(0, LENGTHS[1] - 1),
    "offset": whole(1 - LENGTHS[1], LENGTHS[1] - 1),
    "heads": whole(*HEADS),
    "past": flag(),
    "way": one_of(Way),
    "amount": whole(0, MOST),
}
_SHARED = {"kind": one_of(Kind), "layer": place(), "head": place_or("mean")}  # with every page that shows a head
LINK = Link(Positions(), _FIELDS | _SHARED, in_address={name: f"positions_{name}" for name in _FIELDS})
