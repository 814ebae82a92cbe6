"""What recording costs a forward: never recorded, recorded before (hooks in place, idle), and being recorded."""

import copy
import statistics
import time
from collections.abc import Callable

import torch

from transformer import TextTransformer, TransformerConfig, record

ROUNDS = 60


def main() -> None:
    torch.manual_seed(0)
    never = TextTransformer(TransformerConfig(4000, 4000)).eval()
    before = copy.deepcopy(never)
    source, target = torch.randint(4, 4000, (1, 24)), torch.randint(4, 4000, (1, 24))
    with record(before):
        pass

    def recorded() -> None:
        with record(before):
            before(source, target)

    forwards: dict[str, Callable[[], object]] = {
        "never recorded": lambda: never(source, target),
        "hooks idle": lambda: before(source, target),
        "recording": recorded,
    }
    times: dict[str, list[float]] = {name: [] for name in forwards}
    with torch.inference_mode():
        for _ in range(ROUNDS):
            for name, forward in forwards.items():
                began = time.perf_counter()
                forward()
                times[name].append(time.perf_counter() - began)
    print(f"One forward, 24 + 24 tokens, 7.6 M parameters; medians of {ROUNDS}, interleaved")
    floor = statistics.median(times["never recorded"])
    for name, one in times.items():
        print(f"  {name:15} {1000 * statistics.median(one):6.2f} ms  {statistics.median(one) / floor:5.2f}x")


if __name__ == "__main__":
    main()
