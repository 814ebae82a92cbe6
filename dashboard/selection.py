"""What is looked at: the row of controls above the picture."""

from dataclasses import dataclass
from typing import Literal

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dashboard.state import choice, number, switch
from dashboard.words import Words
from transformer.recording import READS, Head, Kind, Recording

KINDS: tuple[Kind, ...] = ("encoder", "decoder", "cross")
Rows = Literal["read", "predicted"]


@dataclass(frozen=True)
class Selection:
    """A kind of attention, a layer and a head of it (counted from 0), and how decoder rows are named.

    ``queries`` and ``keys`` are the streams that it reads: source and target, or the one text of a model alone.
    """

    kind: Kind
    layer: int
    head: Head
    rows: Rows
    queries: str
    keys: str

    @property
    def only_head(self) -> int | None:
        """The head; None for the mean of all."""
        return self.head if isinstance(self.head, int) else None


def draw(words: Words, recording: Recording) -> Selection:
    """Draw the controls and read them."""
    present = [kind for kind in KINDS if any(site.kind == kind for site in recording.sites)]
    across = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
    kind = choice(
        words["kind"],
        "kind",
        present,
        "cross" if "cross" in present else present[0],
        lambda name: words[f"kind.{name}"],
        where=across,
    )
    sites = [site for site in recording.sites if site.kind == kind]
    # Cross-attention rarely points at words in the first layer, so a new viewer begins with the second.
    layer = number(words("layer", most=len(sites)), "layer", 2, len(sites), across)
    heads = sites[layer - 1].heads
    before_switch = across.container(width="content")
    averaged = switch(words["mean"], "mean", across)
    head = number(words("head", most=heads), "head", 1, heads, before_switch, disabled=averaged)
    rows = _rows(words, kind, across)
    queries, keys = READS[kind] if "cross" in present else ("text", "text")
    return Selection(kind, layer - 1, "mean" if averaged else head - 1, rows, queries, keys)


def _rows(words: Words, kind: Kind, across: DeltaGenerator) -> Rows:
    if kind == "encoder":
        return "read"
    options: tuple[Rows, ...] = ("read", "predicted")
    default: Rows = "predicted" if kind == "cross" else "read"
    return choice(words["rows"], f"{kind}_rows", options, default, lambda name: words[f"rows.{name}"], where=across)
