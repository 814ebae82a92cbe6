"""What training knows of a task."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from transformer.batches import Example
from transformer.config import Architecture
from transformer.tokens import Tokenizer, seed_sampling

Texts = tuple[str, ...]  # (source, target), or the one text that a decoder alone reads


@dataclass(frozen=True)
class Task:
    """Examples to learn from, epoch by epoch, and a fixed set to judge by.

    Args:
        architecture: of the model that reads them.
        tokenizers: one for each side of an example.
        texts: the training texts of an epoch (0, 1, ...), the same ones whenever it is asked.
        dev_texts: what the model is judged by.
        settings: what a resumed run must find as it was.
        seed: of the segmentations that are drawn.
        subword_sampling: see :meth:`Tokenizer.ids`; never on the dev set.
    """

    architecture: Architecture
    tokenizers: tuple[Tokenizer, ...]
    texts: Callable[[int], Sequence[Texts]]
    dev_texts: Sequence[Texts]
    settings: Mapping[str, object]
    seed: int = 1
    subword_sampling: float | None = None

    def train(self, epoch: int) -> list[Example]:
        """The ids of an epoch's examples, without special tokens."""
        seed_sampling(self.seed * 1_000_003 + epoch)
        return [self._ids(texts, self.subword_sampling) for texts in self.texts(epoch)]

    def dev(self) -> list[Example]:
        """The ids of the dev set, without special tokens."""
        return [self._ids(texts, None) for texts in self.dev_texts]

    def _ids(self, texts: Texts, sampling: float | None) -> Example:
        return tuple(tokenizer.ids(text, sampling) for tokenizer, text in zip(self.tokenizers, texts, strict=True))
