"""``python -m transformer evaluate``"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from transformer.alignment import AlignedPair, read_alignments
from transformer.batches import Pair, read_pairs
from transformer.checkpoint import TASK, Checkpoint, checkpoint_folder, load_checkpoint
from transformer.commands.alignment_table import alignment_table
from transformer.commands.decoding_options import add_decoding_options, decoding_of
from transformer.commands.evaluate_letters import add_letter_options, evaluate_letters
from transformer.evaluation import evaluate, samples
from transformer.head_alignment import measure_alignment
from transformer.tasks import LetterTask


def describe(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add = parser.add_argument
    add("--checkpoint", default="en-zh", help="its name or folder")
    add("--test", metavar="TSV", help="pairs to translate and, with --alignment, to measure the loss on")
    add("--train", metavar="TSV", help="training pairs: also report without the test targets that stand there")
    add("--bleu-tokenizer", choices=("13a", "zh"), default="13a", help="zh for Chinese targets")
    add("--sample", action="append", default=[], metavar="TEXT", help="a test sentence, or letters; may come again")
    add("--alignment", metavar="JSONL", help="word alignments to hold every head of cross-attention against")
    add("--alignment-reversed", action="store_true", help="the model translates from that file's targets")
    add(
        "--alignment-rows",
        choices=("predicts", "reads"),
        default="predicts",
        help="a target piece looks where the row that predicts it looks, or the row that reads it",
    )
    add("--output", metavar="JSON", type=Path, help="write the figures there too")
    add_letter_options(parser)
    add_decoding_options(parser)
    parser.set_defaults(run=_run)


def _run(chosen: argparse.Namespace) -> None:
    task = LetterTask.load(checkpoint_folder(chosen.checkpoint) / TASK)
    figures = evaluate_letters(chosen, task) if task else _evaluate_texts(chosen)
    if chosen.output:
        chosen.output.write_text(_json(figures) + "\n", encoding="utf-8")


def _evaluate_texts(chosen: argparse.Namespace) -> dict[str, object]:
    if chosen.snapshots:
        raise ValueError(f"--snapshots is for models of letters, but {chosen.checkpoint} learned from texts.")
    if not chosen.test and not chosen.alignment:
        raise ValueError("There is nothing to measure on: give --test, --alignment or both.")
    if not chosen.test and (chosen.train or chosen.sample):
        raise ValueError("--train and --sample say more about --test, which is missing.")
    test = read_pairs(chosen.test) if chosen.test else []
    train = read_pairs(chosen.train) if chosen.train else []
    aligned = _read_aligned(chosen) if chosen.alignment else []
    checkpoint = load_checkpoint(chosen.checkpoint)
    figures: dict[str, object] = {}
    if test:
        figures = _translations(checkpoint, test, train, chosen)
        print(_json(figures))
    if aligned:
        report = measure_alignment(checkpoint, aligned, test, chosen.alignment_rows)
        print(alignment_table(report))
        figures["alignment"] = asdict(report)
    return figures


def _read_aligned(chosen: argparse.Namespace) -> list[AlignedPair]:
    aligned = read_alignments(chosen.alignment)
    return [pair.reversed() for pair in aligned] if chosen.alignment_reversed else aligned


def _translations(
    checkpoint: Checkpoint, test: Sequence[Pair], train: Sequence[Pair], chosen: argparse.Namespace
) -> dict[str, object]:
    how = decoding_of(chosen)
    scores = evaluate(checkpoint, test, train, chosen.bleu_tokenizer, how)
    figures: dict[str, object] = {name: asdict(score) for name, score in scores.items()}
    figures["decoding"] = asdict(how)
    if chosen.sample:
        figures["samples"] = [asdict(one) for one in samples(checkpoint, test, chosen.sample, how)]
    return figures


def _json(figures: dict[str, object]) -> str:
    return json.dumps(figures, indent=2, ensure_ascii=False)
