"""Tasks on texts of people: to translate pairs, or to go on with sentences."""

import zlib
from collections.abc import Sequence

from transformer.batches import Pair
from transformer.tasks.task import Task, Texts
from transformer.tokens import Tokenizer


def translate(
    tokenizers: tuple[Tokenizer, Tokenizer],
    train: Sequence[Pair],
    dev: Sequence[Pair],
    subword_sampling: float | None = None,
    seed: int = 1,
) -> Task:
    """Read the source, predict the target."""
    settings = {"task": "translate", "train": _checksum(train), "dev": _checksum(dev)}
    return Task("encoder-decoder", tokenizers, lambda epoch: train, dev, settings, seed, subword_sampling)


def language_model(
    tokenizer: Tokenizer,
    train: Sequence[str],
    dev: Sequence[str],
    subword_sampling: float | None = None,
    seed: int = 1,
) -> Task:
    """Predict each token of a sentence from the ones before it."""
    texts, dev_texts = [(text,) for text in train], [(text,) for text in dev]
    settings = {"task": "language-model", "train": _checksum(texts), "dev": _checksum(dev_texts)}
    return Task("decoder", (tokenizer,), lambda epoch: texts, dev_texts, settings, seed, subword_sampling)


def _checksum(examples: Sequence[Texts]) -> int:
    return zlib.crc32("\n".join(map("\t".join, examples)).encode("utf-8", errors="surrogatepass"))
