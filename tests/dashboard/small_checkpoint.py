"""Untrained checkpoint folders, for pages that must not depend on what a model has learned."""

import json
from collections.abc import Sequence
from pathlib import Path
from string import ascii_letters, ascii_lowercase, digits

from small_models import small_model, small_tokenizers

from transformer.checkpoint import SNAPSHOTS, save_checkpoint, save_weights, snapshot_file
from transformer.tokens import Tokenizer

OPENING = "the cat sees the sea"


def write_small_checkpoint(
    folder: Path,
    seed: int = 0,
    opening: str = OPENING,
    letters: str | None = None,
    steps: Sequence[int] = (),
    **changes: object,
) -> None:
    """A folder whose page opens on ``opening``: 2 encoder layers, 1 decoder layer, 3 heads, unless changed.

    Args:
        letters: all that it reads and writes, in place of a vocabulary of words.
        steps: of its snapshots, each of weights of its own.
    """
    source, target = (Tokenizer.of_letters(letters),) * 2 if letters else small_tokenizers()
    alone = changes.get("architecture", "encoder-decoder") != "encoder-decoder"
    tokenizers = (source,) if alone else (source, target)
    sizes = {"source_vocabulary": len(source), "target_vocabulary": len(tokenizers[-1])}
    save_checkpoint(folder, small_model(seed, **sizes, **changes), *tokenizers)
    (folder / "metrics.json").write_text(json.dumps({"samples": [{"source": opening}]}), encoding="utf-8")
    for step in steps:
        (folder / SNAPSHOTS).mkdir(exist_ok=True)
        save_weights(folder / snapshot_file(step), small_model(seed + 1 + step, **sizes, **changes))


def write_letters(folder: Path) -> None:
    """Reads and writes a-z, with three snapshots."""
    write_small_checkpoint(folder, seed=1, opening="abcdef", letters=ascii_lowercase, steps=(0, 40, 1000))


def write_alone(folder: Path) -> None:
    """A decoder alone over a-z, A-Z and 0-9, with two snapshots."""
    letters, sizes = ascii_letters + digits, {"architecture": "decoder", "num_decoder_layers": 2, "nhead": 2}
    write_small_checkpoint(folder, seed=2, opening="abcXabcX", letters=letters, steps=(0, 1000), **sizes)
