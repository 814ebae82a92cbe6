"""One sentence, run as it is and with something changed.

T target length
"""

from dataclasses import dataclass, replace
from functools import lru_cache

import torch

from dashboard.mask_runs import Batch
from dashboard.runs import Written
from transformer.decoding import decode, length_limit
from transformer.interventions import ChangePositions, Intervention, edited
from transformer.recorder import record
from transformer.recording import Recording
from transformer.steps import Step, steps_of
from transformer.text_model import TextTransformer


@dataclass(frozen=True)
class Scene:
    """A sentence by itself: a batch of one."""

    batch: Batch


@dataclass(frozen=True)
class Played:
    """What happened.

    Attributes:
        steps: a decoder row each.
        said: what the model says at each row while it reads the target.
        written: what it writes by itself, greedily; None for a decoder alone.
    """

    recording: Recording
    steps: tuple[Step, ...]
    said: str
    written: Written | None

    @property
    def loss(self) -> float:
        """The mean over the target's tokens, in nats."""
        return sum(step.loss for step in self.steps) / max(1, len(self.steps))


def scene_of(batch: Batch) -> Scene:
    """The first sentence of a batch."""
    return Scene(replace(batch, sources=batch.sources[:1], targets=batch.targets[:1]))


@lru_cache(maxsize=64)
def play(scene: Scene, changes: tuple[Intervention, ...] = (), shifted: bool = True) -> Played:
    """Run the sentence.

    Args:
        shifted: the decoder reads the target one token late. Without, it reads what it is to predict.

    Raises:
        ValueError: a change of what the model does not have.
    """
    batch, asked = scene.batch, scene.batch.asked
    model = edited(asked.model, changes) if changes else asked.model
    config, (target,) = asked.config, batch.targets
    read = torch.tensor([(config.bos_id, *target[:-1]) if shifted else target])
    inputs = (torch.tensor([batch.sources[0]]), read) if batch.sources else (read,)
    vocabularies = {"source": asked.source_tokenizer, "target": asked.target_tokenizer}
    with torch.inference_mode(), record(model, vocabularies) as recording:
        logits = model(*inputs)  # (1, T, V)
    steps = tuple(steps_of(logits[0], read[0], torch.tensor(target), config.pad_id, k=1))
    said = asked.target_tokenizer.text([step.likeliest[0][0] for step in steps])
    shifts = [int(one.amount) for one in changes if isinstance(one, ChangePositions) and one.way == "shift"]
    return Played(recording, steps, said, _written(batch, model, max(shifts, default=0)))


def _written(batch: Batch, model: TextTransformer, shift: int) -> Written | None:
    if not batch.sources:
        return None
    source, tokenizer, config = batch.sources[0], batch.asked.target_tokenizer, model.config
    room = config.max_length - (shift if config.positions == "learned" else 0)  # a learned table ends
    decoded = decode(model, torch.tensor([source]), length_limit(len(source), room))[0][0]
    return Written(tokenizer.text(decoded.ids), decoded.finished)
