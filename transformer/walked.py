"""What a walk through a layer is made of: its steps, the tensor that each makes, and how a number of it came about."""

from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from transformer.breakdown import Explain
from transformer.recording import Site

Part = Literal["begin", "self_attention", "cross_attention", "feedforward", "end"]
StepName = Literal[
    "ids", "embedding", "scaled", "positions", "input",
    "self_attention", "cross_attention",
    "norm", "memory", "projection", "heads", "scores", "mask", "softmax", "values", "joined", "out", "add",
    "ff_norm", "linear1", "activation", "linear2", "ff_add",
    "final_norm", "logits",
]  # fmt: skip
Name = Literal["", "q", "k", "v"]
Axis = Literal["N", "L", "S", "H", "D", "E", "F", "V"]
Axes = tuple[Axis, ...]


@dataclass(frozen=True, eq=False)
class Values:
    """A tensor that a step makes, of one sentence and, between split and concatenation, of one head.

    Attributes:
        name: q, k or v; nothing where the step makes only one.
        tensor: (rows, columns) float32. What the mask blocks is ``-inf``.
        axes: of the whole tensor, in a model that has the batch first.
        inside: it stands within an attention, where the order of axes is the same in any model.
        explain: how a cell of it came about.
    """

    name: Name
    tensor: Tensor
    axes: Axes
    inside: bool
    explain: Explain

    def shape(self, batch_first: bool) -> Axes:
        """The letters of the whole tensor's axes, in a model that has the batch first or the length."""
        return self.axes if batch_first or self.inside else (self.axes[1], self.axes[0], *self.axes[2:])


@dataclass(frozen=True, eq=False)
class Step:
    """One operation.

    Attributes:
        part: of the layer, or what comes before and after it.
        values: what it makes: one tensor, or q, k and v.
    """

    name: StepName
    part: Part
    values: tuple[Values, ...]

    @property
    def tensor(self) -> Tensor:
        """What it makes, the first where there are several."""
        return self.values[0].tensor


@dataclass(frozen=True, eq=False)
class Walk:
    """All steps, in the order in which the layer does them.

    Attributes:
        site: the attention that is walked through. Another one of the same layer is one step.
        sizes: how long each axis is.
    """

    site: Site
    steps: tuple[Step, ...]
    sizes: dict[Axis, int]

    def step(self, name: str) -> Step:
        """The step of a name.

        Raises:
            KeyError: the walk has none.
        """
        for step in self.steps:
            if step.name == name:
                return step
        raise KeyError(f"step {name!r}")
