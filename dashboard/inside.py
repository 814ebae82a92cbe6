"""What the page "inside a layer" shows: one value, and how it is written into the address.

Layers, heads, rows and columns count from 0 here and from 1 in the address, as on the screen.
"""

from dataclasses import dataclass
from typing import Literal

from dashboard.linked import Link, flag, one_of, place, place_or, two_places
from dashboard.selection import Selection
from transformer.recording import Kind
from transformer.walked import Name, StepName


@dataclass(frozen=True)
class Inside:
    """Where a walk through a layer stands.

    Attributes:
        kind, layer, head: the attention that is walked through, as on the page of the explorer, which may look at the
            mean of the heads; a walk goes through the first one then.
        at: the step.
        tensor: which of its tensors, where it makes several.
        cell: row and column of the number that is taken apart; None: one that the page picks.
        batch_first: shapes are those of a model with its batch first, or with the length first.
    """

    kind: Kind = Selection.kind
    layer: int = Selection.layer
    head: int | Literal["mean"] = Selection.head
    at: StepName = "scores"
    tensor: Name = "q"
    cell: tuple[int, int] | None = None
    batch_first: bool = True


LINK = Link(
    Inside(),
    {
        "kind": one_of(Kind),
        "layer": place(),
        "head": place_or("mean"),
        "at": one_of(StepName),
        "tensor": one_of(Name),
        "cell": two_places(),
        "batch_first": flag(),
    },
    in_address={"at": "inside_step", "tensor": "inside_tensor", "cell": "inside_cell"},
)
