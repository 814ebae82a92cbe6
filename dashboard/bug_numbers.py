"""The numbers of the theatre of bugs: a sentence as it is, and with a mistake."""

from functools import lru_cache
from typing import Any

from dashboard.bug_code import NO_SHIFT, SLIPS, lines_of
from dashboard.scene_numbers import named, side_numbers
from dashboard.scenes import Played, Scene, play
from transformer.bugs import Bug
from transformer.interventions import edited
from transformer.recording import Kind


def played_numbers(scene: Scene, bug: str, seed: int, kind: Kind, layer: int, head: int) -> dict[str, Any]:
    """A head on both sides.

    Returns:
        ``right`` and ``broken``: see :func:`dashboard.scene_numbers.side_numbers`. ``tokens``: what is to be predicted.
        ``function``, ``lines``, ``slipped``: where the mistake is made, without and with it.

    Raises:
        IndexError: no such layer or head.
        ValueError: the model cannot have the mistake.
    """
    function, lines, slipped = lines_of(bug)
    right = play(scene)
    keys_of = "target" if bug == "cross_reads_target" and kind == "cross" else None
    labels = scene.batch.asked.target_tokenizer.labels([step.label for step in right.steps])
    return {
        "right": side_numbers(scene, right, kind, layer, head),
        "broken": side_numbers(scene, broken(scene, bug, seed), kind, layer, head, keys_of),
        "tokens": named(labels),
        "function": function,
        "lines": lines,
        "slipped": slipped,
    }


def broken(scene: Scene, bug: str, seed: int = 1) -> Played:
    """The sentence with a mistake.

    Raises:
        ValueError: the model cannot have it.
    """
    return play(scene, shifted=False) if bug == NO_SHIFT else play(scene, (Bug(bug, seed),))


@lru_cache(maxsize=16)
def impossible(scene: Scene) -> dict[str, str]:
    """The mistakes that this model cannot have, and why."""
    reasons = {}
    for name in SLIPS:
        try:
            edited(scene.batch.asked.model, [] if name == NO_SHIFT else [Bug(name)])
        except ValueError as error:
            reasons[name] = str(error)
    return reasons
