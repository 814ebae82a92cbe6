"""The explorer: the views of a run."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from dashboard.components import browser
from dashboard.figures.colours import colours
from dashboard.numbers import is_long, size_of
from dashboard.offered import offer
from dashboard.runs import Answer
from dashboard.selection import Selection, kinds_of, knows_norms, sites_of, streams_of
from dashboard.served import PATH
from dashboard.words import Words, unicode_of
from transformer.recording import Kind, Recording


def explorer(
    answer: Answer, selection: Selection, revision: int, words: Words, key: str, on_change: Callable[[], None]
) -> None:
    """Show a run.

    Args:
        revision: another number makes the browser take over ``selection``; with the same it keeps its own.
        on_change: see :func:`dashboard.components.browser.show`.
    """
    recording = answer.recording
    key_of_run = offer(answer)
    run = {
        "key": key_of_run,
        "address": browser.address(PATH, key_of_run),
        "language": words.language,
        "kinds": [_kind(recording, kind) for kind in kinds_of(recording)],
        "steps": len(answer.steps),
        "norms": knows_norms(recording),
        "opened": answer.model is None,
    }
    themes = ("light", "dark")
    data = {
        "run": run,
        "state": asdict(selection),
        "revision": revision,
        "words": words.all(),
        "palettes": {theme: {kind: asdict(colours(kind, theme)) for kind in kinds_of(recording)} for theme in themes},
    }
    browser.show("explorer", data, key, on_change)


def _kind(recording: Recording, kind: Kind) -> dict[str, Any]:
    """A kind of attention: what it reads, and of each layer the heads, how many queries and keys, and the module."""
    sites = sites_of(recording, kind)
    queries, keys = streams_of(recording, kind)
    return {
        "kind": kind,
        "queries": queries,
        "keys": keys,
        "heads": [site.heads for site in sites],
        "sizes": [size_of(recording, site) for site in sites],
        "paths": [unicode_of(site) for site in sites],
        "long": is_long(recording, kind),
    }
