"""Where a training run stands, and the file that holds it."""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

import safetensors
import torch
from torch import nn

from transformer.averaging import Average
from transformer.checkpoint import write_safetensors

_ADAM = "step", "exp_avg", "exp_avg_sq"

Row = dict[str, float]


@dataclass
class Progress:
    """Where a run stands. ``batch`` batches of ``epoch`` are done."""

    step: int = 0
    epoch: int = 0
    batch: int = 0
    best_loss: float = math.inf
    without_better: int = 0  # evaluations since the best one
    loss_sum: float = 0.0  # of the labels since the last evaluation, in nats
    labels: int = 0
    tokens: int = 0  # read and predicted since the last evaluation, padding not counted
    seconds: float = 0.0
    log: list[Row] = field(default_factory=list)
    timing: list[Row] = field(default_factory=list)


def save_state(
    path: Path,
    settings: Mapping[str, object],
    progress: Progress,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    average: Average,
) -> None:
    """Write all that a run needs to go on, whole or not at all."""
    tensors = {}
    for name, parameter in model.named_parameters():
        tensors[f"model.{name}"] = parameter.detach()
        for key in _ADAM if progress.step else ():
            tensors[f"optimizer.{key}.{name}"] = optimizer.state[parameter][key]
    for i, weights in enumerate(average.sets):
        tensors |= {f"average.{i}.{name}": weight for name, weight in weights.items()}
    metadata = {"settings": settings, "progress": asdict(progress), "sets": len(average.sets)}
    write_safetensors(path, tensors, {key: json.dumps(value) for key, value in metadata.items()})


def load_state(
    path: Path,
    settings: Mapping[str, object],
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    average: Average,
    device: str,
) -> Progress:
    """Read what :func:`save_state` wrote into the model, the optimizer and the average.

    Raises:
        ValueError: the run had other settings, named in the message; the file is damaged.
    """
    try:
        with safetensors.safe_open(path, "pt", device=device) as file:
            metadata = {key: json.loads(value) for key, value in file.metadata().items()}
            _refuse_other(path, metadata["settings"], settings)
            progress = Progress(**metadata["progress"])
            names = [name for name, _ in model.named_parameters()]
            with torch.no_grad():
                for name in names:
                    parameter = model.get_parameter(name)
                    parameter.copy_(file.get_tensor(f"model.{name}"))
                    for key in _ADAM if progress.step else ():
                        optimizer.state[parameter][key] = file.get_tensor(f"optimizer.{key}.{name}")
            average.sets = [
                {name: file.get_tensor(f"average.{i}.{name}") for name in names} for i in range(metadata["sets"])
            ]
    except (safetensors.SafetensorError, RuntimeError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} is damaged, or is the state of another version.") from error
    return progress


def _refuse_other(path: Path, began_with: Mapping[str, object], now: Mapping[str, object]) -> None:
    if odd := sorted(k for k in now.keys() | began_with.keys() if now.get(k) != began_with.get(k)):
        raise ValueError(f"The run in {path.parent} began with other options: {', '.join(odd)}.")
