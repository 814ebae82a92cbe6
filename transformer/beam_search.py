"""Beam search: several translations grow side by side, and the best of them stay.

N batch · B beams · T target length so far · V vocabulary
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn import functional as F

from transformer.decoded import Decoded
from transformer.stepping import Stepper

Fate = Literal["kept", "ended", "dropped"]


@dataclass(frozen=True)
class Candidate:
    """One more token on one of the beams.

    Attributes:
        beam: the ids that the beam had.
        token: the id that would follow them.
        log_probability: the sum over the beam's ids and the token.
        score: log_probability over length ** length_penalty, the token counted.
        fate: ``kept``: a beam of the next step; ``ended``: among the B best hypotheses that have ended so far, by its
            end token or at the limit; or ``dropped``.
    """

    beam: tuple[int, ...]
    token: int
    log_probability: float
    score: float
    fate: Fate

    @property
    def ids(self) -> tuple[int, ...]:
        """The beam's and the token."""
        return (*self.beam, self.token)


@dataclass(frozen=True)
class BeamStep:
    """What beam search did with one sentence at one step.

    Attributes:
        candidates: those considered, the likeliest first: 2B, or as many as there can be.
        live: the beams after the step, the likeliest first; none where the limit ends them all.
        ended: the B best hypotheses that have ended so far, the best first.
    """

    candidates: tuple[Candidate, ...]
    live: tuple[Decoded, ...]
    ended: tuple[Decoded, ...]


def beam_search(
    stepper: Stepper,
    limits: Tensor,
    beams: int,
    length_penalty: float,
    eos_id: int,
    drop_ended: bool,
    trace: Sequence[list[BeamStep]] | None = None,
) -> list[list[Decoded]]:
    """Search until no live hypothesis of a sentence is better than its B ended ones, or its limit is reached.

    The score of a hypothesis is the sum of its tokens' log-probabilities over its length ** length_penalty; a live
    one is judged at its present length.

    Args:
        limits: (N,), the most tokens each may have.
        beams: B.
        length_penalty: 0 favours short hypotheses, 1 takes the mean log-probability of a token, more favours long ones.
        drop_ended: sentences leave the batch when their search ends.
        trace: a list for each sentence, to which every step of its search is added.

    Returns:
        The B best of each sentence, the best first.

    Source: Wu et al. 2016, section 7; here with the plain power of the length, as fairseq has it.
    """
    logits = stepper.begin()  # (N, V)
    device, vocabulary = logits.device, logits.size(1)
    found: list[list[Decoded]] = [[Decoded((), finished=False)] for _ in limits]
    rows = torch.arange(len(found), device=device)  # which sentence each row is of
    stepper.select(rows.repeat_interleave(beams))
    added = logits.log_softmax(dim=-1).repeat_interleave(beams, dim=0)  # (N*B, V)
    total = logits.new_full((len(found), beams), -math.inf)
    total[:, 0] = 0  # in the beginning all beams are one
    live = limits.new_zeros((len(found), beams, 0))  # (N, B, T)
    ended = _Ended(total, longest=int(limits.max()))
    over = limits < 1
    among_best = torch.arange(2 * beams, device=device) < beams

    for length in range(1, int(limits.max()) + 1):
        candidates = (total[..., None] + added.unflatten(0, (-1, beams))).flatten(1)  # (N, B*V)
        best, index = candidates.topk(min(2 * beams, candidates.size(1)))  # (N, 2B): B stay if B of them end
        origin, token = index // vocabulary, index % vocabulary
        grown = torch.cat([live.gather(1, origin[..., None].expand(-1, -1, length - 1)), token[..., None]], dim=2)
        judged, ends = best / length**length_penalty, token == eos_id
        taken = ends & among_best[: ends.size(1)] & ~over[:, None]
        ended.offer(judged.masked_fill(~taken, -math.inf), grown, finished=True)

        total, kept = best.masked_fill(ends, -math.inf).topk(beams)  # (N, B)
        live, parent = grown.gather(1, kept[..., None].expand(-1, -1, length)), origin.gather(1, kept)
        scores, at_limit = total / length**length_penalty, (limits[rows] <= length) & ~over
        if bool(at_limit.any()):
            ended.offer(scores.masked_fill(~at_limit[:, None], -math.inf), live, finished=False)
        if trace is not None:
            stays = (total != -math.inf) & ~at_limit[:, None]  # (N, B)
            for row in (~over).nonzero()[:, 0].tolist():
                considered = (part[row].tolist() for part in (origin, token, best, judged))
                steps = trace[int(rows[row])]
                steps.append(_traced(steps, considered, kept[row][stays[row]].tolist(), ended.of(row)))
        over = over | at_limit | (ended.scores[:, -1] >= scores[:, 0])

        if bool(over.all()):
            break
        everyone = going = torch.arange(len(rows), device=device)
        if drop_ended and bool(over.any()):
            for row in over.nonzero()[:, 0].tolist():
                found[int(rows[row])] = ended.of(row)
            going = (~over).nonzero()[:, 0]
            rows, over, total, live, parent = rows[going], over[going], total[going], live[going], parent[going]
            ended.select(going)
        stepper.select((going[:, None] * beams + parent).flatten(), of_one_source=going is everyone)
        added = stepper.step(live[..., -1].flatten()).log_softmax(dim=-1)
    for row, sentence in enumerate(rows.tolist()):
        found[sentence] = ended.of(row)
    return found


class _Ended:
    """The B best hypotheses of each sentence that have ended.

    scores (N, B), best first, ``-inf`` where there is none yet; ids (N, B, longest); lengths (N, B); finished (N, B).
    """

    def __init__(self, like: Tensor, longest: int) -> None:
        self.scores = torch.full_like(like, -math.inf)
        self.ids = torch.zeros((*like.shape, longest), dtype=torch.long, device=like.device)
        self.lengths = torch.zeros_like(like, dtype=torch.long)
        self.finished = torch.zeros_like(like, dtype=torch.bool)

    def offer(self, scores: Tensor, ids: Tensor, finished: bool) -> None:
        """Take in what is better than what is there: scores (N, any number), ``-inf`` = nothing; ids (N, same, T)."""
        length, longest = ids.size(-1), self.ids.size(-1)
        self.scores, kept = torch.cat([self.scores, scores], dim=1).topk(self.scores.size(1))  # (N, B)

        def choose(old: Tensor, new: Tensor) -> Tensor:
            picked = kept if old.dim() == 2 else kept[..., None].expand(-1, -1, longest)
            return torch.cat([old, new], dim=1).gather(1, picked)

        self.ids = choose(self.ids, F.pad(ids, (0, longest - length)))
        self.lengths = choose(self.lengths, torch.full_like(scores, length, dtype=torch.long))
        self.finished = choose(self.finished, torch.full_like(scores, finished, dtype=torch.bool))

    def select(self, rows: Tensor) -> None:
        """Go on with some of the sentences."""
        self.scores, self.ids = self.scores[rows], self.ids[rows]
        self.lengths, self.finished = self.lengths[rows], self.finished[rows]

    def of(self, row: int) -> list[Decoded]:
        """The hypotheses of one sentence; an empty one, unfinished, where there are none."""
        columns = (part[row].tolist() for part in (self.ids, self.lengths, self.finished, self.scores))
        found = [
            Decoded(tuple(ids[:length]), finished, score)
            for ids, length, finished, score in zip(*columns, strict=True)
            if score > -math.inf
        ]
        return found or [Decoded((), finished=False)]


def _traced(
    steps: Sequence[BeamStep], considered: Iterable[list[Any]], kept: Sequence[int], ended: Sequence[Decoded]
) -> BeamStep:
    """One more step of a sentence.

    Args:
        steps: those before it.
        considered: which beam, token, log-probability and score: a list each, with a place for each candidate.
        kept: places of the candidates that are the next step's beams, in the beams' order.
    """
    beams = [one.ids for one in steps[-1].live] if steps else [()]
    has_ended = {one.ids for one in ended}
    candidates = []
    for place, (beam, token, log_probability, score) in enumerate(zip(*considered, strict=True)):
        if log_probability == -math.inf:
            break  # fewer tokens than places: the rest is nothing
        ids = (*beams[beam], token)
        fate: Fate = "ended" if ids in has_ended else "kept" if place in kept else "dropped"
        candidates.append(Candidate(beams[beam], token, log_probability, score, fate))
    live = (Decoded(candidates[place].ids, finished=False, score=candidates[place].score) for place in kept)
    return BeamStep(tuple(candidates), tuple(live), tuple(one for one in ended if one.ids))
