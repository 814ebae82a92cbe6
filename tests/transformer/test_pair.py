"""Why a query reads a key: beside the recording's own numbers, by hand, and beside what each part is made of."""

import copy
import functools
import math
from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from small_models import padded_batch, small_model
from torch import Tensor, nn

from transformer import MultiheadAttention, TextTransformer, explain_pair, record, split_first_layer
from transformer.decoding import decode
from transformer.pair import FirstLayerSplit
from transformer.positions import PositionalEncoding
from transformer.recording import Attention, Recording, Run

INF = math.inf


def recorded(model: nn.Module, *arguments: Tensor, **keywords: object) -> Recording:
    with torch.no_grad(), record(model) as recording:
        model(*arguments, **keywords)
    return recording


@pytest.fixture(scope="module")
def text() -> Recording:
    return recorded(small_model(), *padded_batch())


# A pair.


@given(data=st.data())
def test_a_pair_says_what_the_recording_says(data, text):
    site = data.draw(st.sampled_from(text.sites))
    head, sentence = data.draw(st.integers(0, 2)), data.draw(st.integers(0, 2))
    length, keys = text.query(site).size(2), text.key(site).size(2)
    row, column = data.draw(st.integers(0, length - 1)), data.draw(st.integers(0, keys - 1))
    reason = explain_pair(text, site, head, row, column, sentence)

    for cell, whole, read in (
        (reason.score, reason.scores, text.scores),
        (reason.mask, reason.masks, text.mask),
        (reason.weight, reason.weights, text.pattern),
    ):
        assert (whole.dtype, whole.shape) == (np.float32, (keys,))
        assert np.allclose(whole, read(site, head, sentence)[row].numpy(), atol=1e-6)
        assert cell == whole[column]
    allowed = reason.masks == 0
    assert reason.allowed == allowed.sum() > 0
    descending = np.sort(reason.weights)[::-1]
    assert reason.rank == 1 + descending.tolist().index(np.float32(reason.weight))
    assert np.array_equal(reason.query, text.query(site)[sentence, head, row])
    assert np.array_equal(reason.key, text.key(site)[sentence, head, column])
    assert np.allclose(reason.by_dimension, reason.query * reason.key / math.sqrt(8), atol=1e-6)
    assert reason.by_dimension.sum() == pytest.approx(reason.score, abs=1e-5)
    assert reason.centred.sum() == pytest.approx(reason.score - reason.scores[allowed].mean(), abs=1e-5)
    assert reason.value_norm == pytest.approx(text.value_norms(site, head, sentence)[column].item())


def one_head(query: list[float], keys: list[list[float]], mask: list[list[float]] | None = None) -> Recording:
    """A recording of one head of width 4 that has the one query (or several, by the mask's rows) and these keys."""
    attention = MultiheadAttention(4, num_heads=1, bias=False, batch_first=True).eval()
    with torch.no_grad():
        attention.in_proj_weight.copy_(torch.eye(4).repeat(3, 1))
    x, y = torch.tensor([[query] * (1 if mask is None else len(mask))]), torch.tensor([keys])
    return recorded(attention, x, y, y, attn_mask=None if mask is None else torch.tensor(mask))


def test_by_hand():
    recording = one_head([2.0, 4, 0, 0], [[1.0, 0, 9, 0], [3, 1, 9, 0], [5, -1, 9, 0]], [[0.0, -2, -INF]])
    reason = explain_pair(recording, "", 0, 0, 1)
    assert (reason.score, reason.mask, reason.allowed, reason.rank) == (5, -2, 2, 1)  # (2·3 + 4·1) / 2
    assert reason.scores.tolist() == [1, 5, 3]
    assert reason.masks.tolist() == [0, -2, -INF]
    assert reason.weight == pytest.approx(1 / (1 + math.exp(-2)))  # 5 - 2 beside 1
    assert reason.weights.tolist() == pytest.approx([1 - reason.weight, reason.weight, 0])
    assert reason.by_dimension.tolist() == [3, 2, 0, 0]
    assert reason.centred.tolist() == [1, 1, 0, 0]  # of the mean key (2, 0.5, 9, 0), which leaves the blocked one out
    blocked = explain_pair(recording, "", 0, 0, 2)
    assert (blocked.score, blocked.mask, blocked.weight, blocked.rank, blocked.allowed) == (3, -INF, 0, 3, 2)
    assert blocked.centred.tolist() == [3, -3, 0, 0]


def test_equal_weights_share_the_better_rank():
    recording = one_head([2.0, 0, 0, 0], [[1.0, 0, 0, 0], [0, 0, 0, 0], [1, 5, 0, 0], [2, 0, 0, 0]])
    assert [explain_pair(recording, "", 0, 0, column).rank for column in range(4)] == [2, 4, 2, 1]


def test_a_row_that_may_look_at_nothing():
    recording = one_head([2.0, 4, 0, 0], [[1.0, 0, 0, 0], [3, 1, 0, 0]], [[0, 0], [-INF, -INF]])
    reason = explain_pair(recording, "", 0, 1, 1)
    assert (reason.score, reason.mask, reason.weight, reason.rank, reason.allowed) == (5, -INF, 0, 1, 0)
    assert reason.weights.tolist() == [0, 0]
    assert reason.by_dimension.tolist() == [3, 2, 0, 0]
    assert np.isnan(reason.centred).all()


def test_another_basis_inside_the_head_moves_the_dimensions_and_nothing_else(text):
    site = text.site("encoder", 0)
    seen = text.runs[0].attentions[site]
    basis = torch.randn(8, 8, generator=torch.Generator().manual_seed(0))
    turned = Recording()
    attention = Attention(seen.query @ basis, seen.key @ basis.inverse().T, seen.value, seen.masks)
    turned.runs = [Run(attentions={site: attention})]
    one, other = explain_pair(text, site, 1, 2, 3), explain_pair(turned, site, 1, 2, 3)
    assert other.score == pytest.approx(one.score, abs=1e-4)
    assert np.abs(one.by_dimension - other.by_dimension).max() > 0.01
    assert other.value_norm is None  # nobody recorded how it is written


def test_a_pair_of_an_earlier_run():
    model = small_model()
    with torch.no_grad(), record(model) as recording:
        model(*padded_batch())
        model(*(ids.flip(0) for ids in padded_batch()))
    site = recording.site("encoder", 0)
    first, last = (explain_pair(recording, site, 0, 1, 1, run=run) for run in (0, None))
    assert first.score == recording.scores(site, 0, run=0)[1, 1] != last.score
    assert first.value_norm == recording.value_norms(site, 0, run=0)[1] != last.value_norm
    one, other = (split_first_layer(model, recording, site, 0, 1, 1, run=run) for run in (0, None))
    assert total(one) == pytest.approx(first.score, abs=1e-5)
    assert total(other) == pytest.approx(last.score, abs=1e-5)


@pytest.mark.parametrize(
    ("beyond", "message"),
    [
        ({"head": 3}, "head is 3, but .* has 3"),
        ({"head": -1}, "head is -1"),
        ({"row": 5}, "row is 5, but .* has 5"),
        ({"row": -1}, "row is -1"),
        ({"column": 6}, "column is 6, but .* has 6"),
        ({"column": -1}, "column is -1"),
        ({"sentence": 3}, "sentence is 3, but .* has 3"),
        ({"run": 1}, "run is 1, but 1 were recorded"),
    ],
)
def test_what_is_not_there_is_an_index_error(beyond, message, text):
    asked = {"head": 0, "row": 0, "column": 0} | beyond
    for explain in (explain_pair, lambda *a, **k: split_first_layer(small_model(), *a, **k)):
        with pytest.raises(IndexError, match=message):
            explain(text, text.site("cross", 0), **asked)


def test_only_a_single_head_is_explained(text):
    for head in ("mean", None):
        with pytest.raises(ValueError, match="Only a single head"):
            explain_pair(text, text.sites[0], head, 0, 0)
        with pytest.raises(ValueError, match="Only a single head"):
            split_first_layer(small_model(), text, text.sites[0], head, 0, 0)
    with pytest.raises(KeyError, match="No attention was recorded"):
        explain_pair(text, "elsewhere", 0, 0, 0)


# The first layer.


def total(split: FirstLayerSplit | None) -> float:
    assert split is not None
    return sum(vars(split).values())


def busy(model: TextTransformer, seed: int = 0) -> TextTransformer:
    """The model with nothing left at its start: biases are no longer 0, nor the norms' weights 1."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=generator))
    return model


def inputs(architecture: str) -> tuple[Tensor, ...]:
    return padded_batch() if architecture == "encoder-decoder" else padded_batch()[:1]


ARCHITECTURES = {
    "encoder-decoder": ["transformer.encoder.layers.0.self_attn", "transformer.decoder.layers.0.self_attn"],
    "encoder": ["encoder.layers.0.self_attn"],
    "decoder": ["decoder.layers.0.self_attn"],
}
EVERY_MODEL = list(product(ARCHITECTURES, ["sinusoidal", "learned", "none"], [True, False], [True, False]))


@pytest.mark.parametrize(("architecture", "positions", "norm_first", "bias"), EVERY_MODEL)
def test_the_parts_add_up_in_first_layers_and_stand_nowhere_else(architecture, positions, norm_first, bias):
    changes = {"positions": positions, "norm_first": norm_first, "bias": bias, "num_decoder_layers": 2}
    model = busy(small_model(architecture=architecture, tie_output=False, **changes))
    recording = recorded(model, *inputs(architecture))
    assert {site.layer for site in recording.sites} == {0, 1}
    first = [site for site in recording.sites if split_first_layer(model, recording, site, 0, 0, 0) is not None]
    assert first == ARCHITECTURES[architecture]
    # Blocked cells, too: the second sentence ends in padding, a decoder's row 1 may not look at column 3.
    for site, (row, column) in product(first, [(0, 0), (0, 1), (1, 0), (1, 3), (4, 4)]):
        split = split_first_layer(model, recording, site, 2, row, column, sentence=1)
        reason = explain_pair(recording, site, 2, row, column, sentence=1)
        assert abs(total(split) - reason.score) <= 1e-5 * np.abs(reason.by_dimension).sum()
        if positions == "none":
            assert split.token_position == split.position_token == split.position_position == 0
        assert (split.bias == 0) == (not bias)


@functools.cache
def busy_model(norm_first: bool, positions: str) -> TextTransformer:
    model = busy(small_model(norm_first=norm_first, positions="learned" if positions == "learned" else "sinusoidal"))
    if positions == "halves":
        model.source_positions = PositionalEncoding(24, base=50.0, layout="halves").eval()
    return model


@given(data=st.data())
@torch.no_grad()
def test_each_part_is_what_the_model_would_score_if_only_it_were_there(data):
    norm_first, positions = data.draw(st.booleans()), data.draw(st.sampled_from(["sinusoidal", "learned", "halves"]))
    model = busy_model(norm_first, positions)
    ids = torch.tensor([data.draw(st.lists(st.integers(4, 280), min_size=1, max_size=6))])
    row, column = (data.draw(st.integers(0, ids.size(1) - 1)) for _ in range(2))
    head = data.draw(st.integers(0, 2))
    recording = recorded(model, ids, torch.tensor([[2]]))
    site = recording.site("encoder", 0)
    split = split_first_layer(model, recording, site, head, row, column)

    # The layer's own modules in place of the split's formulas: what a vector becomes, less what zeros become.
    layer = copy.deepcopy(model.transformer.encoder.layers[0]).double()
    token = model.source_embedding(ids)[0].double()
    position = model.source_positions(torch.zeros_like(token))
    deviation = (token + position).std(dim=-1, correction=0, keepdim=True)
    whole = (deviation**2 + layer.norm1.eps).sqrt()

    def normed(part: Tensor) -> Tensor:
        if not norm_first:
            return part
        own = (part.var(dim=-1, correction=0, keepdim=True) + layer.norm1.eps).sqrt()
        return (layer.norm1(part) - layer.norm1.bias) * own / whole + 0

    def projected(x: Tensor, side: int) -> Tensor:
        return nn.functional.linear(x, layer.self_attn.in_proj_weight.chunk(3)[side]).unflatten(-1, (3, 8))[:, head]

    def score(query: Tensor, key: Tensor) -> float:
        return float(projected(normed(query), 0)[row] @ projected(normed(key), 1)[column] / math.sqrt(8))

    expected = {
        "token_token": score(token, token),
        "token_position": score(token, position),
        "position_token": score(position, token),
        "position_position": score(position, position),
    }
    for name, value in expected.items():
        assert getattr(split, name) == pytest.approx(value, rel=1e-5, abs=1e-5)
    recorded_score = recording.scores(site, head)[row, column].item()
    assert split.bias == pytest.approx(recorded_score - sum(expected.values()), abs=1e-4)


@pytest.mark.parametrize("norm_first", [True, False])
def test_other_tokens_change_the_tokens_parts_and_only_those(norm_first):
    model = busy(small_model(norm_first=norm_first))
    target = torch.tensor([[2]])
    splits = []
    for source in ([11, 12, 13, 14], [11, 14, 13, 12]):  # the second and the last have changed places
        recording = recorded(model, torch.tensor([source]), target)
        site = recording.site("encoder", 0)
        cells = product(range(4), range(4))
        splits.append({cell: split_first_layer(model, recording, site, 1, *cell) for cell in cells})
    before, after = splits
    assert before[0, 2] == after[0, 2]  # neither is part of this pair
    assert before[0, 1].token_token != after[0, 1].token_token
    if norm_first:  # the deviation is that of token and position together
        return
    assert before[0, 1].position_position == after[0, 1].position_position
    assert before[0, 1].token_position == after[0, 1].token_position  # the query's token, the key's position
    assert before[0, 1].position_token != after[0, 1].position_token
    assert before[1, 0].token_position != after[1, 0].token_position
    assert before[0, 1].token_token == pytest.approx(after[0, 3].token_token)  # the same tokens, elsewhere
    assert before[0, 1].position_position != after[0, 3].position_position


def test_embeddings_shared_unscaled_and_past_the_first_table_of_positions():
    changes = {"share_embeddings": True, "target_vocabulary": 290, "scale_embedding": False, "max_length": 700}
    model = busy(small_model(**changes))
    ids = torch.randint(4, 290, (1, 600), generator=torch.Generator().manual_seed(0))
    recording = recorded(model, ids, ids[:, :5])
    for site, row, column in (("encoder", 599, 2), ("decoder", 4, 3)):
        place = recording.site(site, 0)
        split = split_first_layer(small := busy(small_model(**changes)), recording, place, 1, row, column)
        assert small.source_positions.table.size(0) < 600  # it has read nothing yet
        assert total(split) == pytest.approx(recording.scores(place, 1)[row, column].item(), abs=1e-4)


@pytest.mark.parametrize("architecture", ["encoder-decoder", "decoder"])
def test_a_decoding_step_reads_its_own_token_at_its_own_place(architecture):
    model = busy(small_model(architecture=architecture, positions="learned", tie_output=False))
    with record(model) as recording:
        decode(model, torch.tensor([[5, 6, 7], [8, 9, 10]]), 4)
    site = recording.site("decoder", 0)
    steps = [i for i, run in enumerate(recording.runs) if site in run.attentions]
    assert len(steps) == 4
    for step in steps:
        scores = recording.scores(site, 1, 1, run=step)
        for row, column in product(*map(range, scores.shape)):
            split = split_first_layer(model, recording, site, 1, row, column, 1, run=step)
            assert total(split) == pytest.approx(scores[row, column].item(), abs=1e-4)
    assert recording.query(site, steps[-1]).size(2) == 1 < recording.key(site, steps[-1]).size(2)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-6), (torch.float16, 2e-2), (torch.bfloat16, 0.2)])
def test_models_of_other_precisions(dtype, tolerance):
    model = small_model().to(dtype)
    recording = recorded(model, *padded_batch())
    site = recording.site("encoder", 0)
    split = split_first_layer(model, recording, site, 0, 1, 2)
    assert total(split) == pytest.approx(recording.scores(site, 0)[1, 2].item(), abs=tolerance)


def test_a_model_that_did_not_run_is_refused(text):
    site = text.site("encoder", 0)
    assert split_first_layer(small_model(), text, site, 0, 1, 2) is not None
    others = [
        small_model(seed=1),
        small_model(architecture="encoder", tie_output=False),
        small_model(d_model=12),
        small_model(nhead=2),
        small_model(source_vocabulary=5),
        small_model(positions="none"),
        small_model(positions="learned", max_length=1),
        small_model(norm_first=False),
    ]
    for other in others:
        with pytest.raises(ValueError, match="This model does not compute what was recorded at"):
            split_first_layer(other, text, site, 0, 1, 2)


@pytest.mark.parametrize("rows", [slice(8), slice(24, 32)], ids=["queries", "keys"])  # of head 0
def test_weights_that_changed_on_one_side_are_refused(rows, text):
    model = small_model()
    with torch.no_grad():
        model.transformer.encoder.layers[0].self_attn.in_proj_weight[rows] *= 1.01
    with pytest.raises(ValueError, match="This model does not compute"):
        split_first_layer(model, text, text.site("encoder", 0), 0, 1, 2)
    assert split_first_layer(model, text, text.site("encoder", 0), 1, 1, 2) is not None


def test_dropout_is_noticed_and_a_model_that_trains_later_is_not():
    model = small_model(dropout=0.5)
    recording = recorded(model, *padded_batch())
    site = recording.site("encoder", 0)
    assert split_first_layer(model.train(), recording, site, 0, 1, 2) is not None
    torch.manual_seed(0)
    with pytest.raises(ValueError, match="dropout was on"):
        split_first_layer(model, recorded(model, *padded_batch()), site, 0, 1, 2)


def test_what_was_read_without_ids_cannot_be_split():
    model = small_model()
    with torch.no_grad(), record(model) as recording:
        model.transformer.encoder(torch.randn(1, 3, 24))
    with pytest.raises(KeyError, match=r"Which tokens transformer\.encoder\.layers\.0\.self_attn read"):
        split_first_layer(model, recording, recording.sites[0], 0, 0, 0)
