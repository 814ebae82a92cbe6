"""Stacks by themselves: layers share nothing, and what does not fit is refused."""

import copy
import re

import pytest
import torch
from parity import fill, normal, some_mask
from torch import nn
from torch.nn import functional as F

from transformer import (
    Transformer,
    TransformerDecoder,
    TransformerDecoderLayer,
    TransformerEncoder,
    TransformerEncoderLayer,
)

N, H, S, T, E = 2, 2, 4, 3, 8

STACKS = {
    "encoder": (TransformerEncoder, TransformerEncoderLayer),
    "decoder": (TransformerDecoder, TransformerDecoderLayer),
}
stacks = pytest.mark.parametrize(("stack", "layer"), STACKS.values(), ids=STACKS)


@stacks
def test_layers_are_independent_copies_that_start_alike(stack: type, layer: type) -> None:
    first = layer(E, H, 12)
    built = stack(first, 3)
    everyones = [*first.parameters(), *built.parameters()]
    assert len({parameter.data_ptr() for parameter in everyones}) == len(everyones)
    for of_stack in built.layers:
        assert all(map(torch.equal, of_stack.parameters(), first.parameters()))

    before = copy.deepcopy(built.state_dict())
    fill(built.layers[1], seed=1)
    changed = {name for name, value in built.state_dict().items() if not torch.equal(value, before[name])}
    assert changed == {name for name in before if name.startswith("layers.1.")}


def test_a_stack_of_no_layers_only_norms() -> None:
    x = normal(S, N, E, seed=1)
    layer = TransformerEncoderLayer(E, H)
    assert TransformerEncoder(layer, 0)(x) is x
    assert torch.equal(TransformerEncoder(layer, 0, nn.LayerNorm(E))(x), F.layer_norm(x, (E,)))


@stacks
def test_fewer_than_no_layers_are_refused(stack: type, layer: type) -> None:
    with pytest.raises(ValueError, match="num_layers must not be negative, but is -1"):
        stack(layer(E, H), -1)


@pytest.mark.parametrize(
    ("batch_first", "src", "tgt", "wanted"),
    [
        (False, (S, N, E), (T, E), "wanted both batched (3 axes) or both unbatched (2 axes)."),
        (False, (E,), (E,), "wanted both batched (3 axes) or both unbatched (2 axes)."),
        (False, (S, N, E), (T, N + 1, E), "wanted one batch size on axis 1."),
        (True, (N, S, E), (N + 1, T, E), "wanted one batch size on axis 0."),
        (False, (S, N, E + 1), (T, N, E), f"wanted both d_model = {E} wide."),
        (False, (S, N, E + 1), (T, N, E + 1), f"wanted both d_model = {E} wide."),
        (False, (S, N, E), (T, N, E + 1), f"wanted both d_model = {E} wide."),
    ],
)
def test_sources_and_targets_that_do_not_fit_are_refused(
    batch_first: bool, src: tuple, tgt: tuple, wanted: str
) -> None:
    model = Transformer(E, H, 1, 1, 12, batch_first=batch_first)
    with pytest.raises(ValueError, match=re.escape(f"src has shape {src} and tgt {tgt}; {wanted}")):
        model(torch.zeros(src), torch.zeros(tgt))


def test_lengths_need_not_be_equal_nor_lie_on_one_axis() -> None:
    """Batch first, axis 1 is the length: two lengths are no mistake."""
    model = Transformer(E, H, 1, 1, 12, batch_first=True)
    assert model(torch.zeros(N, S, E), torch.zeros(N, T, E)).shape == (N, T, E)


@pytest.mark.parametrize(
    "name", ["src_mask", "tgt_mask", "memory_mask", *(f"{x}_key_padding_mask" for x in ("src", "tgt", "memory"))]
)
def test_every_mask_is_checked(name: str) -> None:
    model = Transformer(E, H, 1, 1, 12)
    x = torch.zeros(S, N, E), torch.zeros(T, N, E)
    with pytest.raises(ValueError, match=r"mask has shape \(9, 9\); wanted"):
        model(*x, **{name: torch.zeros(9, 9)})
    shapes = {"src_mask": (S, S), "tgt_mask": (T, T), "memory_mask": (T, S)}
    of_keys = {f"{x}_key_padding_mask": (N, T if x == "tgt" else S) for x in ("src", "tgt", "memory")}
    with pytest.raises(TypeError, match="wanted bool"):
        model(*x, **{name: torch.zeros((shapes | of_keys)[name], dtype=torch.uint8)})


def test_nothing_is_modified_in_place() -> None:
    model = Transformer(E, H, 2, 2, 12)
    given = {"src": normal(S, N, E, seed=1), "tgt": normal(T, N, E, seed=2)}
    given |= {"tgt_mask": some_mask("float with -inf", T, T, seed=3), "memory_mask": some_mask("bool", T, S, seed=4)}
    given |= {f"{x}_key_padding_mask": some_mask("bool", N, T if x == "tgt" else S, seed=5) for x in ("src", "tgt")}
    before = copy.deepcopy(given)
    model(**given)
    for name, value in given.items():
        assert torch.equal(value, before[name]), name


@pytest.mark.parametrize(
    "name",
    [
        "src_mask",
        "tgt_mask",
        "memory_mask",
        "src_key_padding_mask",
        "tgt_key_padding_mask",
        "memory_key_padding_mask",
    ],
)
def test_a_refused_mask_is_called_what_the_caller_called_it(name):
    model = Transformer(8, 2, 1, 1, 16, batch_first=True)
    with pytest.raises(ValueError, match=rf"^{name} has shape \(7, 9\); wanted"):
        model(torch.zeros(2, 5, 8), torch.zeros(2, 3, 8), **{name: torch.zeros(7, 9)})
    with pytest.raises(TypeError, match=rf"^{name} has dtype torch.int64"):
        model(torch.zeros(2, 5, 8), torch.zeros(2, 3, 8), **{name: torch.zeros(7, 9, dtype=torch.long)})
