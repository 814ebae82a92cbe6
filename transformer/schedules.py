"""The learning rate over a run, as a share of its top: pure functions of where the run stands."""

import math
from collections.abc import Callable


def linear(step: int, warmup: int, steps: int) -> float:
    """Up over the warm-up, then on the straight line from 1 at the run's beginning to 0 at its end.

    Args:
        step: how many are done.
        warmup: steps up to the top.
        steps: of the whole run.

    Example:
        >>> [round(linear(step, 2, 5), 2) for step in range(5)]
        [0.5, 0.8, 0.6, 0.4, 0.2]
    """
    return min(_climb(step, warmup), 1 - step / steps)


def cosine(step: int, warmup: int, steps: int) -> float:
    """Up over the warm-up, then down half a cosine to 0 at the run's end.

    Source: Loshchilov and Hutter 2017, without restarts.
    """
    if step < warmup:
        return _climb(step, warmup)
    return (1 + math.cos(math.pi * (step - warmup) / (steps - warmup))) / 2


def vaswani(step: int, warmup: int, steps: int) -> float:
    """Up over the warm-up, then down with the inverse square root of the step, whatever the run's length.

    The paper's top is 1 / sqrt(E * warm-up).

    Source: Vaswani et al. 2017, section 5.3.
    """
    return min(_climb(step, warmup), math.sqrt(max(warmup, 1) / (step + 1)))


def _climb(step: int, warmup: int) -> float:
    return min((step + 1) / max(warmup, 1), 1.0)


SCHEDULES: dict[str, Callable[[int, int, int], float]] = {"linear": linear, "cosine": cosine, "vaswani": vaswani}
