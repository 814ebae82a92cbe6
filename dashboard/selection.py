"""What is looked at: one value for all views, and how it is written into the address.

The browser moves it (see ``components/browser/explorer``); Python keeps the address in step, so that a link or a reload
restores the view. Layers, heads and tokens count from 0 here and from 1 in the address, as on the screen.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args

from transformer.merging import OverQueries
from transformer.recording import READS, Head, Kind, Recording, Site
from transformer.units import Unit

KINDS: tuple[Kind, ...] = ("encoder", "decoder", "cross")
View = Literal["heat", "heads", "lines", "text", "three", "steps", "table"]
Rows = Literal["read", "predicted"]
Scale = Literal["linear", "log", "score"]
Measure = Literal["weight", "norm"]
Special = Literal["shown", "dimmed", "hidden"]
Joint = Literal["mean", "min", "product"]
Pool = Literal["max", "mean"]
Reading = Literal["reads", "read_by"]
MOST_PICKED = 16  # tokens or heads at once


@dataclass(frozen=True)
class Selection:
    """What every view of a run shows.

    Attributes:
        head: one, or ``mean`` for the mean of the layer's.
        decoder_rows, cross_rows: a decoder row is named by the token read or by the one it predicts.
        measure: the weights, or weights times the length of what the value writes (Kobayashi et al. 2020).
        scale: of the colours; ``score`` shows what stands before mask and softmax.
        unit, over: what counts as a token, and what a word's row is: the mean, first or last of its pieces' rows.
        special: what becomes of ``</s>`` and the like.
        spaces: whether the sign ``▁`` is shown.
        heads: those drawn together as lines; none: the one head.
        pair: a query and a key, explained beside the picture.
        centred: their dot product is shown for keys less the mean of those that may be looked at.
        picked, joint: tokens looked at together, and how their weights are joined.
        reading: shade what the picked tokens read, or who reads them.
        step: of decoding.
        pool: what a square shows that stands for many cells of a long text: the largest, or their mean.
    """

    view: View = "heat"
    kind: Kind = "cross"
    layer: int = 1
    head: int | Literal["mean"] = 0
    decoder_rows: Rows = "read"
    cross_rows: Rows = "predicted"
    measure: Measure = "weight"
    scale: Scale = "linear"
    unit: Unit = "piece"
    over: OverQueries = "mean"
    special: Special = "shown"
    spaces: bool = True
    heads: tuple[int, ...] = ()
    pair: tuple[int, int] | None = None
    centred: bool = False
    picked: tuple[int, ...] = ()
    joint: Joint = "mean"
    reading: Reading = "reads"
    step: int = 0
    pool: Pool = "max"

    def within(self, recording: Recording) -> "Selection":
        """The same in a run that may have fewer layers and heads, or another kind."""
        sites = sites_of(recording, self.kind) or sites_of(recording, kinds_of(recording)[-1])
        layer = min(self.layer, len(sites) - 1)
        heads = sites[layer].heads
        head = self.head if self.head == "mean" else min(self.head, heads - 1)
        several = tuple(one for one in self.heads if one < heads)
        return Selection(**{**asdict(self), "kind": sites[0].kind, "layer": layer, "head": head, "heads": several})


def kinds_of(recording: Recording) -> list[Kind]:
    """The kinds of attention that ran, in the order in which they are shown."""
    return [kind for kind in KINDS if any(site.kind == kind for site in recording.sites)]


def sites_of(recording: Recording, kind: Kind) -> list[Site]:
    """The sites of a kind, by layer."""
    return [site for site in recording.sites if site.kind == kind]


def streams_of(recording: Recording, kind: Kind) -> tuple[str, str]:
    """What queries and keys of a kind are read from: source and target, or the one text of a model alone."""
    return READS[kind] if "cross" in kinds_of(recording) else ("text", "text")


def naming(selection: Selection) -> Rows:
    """How the rows of the selection's kind are named."""
    return {"decoder": selection.decoder_rows, "cross": selection.cross_rows}.get(selection.kind, "read")


def from_address(parameters: Mapping[str, str]) -> Selection:
    """The selection of a link; what makes no sense there is as if it were not there."""
    return _selection({name: parameters.get(_IN_ADDRESS.get(name, name)) for name in _FROM_ADDRESS}, _FROM_ADDRESS)


def from_browser(sent: Any) -> Selection:
    """The selection that the explorer's JavaScript sent; what makes no sense there is as if it were not there."""
    return _selection(sent if isinstance(sent, Mapping) else {}, _FROM_BROWSER)


def to_address(selection: Selection) -> dict[str, str]:
    """What a link says of the selection: all that is not as it begins."""
    begin = Selection()
    written = {field.name: getattr(selection, field.name) for field in fields(selection)}
    return {
        _IN_ADDRESS.get(name, name): _written(name, value)
        for name, value in written.items()
        if value != getattr(begin, name)
    }


def to_browser(selection: Selection) -> dict[str, Any]:
    """The selection as the explorer's JavaScript takes it."""
    return asdict(selection)


def _selection(values: Mapping[str, Any], readers: Mapping[str, Callable[[Any], Any]]) -> Selection:
    found = {name: read(values[name]) for name, read in readers.items() if values.get(name) is not None}
    return Selection(**{name: value for name, value in found.items() if value is not None})


def _written(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ",".join(str(one + 1) for one in value)
    return str(value + 1) if isinstance(value, int) else str(value)


def _one_of(names: Any) -> Callable[[Any], Any]:
    return lambda value: value if value in get_args(names) else None


def _flag(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _written_flag(text: str) -> bool | None:
    return {"true": True, "false": False}.get(text)


def _place(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1_000_000 else None


def _places(value: Any) -> tuple[int, ...] | None:
    places = [_place(one) for one in value] if isinstance(value, list | tuple) else [None]
    known = tuple(place for place in places if place is not None)
    return known if len(known) == len(places) <= MOST_PICKED else None


def _two(places: tuple[int, ...] | None) -> tuple[int, int] | None:
    return (places[0], places[1]) if places is not None and len(places) == 2 else None


def _counted(text: str) -> int | None:
    return _place(int(text) - 1) if text.isascii() and text.isdecimal() and len(text) < 8 else None


def _all_counted(text: str) -> tuple[int, ...] | None:
    return _places([_counted(one) for one in text.split(",")])


def _head(place: int | None, value: Any) -> Head:
    return "mean" if value == "mean" else place


_CHOICES = {
    "view": View,
    "kind": Kind,
    "decoder_rows": Rows,
    "cross_rows": Rows,
    "measure": Measure,
    "scale": Scale,
    "unit": Unit,
    "over": OverQueries,
    "special": Special,
    "joint": Joint,
    "reading": Reading,
    "pool": Pool,
}
_NAMED = {name: _one_of(names) for name, names in _CHOICES.items()}
_FROM_BROWSER: dict[str, Callable[[Any], Any]] = {
    **_NAMED,
    "layer": _place,
    "head": lambda value: _head(_place(value), value),
    "spaces": _flag,
    "centred": _flag,
    "heads": _places,
    "pair": lambda value: _two(_places(value)),
    "picked": _places,
    "step": _place,
}
_FROM_ADDRESS: dict[str, Callable[[Any], Any]] = {
    **_NAMED,
    "layer": _counted,
    "head": lambda text: _head(_counted(text), text),
    "spaces": _written_flag,
    "centred": _written_flag,
    "heads": _all_counted,
    "pair": lambda text: _two(_all_counted(text)),
    "picked": _all_counted,
    "step": _counted,
}
_IN_ADDRESS = {"step": "decoding_step"}  # "step" is a step of training there
NAMES = tuple(_IN_ADDRESS.get(name, name) for name in _FROM_ADDRESS)
