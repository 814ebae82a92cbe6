"""The theatre of bugs: a mistake beside what is right."""

from collections.abc import Callable
from dataclasses import asdict

from dashboard.bug_code import SLIPS
from dashboard.bug_numbers import impossible
from dashboard.bugs import MOST_SEEDS, Theatre
from dashboard.components import browser
from dashboard.figures.colours import colours
from dashboard.offered import offer
from dashboard.scenes import Scene, play
from dashboard.selection import kinds_of, sites_of, streams_of
from dashboard.served import PATH
from dashboard.words import Words


def bugs(scene: Scene, state: Theatre, revision: int, words: Words, key: str, on_change: Callable[[], None]) -> None:
    """Show what a mistake does to a sentence.

    Args:
        revision: another number makes the browser take over ``state``; with the same it keeps its own.
        on_change: see :func:`dashboard.components.browser.show`.
    """
    recording, key_of_run = play(scene).recording, offer(scene)
    kinds = kinds_of(recording)
    run = {
        "key": key_of_run,
        "address": browser.address(PATH, key_of_run),
        "language": words.language,
        "kinds": [
            {
                "kind": kind,
                "heads": [site.heads for site in sites_of(recording, kind)],
                "queries": streams_of(recording, kind)[0],
            }
            for kind in kinds
        ],
        "bugs": [{"name": name, "impossible": impossible(scene).get(name)} for name in SLIPS],
        "seeds": MOST_SEEDS,
    }
    data = {
        "run": run,
        "state": asdict(state),
        "revision": revision,
        "words": words.all(),
        "palettes": {theme: {kind: asdict(colours(kind, theme)) for kind in kinds} for theme in ("light", "dark")},
    }
    browser.show("bugs", data, key, on_change)
