"""Attention of modules that are not ours, recorded: the patterns are those of the module's own computation."""

import math
import threading
from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from transformer import open_recording, record
from transformer.foreign import ids_of, kind_of

ATOL = 1e-5
PADDED = torch.tensor([[False] * 6, [False] * 4 + [True] * 2])


class HomeMade(nn.Module):
    """Grouped queries, a scale of its own, and a mask in which True may be looked at."""

    def __init__(self, heads: int = 4, groups: int = 2, width: int = 8) -> None:
        super().__init__()
        self.heads, self.groups, self.width = heads, groups, width
        self.project = nn.Linear(16, (heads + 2 * groups) * width)

    def parts(self, x):
        several = self.project(x).unflatten(-1, (-1, self.width)).transpose(1, 2)  # (N, H + 2G, L, D)
        return several.split([self.heads, self.groups, self.groups], dim=1)

    def forward(self, x, mask=None, is_causal=False):
        query, key, value = self.parts(x)
        return F.scaled_dot_product_attention(query, key, value, mask, is_causal=is_causal, scale=0.7, enable_gqa=True)


def explicit(query, key, scale, mask):
    """(N, H, L, S); mask added."""
    key = key.repeat_interleave(query.size(1) // key.size(1), dim=1)
    return (query @ key.transpose(-2, -1) * scale + mask).softmax(dim=-1)


def recorded(recording, site, run=None):
    """(N, H, L, S)"""
    sentences = range(recording.query(site, run).size(0))
    return torch.stack([recording.pattern(site, None, sentence, run=run) for sentence in sentences])


@torch.no_grad()
@pytest.mark.parametrize("how", ["none", "causal", "bool", "float", "a sentence", "a head"])
def test_a_module_of_ones_own(how):
    torch.manual_seed(1)
    module, x = HomeMade().eval(), torch.randn(2, 6, 16)
    seen = torch.rand(6, 6) > 0.4
    seen[:, 0] = True
    added = {
        "none": torch.zeros(6, 6),
        "bool": torch.zeros(6, 6).masked_fill(~seen, -math.inf),
        "float": torch.randn(6, 6),
    }
    added["causal"] = torch.full((6, 6), -math.inf).triu(1)
    added["a sentence"] = torch.randn(2, 1, 6, 6)
    added["a head"] = torch.randn(1, 4, 6, 6)
    mask = {"none": None, "causal": None, "bool": seen}.get(how, added[how])
    before = module(x, mask, is_causal=how == "causal")
    with record(module) as recording:
        output = module(x, mask, is_causal=how == "causal")
    assert torch.equal(output, before)
    (site,) = recording.sites
    assert (site, site.kind, site.heads) == ("", "other", 4)
    query, key, _ = module.parts(x)
    torch.testing.assert_close(recorded(recording, site), explicit(query, key, 0.7, added[how]), atol=ATOL, rtol=0)
    for sentence in range(2):
        blocked = recording.mask(site, None, sentence).isneginf()
        wanted = added[how].isneginf().expand(2, 4, 6, 6)[sentence]
        assert torch.equal(blocked, wanted)
        alone = recording.only(0, sentence)
        torch.testing.assert_close(alone.pattern(site), recorded(recording, site)[sentence])


@torch.no_grad()
@pytest.mark.parametrize("padding", [None, PADDED])
@pytest.mark.parametrize("norm_first", [False, True])
def test_torchs_encoder_with_its_fast_path(padding, norm_first):
    torch.manual_seed(2)
    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, norm_first=norm_first)
    model, x = nn.TransformerEncoder(layer, 2, enable_nested_tensor=not norm_first).eval(), torch.randn(2, 6, 16)
    before = model(x, src_key_padding_mask=padding)
    with record(model) as recording:
        output = model(x, src_key_padding_mask=padding)
    real = torch.ones(2, 6, dtype=torch.bool) if padding is None else ~padding
    torch.testing.assert_close(output[real], before[real], atol=ATOL, rtol=0)
    assert [(site, site.kind, site.layer) for site in recording.sites] == [
        ("layers.0.self_attn", "other", 0),
        ("layers.1.self_attn", "other", 1),
    ]
    first = model.layers[0]
    given = first.norm1(x) if norm_first else x
    _, wanted = first.self_attn(given, given, given, padding, average_attn_weights=False)
    torch.testing.assert_close(recorded(recording, recording.sites[0])[real.nonzero(as_tuple=True)[0][0]], wanted[0])
    for sentence in range(2):
        rows = real[sentence]
        found = recording.pattern(recording.sites[0], None, sentence)
        torch.testing.assert_close(found[:, rows], wanted[sentence][:, rows], atol=ATOL, rtol=0)
        assert not found[:, :, ~rows].any()


@torch.no_grad()
@pytest.mark.parametrize("batch_first", [False, True])
def test_torchs_transformer(batch_first):
    torch.manual_seed(3)
    model = nn.Transformer(16, 2, 2, 2, 32, batch_first=batch_first).eval()
    source, target = torch.randn(2, 6, 16), torch.randn(2, 5, 16)
    if not batch_first:
        source, target = source.transpose(0, 1), target.transpose(0, 1)
    masks = {"src_key_padding_mask": PADDED, "memory_key_padding_mask": PADDED}
    masks["tgt_mask"] = nn.Transformer.generate_square_subsequent_mask(5)
    before = model(source, target, **masks, tgt_is_causal=True)
    with record(model) as recording:
        output = model(source, target, **masks, tgt_is_causal=True)
    torch.testing.assert_close(output, before, atol=ATOL, rtol=0)
    kinds = [(site.kind, site.layer) for site in recording.sites]
    assert kinds == [("encoder", 0), ("encoder", 1), ("decoder", 0), ("cross", 0), ("decoder", 1), ("cross", 1)]
    first = recording.site("decoder", 0)
    attention = model.decoder.layers[0].self_attn
    _, wanted = attention(target, target, target, attn_mask=masks["tgt_mask"], average_attn_weights=False)
    torch.testing.assert_close(recorded(recording, first), wanted, atol=ATOL, rtol=0)
    assert recording.mask(first).isneginf()[0].equal(torch.ones(5, 5).triu(1).bool())
    cross = recording.site("cross", 1)
    assert not recording.pattern(cross, None, 1)[..., 4:].any()
    assert recording.value_norms(cross).shape == (2, 6)


@torch.no_grad()
@pytest.mark.parametrize("need_weights", [False, True])
def test_one_attention_of_torchs(need_weights):
    torch.manual_seed(4)
    attention = nn.MultiheadAttention(16, 2, batch_first=True, add_bias_kv=True, add_zero_attn=True).eval()
    query, key = torch.randn(2, 3, 16), torch.randn(2, 6, 16)
    _, wanted = attention(query, key, key, PADDED, average_attn_weights=False)
    with record(attention) as recording:
        output, weights = attention(query, key, key, PADDED, need_weights=need_weights, average_attn_weights=False)
    assert (weights is not None) == need_weights
    torch.testing.assert_close(recorded(recording, ""), wanted, atol=ATOL, rtol=0)
    assert recording.key_tokens("")[-2:] == ["(added)", "(added)"]
    torch.testing.assert_close(output, attention(query, key, key, PADDED, need_weights=False)[0], atol=ATOL, rtol=0)


@torch.no_grad()
@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("padding", [None, PADDED])
@pytest.mark.parametrize("flag", [False, True])
def test_a_flag_is_a_hint_as_torch_takes_it(need_weights, padding, flag, monkeypatch):
    """A mask that is not causal, though the flag says so: where nothing else is asked, torch believes the flag.

    Its fast path does not, and gives NaN where every key is blocked; with that left, as a recording leaves it, torch
    gives the same as when recorded.
    """
    torch.manual_seed(5)
    monkeypatch.setattr(torch.backends.mha, "_is_fastpath_enabled", False)
    attention, x = nn.MultiheadAttention(16, 2, batch_first=True).eval(), torch.randn(2, 6, 16)
    window = torch.ones(6, 6).tril(1).triu(-1) == 0  # a key to either side
    believed = flag and padding is None and not need_weights
    obeyed = torch.ones(6, 6).triu(1).bool() if believed else window
    _, wanted = attention(x, x, x, padding, attn_mask=obeyed, average_attn_weights=False)
    before, weights = attention(x, x, x, padding, need_weights=need_weights, attn_mask=window, is_causal=flag)
    with record(attention) as recording:
        output, seen = attention(x, x, x, padding, need_weights=need_weights, attn_mask=window, is_causal=flag)
    torch.testing.assert_close(output, before, atol=ATOL, rtol=0, equal_nan=True)
    if need_weights:  # a row whose keys are all blocked stays torch's NaN
        assert torch.equal(seen.isnan(), weights.isnan())
        assert seen.isnan().any() == (padding is not None)
    torch.testing.assert_close(recorded(recording, ""), wanted.nan_to_num(), atol=ATOL, rtol=0)


@torch.no_grad()
def test_attention_without_an_axis_of_heads():
    class Single(nn.Module):
        def forward(self, x, mask):
            return F.scaled_dot_product_attention(x, x, x, mask)

    x, mask = torch.randn(3, 4, 8), torch.randn(3, 4, 4)  # a mask a sentence
    model = Single()
    with record(model) as recording:
        model(x, mask)
    wanted = (x @ x.transpose(-2, -1) / math.sqrt(8) + mask).softmax(dim=-1)
    torch.testing.assert_close(recorded(recording, "")[:, 0], wanted, atol=ATOL, rtol=0)


@torch.no_grad()
def test_nothing_is_left_on_the_model_and_other_threads_are_not_seen():
    """Another thread runs the model while it is running here."""
    x = torch.randn(1, 3, 16)

    class Slow(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.meanwhile, self.second = HomeMade(), None, HomeMade()

        def forward(self, x):
            self.first(x)
            other, self.meanwhile = self.meanwhile, None
            if other is not None:
                other.start()
                other.join()
            return self.second(x)

    model = Slow().eval()
    with record(model) as recording:
        model.meanwhile = threading.Thread(target=torch.no_grad()(model), args=(x,))
        model(x)
        model(x)
    assert [list(run.attentions) for run in recording.runs] == [["first", "second"]] * 2
    assert not model._forward_hooks
    assert not model._forward_pre_hooks
    model(x)
    assert len(recording.runs) == 2


@torch.no_grad()
def test_while_torch_compiles_nothing_is_recorded(monkeypatch):
    model = HomeMade().eval()
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    with pytest.raises(ValueError, match="No attention was seen in HomeMade"), record(model):
        model(torch.randn(1, 3, 16))


class ByHand(nn.Module):
    def forward(self, x):
        return (x @ x.transpose(-2, -1)).softmax(dim=-1) @ x


def test_what_cannot_be_seen_is_said_with_a_way_out():
    model = ByHand()
    with record(model) as nothing:
        pass  # no forward, and so nothing that could have been seen
    assert nothing.sites == ()
    refusal = r'No attention was seen in ByHand.*attn_implementation="sdpa"'
    with pytest.raises(ValueError, match=refusal), record(model):
        model(torch.zeros(1, 2, 4))
    with pytest.raises(RuntimeError, match="own"), record(model):
        raise RuntimeError("own")


@torch.no_grad()
def test_a_recording_is_saved_and_opened(tmp_path):
    model, x = nn.Sequential(HomeMade(), nn.Identity()).eval(), torch.randn(2, 6, 16)
    mask = torch.ones(2, 1, 6, 6).tril().bool()

    class WithMask(nn.Module):
        def __init__(self):
            super().__init__()
            self.decoder = model[0]

        def forward(self, x):
            return self.decoder(x, mask)

    module = WithMask()
    with record(module) as recording:
        module(x)
        module(x)
    recording.save(tmp_path / "own.safetensors", note="mine")
    opened = open_recording(tmp_path / "own.safetensors")
    assert opened.sites == recording.sites == ("decoder",)
    assert opened.sites[0].kind == "decoder"
    for run in range(2):
        assert torch.equal(recorded(opened, "decoder", run), recorded(recording, "decoder", run))


def test_a_mask_that_fits_no_batch_is_refused_when_opened(tmp_path):
    model = HomeMade().eval()
    with torch.no_grad(), record(model) as recording:
        model(torch.randn(2, 6, 16), torch.ones(2, 1, 6, 6).bool())
    run = recording.runs[0]
    (site,) = run.attentions
    masks = replace(run.attentions[site].masks, attn_mask=torch.ones(3, 1, 6, 6).bool())
    run.attentions[site] = replace(run.attentions[site], masks=masks)
    recording.save(tmp_path / "odd.safetensors")
    with pytest.raises(ValueError, match=r"shape \(3, 1, 6, 6\)"):
        open_recording(tmp_path / "odd.safetensors")


def test_ids_are_safe_from_a_caller_who_changes_them():
    class Embedded(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding, self.attention = nn.Embedding(9, 16), HomeMade()

        def forward(self, ids):
            return self.attention(self.embedding(ids))

    ids, model = torch.tensor([[3, 4, 5]]), Embedded().eval()
    with torch.no_grad(), record(model) as recording:
        model(ids)
        ids[0, 0] = 8
    assert recording.query_tokens("attention") == ["3", "4", "5"]


def test_what_a_path_says():
    paths = {
        "encoder.block.0.layer.0.SelfAttention": "encoder",
        "decoder.block.1.layer.1.EncDecAttention": "cross",
        "model.decoder.layers.0.encoder_attn": "cross",
        "bert.encoder.layer.3.attention.self": "encoder",
        "transformer.h.2.attn": "other",
    }
    assert {path: kind_of(path) for path in paths} == paths


def test_ids_among_what_a_model_is_called_with():
    ids = torch.tensor([[1, 2]])
    assert ids_of((ids,), {})["source"] is ids
    assert ids_of((), {"input_ids": ids, "decoder_input_ids": ids}).keys() == {"source", "target"}
    assert ids_of((torch.zeros(1, 2), ids), {}) == {}
    assert ids_of((ids.bool(),), {}) == {}
