"""The explorer: the views of a run, drawn by the browser from numbers that it asks for as it needs them.

Its JavaScript stands in the folder ``explorer``, one module a concept, and is served as files: a component's own text
would be sent again with every run of the page.
"""

from collections.abc import Callable
from dataclasses import asdict
from hashlib import blake2b
from pathlib import Path
from typing import Any

import streamlit as st

from dashboard.figures.colours import colours
from dashboard.numbers import is_long
from dashboard.offered import offer
from dashboard.runs import Answer
from dashboard.selection import Selection, kinds_of, sites_of, streams_of, to_browser
from dashboard.served import PATH
from dashboard.words import Words

FOLDER = Path(__file__).parent / "explorer"
MODULES = "explorer-modules"  # where app.py serves them


def _version() -> str:
    """Another one for other files, so that a browser never mixes old modules with new ones."""
    contents = (path.read_bytes() for path in sorted(FOLDER.rglob("*.js")))
    return blake2b(b"".join(contents), digest_size=8).hexdigest()


VERSION = _version()
_COMPONENT = st.components.v2.component(
    "headlight_explorer",
    html="<div class='explorer'></div>",
    css=(Path(__file__).parent / "explorer.css").read_text(encoding="utf-8"),
    js=(
        "export default function (component) {\n"
        "  const loaded = import(new URL(component.data.modules, document.baseURI).href)\n"
        "  let close = null\n"
        "  loaded.then(({ mount }) => { close = mount(component) }, console.error)\n"
        "  return () => close?.()\n"
        "}\n"
    ),
)


def explorer(
    answer: Answer, selection: Selection, revision: int, words: Words, key: str, on_change: Callable[[], None]
) -> None:
    """Show a run.

    Args:
        revision: another number makes the browser take over ``selection``; with the same it keeps its own.
        on_change: called when the viewer moved something; ``st.session_state[key].state`` says where everything is.
    """
    recording = answer.recording
    kinds = []
    for kind in kinds_of(recording):
        queries, keys = streams_of(recording, kind)
        heads = [site.heads for site in sites_of(recording, kind)]
        kinds.append({"kind": kind, "heads": heads, "queries": queries, "keys": keys, "long": is_long(recording, kind)})
    key_of_run = offer(answer)
    run = {
        "key": key_of_run,
        "address": _address(PATH, key_of_run),
        "language": words.language,
        "kinds": kinds,
        "steps": len(answer.steps),
    }
    themes = ("light", "dark")
    palettes = {theme: {kind: asdict(colours(kind, theme)) for kind in kinds_of(recording)} for theme in themes}
    data: dict[str, Any] = {
        "modules": _address(MODULES, VERSION, "main.js"),
        "run": run,
        "state": to_browser(selection),
        "revision": revision,
        "words": words.all(),
        "palettes": palettes,
    }
    _COMPONENT(data=data, key=key, default={"state": None}, on_state_change=on_change, on_gone_change=lambda: None)


def _address(*parts: str) -> str:
    base = str(st.get_option("server.baseUrlPath") or "").strip("/")
    return "/".join(["", *([base] if base else []), *parts])
