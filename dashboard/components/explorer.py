"""The explorer: the views of a run."""

from collections.abc import Callable
from dataclasses import asdict

from dashboard.components import browser
from dashboard.figures.colours import colours
from dashboard.numbers import is_long
from dashboard.offered import offer
from dashboard.runs import Answer
from dashboard.selection import Selection, kinds_of, sites_of, streams_of
from dashboard.served import PATH
from dashboard.words import Words


def explorer(
    answer: Answer, selection: Selection, revision: int, words: Words, key: str, on_change: Callable[[], None]
) -> None:
    """Show a run.

    Args:
        revision: another number makes the browser take over ``selection``; with the same it keeps its own.
        on_change: see :func:`dashboard.components.browser.show`.
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
        "address": browser.address(PATH, key_of_run),
        "language": words.language,
        "kinds": kinds,
        "steps": len(answer.steps),
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
