"""Being told of each sublayer while a forward runs, and ending it."""

import threading

import pytest
import torch
from small_models import padded_batch, small_model
from torch import nn

from transformer import MultiheadAttention, TransformerDecoderLayer, TransformerEncoder, TransformerEncoderLayer, record
from transformer.decoding import decode
from transformer.progress import after_each_sublayer, sublayers

PATHS = [
    *(f"transformer.encoder.layers.{i}.after_{one}" for i in (0, 1) for one in ("self_attn", "feedforward")),
    *(f"transformer.decoder.layers.0.after_{one}" for one in ("self_attn", "multihead_attn", "feedforward")),
]


class Enough(BaseException):
    """As what ends a script of Streamlit, no Exception."""


@pytest.mark.parametrize("norm_first", [True, False])
@torch.no_grad()
def test_every_sublayer_is_told_once_and_in_order(norm_first):
    model, told = small_model(norm_first=norm_first), []
    with after_each_sublayer(model, told.append):
        model(*padded_batch())
    assert told == PATHS == list(sublayers(model))
    model(*padded_batch())
    assert told == PATHS  # nothing is told outside of the block


@torch.no_grad()
def test_what_is_told_has_been_computed():
    model, seen = small_model(), {}
    handles = [
        model.get_submodule(path).register_forward_pre_hook(lambda module, given, path=path: seen.update({path: 1}))
        for path in PATHS
    ]
    with after_each_sublayer(model, lambda path: seen[path] == 1 or pytest.fail(path)):
        model(*padded_batch())
    for handle in handles:
        handle.remove()
    assert list(seen) == PATHS


@pytest.mark.parametrize("ends_after", [1, 3, 7])
@pytest.mark.parametrize("error", [ValueError, Enough])
@torch.no_grad()
def test_what_the_call_raises_ends_the_forward_there(ends_after, error):
    model, told, ran = small_model(), [], []
    handles = [
        model.get_submodule(path).register_forward_hook(lambda *_, path=path: ran.append(path)) for path in PATHS
    ]

    def call(path: str) -> None:
        told.append(path)
        if len(told) == ends_after:
            raise error

    expected = model(*padded_batch())
    ran.clear()
    with pytest.raises(error), record(model) as recording, after_each_sublayer(model, call):
        model(*padded_batch())
    assert told == PATHS[:ends_after]
    assert len(ran) <= ends_after
    assert recording.runs == []  # nothing half done
    for handle in handles:
        handle.remove()
    with record(model) as recording:
        assert torch.equal(model(*padded_batch()), expected)
    assert len(recording.runs) == 1


@torch.no_grad()
def test_blocks_nest_and_other_threads_hear_nothing():
    model, outer, inner, elsewhere = small_model(), [], [], []

    def other() -> None:
        with torch.no_grad(), after_each_sublayer(model, elsewhere.append):
            model(*padded_batch())

    with after_each_sublayer(model, outer.append):
        with after_each_sublayer(model.transformer.encoder, inner.append):
            model(*padded_batch())
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        model(*padded_batch())
    assert outer == PATHS * 2
    assert inner == [path.removeprefix("transformer.encoder.") for path in PATHS[:4]]
    assert elsewhere == PATHS


def test_decoding_tells_the_encoder_once_and_the_decoder_at_every_token():
    model, told = small_model(), []
    with after_each_sublayer(model, told.append):
        ((found,), *_) = decode(model, padded_batch()[0][:1], 5)
    assert told == PATHS[:4] + PATHS[4:] * len(found.ids)


def test_layers_of_a_module_of_ones_own():
    model = nn.Sequential(
        TransformerEncoder(TransformerEncoderLayer(8, 2), 2), nn.ModuleDict({"deep": TransformerDecoderLayer(8, 2)})
    )
    assert [path.rpartition(".")[0] for path in sublayers(model)] == [
        *["0.layers.0"] * 2, *["0.layers.1"] * 2, *["1.deep"] * 3,
    ]  # fmt: skip


def test_a_model_without_layers_is_refused():
    with (
        pytest.raises(ValueError, match="MultiheadAttention holds no layer"),
        after_each_sublayer(MultiheadAttention(4, 1), print),
    ):
        pass
