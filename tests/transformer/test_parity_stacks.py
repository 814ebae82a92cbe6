"""Encoder, decoder and both together against torch.nn's: outputs, gradients, first weights, masks."""

import math

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
    fill,
    normal,
    seeds,
    share_weights,
    some_mask,
)
from torch import Tensor, nn
from torch.nn import functional as F

import transformer
from transformer import dropout

pytestmark = [
    pytest.mark.filterwarnings("ignore:Support for mismatched"),
    pytest.mark.filterwarnings("ignore:enable_nested_tensor is True"),
]

PACKAGES = (transformer, nn)

N, H, S, T, E = 2, 2, 4, 3, 8
SMALL = {"d_model": E, "nhead": H, "num_encoder_layers": 2, "num_decoder_layers": 2, "dim_feedforward": 12}
STILL = SMALL | {"dropout": 0.0}


def both(**built) -> tuple[transformer.Transformer, nn.Transformer]:
    modules = transformer.Transformer(**built), nn.Transformer(**built)
    share_weights(*modules)
    return modules


def source_and_target(batch_first: bool = False, dtype: torch.dtype = torch.float32) -> dict[str, Tensor]:
    axes = (lambda length: (N, length)) if batch_first else (lambda length: (length, N))
    return {"src": normal(*axes(S), E, seed=1, dtype=dtype), "tgt": normal(*axes(T), E, seed=2, dtype=dtype)}


CONSTRUCTOR = {
    "defaults": {},
    "d_model": {"d_model": 6},
    "nhead": {"nhead": 4},
    "num_encoder_layers": {"num_encoder_layers": 3},
    "num_decoder_layers": {"num_decoder_layers": 1},
    "dim_feedforward": {"dim_feedforward": 5},
    "dropout, none of it in eval": {"dropout": 0.5},
    "activation": {"activation": "gelu"},
    "activation as a function": {"activation": F.gelu},
    "layer_norm_eps": {"layer_norm_eps": 0.5},
    "batch_first": {"batch_first": True},
    "norm_first": {"norm_first": True},
    "bias": {"bias": False},
    "device": {"device": "cpu"},
}
constructor = pytest.mark.parametrize("arguments", CONSTRUCTOR.values(), ids=CONSTRUCTOR)


@pytest.mark.parametrize("dtype", DTYPES)
@constructor
def test_each_constructor_argument(arguments: dict, dtype: torch.dtype) -> None:
    ours, theirs = both(**SMALL | arguments, dtype=dtype)
    inputs = source_and_target(arguments.get("batch_first", False), dtype)
    inputs = {name: x[..., : arguments.get("d_model", E)] for name, x in inputs.items()}
    assert_parity(ours.eval(), theirs.eval(), inputs, {})


@constructor
def test_same_seed_gives_the_same_first_weights_in_the_same_order(arguments: dict) -> None:
    torch.manual_seed(0)
    ours = dict(transformer.Transformer(**SMALL | arguments).named_parameters())
    torch.manual_seed(0)
    theirs = dict(nn.Transformer(**SMALL | arguments).named_parameters())
    assert list(ours) == list(theirs)
    for name, parameter in ours.items():
        assert torch.equal(parameter, theirs[name]), name


def test_the_default_model_has_torchs_44_million_parameters() -> None:
    ours, theirs = transformer.Transformer(device="meta"), nn.Transformer(device="meta")
    assert {name: p.shape for name, p in ours.named_parameters()} == {n: p.shape for n, p in theirs.named_parameters()}
    assert sum(p.numel() for p in ours.parameters()) == 44_140_544


def test_parameters_are_made_on_the_device_and_in_the_dtype() -> None:
    model = transformer.Transformer(**SMALL, device="meta", dtype=torch.bfloat16)
    assert {(p.device.type, p.dtype) for p in model.parameters()} == {("meta", torch.bfloat16)}


MASK_SHAPES = {
    "src_mask": [(S, S), (N * H, S, S)],
    "tgt_mask": [(T, T), (N * H, T, T)],
    "memory_mask": [(T, S), (N * H, T, S)],
    "src_key_padding_mask": [(N, S)],
    "tgt_key_padding_mask": [(N, T)],
    "memory_key_padding_mask": [(N, S)],
}


@pytest.mark.parametrize("batch_first", [False, True], ids=["", "batch_first"])
@pytest.mark.parametrize("kind", MASK_KINDS[1:])
@pytest.mark.parametrize(("name", "shape"), [(name, shape) for name, shapes in MASK_SHAPES.items() for shape in shapes])
def test_each_mask(name: str, shape: tuple[int, ...], kind: str, batch_first: bool) -> None:
    ours, theirs = both(**STILL, batch_first=batch_first)
    inputs, mask = source_and_target(batch_first), {name: some_mask(kind, *shape, seed=3)}
    assert_parity(ours, theirs, inputs, mask)
    assert not torch.allclose(ours(**inputs, **mask), ours(**inputs))


@pytest.mark.parametrize(
    ("flag", "mask", "shape"),
    [
        ("src_is_causal", "src_mask", (S, S)),
        ("tgt_is_causal", "tgt_mask", (T, T)),
        ("memory_is_causal", "memory_mask", (T, S)),
    ],
)
def test_each_causal_flag(flag: str, mask: str, shape: tuple[int, int]) -> None:
    ours, theirs = both(**STILL)
    inputs = source_and_target()
    assert_parity(ours, theirs, inputs, {flag: True}, {mask: causal_besides(None, *shape)})
    assert_parity(ours, theirs, inputs, {flag: False}, {})


def test_unbatched() -> None:
    ours, theirs = both(**STILL, batch_first=True)
    inputs = {"src": normal(S, E, seed=1), "tgt": normal(T, E, seed=2)}
    assert_parity(ours, theirs, inputs, {"src_key_padding_mask": some_mask("bool", S, seed=3)})


kinds = st.sampled_from(MASK_KINDS)
batches = st.sampled_from([None, 1, 3])  # None: unbatched
lengths = st.integers(1, 4)


@given(batch=batches, source=lengths, target=lengths, dtype=st.sampled_from(DTYPES), data=st.data())
def test_any_mixture(batch: int | None, source: int, target: int, dtype: torch.dtype, data: st.DataObject) -> None:
    training, batch_first, norm_first, bias, tgt_is_causal = (data.draw(st.booleans()) for _ in range(5))
    seed = data.draw(seeds)
    options = {"batch_first": batch_first, "norm_first": norm_first, "bias": bias, "dtype": dtype}
    ours, theirs = both(**STILL | {"num_encoder_layers": 1}, **options)

    def sequence(length: int, seed: int) -> Tensor:
        leading = (length,) if batch is None else (batch, length) if batch_first else (length, batch)
        return normal(*leading, E, seed=seed, dtype=dtype)

    of_keys = () if batch is None else (batch,)
    shapes = {
        "src_mask": (source, source),
        "tgt_mask": (target, target),
        "memory_mask": (target, source),
        "src_key_padding_mask": (*of_keys, source),
        "tgt_key_padding_mask": (*of_keys, target),
        "memory_key_padding_mask": (*of_keys, source),
    }
    masks = {
        name: some_mask(data.draw(kinds), *shape, seed=seed + number, dtype=dtype)
        for number, (name, shape) in enumerate(shapes.items())
    }
    for_torch = masks | ({"tgt_mask": causal_besides(masks["tgt_mask"], target, target)} if tgt_is_causal else {})
    inputs = {"src": sequence(source, seed), "tgt": sequence(target, seed + 1)}
    assert_parity(
        ours.train(training), theirs.train(training), inputs, masks | {"tgt_is_causal": tgt_is_causal}, for_torch
    )


@pytest.mark.parametrize("norm_first", [False, True], ids=["", "norm_first"])
def test_training_drops_out_in_the_same_places(norm_first: bool, monkeypatch) -> None:
    monkeypatch.setattr(dropout, "dropout_mask", lambda shape, p, dtype: F.dropout(torch.ones(shape, dtype=dtype), p))
    outputs = []
    for module in both(**SMALL, dropout=0.3, norm_first=norm_first):
        torch.manual_seed(3)
        outputs.append(module(**source_and_target()))
    torch.testing.assert_close(outputs[0], outputs[1], rtol=1e-5, atol=1e-5)


def encoder_of(package, num_layers: int, norm: bool) -> nn.Module:
    layer = package.TransformerEncoderLayer(E, H, 12, 0.0, "gelu")
    last = nn.LayerNorm(E) if norm else None
    return package.TransformerEncoder(layer, num_layers, last, enable_nested_tensor=False)


def decoder_of(package, num_layers: int, norm: bool) -> nn.Module:
    layer = package.TransformerDecoderLayer(E, H, 12, 0.0, "gelu")
    return package.TransformerDecoder(layer, num_layers, nn.LayerNorm(E) if norm else None)


@pytest.mark.parametrize("norm", [False, True], ids=["no norm", "norm"])
@pytest.mark.parametrize("num_layers", [1, 3])
def test_stacks_on_their_own(num_layers: int, norm: bool) -> None:
    inputs = source_and_target()
    ours, theirs = (encoder_of(package, num_layers, norm) for package in PACKAGES)
    share_weights(ours, theirs)
    masks = {"mask": some_mask("bool", S, S, seed=1), "src_key_padding_mask": some_mask("bool", N, S, seed=2)}
    assert_parity(ours, theirs, {"src": inputs["src"]}, masks)
    assert_parity(ours, theirs, {"src": inputs["src"]}, {"is_causal": True}, {"mask": causal_besides(None, S, S)})

    ours, theirs = (decoder_of(package, num_layers, norm) for package in PACKAGES)
    share_weights(ours, theirs)
    masks = {name: some_mask("bool", *shapes[-1], seed=3) for name, shapes in MASK_SHAPES.items() if name[:3] != "src"}
    assert_parity(ours, theirs, {"tgt": inputs["tgt"], "memory": inputs["src"]}, masks)
    causal = {"tgt_is_causal": True, "memory_is_causal": True}
    given_masks = {"tgt_mask": causal_besides(None, T, T), "memory_mask": causal_besides(None, T, S)}
    assert_parity(ours, theirs, {"tgt": inputs["tgt"], "memory": inputs["src"]}, causal, given_masks)


def with_stacks(package, encoder: nn.Module, decoder: nn.Module) -> nn.Module:
    return package.Transformer(E, H, custom_encoder=encoder, custom_decoder=decoder)


def test_custom_encoder_and_decoder_take_the_place_of_the_stacks() -> None:
    ours, theirs = (
        with_stacks(p, encoder_of(p, 1, norm=False), decoder_of(p, 3, norm=True)) for p in (transformer, nn)
    )
    share_weights(ours, theirs)
    assert (len(ours.encoder.layers), len(ours.decoder.layers)) == (1, 3)
    assert_parity(ours, theirs, source_and_target(), {})


def test_our_encoder_works_inside_torchs_transformer() -> None:
    mixed = with_stacks(nn, encoder_of(transformer, 2, norm=True), decoder_of(nn, 1, norm=True))
    ours = with_stacks(transformer, encoder_of(transformer, 2, norm=True), decoder_of(transformer, 1, norm=True))
    share_weights(ours, mixed)
    assert_parity(ours, mixed, source_and_target(), {"src_key_padding_mask": some_mask("bool", N, S, seed=1)})


def test_custom_stacks_start_xavier_as_in_torch() -> None:
    models = []
    for package in PACKAGES:
        stacks = encoder_of(package, 2, True), decoder_of(package, 1, True)
        for stack in stacks:
            fill(stack, seed=1)
        torch.manual_seed(0)
        models.append(with_stacks(package, *stacks))
    ours, theirs = (model.state_dict() for model in models)
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)


@pytest.mark.parametrize("dtype", [None, torch.float16, torch.float64])
@pytest.mark.parametrize("size", [0, 1, 4])
def test_square_subsequent_mask_needs_no_model(size: int, dtype: torch.dtype | None) -> None:
    ours = transformer.Transformer.generate_square_subsequent_mask(size, torch.device("cpu"), dtype)
    theirs = nn.Transformer.generate_square_subsequent_mask(size, dtype=dtype)
    assert ours.dtype == theirs.dtype
    assert torch.equal(ours, theirs)
    on_meta = transformer.Transformer.generate_square_subsequent_mask(size, device="meta", dtype=dtype)
    assert on_meta.device.type == "meta"
    if size:
        assert ours.tolist()[0] == [0.0] + [-math.inf] * (size - 1)


def test_arguments_have_torchs_names_order_and_defaults() -> None:
    assert arguments_of(transformer.Transformer) == arguments_of(nn.Transformer)
    assert arguments_of(transformer.Transformer.forward) == arguments_of(nn.Transformer.forward)
    assert arguments_of(transformer.TransformerDecoder) == arguments_of(nn.TransformerDecoder)
    assert arguments_of(transformer.TransformerDecoder.forward) == arguments_of(nn.TransformerDecoder.forward)
    assert arguments_of(transformer.TransformerEncoder.forward) == arguments_of(nn.TransformerEncoder.forward)
    # mask_check only serves nested tensors, which we refuse.
    names = [name for name, _ in arguments_of(nn.TransformerEncoder)]
    assert [name for name, _ in arguments_of(transformer.TransformerEncoder)] == [n for n in names if n != "mask_check"]
