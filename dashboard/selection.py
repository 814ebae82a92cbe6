"""What is looked at: one value for all views, and how it is written into the address.

The browser moves it (see ``components/browser/explorer``); Python keeps the address in step, so that a link or a reload
restores the view. Layers, heads and tokens count from 0 here and from 1 in the address, as on the screen.
"""

from dataclasses import asdict, dataclass
from typing import Any, Literal

from dashboard.linked import Link, flag, one_of, place, place_or, places, two_places
from transformer.merging import OverQueries
from transformer.recording import READS, Kind, Recording, Site
from transformer.units import Unit

KINDS: tuple[Kind, ...] = ("encoder", "decoder", "cross", "other")
View = Literal["heat", "heads", "lines", "text", "three", "steps", "table"]
Rows = Literal["read", "predicted"]
Scale = Literal["linear", "log", "score"]
Measure = Literal["weight", "norm"]
Special = Literal["shown", "dimmed", "hidden"]
Joint = Literal["mean", "min", "product"]
Pool = Literal["max", "mean"]
Reading = Literal["reads", "read_by"]


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
        picked, joint: queries looked at together, and how their weights are joined.
        reading: the text is shaded by what the first picked token reads, or by who reads it: there it is a key.
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

    def within(self, recording: Recording, predicts: bool) -> "Selection":
        """The same in a run that may have fewer layers and heads, or another kind, or lack some numbers.

        Args:
            predicts: whether it is known what each row is to predict.
        """
        sites = sites_of(recording, self.kind) or sites_of(recording, kinds_of(recording)[-1])
        layer = min(self.layer, len(sites) - 1)
        heads = sites[layer].heads
        fitted: dict[str, Any] = {
            "kind": sites[0].kind,
            "layer": layer,
            "head": self.head if self.head == "mean" else min(self.head, heads - 1),
            "heads": tuple(one for one in self.heads if one < heads),
        }
        if not predicts:
            view = "heat" if self.view == "steps" else self.view
            fitted |= {"view": view, "decoder_rows": "read", "cross_rows": "read"}
        if not knows_norms(recording):
            fitted["measure"] = "weight"
        return Selection(**{**asdict(self), **fitted})


def kinds_of(recording: Recording) -> list[Kind]:
    """The kinds of attention that ran, in the order in which they are shown."""
    return [kind for kind in KINDS if any(site.kind == kind for site in recording.sites)]


def sites_of(recording: Recording, kind: Kind) -> list[Site]:
    """The sites of a kind, by layer."""
    return [site for site in recording.sites if site.kind == kind]


def site_at(recording: Recording, kind: Kind, layer: int) -> Site:
    """The site of a kind in a layer.

    Layers are counted by place: a module of somebody's own may number them in any way, or not at all.

    Raises:
        KeyError: there is none.
    """
    sites = sites_of(recording, kind)
    if not 0 <= layer < len(sites):
        raise KeyError(f"{kind} attention in layer {layer}")
    return sites[layer]


def streams_of(recording: Recording, kind: Kind) -> tuple[str, str]:
    """What queries and keys of a kind are read from: source and target, or the one text of a model alone."""
    return READS[kind] if kind in READS and "cross" in kinds_of(recording) else ("text", "text")


def knows_norms(recording: Recording) -> bool:
    """Whether it is known how long what each value writes is; files of the first version do not say."""
    return all(seen.out_proj_weight is not None for run in recording.runs for seen in run.attentions.values())


def naming(selection: Selection) -> Rows:
    """How the rows of the selection's kind are named."""
    return {"decoder": selection.decoder_rows, "cross": selection.cross_rows}.get(selection.kind, "read")


LINK = Link(
    Selection(),
    {
        "view": one_of(View),
        "kind": one_of(Kind),
        "layer": place(),
        "head": place_or("mean"),
        "decoder_rows": one_of(Rows),
        "cross_rows": one_of(Rows),
        "measure": one_of(Measure),
        "scale": one_of(Scale),
        "unit": one_of(Unit),
        "over": one_of(OverQueries),
        "special": one_of(Special),
        "spaces": flag(),
        "heads": places(),
        "pair": two_places(),
        "centred": flag(),
        "picked": places(),
        "joint": one_of(Joint),
        "reading": one_of(Reading),
        "step": place(),
        "pool": one_of(Pool),
    },
    in_address={"step": "decoding_step"},  # "step" is a step of training there
)
