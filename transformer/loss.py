"""How surprised a model is by what it should have predicted.

N batch · T target length · V vocabulary
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from transformer.batches import Batch, Example, bucketed, make_batch
from transformer.config import TransformerConfig


@torch.inference_mode()
def loss_and_accuracy(
    logits_of: Callable[[Batch], Tensor],
    examples: Sequence[Example],
    config: TransformerConfig,
    tokens_per_batch: int = 3000,
) -> tuple[float, float]:
    """Mean cross-entropy in nats a label, and the share of labels that the model held to be the likeliest.

    Args:
        logits_of: what the model, in eval mode, makes of a batch: (N, T, V).
        examples: at least one; ids of both sides, or of the one text of a decoder alone, each with its end token.
    """
    total, right, labels = 0.0, 0, 0
    for group in bucketed(examples, tokens_per_batch):
        batch = make_batch(group, config.pad_id, config.bos_id)
        logits = logits_of(batch).cpu()
        real = batch.labels != config.pad_id  # (N, T)
        total += torch.nn.functional.cross_entropy(logits[real], batch.labels[real], reduction="sum").item()
        right += int((logits.argmax(dim=-1) == batch.labels)[real].sum())
        labels += int(real.sum())
    return total / labels, right / labels
