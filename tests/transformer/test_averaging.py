"""Averages of weights, against means worked out by hand."""

import pytest
import torch

from transformer.averaging import LastAverage, MovingAverage


def weights(*values: float) -> dict[str, torch.Tensor]:
    return {"a": torch.tensor([values[0]]), "b": torch.tensor([values[-1], 1.0])}


def test_the_moving_average_keeps_its_share_of_what_it_was():
    average = MovingAverage(0.75)
    assert average.mean() is None
    steps = [8.0, 4.0, 0.0]
    # Having seen many steps: 8; then 3/4 * 8 + 1/4 * 4 = 7; then 3/4 * 7 = 5.25
    for step, expected in zip(steps, (8.0, 7.0, 5.25), strict=True):
        average.after_step(weights(step), seen=1000)
        assert average.mean()["a"].item() == pytest.approx(expected)
        assert average.mean()["b"].tolist() == pytest.approx([expected, 1.0])


def test_the_moving_average_forgets_faster_at_first():
    average = MovingAverage(0.99)
    average.after_step(weights(8.0), seen=0)
    average.after_step(weights(4.0), seen=1)  # 2/11 * 8 + 9/11 * 4
    assert average.mean()["a"].item() == pytest.approx(52 / 11)
    average.after_step(weights(0.0), seen=2)  # 3/12 of it
    assert average.mean()["a"].item() == pytest.approx(13 / 11)


def test_without_decay_the_average_is_the_weights():
    average = MovingAverage(0.0)
    for step in range(3):
        average.after_step(weights(float(step)), seen=step)
        assert average.mean()["a"].item() == step


def test_the_mean_of_the_last_evaluations_forgets_the_ones_before():
    average = LastAverage(3)
    assert average.mean() is None
    means = []
    for value in (1.0, 3.0, 8.0, 4.0, 0.0):
        average.at_evaluation(weights(value))
        means.append(average.mean()["a"].item())
    assert means == pytest.approx([1, 2, 4, 5, 4])
    assert len(average.sets) == 3


@pytest.mark.parametrize("average", [MovingAverage(0.5), LastAverage(2)])
def test_an_average_does_not_hold_on_to_the_weights_themselves(average):
    live = weights(1.0)
    average.after_step(live, seen=0)
    average.at_evaluation(live)
    live["a"].fill_(9.0)
    assert average.mean()["a"].item() == 1.0
