"""Ours in place of torch.nn's attention: the same weights, the same outputs, and everything that ours can."""

import copy

import pytest
import torch
from torch import nn

from transformer import MultiheadAttention, record, replace_attention

ATOL = 1e-5
PADDED = torch.tensor([[False] * 6, [False] * 4 + [True] * 2])


def of_torch(model):
    return [one for one in model.modules() if isinstance(one, nn.MultiheadAttention)]


@torch.no_grad()
@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_an_encoder_gives_the_same_at_unpadded_positions(norm_first, bias):
    torch.manual_seed(1)
    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, norm_first=norm_first, bias=bias)
    theirs = nn.TransformerEncoder(layer, 2).eval()
    ours = replace_attention(copy.deepcopy(theirs))
    assert not of_torch(ours)
    x = torch.randn(2, 6, 16)
    for padding in (None, PADDED):
        real = torch.ones(2, 6, dtype=torch.bool) if padding is None else ~padding
        output = ours(x, src_key_padding_mask=padding)
        torch.testing.assert_close(output[real], theirs(x, src_key_padding_mask=padding)[real], atol=ATOL, rtol=0)
        with record(ours) as recording:
            ours(x, src_key_padding_mask=padding)
        assert recording.sites == ("layers.0.self_attn", "layers.1.self_attn")
        sums = recording.pattern(recording.sites[1], None, 1).sum(dim=-1)
        torch.testing.assert_close(sums, torch.ones(4, 6))


@torch.no_grad()
@pytest.mark.parametrize("batch_first", [False, True])
def test_a_transformer_gives_the_same(batch_first):
    torch.manual_seed(2)
    theirs = nn.Transformer(16, 2, 1, 2, 32, batch_first=batch_first).eval()
    ours = replace_attention(copy.deepcopy(theirs))
    source, target = torch.randn(6, 6, 16), torch.randn(6, 6, 16)
    masks = {"tgt_mask": nn.Transformer.generate_square_subsequent_mask(6), "tgt_is_causal": True}
    torch.testing.assert_close(ours(source, target, **masks), theirs(source, target, **masks), atol=ATOL, rtol=0)


def test_weights_are_shared_and_learn_together():
    theirs = nn.ModuleDict(
        {"attention": nn.MultiheadAttention(8, 2, kdim=5, vdim=3, add_bias_kv=True, add_zero_attn=True)}
    )
    known = dict(theirs.named_parameters())
    ours = replace_attention(theirs)
    assert ours is theirs
    assert isinstance(ours["attention"], MultiheadAttention)
    assert dict(ours.named_parameters()).keys() == known.keys()
    assert all(parameter is known[name] for name, parameter in ours.named_parameters())


@torch.no_grad()
def test_an_attention_itself_in_training_and_in_half_precision():
    theirs = nn.MultiheadAttention(8, 2, dropout=0.5, dtype=torch.bfloat16).train()
    ours = replace_attention(theirs)
    assert ours.training
    assert ours.dropout == 0.5
    x = torch.randn(3, 1, 8, dtype=torch.bfloat16)
    torch.testing.assert_close(ours.eval()(x, x, x)[0], theirs.eval()(x, x, x)[0])
