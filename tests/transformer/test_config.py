"""The description of a model: its journey through JSON, and every value it refuses."""

import dataclasses
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer import TransformerConfig

LEAST = {"source_vocabulary": 100, "target_vocabulary": 90}


@st.composite
def configs(draw: st.DrawFn) -> TransformerConfig:
    heads, vocabulary = draw(st.integers(1, 8)), draw(st.integers(1, 1000))
    ids = st.integers(0, vocabulary - 1)
    return TransformerConfig(
        source_vocabulary=vocabulary,
        target_vocabulary=vocabulary,
        architecture=draw(st.sampled_from(["encoder-decoder", "encoder", "decoder"])),
        d_model=heads * draw(st.integers(1, 64)),
        nhead=heads,
        num_encoder_layers=draw(st.integers(0, 6)),
        num_decoder_layers=draw(st.integers(0, 6)),
        dim_feedforward=draw(st.integers(1, 4096)),
        dropout=draw(st.floats(0, 1, exclude_max=True)),
        activation=draw(st.sampled_from(["relu", "gelu"])),
        layer_norm_eps=draw(st.floats(0, 0.1)),
        positions=draw(st.sampled_from(["sinusoidal", "learned", "none"])),
        max_length=draw(st.integers(1, 512)),
        pad_id=draw(ids),
        unk_id=draw(ids),
        bos_id=draw(ids),
        eos_id=draw(ids),
        **{
            name: draw(st.booleans())
            for name in ("norm_first", "bias", "scale_embedding", "share_embeddings", "tie_output")
        },
    )


@given(config=configs())
def test_json_brings_back_what_it_was_given(config: TransformerConfig) -> None:
    assert TransformerConfig.from_json(config.to_json()) == config


def test_json_holds_every_field_by_name_one_a_line() -> None:
    config = TransformerConfig(**LEAST, norm_first=False)
    text = config.to_json()
    assert json.loads(text) == dataclasses.asdict(config)
    assert text.count("\n") == len(dataclasses.fields(config)) + 2


def test_a_file_is_read(tmp_path: Path) -> None:
    config = TransformerConfig(**LEAST, dropout=0.25)
    path = tmp_path / "config.json"
    path.write_text(config.to_json(), encoding="utf-8")
    assert TransformerConfig.load(path) == TransformerConfig.load(str(path)) == config


def test_what_json_leaves_out_has_its_default() -> None:
    assert TransformerConfig.from_json(json.dumps(LEAST)) == TransformerConfig(**LEAST)


def test_a_configuration_is_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        TransformerConfig(**LEAST).nhead = 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "A model's configuration must be a JSON object."),
        ("{", "Expecting property name"),
        (
            '{"source_vocabulary": 1, "target_vocabulary": 1, "width": 8, "depth": 2}',
            "The configuration holds names that this version does not know: depth, width.",
        ),
        ('{"d_model": 8}', "The configuration lacks source_vocabulary, target_vocabulary."),
        ('{"source_vocabulary": 1}', "The configuration lacks target_vocabulary."),
        ('{"source_vocabulary": 1, "target_vocabulary": "1"}', "target_vocabulary must be a whole number, not '1'."),
    ],
)
def test_json_that_describes_no_model_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        TransformerConfig.from_json(text)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"architecture": "rnn"}, "architecture must be one of encoder-decoder, encoder, decoder, not 'rnn'."),
        ({"positions": None}, "positions must be one of sinusoidal, learned, none, not None."),
        ({"activation": "swish"}, "activation must be one of relu, gelu, not 'swish'."),
        ({"d_model": 8.0}, "d_model must be a whole number, not 8.0."),
        ({"nhead": True}, "nhead must be a whole number, not True."),
        ({"eos_id": None}, "eos_id must be a whole number, not None."),
        ({"bias": 1}, "bias must be true or false, not 1."),
        ({"tie_output": "no"}, "tie_output must be true or false, not 'no'."),
        ({"dropout": "0.1"}, "dropout must be a number, not '0.1'."),
        ({"layer_norm_eps": None}, "layer_norm_eps must be a number, not None."),
        *(
            ({name: 0}, f"{name} must be at least 1, not 0.")
            for name in ("source_vocabulary", "target_vocabulary", "d_model", "nhead", "dim_feedforward", "max_length")
        ),
        *(
            ({name: -1}, f"{name} must not be negative, but is -1.")
            for name in ("num_encoder_layers", "num_decoder_layers", "pad_id", "unk_id", "bos_id", "eos_id")
        ),
        ({"d_model": 30}, "d_model must be divisible by nhead, but 30 is not divisible by 4."),
        ({"dropout": 1}, "dropout must be at least 0 and below 1, not 1."),
        ({"dropout": -0.1}, "dropout must be at least 0 and below 1, not -0.1."),
        ({"dropout": float("nan")}, "dropout must be at least 0 and below 1, not nan."),
        ({"layer_norm_eps": -1e-5}, "layer_norm_eps must be at least 0 and below 1, not -1e-05."),
        ({"layer_norm_eps": float("nan")}, "layer_norm_eps must be at least 0 and below 1, not nan."),
        ({"share_embeddings": True}, "share_embeddings needs vocabularies of one size, not 100 and 90."),
    ],
)
def test_values_that_make_no_model_are_refused(values: dict, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        TransformerConfig(**LEAST | values)


def test_the_edges_are_allowed() -> None:
    ones = dict.fromkeys(("d_model", "nhead", "dim_feedforward", "max_length"), 1)
    TransformerConfig(1, 1, num_encoder_layers=0, num_decoder_layers=0, dropout=0, layer_norm_eps=0, **ones)
