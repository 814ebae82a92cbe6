"""Averages of a model's weights over a run: they generalise better than the last ones do."""

from collections.abc import Iterable
from typing import Protocol

import torch
from torch import Tensor
from torch.optim.swa_utils import get_ema_multi_avg_fn

Weights = dict[str, Tensor]


class Average(Protocol):
    """What training tells an average, and asks of it."""

    sets: list[Weights]  # all that it remembers, and so all that a saved run has to hold

    def after_step(self, weights: Weights, seen: int) -> None:
        """Take in the weights of a step; ``seen`` steps were taken in before."""

    def at_evaluation(self, weights: Weights) -> None:
        """Take in the weights that are to be judged."""

    def mean(self) -> Weights | None:
        """The average; None before it has seen anything."""


class MovingAverage:
    """Exponential: each step, ``decay`` of what it was and the rest of what the weights are now.

    While it has seen n steps, fewer than the decay remembers, it keeps (1 + n) / (10 + n): a short run is not judged by
    how it began.

    Source: Polyak and Juditsky 1992; as an exponential average, Tarvainen and Valpola 2017.
    """

    def __init__(self, decay: float) -> None:
        self.sets: list[Weights] = []
        self._decay = decay

    def after_step(self, weights: Weights, seen: int) -> None:
        if self.sets:
            update = get_ema_multi_avg_fn(min(self._decay, (1 + seen) / (10 + seen)))
            update(list(self.sets[0].values()), list(weights.values()), seen)
        else:
            self.sets = [_copy(weights)]

    def at_evaluation(self, weights: Weights) -> None:
        pass

    def mean(self) -> Weights | None:
        return self.sets[0] if self.sets else None


class LastAverage:
    """The mean of the weights at the last evaluations.

    Source: Vaswani et al. 2017, section 6.1 (the last 5).
    """

    def __init__(self, evaluations: int) -> None:
        self.sets: list[Weights] = []
        self._evaluations = evaluations

    def after_step(self, weights: Weights, seen: int) -> None:
        pass

    def at_evaluation(self, weights: Weights) -> None:
        self.sets = [*self.sets, _copy(weights)][-self._evaluations :]

    def mean(self) -> Weights | None:
        return {name: _mean(one[name] for one in self.sets) for name in self.sets[0]} if self.sets else None


def _copy(weights: Weights) -> Weights:
    return {name: weight.detach().clone() for name, weight in weights.items()}


def _mean(tensors: Iterable[Tensor]) -> Tensor:
    return torch.stack(list(tensors)).mean(dim=0)
