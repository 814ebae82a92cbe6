"""``python -m transformer train``"""

import argparse
from dataclasses import fields
from pathlib import Path

import torch

from transformer.batches import read_pairs
from transformer.config import TransformerConfig
from transformer.text_model import TextTransformer
from transformer.tokens import Tokenizer
from transformer.training import Training, TrainingOptions


def describe(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add = parser.add_argument
    add("--train", required=True, metavar="TSV", help="pairs to learn from, a header naming source and target")
    add("--dev", required=True, metavar="TSV", help="pairs whose loss chooses the weights that are kept")
    add("--output", required=True, metavar="FOLDER", type=Path, help="gets the state, the log and the checkpoint")
    add("--resume", action="store_true", help="go on where the run in the output folder stopped")

    add = parser.add_argument_group("training").add_argument
    options = TrainingOptions()
    add("--epochs", type=int, default=options.epochs, help="passes over the training pairs")
    add("--tokens-per-batch", type=int, default=options.tokens_per_batch, help="of either side, padding included")
    add("--learning-rate", type=float, default=options.learning_rate, help="at the top of the schedule")
    add("--warmup-steps", type=int, default=options.warmup_steps, help="up to the top; then down in a straight line")
    add("--weight-decay", type=float, default=options.weight_decay, help="of AdamW")
    add("--label-smoothing", type=float, default=options.label_smoothing, help="share spread over all tokens")
    add("--clip-norm", type=float, default=options.clip_norm, help="longest gradient")
    add("--averaging", type=float, default=options.averaging, help="decay of the moving average of the weights")
    add(
        "--subword-sampling",
        type=float,
        default=options.subword_sampling,
        metavar="ALPHA",
        help="draw a segmentation of each text in each epoch, the flatter the smaller ALPHA",
    )
    add("--precision", choices=("float32", "bf16"), default=options.precision, help="bf16: autocast, where it helps")
    add("--device", default=options.device, help="cpu, cuda or mps")
    add("--seed", type=int, default=options.seed, help="of every random choice")
    add("--save-seconds", type=float, default=options.save_seconds, help="between saves of the state")

    add = parser.add_argument_group("model").add_argument
    config = TransformerConfig(1, 1)
    add("--d-model", type=int, default=config.d_model, help="model width E")
    add("--nhead", type=int, default=config.nhead, help="heads H")
    add("--num-encoder-layers", type=int, default=config.num_encoder_layers, help="layers of the encoder")
    add("--num-decoder-layers", type=int, default=config.num_decoder_layers, help="layers of the decoder")
    add("--dim-feedforward", type=int, default=config.dim_feedforward, help="feed-forward width F")
    add("--dropout", type=float, default=config.dropout, help="in embeddings, attention and sublayers")
    add("--source-vocabulary", type=int, default=4000, help="pieces of the source")
    add("--target-vocabulary", type=int, default=4000, help="pieces of the target")
    for side in ("source", "target"):
        add(
            f"--{side}-without-spaces",
            action="store_true",
            help=f"the {side} is Chinese or the like: no space before its first word, punctuation kept as it is",
        )
    parser.set_defaults(run=_run)


def _run(chosen: argparse.Namespace) -> None:
    train, dev = read_pairs(chosen.train), read_pairs(chosen.dev)
    values = vars(chosen)
    options = TrainingOptions(**{f.name: values[f.name] for f in fields(TrainingOptions)})
    config = TransformerConfig(**{f.name: values[f.name] for f in fields(TransformerConfig) if f.name in values})

    def tokenizer(side: int, size: int, without_spaces: bool) -> Tokenizer:
        normalization = "identity" if without_spaces else "nmt_nfkc"
        texts = dict.fromkeys(pair[side] for pair in train)
        return Tokenizer.train(texts, size, not without_spaces, normalization, options.seed)

    source = tokenizer(0, config.source_vocabulary, chosen.source_without_spaces)
    target = tokenizer(1, config.target_vocabulary, chosen.target_without_spaces)
    torch.manual_seed(options.seed)
    model = TextTransformer(config)
    print(f"{sum(p.numel() for p in model.parameters()):,} parameters, {len(train):,} pairs, {len(dev):,} for dev")
    Training(chosen.output, model, source, target, train, dev, options, chosen.resume).run()
