"""What positions do here: the sentence at hand with other positions, or none."""

from typing import Any, Literal

from dashboard.scene_numbers import side_numbers
from dashboard.scenes import Scene, play
from transformer.interventions import ChangePositions
from transformer.recording import Kind, Stream

Way = Literal["off", "shuffle", "shift", "scale"]
AMOUNTS = {"off": (0, 0), "shuffle": (1, 20), "shift": (0, 64), "scale": (0, 40)}  # the least and the most
MOST = max(most for _, most in AMOUNTS.values())


def effect_numbers(
    scene: Scene, stream: Stream, way: Way, amount: int, kind: Kind, layer: int, head: int
) -> dict[str, Any]:
    """A head on both sides: ``right`` and ``broken``, see :func:`dashboard.scene_numbers.side_numbers`.

    Args:
        amount: a seed for ``shuffle``, tokens for ``shift``, tenths for ``scale``.

    Raises:
        IndexError: no such layer or head.
        ValueError: the model adds no positions to the stream, or knows none so far on.
    """
    change = ChangePositions(stream, way, amount / 10 if way == "scale" else amount)
    sides = {"right": play(scene), "broken": play(scene, (change,))}
    return {name: side_numbers(scene, played, kind, layer, head) for name, played in sides.items()}
