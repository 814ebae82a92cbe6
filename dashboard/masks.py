"""What the mask lab shows: one value, and how it is written into the address."""

from dataclasses import dataclass
from typing import Literal

from dashboard.linked import Link, one_of, place, place_or, tenths, two_places
from dashboard.mask_edits import Edit, edits
from dashboard.selection import Selection
from transformer.recording import Kind

Scope = Literal["head", "layer", "all"]
Show = Literal["effect", "words", "layers", "masks", "leaks", "padding", "check"]
Compared = Literal["before", "after", "difference"]
Brush = Literal["block", "number"]


@dataclass(frozen=True)
class MaskLab:
    """Where a viewer stands in the mask lab.

    Attributes:
        kind, layer, head: the attention whose mask is edited, as on the page of the explorer.
        text: which sentence of the batch is looked at.
        scope: an edit is made in this head, in all heads of the layer, or in every layer.
        edits: all that were made.
        show: what stands beside the mask.
        compared: which pattern is shown.
        brush, amount: what a click does: block and unblock, or set the number that is added to the score.
        pair: the cell that was looked at last, with buttons that cut it.
    """

    kind: Kind = Selection.kind
    layer: int = Selection.layer
    head: int | Literal["mean"] = Selection.head
    text: int = 0
    scope: Scope = "head"
    edits: tuple[Edit, ...] = ()
    show: Show = "effect"
    compared: Compared = "after"
    brush: Brush = "block"
    amount: float = -2.0
    pair: tuple[int, int] | None = None


LINK = Link(
    MaskLab(),
    {
        "kind": one_of(Kind),
        "layer": place(),
        "head": place_or("mean"),
        "text": place(),
        "scope": one_of(Scope),
        "edits": edits(),
        "show": one_of(Show),
        "compared": one_of(Compared),
        "brush": one_of(Brush),
        "amount": tenths(-10, 10),
        "pair": two_places(),
    },
    in_address={"text": "of_batch", "show": "mask_view", "pair": "mask_cell"},
)
