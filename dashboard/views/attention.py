"""The attention page: one head's pattern, all heads of its kind, and the target's probabilities."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import streamlit as st

from dashboard import problem, selection
from dashboard.captions import caption
from dashboard.components.figure import figure
from dashboard.components.heads_grid import heads_grid
from dashboard.components.token_strip import token_strip
from dashboard.figures.colours import colours, full_colour
from dashboard.figures.heat_map import Axis, heat_map
from dashboard.figures.tiles import tiles
from dashboard.fit import Problem
from dashboard.runs import Answer
from dashboard.sidebar import Chosen
from dashboard.words import Words, visible
from transformer.recording import Kind, Recording, Site


def draw(chosen: Chosen) -> None:
    """Draw the page, or say why there is nothing to see and offer what helps."""
    if isinstance(chosen.outcome, Problem):
        problem.draw(chosen.words, chosen.outcome, chosen.example)
    else:
        _pattern(chosen.words, chosen.outcome)
        _remarks(chosen.words, chosen.outcome)
    st.caption(chosen.words["footer"])


@st.fragment(key="attention")
def _pattern(words: Words, answer: Answer) -> None:
    """Everything that a slider moves; the rest of the page does not run again for it."""
    recording, chosen = answer.recording, selection.draw(words, answer.recording)
    kind, site = chosen.kind, recording.site(chosen.kind, chosen.layer)
    palette = colours(kind, st.context.theme.type or "light")
    full = full_colour(keys=len(recording.key_tokens(site)))

    weights = recording.pattern(site, chosen.head).numpy()
    blocked = np.isneginf(recording.mask(site, chosen.head).numpy())
    keys = recording.key_tokens(site)
    queries = list(answer.predicted) if chosen.rows == "predicted" else recording.query_tokens(site)
    drawn = heat_map(
        weights,
        recording.scores(site, chosen.head).numpy(),
        blocked,
        Axis(words[f"axis.queries.{chosen.queries}.{chosen.rows}"], queries),
        Axis(words[f"axis.keys.{chosen.keys}"], keys),
        {name: words[f"hover.{name}"] for name in ("query", "key", "weight", "score", "blocked")},
        palette,
        full,
        same_place=f"{kind} {recording.query_tokens(site)} {keys}",
    )
    head = chosen.only_head
    name = "title.mean" if head is None else "title"
    title = words(name, kind=words[f"kind.{kind}"], layer=site.layer + 1, head=_number(head))
    wide, narrow = st.columns([5, 3], gap="medium")
    with wide:
        badge = f" :gray-badge[{words('mean.badge', heads=site.heads)}]" if head is None else ""
        st.caption(title + badge)
        figure(drawn, title, words, key="pattern")
    with narrow:
        sites = [one for one in recording.sites if one.kind == kind]
        name = words("overview", kind=words[f"kind.{kind}"])
        st.caption(name)
        small = _every_head(recording, kind, full)
        heads_grid(small, (chosen.layer, head), _titles(words, sites), palette, name, key="heads", on_select=_select)
        legend = [words("legend.full" if full == 1 else "legend.full.more", weight=full)]
        legend += [words["legend.blocked"]] * bool(blocked.any())
        legend += [words["legend.space"]] * any("▁" in label for label in [*queries, *keys])
        st.caption(" · ".join(legend))
    named = "encoder" if kind == "encoder" else chosen.rows
    spans = caption(words, site.layer + 1, _number(head), named, weights, queries, keys)
    likely = list(zip(answer.predicted, answer.probabilities, strict=True))
    guessed = answer.target is None
    title = words["probabilities.guess" if guessed else "probabilities"]
    token_strip(spans, likely, guessed, title, palette.strong, key="target_tokens")


@lru_cache(maxsize=48)
def _every_head(recording: Recording, kind: Kind, full: float) -> np.ndarray:
    """The overview's tiles; the same whatever head is looked at."""
    sites = [site for site in recording.sites if site.kind == kind]
    weights = np.stack([recording.pattern(site).numpy() for site in sites])  # (layers, H, L, S)
    blocked = np.isneginf(np.stack([recording.mask(site).numpy() for site in sites]))
    return tiles(weights, blocked, full)


def _number(head: int | None) -> int | None:
    """How a head is counted on the screen."""
    return None if head is None else head + 1


def _titles(words: Words, sites: Sequence[Site]) -> list[str]:
    return [words("overview.tile", layer=site.layer + 1, head=head + 1) for site in sites for head in range(site.heads)]


def _select() -> None:
    """Let the sliders follow a click on a head."""
    layer, head = st.session_state["heads"].head
    st.session_state.update(layer=layer + 1, head=head + 1, mean=False)


def _remarks(words: Words, answer: Answer) -> None:
    """What a viewer should know about the texts that ran."""
    for stream, characters in answer.spelled_as_bytes.items():
        if characters:
            st.text(words(f"bytes.{stream}", characters=" ".join(visible(words, one) for one in characters)))
    if answer.target and not answer.target.finished:
        st.text(words("unfinished", limit=len(answer.predicted)))
