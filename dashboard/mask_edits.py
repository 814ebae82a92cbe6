"""The edits of the mask lab: which heads, and what becomes of their mask; as JSON in a link and from a browser."""

import json
from dataclasses import dataclass
from typing import Any, get_args

from dashboard.linked import Field
from transformer.interventions import EditMask
from transformer.mask_rules import BLOCKED, Cell, Chosen, MaskRule
from transformer.recording import Kind

MOST_EDITS = 16
MOST_PRESETS = 6
MOST_CELLS = 20_000  # single ones, of all edits together
LONGEST = 512  # tokens of a text whose cells can be edited one by one
LARGEST = 1e4  # of a number that is added to a score
Run = tuple[int, int, int, float]  # row, first and last column, value


@dataclass(frozen=True)
class Edit:
    """What becomes of the mask of some heads.

    Attributes:
        kind, layer, head: which ones; no layer, or no head, for all.
        rule, renormalise: see :class:`transformer.interventions.EditMask`.
    """

    kind: Kind
    layer: int | None
    head: int | None
    rule: MaskRule
    renormalise: bool = True

    @property
    def intervention(self) -> EditMask:
        """The same for a model."""
        heads = None if self.head is None else (self.head,)
        return EditMask(self.kind, self.layer, heads, self.rule, self.renormalise)

    def concerns(self, kind: Kind, layer: int, head: int) -> bool:
        """Whether it is about that head."""
        return self.kind == kind and self.layer in (None, layer) and self.head in (None, head)


def edits() -> Field:
    """Some edits, as a field of a page's state."""
    return Field(
        read_edits, taken_edits, lambda made: json.dumps([as_json(one) for one in made], separators=(",", ":"))
    )


def read_edits(text: str) -> tuple[Edit, ...] | None:
    """The edits that a text says; None for nonsense.

    Example:
        >>> (edit,) = read_edits('[{"kind": "cross", "layer": 1, "runs": [[0, 2, 3, null]]}]')
        >>> edit.layer, edit.head, edit.rule.cells
        (1, None, ((0, 2, -inf), (0, 3, -inf)))
        >>> read_edits("[{}]") is None
        True
    """
    try:
        return taken_edits(json.loads(text))
    except (ValueError, RecursionError):
        return None


def taken_edits(sent: Any) -> tuple[Edit, ...] | None:
    """The edits that stand in JSON; None for nonsense."""
    if not isinstance(sent, list | tuple) or len(sent) > MOST_EDITS:
        return None
    try:
        made = tuple(_edit(one) for one in sent)
    except (KeyError, TypeError, ValueError):
        return None
    return made if sum(len(one.rule.cells) for one in made) <= MOST_CELLS else None


def as_json(edit: Edit) -> dict[str, Any]:
    """An edit as JSON: cells of a row that stand side by side and have one value are one run."""
    rule = edit.rule
    return {
        "kind": edit.kind,
        "layer": edit.layer,
        "head": edit.head,
        "own": rule.own,
        "combined": rule.combined,
        "presets": [[chosen.name, *chosen.numbers] for chosen in rule.presets],
        "runs": [[*places, None if value == BLOCKED else value] for *places, value in runs_of(rule.cells)],
        "renormalise": edit.renormalise,
    }


def runs_of(cells: tuple[Cell, ...]) -> list[Run]:
    """Cells as runs.

    Example:
        >>> runs_of(((0, 1, 0.0), (0, 2, 0.0), (0, 3, 1.5), (1, 4, 1.5)))
        [(0, 1, 2, 0.0), (0, 3, 3, 1.5), (1, 4, 4, 1.5)]
    """
    runs: list[Run] = []
    for row, column, value in sorted(cells):
        if runs and (runs[-1][0], runs[-1][2], runs[-1][3]) == (row, column - 1, value):
            runs[-1] = (row, runs[-1][1], column, value)
        else:
            runs.append((row, column, column, value))
    return runs


def _edit(sent: Any) -> Edit:
    if sent["kind"] not in get_args(Kind):
        raise ValueError(f"There is no attention of kind {sent['kind']!r}.")
    presets = sent.get("presets", [])
    if len(presets) > MOST_PRESETS:
        raise ValueError(f"{len(presets)} masks are combined; at most {MOST_PRESETS} can be.")
    combined = sent.get("combined", "all")
    if combined not in ("all", "any"):
        raise ValueError(f"Masks are combined by all or any, not {combined!r}.")
    rule = MaskRule(
        own=_flag(sent.get("own", True)),
        presets=tuple(Chosen(name, tuple(_number(value) for value in numbers)) for name, *numbers in presets),
        combined=combined,
        cells=_cells(sent.get("runs", [])),
    )
    return Edit(
        sent["kind"], _place(sent.get("layer")), _place(sent.get("head")), rule, _flag(sent.get("renormalise", True))
    )


def _cells(runs: Any) -> tuple[Cell, ...]:
    cells: dict[tuple[int, int], float] = {}
    for row, first, last, value in runs:
        if not all(_place(place) is not None and place < LONGEST for place in (row, first, last)):
            raise ValueError(f"Cells stand between 0 and {LONGEST - 1}.")
        number = BLOCKED if value is None else _number(value)
        cells.update({(row, column): number for column in range(first, last + 1)})
        if len(cells) > MOST_CELLS:
            raise ValueError(f"At most {MOST_CELLS} single cells can be edited.")
    return tuple((row, column, value) for (row, column), value in sorted(cells.items()))


def _place(value: Any) -> int | None:
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1000:
        raise ValueError(f"{value!r} is no place.")
    return value


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= LARGEST:
        raise ValueError(f"{value!r} is no number up to {LARGEST:g}.")
    return float(value)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{value!r} is neither true nor false.")
    return value
