"""Beam search finds what an exhaustive search finds, and its scores are the model's own."""

import itertools
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from small_models import made_up_pairs, small_config, untrained_checkpoint

from transformer import TextTransformer
from transformer.beam_search import beam_search
from transformer.decoded import Decoded
from transformer.decoding import Decoding, decode, hypotheses, pad, translate

SOURCE = torch.tensor([[4, 5, 6, 3], [7, 5, 3, 0]])


def tiny_model(seed: int, ends: float = 0.0) -> TextTransformer:
    """Seven tokens: few enough to try every target. ``ends`` makes the end token likelier or not."""
    torch.manual_seed(seed)
    changes = {"source_vocabulary": 8, "target_vocabulary": 7, "tie_output": False, "dropout": 0.0}
    model = TextTransformer(small_config(**changes)).eval()
    with torch.no_grad():
        model.output.weight.mul_(3)
        model.output.bias[3] = ends
    return model


@torch.no_grad()
def log_probability(model: TextTransformer, source: torch.Tensor, ids: tuple[int, ...]) -> float:
    """Of a target, teacher-forced; padding is no token."""
    source = source[source != 0][None]
    logits = model(source, torch.tensor([[2, *ids[:-1]]]))[0]
    logits[:, 0] = -math.inf
    return logits.log_softmax(-1).gather(1, torch.tensor(ids)[:, None]).sum().item()


@pytest.mark.parametrize("length_penalty", [0.0, 0.7, 1.0, 1.5])
@pytest.mark.parametrize("seed", range(3))
def test_beams_enough_for_every_prefix_find_the_best_targets(seed: int, length_penalty: float) -> None:
    """With a beam for each prefix nothing is pruned; the search can only end early, which the limit forbids here."""
    model, limit = tiny_model(seed, ends=-1.0), 3
    prefixes = 6 ** (limit - 1)
    everything = [
        (*prefix, last)
        for length in range(limit)
        for prefix in itertools.product((1, 2, 4, 5, 6), repeat=length)
        for last in ([3] if length < limit - 1 else range(1, 7))
    ]
    found = decode(model, SOURCE, limit, Decoding("beam", beams=prefixes, length_penalty=length_penalty))
    for source, beams in zip(SOURCE, found, strict=True):
        scores = {ids: log_probability(model, source, ids) / len(ids) ** length_penalty for ids in everything}
        best = sorted(scores, key=scores.__getitem__, reverse=True)[:5]
        assert [one.ids for one in beams[:5]] == best
        assert [one.finished for one in beams[:5]] == [ids[-1] == 3 for ids in best]


@given(st.integers(0, 10_000), st.integers(1, 5), st.floats(0, 2), st.floats(-2, 3), st.integers(1, 9))
def test_scores_are_the_models_own_and_fall(seed: int, beams: int, penalty: float, ends: float, limit: int) -> None:
    model = tiny_model(seed, ends)
    found = decode(model, SOURCE, limit, Decoding("beam", beams=beams, length_penalty=penalty))
    for source, hypotheses_ in zip(SOURCE, found, strict=True):
        assert 1 <= len(hypotheses_) <= beams
        assert len({one.ids for one in hypotheses_}) == len(hypotheses_)
        scores = [one.score for one in hypotheses_]
        assert scores == sorted(scores, reverse=True)
        for one in hypotheses_:
            assert one.finished == (one.ids[-1] == 3)
            assert one.finished or len(one.ids) == limit
            assert 0 not in one.ids
            assert 3 not in one.ids[:-1]
            expected = log_probability(model, source, one.ids) / len(one.ids) ** penalty
            assert one.score == pytest.approx(expected, abs=2e-4)


@given(st.integers(0, 10_000), st.floats(-2, 3))
def test_one_beam_without_penalty_is_greedy(seed: int, ends: float) -> None:
    """An end counts only where it is the likeliest token, and then nothing live is left that could be better."""
    model = tiny_model(seed, ends)
    assert decode(model, SOURCE, 8, Decoding("beam", beams=1, length_penalty=0.0)) == decode(model, SOURCE, 8)


@pytest.mark.parametrize("method", ["greedy", "beam", "sample"])
@given(st.integers(0, 10_000), st.lists(st.integers(0, 9), min_size=2, max_size=6))
def test_sentences_that_leave_the_batch_change_nothing(method: str, seed: int, limits: list[int]) -> None:
    model, how = tiny_model(seed, ends=1.0), Decoding(method, seed=seed)
    generator = torch.Generator().manual_seed(seed)
    rows = [[*torch.randint(4, 8, (n,), generator=generator).tolist(), 3] for n in range(1, len(limits) + 1)]
    source = pad(rows, 0)
    kept = decode(model, source, limits, how)
    assert decode(model, source, limits, how, drop_ended=True) == kept
    for i, (row, limit) in enumerate(zip(rows, limits, strict=True)):
        assert decode(model, torch.tensor([row]), limit, how, places=[i])[0] == kept[i]
        assert len(kept[i][0].ids) <= limit


def test_the_trained_model_is_as_good_with_beams(trained) -> None:
    pairs = made_up_pairs()
    found = hypotheses(trained, [source for source, _ in pairs], Decoding("beam", beams=3))
    assert [trained.target_tokenizer.text(beams[0].ids) for beams in found] == [target for _, target in pairs]
    assert all(len(beams) == 3 and beams[0].score > beams[1].score for beams in found)


def test_a_limit_of_nothing_is_an_empty_unfinished_sentence() -> None:
    model = tiny_model(0)
    assert decode(model, SOURCE, [0, 2], Decoding("beam"))[0] == [Decoded((), finished=False)]
    assert decode(model, SOURCE, 0, Decoding("beam")) == [[Decoded((), finished=False)]] * 2


def test_blank_texts_stay_blank_with_beams() -> None:
    assert translate(untrained_checkpoint(), [" "], Decoding("beam")) == [Decoded((3,), finished=True)]


class FollowsATable:
    """Stands for a stepper: how likely a (1), b (2) and the end (3) are depends on the last token only."""

    AFTER = torch.tensor([[0, 0.5, 0.4, 0.1], [0, 0.1, 0.3, 0.6], [0, 0.5, 0.12, 0.38], [0, 0.5, 0.4, 0.1]]).log()

    def begin(self) -> torch.Tensor:
        return self.AFTER[:1].clone()

    def step(self, chosen: torch.Tensor) -> torch.Tensor:
        return self.AFTER[chosen]

    def select(self, rows: torch.Tensor, of_one_source: bool = False) -> None:
        pass


FIRST = [("a", 0.5, "kept"), ("b", 0.4, "kept"), ("E", 0.1, "dropped")]
SECOND = [("aE", 0.3, "ended"), ("ba", 0.2, "kept"), ("bE", 0.152, "dropped"), ("ab", 0.15, "kept")]
CUT_AT_TWO = [("aE", 0.3, "ended"), ("ba", 0.2, "ended"), ("bE", 0.152, "dropped"), ("ab", 0.15, "dropped")]
THIRD = [("baE", 0.12, "ended"), ("aba", 0.075, "kept"), ("bab", 0.06, "kept"), ("abE", 0.057, "dropped")]
CUT_AT_THREE = [(ids, likely, "dropped" if fate == "kept" else fate) for ids, likely, fate in THIRD]


@pytest.mark.parametrize(
    ("limit", "considered", "live", "ended"),
    [
        (2, [FIRST, CUT_AT_TWO], [["a", "b"], []], [[], ["aE", "ba"]]),
        (3, [FIRST, SECOND, CUT_AT_THREE], [["a", "b"], ["ba", "ab"], []], [[], ["aE"], ["aE", "baE"]]),
        (9, [FIRST, SECOND, THIRD], [["a", "b"], ["ba", "ab"], ["aba", "bab"]], [[], ["aE"], ["aE", "baE"]]),
    ],
)
def test_a_trace_worked_by_hand(limit: int, considered: list, live: list, ended: list) -> None:
    """Two beams, scores not penalised; past three tokens no live hypothesis is better than both that have ended."""
    trace = []
    found = beam_search(FollowsATable(), torch.tensor([limit]), 2, 0.0, 3, False, [trace])

    def spelled(beams):
        return ["".join(" abE"[token] for token in one.ids) for one in beams]

    assert len(trace) == len(considered)
    for step, expected in zip(trace, considered, strict=True):
        assert spelled(step.candidates) == [ids for ids, _, _ in expected]
        assert [one.log_probability for one in step.candidates] == pytest.approx([math.log(p) for _, p, _ in expected])
        assert [one.fate for one in step.candidates] == [fate for _, _, fate in expected]
        assert [one.score for one in step.candidates] == [one.log_probability for one in step.candidates]
    assert [spelled(step.live) for step in trace] == live
    assert [spelled(step.ended) for step in trace] == ended
    assert list(trace[-1].ended) == found[0]


@given(
    st.integers(0, 10_000),
    st.integers(1, 5),
    st.floats(0, 2),
    st.floats(-2, 3),
    st.lists(st.integers(0, 9), min_size=2, max_size=2),
    st.booleans(),
)
def test_every_hypothesis_can_be_followed_back(seed, beams, penalty, ends, limits, drop_ended) -> None:
    model, how = tiny_model(seed, ends), Decoding("beam", beams=beams, length_penalty=penalty)
    trace = [[], []]
    found = decode(model, SOURCE, limits, how, drop_ended=drop_ended, trace=trace)
    untraced = decode(model, SOURCE, limits, how, drop_ended=drop_ended)
    assert found == untraced
    assert [[one.score for one in row] for row in found] == [[one.score for one in row] for row in untraced]
    for source, limit, hypotheses_, steps in zip(SOURCE, limits, found, trace, strict=True):
        assert len(steps) <= limit
        assert [one for one in hypotheses_ if one.ids] == (list(steps[-1].ended) if steps else [])
        for one in hypotheses_:
            for length in range(1, len(one.ids) + 1):
                (seen,) = [own for own in steps[length - 1].candidates if own.ids == one.ids[:length]]
                assert seen.fate == ("ended" if length == len(one.ids) else "kept")
        live = [()]
        for length, step in enumerate(steps, start=1):
            candidates = step.candidates
            assert len(candidates) == len({one.ids for one in candidates}) <= 2 * beams
            assert all(one.beam in live for one in candidates)
            assert sorted(candidates, key=lambda one: -one.log_probability) == list(candidates)
            for one in candidates[:3]:
                assert one.log_probability == pytest.approx(log_probability(model, source, one.ids), abs=2e-4)
                assert one.score == pytest.approx(one.log_probability / length**penalty, abs=1e-5)
            assert {one.ids for one in candidates if one.fate == "kept"} == {one.ids for one in step.live}
            assert len(step.live) <= beams
            assert bool(step.live) == (length < limit)
            live = [one.ids for one in step.live]


@given(st.integers(0, 10_000), st.lists(st.integers(1, 9), min_size=2, max_size=5))
def test_a_trace_in_company_is_the_one_alone(seed: int, limits: list[int]) -> None:
    model, how = tiny_model(seed, ends=1.0), Decoding("beam", beams=3)
    generator = torch.Generator().manual_seed(seed)
    rows = [[*torch.randint(4, 8, (n,), generator=generator).tolist(), 3] for n in range(1, len(limits) + 1)]
    traces = [[] for _ in rows]
    decode(model, pad(rows, 0), limits, how, drop_ended=True, trace=traces)
    for row, limit, steps in zip(rows, limits, traces, strict=True):
        alone = []
        decode(model, torch.tensor([row]), limit, how, trace=[alone])
        assert [[(one.ids, one.fate) for one in step.candidates] for step in steps] == [
            [(one.ids, one.fate) for one in step.candidates] for step in alone
        ]


@pytest.mark.parametrize("method", ["greedy", "sample"])
def test_only_beam_search_leaves_a_trace(method: str) -> None:
    trace = [[], []]
    decode(tiny_model(0), SOURCE, 3, Decoding(method), trace=trace)
    assert trace == [[], []]


def test_a_trace_of_other_sentences_is_refused() -> None:
    with pytest.raises(ValueError, match="a list for each of the 2 sentences, not 1"):
        decode(tiny_model(0), SOURCE, 3, Decoding("beam"), trace=[[]])
