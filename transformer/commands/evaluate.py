"""``python -m transformer evaluate``"""

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from transformer.batches import read_pairs
from transformer.checkpoint import load_checkpoint
from transformer.evaluation import evaluate, samples


def describe(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add = parser.add_argument
    add("--checkpoint", default="en-zh", help="its name or folder")
    add("--test", required=True, metavar="TSV", help="pairs to measure on")
    add("--train", metavar="TSV", help="training pairs: also report without the test targets that stand there")
    add("--bleu-tokenizer", choices=("13a", "zh"), default="13a", help="zh for Chinese targets")
    add("--sample", action="append", default=[], metavar="TEXT", help="a test sentence to show; may come again")
    add("--output", metavar="JSON", type=Path, help="write the figures there too")
    parser.set_defaults(run=_run)


def _run(chosen: argparse.Namespace) -> None:
    train = read_pairs(chosen.train) if chosen.train else []
    checkpoint, test = load_checkpoint(chosen.checkpoint), read_pairs(chosen.test)
    figures: dict[str, object] = {
        name: asdict(score) for name, score in evaluate(checkpoint, test, train, chosen.bleu_tokenizer).items()
    }
    if chosen.sample:
        figures["samples"] = [asdict(one) for one in samples(checkpoint, test, chosen.sample)]
    text = json.dumps(figures, indent=2, ensure_ascii=False)
    print(text)
    if chosen.output:
        chosen.output.write_text(text + "\n", encoding="utf-8")
