"""The mask lab: every mask as itself, edits, and what they do."""

from collections.abc import Callable
from dataclasses import asdict

from dashboard.components import browser
from dashboard.figures.colours import colours
from dashboard.mask_edits import MOST_CELLS, MOST_EDITS, MOST_PRESETS, as_json
from dashboard.mask_files import MOST_BYTES
from dashboard.mask_runs import Batch, run
from dashboard.masks import MaskLab
from dashboard.offered import offer
from dashboard.selection import kinds_of, sites_of, streams_of
from dashboard.served import PATH
from dashboard.state import LONGEST_IN_URL
from dashboard.words import Words
from transformer.mask_rules import PRESETS


def masks(batch: Batch, state: MaskLab, revision: int, words: Words, key: str, on_change: Callable[[], None]) -> None:
    """Show the masks of a batch.

    Args:
        revision: another number makes the browser take over ``state``; with the same it keeps its own.
        on_change: see :func:`dashboard.components.browser.show`.
    """
    recording, key_of_run = run(batch).recording, offer(batch)
    kinds = kinds_of(recording)
    streams = {kind: streams_of(recording, kind) for kind in kinds}
    given = {
        "key": key_of_run,
        "address": browser.address(PATH, key_of_run),
        "language": words.language,
        "texts": len(batch.targets),
        "continues": not batch.sources,
        "kinds": [
            {
                "kind": kind,
                "heads": [site.heads for site in sites_of(recording, kind)],
                "queries": streams[kind][0],
                "keys": streams[kind][1],
                "size": list(recording.mask(sites_of(recording, kind)[0], 0).shape),
            }
            for kind in kinds
        ],
        "presets": [
            {
                "name": name,
                "numbers": [asdict(number) for number in preset.numbers],
                "source": preset.source,
                "adds": preset.adds,
            }
            for name, preset in PRESETS.items()
        ],
        "limits": {
            "edits": MOST_EDITS,
            "presets": MOST_PRESETS,
            "cells": MOST_CELLS,
            "bytes": MOST_BYTES,
            "address": LONGEST_IN_URL,
        },
    }
    data = {
        "run": given,
        "state": {**asdict(state), "edits": [as_json(edit) for edit in state.edits]},
        "revision": revision,
        "words": words.all(),
        "palettes": {theme: {kind: asdict(colours(kind, theme)) for kind in kinds} for theme in ("light", "dark")},
    }
    browser.show("masks", data, key, on_change)
