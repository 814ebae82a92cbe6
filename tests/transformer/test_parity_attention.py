"""MultiheadAttention against torch.nn's: outputs, patterns, gradients, first weights."""

from dataclasses import dataclass

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from parity import (
    DTYPES,
    MASK_KINDS,
    arguments_of,
    assert_parity,
    causal_besides,
    normal,
    seeds,
    share_weights,
    some_mask,
)
from torch import Tensor, nn

from transformer import MultiheadAttention

pytestmark = pytest.mark.filterwarnings("ignore:Support for mismatched key_padding_mask and attn_mask")


@dataclass(frozen=True)
class Case:
    batch: int | None  # None: unbatched
    heads: int
    head_width: int
    query_length: int
    key_length: int
    inputs: str  # "one": self-attention; "memory": key is value; "three"
    dtype: torch.dtype
    batch_first: bool
    training: bool
    bias: bool
    add_bias_kv: bool
    add_zero_attn: bool
    kdim: int | None
    vdim: int | None
    attn_mask: str | None
    mask_for_each_head: bool
    key_padding_mask: str | None
    is_causal: bool
    need_weights: bool
    average_attn_weights: bool
    seed: int

    def tensors(self) -> dict[str, Tensor]:
        width = self.heads * self.head_width
        query = self._sequence(self.query_length, width, seed=self.seed)
        if self.inputs == "one":
            return {"query": query, "key": query, "value": query}
        key = self._sequence(self.key_length, self.kdim or width, seed=self.seed + 1)
        if self.inputs == "memory":
            return {"query": query, "key": key, "value": key}
        return {"query": query, "key": key, "value": self._sequence(self.key_length, self.vdim or width, self.seed + 2)}

    def _sequence(self, length: int, width: int, seed: int) -> Tensor:
        if self.batch is None:
            return normal(length, width, seed=seed, dtype=self.dtype)
        shape = (self.batch, length) if self.batch_first else (length, self.batch)
        return normal(*shape, width, seed=seed, dtype=self.dtype)

    def masks(self) -> dict[str, Tensor | None]:
        square = (self.query_length, self.key_length)
        shape = ((self.batch or 1) * self.heads, *square) if self.mask_for_each_head else square
        of_keys = (self.key_length,) if self.batch is None else (self.batch, self.key_length)
        return {
            "attn_mask": some_mask(self.attn_mask, *shape, seed=self.seed, dtype=self.dtype),
            "key_padding_mask": some_mask(self.key_padding_mask, *of_keys, seed=self.seed + 9, dtype=self.dtype),
        }


@st.composite
def cases(draw: st.DrawFn) -> Case:
    inputs = draw(st.sampled_from(["one", "memory", "three"]))
    query_length = draw(st.integers(1, 5))
    return Case(
        batch=draw(st.sampled_from([None, 1, 2, 3])),
        heads=draw(st.integers(1, 3)),
        head_width=draw(st.integers(1, 4)),
        query_length=query_length,
        key_length=query_length if inputs == "one" else draw(st.integers(1, 5)),
        inputs=inputs,
        dtype=draw(st.sampled_from(DTYPES)),
        kdim=draw(st.sampled_from([None, 3])) if inputs == "three" else None,
        vdim=draw(st.sampled_from([None, 5])) if inputs == "three" else None,
        attn_mask=draw(st.sampled_from(MASK_KINDS)),
        key_padding_mask=draw(st.sampled_from(MASK_KINDS)),
        seed=draw(seeds),
        **{name: draw(st.booleans()) for name, kind in Case.__annotations__.items() if kind is bool},
    )


@given(case=cases())
def test_module_equals_torch(case: Case) -> None:
    built = {
        "embed_dim": case.heads * case.head_width,
        "num_heads": case.heads,
        **{name: getattr(case, name) for name in ("bias", "add_bias_kv", "add_zero_attn", "kdim", "vdim")},
        "batch_first": case.batch_first,
        "dtype": case.dtype,
    }
    ours, theirs = MultiheadAttention(**built), nn.MultiheadAttention(**built)
    share_weights(ours, theirs, case.seed)
    masks = case.masks()
    asked = {"need_weights": case.need_weights, "average_attn_weights": case.average_attn_weights}
    for_torch = masks
    if case.is_causal:
        for_torch = masks | {"attn_mask": causal_besides(masks["attn_mask"], case.query_length, case.key_length)}
    modules = ours.train(case.training), theirs.train(case.training)
    assert_parity(*modules, case.tensors(), masks | asked | {"is_causal": case.is_causal}, for_torch | asked)


N, H, L, S, D = 2, 3, 4, 5, 2
E = H * D

CONSTRUCTOR = {
    "defaults": {},
    "dropout, none of it in eval": {"dropout": 0.5},
    "bias": {"bias": False},
    "add_bias_kv": {"add_bias_kv": True},
    "add_zero_attn": {"add_zero_attn": True},
    "add_bias_kv and add_zero_attn": {"add_bias_kv": True, "add_zero_attn": True},
    "kdim": {"kdim": 7},
    "vdim": {"vdim": 8},
    "kdim and vdim": {"kdim": 7, "vdim": 8},
    "batch_first": {"batch_first": True},
    "device": {"device": "cpu"},
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("arguments", CONSTRUCTOR.values(), ids=CONSTRUCTOR)
def test_each_constructor_argument(arguments: dict, dtype: torch.dtype) -> None:
    ours = MultiheadAttention(E, H, **arguments, dtype=dtype).eval()
    theirs = nn.MultiheadAttention(E, H, **arguments, dtype=dtype).eval()
    share_weights(ours, theirs)
    shape = (lambda length: (N, length)) if arguments.get("batch_first") else (lambda length: (length, N))
    tensors = {
        "query": normal(*shape(L), E, seed=1, dtype=dtype),
        "key": normal(*shape(S), arguments.get("kdim", E), seed=2, dtype=dtype),
        "value": normal(*shape(S), arguments.get("vdim", E), seed=3, dtype=dtype),
    }
    # A mask that adds columns must skip those that add_bias_kv and add_zero_attn append.
    assert_parity(ours, theirs, tensors, {"attn_mask": some_mask("float", L, S, seed=4, dtype=dtype)})


MASKS = {
    "none": {},
    **{f"attn_mask (L, S) {kind}": {"attn_mask": some_mask(kind, L, S, seed=1)} for kind in MASK_KINDS[1:]},
    **{f"attn_mask (N*H, L, S) {kind}": {"attn_mask": some_mask(kind, N * H, L, S, seed=1)} for kind in MASK_KINDS[1:]},
    **{f"key_padding_mask {kind}": {"key_padding_mask": some_mask(kind, N, S, seed=2)} for kind in MASK_KINDS[1:]},
    **{
        f"{shape} {kind} and {padding}": {
            "attn_mask": some_mask(kind, *sizes, seed=1),
            "key_padding_mask": some_mask(padding, N, S, seed=2),
        }
        for shape, sizes in {"(L, S)": (L, S), "(N*H, L, S)": (N * H, L, S)}.items()
        for kind in ("bool", "float with -inf")
        for padding in ("bool", "float with -inf")
    },
}


@pytest.mark.parametrize("is_causal", [False, True], ids=["", "is_causal"])
@pytest.mark.parametrize("weights", ["averaged", "per head", "not needed"])
@pytest.mark.parametrize("masks", MASKS.values(), ids=MASKS)
def test_each_mask_and_each_kind_of_weights(masks: dict[str, Tensor], weights: str, is_causal: bool) -> None:
    ours, theirs = MultiheadAttention(E, H), nn.MultiheadAttention(E, H)
    share_weights(ours, theirs)
    tensors = {"query": normal(L, N, E, seed=5), "key": normal(S, N, E, seed=6), "value": normal(S, N, E, seed=7)}
    asked = {"need_weights": weights != "not needed", "average_attn_weights": weights == "averaged"}
    for_torch = masks | {"attn_mask": causal_besides(masks.get("attn_mask"), L, S)} if is_causal else masks
    assert_parity(ours, theirs, tensors, masks | asked | {"is_causal": is_causal}, for_torch | asked)


@pytest.mark.parametrize("need_weights", [True, False])
def test_unbatched_with_masks(need_weights: bool) -> None:
    ours, theirs = MultiheadAttention(E, H, batch_first=True), nn.MultiheadAttention(E, H, batch_first=True)
    share_weights(ours, theirs)
    tensors = {"query": normal(L, E, seed=1), "key": normal(S, E, seed=2), "value": normal(S, E, seed=3)}
    masks = {
        "attn_mask": some_mask("bool", H, L, S, seed=4),
        "key_padding_mask": some_mask("bool", S, seed=5),
        "need_weights": need_weights,
    }
    assert_parity(ours, theirs, tensors, masks)


def test_gradient_of_a_float_mask() -> None:
    """Learned position biases travel in attn_mask."""
    ours, theirs = MultiheadAttention(E, H), nn.MultiheadAttention(E, H)
    share_weights(ours, theirs)
    x = normal(L, N, E, seed=1)
    tensors = {"query": x, "key": x, "value": x, "attn_mask": normal(N * H, L, L, seed=2)}
    for need_weights in (True, False):
        assert_parity(ours, theirs, tensors, {"need_weights": need_weights})


@pytest.mark.parametrize("need_weights", [True, False])
def test_training_drops_out_the_same_weights_from_the_same_seed(need_weights: bool) -> None:
    ours, theirs = MultiheadAttention(E, H, dropout=0.4), nn.MultiheadAttention(E, H, dropout=0.4)
    share_weights(ours, theirs)
    x = normal(L, N, E, seed=1)
    outputs = []
    for module in (ours.train(), theirs.train()):
        torch.manual_seed(3)
        outputs.append(module(x, x, x, need_weights=need_weights)[0])
    torch.testing.assert_close(outputs[0], outputs[1], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("arguments", CONSTRUCTOR.values(), ids=CONSTRUCTOR)
def test_same_seed_gives_the_same_first_weights_in_the_same_order(arguments: dict) -> None:
    torch.manual_seed(0)
    ours = MultiheadAttention(E, H, **arguments)
    torch.manual_seed(0)
    theirs = nn.MultiheadAttention(E, H, **arguments)
    assert [name for name, _ in ours.named_parameters()] == [name for name, _ in theirs.named_parameters()]
    for name, parameter in ours.named_parameters():
        assert torch.equal(parameter, theirs.get_parameter(name)), name


@pytest.mark.parametrize("arguments", CONSTRUCTOR.values(), ids=CONSTRUCTOR)
def test_parameters_are_made_on_the_device_and_in_the_dtype(arguments: dict) -> None:
    attention = MultiheadAttention(E, H, **arguments | {"device": "meta"}, dtype=torch.bfloat16)
    assert {(p.device.type, p.dtype) for p in attention.parameters()} == {("meta", torch.bfloat16)}


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (MultiheadAttention.__init__, nn.MultiheadAttention.__init__),
        (MultiheadAttention.forward, nn.MultiheadAttention.forward),
    ],
)
def test_arguments_have_torchs_names_order_and_defaults(ours, theirs) -> None:
    assert arguments_of(ours) == arguments_of(theirs)
