"""The attention page: one head's pattern, all heads of its kind, and the target's probabilities."""

from collections.abc import Sequence

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dashboard.captions import caption
from dashboard.components.figure import figure
from dashboard.components.heads_grid import heads_grid
from dashboard.components.token_strip import token_strip
from dashboard.figures.colours import colours, full_colour
from dashboard.figures.heat_map import Axis, heat_map
from dashboard.figures.tiles import tiles
from dashboard.runs import Answer, Problem
from dashboard.sidebar import Chosen
from dashboard.state import choice
from dashboard.words import Words
from transformer.recording import Head, Kind, Recording, Site

KINDS: tuple[Kind, ...] = ("encoder", "decoder", "cross")


def draw(chosen: Chosen) -> None:
    """Draw the page, or say why there is nothing to see and offer what helps."""
    if isinstance(chosen.outcome, Problem):
        _say(chosen.words, chosen.outcome)
    else:
        _pattern(chosen.words, chosen.outcome)
        _remarks(chosen.words, chosen.outcome)
    st.caption(chosen.words["footer"])


def _say(words: Words, problem: Problem) -> None:
    if problem.cut is None:
        st.info(words[problem.name])
        return
    st.warning(words(problem.name, length=problem.length, limit=problem.limit))
    stream = problem.name.rpartition(".")[2]
    st.button(words["cut"], key="cut", on_click=lambda: st.session_state.update({stream: problem.cut}))


@st.fragment(key="attention")
def _pattern(words: Words, answer: Answer) -> None:
    """Everything that a slider moves; the rest of the page does not run again for it."""
    recording = answer.recording
    kind, layer, head, rows = _selection(words, recording)
    site = recording.site(kind, layer)
    looked_at: Head = "mean" if head is None else head
    palette = colours(kind, st.context.theme.type or "light")
    sites = [one for one in recording.sites if one.kind == kind]
    every_head = np.stack([recording.pattern(one).numpy() for one in sites])  # (layers, H, L, S)
    full = full_colour(float(every_head.max()))

    weights = recording.pattern(site, looked_at).numpy()
    blocked = np.isneginf(recording.mask(site, looked_at).numpy())
    keys = recording.key_tokens(site)
    queries = list(answer.predicted) if rows == "predicted" else recording.query_tokens(site)
    title = words("overview.tile", layer=layer + 1, head=words["mean"] if head is None else head + 1)
    drawn = heat_map(
        weights,
        recording.scores(site, looked_at).numpy(),
        blocked,
        Axis(words[f"axis.queries.{'source' if kind == 'encoder' else rows}"], queries),
        Axis(words[f"axis.keys.{'target' if kind == 'decoder' else 'source'}"], keys),
        {name: words[f"hover.{name}"] for name in ("query", "key", "weight", "score", "blocked")},
        palette,
        full,
        same_place=f"{kind} {queries} {keys}",
    )
    wide, narrow = st.columns([5, 3], gap="medium")
    with wide:
        figure(drawn, f"{words[f'kind.{kind}']}: {title}", key="pattern")
    with narrow:
        name = words("overview", kind=words[f"kind.{kind}"])
        st.caption(name)
        blocked_everywhere = np.isneginf(np.stack([recording.mask(one).numpy() for one in sites]))
        small = tiles(every_head, blocked_everywhere, full)
        heads_grid(small, (layer, head), _titles(words, sites), palette, name, key="heads", on_select=_select)
        legend = [words("legend.full", weight=full)] + [words["legend.blocked"]] * bool(blocked.any())
        st.caption(" · ".join(legend))
        if head is None:
            st.badge(words("mean.badge", heads=site.heads), color="gray")
    named = "encoder" if kind == "encoder" else rows
    spans = caption(words, layer + 1, None if head is None else head + 1, named, weights, queries, keys)
    likely = list(zip(answer.predicted, answer.probabilities, strict=True))
    token_strip(spans, likely, words["probabilities"], palette.strong, key="target_tokens")


def _selection(words: Words, recording: Recording) -> tuple[Kind, int, int | None, str]:
    """What is looked at: kind, layer and head from 0 (no head: the mean), and how rows are named."""
    present = [kind for kind in KINDS if any(site.kind == kind for site in recording.sites)]
    across = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
    kind = choice(
        across,
        words["kind"],
        "kind",
        present,
        "cross" if "cross" in present else present[0],
        lambda name: words[f"kind.{name}"],
    )
    sites = [site for site in recording.sites if site.kind == kind]
    layer = _slider(across, words["layer"], "layer", len(sites))
    before_toggle = across.container(width="content")
    averaged = across.toggle(words["mean"], key="mean", bind="query-params")
    head = _slider(before_toggle, words["head"], "head", sites[layer - 1].heads, disabled=averaged)
    rows = "read"
    if kind != "encoder":
        rows = choice(
            across,
            words["rows"],
            f"{kind}_rows",
            ["read", "predicted"],
            "predicted" if kind == "cross" else "read",
            lambda name: words[f"rows.{name}"],
        )
    return kind, layer - 1, None if averaged else head - 1, rows


def _slider(where: DeltaGenerator, label: str, key: str, most: int, disabled: bool = False) -> int:
    """A slider from 1; a value beyond the end, from another checkpoint, becomes the last one."""
    if st.session_state.get(key, 0) > most:
        st.session_state[key] = most
    if most == 1:
        return 1
    return where.slider(
        label, 1, most, most if key == "layer" else 1, key=key, bind="query-params", disabled=disabled, width=150
    )


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
            st.text(words(f"bytes.{stream}", characters=" ".join(characters)))
    if not answer.finished:
        st.text(words("unfinished", limit=len(answer.predicted)))
