"""The positions lab's numbers: what the model's own modules gave, and what follows from it."""

import json
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dashboard import runs, shelf
from dashboard.positions_numbers import (
    Table,
    free_table,
    own_table,
    product_numbers,
    rotation_numbers,
    scheme_numbers,
    table_numbers,
    wave_numbers,
)
from dashboard.runs import Answer, Question
from transformer.positions import LearnedPositionalEncoding, PositionalEncoding

TEXT = "the cat sees the sea"


@pytest.fixture
def ask(kinds_of_positions):
    return lambda name, text=TEXT, target="neko umi miru": runs.ask(
        Question(name, text, target=None if name == "alone" else target)
    )


def given_by(module: torch.nn.Module, run) -> np.ndarray:
    """What a module added to its input in a run, as a hook of our own saw it: (S, E)."""
    seen = []
    hook = module.register_forward_hook(lambda _, arguments, output: seen.append((output - arguments[0])[0]))
    run()
    hook.remove()
    return seen[-1].numpy()


@pytest.mark.parametrize("stream", ["source", "target"])
def test_a_sinusoidal_table_is_what_the_models_module_gave_in_the_forward(ask, stream):
    answer = ask("sinusoidal")
    ids = answer.recording.runs[-1].ids
    with torch.inference_mode():
        expected = given_by(
            answer.model.get_submodule(f"{stream}_positions"), lambda: answer.model(ids["source"], ids["target"])
        )
    table = own_table(answer, stream)
    np.testing.assert_array_equal(table.vectors.numpy(), expected)
    assert expected.shape == (ids[stream].size(1), 24)
    assert (table.kind, table.base, table.layout, table.heads) == ("sinusoidal", 10_000.0, "interleaved", 3)
    assert (table.whole, list(table.tokens)) == (len(expected), answer.recording.tokens[stream][0])
    for position, row in enumerate(table.vectors.tolist()):
        for dimension, value in enumerate(row):
            angle = position / 10_000 ** (dimension // 2 * 2 / 24)
            assert value == pytest.approx((math.sin, math.cos)[dimension % 2](angle), abs=1e-6)


def test_a_module_with_a_base_and_a_layout_of_its_own_says_so(ask):
    asked = shelf.checkpoint("sinusoidal")
    usual = asked.model.source_positions
    asked.model.source_positions = PositionalEncoding(24, base=50.0, layout="halves").eval()
    try:
        answer = ask("sinusoidal", "a dog likes the old bird")
        table = own_table(answer, "source")
    finally:
        asked.model.source_positions = usual
    assert (table.base, table.layout) == (50.0, "halves")
    assert own_table(answer, "target").base == 10_000.0
    expected = free_table(24, len(table.vectors), 50.0, "halves", 3)
    torch.testing.assert_close(table.vectors, expected.vectors, rtol=0, atol=1e-6)
    assert own_table(answer, "source").vectors.equal(table.vectors)  # recorded, not computed anew


def test_a_learned_table_is_the_modules_own_with_the_tokens_that_ran(ask):
    answer = ask("learned")
    for stream in ("source", "target"):
        module = answer.model.get_submodule(f"{stream}_positions")
        assert isinstance(module, LearnedPositionalEncoding)
        table = own_table(answer, stream)
        assert torch.equal(table.vectors, module.weight)
        assert (table.kind, table.base, table.layout, table.whole) == ("learned", None, None, 64)
        assert list(table.tokens) == answer.recording.tokens[stream][0]
        assert len(table.tokens) < 64


def test_a_model_without_positions_has_no_table(ask):
    answer = ask("none")
    assert own_table(answer, "source") is None
    assert own_table(answer, "target") is None


def test_a_decoder_alone_has_one_text(ask):
    answer = ask("alone", "abcXabcX")
    table = own_table(answer, "source")
    assert table.kind == "sinusoidal"
    assert list(table.tokens) == ["<s>", *"abcXabcX"]
    with pytest.raises(KeyError):
        own_table(answer, "target")


def test_an_opened_recording_says_what_was_added(ask):
    answer = ask("sinusoidal")
    table = own_table(Answer(answer.recording), "source")
    assert torch.equal(table.vectors, own_table(answer, "source").vectors)
    assert (table.kind, table.base, table.layout) == ("recorded", None, None)
    assert own_table(Answer(ask("none").recording), "source") is None


def test_of_a_long_text_the_first_positions_are_kept_and_the_rest_is_counted(ask):
    answer = ask("sinusoidal", "the cat sees the sea " * 80)
    table = own_table(answer, "source")
    assert table.whole > 1_024
    assert (len(table.vectors), len(table.tokens)) == (1_024, 1_024)
    angle = 1_023 / 10_000 ** (4 / 24)
    assert table.vectors[1_023, 4].item() == pytest.approx(math.sin(angle), abs=1e-5)


def free(width=10, length=7, base=100, layout="interleaved", heads=2) -> Table:
    return free_table(width, length, base, layout, heads)


def test_the_numbers_of_a_table_are_its_vectors():
    table = free()
    numbers = table_numbers(table)
    np.testing.assert_array_equal(numbers["cells"], table.vectors.numpy())
    assert numbers["cells"].dtype == np.float32
    assert numbers["most"] == pytest.approx(1.0)
    assert table_numbers(Table(torch.tensor([[1.0, -3.0]]), "learned"))["most"] == 3.0


@pytest.mark.parametrize(
    ("width", "layout", "sine"),
    [(4, "interleaved", [1, 0, 1, 0]), (5, "interleaved", [1, 0, 1, 0, 1]), (4, "halves", [1, 1, 0, 0]),
     (5, "halves", [1, 1, 1, 0, 0]), (2, "halves", [1, 0])],
)  # fmt: skip
def test_waves_say_which_are_sines(width, layout, sine):
    numbers = wave_numbers(free(width, layout=layout))
    assert numbers["sine"].tolist() == sine
    first, sines = free(width, layout=layout).vectors[0].tolist(), numbers["sine"].tolist()
    assert first == [0.0 if one else 1.0 for one in sines]
    of_pairs = [2 * math.pi * 100 ** (2 * pair / width) for pair in range((width + 1) // 2)]
    places = range(width) if layout == "interleaved" else [2 * i for i in range(sum(sine))] + [2 * i for i in range(9)]
    assert numbers["cells"].tolist() == pytest.approx(
        [of_pairs[place // 2] for place in list(places)[:width]], rel=1e-6
    )


def test_learned_vectors_have_no_waves():
    with pytest.raises(ValueError, match="Only sinusoids have wavelengths"):
        wave_numbers(Table(torch.zeros(2, 2), "learned"))


@given(length=st.integers(1, 9), measure=st.sampled_from(["dot", "cosine"]), seed=st.integers(0, 9))
def test_products_are_of_every_two_positions_and_by_offset(length, measure, seed):
    vectors = torch.randn(length, 6, generator=torch.Generator().manual_seed(seed))
    numbers = product_numbers(Table(vectors, "learned"), measure)
    values = vectors.double().numpy()
    if measure == "cosine":
        values /= np.linalg.norm(values, axis=1, keepdims=True)
    expected = values @ values.T
    np.testing.assert_allclose(numbers["cells"], expected, atol=1e-6)
    assert numbers["most"] == pytest.approx(np.abs(expected).max())
    for place, offset in enumerate(range(1 - length, length)):
        diagonal = np.diagonal(expected, offset)
        ways = {"mean": diagonal.mean(), "low": diagonal.min(), "high": diagonal.max()}
        for name, value in ways.items():
            assert numbers[name].shape == (2 * length - 1,)
            assert numbers[name][place] == pytest.approx(value, abs=1e-6)


@pytest.mark.parametrize("layout", ["interleaved", "halves"])
def test_the_turn_of_an_offset_leads_from_each_position_to_the_one_so_far_on(layout):
    numbers = rotation_numbers(free(10, 7, 100, layout), 3)
    assert list(numbers["features"]) == ([6, 7] if layout == "interleaved" else [3, 8])
    assert numbers["step"] == pytest.approx(100 ** (-6 / 10))
    np.testing.assert_array_equal(numbers["cells"], free(10, 7, 100, layout).vectors[:, list(numbers["features"])])
    for p in range(7):
        for k in range(-p, 7 - p):
            turned = numbers["turns"][k + 6] @ numbers["cells"][p]
            np.testing.assert_allclose(turned, numbers["cells"][p + k], atol=1e-6)


def test_learned_pairs_stand_beside_each_other_and_have_no_turn():
    vectors = torch.arange(12.0).view(3, 4)
    numbers = rotation_numbers(Table(vectors, "learned"), 1)
    assert (list(numbers["features"]), numbers["step"], numbers["turns"]) == ([2, 3], None, None)
    np.testing.assert_array_equal(numbers["cells"], [[2, 3], [6, 7], [10, 11]])
    with pytest.raises(IndexError):
        rotation_numbers(Table(vectors, "learned"), 2)


def test_schemes_stand_on_one_axis_of_offsets():
    numbers = scheme_numbers(free(width=24, length=20, base=100, heads=3), past=False)
    offsets = range(-19, 20)
    cosine = [np.mean([math.cos(k * 100 ** (-2 * i / 24)) for i in range(12)]) for k in offsets]
    for name in ("mean", "low", "high"):
        np.testing.assert_allclose(numbers["added"][name], cosine, atol=1e-6)
    assert numbers["sinusoidal"] is None
    assert (numbers["head_width"], numbers["base"]) == (8, 100)
    rotary = [np.mean([math.cos(k * 100 ** (-2 * i / 8)) for i in range(4)]) for k in offsets]
    np.testing.assert_allclose(numbers["rotary"], rotary, atol=1e-6)
    assert numbers["alibi"].shape == (3, 39)
    slopes = [1 / 16, 1 / 256, 1 / 4]
    expected = [[slope * k if k <= 0 else -math.inf for k in offsets] for slope in slopes]
    np.testing.assert_allclose(numbers["alibi"], expected, atol=1e-6)
    assert numbers["t5"][[19, 18, 20, 12, 3]].tolist() == [0, 1, 17, 7, 10]
    assert (numbers["buckets"], numbers["max_distance"]) == (32, 128)
    past = scheme_numbers(free(width=24, length=20, base=100, heads=3), past=True)
    assert past["t5"][[19, 18, 20, 12, 0]].tolist() == [0, 1, 0, 7, 17]


def test_beside_learned_vectors_stand_sinusoids_of_their_size():
    vectors = torch.randn(9, 8, generator=torch.Generator().manual_seed(1))
    numbers = scheme_numbers(Table(vectors, "learned", heads=2), past=False)
    values = vectors.numpy() / np.linalg.norm(vectors.numpy(), axis=1, keepdims=True)
    np.testing.assert_allclose(numbers["added"]["mean"][8 + 2], np.diagonal(values @ values.T, 2).mean(), atol=1e-6)
    cosine = [np.mean([math.cos(k * 10_000 ** (-2 * i / 8)) for i in range(4)]) for k in range(-8, 9)]
    np.testing.assert_allclose(numbers["sinusoidal"], cosine, atol=1e-6)


@pytest.mark.parametrize(("width", "heads", "head_width"), [(2, 32, 2), (64, 8, 8), (24, 4, 6), (21, 3, 6), (10, 3, 2)])
def test_heads_are_of_an_even_width(width, heads, head_width):
    numbers = scheme_numbers(free(width=width, heads=heads), past=False)
    assert numbers["head_width"] == head_width
    assert len(numbers["alibi"]) == heads


def test_the_largest_table_is_answered():
    table = free(1_024, 1_024, 1_000_000, "halves", 32)
    numbers = [table_numbers(table), wave_numbers(table), product_numbers(table, "dot"), scheme_numbers(table, True)]
    assert [one["cells"].size for one in numbers[:3]] == [1_024 * 1_024, 1_024, 1_024 * 1_024]
    assert json.dumps([one.get("most") for one in numbers])
