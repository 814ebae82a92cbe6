"""What a training run left in its folder."""

import csv
from pathlib import Path


def numbers(folder: Path) -> list[dict[str, str]]:
    with (folder / "log.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def written(folder: Path) -> dict[str, bytes]:
    """All that a run leaves, but for its state and its clock."""
    own = {"state.safetensors", "timing.csv"}
    paths = [path for path in folder.rglob("*") if path.is_file() and path.name not in own]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}
