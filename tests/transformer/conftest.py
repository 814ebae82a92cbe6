"""What is made once for all tests of the transformer package."""

from pathlib import Path

import pytest
import torch
from small_models import made_up_pairs, small_config, small_tokenizers

from transformer import TextTransformer
from transformer.checkpoint import Checkpoint, load_checkpoint
from transformer.tasks import translate
from transformer.tokens import Tokenizer
from transformer.training import Training
from transformer.training_options import TrainingOptions


@pytest.fixture(scope="session")
def tokenizers() -> tuple[Tokenizer, Tokenizer]:
    """The vocabularies of the made-up language's two sides."""
    return small_tokenizers()


@pytest.fixture(scope="session")
def trained_run(tmp_path_factory: pytest.TempPathFactory, tokenizers: tuple[Tokenizer, Tokenizer]) -> Path:
    """The folder of a short run that has learned the made-up language by heart."""
    folder = tmp_path_factory.mktemp("trained") / "run"
    torch.manual_seed(0)
    model = TextTransformer(small_config(d_model=48, dim_feedforward=96, num_encoder_layers=1, dropout=0.0))
    options = TrainingOptions(
        epochs=30, tokens_per_batch=200, learning_rate=5e-3, warmup_steps=20, averaging=0.9, label_smoothing=0.0
    )
    pairs = made_up_pairs()
    Training(folder, model, translate(tokenizers, pairs, pairs[::4]), options).run()
    return folder


@pytest.fixture(scope="session")
def trained(trained_run: Path) -> Checkpoint:
    """The checkpoint of :func:`trained_run`."""
    return load_checkpoint(trained_run / "checkpoint")


@pytest.fixture(scope="session")
def plain() -> Tokenizer:
    """A vocabulary that keeps every character as it is, and puts no space before the text."""
    sources = [source for source, _ in made_up_pairs()]
    return Tokenizer.train(sources, 285, dummy_prefix=False, normalization="identity")


@pytest.fixture(scope="session")
def spaced(tokenizers: tuple[Tokenizer, Tokenizer]) -> Tokenizer:
    return tokenizers[0]
