"""The numbers of the decoding view: what the model read, was to write and thought at each step.

T target length · K likeliest tokens kept of a step
"""

from collections.abc import Sequence
from typing import Any, get_args

import numpy as np

from dashboard.runs import Answer
from dashboard.selection import kinds_of
from transformer.beam_search import BeamStep, Candidate
from transformer.steps import forgot_the_shift
from transformer.units import SPECIAL, Unit, units_of

MOST_OF_A_BEAM = 24  # tokens of a beam that are sent, its last ones


def step_numbers(answer: Answer) -> dict[str, Any]:
    """All that the decoding view draws of a run, but for its heads.

    A token stands as its place in one list of labels.

    Returns:
        ``tokens`` and ``special``: the labels, and which of them stand for no text. ``read``, ``label`` and ``rank``:
        (T,) int32. ``counts``: T bools, whether a loss counts the step. ``probability``, ``loss`` and ``entropy``:
        (T,) float32, in nats. ``likeliest``: (T, K) int32, and ``chances``: (T, K) float32. ``guess``: the step whose
        label is the model's own guess, or None. ``typed``: whether somebody typed the target. ``forgotten``: whether
        every label is what was just read. ``rows``: see :func:`_rows`. ``beams``: the candidates of each step; empty
        where nothing was searched for.
    """
    steps = answer.steps
    places = {token: place for place, token in enumerate(answer.labels)}
    guess = None if "cross" in kinds_of(answer.recording) or not steps else len(steps) - 1
    counts = [step.counts and place != guess for place, step in enumerate(steps)]
    counted = [step for step, one in zip(steps, counts, strict=True) if one]
    return {
        "tokens": [units_of([label], "piece").labels[0] for label in answer.labels.values()],
        "special": [label in SPECIAL for label in answer.labels.values()],
        "read": _whole([places[step.read] for step in steps]),
        "label": _whole([places[step.label] for step in steps]),
        "counts": counts,
        "probability": _real([step.probability for step in steps]),
        "loss": _real([step.loss for step in steps]),
        "entropy": _real([step.entropy for step in steps]),
        "rank": _whole([step.rank for step in steps]),
        "likeliest": _whole([[places[token] for token, _ in step.likeliest] for step in steps]),
        "chances": _real([[chance for _, chance in step.likeliest] for step in steps]),
        "guess": guess,
        "typed": "target" in answer.spelled_as_bytes,
        "forgotten": forgot_the_shift([step.read for step in counted], [step.label for step in counted], pad_id=-1),
        "rows": {"read": _rows(answer.read), "predicted": _rows(answer.predicted)},
        "beams": _beams(answer, places),
    }


def _rows(labels: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Where each step stands among the queries of a head that are shown as pieces, words or characters.

    Returns:
        By unit: ``row`` (T,), the first query that the step's piece is part of; ``shown`` (T,), the same among those
        that are left when special tokens are hidden, -1 for a step that is hidden itself.
    """
    rows: dict[str, dict[str, Any]] = {}
    for unit in get_args(Unit):
        units = units_of(labels, unit)
        row = [0] * len(labels)
        for place, pieces in reversed(list(enumerate(units.pieces))):
            for piece in pieces:
                row[piece] = place
        hidden = np.cumsum(units.special)
        left = [-1 if units.special[place] else place - int(hidden[place]) for place in row]
        rows[unit] = {"row": _whole(row), "shown": _whole(left)}
    return rows


def _beams(answer: Answer, places: dict[int, int]) -> list[list[dict[str, Any]]]:
    """The candidates of each step; none at the steps of a text that was given and not searched for."""
    if not answer.beams:
        return []
    given = len(answer.steps) - 1 if answer.target is None else 0
    written = tuple(step.label for step in answer.steps[given:])
    searched = answer.beams[: len(written)]
    return [[] for _ in range(given)] + [_candidates(beam, written, places) for beam in searched]


def _candidates(beam: BeamStep, written: tuple[int, ...], places: dict[int, int]) -> list[dict[str, Any]]:
    return [_candidate(one, one.ids == written[: len(one.ids)], places) for one in beam.candidates]


def _candidate(one: Candidate, is_answer: bool, places: dict[int, int]) -> dict[str, Any]:
    return {
        "before": [places[token] for token in one.beam[-MOST_OF_A_BEAM:]],
        "cut": len(one.beam) > MOST_OF_A_BEAM,
        "token": places[one.token],
        "score": one.score,
        "fate": one.fate,
        "answer": is_answer,
    }


def _whole(numbers: Sequence[Any]) -> np.ndarray:
    return np.array(numbers, dtype=np.int32)


def _real(numbers: Sequence[Any]) -> np.ndarray:
    return np.array(numbers, dtype=np.float32)
