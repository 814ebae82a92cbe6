"""``python -m transformer train``"""

import argparse
import os
from collections.abc import Iterable
from dataclasses import fields, replace
from functools import partial
from pathlib import Path

import torch

from transformer.batches import read_pairs, read_sentences
from transformer.checkpoint import Checkpoint, load_checkpoint
from transformer.commands import train_options
from transformer.config import TransformerConfig
from transformer.tasks import LETTER_TASKS, Task, language_model, translate
from transformer.text_model import TextTransformer
from transformer.tokens import Tokenizer
from transformer.training import Training
from transformer.training_options import TrainingOptions
from transformer.transfer import start_from


def describe(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    train_options.describe(parser)
    parser.set_defaults(run=partial(_run, parser))


def _run(parser: argparse.ArgumentParser, chosen: argparse.Namespace) -> None:
    train_options.refuse_foreign(parser, chosen)
    values = vars(chosen)
    options = TrainingOptions(**{f.name: values[f.name] for f in fields(TrainingOptions)})
    start = load_checkpoint(chosen.start_from) if chosen.start_from else None
    task = _task(chosen, start)
    sizes = {f"{side}_vocabulary": len(task.tokenizers[i]) for side, i in (("source", 0), ("target", -1))}
    values = values | sizes | {"architecture": task.architecture}
    config = TransformerConfig(**{f.name: values[f.name] for f in fields(TransformerConfig) if f.name in values})
    if options.device != "cpu":
        # CUDA's fastest kernels add in any order; one seed should be one curve there too.
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        torch.use_deterministic_algorithms(True, warn_only=True)
    torch.manual_seed(options.seed)
    model = TextTransformer(config)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    print(f"{parameters:,} parameters, {len(task.texts(0)):,} examples an epoch, {len(task.dev_texts):,} for dev")
    if start:
        print(f"{start_from(model, task.tokenizers, start):,} parameters taken from {chosen.start_from}")
    Training(Path(chosen.output), model, task, options, chosen.resume).run()


def _task(chosen: argparse.Namespace, start: Checkpoint | None) -> Task:
    if chosen.task in LETTER_TASKS:
        changes = {
            name: getattr(chosen, name) for name in ("letters", "shortest", "longest", "examples", "dev_examples")
        }
        letters = replace(LETTER_TASKS[chosen.task], **{k: v for k, v in changes.items() if v is not None})
        return letters.task(chosen.seed)
    sampling, seed = chosen.subword_sampling, chosen.seed
    if chosen.task == "language-model":
        sentences, dev = read_sentences(chosen.train), read_sentences(chosen.dev)
        return language_model(_vocabulary(chosen, start, "source", sentences), sentences, dev, sampling, seed)
    pairs = read_pairs(chosen.train)
    sources, targets = zip(*pairs, strict=True)
    if chosen.share_embeddings:
        source = target = _vocabulary(chosen, start, "source", sources + targets)
    else:
        source = _vocabulary(chosen, start, "source", sources)
        target = _vocabulary(chosen, start, "target", targets)
    return translate((source, target), pairs, read_pairs(chosen.dev), sampling, seed)


def _vocabulary(chosen: argparse.Namespace, start: Checkpoint | None, side: str, texts: Iterable[str]) -> Tokenizer:
    """The one to begin with, where it is to be kept; else a new one."""
    if start and chosen.keep_vocabulary in (side, "both"):
        return start.source_tokenizer if side == "source" else start.target_tokenizer
    without_spaces = getattr(chosen, f"{side}_without_spaces")
    normalization = "identity" if without_spaces else "nmt_nfkc"
    size = getattr(chosen, f"{side}_vocabulary")
    return Tokenizer.train(dict.fromkeys(texts), size, not without_spaces, normalization, chosen.seed)
