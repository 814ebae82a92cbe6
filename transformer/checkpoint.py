"""A checkpoint folder: config.json, model.safetensors, source.model, target.model, and what was measured."""

import os
from dataclasses import dataclass
from pathlib import Path

import safetensors
import safetensors.torch
import torch
from torch import Tensor

from transformer.config import TransformerConfig
from transformer.text_model import TextTransformer
from transformer.tokens import Tokenizer

CHECKPOINTS = Path(__file__).resolve().parent.parent / "checkpoints"
CONFIG, WEIGHTS, SOURCE_TOKENIZER, TARGET_TOKENIZER = "config.json", "model.safetensors", "source.model", "target.model"


class CheckpointError(ValueError):
    """A folder that is no checkpoint, said in one sentence."""


@dataclass(frozen=True)
class Checkpoint:
    """A trained model with the vocabularies it was trained on, in eval mode."""

    name: str
    model: TextTransformer
    source_tokenizer: Tokenizer
    target_tokenizer: Tokenizer

    @property
    def config(self) -> TransformerConfig:
        return self.model.config

    def source_ids(self, text: str) -> list[int]:
        """What the encoder reads: the text's ids and the end token."""
        return [*self.source_tokenizer.ids(text), self.config.eos_id]

    def target_ids(self, text: str) -> list[int]:
        """What the decoder should predict: the text's ids and the end token."""
        return [*self.target_tokenizer.ids(text), self.config.eos_id]


def list_checkpoints(root: str | Path = CHECKPOINTS) -> list[str]:
    """The names of the checkpoint folders under ``root``, in alphabetical order."""
    root = Path(root)
    return sorted(path.parent.name for path in root.glob(f"*/{CONFIG}")) if root.is_dir() else []


def load_checkpoint(checkpoint: str | Path, root: str | Path = CHECKPOINTS) -> Checkpoint:
    """Load a checkpoint by its folder or, when it stands under ``root``, by its name.

    Weights are computed with in float32, whatever dtype they are stored in.

    Raises:
        CheckpointError: no such folder, a file that is missing, damaged or does not fit the others.

    Example:
        >>> load_checkpoint("no-such-model")
        Traceback (most recent call last):
        transformer.checkpoint.CheckpointError: There is no checkpoint folder no-such-model.
    """
    folder = Path(checkpoint)
    if not folder.is_dir():
        folder = Path(root) / checkpoint
    if not folder.is_dir():
        raise CheckpointError(f"There is no checkpoint folder {checkpoint}.")
    for name in (CONFIG, WEIGHTS, SOURCE_TOKENIZER, TARGET_TOKENIZER):
        if not (folder / name).is_file():
            raise CheckpointError(f"The checkpoint {folder.name} lacks its file {name}.")
    try:
        config = TransformerConfig.load(folder / CONFIG)
    except (ValueError, TypeError, RecursionError, OSError) as error:
        raise CheckpointError(f"{folder.name}/{CONFIG} cannot be used: {error}") from error
    return Checkpoint(
        folder.name,
        _load_weights(folder / WEIGHTS, config),
        _load_tokenizer(folder / SOURCE_TOKENIZER, config.source_vocabulary),
        _load_tokenizer(folder / TARGET_TOKENIZER, config.target_vocabulary),
    )


def save_checkpoint(
    folder: str | Path,
    model: TextTransformer,
    source_tokenizer: Tokenizer,
    target_tokenizer: Tokenizer,
    dtype: torch.dtype = torch.float16,
) -> None:
    """Write a checkpoint folder. A parameter that stands at two places (tied, shared) is written once."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / CONFIG).write_text(model.config.to_json(), encoding="utf-8")
    (folder / SOURCE_TOKENIZER).write_bytes(source_tokenizer.model)
    (folder / TARGET_TOKENIZER).write_bytes(target_tokenizer.model)
    weights = {name: parameter.detach().to("cpu", dtype) for name, parameter in model.named_parameters()}
    write_safetensors(folder / WEIGHTS, weights)


def write_safetensors(path: Path, tensors: dict[str, Tensor], metadata: dict[str, str] | None = None) -> None:
    """Write all of a file or nothing: a kill half way leaves the file that stood there before."""
    unfinished = path.with_name(path.name + ".unfinished")
    safetensors.torch.save_file({name: t.contiguous() for name, t in tensors.items()}, unfinished, metadata)
    os.replace(unfinished, path)


def _load_weights(path: Path, config: TransformerConfig) -> TextTransformer:
    where = f"{path.parent.name}/{path.name}"
    try:
        weights = safetensors.torch.load_file(path)
    except (safetensors.SafetensorError, OSError) as error:
        raise CheckpointError(f"{where} is damaged or not a safetensors file.") from error
    try:
        model = TextTransformer(config).eval().requires_grad_(False)
    except (ValueError, TypeError, RuntimeError) as error:
        raise CheckpointError(f"{path.parent.name}/{CONFIG} describes no model that can be built: {error}") from error
    wanted = dict(model.named_parameters())
    if odd := sorted(wanted.keys() ^ weights.keys()):
        raise CheckpointError(f"{where} does not fit {CONFIG}: {', '.join(odd[:3])} stands only in one of them.")
    for name, parameter in wanted.items():
        stored = weights[name]
        if stored.shape != parameter.shape or not stored.is_floating_point():
            raise CheckpointError(
                f"{where} does not fit {CONFIG}: {name} has shape {tuple(stored.shape)} and dtype {stored.dtype}; "
                f"wanted floating point {tuple(parameter.shape)}."
            )
        if not bool(stored.isfinite().all()):
            raise CheckpointError(f"{where} holds numbers that are not finite, in {name}.")
        parameter.copy_(stored)
    return model


def _load_tokenizer(path: Path, vocabulary: int) -> Tokenizer:
    where = f"{path.parent.name}/{path.name}"
    try:
        tokenizer = Tokenizer.load(path)
    except (ValueError, OSError) as error:
        raise CheckpointError(f"{where} is not a SentencePiece model.") from error
    if len(tokenizer) != vocabulary:
        raise CheckpointError(f"{where} has {len(tokenizer)} pieces, but {CONFIG} says {vocabulary}.")
    return tokenizer
