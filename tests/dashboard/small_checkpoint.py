"""An untrained checkpoint folder, for pages that must not depend on what a model has learned."""

import json
from pathlib import Path

from small_models import untrained_checkpoint

from transformer.checkpoint import save_checkpoint

OPENING = "the cat sees the sea"


def write_small_checkpoint(folder: Path, seed: int = 0, **changes: object) -> None:
    """A folder whose page opens on :data:`OPENING`: 2 encoder layers, 1 decoder layer, 3 heads, unless changed."""
    made = untrained_checkpoint(seed, **changes)
    save_checkpoint(folder, made.model, made.source_tokenizer, made.target_tokenizer)
    (folder / "metrics.json").write_text(json.dumps({"samples": [{"source": OPENING}]}), encoding="utf-8")
