"""Small checkpoints that differ in everything a page could mix up."""

from pathlib import Path

import pytest
from small_checkpoint import write_alone, write_letters, write_small_checkpoint


@pytest.fixture(scope="session")
def folder_of_two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``first``: 2 encoder layers, 1 decoder layer, 3 heads. ``second``: 1 and 2 layers, 2 heads."""
    folder = tmp_path_factory.mktemp("checkpoints")
    write_small_checkpoint(folder / "first")
    write_small_checkpoint(folder / "second", seed=1, num_encoder_layers=1, num_decoder_layers=2, nhead=2)
    return folder


@pytest.fixture
def two_checkpoints(folder_of_two: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(folder_of_two))
    return folder_of_two


@pytest.fixture(scope="session")
def folder_of_kinds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``words``, ``letters`` and ``alone``: what a model can be."""
    folder = tmp_path_factory.mktemp("kinds")
    write_small_checkpoint(folder / "words")
    write_letters(folder / "letters")
    write_alone(folder / "alone")
    return folder


@pytest.fixture
def kinds(folder_of_kinds: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(folder_of_kinds))
    return folder_of_kinds


@pytest.fixture(scope="session")
def folder_of_positions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``sinusoidal``, ``learned`` and ``none``, and a decoder ``alone``: how a model can know where a token stands."""
    folder = tmp_path_factory.mktemp("positions")
    for name in ("sinusoidal", "learned", "none"):
        write_small_checkpoint(folder / name, positions=name)
    write_alone(folder / "alone")
    return folder


@pytest.fixture
def kinds_of_positions(folder_of_positions: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(folder_of_positions))
    return folder_of_positions
