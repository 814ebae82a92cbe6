"""How to train."""

import math
from dataclasses import dataclass

import torch

from transformer.schedules import SCHEDULES


@dataclass(frozen=True)
class TrainingOptions:
    """How to train; every one is part of the run, and a resumed run must have the same."""

    epochs: int = 30
    steps: int | None = None  # in place of epochs
    tokens_per_batch: int = 3000
    schedule: str = "linear"
    learning_rate: float = 1.2e-3  # at the top of the schedule
    warmup_steps: int = 400
    weight_decay: float = 0.01
    clip_norm: float = 1.0
    label_smoothing: float = 0.1
    word_dropout: float = 0.0
    averaging: float = 0.998  # of an exponential moving average over weights
    average_last: int | None = None  # evaluations, in place of the moving average
    evaluate_every: int | None = None  # steps; None: at the end of each epoch
    patience: int | None = None  # evaluations
    snapshots: tuple[int, ...] = ()
    precision: str = "float32"  # or bf16: autocast
    device: str = "cpu"
    seed: int = 1
    save_seconds: float = 60.0

    def __post_init__(self) -> None:
        for name in ("epochs", "steps", "tokens_per_batch", "average_last", "evaluate_every", "patience"):
            if (value := getattr(self, name)) is not None and value < 1:
                raise ValueError(f"{name} must be at least 1, not {value}.")
        for name in ("learning_rate", "clip_norm"):
            if not 0 < getattr(self, name) < math.inf:
                raise ValueError(f"{name} must be above 0, not {getattr(self, name)}.")
        for name in ("label_smoothing", "word_dropout", "averaging"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 0 and below 1, not {getattr(self, name)}.")
        if self.schedule not in SCHEDULES:
            raise ValueError(f"schedule must be one of {', '.join(SCHEDULES)}, not {self.schedule!r}.")
        if any(step < 0 for step in self.snapshots):
            raise ValueError("snapshots must be steps from 0 on.")


def check_device(name: str) -> None:
    """Refuse a device that is not there.

    Raises:
        ValueError: the message names the ones there are.
    """
    kind = name.partition(":")[0]
    there = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if not there.get(kind, False):
        usable = ", ".join(kind for kind, available in there.items() if available)
        raise ValueError(f"This machine has no device {name}; it has {usable}.")
    try:
        torch.empty(0, device=name)
    except RuntimeError as error:
        raise ValueError(f"This machine has no device {name}.") from error
