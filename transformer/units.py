"""The units in which people read a text: its pieces, its words or its characters.

Everything is told from the labels of the ids that ran; nothing is tokenized again.

Three rules say what belongs together:

- bytes: a run of ``<0x..>`` pieces is read as UTF-8, and the bytes of a character are one unit. A byte that is no
  part of a valid character stands alone under its own label.
- characters: combining marks, variation selectors, joiners, skin tones and the tags of a flag stay with the character
  before them, a symbol with the zero-width joiner before it, and a regional indicator with the one whose flag it
  completes. So an emoji is one unit however many code points it has. (The rules of Unicode's annex 29 without those
  for Hangul letters and for prepended marks.)
- words: letters and digits with nothing between them, or with a single apostrophe, hyphen or point (between digits
  also a comma) between them: don't, mother-in-law, 3.5. Other punctuation and symbols stand alone, each. Nothing says
  where words end in scripts without spaces (Han, kana, Thai, Lao, Khmer, Burmese): there each piece stands alone.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal, NamedTuple

Unit = Literal["piece", "word", "character"]

ADDED = "(added)"  # what a Recording calls a key that stands for no token
SPECIAL = frozenset({"<s>", "</s>", "<pad>", "<unk>", ADDED})

_BYTE = re.compile(r"<0x[0-9A-F]{2}>")
_JOINER = "\u200d"
_UNSEEN = "\u200c\u200d\ufe0e\ufe0f"  # joiners and variation selectors: nothing is to be seen of them alone
_SIGNS = {"\n": "⏎", "\t": "⇥"}

# Text as one letter a character: space, Letter, Digit, Inner mark, Comma, Unspaced script, Symbol, Mark on another.
_INNER = frozenset("'’.-‐‑־׳״")
_UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    r"\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]"
)
_WORD = re.compile(r" *[LD][LDM]*(?:(?:I|(?<=D)C(?=D))[LD][LDM]*)*| *[UICSM]M*| +")


@dataclass(frozen=True)
class Units:
    """What the queries or keys of a pattern are shown as; made by :func:`units_of`.

    Attributes:
        labels: what each unit is called.
        pieces: the pieces that each unit is made of, in order.
        shares: the part of each of these pieces' weight that is the unit's: 1, or 1/k of a piece in k units.
        special: which units stand for no text: ``<s>``, ``</s>``, ``<pad>``, ``<unk>``, ``(added)``.
        spaced: which units have a space before them, as the ``▁`` says with which their text begins.
    """

    labels: tuple[str, ...]
    pieces: tuple[tuple[int, ...], ...]
    shares: tuple[tuple[float, ...], ...]
    special: tuple[bool, ...]
    spaced: tuple[bool, ...]

    @property
    def merged(self) -> bool:
        """Whether any unit is not just one whole piece."""
        return self.pieces != tuple((i,) for i in range(len(self.pieces)))

    @property
    def num_pieces(self) -> int:
        """Of how many pieces all the units are made."""
        return self.pieces[-1][-1] + 1 if self.pieces else 0


class _Part(NamedTuple):
    text: str
    pieces: tuple[int, ...]
    whole: bool = False  # a name, not text: nothing is joined to it, and it is not taken apart


def units_of(labels: Sequence[str], unit: Unit) -> Units:
    """Group pieces, known by their labels, into what a person reads.

    Args:
        labels: of the pieces, as :meth:`~transformer.tokens.Tokenizer.labels` gives them.
        unit: what to group them into.

            - ``piece``: each by itself, apart from bytes.
            - ``word``: whole pieces, joined where no word ends between them; ``▁`` begins one, and a lone ``▁`` joins
              what follows. A piece that itself goes past the end of a word (``mat.``) is not taken apart. Without
              any ``▁`` or byte there are no words (a vocabulary of letters; tokens that a caller named): as
              ``piece``.
            - ``character``: a piece of k characters is taken apart into k units, each with 1/k of its weight; ``▁``
              goes with the character after it, and a piece that is nothing but ``▁`` is one unit.

    Special tokens stand alone, and so do numbers where there is nothing else: they are the names of tokens whose
    vocabulary is not known. In the units' labels ``▁`` stands as it is, though not at the beginning of a word; a
    newline is ``⏎``, a tab ``⇥``, and another character of which nothing would be seen is its number (``U+0007``).

    Raises:
        ValueError: no such unit.

    Example:
        >>> units_of(["▁Don", "'", "t", "▁", "<0xF0>", "<0x9F>", "<0x98>", "<0x80>", "</s>"], "word").labels
        ("Don't", '😀', '</s>')
    """
    parts = _parts(labels)
    if unit == "word":
        if any("▁" in label or _BYTE.fullmatch(label) for label in labels):
            parts = _joined(parts, _word_starts)
    elif unit == "character":
        parts = _joined([character for part in parts for character in _characters(part)], _character_starts)
    elif unit != "piece":
        raise ValueError(f"Tokens are shown as piece, word or character, not as {unit!r}.")
    units_with = Counter(piece for part in parts for piece in part.pieces)
    return Units(
        labels=tuple(_label(part.text, unit) for part in parts),
        pieces=tuple(part.pieces for part in parts),
        shares=tuple(tuple(1 / units_with[piece] for piece in part.pieces) for part in parts),
        special=tuple(labels[part.pieces[0]] in SPECIAL for part in parts),
        spaced=tuple(part.text.startswith("▁") for part in parts),
    )


def _parts(labels: Sequence[str]) -> list[_Part]:
    """Each piece by itself, but bytes by the characters that they spell."""
    names = SPECIAL | {""}
    if all(label.isdecimal() or label == ADDED for label in labels):
        names |= set(labels)
    parts: list[_Part] = []
    for are_bytes, run in groupby(range(len(labels)), key=lambda i: _BYTE.fullmatch(labels[i]) is not None):
        if are_bytes:
            parts += _joined(list(_decoded(labels, list(run))), _character_starts)
        else:
            parts += [_Part(labels[i], (i,), whole=labels[i] in names) for i in run]
    return parts


def _decoded(labels: Sequence[str], run: Sequence[int]) -> Iterator[_Part]:
    data = bytes(int(labels[i][3:5], 16) for i in run)
    at = 0
    for character in data.decode("utf-8", errors="surrogateescape"):  # which makes a surrogate of an invalid byte
        invalid = "\udc80" <= character <= "\udcff"
        size = 1 if invalid else len(character.encode("utf-8"))
        pieces = tuple(run[at : at + size])
        yield _Part(labels[pieces[0]] if invalid else character, pieces, whole=invalid)
        at += size


def _characters(part: _Part) -> list[_Part]:
    if part.whole:
        return [part]
    return [_Part(text, part.pieces) for text in re.findall(r"▁*[^▁]|▁+", part.text)]


def _joined(parts: Sequence[_Part], starts_in: Callable[[str], set[int]]) -> list[_Part]:
    """Join each part to the one before where its place in the text is not among the starts."""
    groups: list[list[_Part]] = []
    for whole, run in groupby(parts, key=lambda part: part.whole):
        texts = list(run)
        starts = set() if whole else starts_in("".join(part.text for part in texts))
        at = 0
        for part in texts:
            if whole or at in starts:
                groups.append([])
            groups[-1].append(part)
            at += len(part.text)
    return [group[0] if len(group) == 1 else _together(group) for group in groups]


def _together(group: Sequence[_Part]) -> _Part:
    return _Part("".join(part.text for part in group), tuple(sorted({i for part in group for i in part.pieces})))


def _character_starts(text: str) -> set[int]:
    """Where what people take for one character begins."""
    starts = set()
    flag_is_open = False
    for i, (before, character) in enumerate(zip(" " + text, text, strict=False)):
        indicator = "\U0001f1e6" <= character <= "\U0001f1ff"
        joined = before == _JOINER and unicodedata.category(character).startswith("S")
        if i == 0 or not (_extends(character) or joined or (indicator and flag_is_open)):
            starts.add(i)
        flag_is_open = indicator and not flag_is_open
    return starts


def _extends(character: str) -> bool:
    return (
        unicodedata.category(character).startswith("M")
        or character in _UNSEEN
        or "\U0001f3fb" <= character <= "\U0001f3ff"  # skin tones
        or "\U000e0020" <= character <= "\U000e007f"  # the tags of a flag
    )


def _word_starts(text: str) -> set[int]:
    """Where a word begins, or a sign that stands alone."""
    characters = _character_starts(text)
    kinds = "".join(_kind(character) if i in characters else "M" for i, character in enumerate(text))
    return {word.start() for word in _WORD.finditer(kinds)}


def _kind(character: str) -> str:
    if character == "▁":
        return " "
    if character in _INNER:
        return "I"
    if _UNSPACED.match(character):
        return "U"
    return {"L": "L", "M": "L", "N": "D"}.get(unicodedata.category(character)[0], "C" if character == "," else "S")


def _label(text: str, unit: Unit) -> str:
    text = (text.lstrip("▁") or text) if unit == "word" else text
    alone = not text.strip(_UNSEEN)
    return "".join(_sign(character, alone) for character in text)


def _sign(character: str, alone: bool) -> str:
    category = unicodedata.category(character)
    unseen = category in ("Cc", "Cf", "Cs", "Zl", "Zp", "Zs") and character != " " and not _extends(character)
    return _SIGNS.get(character) or (f"U+{ord(character):04X}" if unseen or alone else character)
