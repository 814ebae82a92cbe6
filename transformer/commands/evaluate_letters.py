"""``python -m transformer evaluate`` of a model that learned a task on letters."""

import argparse
from dataclasses import asdict

from transformer.checkpoint import list_snapshots, load_checkpoint
from transformer.commands.letter_tables import letter_table, snapshot_table
from transformer.letter_report import letter_samples, measure_letters
from transformer.tasks import LetterTask

FOREIGN = ("test", "train", "alignment")


def add_letter_options(parser: argparse.ArgumentParser) -> None:
    """Add a group ``letters``."""
    add = parser.add_argument_group(
        "letters", "a checkpoint that learned reverse, copy or induction is measured on that, without any file"
    ).add_argument
    add("--strings", type=int, default=500, metavar="N", help="strings to draw, none of which was trained on")
    add("--snapshots", action="store_true", help="measure each snapshot too, a line a step of training")


def evaluate_letters(chosen: argparse.Namespace, task: LetterTask) -> dict[str, object]:
    """Print the tables, and return all that they were made of.

    Raises:
        ValueError: options that are for texts; ``--snapshots`` of a checkpoint without any.
    """
    for name in FOREIGN:
        if getattr(chosen, name):
            raise ValueError(f"--{name} is for models of texts, but {chosen.checkpoint} learned {task.kind}.")
    steps = list_snapshots(chosen.checkpoint) if chosen.snapshots else []
    if chosen.snapshots and not steps:
        raise ValueError(f"The checkpoint {chosen.checkpoint} has no snapshots.")
    checkpoint = load_checkpoint(chosen.checkpoint)
    report = measure_letters(checkpoint, task, chosen.strings)
    print(letter_table(report))
    figures: dict[str, object] = {"task": asdict(task), "letters": asdict(report)}
    if steps:
        kept = {step: load_checkpoint(chosen.checkpoint, snapshot=step) for step in steps}
        reports = {step: measure_letters(one, task, chosen.strings) for step, one in kept.items()}
        print(snapshot_table(reports))
        figures["snapshots"] = {step: asdict(one) for step, one in reports.items()}
    if chosen.sample:
        figures["samples"] = [asdict(one) for one in letter_samples(checkpoint, task, chosen.sample)]
    return figures
