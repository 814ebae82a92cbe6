"""Text to token ids and back, with SentencePiece."""

import io
import re
from collections.abc import Iterable
from pathlib import Path

import sentencepiece

_BYTE = re.compile(r"<0x[0-9A-F]{2}>")


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
            self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        except RuntimeError as error:
            raise ValueError("This is not a SentencePiece model.") from error

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

        Source: Kudo 2018.
        """
        model = io.BytesIO()
        sentencepiece.set_random_generator_seed(seed)
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
        return cls(model.getvalue())

    def __len__(self) -> int:
        return self._processor.get_piece_size()

    def ids(self, text: str, sampling: float | None = None) -> list[int]:
        """The ids of a text, without special tokens.

        Args:
            sampling: None for the best segmentation; else draw one, the flatter the smaller this number
                (subword regularisation, Kudo 2018), from the generator that :func:`seed_sampling` sets.
        """
        if sampling is None:
            return self._processor.encode(text)
        return self._processor.encode(text, enable_sampling=True, alpha=sampling, nbest_size=-1)

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
        pieces = self._processor.encode(text, out_type=str)
        spelled = bytearray()
        for piece in pieces:
            spelled += bytes([int(piece[3:5], 16)]) if _BYTE.fullmatch(piece) else b"\n"
        return list(dict.fromkeys(spelled.decode("utf-8", errors="ignore").replace("\n", "")))


def seed_sampling(seed: int) -> None:
    """Make the segmentations drawn by :meth:`Tokenizer.ids` repeat."""
    sentencepiece.set_random_generator_seed(seed)
