"""The numbers of a teacher-forcing strip: worked by hand, and the same as torch's and as our loss."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from small_models import made_up_pairs, untrained_checkpoint

from transformer.batches import make_batch
from transformer.loss import loss_and_accuracy
from transformer.steps import Step, forgot_the_shift, steps_of


def test_a_strip_worked_by_hand() -> None:
    logits = torch.tensor([[0.125, 0.5, 0.125, 0.25], [0.7, 0.1, 0.1, 0.1]]).log() + 5  # a constant changes nothing
    first, padding = steps_of(logits, torch.tensor([2, 3]), torch.tensor([3, 0]), pad_id=0, k=2)
    assert (first.read, first.label, first.counts, first.rank) == (2, 3, True, 2)
    assert first.loss == pytest.approx(math.log(4), abs=1e-6)
    assert first.probability == pytest.approx(0.25)
    assert first.entropy == pytest.approx((0.5 * 1 + 0.25 * 2 + 2 * 0.125 * 3) * math.log(2), abs=1e-6)
    assert [token for token, _ in first.likeliest] == [1, 3]
    assert [likely for _, likely in first.likeliest] == pytest.approx([0.5, 0.25])
    assert (padding.read, padding.label, padding.counts, padding.rank) == (3, 0, False, 1)
    assert padding.loss == pytest.approx(-math.log(0.7), abs=1e-6)


def test_a_certain_model_has_no_entropy_and_a_token_it_rules_out_costs_everything() -> None:
    logits = torch.tensor([[-math.inf, 0.0, -math.inf]]).expand(2, 3)
    right, wrong = steps_of(logits, torch.tensor([1, 1]), torch.tensor([1, 2]), pad_id=0)
    assert right == Step(1, 1, True, 0.0, 1.0, 0.0, 1, right.likeliest)
    assert str(right.loss) == "0.0"  # and not -0.0, which a screen would show
    assert right.likeliest[0] == (1, 1.0)
    assert (wrong.loss, wrong.probability, wrong.entropy, wrong.rank) == (math.inf, 0.0, 0.0, 2)


def test_among_equals_every_token_is_the_likeliest() -> None:
    steps = steps_of(torch.zeros(3, 3), torch.tensor([2, 0, 1]), torch.tensor([0, 1, 2]), pad_id=9)
    assert [step.rank for step in steps] == [1, 1, 1]
    assert [step.entropy for step in steps] == pytest.approx([math.log(3)] * 3)


@given(st.integers(0, 10_000), st.integers(1, 7), st.integers(2, 30), st.integers(1, 40), st.floats(0.1, 20))
def test_each_step_is_torchs_cross_entropy_and_its_parts_agree(seed, length, vocabulary, k, sharp) -> None:
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(length, vocabulary, generator=generator) * sharp
    read, labels = torch.randint(0, vocabulary, (2, length), generator=generator)
    steps = steps_of(logits, read, labels, pad_id=0, k=k)
    losses = torch.nn.functional.cross_entropy(logits, labels, reduction="none").tolist()
    distributions = torch.distributions.Categorical(logits=logits)
    assert [step.loss for step in steps] == pytest.approx(losses, abs=1e-5)
    assert [step.entropy for step in steps] == pytest.approx(distributions.entropy().tolist(), abs=1e-4)
    assert [step.read for step in steps] == read.tolist()
    assert [step.label for step in steps] == labels.tolist()
    assert [step.counts for step in steps] == [label != 0 for label in labels.tolist()]
    for step, row in zip(steps, logits.softmax(-1).tolist(), strict=True):
        assert step.probability == pytest.approx(math.exp(-step.loss))
        assert len(step.likeliest) == min(k, vocabulary)
        assert len({token for token, _ in step.likeliest}) == len(step.likeliest)
        assert all(row[token] == pytest.approx(likely, abs=1e-6) for token, likely in step.likeliest)
        assert [likely for _, likely in step.likeliest] == pytest.approx(sorted(row, reverse=True)[:k], abs=1e-6)
        if step.rank <= k:  # where the label stands in the list, its rank is its place there, but for equals
            assert step.likeliest[step.rank - 1][1] == pytest.approx(step.probability, abs=1e-6)


def test_the_mean_over_what_counts_is_the_loss_of_training_and_evaluation() -> None:
    checkpoint = untrained_checkpoint(tie_output=False)
    model, config = checkpoint.model, checkpoint.config
    source, target = made_up_pairs()[7]
    example = (checkpoint.source_ids(source), checkpoint.target_ids(target))
    loss, accuracy = loss_and_accuracy(lambda batch: model(*batch.inputs), [example], config)
    labels = torch.tensor([*example[1], 0, 0])
    read = torch.tensor([config.bos_id, *example[1], 0])
    with torch.inference_mode():
        logits = model(torch.tensor([example[0]]), read[None])[0]
    steps = steps_of(logits, read, labels, config.pad_id)
    counted = [step for step in steps if step.counts]
    assert len(counted) == len(steps) - 2
    assert sum(step.loss for step in counted) / len(counted) == pytest.approx(loss, abs=1e-5)
    assert sum(step.rank == 1 for step in counted) / len(counted) == pytest.approx(accuracy)


def test_half_precision_is_summed_in_single() -> None:
    logits = torch.randn(4, 500, generator=torch.Generator().manual_seed(1)).bfloat16()
    ids = torch.tensor([1, 2, 3, 4])
    assert steps_of(logits, ids, ids, pad_id=0) == steps_of(logits.float(), ids, ids, pad_id=0)


@pytest.mark.parametrize(
    ("logits", "read", "labels"),
    [((1, 3, 5), (3,), (3,)), ((3, 5), (2,), (3,)), ((3, 5), (3,), (4,)), ((3, 5), (3, 1), (3, 1))],
)
def test_rows_that_do_not_belong_together_are_refused(logits, read, labels) -> None:
    zeros = torch.zeros(read, dtype=torch.long), torch.zeros(labels, dtype=torch.long)
    with pytest.raises(ValueError, match=r"wanted \(T, V\), \(T,\), \(T,\)"):
        steps_of(torch.zeros(logits), *zeros, pad_id=0)


def test_none_of_the_likeliest_is_refused() -> None:
    ids = torch.tensor([1])
    with pytest.raises(ValueError, match="k must be at least 1, not 0"):
        steps_of(torch.zeros(1, 3), ids, ids, pad_id=0, k=0)


@pytest.mark.parametrize(
    ("read", "labels", "forgotten"),
    [
        ([5, 6, 3], [5, 6, 3], True),
        ([5, 6, 3, 0, 0], [5, 6, 3, 0, 0], True),  # padding says nothing
        ([5, 6, 3, 7], [5, 6, 3, 0], True),
        ([2, 5, 6], [5, 6, 3], False),
        ([2, 5, 5, 5], [5, 5, 5, 3], False),  # a word again and again
        ([5, 6, 3], [5, 6, 4], False),
        ([5, 0], [5, 0], False),  # one row may be chance
        ([0, 0], [0, 0], False),
        ([], [], False),
    ],
)
def test_a_forgotten_shift_is_seen(read, labels, forgotten) -> None:
    assert forgot_the_shift(read, labels, pad_id=0) is forgotten


def test_what_a_model_reads_in_training_is_shifted() -> None:
    batch = make_batch([([7, 8, 3], [9, 9, 9, 3]), ([7, 3], [9, 3])], pad_id=0, bos_id=2)
    for read, labels in zip(batch.inputs[-1].tolist(), batch.labels.tolist(), strict=True):
        assert not forgot_the_shift(read, labels, pad_id=0)
        assert forgot_the_shift(labels, labels, pad_id=0)
