"""What a recording says: patterns, scores, masks and states, beside the same things taken another way."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest
import torch
from small_models import padded_batch, small_model
from torch import Tensor, nn

from transformer import MultiheadAttention, TextTransformer, Transformer, record
from transformer.recording import Recording

SOURCE_LENGTHS, TARGET_LENGTHS = (6, 4, 2), (4, 5, 1)  # of padded_batch
INF = math.inf


@contextmanager
def watching(model: nn.Module) -> Iterator[dict[str, list[tuple]]]:
    """What goes in and comes out of every module, through hooks that know nothing of recordings."""
    seen: dict[str, list[tuple]] = {}

    def hook(path: str) -> Callable:
        def note(module: nn.Module, arguments: tuple, keywords: dict, output: object) -> None:
            seen.setdefault(path, []).append((arguments, keywords, output))

        return note

    handles = [m.register_forward_hook(hook(path), with_kwargs=True) for path, m in model.named_modules()]
    yield seen
    for handle in handles:
        handle.remove()


def explicit_pattern(model: nn.Module, site: str, arguments: tuple, keywords: dict) -> Tensor:
    """(N, H, L, S): the module called again on what it was called with, this time for its weights."""
    wanted = {**keywords, "need_weights": True, "average_attn_weights": False}
    return model.get_submodule(site)(*arguments, **wanted)[1]


def recorded(model: nn.Module, *arguments: Tensor, **keywords: object) -> Recording:
    with torch.no_grad(), record(model) as recording:
        model(*arguments, **keywords)
    return recording


@pytest.fixture(params=[True, False], ids=["pre-norm", "post-norm"])
def model(request: pytest.FixtureRequest) -> TextTransformer:
    return small_model(norm_first=request.param)


@torch.no_grad()
def test_patterns_of_every_layer_head_and_sentence_are_those_of_the_explicit_path(model):
    with watching(model) as seen, record(model) as recording:
        model(*padded_batch())
    assert [(s, s.kind, s.layer, s.heads) for s in recording.sites] == [
        ("transformer.encoder.layers.0.self_attn", "encoder", 0, 3),
        ("transformer.encoder.layers.1.self_attn", "encoder", 1, 3),
        ("transformer.decoder.layers.0.self_attn", "decoder", 0, 3),
        ("transformer.decoder.layers.0.multihead_attn", "cross", 0, 3),
    ]
    for site in recording.sites:
        ((arguments, keywords, _),) = seen[site]
        expected = explicit_pattern(model, site, arguments, keywords)
        for sentence in range(3):
            of_all_heads = recording.pattern(site, sentence=sentence)
            assert of_all_heads.dtype == torch.float32
            assert (of_all_heads - expected[sentence]).abs().max() < 1e-6
            mean = recording.pattern(site, "mean", sentence)
            assert (mean - expected[sentence].mean(dim=0)).abs().max() < 1e-6
            for head in range(3):
                assert (recording.pattern(site, head, sentence) - expected[sentence, head]).abs().max() < 1e-6


def test_rows_sum_to_one_and_blocked_cells_are_exactly_zero(model):
    recording = recorded(model, *padded_batch())
    for site in recording.sites:
        for sentence in range(3):
            pattern, mask = recording.pattern(site, sentence=sentence), recording.mask(site, sentence=sentence)
            assert torch.allclose(pattern.sum(dim=-1), torch.ones(pattern.shape[:2]))
            assert pattern[mask == -INF].eq(0).all()
            assert pattern[mask == 0].gt(0).all()


def test_the_mask_is_the_padding_and_the_future_and_nothing_else(model):
    recording = recorded(model, *padded_batch())
    for sentence, (sources, targets) in enumerate(zip(SOURCE_LENGTHS, TARGET_LENGTHS, strict=True)):
        padded_source, padded_target = torch.arange(6) >= sources, torch.arange(5) >= targets
        future = torch.ones(5, 5).triu(diagonal=1).bool()
        blocked = {"encoder": padded_source.expand(6, 6), "decoder": padded_target | future}
        blocked["cross"] = padded_source.expand(5, 6)
        for site in recording.sites:
            mask = recording.mask(site, head=1, sentence=sentence)
            assert torch.equal(mask, torch.zeros(mask.shape).masked_fill(blocked[site.kind], -INF))
            assert not recording.fully_masked(site, sentence).any()


def test_scores_are_taken_before_any_mask(model):
    recording = recorded(model, *padded_batch())
    for site in recording.sites:
        query, key = recording.query(site)[2], recording.key(site)[2]
        scores = recording.scores(site, sentence=2)
        assert torch.allclose(scores, query @ key.transpose(-2, -1) / math.sqrt(8), atol=1e-6)
        assert scores.isfinite().all()
        again = (scores + recording.mask(site, sentence=2)).softmax(dim=-1)
        assert torch.allclose(again, recording.pattern(site, sentence=2), atol=1e-6)
        assert torch.allclose(recording.scores(site, "mean", 2), scores.mean(dim=0), atol=1e-6)


@pytest.mark.parametrize("read", [Recording.pattern, Recording.scores, Recording.mask])
@pytest.mark.parametrize("head", [None, 2, "mean"])
@pytest.mark.parametrize(
    ("rows", "columns"),
    [
        (slice(1, 3), None),
        (None, slice(2, None)),
        ([0, 4, 4], [5, 0]),
        ([-1], [-6]),
        (slice(0, 0), None),
        ([], []),
        (range(1, 5, 2), (3,)),
    ],
)
def test_some_rows_and_columns_are_cut_from_the_whole(read, head, rows, columns):
    recording = recorded(small_model(), *padded_batch())
    site = recording.site("cross", 0)
    cut = read(recording, site, head, 1, rows, columns)
    whole = read(recording, site, head, 1)
    as_index = [i if i is None or isinstance(i, slice) else list(i) for i in (rows, columns)]
    expected = whole[..., as_index[0] if as_index[0] is not None else slice(None), :]
    expected = expected[..., as_index[1] if as_index[1] is not None else slice(None)]
    assert cut.shape == expected.shape
    assert torch.allclose(cut, expected, atol=1e-6)


@pytest.mark.parametrize("read", [Recording.pattern, Recording.scores, Recording.mask])
@pytest.mark.parametrize(
    "beyond",
    [
        {"head": 3},
        {"head": -1},
        {"sentence": 3},
        {"sentence": -1},
        {"rows": [5]},
        {"rows": [-6]},
        {"columns": [0, 6]},
        {"run": 1},
    ],
)
def test_what_is_not_there_is_an_index_error(read, beyond):
    recording = recorded(small_model(), *padded_batch())
    with pytest.raises(IndexError):
        read(recording, recording.site("cross", 0), **beyond)


def test_a_head_found_by_numpy_or_torch_is_that_head():
    recording = recorded(small_model(), *padded_batch())
    site = recording.sites[0]
    expected = recording.pattern(site, head=2)
    assert torch.equal(recording.pattern(site, head=np.int64(2)), expected)
    assert torch.equal(recording.pattern(site, head=torch.tensor(2)), expected)
    with pytest.raises(TypeError):
        recording.pattern(site, head="max")


def test_unknown_sites_and_hook_points_are_key_errors():
    recording = recorded(small_model(), *padded_batch())
    for ask in (recording.pattern, recording.mask, recording.query, recording.output, recording.hidden):
        with pytest.raises(KeyError):
            ask("transformer.encoder.layers.7.self_attn")
    with pytest.raises(KeyError, match="No cross attention in layer 1"):
        recording.site("cross", 1)
    assert recording.site("decoder", 0) == "transformer.decoder.layers.0.self_attn"


@torch.no_grad()
def test_queries_outputs_and_hidden_states_are_those_that_other_hooks_saw(model):
    with watching(model) as seen, record(model) as recording:
        model(*padded_batch())
    for site in recording.sites:
        ((arguments, _, _),) = seen[f"{site}.attention"]
        for tensor, name in zip(arguments[:3], ("query", "key", "value"), strict=True):
            assert torch.equal(getattr(recording, name)(site), tensor)
        assert torch.equal(recording.output(site), seen[site][0][2][0])
    layers = [(f"transformer.encoder.layers.{i}", ["self_attn"]) for i in (0, 1)]
    layers.append(("transformer.decoder.layers.0", ["self_attn", "multihead_attn"]))
    within = [f"{layer}.after_{sublayer}" for layer, attentions in layers for sublayer in [*attentions, "feedforward"]]
    before = {
        stream: [f"after_{stream}_{part}" for part in ("embedding", "positions")] for stream in ("source", "target")
    }
    assert list(recording.runs[0].hidden) == [*before["source"], *within[:4], *before["target"], *within[4:]]
    for stream in ("source", "target"):
        assert torch.equal(recording.hidden(f"after_{stream}_embedding"), seen[f"{stream}_positions"][0][0][0])
        assert torch.equal(recording.hidden(f"after_{stream}_positions"), seen[f"{stream}_positions"][0][2])
    for layer, attentions in layers:
        x = seen[layer][0][0][0]  # what the layer read
        for number, sublayer in enumerate([*attentions, "feedforward"], start=1):
            update = "linear2" if sublayer == "feedforward" else sublayer
            added = seen[f"{layer}.{update}"][0][2]
            x = x + (added if sublayer == "feedforward" else added[0])
            if not model.config.norm_first:
                x = model.get_submodule(f"{layer}.norm{number}")(x)
            assert torch.allclose(recording.hidden(f"{layer}.after_{sublayer}"), x, atol=1e-6)
        assert torch.equal(recording.hidden(f"{layer}.after_feedforward"), seen[layer][0][2])  # what the layer gave


def test_a_query_with_no_key_left_is_a_row_of_zeros_with_a_flag():
    attention = MultiheadAttention(6, num_heads=2, batch_first=True).eval()
    mask = torch.zeros(2 * 2, 3, 4, dtype=torch.bool)  # (N*H, L, S)
    mask[0, 1] = True  # sentence 0, head 0, query 1
    mask[2:, 2] = True  # sentence 1, both heads, query 2
    x, y = torch.randn(2, 3, 6), torch.randn(2, 4, 6)
    recording = recorded(attention, x, y, y, attn_mask=mask)
    (site,) = recording.sites
    assert recording.fully_masked(site, 0).tolist() == [False, False, False]
    assert recording.fully_masked(site, 0, head=0).tolist() == [False, True, False]
    assert recording.fully_masked(site, 0, head=1).tolist() == [False, False, False]
    assert recording.fully_masked(site, 1).tolist() == [False, False, True]
    assert recording.pattern(site, 0, 0)[1].tolist() == [0.0] * 4
    assert recording.pattern(site, 1, 0)[1].sum() == pytest.approx(1)
    assert recording.mask(site, "mean", 0)[1].tolist() == [0.0] * 4  # one head still looks
    assert recording.mask(site, "mean", 1)[2].tolist() == [-INF] * 4
    assert recording.pattern(site, "mean", 1)[2].tolist() == [0.0] * 4


def test_masks_of_every_sentence_and_head_are_read_where_they_belong():
    attention = MultiheadAttention(6, num_heads=2, batch_first=True).eval()
    mask = torch.randn(3 * 2, 4, 5, generator=torch.Generator().manual_seed(1))
    mask = mask.masked_fill(mask > 1, -INF)
    x, y = torch.randn(3, 4, 6), torch.randn(3, 5, 6)
    recording = recorded(attention, x, y, y, attn_mask=mask)
    with torch.no_grad():
        expected = attention(x, y, y, attn_mask=mask, average_attn_weights=False)[1]
    (site,) = recording.sites
    for sentence in range(3):
        for head in range(2):
            assert torch.equal(recording.mask(site, head, sentence), mask[sentence * 2 + head])
            assert torch.allclose(recording.pattern(site, head, sentence), expected[sentence, head], atol=1e-6)
        assert torch.allclose(recording.pattern(site, None, sentence, rows=[2]), expected[sentence, :, [2]], atol=1e-6)


def test_finite_masks_never_block():
    attention = MultiheadAttention(4, num_heads=1, batch_first=True).eval()
    x = torch.randn(1, 3, 4)
    mask = torch.zeros(3, 3)
    mask[0] = -1e30
    recording = recorded(attention, x, x, x, attn_mask=mask)
    assert recording.pattern("", 0)[0].tolist() == pytest.approx([1 / 3] * 3)
    assert not recording.fully_masked("").any()


@pytest.mark.parametrize("batch_first", [True, False])
def test_added_keys_and_sequence_first_modules(batch_first):
    attention = MultiheadAttention(6, 2, add_bias_kv=True, add_zero_attn=True, batch_first=batch_first).eval()
    x, padding = torch.randn(2, 4, 6), torch.tensor([[False] * 4, [False, False, True, True]])
    given = x if batch_first else x.transpose(0, 1)
    recording = recorded(attention, given, given, given, key_padding_mask=padding)
    with torch.no_grad():
        output, expected = attention(given, given, given, padding, average_attn_weights=False)
    (site,) = recording.sites
    assert recording.key(site).shape == (2, 2, 6, 3)
    assert torch.allclose(recording.output(site), output, atol=1e-6)
    for sentence in range(2):
        assert torch.allclose(recording.pattern(site, sentence=sentence), expected[sentence], atol=1e-6)
    assert recording.mask(site, 0, 1)[0].tolist() == [0, 0, -INF, -INF, 0, 0]
    assert recording.key_tokens(site) == ["0", "1", "2", "3", "(added)", "(added)"]
    assert recording.query_tokens(site) == ["0", "1", "2", "3"]


def test_unbatched_input_is_a_batch_of_one():
    attention = MultiheadAttention(6, num_heads=2).eval()
    x, padding = torch.randn(3, 6), torch.tensor([False, False, True])
    recording = recorded(attention, x, x, x, key_padding_mask=padding)
    assert recording.pattern("", 0).shape == (3, 3)
    assert recording.pattern("", 0)[:, 2].tolist() == [0.0] * 3
    assert recording.output("").shape == (3, 6)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-6), (torch.float16, 1e-2), (torch.bfloat16, 3e-2)])
def test_models_of_other_precisions_are_kept_as_they_are_and_read_as_float32(dtype, tolerance):
    model = Transformer(8, 2, 1, 1, 16, batch_first=True).eval().to(dtype)
    x, y = torch.randn(2, 5, 8, dtype=dtype), torch.randn(2, 3, 8, dtype=dtype)
    with torch.no_grad(), watching(model) as seen, record(model) as recording:
        model(x, y, tgt_is_causal=True)
    for site in recording.sites:
        assert recording.query(site).dtype == recording.output(site).dtype == dtype
        pattern = recording.pattern(site)
        assert pattern.dtype == recording.scores(site).dtype == recording.mask(site).dtype == torch.float32
        assert torch.allclose(pattern.sum(dim=-1), torch.ones(pattern.shape[:2]), atol=1e-6)
        with torch.no_grad():
            expected = explicit_pattern(model, site, *seen[site][0][:2])[0]
        assert torch.allclose(pattern, expected.float(), atol=tolerance)


def test_rows_of_a_long_text_are_computed_without_the_other_rows():
    model = small_model(max_length=4000, num_encoder_layers=1)
    ids = torch.randint(4, 280, (1, 3000), generator=torch.Generator().manual_seed(0))
    recording = recorded(model, ids, torch.tensor([[2]]))
    site = recording.site("encoder", 0)
    rows = recording.pattern(site, 1, rows=[0, 2999])
    assert rows.shape == (2, 3000)
    query, key = recording.query(site)[0, 1], recording.key(site)[0, 1]
    assert torch.allclose(rows[1], (query[-1] @ key.T / math.sqrt(8)).softmax(dim=-1), atol=1e-6)


def test_what_is_stored_grows_with_the_length_and_not_with_its_square():
    model = small_model(max_length=1000)

    def stored_bytes(length: int) -> int:
        ids = torch.randint(4, 280, (1, length), generator=torch.Generator().manual_seed(0))
        (run,) = recorded(model, ids, ids).runs
        tensors = [*run.outputs.values(), *run.hidden.values(), *run.ids.values()]
        for seen in run.attentions.values():
            assert (seen.masks.attn_mask, seen.masks.key_padding_mask) == (None, None)
            tensors += [seen.query, seen.key, seen.value]
        # A view keeps all of its storage alive, so storages are counted, each once.
        return sum({t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors}.values())

    short, long = stored_bytes(100), stored_bytes(800)
    assert short > 0
    assert long == 8 * short
