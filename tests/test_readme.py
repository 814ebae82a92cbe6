"""What README.md shows is true."""

import re
from pathlib import Path

from transformer import open_recording

PROJECT = Path(__file__).resolve().parents[1]
README = (PROJECT / "README.md").read_text(encoding="utf-8")


def run(number: int) -> None:
    """Run one of the pieces of Python, counted from 0."""
    pieces = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    exec(compile(pieces[number], "README.md", "exec"), {})


def test_the_lines_that_record_a_model_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(0)
    opened = open_recording(tmp_path / "step1200.safetensors")
    assert opened.pattern("decoder.layers.0.multihead_attn", head=0).shape == (5, 7)


def test_the_lines_that_try_a_models_masks_run():
    run(1)


def test_every_file_and_make_target_that_is_named_exists():
    for link in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (PROJECT / link).exists(), link
    makefile = (PROJECT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"make ([a-z-]+)", README):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
