"""Text to token ids and back, with SentencePiece."""

import io
import math
import random
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from itertools import accumulate
from pathlib import Path
from typing import Any

import sentencepiece

_BYTE = re.compile(r"<0x[0-9A-F]{2}>")
_BEST = 64  # segmentations of a text that sampling chooses among
_chance = random.Random(1)


class Tokenizer:
    """A SentencePiece vocabulary.

    With byte fallback (:meth:`train`) any text has ids, and no character is lost as "unknown"; one without
    (:meth:`of_letters`) refuses characters that it lacks.

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
        """Learn a unigram vocabulary with byte fallback.

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
        sentencepiece.set_random_generator_seed(seed)
        try:
            return cls._learn(
                sentences,
                vocab_size=vocabulary,
                model_type="unigram",
                byte_fallback=True,
                character_coverage=0.9995,
                add_dummy_prefix=dummy_prefix,
                normalization_rule_name=normalization,
            )
        except RuntimeError as error:
            reason = str(error).rpartition("] ")[2]
            raise ValueError(f"No vocabulary of {vocabulary} pieces can be learned from this text: {reason}") from error

    @classmethod
    def of_letters(cls, letters: str) -> "Tokenizer":
        """A piece for each letter, in their order from id 4 on, and the 4 special tokens; nothing else can be read.

        Raises:
            ValueError: no letters, a letter twice, or a blank or unprintable one.

        Example:
            >>> Tokenizer.of_letters("abc").ids("cab")
            [6, 4, 5]
        """
        if not letters or len(set(letters)) < len(letters) or not letters.isprintable() or set(letters) & set(" ▁"):
            raise ValueError(f"Letters must be printable, not blank, and each stand once, not {letters!r}.")
        # Pieces are numbered by how often they occur: the first letter stands in every one of these texts.
        return cls._learn(
            (letters[:length] for length in range(1, len(letters) + 1)),
            vocab_size=len(letters) + 4,
            model_type="char",
            character_coverage=1.0,
            add_dummy_prefix=False,
            normalization_rule_name="identity",
        )

    @classmethod
    def _learn(cls, sentences: Iterable[str], **options: Any) -> "Tokenizer":
        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(sentences),
            model_writer=model,
            pad_id=0,
            unk_id=1,
            bos_id=2,
            eos_id=3,
            minloglevel=2,
            **options,
        )
        return cls(model.getvalue())

    def __len__(self) -> int:
        return self._processor.get_piece_size()

    def ids(self, text: str, sampling: float | None = None) -> list[int]:
        """The ids of a text, without special tokens.

        Args:
            sampling: None for the best segmentation; else draw one of the 64 best, the flatter the smaller this
                number (subword regularisation, Kudo 2018), from the generator that :func:`seed_sampling` sets.

        Raises:
            ValueError: characters that a vocabulary without byte fallback lacks, named in the message.
        """
        if sampling is None:
            ids = self._processor.encode(_unicode(text))
            if self._processor.unk_id() in ids:
                raise ValueError(self._unreadable(text))
            return ids
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

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Which characters of the text each of its ids stands for: a begin and an end, counted in characters.

        Ids that share a character (its bytes, or what normalisation made of it: ﬁ becomes f and i) all have the whole
        of it. The space in front of a word belongs to its first id; an id for spaces alone spans the spaces, or
        nothing where the text has none (the one put in front of it).
        """
        text = _unicode(text)
        pieces = self._processor.encode(text, return_type="proto").pieces
        bounds = list(accumulate((len(character.encode("utf-8")) for character in text), initial=0))
        spans: list[tuple[int, int]] = []
        end = len(bounds) - 1
        for piece in reversed(pieces):  # SentencePiece gives a shared character to the last of its pieces only
            begin = bisect_right(bounds, piece.begin) - 1
            shares = piece.begin == piece.end and piece.piece != "▁"
            end = end if shares else bisect_left(bounds, piece.end)
            spans.append((begin, end))
        return spans[::-1]

    def unknown_characters(self, text: str) -> list[str]:
        """The characters of a text that have no id, each once, in order of appearance; none with byte fallback."""
        pieces, ids = (self._processor.encode(_unicode(text), out_type=out) for out in (str, int))
        unknown = (piece for piece, index in zip(pieces, ids, strict=True) if index == self._processor.unk_id())
        return list(dict.fromkeys("".join(unknown).replace("▁", " ")))

    def _unreadable(self, text: str) -> str:
        lacking = " ".join(map(repr, self.unknown_characters(text)))
        letters = "".join(piece for piece in self.labels(range(len(self))) if len(piece) == 1)
        known = letters if len(letters) <= 80 else f"{letters[:40]}… ({len(letters)} letters)"
        return f"The vocabulary has no token for {lacking}; it reads {known}"

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
