"""What recording costs a stock module of torch.nn: forwards with and without, interleaved."""

import statistics
import time

import torch
from torch import nn

from transformer import record

ROUNDS = 60


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(1)
    layer = nn.TransformerEncoderLayer(256, 4, 1024, batch_first=True)
    model = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False).eval()
    x = torch.randn(8, 64, 256)

    def plain() -> None:
        model(x)

    def recorded() -> None:
        with record(model):
            model(x)

    def without_fast_path() -> None:
        torch.backends.mha.set_fastpath_enabled(False)
        model(x)
        torch.backends.mha.set_fastpath_enabled(True)

    ways = {"torch's fast path": plain, "without it": without_fast_path, "recorded": recorded}
    times: dict[str, list[float]] = {name: [] for name in ways}
    with torch.inference_mode():
        for _ in range(ROUNDS):
            for name, run in ways.items():
                start = time.perf_counter()
                run()
                times[name].append(time.perf_counter() - start)
    medians = {name: statistics.median(several) for name, several in times.items()}
    print(f"nn.TransformerEncoder, 4 layers of E 256, 8 x 64 tokens, one thread, medians of {ROUNDS}")
    for name, seconds in medians.items():
        print(f"  {name:20} {seconds * 1000:6.1f} ms  {seconds / medians['without it']:.2f}x")


if __name__ == "__main__":
    main()
