"""The checkpoints that can be looked at: their names, what they open on, and loading them once for all viewers."""

import filecmp
import json
import logging
import os
from pathlib import Path

import streamlit as st

from transformer.checkpoint import (
    CHECKPOINTS,
    WEIGHTS,
    Checkpoint,
    CheckpointError,
    list_checkpoints,
    list_snapshots,
    load_checkpoint,
    snapshot_file,
)

BEGIN_WITH = "en-zh"  # where it is there; the others follow in alphabetical order


def checkpoint_folder() -> Path:
    """Where checkpoints are looked for: the project's folder, or ``HEADLIGHT_CHECKPOINTS``."""
    return Path(os.environ.get("HEADLIGHT_CHECKPOINTS") or CHECKPOINTS)


def checkpoints() -> list[str]:
    """Names to choose from, the one to begin with first."""
    return sorted(list_checkpoints(checkpoint_folder()), key=lambda name: name != BEGIN_WITH)


def snapshots(name: str) -> list[int]:
    """The steps of training that can be looked at beside the finished weights; without a last one that is the same.

    Raises:
        CheckpointError: no such folder.
    """
    folder = checkpoint_folder() / name
    steps = list_snapshots(folder)
    finished = folder / WEIGHTS
    if steps and finished.is_file() and filecmp.cmp(finished, folder / snapshot_file(steps[-1]), shallow=False):
        steps.pop()
    return steps


def warm_up() -> None:
    """Load the first checkpoint that can be used before anybody asks; the page says what is wrong with the others."""
    for name in checkpoints():
        try:
            checkpoint(name)
        except CheckpointError as error:
            logging.getLogger("headlight").warning("%s", error)
        else:
            return


def opening_sentence(name: str) -> str:
    """The first sample of the checkpoint's own measurements; nothing where there are none that can be read."""
    return next(iter(sentences(name)), "")


def sentences(name: str) -> list[str]:
    """The samples of the checkpoint's own measurements; none where they cannot be read."""
    try:
        metrics = json.loads((checkpoint_folder() / name / "metrics.json").read_text(encoding="utf-8"))
        return [str(sample["source"]) for sample in metrics["samples"]]
    except (OSError, ValueError, LookupError, TypeError):
        return []


def checkpoint(name: str, step: int | None = None) -> Checkpoint:
    """A checkpoint, loaded once for all viewers and again when its file changes.

    Raises:
        CheckpointError: see :func:`transformer.load_checkpoint`; an encoder alone.
    """
    return _checkpoint(name, step, changed(name, step))


def changed(name: str, step: int | None) -> int:
    """When the weights of a step were written: what is cached by it is computed anew from a new file."""
    weights = checkpoint_folder() / name / (WEIGHTS if step is None else snapshot_file(step))
    return weights.stat().st_mtime_ns if weights.is_file() else 0


@st.cache_resource(show_spinner=False, max_entries=16)
def _checkpoint(name: str, step: int | None, written: int) -> Checkpoint:
    loaded = load_checkpoint(checkpoint_folder() / name, snapshot=step)
    if loaded.config.architecture == "encoder":
        raise CheckpointError(f"{name} has the architecture encoder; the dashboard wants encoder-decoder or decoder.")
    return loaded
