"""multi_head_attention_forward against torch.nn.functional's: outputs, patterns and every gradient."""

import inspect

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from parity import (
    DTYPES,
    MASK_KINDS,
    assert_all_close,
    everything,
    normal,
    normals,
    seeds,
    some_mask,
)
from torch import Tensor
from torch.nn import functional as F

from transformer import multi_head_attention_forward

pytestmark = pytest.mark.filterwarnings("ignore:Support for mismatched key_padding_mask and attn_mask")

N, H, L, S, D = 2, 3, 4, 5, 2
E, KDIM, VDIM = H * D, 7, 8

PACKED = {"in_proj_weight": (3 * E, E)}
SEPARATE = {"q_proj_weight": (E, E), "k_proj_weight": (E, KDIM), "v_proj_weight": (E, VDIM)}
BIASES = {"in_proj_bias": (3 * E,), "out_proj_bias": (E,)}
STATIC = (N * H, S, D)

# name: (shapes of the tensors beside query, key, value and out_proj_weight; what else is given)
CALLS = {
    "packed weight": (PACKED | BIASES, {}),
    "no biases": (PACKED, {}),
    "in_proj_bias": (PACKED | {"in_proj_bias": (3 * E,)}, {}),
    "out_proj_bias": (PACKED | {"out_proj_bias": (E,)}, {}),
    "bias_k, bias_v": (PACKED | BIASES | {"bias_k": (1, 1, E), "bias_v": (1, 1, E)}, {}),
    "add_zero_attn": (PACKED | BIASES, {"add_zero_attn": True}),
    "dropout_p, not training": (PACKED | BIASES, {"dropout_p": 0.5, "training": False}),
    "key_padding_mask": (PACKED | BIASES, {"key_padding_mask": some_mask("bool", N, S, seed=1)}),
    "need_weights": (PACKED | BIASES, {"need_weights": False}),
    "attn_mask": (PACKED | BIASES, {"attn_mask": some_mask("float", N * H, L, S, seed=1)}),
    "use_separate_proj_weight": (SEPARATE | BIASES, {"use_separate_proj_weight": True}),
    "separate, no biases": (SEPARATE, {"use_separate_proj_weight": True}),
    "static_k": (PACKED | BIASES | {"static_k": STATIC}, {}),
    "static_v": (PACKED | BIASES | {"static_v": STATIC}, {}),
    "static_k and static_v": (PACKED | BIASES | {"static_k": STATIC, "static_v": STATIC}, {}),
    "longer static_k and static_v": (
        PACKED | BIASES | {"static_k": (N * H, S + 2, D), "static_v": (N * H, S + 2, D)},
        {"need_weights": False},
    ),
    "static and add_zero_attn": (
        PACKED | BIASES | {"static_k": STATIC, "static_v": STATIC},
        {"add_zero_attn": True, "attn_mask": some_mask("bool", L, S, seed=1)},
    ),
    "average_attn_weights": (PACKED | BIASES, {"average_attn_weights": False}),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("shapes", "others"), CALLS.values(), ids=CALLS)
def test_each_argument(shapes: dict[str, tuple], others: dict, dtype: torch.dtype) -> None:
    separate = "use_separate_proj_weight" in others
    shapes = shapes | {
        "query": (L, N, E),
        "key": (S, N, KDIM if separate else E),
        "value": (S, N, VDIM if separate else E),
        "out_proj_weight": (E, E),
    }
    tensors = normals(shapes, seed=0, dtype=dtype)
    others = {
        name: value.to(dtype) if isinstance(value, Tensor) and value.is_floating_point() else value
        for name, value in others.items()
    }
    compare(tensors, {"embed_dim_to_check": E, "num_heads": H, "dropout_p": 0.0, "add_zero_attn": False} | others)


def test_training_drops_weights_out_unless_told_otherwise() -> None:
    x, weight = normal(L, N, E, seed=1), normal(3 * E, E, seed=2, scale=0.4)
    outputs = []
    for function in (multi_head_attention_forward, F.multi_head_attention_forward):
        torch.manual_seed(0)
        outputs.append(function(x, x, x, E, H, weight, None, None, None, False, 0.5, torch.eye(E), None)[0])
    torch.testing.assert_close(outputs[0], outputs[1], rtol=1e-5, atol=1e-5)


@st.composite
def calls(draw: st.DrawFn) -> tuple[dict[str, Tensor], dict]:
    """The tensors, which want a gradient, and the other arguments."""
    batch, heads, head_width = draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(st.integers(1, 3))
    queries, keys, width = draw(st.integers(1, 4)), draw(st.integers(1, 4)), heads * head_width
    dtype, seed = draw(st.sampled_from(DTYPES)), draw(seeds)
    separate, bias, static_k, static_v = (draw(st.booleans()) for _ in range(4))
    bias_kv = not (static_k or static_v) and draw(st.booleans())
    key_width, value_width = (3, 4) if separate else (width, width)
    shapes = {
        "query": (queries, batch, width),
        "key": (keys, batch, key_width),
        "value": (keys, batch, value_width),
        "out_proj_weight": (width, width),
    }
    if separate:
        shapes |= {
            "q_proj_weight": (width, width),
            "k_proj_weight": (width, key_width),
            "v_proj_weight": (width, value_width),
        }
    else:
        shapes |= {"in_proj_weight": (3 * width, width)}
    if bias:
        shapes |= {"in_proj_bias": (3 * width,), "out_proj_bias": (width,)}
    if bias_kv:
        shapes |= {"bias_k": (1, 1, width), "bias_v": (1, 1, width)}
    if static_k:
        shapes |= {"static_k": (batch * heads, keys, head_width)}
    if static_v:
        shapes |= {"static_v": (batch * heads, keys, head_width)}
    tensors = {
        name: normal(*shape, seed=seed + i, dtype=dtype, scale=0.4) for i, (name, shape) in enumerate(shapes.items())
    }
    attn_mask_shape = (batch * heads, queries, keys) if draw(st.booleans()) else (queries, keys)
    training = draw(st.booleans())
    return tensors, {
        "embed_dim_to_check": width,
        "num_heads": heads,
        "use_separate_proj_weight": separate,
        "training": training,
        "dropout_p": 0.0 if training else 0.5,
        "attn_mask": some_mask(draw(st.sampled_from(MASK_KINDS)), *attn_mask_shape, seed=seed, dtype=dtype),
        "key_padding_mask": some_mask(draw(st.sampled_from(MASK_KINDS)), batch, keys, seed=seed + 1, dtype=dtype),
        **{name: draw(st.booleans()) for name in ("add_zero_attn", "need_weights", "average_attn_weights")},
    }


@given(call=calls())
def test_any_mixture(call: tuple[dict[str, Tensor], dict]) -> None:
    compare(*call)


def compare(tensors: dict[str, Tensor], others: dict) -> None:
    optional = ("in_proj_weight", "in_proj_bias", "bias_k", "bias_v", "out_proj_bias")
    others = others | {name: None for name in optional if name not in tensors}
    assert_all_close(
        everything(lambda **leaves: multi_head_attention_forward(**leaves, **others), tensors),
        everything(lambda **leaves: F.multi_head_attention_forward(**leaves, **others), tensors),
    )


def test_arguments_are_torchs_in_torchs_order_and_two_more() -> None:
    ours = [(p.name, p.default) for p in inspect.signature(multi_head_attention_forward).parameters.values()]
    theirs = [(p.name, p.default) for p in inspect.signature(F.multi_head_attention_forward).parameters.values()]
    assert ours == [*theirs, ("attend", None), ("cache", None)]
