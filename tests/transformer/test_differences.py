"""Where we differ from torch.nn on purpose: each test shows what torch does, then what we do."""

import math

import pytest
import torch
from parity import normal, share_weights, some_mask
from torch import Tensor, nn

import transformer
from transformer import MultiheadAttention

N, H, L, E = 2, 2, 4, 6
DTYPES = [torch.float32, torch.float64]


def both(**options) -> tuple[MultiheadAttention, nn.MultiheadAttention]:
    modules = (
        MultiheadAttention(E, H, batch_first=True, **options),
        nn.MultiheadAttention(E, H, batch_first=True, **options),
    )
    share_weights(*modules)
    return modules


def self_attention(module: nn.Module, x: Tensor, **options) -> tuple[Tensor, Tensor | None]:
    return module(x, x, x, **options)


def gradients(module: nn.Module, x: Tensor, **options) -> list[Tensor]:
    """Of a loss that leaves the first sentence out."""
    x = x.clone().requires_grad_()
    loss = self_attention(module, x, **options)[0][1:].square().sum()
    return list(torch.autograd.grad(loss, [x, *module.parameters()]))


@pytest.fixture(params=DTYPES, ids=str)
def dtype(request: pytest.FixtureRequest) -> torch.dtype:
    return request.param


@pytest.fixture(params=["bool", "float"])
def padding(request: pytest.FixtureRequest, dtype: torch.dtype) -> Tensor:
    """The first sentence is padding from end to end: its queries have no keys."""
    blocked = torch.zeros(N, L, dtype=torch.bool)
    blocked[0] = True
    return blocked if request.param == "bool" else torch.zeros(N, L, dtype=dtype).masked_fill(blocked, -math.inf)


def test_torch_gives_nan_for_a_query_without_keys_or_the_bias_alone(padding: Tensor, dtype: torch.dtype) -> None:
    _, torchs = both(dtype=dtype)
    x = normal(N, L, E, seed=1, dtype=dtype)
    output, pattern = self_attention(torchs, x, key_padding_mask=padding)
    assert output[0].isnan().all()
    assert pattern[0].isnan().all()
    assert any(g.isnan().any() for g in gradients(torchs, x, key_padding_mask=padding))
    output, _ = self_attention(torchs, x, key_padding_mask=padding, need_weights=False)
    assert torch.equal(output[0], torchs.out_proj.bias.expand(L, E))


@pytest.mark.parametrize("need_weights", [True, False])
def test_ours_gives_zeros_before_the_out_projection(padding: Tensor, dtype: torch.dtype, need_weights: bool) -> None:
    ours, _ = both(dtype=dtype)
    x = normal(N, L, E, seed=1, dtype=dtype)
    output, pattern = self_attention(
        ours, x, key_padding_mask=padding, need_weights=need_weights, average_attn_weights=False
    )
    assert torch.equal(output[0], ours.out_proj.bias.expand(L, E))
    if need_weights:
        assert torch.equal(pattern[0], torch.zeros(H, L, L, dtype=dtype))
        torch.testing.assert_close(pattern[1].sum(-1), torch.ones(H, L, dtype=dtype))


@pytest.mark.parametrize("need_weights", [True, False])
def test_our_gradients_are_finite_and_those_of_the_other_sentence_alone(
    padding: Tensor, dtype: torch.dtype, need_weights: bool
) -> None:
    ours, _ = both(dtype=dtype)
    x = normal(N, L, E, seed=1, dtype=dtype)
    found = gradients(ours, x, key_padding_mask=padding, need_weights=need_weights)
    assert torch.equal(found[0][0], torch.zeros(L, E, dtype=dtype))
    alone = gradients(ours, torch.cat([x[1:], x[1:]]), need_weights=need_weights)
    for ours_here, wanted in zip(found[1:], alone[1:], strict=True):
        torch.testing.assert_close(ours_here, wanted)


@pytest.mark.parametrize("need_weights", [True, False])
def test_a_loss_on_such_a_row_has_finite_gradients_too(padding: Tensor, dtype: torch.dtype, need_weights: bool) -> None:
    ours, _ = both(dtype=dtype)
    x = normal(N, L, E, seed=1, dtype=dtype).requires_grad_()
    with torch.autograd.set_detect_anomaly(True):  # nor is there a NaN on the way
        output, pattern = self_attention(ours, x, key_padding_mask=padding, need_weights=need_weights)
        (output.square().sum() + (0 if pattern is None else pattern.square().sum())).backward()
    assert all(tensor.grad.isfinite().all() for tensor in [x, *ours.parameters()])


def test_left_padding_under_a_causal_mask(dtype: torch.dtype) -> None:
    """The common way to such a row: the first query sees the first key alone, and that is padding."""
    ours, torchs = both(dtype=dtype)
    x = normal(N, L, E, seed=1, dtype=dtype)
    padding = torch.tensor([[True, False, False, False]] * N)
    causal = torch.ones(L, L).triu(1).bool()
    assert self_attention(torchs, x, attn_mask=causal, key_padding_mask=padding)[1][:, 0].isnan().all()
    _, pattern = self_attention(ours, x, is_causal=True, key_padding_mask=padding)
    assert torch.equal(pattern[:, 0], torch.zeros(N, L, dtype=dtype))
    torch.testing.assert_close(pattern[:, 1:].sum(-1), torch.ones(N, L - 1, dtype=dtype))


def test_the_pattern_is_the_one_before_dropout() -> None:
    ours, torchs = both(dropout=0.5)
    x = normal(N, L, E, seed=1)
    torch.manual_seed(0)
    _, dropped = self_attention(torchs.train(), x)
    assert not torch.allclose(dropped.sum(-1), torch.ones(N, L))

    _, wanted = self_attention(ours.eval(), x)
    torch.manual_seed(0)
    output, pattern = self_attention(ours.train(), x)
    assert torch.equal(pattern, wanted)
    torch.testing.assert_close(pattern.sum(-1), torch.ones(N, L))
    assert not torch.allclose(output, self_attention(ours.eval(), x)[0])


@pytest.mark.parametrize("need_weights", [True, False])
def test_is_causal_needs_no_attn_mask(need_weights: bool) -> None:
    ours, torchs = both()
    x = normal(N, L, E, seed=1)
    with pytest.raises(RuntimeError, match="Need attn_mask"):
        self_attention(torchs, x, is_causal=True)
    flagged = self_attention(ours, x, is_causal=True, need_weights=need_weights)[0]
    masked = self_attention(torchs, x, attn_mask=torch.ones(L, L).triu(1).bool(), need_weights=need_weights)[0]
    torch.testing.assert_close(flagged, masked, rtol=1e-5, atol=1e-5)


def test_is_causal_and_attn_mask_are_both_obeyed() -> None:
    """In torch the flag replaces the mask, or the mask the flag: that depends on need_weights."""
    ours, torchs = both()
    x, mask = normal(N, L, E, seed=1), torch.zeros(L, L).bool()
    mask[:, 1] = True
    causal = torch.ones(L, L).triu(1).bool()

    def close(one: tuple, other: tuple) -> bool:
        return torch.allclose(one[0], other[0], atol=1e-5)

    hinted = self_attention(torchs, x, attn_mask=mask, is_causal=True, need_weights=False)
    assert close(hinted, self_attention(torchs, x, attn_mask=causal))
    hinted = self_attention(torchs, x, attn_mask=mask, is_causal=True, need_weights=True)
    assert close(hinted, self_attention(torchs, x, attn_mask=mask))

    wanted = self_attention(torchs, x, attn_mask=mask | causal)
    for need_weights in (True, False):
        assert close(self_attention(ours, x, attn_mask=mask, is_causal=True, need_weights=need_weights), wanted)


def test_float32_masks_suit_a_float64_model() -> None:
    ours, torchs = both(dtype=torch.float64)
    x, mask = normal(N, L, E, seed=1, dtype=torch.float64), some_mask("float with -inf", L, L, seed=2)
    with pytest.raises(RuntimeError):
        self_attention(torchs, x, attn_mask=mask)
    torch.testing.assert_close(
        self_attention(ours, x, attn_mask=mask)[0], self_attention(torchs, x, attn_mask=mask.double())[0]
    )


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_padded_rows_are_kept_where_torchs_fast_path_zeroes_them() -> None:
    stacks = [
        package.TransformerEncoder(
            package.TransformerEncoderLayer(8, 2, 12, batch_first=True), 2, enable_nested_tensor=package is nn
        ).eval()
        for package in (transformer, nn)
    ]
    share_weights(*stacks)
    x, padding = normal(N, L, 8, seed=1), torch.tensor([[False] * 4, [False, False, True, True]])
    with torch.no_grad():
        ours, torchs = (stack(x, src_key_padding_mask=padding) for stack in stacks)
    torch.testing.assert_close(ours[~padding], torchs[~padding], rtol=1e-5, atol=1e-5)
    assert torch.equal(torchs[padding], torch.zeros(2, 8))
    assert ours[padding].abs().min() > 0


def test_nested_tensors_are_refused() -> None:
    layer = transformer.TransformerEncoderLayer(8, 2)
    with pytest.raises(ValueError, match="enable_nested_tensor must be False"):
        transformer.TransformerEncoder(layer, 1, enable_nested_tensor=True)
