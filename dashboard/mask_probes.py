"""The numbers of two tests: whether an output sees the future, and whether padding moves it.

T target length
"""

from typing import Any

import torch
from torch import Tensor

from dashboard.mask_edits import Edit
from dashboard.mask_numbers import named
from dashboard.mask_runs import Batch, model_of
from transformer.probes import Logits, leaks, padding_moves

MOST_PADS = 8


def leak_numbers(batch: Batch, edits: tuple[Edit, ...], sentence: int) -> dict[str, Any]:
    """How much each output's logits change when one token that the decoder reads is another: (T, T) float32."""
    ids = _read(batch, sentence)
    config = batch.asked.config
    others = torch.where(ids == config.target_vocabulary - 1, ids - 1, ids + 1)
    found = leaks(_of_target(batch, edits, sentence), ids, others)
    tokens = named(batch.asked.target_tokenizer.labels(ids.tolist()))
    future = found.triu(1).max() if found.numel() else found.sum()
    return {"tokens": tokens, "cells": found.numpy(), "future": float(future)}


def padding_numbers(batch: Batch, edits: tuple[Edit, ...], sentence: int) -> dict[str, Any]:
    """How much each output's logits change with 1, 2, … pads behind a stream: (MOST_PADS, T) float32 each."""
    config, ids = batch.asked.config, _read(batch, sentence)
    tried = {"target" if batch.sources else "text": (ids, _of_target(batch, edits, sentence))}
    if batch.sources:
        model = model_of(batch, edits)
        source = torch.tensor(batch.sources[sentence])
        tried["source"] = (source, lambda several: model(several, ids.expand(len(several), -1)))
    moved = {stream: padding_moves(logits, read, config.pad_id, MOST_PADS) for stream, (read, logits) in tried.items()}
    tokens = named(batch.asked.target_tokenizer.labels(ids.tolist()))
    return {
        "tokens": tokens,
        "streams": [{"stream": stream, "cells": cells.numpy()} for stream, cells in sorted(moved.items())],
        "most": max((float(cells.max()) for cells in moved.values() if cells.numel()), default=0.0),
    }


def _read(batch: Batch, sentence: int) -> Tensor:
    return torch.tensor(batch.reads[sentence])


def _of_target(batch: Batch, edits: tuple[Edit, ...], sentence: int) -> Logits:
    model = model_of(batch, edits)
    if not batch.sources:
        return model
    source = torch.tensor([batch.sources[sentence]])
    return lambda several: model(source.expand(len(several), -1), several)
