"""From a source to a target, one token at a time.

N batch · S source length · T target length · V vocabulary
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from transformer.checkpoint import Checkpoint
from transformer.text_model import TextTransformer


@dataclass(frozen=True)
class Decoded:
    """One decoded sentence: its ids, the end token included where ``finished``; else the limit cut it."""

    ids: tuple[int, ...]
    finished: bool


def length_limit(source_length: int, max_length: int) -> int:
    """How many tokens a target may get: three times its source's and ten more, within the model's limit."""
    return min(3 * source_length + 10, max_length)


@torch.inference_mode()
def greedy(model: TextTransformer, source: Tensor, limit: int) -> list[Decoded]:
    """Take the likeliest token at every step, until the end token or the limit.

    Args:
        model: an encoder-decoder in eval mode.
        source: (N, S) ids, padded.
        limit: the most tokens a target may have.

    Raises:
        ValueError: an encoder or a decoder alone, which has no target to decode.
    """
    config = model.config
    if config.architecture != "encoder-decoder":
        raise ValueError(f"A model of architecture {config.architecture} cannot translate; wanted encoder-decoder.")
    memory, padding = model.encode(source)
    target = source.new_full((source.size(0), 1), config.bos_id)  # (N, T)
    ended = torch.zeros(source.size(0), dtype=torch.bool, device=source.device)
    while target.size(1) <= limit and not bool(ended.all()):
        chosen = model.decode(target, memory, padding)[:, -1].argmax(dim=-1)  # (N, V) -> (N,)
        target = torch.cat([target, chosen.masked_fill(ended, config.pad_id)[:, None]], dim=1)
        ended |= chosen == config.eos_id
    return [_until_end(row, config.eos_id) for row in target[:, 1:].tolist()]


def translate(checkpoint: Checkpoint, texts: Sequence[str], batch_size: int = 64) -> list[Decoded]:
    """Greedy translations of many texts, in their order; texts of like length share a batch.

    Each comes out as it would alone. A text without tokens (blank) is not decoded: its translation is empty.

    Raises:
        ValueError: a text with more tokens than the model reads (the message says both numbers); a batch size below 1.
    """
    if batch_size < 1:
        raise ValueError(f"batch_size must be at least 1, not {batch_size}.")
    config = checkpoint.config
    sources = [checkpoint.source_ids(text) for text in texts]
    for text, ids in zip(texts, sources, strict=True):
        if len(ids) > config.max_length:
            raise ValueError(f"A text has {len(ids)} tokens, but the model reads {config.max_length}: {text[:40]}…")
    blank = [i for i, ids in enumerate(sources) if len(ids) == 1]  # nothing but the end token
    by_length = sorted(set(range(len(texts))).difference(blank), key=lambda i: len(sources[i]))
    done = {i: Decoded((config.eos_id,), finished=True) for i in blank}
    for start in range(0, len(by_length), batch_size):
        picked = by_length[start : start + batch_size]
        batch = pad([sources[i] for i in picked], config.pad_id)
        decoded = greedy(checkpoint.model, batch, length_limit(batch.size(1), config.max_length))
        for i, one in zip(picked, decoded, strict=True):
            limit = length_limit(len(sources[i]), config.max_length)  # its own, not that of the batch's longest
            done[i] = one if len(one.ids) <= limit else Decoded(one.ids[:limit], finished=False)
    return [done[i] for i in range(len(texts))]


def pad(sequences: Sequence[Sequence[int]], pad_id: int) -> Tensor:
    """(N, S) ids, each row filled up to the longest.

    Example:
        >>> pad([[5, 6], [7]], pad_id=0)
        tensor([[5, 6],
                [7, 0]])
    """
    rows = [torch.tensor(sequence, dtype=torch.long) for sequence in sequences]
    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=pad_id)


def _until_end(ids: list[int], eos_id: int) -> Decoded:
    if eos_id in ids:
        return Decoded(tuple(ids[: ids.index(eos_id) + 1]), finished=True)
    return Decoded(tuple(ids), finished=False)
