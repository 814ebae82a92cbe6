"""Every head's links are those of its recorded pattern; what a head costs is the loss without it."""

import math
from dataclasses import replace

import pytest
import torch
from small_models import made_up_pairs, untrained_checkpoint

from transformer import record
from transformer.alignment import AlignedPair, error_rate, pattern_links
from transformer.checkpoint import Checkpoint
from transformer.commands.alignment_table import alignment_table
from transformer.evaluation import label_loss
from transformer.head_alignment import Heads, head_links, measure_alignment
from transformer.interventions import SwitchOff, edited

PAIRS = made_up_pairs()
CROSS = "transformer.decoder.layers.{}.multihead_attn"


def aligned(source: str, target: str) -> AlignedPair:
    """What stands where in the made-up language: who sees what, who what sees; articles are nobody's."""
    words, heard = source.split(), target.split()
    found = {(len(words) - 1, len(heard) - 2), (next(i for i, w in enumerate(words) if w[-1] == "s"), len(heard) - 1)}
    return AlignedPair(source, target, tuple(words), tuple(heard), frozenset(found), frozenset(found | {(1, 0)}))


ALIGNED = [aligned(*pair) for pair in PAIRS[:24:3]]


@pytest.fixture(scope="module")
def two_layers() -> Checkpoint:
    return untrained_checkpoint(num_decoder_layers=2)


def mean_loss_of_one(checkpoint: Checkpoint, source: str, target: str) -> tuple[float, int]:
    config, labels = checkpoint.config, checkpoint.target_ids(target)
    logits = checkpoint.model(
        torch.tensor([checkpoint.source_ids(source)]), torch.tensor([[config.bos_id, *labels[:-1]]])
    )
    chances = logits[0].log_softmax(dim=-1)
    return -sum(chances[t, label].item() for t, label in enumerate(labels)), len(labels)


@pytest.mark.parametrize("tokens", [1, 60, 3000])
def test_the_loss_is_the_mean_over_labels_whatever_the_batches(two_layers, tokens):
    pairs = [*PAIRS[:7], ("the cat", "neko pan o miru miru miru")]
    sums, counts = zip(*(mean_loss_of_one(two_layers, *pair) for pair in pairs), strict=True)
    assert label_loss(two_layers, pairs, tokens) == pytest.approx(sum(sums) / sum(counts), rel=1e-5)


def test_pairs_that_are_too_long_are_left_out_of_the_loss(two_layers):
    too_long = ("bread " * 80, "pan")
    assert label_loss(two_layers, [*PAIRS[:3], too_long]) == label_loss(two_layers, PAIRS[:3])
    with pytest.raises(ValueError, match="No pair fits into the 64 tokens"):
        label_loss(two_layers, [too_long])


def test_a_model_that_knows_its_pairs_has_little_to_lose(trained):
    assert label_loss(trained, PAIRS) < 0.1 < label_loss(trained, [("the cat", "umi umi umi")])


@pytest.mark.parametrize("rows", ["predicts", "reads"])
@pytest.mark.parametrize("batch_size", [1, 3, 64])
def test_each_head_shows_the_links_of_its_own_pattern(two_layers, rows, batch_size):
    found = head_links(two_layers, ALIGNED, rows, batch_size)
    assert [(heads.site, heads.head) for heads in found] == [
        *((CROSS.format(layer), head) for layer in (0, 1) for head in (0, 1, 2)),
        *((CROSS.format(layer), "mean") for layer in (0, 1)),
        (None, "mean"),
    ]
    for number, pair in enumerate(ALIGNED):
        source, labels = two_layers.source_ids(pair.source), two_layers.target_ids(pair.target)
        with record(two_layers.model) as recording:
            two_layers.model(torch.tensor([source]), torch.tensor([[2, *labels[:-1]]]))
        pieces = words_of(two_layers.source_tokenizer, source), words_of(two_layers.target_tokenizer, labels)
        means = []
        for layer in (0, 1):
            site = recording.site("cross", layer)
            means.append(recording.pattern(site, "mean"))
            for head in range(3):
                expected = pattern_links(recording.pattern(site, head).numpy(), *pieces, rows)
                assert found[Heads(site, head)][number] == expected
            assert found[Heads(site, "mean")][number] == pattern_links(means[-1].numpy(), *pieces, rows)
        assert found[Heads(None, "mean")][number] == pattern_links(torch.stack(means).mean(0).numpy(), *pieces, rows)


def words_of(tokenizer, ids: list[int]) -> list[list[int]]:
    """The pieces of each word, told by the spaces in their names."""
    words: list[list[int]] = []
    for piece, label in enumerate(tokenizer.labels(ids[:-1])):
        if label.startswith("▁"):
            words.append([])
        words[-1].append(piece)
    return words


@pytest.fixture(scope="module")
def report(two_layers):
    return measure_alignment(two_layers, ALIGNED, PAIRS[:10])


def test_every_head_gets_its_error_rate_and_what_it_costs_to_do_without(two_layers, report):
    found = head_links(two_layers, ALIGNED)
    assert [one.heads for one in report.heads] == list(found)
    assert report.loss == label_loss(two_layers, PAIRS[:10])
    for one in report.heads:
        assert one.error == error_rate(found[one.heads], ALIGNED)
    costs = {(one.heads.site, one.heads.head): one.loss_cost for one in report.heads}

    def without(*off: SwitchOff) -> float:
        return label_loss(replace(two_layers, model=edited(two_layers.model, off)), PAIRS[:10]) - report.loss

    assert costs[CROSS.format(1), 2] == without(SwitchOff("cross", 1, (2,)))
    assert costs[CROSS.format(0), "mean"] == without(SwitchOff("cross", 0))
    assert costs[None, "mean"] == without(SwitchOff("cross"))
    assert len(set(costs.values())) == len(costs)


def test_what_is_chosen_on_the_first_half_is_measured_on_the_second(two_layers, report):
    found = head_links(two_layers, ALIGNED)
    for chosen, among in (
        (report.chosen, found),
        (report.chosen_head, {heads: links for heads, links in found.items() if heads.head != "mean"}),
        (report.other_rows, head_links(two_layers, ALIGNED, "reads")),
    ):
        first_half = {heads: error_rate(links[:4], ALIGNED[:4]).aer for heads, links in among.items()}
        assert first_half[chosen.heads] == min(first_half.values())
        assert chosen.error == error_rate(among[chosen.heads][4:], ALIGNED[4:])


def test_without_pairs_there_is_no_loss(two_layers, report):
    bare = measure_alignment(two_layers, ALIGNED, rows="reads")
    assert bare.loss is None
    assert {one.loss_cost for one in bare.heads} == {None}
    assert bare.chosen.error == report.other_rows.error
    assert bare.other_rows.error == report.chosen.error


def test_the_table_counts_layers_and_heads_from_one(report, two_layers):
    lines = alignment_table(report).split("\n")
    assert lines[0] == "Alignment error rate on 8 sentences, from the row that predicts a piece"
    cells = [line.split() for line in lines]
    assert cells[1] == ["layer", "head", "AER", "95", "%", "cost"]
    shown = {(layer, head): rest for layer, head, *rest in cells[2:11]}
    assert next(iter(shown)) == ("1", "1")
    assert list(shown)[-3:] == [("1", "mean"), ("2", "mean"), ("all", "mean")]
    last = report.heads[5]
    assert shown["2", "3"] == [
        f"{last.error.aer:.3f}",
        f"{last.error.low:.3f}-{last.error.high:.3f}",
        f"{last.loss_cost:+.4f}",
    ]
    assert lines[11] == "Chosen on the first 4 sentences, measured on the other 4:"
    for line, chosen in zip(lines[12:15], (report.chosen, report.chosen_head, report.other_rows), strict=True):
        assert line.endswith(f"({chosen.error.low:.3f}-{chosen.error.high:.3f}), cost {chosen.loss_cost:+.4f}")
    assert f"{report.loss:.4f} nats a label" in lines[15]


def test_a_table_without_losses_has_no_costs(two_layers):
    text = alignment_table(measure_alignment(two_layers, ALIGNED, rows="reads"))
    assert "from the row that reads a piece\n" in text
    assert "from the row that predicts a piece: " in text
    assert "cost" not in text


def test_what_cannot_be_measured_is_said(two_layers):
    with pytest.raises(ValueError, match="at least two are wanted"):
        measure_alignment(two_layers, ALIGNED[:1])
    long = AlignedPair("a " * 70, "a", ("a",) * 70, ("a",), frozenset({(0, 0)}), frozenset({(0, 0)}))
    with pytest.raises(ValueError, match=r"has \d+ tokens, but the model reads 64"):
        head_links(two_layers, [*ALIGNED, long])
    alone = untrained_checkpoint(architecture="encoder", tie_output=False)
    with pytest.raises(ValueError, match="architecture encoder has no cross-attention"):
        head_links(alone, ALIGNED)


def test_switching_off_every_head_leaves_a_model_that_cannot_see_the_source(trained):
    report = measure_alignment(trained, ALIGNED, PAIRS)
    assert report.heads[-1].loss_cost > 10 * report.loss > 0
    assert math.isfinite(report.heads[-1].loss_cost)
