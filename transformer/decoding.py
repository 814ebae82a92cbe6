"""From a source to a target: greedily, by beam search or by sampling.

N batch · S source length · T target length · V vocabulary
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

import torch
from torch import Tensor

from transformer.beam_search import BeamStep, beam_search
from transformer.checkpoint import Checkpoint
from transformer.decoded import Decoded
from transformer.sampling import check_sampling, draw, sampling_probabilities
from transformer.stepping import Stepper
from transformer.text_model import TextTransformer


@dataclass(frozen=True)
class Decoding:
    """How tokens are chosen.

    Attributes:
        method: ``greedy`` takes the likeliest token at every step, ``beam`` searches for the likeliest sentence,
            ``sample`` draws.
        beams, length_penalty: see :func:`~transformer.beam_search.beam_search`.
        temperature, top_k, top_p: see :func:`~transformer.sampling.sampling_probabilities`.
        seed: of the draws; sentence i of a call draws the same whatever stands beside it.

    Raises:
        ValueError: a number that makes no sense, named in the message.
    """

    method: Literal["greedy", "beam", "sample"] = "greedy"
    beams: int = 4
    length_penalty: float = 1.0
    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    seed: int = 1

    def __post_init__(self) -> None:
        if self.method not in ("greedy", "beam", "sample"):
            raise ValueError(f"method must be greedy, beam or sample, not {self.method!r}.")
        if self.beams < 1:
            raise ValueError(f"beams must be at least 1, not {self.beams}.")
        check_sampling(self.temperature, self.top_k, self.top_p)


GREEDY = Decoding()


def length_limit(source_length: int, max_length: int) -> int:
    """How many tokens a target may get: three times its source's and ten more, within the model's limit."""
    return min(3 * source_length + 10, max_length)


@torch.inference_mode()
def decode(
    model: TextTransformer,
    source: Tensor,
    limits: int | Sequence[int],
    how: Decoding = GREEDY,
    places: Sequence[int] | None = None,
    drop_ended: bool = False,
    trace: Sequence[list[BeamStep]] | None = None,
) -> list[list[Decoded]]:
    """Decode a batch, over one key/value cache; an edited model reads all tokens anew at every step.

    Args:
        model: an encoder-decoder, or a decoder alone, which goes on with the source; in eval mode.
        source: (N, S) ids, padded; for a decoder alone of one length.
        limits: the most tokens a target may have, one number for all or one for each.
        places: what tells the draws of one sentence from those of another; 0, 1, 2 … unless given.
        drop_ended: sentences leave the batch when they end. Faster, but a recording's later runs lack them.
        trace: a list for each sentence, to which beam search adds every step of its search; other methods add none.

    Returns:
        For each sentence what it became: all its beams, the best first, or the one that was chosen step by step.

    Raises:
        ValueError: an encoder alone; a decoder alone given sources of several lengths; a trace of other sentences.
    """
    if trace is not None and len(trace) != source.size(0):
        raise ValueError(f"A trace needs a list for each of the {source.size(0)} sentences, not {len(trace)}.")
    sentences, device = source.size(0), source.device
    most = torch.tensor([limits] * sentences if isinstance(limits, int) else list(limits), device=device)  # (N,)
    stepper, eos_id = Stepper(model, source), model.config.eos_id
    if not sentences or int(most.max()) < 1:
        return [[Decoded((), finished=False)] for _ in range(sentences)]
    if how.method == "beam":
        return beam_search(stepper, most, how.beams, how.length_penalty, eos_id, drop_ended, trace)
    choose = _chooser(how, range(sentences) if places is None else places)
    ids = _token_by_token(stepper, most, choose, eos_id, drop_ended)
    return [[Decoded(tuple(one), finished=one[-1:] == [eos_id])] for one in ids]


def _chooser(how: Decoding, places: Sequence[int]) -> Callable[[Tensor, Tensor], Tensor]:
    """(rows, V) logits and (rows,) which sentences they are of -> (rows,) ids"""
    if how.method == "greedy":
        return lambda logits, sentences: logits.argmax(dim=-1)
    generators = [torch.Generator().manual_seed(how.seed * 1_000_003 + place) for place in places]

    def sample(logits: Tensor, sentences: Tensor) -> Tensor:
        probabilities = sampling_probabilities(logits, how.temperature, how.top_k, how.top_p)
        return draw(probabilities, [generators[i] for i in sentences.tolist()])

    return sample


def _token_by_token(
    stepper: Stepper, limits: Tensor, choose: Callable[[Tensor, Tensor], Tensor], eos_id: int, drop_ended: bool
) -> list[list[int]]:
    ids: list[list[int]] = [[] for _ in limits]
    rows = torch.arange(len(ids), device=limits.device)  # which sentence each row of a step is of
    logits, ended = stepper.begin(), limits < 1  # (rows, V), (rows,)
    for length in range(1, int(limits.max()) + 1):
        chosen = choose(logits, rows)
        for sentence, token, over in zip(rows.tolist(), chosen.tolist(), ended.tolist(), strict=True):
            if not over:
                ids[sentence].append(token)
        ended = ended | (chosen == eos_id) | (limits[rows] <= length)
        if bool(ended.all()):
            break
        if drop_ended and bool(ended.any()):
            going = (~ended).nonzero()[:, 0]
            rows, chosen, ended = rows[going], chosen[going], ended[going]
            stepper.select(going)
        logits = stepper.step(chosen)
    return ids


def hypotheses(
    checkpoint: Checkpoint, texts: Sequence[str], how: Decoding = GREEDY, batch_size: int = 64
) -> list[list[Decoded]]:
    """What becomes of many texts, in their order (see :func:`decode`); texts of like length share a batch.

    Each comes out as it would alone. A blank text is not decoded: its translation is empty. A decoder alone goes on
    with the texts.

    Raises:
        ValueError: a text with more tokens than the model reads (the message says both numbers); a batch size below 1.
    """
    if batch_size < 1:
        raise ValueError(f"batch_size must be at least 1, not {batch_size}.")
    config, alone = checkpoint.config, checkpoint.config.architecture == "decoder"
    read = checkpoint.source_tokenizer.ids if alone else checkpoint.source_ids
    sources = [read(text) for text in texts]
    for text, ids in zip(texts, sources, strict=True):
        if len(ids) > config.max_length:
            raise ValueError(f"A text has {len(ids)} tokens, but the model reads {config.max_length}: {text[:40]}…")
    done = {i: [Decoded((config.eos_id,), finished=True)] for i, ids in enumerate(sources) if ids == [config.eos_id]}
    waiting = sorted(set(range(len(texts))).difference(done), key=lambda i: len(sources[i]))
    for picked in _batches(waiting, sources, batch_size, of_one_length=alone):
        source = pad([sources[i] for i in picked], config.pad_id)
        if alone:
            limits = [config.max_length - 1 - source.size(1)] * len(picked)
        else:
            limits = [length_limit(len(sources[i]), config.max_length) for i in picked]
        done |= zip(picked, decode(checkpoint.model, source, limits, how, picked, drop_ended=True), strict=True)
    return [done[i] for i in range(len(texts))]


def _batches(
    waiting: Sequence[int], sources: Sequence[Sequence[int]], batch_size: int, of_one_length: bool
) -> Iterator[list[int]]:
    groups = groupby(waiting, key=lambda i: len(sources[i])) if of_one_length else [(0, iter(waiting))]
    for _, group in groups:
        members = list(group)
        for start in range(0, len(members), batch_size):
            yield members[start : start + batch_size]


def translate(
    checkpoint: Checkpoint, texts: Sequence[str], how: Decoding = GREEDY, batch_size: int = 64
) -> list[Decoded]:
    """The best of :func:`hypotheses` for each text."""
    return [found[0] for found in hypotheses(checkpoint, texts, how, batch_size)]


def pad(sequences: Sequence[Sequence[int]], pad_id: int) -> Tensor:
    """(N, S) ids, each row filled up to the longest.

    Example:
        >>> pad([[5, 6], [7]], pad_id=0)
        tensor([[5, 6],
                [7, 0]])
    """
    rows = [torch.tensor(sequence, dtype=torch.long) for sequence in sequences]
    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=pad_id)
