"""The command line: ``python -m transformer train | evaluate | translate``."""

import argparse
import sys

from transformer.commands import evaluate, train, translate


class Help(argparse.ArgumentDefaultsHelpFormatter):
    """Names defaults, but none where there is none."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        nothing = action.default is None or action.default is False or action.default == ()
        return action.help if nothing else super()._get_help_string(action)


def main(arguments: list[str] | None = None) -> int:
    """Run one command; bad input is one sentence on standard error and exit status 2."""
    parser = argparse.ArgumentParser(
        prog="python -m transformer",
        description="Train a Transformer, measure it, translate with it.",
        formatter_class=Help,
    )
    commands = parser.add_subparsers(required=True, metavar="train | evaluate | translate")
    for name, command, help in (
        ("train", train, "train a model on texts, or on a task with letters"),
        ("evaluate", evaluate, "BLEU, chrF and word alignment of a checkpoint"),
        ("translate", translate, "translate a text, or each line of standard input"),
    ):
        command.describe(commands.add_parser(name, help=help, description=help, formatter_class=parser.formatter_class))
    chosen = parser.parse_args(arguments)
    try:
        chosen.run(chosen)
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
