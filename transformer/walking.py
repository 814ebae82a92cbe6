"""Where a walk stands and what it has passed."""

import math
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer import breakdown
from transformer.breakdown import Explain
from transformer.recording import Run, Site
from transformer.walked import Axes, Part, Step, StepName, Values

_OF_LAYER: Axes = ("N", "L", "E")


@dataclass
class Path:
    """A walk under way, over one sentence of one recorded forward; everything in float64.

    Attributes:
        site: the attention that is walked through.
        part: of what comes next.
    """

    run: Run
    site: Site
    sentence: int
    steps: list[Step] = field(default_factory=list)
    part: Part = "begin"

    @property
    def other_model(self) -> str:
        """What is wrong where what was computed is not what was recorded."""
        return (
            f"This model does not compute what was recorded at {self.site}: its weights are others, or it was edited."
        )

    def add(
        self, name: StepName, tensor: Tensor, explain: Explain, axes: Axes = _OF_LAYER, inside: bool = False
    ) -> None:
        """A step that makes one tensor."""
        self.add_several(name, [Values("", tensor.float(), axes, inside, explain)])

    def add_several(self, name: StepName, values: list[Values]) -> None:
        """A step that makes q, k and v."""
        self.steps.append(Step(name, self.part, tuple(values)))

    def normed(self, name: StepName, x: Tensor, norm: nn.LayerNorm, axes: Axes = _OF_LAYER) -> Tensor:
        """A step that normalises."""
        made = layer_norm(x, norm)
        self.add(name, made, breakdown.normalised(x, norm), axes)
        return made

    def hidden(self, path: str) -> Tensor:
        """(L, E), as it was recorded at a hook point."""
        return self.of_sentence(self.run.hidden[path])

    def of_sentence(self, x: Tensor) -> Tensor:
        """The sentence's part of a batch."""
        return double(x)[self.sentence]

    def check(self, computed: Tensor, recorded: Tensor) -> None:
        """Raise ValueError unless both are the same but for rounding."""
        rounding = math.sqrt(torch.finfo(self.run.attentions[self.site].query.dtype).eps)
        if not torch.allclose(computed, recorded, rtol=0, atol=rounding * (1 + float(recorded.abs().max()))):
            raise ValueError(self.other_model)


def double(x: Tensor) -> Tensor:
    """In float64, on the CPU, for looking at only."""
    return x.detach().cpu().double()


def double_or_none(x: Tensor | None) -> Tensor | None:
    """The same of a bias that may be missing."""
    return None if x is None else double(x)


def layer_norm(x: Tensor, norm: nn.LayerNorm) -> Tensor:
    """What a norm makes of (L, E)."""
    return F.layer_norm(x, norm.normalized_shape, double(norm.weight), double_or_none(norm.bias), norm.eps)
