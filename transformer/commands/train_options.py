"""The options of ``python -m transformer train``, and which of them are for which task."""

import argparse
from typing import get_args

from transformer.config import Activation, Positions, TransformerConfig
from transformer.schedules import SCHEDULES
from transformer.tasks import LETTER_TASKS
from transformer.training_options import TrainingOptions

TEXTS = ("translate", "language-model")
LETTERS = tuple(LETTER_TASKS)
TWO_SIDES = ("translate", "reverse", "copy")

# What is not here is for every task.
MEANT_FOR = {
    **dict.fromkeys(("train", "dev", "source_vocabulary", "source_without_spaces"), TEXTS),
    **dict.fromkeys(("subword_sampling", "keep_vocabulary"), TEXTS),
    **dict.fromkeys(("target_vocabulary", "target_without_spaces"), ("translate",)),
    **dict.fromkeys(("letters", "shortest", "longest", "examples", "dev_examples"), LETTERS),
    **dict.fromkeys(("share_embeddings", "num_encoder_layers"), TWO_SIDES),
}


def refuse_foreign(parser: argparse.ArgumentParser, chosen: argparse.Namespace) -> None:
    """Refuse what the chosen task would ignore, and a task without its files.

    Raises:
        ValueError: the message names the option.
    """
    for name, tasks in MEANT_FOR.items():
        if chosen.task not in tasks and getattr(chosen, name) != parser.get_default(name):
            raise ValueError(f"--{_dashed(name)} is for {', '.join(tasks)}, not for {chosen.task}.")
    for name in ("train", "dev"):
        if chosen.task in TEXTS and getattr(chosen, name) is None:
            raise ValueError(f"The task {chosen.task} needs --{name} FILE.")
    if chosen.keep_vocabulary and not chosen.start_from:
        raise ValueError("--keep-vocabulary needs --start-from CHECKPOINT.")
    if chosen.share_embeddings or chosen.task == "language-model":
        for name in ("target_vocabulary", "target_without_spaces", "keep_vocabulary"):
            if getattr(chosen, name) not in (parser.get_default(name), "source", "both"):
                raise ValueError(f"There is one vocabulary, called the source's: leave out --{_dashed(name)}.")


def _dashed(name: str) -> str:
    return name.replace("_", "-")


def describe(parser: argparse.ArgumentParser) -> None:
    """Add the command's options, in groups."""
    options, config = TrainingOptions(), TransformerConfig(1, 1)
    _task(parser)
    _data(parser)
    _schedule(parser, options)
    _regularisation(parser, options, config)
    _model(parser, config)
    _run(parser, options)


def _task(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("task").add_argument
    add(
        "--task",
        choices=(*TEXTS, *LETTERS),
        default="translate",
        help="translate pairs, or reverse or copy strings of letters (encoder-decoder); go on with sentences, or with "
        "random letters that come twice (decoder alone)",
    )
    add("--letters", metavar="ABC", help=_letters("letters", "what strings are made of"))
    add("--shortest", type=int, metavar="N", help=_letters("shortest", "letters a string has at least"))
    add("--longest", type=int, metavar="N", help=_letters("longest", "letters a string has at most"))
    add("--examples", type=int, metavar="N", help=_letters("examples", "strings in an epoch, each epoch's drawn anew"))
    add("--dev-examples", type=int, metavar="N", help=_letters("dev_examples", "strings to judge by, never trained on"))


def _letters(name: str, help: str) -> str:
    """The help of an option of the tasks on letters, whose default may be each task's own."""
    defaults = {task: getattr(letters, name) for task, letters in LETTER_TASKS.items()}
    usual = defaults["reverse"]
    others = "".join(f"; {task}: {value}" for task, value in defaults.items() if value != usual)
    return f"{', '.join(LETTERS)}: {help} (default: {usual}{others})"


def _data(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("data, for texts").add_argument
    add(
        "--train",
        metavar="FILE",
        help="TSV with a header naming source and target; for language-model a sentence a line",
    )
    add("--dev", metavar="FILE", help="as --train; its loss chooses the weights that are kept")
    add(
        "--source-vocabulary", type=int, default=4000, metavar="V", help="pieces of the source; a language model's only"
    )
    add("--target-vocabulary", type=int, default=4000, metavar="V", help="pieces of the target")
    for side in ("source", "target"):
        add(
            f"--{side}-without-spaces",
            action="store_true",
            help=f"the {side} is Chinese or the like: no space before its first word, punctuation kept as it is",
        )


def _schedule(parser: argparse.ArgumentParser, options: TrainingOptions) -> None:
    add = parser.add_argument_group("schedule").add_argument
    add("--epochs", type=int, default=options.epochs, metavar="N", help="passes over the training examples")
    add("--steps", type=int, metavar="N", help="batches, in place of --epochs")
    add(
        "--tokens-per-batch",
        type=int,
        default=options.tokens_per_batch,
        metavar="N",
        help="of either side, padding included; texts of like length share a batch",
    )
    add(
        "--schedule",
        choices=tuple(SCHEDULES),
        default=options.schedule,
        help="after the warm-up: a straight line to 0, half a cosine to 0, or the inverse square root of the step",
    )
    add(
        "--learning-rate",
        type=float,
        default=options.learning_rate,
        metavar="RATE",
        help="of AdamW, at the top of the schedule; Vaswani et al. have 1/sqrt(E * warm-up steps)",
    )
    add("--warmup-steps", type=int, default=options.warmup_steps, metavar="N", help="up to the top")
    add("--evaluate-every", type=int, metavar="STEPS", help="loss on the dev set; without it, after each epoch")
    add("--patience", type=int, metavar="N", help="stop after so many evaluations without a lower dev loss")


def _regularisation(parser: argparse.ArgumentParser, options: TrainingOptions, config: TransformerConfig) -> None:
    add = parser.add_argument_group("regularisation").add_argument
    add("--dropout", type=float, default=config.dropout, metavar="P", help="in embeddings, attention and sublayers")
    add(
        "--label-smoothing",
        type=float,
        default=options.label_smoothing,
        metavar="P",
        help="share of each label spread over all tokens",
    )
    add(
        "--word-dropout",
        type=float,
        default=options.word_dropout,
        metavar="P",
        help="share of the tokens that the decoder reads that become unknown",
    )
    add(
        "--subword-sampling",
        type=float,
        metavar="ALPHA",
        help="draw a segmentation of each text in each epoch, the flatter the smaller ALPHA; try 0.3",
    )
    add("--weight-decay", type=float, default=options.weight_decay, metavar="W", help="of AdamW")
    add("--clip-norm", type=float, default=options.clip_norm, metavar="NORM", help="longest gradient")
    add(
        "--averaging",
        type=float,
        default=options.averaging,
        metavar="DECAY",
        help="keep a moving average of the weights; 0: the weights as they are",
    )
    add(
        "--average-last",
        type=int,
        metavar="K",
        help="in place of the moving average, keep the mean of the weights at the last K evaluations",
    )


def _model(parser: argparse.ArgumentParser, config: TransformerConfig) -> None:
    add = parser.add_argument_group("model").add_argument
    add("--d-model", type=int, default=config.d_model, metavar="E", help="width")
    add("--nhead", type=int, default=config.nhead, metavar="H", help="heads")
    add("--num-encoder-layers", type=int, default=config.num_encoder_layers, metavar="N", help="layers of the encoder")
    add("--num-decoder-layers", type=int, default=config.num_decoder_layers, metavar="N", help="layers of the decoder")
    add("--dim-feedforward", type=int, default=config.dim_feedforward, metavar="F", help="width of the feed-forwards")
    add("--activation", choices=get_args(Activation), default=config.activation, help="of the feed-forwards")
    add("--positions", choices=get_args(Positions), default=config.positions, help="how tokens know where they stand")
    add(
        "--max-length",
        type=int,
        default=config.max_length,
        metavar="N",
        help="tokens a text may have; longer: left out",
    )
    yes_or_no = argparse.BooleanOptionalAction
    add("--norm-first", action=yes_or_no, default=config.norm_first, help="normalise before each sublayer, not after")
    add(
        "--tie-output",
        action=yes_or_no,
        default=config.tie_output,
        help="the output head's table is that of the embedding of what it predicts",
    )
    add(
        "--share-embeddings",
        action=yes_or_no,
        default=config.share_embeddings,
        help="one table, and so one vocabulary of --source-vocabulary pieces, for source and target",
    )
    add(
        "--start-from",
        metavar="CHECKPOINT",
        help="begin with its weights: those of equal name and shape, and in the vocabularies those of equal pieces",
    )
    add(
        "--keep-vocabulary",
        choices=("source", "target", "both"),
        help="take the vocabulary of this side from --start-from; without it, new ones are learned from --train",
    )


def _run(parser: argparse.ArgumentParser, options: TrainingOptions) -> None:
    add = parser.add_argument_group("run").add_argument
    add("--output", required=True, metavar="FOLDER", help="gets the state, log.csv, timing.csv and checkpoint/")
    add("--resume", action="store_true", help="go on where the run in the output folder stopped")
    add(
        "--snapshots",
        type=_steps,
        default=options.snapshots,
        metavar="0,100,...",
        help="steps at which to keep the weights, in checkpoint/snapshots; 0: before the first",
    )
    add("--device", default=options.device, metavar="NAME", help="cpu, cuda or mps")
    add("--precision", choices=("float32", "bf16"), default=options.precision, help="bf16: autocast, where it helps")
    add("--seed", type=int, default=options.seed, metavar="N", help="of every random choice")
    add("--save-seconds", type=float, default=options.save_seconds, metavar="S", help="between saves of the state")


def _steps(text: str) -> tuple[int, ...]:
    try:
        return tuple(sorted({int(step) for step in text.split(",")}))
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"wanted steps with commas between them, not {text!r}") from error
