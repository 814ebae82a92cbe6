"""``python -m transformer translate``"""

import argparse
import sys

from transformer.checkpoint import load_checkpoint
from transformer.commands.decoding_options import add_decoding_options, decoding_of
from transformer.decoding import hypotheses


def describe(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("text", nargs="?", help="without it, each line of standard input is translated")
    parser.add_argument(
        "--checkpoint", default="en-zh", help="its name or folder; a decoder alone goes on with the text"
    )
    parser.add_argument("--batch-size", type=int, default=64, help="sentences decoded together")
    parser.add_argument("--all-beams", action="store_true", help="beam: print every hypothesis, its score before it")
    add_decoding_options(parser)
    parser.set_defaults(run=_run)


def _run(chosen: argparse.Namespace) -> None:
    how = decoding_of(chosen)
    if chosen.all_beams and how.method != "beam":
        raise ValueError("--all-beams wants --method beam.")
    checkpoint = load_checkpoint(chosen.checkpoint)
    texts = [line.rstrip("\n") for line in sys.stdin] if chosen.text is None else [chosen.text]
    for found in hypotheses(checkpoint, texts, how, chosen.batch_size):
        for decoded in found if chosen.all_beams else found[:1]:
            score = f"{decoded.score:.4f}\t" if chosen.all_beams and decoded.score is not None else ""
            print(score + checkpoint.target_tokenizer.text(decoded.ids))
            if not decoded.finished:
                print(f"(stopped at the limit of {len(decoded.ids)} tokens)", file=sys.stderr)
