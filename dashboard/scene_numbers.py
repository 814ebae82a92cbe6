"""The numbers of a sentence that was run: a head's pattern, what the model says, and its loss.

L query length · S key length · T target length
"""

from typing import Any

import numpy as np

from dashboard.runs import Written
from dashboard.scenes import Played, Scene
from dashboard.selection import sites_of, streams_of
from transformer.recording import Kind, Site
from transformer.units import SPECIAL, units_of


def side_numbers(
    scene: Scene, played: Played, kind: Kind, layer: int, head: int, keys_of: str | None = None
) -> dict[str, Any]:
    """One of two runs that stand side by side.

    Args:
        keys_of: the stream of the keys, where it is not that of the kind.

    Returns:
        ``queries``, ``keys``, ``keys_of`` (their stream), ``special``; ``cells`` (L, S) float32, not-a-number where the
        mask blocks; ``loss`` in nats a token, ``probabilities`` (T,), ``said``, ``written``.

    Raises:
        IndexError: no such layer or head.
    """
    recording = played.recording
    site = sites_of(recording, kind)[layer]
    rows, columns = _labels(scene, played, site, keys_of)
    blocked = np.isneginf(recording.mask(site, head).numpy())
    pattern = recording.pattern(site, head).numpy()
    return {
        "kind": kind,
        "keys_of": keys_of or streams_of(recording, kind)[1],
        "queries": named(rows),
        "keys": named(columns),
        "special": {"queries": [row in SPECIAL for row in rows], "keys": [column in SPECIAL for column in columns]},
        "cells": np.where(blocked, np.nan, pattern).astype(np.float32),
        "low": 0.0,
        "high": 1.0,
        "removed": None,
        "loss": played.loss,
        "probabilities": np.array([step.probability for step in played.steps], np.float32),
        "said": played.said,
        "written": _text(played.written),
    }


def named(labels: list[str]) -> list[str]:
    """Labels with signs for what could not be seen."""
    return [units_of([label], "piece").labels[0] for label in labels]


def _labels(scene: Scene, played: Played, site: Site, keys_of: str | None) -> tuple[list[str], list[str]]:
    """Rows of cross-attention are called by what they are to predict."""
    recording = played.recording
    if site.kind != "cross":
        return recording.query_tokens(site), recording.key_tokens(site)
    tokenizer = scene.batch.asked.target_tokenizer
    rows = tokenizer.labels([step.label for step in played.steps])
    if keys_of == "target":
        return rows, tokenizer.labels([step.read for step in played.steps])
    return rows, recording.key_tokens(site)


def _text(written: Written | None) -> dict[str, Any] | None:
    return None if written is None else {"text": written.text, "finished": written.finished}
