"""A checkpoint folder: config.json, model.safetensors, source.model, target.model, snapshots/, and what was measured.

An encoder or a decoder alone has one vocabulary, source.model. Training also leaves task.json: what was learned.
"""

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
TASK, SNAPSHOTS = "task.json", "snapshots"


class CheckpointError(ValueError):
    """A folder that is no checkpoint, said in one sentence."""


@dataclass(frozen=True)
class Checkpoint:
    """A trained model with the vocabularies it was trained on, in eval mode.

    Where the model has one vocabulary, both tokenizers are that one.
    """

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


def checkpoint_folder(checkpoint: str | Path, root: str | Path = CHECKPOINTS) -> Path:
    """The folder itself or, when it stands under ``root``, the one of that name.

    Raises:
        CheckpointError: no such folder.
    """
    for folder in (Path(checkpoint), Path(root) / checkpoint):
        if folder.is_dir():
            return folder
    raise CheckpointError(f"There is no checkpoint folder {checkpoint}.")


def list_snapshots(checkpoint: str | Path, root: str | Path = CHECKPOINTS) -> list[int]:
    """The steps of training at which a checkpoint's weights were kept, in order.

    Raises:
        CheckpointError: no such folder.
    """
    paths = (checkpoint_folder(checkpoint, root) / SNAPSHOTS).glob("*.safetensors")
    return sorted(int(path.stem) for path in paths if path.stem.isdecimal())


def load_checkpoint(checkpoint: str | Path, root: str | Path = CHECKPOINTS, snapshot: int | None = None) -> Checkpoint:
    """Load a checkpoint by its folder or, when it stands under ``root``, by its name.

    Weights are computed with in float32, whatever dtype they are stored in.

    Args:
        snapshot: take the weights of this step of training, one of :func:`list_snapshots`, not the final ones.

    Raises:
        CheckpointError: no such folder or snapshot, a file that is missing, damaged or does not fit the others.

    Example:
        >>> load_checkpoint("no-such-model")
        Traceback (most recent call last):
        transformer.checkpoint.CheckpointError: There is no checkpoint folder no-such-model.
    """
    folder = checkpoint_folder(checkpoint, root)
    if snapshot is not None and snapshot not in (kept := list_snapshots(folder)):
        steps = f"those of {', '.join(map(str, kept))}" if kept else "none"
        raise CheckpointError(f"The checkpoint {folder.name} has no snapshot of step {snapshot}; it has {steps}.")
    weights = WEIGHTS if snapshot is None else snapshot_file(snapshot)
    _require(folder, CONFIG, weights, SOURCE_TOKENIZER)
    try:
        config = TransformerConfig.load(folder / CONFIG)
    except (ValueError, TypeError, RecursionError, OSError) as error:
        raise CheckpointError(f"{folder.name}/{CONFIG} cannot be used: {error}") from error
    _require(folder, target_file(config))
    return Checkpoint(
        folder.name,
        _load_weights(folder, weights, config),
        _load_tokenizer(folder / SOURCE_TOKENIZER, config.source_vocabulary),
        _load_tokenizer(folder / target_file(config), config.target_vocabulary),
    )


def save_checkpoint(
    folder: str | Path, model: TextTransformer, *tokenizers: Tokenizer, dtype: torch.dtype = torch.float16
) -> None:
    """Write a checkpoint folder. A parameter that stands at two places (tied, shared) is written once.

    Args:
        tokenizers: of source and target, or the one of an encoder or a decoder alone.
    """
    describe_checkpoint(folder, model.config, *tokenizers)
    save_weights(Path(folder) / WEIGHTS, model, dtype)


def describe_checkpoint(folder: str | Path, config: TransformerConfig, *tokenizers: Tokenizer) -> None:
    """Write all of a checkpoint folder but weights."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / CONFIG, config.to_json().encode("utf-8"))
    for name, tokenizer in zip(dict.fromkeys((SOURCE_TOKENIZER, target_file(config))), tokenizers, strict=True):
        write_whole(folder / name, tokenizer.model)


def save_weights(path: Path, model: TextTransformer, dtype: torch.dtype = torch.float16) -> None:
    """Write a model's weights, those at two places once."""
    weights = {name: parameter.detach().to("cpu", dtype) for name, parameter in model.named_parameters()}
    write_safetensors(path, weights)


def snapshot_file(step: int) -> str:
    """Where in a checkpoint folder the weights of a step stand."""
    return f"{SNAPSHOTS}/{step}.safetensors"


def target_file(config: TransformerConfig) -> str:
    """The vocabulary that the output head speaks: the source's, where that is the only one."""
    return TARGET_TOKENIZER if config.architecture == "encoder-decoder" else SOURCE_TOKENIZER


def write_safetensors(path: Path, tensors: dict[str, Tensor], metadata: dict[str, str] | None = None) -> None:
    """Write all of a file or nothing: a kill half way leaves the file that stood there before."""
    unfinished = path.with_name(path.name + ".unfinished")
    safetensors.torch.save_file({name: t.contiguous() for name, t in tensors.items()}, unfinished, metadata)
    os.replace(unfinished, path)


def write_whole(path: Path, content: bytes) -> None:
    """Write all of a file or nothing, as :func:`write_safetensors` does."""
    unfinished = path.with_name(path.name + ".unfinished")
    unfinished.write_bytes(content)
    os.replace(unfinished, path)


def _require(folder: Path, *names: str) -> None:
    for name in names:
        if not (folder / name).is_file():
            raise CheckpointError(f"The checkpoint {folder.name} lacks its file {name}.")


def _load_weights(folder: Path, name: str, config: TransformerConfig) -> TextTransformer:
    where = f"{folder.name}/{name}"
    try:
        weights = safetensors.torch.load_file(folder / name)
    except (safetensors.SafetensorError, OSError) as error:
        raise CheckpointError(f"{where} is damaged or not a safetensors file.") from error
    try:
        model = TextTransformer(config).eval().requires_grad_(False)
    except (ValueError, TypeError, RuntimeError) as error:
        raise CheckpointError(f"{folder.name}/{CONFIG} describes no model that can be built: {error}") from error
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
