"""A run in a real process, killed with SIGKILL at any moment, ends as if it had not been."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import safetensors
import torch
from run_files import numbers, written
from small_models import made_up_pairs

from transformer.__main__ import main


def wait_for_saves(saves: int, state: Path, process: subprocess.Popen[bytes]) -> None:
    last = state.stat().st_mtime_ns if state.exists() else 0
    deadline = time.monotonic() + 120
    while saves and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.001)
        if state.exists() and state.stat().st_mtime_ns != last:
            last = state.stat().st_mtime_ns
            saves -= 1


def test_a_run_that_is_killed_at_any_moment_goes_on(tmp_path):
    """A real process, really killed; its run goes on in this one, which draws what the other would have drawn."""
    options = {"--d-model": 24, "--nhead": 3, "--num-encoder-layers": 1, "--num-decoder-layers": 1}
    options |= {"--dim-feedforward": 40, "--source-vocabulary": 290, "--target-vocabulary": 281, "--steps": 60}
    options |= {"--tokens-per-batch": 60, "--warmup-steps": 5, "--save-seconds": 0, "--subword-sampling": 0.3}
    options |= {"--word-dropout": 0.1, "--average-last": 2, "--snapshots": "0,7,20,59", "--evaluate-every": 7}
    for name, pairs in (("train", made_up_pairs()), ("dev", made_up_pairs()[1::6])):
        lines = ["source\ttarget", *("\t".join(pair) for pair in pairs)]
        (tmp_path / f"{name}.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        options[f"--{name}"] = tmp_path / f"{name}.tsv"
    train = ["train", *(str(word) for option in options.items() for word in option)]
    whole, run = tmp_path / "whole", tmp_path / "run"
    assert main([*train, "--output", str(whole)]) == 0

    state = run / "state.safetensors"
    killed = subprocess.Popen(
        [sys.executable, "-m", "transformer", *train, "--output", str(run)],
        cwd=Path(__file__).parents[2],
        env=os.environ | {"OMP_NUM_THREADS": str(torch.get_num_threads())},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_for_saves(random.randint(2, 25), state, killed)  # any moment: a resumed run must not depend on it
    time.sleep(random.uniform(0, 0.02))
    killed.send_signal(signal.SIGKILL)
    assert killed.wait() == -signal.SIGKILL
    with safetensors.safe_open(state, "pt") as file:
        assert 0 <= json.loads(file.metadata()["progress"])["step"] < 60
    assert main([*train, "--output", str(run), "--resume"]) == 0
    unfinished = {name for name in written(run) if name.endswith(".unfinished")}  # a save that was cut
    assert {name: bytes for name, bytes in written(run).items() if name not in unfinished} == written(whole)
    assert len(numbers(run)) == 9
    assert {path.name for path in (run / "checkpoint/snapshots").glob("*.safetensors")} == {
        f"{step}.safetensors" for step in (0, 7, 20, 59)
    }
