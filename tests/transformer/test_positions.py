"""Where in the sequence a token stands: sinusoidal positions, as a function and a module, and learned ones."""

import math
from typing import get_args

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from parity import normal
from torch import nn

from transformer import positional_encoding
from transformer.positions import Layout, LearnedPositionalEncoding, PositionalEncoding, angular_steps, sinusoidal_table

FORMS = {"sinusoidal": PositionalEncoding, "learned": LearnedPositionalEncoding}
forms = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


def test_worked_by_hand() -> None:
    table = sinusoidal_table(3, 4, dtype=torch.float64)
    wanted = [
        [0.0, 1.0, 0.0, 1.0],
        [math.sin(1), math.cos(1), math.sin(0.01), math.cos(0.01)],
        [math.sin(2), math.cos(2), math.sin(0.02), math.cos(0.02)],
    ]
    torch.testing.assert_close(table, torch.tensor(wanted, dtype=torch.float64), rtol=1e-12, atol=1e-12)
    assert sinusoidal_table(2, 4, base=16.0, dtype=torch.float64)[1, 2] == pytest.approx(math.sin(0.25))


BASES = st.floats(1.5, 1e6)
LAYOUTS = st.sampled_from(get_args(Layout))


@given(width=st.integers(1, 9), length=st.integers(0, 40), base=BASES, layout=LAYOUTS)
def test_any_width_base_and_layout(width: int, length: int, base: float, layout: Layout) -> None:
    table = sinusoidal_table(length, width, base, layout, dtype=torch.float64)
    assert table.shape == (length, width)
    sines = (width + 1) // 2
    for position in range(length):
        for feature in range(width):
            pair, is_cosine = divmod(feature, 2)
            if layout == "halves":
                is_cosine, pair = divmod(feature, sines)
            angle = position / base ** (2 * pair / width)
            wanted = math.cos(angle) if is_cosine else math.sin(angle)
            assert table[position, feature].item() == pytest.approx(wanted, abs=1e-9)


@given(width=st.integers(1, 9), base=BASES)
def test_a_pair_turns_by_its_own_step(width: int, base: float) -> None:
    steps = angular_steps(width, base).tolist()
    assert steps == pytest.approx([base ** -(feature / width) for feature in range(0, width, 2)], rel=1e-12)


def test_another_layout_is_refused() -> None:
    with pytest.raises(ValueError, match="layout must be one of interleaved, halves, not 'thirds'"):
        sinusoidal_table(2, 4, layout="thirds")


@given(layout=LAYOUTS, base=BASES, length=st.integers(1, 20))
def test_a_module_is_made_with_a_base_and_a_layout_and_grows_with_them(
    layout: Layout, base: float, length: int
) -> None:
    module = PositionalEncoding(5, dropout=0.0, max_len=6, base=base, layout=layout)
    assert torch.equal(module(torch.zeros(length, 5)), sinusoidal_table(length, 5, base, layout))


@pytest.mark.parametrize("width", [4, 5])
@pytest.mark.parametrize("length", [1, 8, 600])
def test_function_and_module_say_the_same_beyond_max_len_too(length: int, width: int) -> None:
    x = normal(2, length, width, seed=1)
    module = PositionalEncoding(width, dropout=0.0, max_len=8)
    wanted = x + sinusoidal_table(length, width)
    assert torch.equal(module(x), wanted)
    assert torch.equal(positional_encoding(x, width, max_len=8), wanted)


@forms
def test_positions_run_along_the_sequence_and_not_along_the_batch(form: type[nn.Module]) -> None:
    """Run along the batch, two identical sentences would get different codes, and a sentence one code for all."""
    batch_first = form(6, dropout=0.0)
    seq_first = form(6, dropout=0.0, batch_first=False)
    seq_first.load_state_dict(batch_first.state_dict())
    sentence = normal(4, 6, seed=1)
    for module, axis in ((batch_first, 0), (seq_first, 1)):
        out = module(torch.stack([sentence, sentence], dim=axis))
        first, second = out.unbind(axis)
        assert torch.equal(first, second)
        assert torch.equal(first, module(sentence))
        codes = first - sentence
        assert all(not torch.allclose(codes[i], codes[j], atol=1e-4) for i in range(4) for j in range(i))


def test_the_functions_sequence_axis_is_the_one_before_the_last() -> None:
    sentence = normal(4, 6, seed=1)
    out = positional_encoding(torch.stack([sentence, sentence]), 6)
    assert torch.equal(out[0], out[1])
    assert torch.equal(out[0], positional_encoding(sentence, 6))


def test_the_table_stays_out_of_the_state_dict_and_follows_to() -> None:
    module = PositionalEncoding(4, max_len=8)
    assert module.state_dict() == {}
    assert not list(module.parameters())
    assert module.double().table.dtype == torch.float64
    assert module.to("meta").table.device.type == "meta"
    assert module(torch.zeros(1, 20, 4, device="meta")).device.type == "meta"
    assert PositionalEncoding(4, device="meta", dtype=torch.float16).table.dtype == torch.float16


def test_a_grown_table_keeps_its_dtype_and_its_device() -> None:
    module = PositionalEncoding(4, dropout=0.0, max_len=2).double()
    module(torch.zeros(1, 7, 4))
    assert module.table.dtype == torch.float64
    assert torch.equal(module.table, sinusoidal_table(7, 4, dtype=torch.float64))
    assert module.state_dict() == {}


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_the_output_has_the_dtype_of_the_input(dtype: torch.dtype) -> None:
    x = torch.zeros(1, 3, 4, dtype=dtype)
    assert positional_encoding(x, 4).dtype == dtype
    for form in FORMS.values():
        assert form(4)(x).dtype == dtype


@forms
def test_dropout_obeys_train_and_eval(form: type[nn.Module]) -> None:
    module, x = form(6, dropout=0.5), normal(3, 40, 6, seed=1)
    still = module.eval()(x)
    assert torch.equal(module(x), still)
    dropped = module.train()(x)
    kept = dropped != 0
    torch.testing.assert_close(dropped[kept], 2 * still[kept])
    assert 0.4 < kept.float().mean() < 0.6


def test_the_function_drops_out_only_in_training() -> None:
    x = normal(3, 40, 6, seed=1)
    still = positional_encoding(x, 6, dropout_p=0.5)
    assert torch.equal(positional_encoding(x, 6, dropout_p=0.5), still)
    assert 0.4 < (positional_encoding(x, 6, dropout_p=0.5, training=True) == 0).float().mean() < 0.6


def test_a_table_that_grew_in_inference_mode_serves_training_afterwards() -> None:
    module = PositionalEncoding(4, dropout=0.0, max_len=2)
    with torch.inference_mode():
        module(torch.zeros(1, 7, 4))
    weight = torch.ones(4, requires_grad=True)
    # The product keeps what it needs of the table for its gradient, which an inference tensor does not allow.
    (module(torch.zeros(1, 7, 4)) * weight).sum().backward()
    torch.testing.assert_close(weight.grad, sinusoidal_table(7, 4).sum(0))
    (module.table * weight).sum().backward()


@pytest.mark.parametrize("batch_first", [True, False])
def test_learned_positions_are_added_trained_and_saved(batch_first: bool) -> None:
    module = LearnedPositionalEncoding(4, dropout=0.0, max_len=5, batch_first=batch_first)
    assert {name: value.shape for name, value in module.state_dict().items()} == {"weight": (5, 4)}
    x = torch.zeros(2, 3, 4) if batch_first else torch.zeros(3, 2, 4)
    out = module(x)
    for sentence in out if batch_first else out.transpose(0, 1):
        assert torch.equal(sentence, module.weight[:3])
    out.sum().backward()
    assert module.weight.grad.tolist() == [[2.0] * 4] * 3 + [[0.0] * 4] * 2


@pytest.mark.parametrize("batch_first", [True, False])
def test_learned_positions_refuse_what_is_longer_than_they_learned(batch_first: bool) -> None:
    module = LearnedPositionalEncoding(4, max_len=5, batch_first=batch_first)
    module(torch.zeros(5, 5, 4))
    too_long = torch.zeros(2, 6, 4) if batch_first else torch.zeros(6, 2, 4)
    with pytest.raises(ValueError, match="The sequence has 6 positions, but only 5 were learned"):
        module(too_long)


@pytest.mark.parametrize("shape", [(2, 3, 5), (4,), (1, 2, 3, 4)])
def test_other_widths_and_axes_are_refused(shape: tuple[int, ...]) -> None:
    for add_positions in (PositionalEncoding(4), LearnedPositionalEncoding(4), lambda x: positional_encoding(x, 4)):
        with pytest.raises(ValueError, match="wanted a batch of sequences or one sequence of width 4"):
            add_positions(torch.zeros(shape))


def test_inputs_are_left_as_they_were() -> None:
    for form in FORMS.values():
        x = torch.zeros(1, 3, 4)
        form(4)(x)
        assert not x.any()
