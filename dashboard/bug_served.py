"""What the JavaScript of the theatre of bugs may ask for over HTTP."""

from collections.abc import Callable
from typing import Any

from dashboard.asked import Asked, one_of, whole
from dashboard.bug_code import SLIPS
from dashboard.bug_numbers import played_numbers
from dashboard.bugs import MOST_SEEDS
from dashboard.scenes import Scene
from transformer.pooling import Proceed
from transformer.recording import Kind

_MOST = 1_000


def _played(scene: Scene, asked: Asked, proceed: Proceed) -> dict[str, Any]:
    return played_numbers(
        scene,
        one_of(SLIPS, asked, "bug"),
        whole(asked, "seed", 1, MOST_SEEDS),
        one_of(Kind, asked, "kind"),
        whole(asked, "layer", 0, _MOST),
        whole(asked, "head", 0, _MOST),
    )


ANSWERS: dict[str, Callable[[Scene, Asked, Proceed], dict[str, Any]]] = {"played": _played}
