"""Which heads of cross-attention align words as people do, and what the model loses without them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch

from transformer.alignment import (
    AlignedPair,
    ErrorRate,
    Link,
    Rows,
    error_rate,
    pattern_links,
    pieces_of_tokens,
    token_spans,
)
from transformer.batches import Pair, make_batch
from transformer.checkpoint import Checkpoint
from transformer.evaluation import label_loss
from transformer.interventions import SwitchOff, edited
from transformer.recorder import record
from transformer.recording import Recording, Site


@dataclass(frozen=True)
class Heads:
    """One head of a site, the mean of its heads, or (site None) the mean of all heads of cross-attention."""

    site: Site | None
    head: int | Literal["mean"]


@dataclass(frozen=True)
class HeadAlignment:
    """How some heads align, and how many nats a label the loss grows by when they are switched off together."""

    heads: Heads
    error: ErrorRate
    loss_cost: float | None


@dataclass(frozen=True)
class AlignmentReport:
    """All heads over all sentences; what was chosen was picked on the first half of them and measured on the second.

    Attributes:
        chosen: among single heads and means.
        chosen_head: among single heads.
        other_rows: what would have been chosen from the other rows (:func:`~transformer.alignment.pattern_links`).
        loss: nats a label with every head on; None where no pairs were given to measure it on.
    """

    sentences: int
    rows: Rows
    heads: list[HeadAlignment]
    chosen: HeadAlignment
    chosen_head: HeadAlignment
    other_rows: HeadAlignment
    loss: float | None


def measure_alignment(
    checkpoint: Checkpoint, aligned: Sequence[AlignedPair], pairs: Sequence[Pair] = (), rows: Rows = "predicts"
) -> AlignmentReport:
    """Compare every head of cross-attention with the alignments that people made.

    Args:
        pairs: where the loss is measured, with and without each head: aligning is not using.

    Raises:
        ValueError: fewer than two aligned sentences, one longer than the model reads, or a model without
            cross-attention.

    Source: Michel, Levy and Neubig 2019 (heads switched off).
    """
    if len(aligned) < 2:
        raise ValueError("To choose a head on some sentences and measure it on others, at least two are wanted.")
    found = head_links(checkpoint, aligned, rows)
    single = {heads: links for heads, links in found.items() if heads.head != "mean"}
    other = head_links(checkpoint, aligned, "reads" if rows == "predicts" else "predicts")
    loss = label_loss(checkpoint, pairs) if pairs else None
    costs = {heads: None if loss is None else _loss_without(checkpoint, heads, found, pairs) - loss for heads in found}

    def choose(among: dict[Heads, list[frozenset[Link]]]) -> HeadAlignment:
        half = len(aligned) // 2
        best = min(among, key=lambda heads: error_rate(among[heads][:half], aligned[:half]).aer)
        return HeadAlignment(best, error_rate(among[best][half:], aligned[half:]), costs[best])

    return AlignmentReport(
        sentences=len(aligned),
        rows=rows,
        heads=[HeadAlignment(heads, error_rate(links, aligned), costs[heads]) for heads, links in found.items()],
        chosen=choose(found),
        chosen_head=choose(single),
        other_rows=choose(other),
        loss=loss,
    )


def head_links(
    checkpoint: Checkpoint, aligned: Sequence[AlignedPair], rows: Rows = "predicts", batch_size: int = 64
) -> dict[Heads, list[frozenset[Link]]]:
    """The links that each head shows while the decoder is fed the reference, a set a sentence.

    Raises:
        ValueError: a sentence longer than the model reads, or a model without cross-attention.
    """
    config = checkpoint.config
    if config.architecture != "encoder-decoder":
        raise ValueError(f"A model of architecture {config.architecture} has no cross-attention to align with.")
    found: dict[Heads, list[frozenset[Link]]] = {}
    for start in range(0, len(aligned), batch_size):
        group = aligned[start : start + batch_size]
        ids = [(checkpoint.source_ids(pair.source), checkpoint.target_ids(pair.target)) for pair in group]
        if (longest := max(len(side) for both in ids for side in both)) > config.max_length:
            raise ValueError(f"An aligned sentence has {longest} tokens, but the model reads {config.max_length}.")
        batch = make_batch(ids, config.pad_id, config.bos_id)
        with record(checkpoint.model) as recording, torch.inference_mode():
            checkpoint.model(*batch.inputs)
        for sentence, pair in enumerate(group):
            source_length, target_length = map(len, ids[sentence])
            pieces = _pieces(checkpoint, pair)
            for heads, pattern in _patterns(recording, sentence):
                links = pattern_links(pattern[:target_length, :source_length], *pieces, rows)
                found.setdefault(heads, []).append(links)
    return found


def _pieces(checkpoint: Checkpoint, pair: AlignedPair) -> tuple[list[list[int]], list[list[int]]]:
    source_pieces, target_pieces = (
        pieces_of_tokens(token_spans(text, tokens), tokenizer.spans(text))
        for text, tokens, tokenizer in (
            (pair.source, pair.source_tokens, checkpoint.source_tokenizer),
            (pair.target, pair.target_tokens, checkpoint.target_tokenizer),
        )
    )
    return source_pieces, target_pieces


def _patterns(recording: Recording, sentence: int) -> Iterator[tuple[Heads, npt.NDArray[np.float32]]]:
    """Every head's pattern (L, S), then each layer's mean, then the mean of all."""
    patterns = {s: recording.pattern(s, sentence=sentence).numpy() for s in recording.sites if s.kind == "cross"}
    for site, heads in patterns.items():  # (H, L, S)
        yield from ((Heads(site, head), pattern) for head, pattern in enumerate(heads))
    for site, heads in patterns.items():
        yield Heads(site, "mean"), heads.mean(axis=0)
    yield Heads(None, "mean"), np.concatenate(list(patterns.values())).mean(axis=0)


def _loss_without(checkpoint: Checkpoint, heads: Heads, among: Iterable[Heads], pairs: Sequence[Pair]) -> float:
    sites = {one.site for one in among if one.site is not None} if heads.site is None else {heads.site}
    off = [SwitchOff(site.kind, site.layer, None if heads.head == "mean" else (heads.head,)) for site in sites]
    return label_loss(replace(checkpoint, model=edited(checkpoint.model, off)), pairs)
