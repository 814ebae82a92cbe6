"""Text to token ids and back, with SentencePiece."""

import io
import math
import random
import re
from collections.abc import Iterable
from pathlib import Path

import sentencepiece

_BYTE = re.compile(r"<0x[0-9A-F]{2}>")
_BEST = 64  # segmentations of a text that sampling chooses among
_chance = random.Random(1)


class Tokenizer:
    """A SentencePiece vocabulary with byte fallback: any text has ids, and no character is lost as "unknown".

    Args:
        model: the bytes of a SentencePiece model.

    Raises:
        ValueError: the bytes are not such a model.

    Source: Kudo and Richardson 2018.
    """

    def __init__(self, model: bytes) -> None:
        self.model = model
        try:
            if not model:
                raise RuntimeError("SentencePiece takes no bytes for no model.")
            self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        except RuntimeError as error:
            raise ValueError("This is not a SentencePiece model.") from error
        self._scores = [self._processor.get_score(index) for index in range(len(self))]

    @classmethod
    def load(cls, path: str | Path) -> "Tokenizer":
        """Read a ``.model`` file."""
        return cls(Path(path).read_bytes())

    @classmethod
    def train(
        cls,
        sentences: Iterable[str],
        vocabulary: int,
        dummy_prefix: bool = True,
        normalization: str = "nmt_nfkc",
        seed: int = 1,
    ) -> "Tokenizer":
        """Learn a unigram vocabulary.

        Args:
            sentences: the training text.
            vocabulary: how many pieces, the 256 bytes and the 4 special tokens included.
            dummy_prefix: put a space before the first word. Off for text without spaces, where it would become
                a token of its own.
            normalization: SentencePiece's rule; ``identity`` keeps Chinese punctuation as it is.
            seed: of SentencePiece's random generator.

        Raises:
            ValueError: the text is too little, or too varied, for that many pieces.

        Source: Kudo 2018.
        """
        model = io.BytesIO()
        sentencepiece.set_random_generator_seed(seed)
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(sentences),
                model_writer=model,
                vocab_size=vocabulary,
                model_type="unigram",
                byte_fallback=True,
                character_coverage=0.9995,
                add_dummy_prefix=dummy_prefix,
                normalization_rule_name=normalization,
                pad_id=0,
                unk_id=1,
                bos_id=2,
                eos_id=3,
                minloglevel=2,
            )
        except RuntimeError as error:
            reason = str(error).rpartition("] ")[2]
            raise ValueError(f"No vocabulary of {vocabulary} pieces can be learned from this text: {reason}") from error
        return cls(model.getvalue())

    def __len__(self) -> int:
        return self._processor.get_piece_size()

    def ids(self, text: str, sampling: float | None = None) -> list[int]:
        """The ids of a text, without special tokens.

        Args:
            sampling: None for the best segmentation; else draw one of the 64 best, the flatter the smaller this
                number (subword regularisation, Kudo 2018), from the generator that :func:`seed_sampling` sets.
        """
        if sampling is None:
            return self._processor.encode(_unicode(text))
        # SentencePiece's own draws differ from process to process whatever the seed, so a resumed run would differ.
        best = self._processor.nbest_encode(_unicode(text), nbest_size=_BEST, return_type=int)
        scores = [sum(self._scores[index] for index in ids) for ids in best]
        weights = [math.exp(sampling * (score - max(scores))) for score in scores]
        return _chance.choices(best, weights)[0]

    def text(self, ids: Iterable[int]) -> str:
        """The text that the ids spell; special tokens spell nothing."""
        return self._processor.decode([index for index in ids if not self._processor.is_control(index)])

    def labels(self, ids: Iterable[int]) -> list[str]:
        """What to call each id: its piece, ``▁`` standing for a space, ``<0xE4>`` for a byte, ``</s>`` for the end."""
        return [self._processor.id_to_piece(index) for index in ids]

    def spelled_as_bytes(self, text: str) -> list[str]:
        """The characters of a text that the vocabulary lacks, each once, in order of appearance.

        They are known by their pieces: each is spelled with one ``<0x..>`` piece a byte of its UTF-8 form.
        """
        spelled, run = "", bytearray()
        for piece in [*self._processor.encode(_unicode(text), out_type=str), ""]:
            if _BYTE.fullmatch(piece):
                run.append(int(piece[3:5], 16))
            else:
                spelled += run.decode("utf-8", errors="ignore")
                run.clear()
        return list(dict.fromkeys(spelled))


def _unicode(text: str) -> str:
    """The text, with ? for halves of surrogate pairs: Python allows them in a str, UTF-8 and SentencePiece do not."""
    return text.encode("utf-8", errors="replace").decode("utf-8")


def seed_sampling(seed: int) -> None:
    """Make the segmentations drawn by :meth:`Tokenizer.ids` repeat."""
    _chance.seed(seed)
