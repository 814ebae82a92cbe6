"""One encoder layer and one decoder layer against torch.nn's: outputs, gradients, first weights."""

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
from torch.nn import functional as F

from transformer import TransformerDecoderLayer, TransformerEncoderLayer, dropout

pytestmark = pytest.mark.filterwarnings("ignore:Support for mismatched")

PAIRS = {
    "encoder": (TransformerEncoderLayer, nn.TransformerEncoderLayer),
    "decoder": (TransformerDecoderLayer, nn.TransformerDecoderLayer),
}
pairs = pytest.mark.parametrize(("ours", "theirs"), PAIRS.values(), ids=PAIRS)

N, H, S, T, E = 2, 2, 4, 3, 8

CONSTRUCTOR = {
    "defaults": {},
    "dim_feedforward": {"dim_feedforward": 5},
    "dropout, none of it in eval": {"dropout": 0.5},
    "activation by name": {"activation": "gelu"},
    "activation by name, relu": {"activation": "relu"},
    "activation as a function": {"activation": F.gelu},
    "activation as another function": {"activation": torch.tanh},
    "activation as a module": {"activation": nn.SiLU()},
    "layer_norm_eps": {"layer_norm_eps": 0.5},
    "batch_first": {"batch_first": True},
    "norm_first": {"norm_first": True},
    "bias": {"bias": False},
    "bias, norm_first": {"bias": False, "norm_first": True},
    "device": {"device": "cpu"},
}
constructor = pytest.mark.parametrize("arguments", CONSTRUCTOR.values(), ids=CONSTRUCTOR)


def inputs_of(layer: type, batch_first: bool = False, dtype: torch.dtype = torch.float32) -> dict[str, Tensor]:
    def sequence(length: int, seed: int) -> Tensor:
        return normal(*((N, length) if batch_first else (length, N)), E, seed=seed, dtype=dtype)

    if layer is TransformerEncoderLayer:
        return {"src": sequence(S, 1)}
    return {"tgt": sequence(T, 2), "memory": sequence(S, 3)}


@pytest.mark.parametrize("dtype", DTYPES)
@constructor
@pairs
def test_each_constructor_argument(ours: type, theirs: type, arguments: dict, dtype: torch.dtype) -> None:
    built = {"d_model": E, "nhead": H, "dim_feedforward": 12, "dtype": dtype} | arguments
    modules = ours(**built).eval(), theirs(**built).eval()
    share_weights(*modules)
    assert_parity(*modules, inputs_of(ours, arguments.get("batch_first", False), dtype), {})


def masks_of(names: dict[str, tuple[int, ...]]) -> dict[str, dict]:
    return {
        f"{name} {kind}": {name.split()[0]: some_mask(kind, *shape, seed=4)}
        for name, shape in names.items()
        for kind in MASK_KINDS[1:]
    }


ENCODER_MASKS = masks_of(
    {"src_mask (S, S)": (S, S), "src_mask (N*H, S, S)": (N * H, S, S), "src_key_padding_mask": (N, S)}
)
DECODER_MASKS = masks_of(
    {
        "tgt_mask (T, T)": (T, T),
        "tgt_mask (N*H, T, T)": (N * H, T, T),
        "memory_mask (T, S)": (T, S),
        "memory_mask (N*H, T, S)": (N * H, T, S),
        "tgt_key_padding_mask": (N, T),
        "memory_key_padding_mask": (N, S),
    }
)


@pytest.mark.parametrize(
    ("kind", "masks"),
    [("encoder", masks) for masks in ENCODER_MASKS.values()] + [("decoder", masks) for masks in DECODER_MASKS.values()],
    ids=[*ENCODER_MASKS, *DECODER_MASKS],
)
@pytest.mark.parametrize("norm_first", [False, True], ids=["", "norm_first"])
def test_each_mask(kind: str, masks: dict[str, Tensor], norm_first: bool) -> None:
    ours, theirs = (layer(E, H, 12, 0.0, norm_first=norm_first) for layer in PAIRS[kind])
    share_weights(ours, theirs)
    inputs = inputs_of(PAIRS[kind][0])
    assert_parity(ours, theirs, inputs, masks)
    assert not torch.allclose(ours(**inputs, **masks), ours(**inputs))


@pytest.mark.parametrize(
    ("kind", "flag", "mask", "shape"),
    [
        ("encoder", "is_causal", "src_mask", (S, S)),
        ("decoder", "tgt_is_causal", "tgt_mask", (T, T)),
        ("decoder", "memory_is_causal", "memory_mask", (T, S)),
    ],
)
def test_each_causal_flag(kind: str, flag: str, mask: str, shape: tuple[int, int]) -> None:
    ours, theirs = (layer(E, H, 12, 0.0) for layer in PAIRS[kind])
    share_weights(ours, theirs)
    inputs = inputs_of(PAIRS[kind][0])
    assert_parity(ours, theirs, inputs, {flag: True}, {mask: causal_besides(None, *shape)})
    both = some_mask("bool", *shape, seed=5)
    assert_parity(ours, theirs, inputs, {flag: True, mask: both}, {mask: causal_besides(both, *shape)})


@st.composite
def layers(draw: st.DrawFn) -> dict:
    return {
        "d_model": 4 * draw(st.integers(1, 3)),
        "nhead": draw(st.sampled_from([1, 2, 4])),
        "dim_feedforward": draw(st.integers(1, 8)),
        "dropout": 0.0,
        "activation": draw(st.sampled_from(["relu", "gelu", F.relu, F.gelu, torch.tanh])),
        "layer_norm_eps": draw(st.sampled_from([1e-5, 1e-2])),
        "dtype": draw(st.sampled_from(DTYPES)),
        **{name: draw(st.booleans()) for name in ("batch_first", "norm_first", "bias")},
    }


kinds = st.sampled_from(MASK_KINDS)
batches = st.sampled_from([None, 1, 2, 3])  # None: unbatched
lengths = st.integers(1, 5)


def shaped(built: dict, batch: int | None, length: int, seed: int) -> Tensor:
    leading = (length,) if batch is None else (batch, length) if built["batch_first"] else (length, batch)
    return normal(*leading, built["d_model"], seed=seed, dtype=built["dtype"])


def twins(ours: type, theirs: type, built: dict, training: bool, seed: int) -> tuple[nn.Module, nn.Module]:
    modules = ours(**built).train(training), theirs(**built).train(training)
    share_weights(*modules, seed)
    return modules


@given(built=layers(), batch=batches, length=lengths, mask=kinds, padding=kinds, data=st.data(), seed=seeds)
def test_any_encoder_layer(built, batch, length, mask, padding, data, seed) -> None:
    training, causal, each_head = (data.draw(st.booleans()) for _ in range(3))
    masks = {
        "src_mask": square(mask, each_head, batch, built, length, length, seed),
        "src_key_padding_mask": of_keys(padding, batch, built, length, seed),
    }
    assert_parity(
        *twins(*PAIRS["encoder"], built, training, seed),
        {"src": shaped(built, batch, length, seed)},
        masks | {"is_causal": causal},
        masks | ({"src_mask": causal_besides(masks["src_mask"], length, length)} if causal else {}),
    )


@given(built=layers(), batch=batches, target=lengths, source=lengths, masks=st.tuples(*[kinds] * 4), data=st.data())
def test_any_decoder_layer(built, batch, target, source, masks, data) -> None:
    seed = data.draw(seeds)
    training, causal, memory_causal, each_head = (data.draw(st.booleans()) for _ in range(4))
    given_masks = {
        "tgt_mask": square(masks[0], each_head, batch, built, target, target, seed),
        "memory_mask": square(masks[1], each_head, batch, built, target, source, seed + 1),
        "tgt_key_padding_mask": of_keys(masks[2], batch, built, target, seed + 2),
        "memory_key_padding_mask": of_keys(masks[3], batch, built, source, seed + 3),
    }
    for_torch = dict(given_masks)
    if causal:
        for_torch["tgt_mask"] = causal_besides(given_masks["tgt_mask"], target, target)
    if memory_causal:
        for_torch["memory_mask"] = causal_besides(given_masks["memory_mask"], target, source)
    assert_parity(
        *twins(*PAIRS["decoder"], built, training, seed),
        {"tgt": shaped(built, batch, target, seed), "memory": shaped(built, batch, source, seed + 1)},
        given_masks | {"tgt_is_causal": causal, "memory_is_causal": memory_causal},
        for_torch,
    )


def square(kind, each_head, batch, built, queries, keys, seed) -> Tensor | None:
    shape = ((batch or 1) * built["nhead"], queries, keys) if each_head else (queries, keys)
    return some_mask(kind, *shape, seed=seed, dtype=built["dtype"])


def of_keys(kind, batch, built, keys, seed) -> Tensor | None:
    return some_mask(kind, *(() if batch is None else (batch,)), keys, seed=seed, dtype=built["dtype"])


@pytest.mark.parametrize("norm_first", [False, True], ids=["", "norm_first"])
@pairs
def test_training_drops_out_in_the_same_places(ours: type, theirs: type, norm_first: bool, monkeypatch) -> None:
    monkeypatch.setattr(dropout, "dropout_mask", lambda shape, p, dtype: F.dropout(torch.ones(shape, dtype=dtype), p))
    modules = ours(E, H, 12, 0.3, norm_first=norm_first), theirs(E, H, 12, 0.3, norm_first=norm_first)
    share_weights(*modules)
    outputs = []
    for module in modules:
        torch.manual_seed(3)
        outputs.append(module(**inputs_of(ours)))
    torch.testing.assert_close(outputs[0], outputs[1], rtol=1e-5, atol=1e-5)


@pairs
def test_every_dropout_runs_once(ours: type, theirs: type) -> None:
    """A layer that used ``dropout`` twice and ``dropout2`` never would give the same numbers."""
    layer, ran = ours(E, H, 12), []
    dropouts = {name: module for name, module in layer.named_modules() if isinstance(module, nn.Dropout)}
    for name, module in dropouts.items():
        module.register_forward_hook(lambda module, args, out, name=name: ran.append(name))
    layer(**inputs_of(ours))
    assert sorted(ran) == sorted(dropouts)
    assert dropouts.keys() == {n for n, m in theirs(E, H, 12).named_modules() if isinstance(m, nn.Dropout)}


@constructor
@pairs
def test_same_seed_gives_the_same_first_weights_in_the_same_order(ours: type, theirs: type, arguments: dict) -> None:
    modules = []
    for layer in (ours, theirs):
        torch.manual_seed(0)
        modules.append(layer(**{"d_model": E, "nhead": H, "dim_feedforward": 12} | arguments))
    first, second = (dict(module.named_parameters()) for module in modules)
    assert list(first) == list(second)
    for name, parameter in first.items():
        assert torch.equal(parameter, second[name]), name


@pairs
def test_arguments_have_torchs_names_order_and_defaults(ours: type, theirs: type) -> None:
    assert arguments_of(ours) == arguments_of(theirs)
    assert arguments_of(ours.forward) == arguments_of(theirs.forward)


@pairs
def test_parameters_are_made_on_the_device_and_in_the_dtype(ours: type, theirs: type) -> None:
    layer = ours(E, H, 12, device="meta", dtype=torch.bfloat16)
    assert {(p.device.type, p.dtype) for p in layer.parameters()} == {("meta", torch.bfloat16)}


@pairs
def test_an_unknown_activation_is_refused(ours: type, theirs: type) -> None:
    with pytest.raises(ValueError, match=r"activation must be relu or gelu or a callable, not 'swish'"):
        ours(E, H, activation="swish")
