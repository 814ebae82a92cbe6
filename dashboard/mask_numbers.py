"""The numbers of the mask lab: masks, patterns before and after an edit, and what follows from it.

N batch · H heads · L query length · S key length · T target length
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dashboard.figures.colours import full_colour
from dashboard.mask_edits import Edit
from dashboard.mask_runs import Batch, Ran, inputs_of, run, writes
from dashboard.selection import sites_of
from transformer.mask_code import code_of_edits
from transformer.mask_lint import Finding, lint_mask, lint_padding_mask
from transformer.masks import causal_mask, padding_mask
from transformer.parting import parting
from transformer.recording import Kind, Recording, Site
from transformer.units import SPECIAL, units_of


def masked_numbers(
    batch: Batch, edits: tuple[Edit, ...], kind: Kind, layer: int, head: int, sentence: int
) -> dict[str, Any]:
    """One head's mask and pattern, before and after.

    Returns:
        ``queries``, ``keys``, ``special``: labels, as in :func:`dashboard.numbers.head_numbers`. ``given``, ``mask``:
        (L, S) float32, what was added to the scores before and after; -inf blocks. ``before``, ``after``: (L, S)
        float32 patterns, not-a-number where the mask blocks. ``taken``: (L, S) bytes, 1 where a weight was set to 0
        after the softmax. ``empty``: rows that may look at nothing. ``code``: Python that makes the mask of the head.

    Raises:
        IndexError: no such layer, head or sentence.
    """
    plain, changed = run(batch), run(batch, edits)
    site = sites_of(plain.recording, kind)[layer]
    given, mask = (ran.recording.mask(site, head, sentence).numpy() for ran in (plain, changed))
    before, after = (ran.recording.pattern(site, head, sentence).numpy() for ran in (plain, changed))
    zeroed = changed.recording.runs[-1].attentions[site].masks.of_sentence(sentence, site.heads, head).zeroed
    concerned = [(edit.rule, edit.renormalise) for edit in edits if edit.concerns(kind, layer, head)]
    rows, columns = _labels(batch, plain, site, sentence)
    return {
        "kind": kind,
        "queries": named(rows),
        "keys": named(columns),
        "special": {"queries": [row in SPECIAL for row in rows], "keys": [column in SPECIAL for column in columns]},
        "given": given,
        "mask": mask,
        "before": np.where(np.isneginf(given), np.nan, before).astype(np.float32),
        "after": np.where(np.isneginf(mask), np.nan, after).astype(np.float32),
        "taken": np.zeros(mask.shape, np.uint8) if zeroed is None else zeroed.numpy().astype(np.uint8),
        "code": code_of_edits(concerned, head, site.heads, *mask.shape),
        "empty": np.flatnonzero(np.isneginf(mask).all(axis=1)).tolist(),
        "low": 0.0,
        "high": full_colour(mask.shape[1]),
        "removed": None,
    }


def chance_numbers(batch: Batch, edits: tuple[Edit, ...], sentence: int) -> dict[str, Any]:
    """The probability of each token that is to be predicted, before and after: two times (T,) float32."""
    plain, changed = run(batch), run(batch, edits)
    labels = [step.label for step in plain.steps[sentence]]
    return {
        "tokens": named(batch.asked.target_tokenizer.labels(labels)),
        "before": np.array([step.probability for step in plain.steps[sentence]], np.float32),
        "after": np.array([step.probability for step in changed.steps[sentence]], np.float32),
        "loss": [sum(step.loss for step in ran.steps[sentence]) / max(1, len(labels)) for ran in (plain, changed)],
    }


def written_numbers(batch: Batch, edits: tuple[Edit, ...], sentence: int) -> dict[str, Any]:
    """What the model writes by itself, before and after."""
    before, after = (asdict(writes(batch, sentence, some)) for some in ((), edits))
    return {"before": before, "after": after}


def layer_numbers(batch: Batch, edits: tuple[Edit, ...], sentence: int) -> dict[str, Any]:
    """How far the hidden states of the two runs are apart: for each stream its places, and (places, L) float32."""
    plain, changed = run(batch), run(batch, edits)
    parted = [one for one in parting(plain.recording, changed.recording, sentence) if ".layers." in one.path]
    streams = []
    for part in dict.fromkeys(one.path.split(".layers.")[0] for one in parted):
        mine = [one for one in parted if one.path.startswith(f"{part}.layers.")]
        kind: Kind = "decoder" if part.endswith("decoder") else "encoder"
        site = next(site for site in plain.recording.sites if site.kind == kind)
        places = [one.path.removeprefix(f"{part}.layers.").partition(".") for one in mine]
        streams.append(
            {
                "kind": kind,
                "tokens": named(_labels(batch, plain, site, sentence, predicted=False)[0]),
                "places": [{"layer": int(layer), "after": after.removeprefix("after_")} for layer, _, after in places],
                "distance": torch.stack([one.distance for one in mine]).numpy(),
            }
        )
    return {"streams": streams}


def all_masks(batch: Batch, edits: tuple[Edit, ...], kind: Kind, layer: int, head: int) -> dict[str, Any]:
    """Every mask of the run as itself: its name, shape in letters, size, dtype, what it means, and cells.

    It means ``padding``; ``none`` where nothing is padded and None is passed; ``flag``; or ``merged``: what the softmax
    of the head receives, a picture for each sentence. Cells are float32, what is added to a score: -inf blocks, as
    ``True`` does in a bool mask.
    """
    ran, inputs, pad_id = run(batch, edits), inputs_of(batch), batch.asked.config.pad_id
    of_padding = {"src_key_padding_mask": ("(N, S)", inputs[0])}
    flag, square = "is_causal", "(S, S)"
    if len(inputs) == 2:
        of_padding |= {"tgt_key_padding_mask": ("(N, T)", inputs[1]), "memory_key_padding_mask": ("(N, S)", inputs[0])}
        flag, square = "tgt_is_causal", "(T, T)"
    found = [
        _mask(name, letters, ids == pad_id, "padding" if padding_mask(ids, pad_id) is not None else "none")
        for name, (letters, ids) in of_padding.items()
    ]
    length = inputs[-1].size(1)
    found.append(_mask(flag, square, causal_mask(length, length), "flag"))
    site = sites_of(ran.recording, kind)[layer]
    merged = torch.stack([ran.recording.mask(site, head, sentence) for sentence in range(len(batch.targets))])
    found.append(_mask("merged", "(N, L, S)", merged, "merged"))
    return {"masks": found, "sentences": len(batch.targets)}


def lint_numbers(
    batch: Batch, edits: tuple[Edit, ...], kind: Kind, layer: int, head: int, sentence: int
) -> dict[str, Any]:
    """What is suspicious about the mask that a head receives, and about the padding of its keys."""
    ran = run(batch, edits)
    site = sites_of(ran.recording, kind)[layer]
    mask = ran.recording.mask(site, head, sentence)
    keys = inputs_of(batch)[0 if kind in ("encoder", "cross") else -1][sentence]
    hidden = torch.isneginf(mask).all(dim=0)  # keys that nobody may look at
    findings = lint_mask(mask, mask.size(0), mask.size(1), "attn_mask", causal=kind == "decoder")
    if kind != "decoder" and not hidden.all():  # else no row may look at anything, which was said
        findings += lint_padding_mask(hidden, keys, batch.asked.config.pad_id)
    rows, columns = _labels(batch, ran, site, sentence)
    rows, columns = named(rows), named(columns)
    of_keys = ("hides_tokens", "shows_padding")
    return {"findings": [named_finding(one, columns if one.name in of_keys else rows) for one in findings]}


def _labels(batch: Batch, ran: Ran, site: Site, sentence: int, predicted: bool = True) -> tuple[list[str], list[str]]:
    """What rows and columns are called; rows of cross-attention by what they are to predict."""
    recording: Recording = ran.recording
    rows = recording.query_tokens(site, sentence)
    if site.kind == "cross" and predicted:
        labels = [step.label for step in ran.steps[sentence]]
        rows = [*batch.asked.target_tokenizer.labels(labels), *rows[len(labels) :]]
    return rows, recording.key_tokens(site, sentence)


def named(labels: Sequence[str]) -> list[str]:
    """Labels with signs for what could not be seen, each by itself: the padding too."""
    return [units_of([label], "piece").labels[0] for label in labels]


def _mask(name: str, letters: str, mask: Tensor, means: str) -> dict[str, Any]:
    added = torch.zeros(mask.shape).masked_fill(mask, -torch.inf) if mask.dtype == torch.bool else mask
    dtype = {"none": "None", "flag": "bool"}.get(means, str(mask.dtype))
    size = list(mask.shape)
    return {"name": name, "shape": letters, "size": size, "dtype": dtype, "means": means, "cells": added.numpy()}


def named_finding(finding: Finding, names: Sequence[str]) -> dict[str, Any]:
    """A finding with the names of its places."""
    return {"name": finding.name, "places": [names[place] for place in finding.places], "repair": finding.repair}
