"""Attention by itself: the formula worked by hand, what always holds, and what is refused."""

import math
import re

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from parity import MASK_KINDS, assert_all_close, normal, seeds, some_mask
from torch import Tensor, nn
from torch.nn import functional as F

from transformer import MultiheadAttention, multi_head_attention_forward, scaled_dot_product_attention
from transformer.attention import DotProductAttention
from transformer.masks import AttentionMasks

N, H, L, S, D = 2, 3, 4, 5, 2
E = H * D


def test_formula_worked_by_hand() -> None:
    query = torch.tensor([[2.0, 0.0, 0.0, 0.0]])  # four wide: the scores are halved
    key = torch.tensor([[math.log(3.0), 9.0, 9.0, 9.0], [0.0, 9.0, 9.0, 9.0]])
    value = torch.tensor([[4.0, 0.0], [0.0, 8.0]])
    output, pattern = scaled_dot_product_attention(query, key, value)
    torch.testing.assert_close(pattern, torch.tensor([[0.75, 0.25]]))
    torch.testing.assert_close(output, torch.tensor([[3.0, 2.0]]))


def test_true_blocks_and_numbers_are_added() -> None:
    query, key, value = torch.zeros(1, 1), torch.zeros(3, 1), torch.eye(3)
    blocked = torch.tensor([[False, True, False]])
    assert scaled_dot_product_attention(query, key, value, blocked)[1].tolist() == [[0.5, 0.0, 0.5]]
    ones_and_zeros = torch.tensor([[math.log(2.0), 0.0, 0.0]])
    torch.testing.assert_close(
        scaled_dot_product_attention(query, key, value, ones_and_zeros)[1], torch.tensor([[0.5, 0.25, 0.25]])
    )


@pytest.mark.parametrize("kind", MASK_KINDS)
def test_formula_equals_torchs_whose_true_means_the_opposite(kind: str | None) -> None:
    query, key, value = normal(N, H, L, D, seed=1), normal(N, H, S, D, seed=2), normal(N, H, S, 7, seed=3)
    mask = some_mask(kind, L, S, seed=4)
    theirs = F.scaled_dot_product_attention(query, key, value, ~mask if kind == "bool" else mask)
    torch.testing.assert_close(scaled_dot_product_attention(query, key, value, mask)[0], theirs)


def test_dropout_falls_on_the_weights_and_not_on_the_pattern() -> None:
    query, key = normal(50, D, seed=1), normal(50, D, seed=2)
    output, pattern = scaled_dot_product_attention(query, key, torch.eye(50), dropout_p=0.5)
    torch.testing.assert_close(pattern.sum(-1), torch.ones(50))
    kept = output != 0  # the value is the identity, so the output shows the weights that were used
    torch.testing.assert_close(output[kept], 2 * pattern[kept])
    assert 0.4 < kept.float().mean() < 0.6


@st.composite
def attention_calls(draw: st.DrawFn) -> tuple[Tensor, Tensor, Tensor, AttentionMasks]:
    """Rows may be left without keys here, unlike where torch is the reference."""
    batch, heads, queries, keys = (draw(st.integers(1, 3)) for _ in range(4))
    seed, dtype = draw(seeds), draw(st.sampled_from([torch.float32, torch.float64]))

    def mask(*shape: int) -> Tensor | None:
        kind = draw(st.sampled_from(MASK_KINDS))
        drawn = some_mask(kind, *shape, seed=seed, dtype=dtype)
        if drawn is not None and kind != "float" and draw(st.booleans()):
            drawn[..., 0] = True if kind == "bool" else -math.inf
        return drawn

    square = (batch * heads, queries, keys) if draw(st.booleans()) else (queries, keys)
    appended = draw(st.integers(0, 1))
    masks = AttentionMasks(mask(*square), mask(batch, keys), draw(st.booleans()), appended)
    query = normal(batch, heads, queries, D, seed=seed, dtype=dtype)
    key, value = (normal(batch, heads, keys + appended, D, seed=seed + i, dtype=dtype) for i in (1, 2))
    return query, key, value, masks


@given(call=attention_calls())
def test_rows_sum_to_one_or_are_zeros_and_blocked_cells_are_exactly_zero(call: tuple) -> None:
    query, _, _, masks = call
    _, pattern = DotProductAttention()(*call, need_weights=True)
    merged = masks.additive(query.size(1), query.size(2), pattern.size(3) - masks.appended, query.dtype, None)
    blocked = torch.zeros_like(pattern).bool() if merged is None else (merged == -math.inf).expand(pattern.shape)
    assert (pattern[blocked] == 0).all()
    torch.testing.assert_close(pattern.sum(-1), (~blocked.all(-1)).to(pattern.dtype))


@given(call=attention_calls())
def test_the_fused_step_gives_the_same_output_and_gradients(call: tuple) -> None:
    *tensors, masks = call
    results = []
    for need_weights in (True, False):
        leaves = [tensor.clone().requires_grad_() for tensor in tensors]
        output, pattern = DotProductAttention()(*leaves, masks, need_weights=need_weights)
        assert (pattern is not None) == need_weights
        weighting = normal(*output.shape, seed=1, dtype=output.dtype)
        results.append((output, *torch.autograd.grad((output * weighting).sum(), leaves)))
    names = ("output", "gradient of query", "gradient of key", "gradient of value")
    explicit, fused = (dict(zip(names, result, strict=True)) for result in results)
    assert all(tensor.isfinite().all() for tensor in explicit.values())
    assert_all_close(explicit, fused)


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_very_negative_numbers_do_not_block(dtype: torch.dtype, need_weights: bool) -> None:
    """A row of nothing but finfo.min still has its keys, also where a very negative score comes on top."""
    query, key = torch.full((1, 1, 1, 1), 10.0, dtype=dtype), torch.full((1, 1, 2, 1), -10.0, dtype=dtype)
    value = torch.tensor([1.0, 3.0], dtype=dtype).view(1, 1, 2, 1)
    lowest = torch.full((1, 2), torch.finfo(dtype).min, dtype=dtype)
    output, pattern = DotProductAttention()(query, key, value, AttentionMasks(lowest, lowest), 0.0, need_weights)
    assert output.item() == 2.0
    assert pattern is None or pattern.flatten().tolist() == [0.5, 0.5]


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("kind", MASK_KINDS)
def test_nothing_is_modified_in_place(kind: str | None, need_weights: bool) -> None:
    given = {
        "query": normal(L, N, E, seed=1),
        "key": normal(S, N, E, seed=2),
        "value": normal(S, N, E, seed=3),
        "attn_mask": some_mask(kind, N * H, L, S, seed=4),
        "key_padding_mask": some_mask(kind, N, S, seed=5),
    }
    before = {name: None if value is None else value.clone() for name, value in given.items()}
    attention = MultiheadAttention(E, H, add_bias_kv=True, add_zero_attn=True)
    attention(**given, is_causal=True, need_weights=need_weights)
    for name, value in given.items():
        assert value is None or torch.equal(value, before[name]), name


def test_scores_and_masks_are_not_modified_in_place() -> None:
    query, key, value = normal(L, D, seed=1), normal(S, D, seed=2), normal(S, D, seed=3)
    for kind in MASK_KINDS[1:]:
        given = [query, key, value, some_mask(kind, L, S, seed=4)]
        before = [tensor.clone() for tensor in given]
        scaled_dot_product_attention(*given)
        assert all(map(torch.equal, given, before))


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize(("inputs", "products"), [("one", 1), ("memory", 2), ("three", 3)])
def test_as_few_products_as_the_inputs_allow(
    monkeypatch: pytest.MonkeyPatch, batch_first: bool, inputs: str, products: int
) -> None:
    """batch_first and unbatched input keep one tensor one tensor, else the packed product is lost."""
    attention, linear, calls = MultiheadAttention(E, H, batch_first=batch_first), F.linear, []
    monkeypatch.setattr(F, "linear", lambda *args: calls.append(args) or linear(*args))
    for shape in ((N, L, E), (L, E)):
        query, key = normal(*shape, seed=1), normal(*shape, seed=2)
        given = {"one": (query, query, query), "memory": (query, key, key), "three": (query, key, key.clone())}
        calls.clear()
        attention(*given[inputs])
        assert len(calls) == products + 1  # and the out-projection


def test_a_hook_sees_the_heads_and_the_masks_as_they_were_given() -> None:
    attention, seen = MultiheadAttention(E, H, add_zero_attn=True, batch_first=True), []
    attention.attention.register_forward_hook(lambda module, args, out: seen.append((args, out)))
    padding, x = some_mask("bool", N, S, seed=1), normal(N, S, E, seed=2)
    attention(x, x, x, key_padding_mask=padding, is_causal=True, need_weights=False)
    ((query, key, value, masks, *_), (output, pattern)) = seen[0]
    assert query.shape == output.shape == (N, H, S, D)
    assert key.shape == value.shape == (N, H, S + 1, D)
    assert masks == AttentionMasks(None, padding, is_causal=True, appended=1)
    assert pattern is None


X = torch.zeros(L, N, E)
KEYS = torch.zeros(S, N, E)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int32, torch.int64])
@pytest.mark.parametrize(("name", "shape"), [("attn_mask", (L, S)), ("key_padding_mask", (N, S))])
def test_whole_number_masks_are_refused(name: str, shape: tuple[int, ...], dtype: torch.dtype) -> None:
    mask = {name: torch.zeros(shape, dtype=dtype)}
    with pytest.raises(TypeError, match=re.escape(f"{name} has dtype {dtype}; wanted bool")):
        MultiheadAttention(E, H)(X, KEYS, KEYS, **mask)
    with pytest.raises(AssertionError):
        nn.MultiheadAttention(E, H)(X, KEYS, KEYS, **mask)


SQUARES = f"wanted (L, S) = ({L}, {S}) or (N*H, L, S) = ({N * H}, {L}, {S})."


@pytest.mark.parametrize(
    ("mask", "shape", "wanted"),
    [
        ("attn_mask", (S, L), SQUARES),
        ("attn_mask", (S,), SQUARES),
        ("attn_mask", (1, S), SQUARES),
        ("attn_mask", (N, L, S), SQUARES),
        ("attn_mask", (1, L, S), SQUARES),
        ("attn_mask", (N, H, L, S), SQUARES),
        ("key_padding_mask", (S, N), f"wanted (N, S) = ({N}, {S})."),
        ("key_padding_mask", (S,), f"wanted (N, S) = ({N}, {S})."),
        ("key_padding_mask", (N, S + 1), f"wanted (N, S) = ({N}, {S})."),
        ("key_padding_mask", (N, L, S), f"wanted (N, S) = ({N}, {S})."),
    ],
)
@pytest.mark.parametrize("batch_first", [False, True])
def test_masks_of_a_wrong_shape_are_refused(mask: str, shape: tuple, wanted: str, batch_first: bool) -> None:
    # Appended keys are not the caller's: the message speaks of the S that were given.
    attention = MultiheadAttention(E, H, add_zero_attn=True, add_bias_kv=True, batch_first=batch_first)
    x, keys = (X.transpose(0, 1), KEYS.transpose(0, 1)) if batch_first else (X, KEYS)
    with pytest.raises(ValueError, match=re.escape(f"{mask} has shape {shape}; {wanted}")):
        attention(x, keys, keys, **{mask: torch.zeros(shape)})


@pytest.mark.parametrize(
    ("mask", "shape", "wanted"),
    [
        ("attn_mask", (1, L, S), f"wanted (L, S) = ({L}, {S}) or (H, L, S) = ({H}, {L}, {S})."),
        ("key_padding_mask", (1, S), f"wanted (S,) = ({S},)."),
        ("key_padding_mask", (L,), f"wanted (S,) = ({S},)."),
    ],
)
def test_masks_of_unbatched_input_are_named_as_they_were_given(mask: str, shape: tuple, wanted: str) -> None:
    with pytest.raises(ValueError, match=re.escape(f"{mask} has shape {shape}; {wanted}")):
        MultiheadAttention(E, H)(X[:, 0], KEYS[:, 0], KEYS[:, 0], **{mask: torch.zeros(shape).bool()})


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize(
    "shapes", [((L, E), (S, N, E), (S, N, E)), ((L, N, E), (S, N, E), (S, E)), ((E,),) * 3, ((1, L, N, E),) * 3]
)
def test_batched_beside_unbatched_is_refused(shapes: tuple, batch_first: bool) -> None:
    message = "query has shape {}, key {} and value {}; wanted 3 axes each, or 2 each for unbatched input."
    with pytest.raises(ValueError, match=re.escape(message.format(*shapes))):
        MultiheadAttention(E, H, batch_first=batch_first)(*map(torch.zeros, shapes))


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (((L, N, E + 1), (S, N, E), (S, N, E)), f"query has width {E + 1}; wanted E = {E}"),
        (((L, N, E), (S, N, E + 1), (S, N, E)), f"key has width {E + 1}; wanted E = {E}"),
        (((L, N, E), (S, N, E), (S, N, E + 1)), f"value has width {E + 1}; wanted E = {E}"),
        (((L, N, E), (S, N + 1, E), (S, N + 1, E)), f"key has batch size {N + 1}; wanted the query's, N = {N}"),
        (((L, N, E), (S, N, E), (S, N + 1, E)), f"value has batch size {N + 1}; wanted the key's, N = {N}"),
        (((L, N, E), (S, N, E), (S + 1, N, E)), f"value has length {S + 1}; wanted the key's, S = {S}"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(shapes: tuple, message: str, batch_first: bool) -> None:
    tensors = [torch.zeros(shape).transpose(0, 1) if batch_first else torch.zeros(shape) for shape in shapes]
    with pytest.raises(ValueError, match=message):
        MultiheadAttention(E, H, batch_first=batch_first)(*tensors)


def test_a_width_that_heads_do_not_share_is_refused() -> None:
    for embed_dim, num_heads in ((5, 2), (0, 1), (4, 0)):
        with pytest.raises(ValueError, match=f"embed_dim {embed_dim} must be a positive multiple of num_heads"):
            MultiheadAttention(embed_dim, num_heads)


def call(**changes) -> tuple[Tensor, Tensor | None]:
    given = {
        **{"query": X, "key": KEYS, "value": KEYS, "embed_dim_to_check": E, "num_heads": H, "dropout_p": 0.0},
        **{"in_proj_weight": torch.zeros(3 * E, E), "in_proj_bias": None, "bias_k": None, "bias_v": None},
        **{"add_zero_attn": False, "out_proj_weight": torch.eye(E), "out_proj_bias": None},
    }
    return multi_head_attention_forward(**given | changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"embed_dim_to_check": E + 1, "num_heads": 1}, f"query has width {E}; wanted E = {E + 1}"),
        ({"num_heads": 4}, f"embed_dim {E} must be a multiple of num_heads 4"),
        ({"in_proj_weight": None}, "in_proj_weight is None"),
        ({"use_separate_proj_weight": True}, "needs q_proj_weight, k_proj_weight and v_proj_weight"),
        ({"bias_k": torch.zeros(1, 1, E)}, "bias_k and bias_v must be given together"),
        ({"bias_v": torch.zeros(1, 1, E)}, "bias_k and bias_v must be given together"),
        (
            {"bias_k": torch.zeros(1, 1, E), "bias_v": torch.zeros(1, 1, E), "static_k": torch.zeros(N * H, S, D)},
            "cannot be added to static_k and static_v",
        ),
        ({"static_k": torch.zeros(N, S, D)}, f"static_k has shape ({N}, {S}, {D}); wanted (N*H, S, D) = ({N * H}, S"),
        ({"static_v": torch.zeros(N * H, S, E)}, f"static_v has shape ({N * H}, {S}, {E}); wanted (N*H, S, D)"),
        ({"static_k": torch.zeros(N * H, S + 1, D)}, f"The values have length {S}; wanted the keys', S = {S + 1}"),
    ],
)
@pytest.mark.parametrize("need_weights", [True, False])
def test_function_refuses_what_does_not_fit(changes: dict, message: str, need_weights: bool) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        call(**changes, need_weights=need_weights)
