"""What the theatre of bugs shows: one value, and how it is written into the address."""

from dataclasses import dataclass
from typing import Literal

from dashboard.bug_code import SLIPS
from dashboard.linked import Field, Link, one_of, place, place_or, whole
from dashboard.selection import Selection
from transformer.recording import Kind

MOST_SEEDS = 20


@dataclass(frozen=True)
class Theatre:
    """Which mistake is on the stage.

    Attributes:
        bug: its name.
        kind, layer, head: the attention that is looked at, as on the page of the explorer.
        seed: of what dropout drops, where it is left on.
    """

    bug: str = next(iter(SLIPS))
    kind: Kind = Selection.kind
    layer: int = Selection.layer
    head: int | Literal["mean"] = Selection.head
    seed: int = 1


def _known(value: object) -> str | None:
    return value if isinstance(value, str) and value in SLIPS else None


LINK = Link(
    Theatre(),
    {
        "bug": Field(_known, _known),
        "kind": one_of(Kind),
        "layer": place(),
        "head": place_or("mean"),
        "seed": whole(1, MOST_SEEDS),
    },
    in_address={"seed": "bug_seed"},
)
