"""The positions lab: what positions are made of."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any, get_args

from dashboard.components import browser
from dashboard.figures.colours import colours
from dashboard.offered import offer
from dashboard.position_effect import AMOUNTS
from dashboard.positions import BASES, HEADS, LENGTHS, WIDTHS, Positions
from dashboard.positions_numbers import own_table
from dashboard.runs import Answer
from dashboard.scenes import Scene
from dashboard.selection import kinds_of, sites_of, streams_of
from dashboard.served import PATH
from dashboard.words import Words, unicode_of
from transformer.recording import Stream


def positions(
    answer: Answer,
    scene: Scene | None,
    state: Positions,
    revision: int,
    words: Words,
    key: str,
    on_change: Callable[[], None],
) -> None:
    """Show the lab.

    Args:
        scene: the sentence, to be run with other positions; None where it cannot be.
        revision: another number makes the browser take over ``state``; with the same it keeps its own.
        on_change: see :func:`dashboard.components.browser.show`.
    """
    key_of_run = offer(answer)
    alone = "cross" not in kinds_of(answer.recording)
    run = {
        "key": key_of_run,
        "address": browser.address(PATH, key_of_run),
        "language": words.language,
        "own": {stream: _facts(answer, stream) for stream in _streams(answer)},
        "alone": alone,
        "scene": None if scene is None else _scene(answer, scene),
        "limits": {"width": WIDTHS, "length": LENGTHS, "base": BASES, "heads": HEADS},
    }
    kinds = {"source": "decoder" if alone else "encoder", "target": "decoder", "free": "other"}
    kinds |= {kind: kind for kind in kinds_of(answer.recording)}
    palettes = {
        theme: {name: asdict(colours(kind, theme)) for name, kind in kinds.items()} for theme in ("light", "dark")
    }
    data = {
        "run": run, "state": asdict(state), "revision": revision, "words": words.all(), "palettes": palettes
    }  # fmt: skip
    browser.show("positions", data, key, on_change)


def _scene(answer: Answer, scene: Scene) -> dict[str, Any]:
    recording = answer.recording
    return {
        "key": offer(scene),
        "amounts": AMOUNTS,
        "kinds": [
            {
                "kind": kind,
                "heads": [site.heads for site in sites_of(recording, kind)],
                "queries": streams_of(recording, kind)[0],
            }
            for kind in kinds_of(recording)
        ],
    }


def _streams(answer: Answer) -> list[Stream]:
    """The texts whose embeddings were recorded before and behind their positions."""
    recorded = {path for run in answer.recording.runs for path in run.hidden}
    return [stream for stream in get_args(Stream) if f"after_{stream}_positions" in recorded]


def _facts(answer: Answer, stream: Stream) -> dict[str, Any] | None:
    """What the model's own table is, but for its numbers; None where the model adds no positions."""
    table = own_table(answer, stream)
    if table is None:
        return None
    length, width = table.vectors.shape
    return {
        "kind": table.kind,
        "width": width,
        "length": length,
        "whole": table.whole,
        "base": table.base,
        "layout": table.layout,
        "heads": table.heads,
        "tokens": [unicode_of(token) for token in table.tokens],
    }
