"""Inside a layer: what stands between token ids and the output of one layer."""

from collections.abc import Callable
from dataclasses import asdict

from dashboard.components import browser
from dashboard.figures.colours import colours
from dashboard.inside import Inside
from dashboard.inside_numbers import MOST_TOKENS, is_too_long
from dashboard.offered import offer
from dashboard.runs import Answer
from dashboard.selection import kinds_of, sites_of
from dashboard.served import PATH
from dashboard.words import Words


def inside(answer: Answer, state: Inside, revision: int, words: Words, key: str, on_change: Callable[[], None]) -> None:
    """Show the walk through a layer of a run that has a model.

    Args:
        revision: another number makes the browser take over ``state``; with the same it keeps its own.
        on_change: see :func:`dashboard.components.browser.show`.
    """
    recording, key_of_run = answer.recording, offer(answer)
    kinds = kinds_of(recording)
    run = {
        "key": key_of_run,
        "address": browser.address(PATH, key_of_run),
        "language": words.language,
        "limit": MOST_TOKENS,
        "kinds": [
            {
                "kind": kind,
                "heads": [site.heads for site in sites_of(recording, kind)],
                "long": any(is_too_long(recording, site) for site in sites_of(recording, kind)),
            }
            for kind in kinds
        ],
    }
    data = {
        "run": run,
        "state": asdict(state),
        "revision": revision,
        "words": words.all(),
        "palettes": {theme: {kind: asdict(colours(kind, theme)) for kind in kinds} for theme in ("light", "dark")},
    }
    browser.show("inside", data, key, on_change)
