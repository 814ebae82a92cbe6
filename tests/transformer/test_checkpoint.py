"""A checkpoint folder comes back as it was saved, or is refused by the name of the file that is wrong."""

import json
from pathlib import Path

import pytest
import safetensors
import safetensors.torch
import torch
from small_models import made_up_pairs, padded_batch, small_config, small_model

from transformer import TextTransformer
from transformer.checkpoint import CheckpointError, list_checkpoints, load_checkpoint, save_checkpoint
from transformer.tokens import Tokenizer


@pytest.fixture
def folder(tmp_path: Path, tokenizers: tuple[Tokenizer, Tokenizer]) -> Path:
    """A good checkpoint, for each test to spoil."""
    save_checkpoint(tmp_path / "good", small_model(), *tokenizers)
    return tmp_path / "good"


def refused(folder: Path) -> str:
    with pytest.raises(CheckpointError) as caught:
        load_checkpoint(folder)
    assert folder.name in str(caught.value)
    return str(caught.value)


@torch.no_grad()
def test_float32_comes_back_bit_for_bit_and_float16_nearly(tmp_path, tokenizers):
    model = small_model().requires_grad_(False)  # torch adds in another order where there are gradients
    expected = model(*padded_batch())
    save_checkpoint(tmp_path / "exact", model, *tokenizers, dtype=torch.float32)
    save_checkpoint(tmp_path / "half", model, *tokenizers)
    exact, half = load_checkpoint(tmp_path / "exact"), load_checkpoint(tmp_path / "half")
    assert torch.equal(exact.model(*padded_batch()), expected)
    assert torch.allclose(half.model(*padded_batch()), expected, atol=0.02)
    for name, parameter in model.named_parameters():
        read = half.model.get_parameter(name)
        assert torch.equal(read, parameter.half().float())
        assert read.dtype == torch.float32
    assert (tmp_path / "half/model.safetensors").stat().st_size < (tmp_path / "exact/model.safetensors").stat().st_size


def test_what_is_loaded_is_ready_to_be_used(folder, tokenizers):
    checkpoint = load_checkpoint(folder)
    assert checkpoint.name == "good"
    assert checkpoint.config == small_config()
    assert not any(module.training for module in checkpoint.model.modules())
    assert not any(parameter.requires_grad for parameter in checkpoint.model.parameters())
    text, translation = made_up_pairs()[0]
    assert checkpoint.source_ids(text) == [*tokenizers[0].ids(text), 3]
    assert checkpoint.target_ids(translation) == [*tokenizers[1].ids(translation), 3]
    assert checkpoint.source_ids("") == [3]


@pytest.mark.parametrize("tied", [True, False])
def test_a_parameter_at_two_places_is_written_once_and_stays_one(tied, tmp_path, tokenizers):
    save_checkpoint(tmp_path / "a", small_model(tie_output=tied), *tokenizers)
    stored = safetensors.torch.load_file(tmp_path / "a/model.safetensors")
    assert ("output.weight" in stored) is not tied
    model = load_checkpoint(tmp_path / "a").model
    assert (model.output.weight is model.target_embedding.weight) is tied


def test_shared_embeddings_stay_shared(tmp_path, tokenizers):
    source, _ = tokenizers
    model = small_model(share_embeddings=True, target_vocabulary=len(source))
    save_checkpoint(tmp_path / "a", model, source, source)
    stored = safetensors.torch.load_file(tmp_path / "a/model.safetensors")
    assert [name for name in stored if "embedding" in name or "output.weight" in name] == ["source_embedding.weight"]
    read = load_checkpoint(tmp_path / "a").model
    assert read.source_embedding is read.target_embedding
    assert read.output.weight is read.source_embedding.weight


def test_names_are_looked_up_under_the_root_and_listed_in_order(folder, tokenizers):
    root = folder.parent
    save_checkpoint(root / "another", small_model(), *tokenizers)
    (root / "no-checkpoint").mkdir()
    (root / "file").write_text("x")
    assert list_checkpoints(root) == ["another", "good"]
    assert load_checkpoint("good", root).name == "good"
    assert list_checkpoints(root / "missing") == []


@pytest.mark.parametrize("name", ["missing", "../missing", "good/config.json", "good/../missing", "\x00"])
def test_names_of_nothing_are_refused(name, folder):
    with pytest.raises(CheckpointError, match="There is no checkpoint folder"):
        load_checkpoint(name, folder.parent)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "source.model", "target.model"])
def test_a_missing_file_is_named(name, folder):
    (folder / name).unlink()
    assert f"lacks its file {name}" in refused(folder)
    (folder / name).mkdir()
    assert f"lacks its file {name}" in refused(folder)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "source.model", "target.model"])
@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"nonsense" * 30, bytes(200)])
def test_a_damaged_file_is_named(name, content, folder):
    (folder / name).write_bytes(content)
    assert name in refused(folder)


@pytest.mark.parametrize(
    "text",
    ["[]", "null", "3", '"x"', "{", "{}", "[" * 100_000, '{"source_vocabulary": 290}', '{"a": NaN}', "\ufeff{}"],
    ids=["list", "null", "number", "text", "cut", "empty", "deep", "lacking", "unknown", "byte order mark"],
)
def test_a_configuration_that_is_none_is_refused(text, folder):
    (folder / "config.json").write_text(text, encoding="utf-8")
    assert "good/config.json cannot be used" in refused(folder)


@pytest.mark.parametrize(
    "change",
    [
        {"d_model": "24"},
        {"d_model": 24.0},
        {"d_model": None},
        {"d_model": -24},
        {"d_model": 48},
        {"d_model": 25},
        {"nhead": 0},
        {"num_encoder_layers": 3},
        {"num_encoder_layers": True},
        {"num_decoder_layers": [1]},
        {"dim_feedforward": 41},
        {"source_vocabulary": 291},
        {"target_vocabulary": 280},
        {"dropout": "0.1"},
        {"dropout": [0.1]},
        {"dropout": None},
        {"dropout": float("nan")},
        {"activation": "sigmoid"},
        {"activation": {}},
        {"architecture": "encoder"},
        {"architecture": ["decoder"]},
        {"positions": "learned"},
        {"tie_output": False},
        {"tie_output": "yes"},
        {"share_embeddings": True},
        {"bias": False},
        {"pad_id": "0"},
        {"surprise": 1},
    ],
)
def test_a_configuration_that_does_not_fit_is_refused(change, folder):
    values = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(values | change))
    assert "config.json" in refused(folder)


def spoil_weights(folder: Path, **changes: torch.Tensor | None) -> None:
    path = folder / "model.safetensors"
    weights = safetensors.torch.load_file(path) | {name.replace("__", "."): t for name, t in changes.items()}
    safetensors.torch.save_file({name: t for name, t in weights.items() if t is not None}, path)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (None, "output.bias stands only in one of them"),
        (torch.zeros(280), "output.bias has shape (280,)"),
        (torch.zeros(281, 1), "output.bias has shape (281, 1)"),
        (torch.zeros(281, dtype=torch.int32), "torch.int32"),
        (torch.zeros(281).index_fill(0, torch.tensor(7), torch.nan), "not finite, in output.bias"),
        (torch.zeros(281).index_fill(0, torch.tensor(7), torch.inf), "not finite, in output.bias"),
    ],
)
def test_weights_that_do_not_fit_are_named(wrong, said, folder):
    spoil_weights(folder, output__bias=wrong)
    message = refused(folder)
    assert said in message
    assert "model.safetensors" in message


def test_weights_that_nobody_asked_for_are_named(folder):
    spoil_weights(folder, lm_head__weight=torch.zeros(2))
    assert "lm_head.weight" in refused(folder)


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_vocabulary_of_another_size_is_named(side, folder):
    other = Tokenizer.train([source for source, _ in made_up_pairs()], 283)
    (folder / f"{side}.model").write_bytes(other.model)
    message = refused(folder)
    assert f"good/{side}.model has 283 pieces" in message


def test_a_save_that_is_cut_leaves_the_weights_that_stood_there(folder, tokenizers, monkeypatch):
    def cut(tensors: dict, filename: Path, metadata: object) -> None:
        Path(filename).write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(safetensors.torch, "save_file", cut)
    with pytest.raises(KeyboardInterrupt):
        save_checkpoint(folder, small_model(seed=1), *tokenizers)
    assert torch.equal(load_checkpoint(folder).model.output.bias, small_model().output.bias)


def test_a_model_in_training_is_saved_without_being_changed(tmp_path, tokenizers):
    model = small_model().train()
    before = {name: parameter.clone() for name, parameter in model.named_parameters()}
    save_checkpoint(tmp_path / "a", model, *tokenizers)
    assert model.training
    assert all(parameter.requires_grad for parameter in model.parameters())
    assert all(torch.equal(parameter, before[name]) for name, parameter in model.named_parameters())
    assert isinstance(load_checkpoint(tmp_path / "a").model, TextTransformer)


def decoder(**changes: object) -> TextTransformer:
    return small_model(**({"architecture": "decoder", "target_vocabulary": 290} | changes))


@torch.no_grad()
def test_a_decoder_alone_has_one_vocabulary(tmp_path, tokenizers):
    model = decoder().requires_grad_(False)
    save_checkpoint(tmp_path / "a", model, tokenizers[0], dtype=torch.float32)
    assert {path.name for path in (tmp_path / "a").iterdir()} == {"config.json", "model.safetensors", "source.model"}
    read = load_checkpoint(tmp_path / "a")
    assert read.source_tokenizer.model == read.target_tokenizer.model == tokenizers[0].model
    assert torch.equal(read.model(padded_batch()[0]), model(padded_batch()[0]))
    (tmp_path / "a/source.model").unlink()
    assert "lacks its file source.model" in refused(tmp_path / "a")


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_decoders_vocabulary_fits_both_its_ends(side, tmp_path, tokenizers):
    model = decoder(tie_output=False, **{f"{side}_vocabulary": 283})
    save_checkpoint(tmp_path / "a", model, tokenizers[0])
    assert "source.model has 290 pieces, but config.json says 283" in refused(tmp_path / "a")


def test_a_model_is_saved_with_as_many_vocabularies_as_it_has(tmp_path, tokenizers):
    for model, some in ((decoder(), tokenizers), (small_model(), tokenizers[:1])):
        with pytest.raises(ValueError, match="zip"):
            save_checkpoint(tmp_path / "a", model, *some)
