"""The options of every command that decodes."""

import argparse
from dataclasses import fields

from transformer.decoding import Decoding


def add_decoding_options(parser: argparse.ArgumentParser) -> None:
    """Add a group ``decoding``; :func:`decoding_of` reads it back."""
    add, default = parser.add_argument_group("decoding").add_argument, Decoding()
    add(
        "--method",
        choices=("greedy", "beam", "sample"),
        default=default.method,
        help="take the likeliest token each time, search for the likeliest sentence, or draw",
    )
    add("--beams", type=int, default=default.beams, metavar="B", help="beam: hypotheses side by side")
    add(
        "--length-penalty",
        type=float,
        default=default.length_penalty,
        metavar="P",
        help="beam: log-probabilities are divided by length ** P; more favours long ones",
    )
    add("--temperature", type=float, default=default.temperature, metavar="T", help="sample: below 1 sharper")
    add("--top-k", type=int, metavar="K", help="sample: only among the K likeliest tokens")
    add("--top-p", type=float, metavar="P", help="sample: only among the likeliest that together have probability P")
    add("--seed", type=int, default=default.seed, help="sample: another seed, other draws")


def decoding_of(chosen: argparse.Namespace) -> Decoding:
    """How the chosen options decode."""
    return Decoding(**{field.name: getattr(chosen, field.name) for field in fields(Decoding)})
