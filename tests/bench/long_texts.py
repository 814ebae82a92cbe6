"""What a long text costs: a recorded encoder forward and the first picture of a head, at four lengths, on one thread.

Seconds are those of the thread itself, whatever else the machine does meanwhile.

Each length has a fresh process, for the operating system only tells the most memory that a process ever had.
"""

import json
import resource
import subprocess
import sys
import time
from itertools import cycle
from pathlib import Path

import numpy as np
import torch

from transformer import load_checkpoint, record
from transformer.checkpoint import Checkpoint
from transformer.pooling import pooled

LENGTHS = (512, 2_048, 8_192, 16_384)
PIXELS = 512
MOST_MEGABYTES, MOST_SENT = 2_000, 2_000_000  # at 8,192 tokens above the model; to the browser
MOST_EXPONENT = 1.15  # 1 is linear, 2 would be a matrix of all pairs; the allocator keeps freed memory as it likes
SENTENCES = (
    "The harbour was quiet when the first boat came back from the islands.",
    "Nobody had seen the keys since the guests left on Sunday evening.",
    "My sister paints birds, and her neighbour repairs old radios.",
    "If it rains tomorrow, we will read by the window and bake some bread.",
    "Why did the teacher laugh at the last question?",
)


def main() -> None:
    print("en-zh, one sentence through the encoder, recorded; layer 1, head 1 pooled to 512 x 512; one thread")
    print(f"{'tokens':>7} {'forward':>9} {'picture':>9} {'memory above the model':>23} {'to the browser':>15}")
    memory = []
    for length in LENGTHS:
        child = [sys.executable, __file__, str(length)]
        cost = json.loads(subprocess.run(child, check=True, capture_output=True, text=True).stdout)
        memory.append(cost["megabytes"])
        times = f"{cost['forward']:7.2f} s {cost['picture']:7.2f} s"
        print(f"{length:7,} {times} {cost['megabytes']:20,.0f} MB {cost['sent'] / 1e6:12.2f} MB", flush=True)
        assert cost["sent"] < MOST_SENT
        assert length > 8_192 or cost["megabytes"] < MOST_MEGABYTES
    slope, start = np.polyfit(LENGTHS, memory, 1)
    residual = max(abs(start + slope * n - m) for n, m in zip(LENGTHS, memory, strict=True))
    exponent, _ = np.polyfit(np.log(LENGTHS), np.log(memory), 1)
    print(
        f"memory = {start:.0f} MB + {1000 * slope:.1f} kB a token, at most {residual:.0f} MB off; as n^{exponent:.2f}"
    )
    assert exponent < MOST_EXPONENT


def measure(length: int) -> None:
    """Print what one length costs, as JSON."""
    torch.set_num_threads(1)
    asked = load_checkpoint("en-zh")
    source = torch.tensor([text_of(asked, length)])
    before = _resident()
    began = time.process_time()
    with torch.inference_mode(), record(asked.model) as recording:
        asked.model.encode(source)
    recorded = time.process_time()
    picture = pooled(recording, recording.site("encoder", 0), 0, None, None, (PIXELS, PIXELS))
    sent = np.stack([picture.mean, picture.max]).astype(np.float16).tobytes()  # not-a-number stays blocked
    drawn = time.process_time()
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    assert not recording.mask(recording.site("encoder", 0), 0, rows=slice(0, 1)).any()
    cost = {"forward": recorded - began, "picture": drawn - recorded, "sent": len(sent)}
    print(json.dumps(cost | {"megabytes": (most - before) / 1e6}))


def text_of(asked: Checkpoint, length: int) -> list[int]:
    """Ids of sentences in turn, that many of them with the end token."""
    ids: list[int] = []
    for sentence in cycle(SENTENCES):
        ids += asked.source_tokenizer.ids(sentence)
        if len(ids) >= length - 1:
            return [*ids[: length - 1], asked.config.eos_id]
    raise AssertionError("A cycle has no end.")


def _resident() -> int:
    """Bytes of this process that are in memory now."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        measure(int(sys.argv[1]))
    else:
        main()
