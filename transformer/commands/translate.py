"""``python -m transformer translate``"""

import argparse
import sys

from transformer.checkpoint import load_checkpoint
from transformer.decoding import translate


def describe(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("text", nargs="?", help="without it, each line of standard input is translated")
    parser.add_argument("--checkpoint", default="en-zh", help="its name or folder")
    parser.add_argument("--batch-size", type=int, default=64, help="sentences decoded together")
    parser.set_defaults(run=_run)


def _run(chosen: argparse.Namespace) -> None:
    checkpoint = load_checkpoint(chosen.checkpoint)
    texts = [line.rstrip("\n") for line in sys.stdin] if chosen.text is None else [chosen.text]
    for decoded in translate(checkpoint, texts, chosen.batch_size):
        print(checkpoint.target_tokenizer.text(decoded.ids))
        if not decoded.finished:
            print(f"(stopped at the limit of {len(decoded.ids)} tokens)", file=sys.stderr)
