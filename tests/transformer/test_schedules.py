"""Learning rates, against values worked out by hand."""

import math

import pytest

from transformer.schedules import SCHEDULES, cosine, linear, vaswani


def test_the_straight_line_ends_at_nothing():
    # 1/4, 2/4, 3/4 of the top; then what is left of the run: 6/10 and so on, and 7/10 before it.
    assert [linear(step, 4, 10) for step in range(11)] == pytest.approx(
        [0.25, 0.5, 0.75, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.0]
    )


def test_half_a_cosine_ends_at_nothing():
    root = math.sqrt(0.5)  # of 1/8, 2/8, 3/8 ... of a turn
    expected = [0.5, 1.0, 1.0, (1 + root) / 2, 0.5, (1 - root) / 2, 0.0]
    assert [cosine(step, 2, 6) for step in range(7)] == pytest.approx(expected)


@pytest.mark.parametrize(("width", "warmup"), [(512, 4000), (64, 7)])
def test_the_papers_formula_is_met(width, warmup):
    top = (width * warmup) ** -0.5
    for step in (1, 2, warmup - 1, warmup, warmup + 1, 3 * warmup, 100_000):
        paper = width**-0.5 * min(step**-0.5, step * warmup**-1.5)
        assert top * vaswani(step - 1, warmup, steps=5) == pytest.approx(paper)


@pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=SCHEDULES)
def test_every_schedule_climbs_to_the_top_and_no_higher(schedule):
    rates = [schedule(step, 30, 1000) for step in range(1000)]
    assert rates[:20] == pytest.approx([(step + 1) / 30 for step in range(20)])
    assert 0.97 <= max(rates) <= 1.0
    assert rates[30:] == sorted(rates[30:], reverse=True)
    assert min(rates) > 0


@pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=SCHEDULES)
def test_no_warm_up_begins_at_the_top_and_a_long_one_never_gets_there(schedule):
    assert schedule(0, 0, 10) == 1.0
    assert schedule(2, 100, 10) == pytest.approx(0.03)
