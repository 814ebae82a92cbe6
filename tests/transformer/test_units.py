"""What people read, put together from the labels of pieces: by hand, and for any text."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_models import ODD_TEXTS

from transformer.tokens import Tokenizer
from transformer.units import Unit, Units, units_of

UNITS: tuple[Unit, ...] = ("piece", "word", "character")


def bytes_of(text: str) -> list[str]:
    return [f"<0x{byte:02X}>" for byte in text.encode("utf-8")]


def read(labels: list[str], unit: Unit) -> list[str]:
    return list(units_of(labels, unit).labels)


# By hand.


def test_english_words_are_pieces_together_and_characters_are_shares_of_them():
    labels = ["<s>", "▁un", "usual", "▁c", "at", ".", "</s>"]
    assert units_of(labels, "word") == Units(
        labels=("<s>", "unusual", "cat", ".", "</s>"),
        pieces=((0,), (1, 2), (3, 4), (5,), (6,)),
        shares=((1.0,), (1.0, 1.0), (1.0, 1.0), (1.0,), (1.0,)),
        special=(True, False, False, False, True),
        spaced=(False, True, True, False, False),
    )
    assert units_of(["▁un", "the", "</s>"], "character") == Units(
        labels=("▁u", "n", "t", "h", "e", "</s>"),
        pieces=((0,), (0,), (1,), (1,), (1,), (2,)),
        shares=((1 / 2,), (1 / 2,), (1 / 3,), (1 / 3,), (1 / 3,), (1.0,)),
        special=(False, False, False, False, False, True),
        spaced=(True, False, False, False, False, False),
    )
    assert read(labels, "piece") == labels


@pytest.mark.parametrize(
    ("pieces", "words"),
    [
        ("▁Don ' t", "Don't"),
        ("▁l ' homme ▁qu ’ il", "l'homme qu’il"),
        ("▁mother - in - law ' s", "mother-in-law's"),
        ("▁3 . 5 ▁10 ,000 , ▁1 , 5", "3.5 10,000 , 1,5"),
        ("▁yes , no", "yes , no"),  # a comma joins digits only
        ("▁cat . ▁The", "cat . The"),
        ("▁dog s ' ▁bone", "dogs ' bone"),  # nothing follows inside the word
        ("▁ ' tis", "' tis"),
        ("▁well - ▁known", "well - known"),
        ("▁a - - b . . .", "a - - b . . ."),
        ("▁- 5 ▁$ 5 ▁5 %", "- 5 $ 5 5 %"),
        ('▁mat. " ▁so', 'mat. " so'),  # a piece is not taken apart
        ("▁mat. com", "mat.com"),
        ('▁he ." ?', 'he ." ?'),
        ("▁ca fe \u0301 s", "cafe\u0301s"),
        ("▁न म स \u094d त \u0947", "नमस्ते"),  # vowel signs and the virama belong to their letters
        ("\u0301 a ▁b", "\u0301a b"),  # a mark on nothing is as a letter
        ("▁Прив ет , ▁ми р", "Привет , мир"),
        ("▁مر حبا ▁ب العالم ؟", "مرحبا بالعالم ؟"),
        ("▁של ום ▁צה ״ ל", "שלום צה״ל"),
        ("▁한 국어 ▁좋다", "한국어 좋다"),
        ("▁of▁the m", "of▁them"),  # two words in one piece
        ("我喜欢 猫 。 ▁A B C", "我喜欢 猫 。 ABC"),
        ("▁日本 語 を 話 し ます カ ー", "日本 語 を 話 し ます カ ー"),
        ("▁A 猫 B", "A 猫 B"),
        ("▁กา ร ▁ខ្មែ រ", "กา ร ខ្មែ រ"),
        ("▁ 👩 \u200d 👧 👍 🏽 x ▁❤ \ufe0f", "👩\u200d👧 👍🏽 x ❤\ufe0f"),
        ("▁ < / script > < b >", "< / script > < b >"),
        ("▁ <0x0A> <0x09> x", "⏎ ⇥ x"),
    ],
)
def test_words(pieces, words):
    assert read(pieces.split(" "), "word") == words.split(" ")


def test_a_space_of_its_own_joins_what_follows():
    units = units_of(["▁", *bytes_of("é"), "t", "▁", "▁", "x", "▁", "▁", "</s>", "▁"], "word")
    assert units.labels == ("ét", "x", "▁▁", "</s>", "▁")
    assert units.pieces == ((0, 1, 2, 3), (4, 5, 6), (7, 8), (9,), (10,))
    assert read(["▁", "x", "▁▁"], "character") == ["▁", "x", "▁▁"]
    assert read(["▁the", "▁of▁a"], "character") == ["▁t", "h", "e", "▁o", "f", "▁a"]


@pytest.mark.parametrize(
    ("pieces", "unit", "read"),
    [
        ('▁said : ▁" I ▁don \' t ▁( really ) " </s>', "word", ' said: "I don\'t (really)"</s>'),
        ("▁said ▁: ▁“ I ▁( ▁really", "word", " said : “I ( really"),  # typed with odd spaces
        ("猫 看见 Tom m y ▁ 我", "word", "猫看见Tommy 我"),
        ("▁un usual ▁ x", "piece", " unusual ▁x"),
        ("▁ab c ▁ x", "character", " abc ▁x"),
        ("a b X", "word", "abX"),
    ],
)
def test_spaces_stand_where_a_piece_says_so(pieces, unit, read):
    units = units_of(pieces.split(" "), unit)
    texts = [label if set(label) == {"▁"} else label.removeprefix("▁") for label in units.labels]
    assert "".join(" " * space + text for space, text in zip(units.spaced, texts, strict=True)) == read


def test_special_tokens_stand_alone_whatever_stands_beside_them():
    labels = ["▁a", "<unk>", "b", "\u0301", "<pad>", "\u0301", "(added)"]
    units = units_of(labels, "word")
    assert units.labels == ("a", "<unk>", "b\u0301", "<pad>", "\u0301", "(added)")
    assert units.special == (False, True, False, True, False, True)
    assert read(labels, "character") == ["▁a", "<unk>", "b\u0301", "<pad>", "\u0301", "(added)"]


def test_an_emoji_of_four_bytes_is_one_unit():
    for unit in UNITS:
        units = units_of(["▁hi", *bytes_of("😀"), "</s>"], unit)
        assert units.labels[-2:] == ("😀", "</s>")
        assert units.pieces[-2:] == ((1, 2, 3, 4), (5,))
        assert units.shares[-2:] == ((1.0,) * 4, (1.0,))


@pytest.mark.parametrize(
    "character",
    ["é", "€", "e\u0301", "❤️", "👍🏽", "👨‍👩‍👧", "🇫🇷", "🏴\U000e0067\U000e0062\U000e007f", "3️⃣", "สุ"],
)
def test_bytes_join_to_what_people_take_for_one_character(character):
    labels = bytes_of("x" + character + character + "y")
    size = len(character.encode("utf-8"))
    for unit in ("piece", "character"):
        units = units_of(labels, unit)
        assert units.labels == ("x", character, character, "y")
        assert [len(pieces) for pieces in units.pieces] == [1, size, size, 1]


def test_flags_go_two_by_two():
    assert read(["🇫", "🇷", "🇩", "🇪", "🇬"], "character") == ["🇫🇷", "🇩🇪", "🇬"]
    assert read(["🇫🇷🇩🇪x"], "character") == ["🇫🇷", "🇩🇪", "x"]


def test_a_joiner_joins_symbols_and_not_letters():
    assert read(["क", "\u200d", "ष"], "character") == ["क\u200d", "ष"]
    assert read(["👩", "\u200d", "👧"], "character") == ["👩\u200d👧"]


def test_bytes_that_spell_nothing_keep_their_labels():
    euro = bytes_of("€")  # three bytes, of which two are no character
    for unit in UNITS:
        assert read([*euro[:2], "<0x41>", *euro, *euro[1:], "<0xFF>"], unit) == [
            *euro[:2], "A", "€", *euro[1:], "<0xFF>",
        ]  # fmt: skip
    assert read(["<0xED>", "<0xA0>", "<0x80>"], "piece") == ["<0xED>", "<0xA0>", "<0x80>"]  # half a surrogate pair


def test_a_mark_in_bytes_is_part_of_a_character_of_the_piece_before():
    units = units_of(["▁ab", *bytes_of("\u0301"), "\u0302c"], "character")
    assert units.labels == ("▁a", "b\u0301\u0302", "c")
    assert units.pieces == ((0,), (0, 1, 2, 3), (3,))
    assert units.shares == ((1 / 2,), (1 / 2, 1.0, 1.0, 1 / 2), (1 / 2,))


def test_chinese_pieces_come_apart_into_characters():
    labels = ["我喜欢", "猫", "。", "</s>"]
    for unit in ("piece", "word"):
        assert read(labels, unit) == labels
        assert not units_of(labels, unit).merged
    units = units_of(labels, "character")
    assert units.labels == ("我", "喜", "欢", "猫", "。", "</s>")
    assert units.pieces == ((0,), (0,), (0,), (1,), (2,), (3,))
    assert units.merged


def test_markup_is_text():
    labels = ["▁", "<", "/", "scr", "ipt", ">", "</s>"]
    assert units_of(labels, "word").labels == ("<", "/", "script", ">", "</s>")
    assert units_of(labels, "word").special == (False, False, False, False, True)
    assert "".join(read(labels, "character")[:-1]) == "▁</script>"


@pytest.mark.parametrize(
    "labels",
    [
        ["<s>", "b", "a", "b", "7", "</s>"],  # a vocabulary of letters
        ["the", "cat", "sat"],  # named by the caller
        ["0", "1", "2"],  # not known at all
    ],
)
def test_without_spaces_there_are_no_words(labels):
    for unit in ("piece", "word"):
        assert read(labels, unit) == labels
        assert not units_of(labels, unit).merged


def test_bytes_show_that_there_are_words():
    assert read(["D", "o", "n", "<0x27>", "t"], "word") == ["Don't"]
    assert read([*bytes_of("مرحبا"), "</s>"], "word") == ["مرحبا", "</s>"]


def test_numbers_alone_are_names_and_others_are_text():
    names = ["9", "10", "11", "(added)"]
    assert read(names, "character") == names
    assert read(["▁10", "11", "</s>"], "character") == ["▁1", "0", "1", "1", "</s>"]
    assert read(["10", "11", "</s>"], "character") == ["1", "0", "1", "1", "</s>"]


@pytest.mark.parametrize(
    ("label", "shown"),
    [
        ("a\nb\tc", "a⏎b⇥c"),
        ("<0x07>", "U+0007"),
        ("<0x0D>", "U+000D"),
        ("<0x00>", "U+0000"),
        ("a\u202eb", "aU+202Eb"),  # would turn round what follows it on the screen
        ("\u3000", "U+3000"),
        ("\ufe0f", "U+FE0F"),
        ("\u200d", "U+200D"),
        ("می\u200cخواهم", "می\u200cخواهم"),  # not seen, but it shapes its neighbours
        ("👩\u200d👧", "👩\u200d👧"),
        ("\ud800", "U+D800"),
        ("a b", "a b"),
        ("", ""),
    ],
)
def test_what_cannot_be_seen_has_a_sign(label, shown):
    assert read([label], "piece") == [shown]


def test_an_unknown_unit_is_refused():
    with pytest.raises(ValueError, match="piece, word or character, not as 'sentence'"):
        units_of(["a"], "sentence")  # type: ignore[arg-type]


# For any labels.

TEXT = st.text(st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from("ab 1.',-▁猫é\u0301\u200d👩🇫🏽\n")))
LABEL = st.one_of(
    TEXT.filter(lambda text: len(text) < 8),
    st.sampled_from(["▁", "▁the", "cat", "'", "s", "<s>", "</s>", "<unk>", "(added)", "", "0", "17", "<0xFF>"]),
    st.integers(0, 255).map("<0x{:02X}>".format),
)
LABELS = st.one_of(st.lists(LABEL, max_size=12), TEXT.map(bytes_of))


@given(LABELS, st.sampled_from(UNITS))
def test_units_go_through_the_pieces_and_have_all_of_each(labels, unit):
    units = units_of(labels, unit)
    assert len(units.labels) == len(units.pieces) == len(units.shares) == len(units.special)
    assert units.num_pieces == len(labels)
    had = [0.0] * len(labels)
    for pieces, shares in zip(units.pieces, units.shares, strict=True):
        assert pieces == tuple(range(pieces[0], pieces[-1] + 1))
        for piece, share in zip(pieces, shares, strict=True):
            had[piece] += share
    assert had == pytest.approx([1.0] * len(labels))
    begins = [pieces[0] for pieces in units.pieces]
    assert begins == sorted(begins)
    if unit != "character":
        assert all(share == 1 for shares in units.shares for share in shares)


@given(LABELS)
def test_the_units_of_a_coarser_grain_are_made_of_those_of_a_finer_one(labels):
    piece, word = units_of(labels, "piece"), units_of(labels, "word")
    ends = {pieces[-1] for pieces in piece.pieces}
    assert {pieces[-1] for pieces in word.pieces} <= ends
    alone = [(i,) for i, label in enumerate(labels) if label in ("<s>", "</s>", "<unk>", "(added)", "")]
    for unit in UNITS:
        assert set(alone) <= set(units_of(labels, unit).pieces)


@given(st.lists(st.sampled_from(["▁the", "▁ca", "t", "s", "<s>", "猫", ".", "😀"]), max_size=8))
def test_ordinary_pieces_are_units_as_they_are(labels):
    units = units_of(labels, "piece")
    assert units.labels == tuple(labels)
    assert not units.merged


def visible(text: str) -> bool:
    return all(character == " " or unicodedata.category(character)[0] not in "CZ" for character in text)


@given(st.one_of(TEXT, st.sampled_from(ODD_TEXTS)).filter(visible).filter(lambda text: "▁" not in text))
def test_the_labels_spell_the_text(spaced: Tokenizer, plain: Tokenizer, text):
    for tokenizer in (spaced, plain):
        ids = tokenizer.ids(text)
        labels, meant = tokenizer.labels(ids), tokenizer.text(ids)
        for unit in ("piece", "character"):
            spelled = "".join(units_of(labels, unit).labels).replace("▁", " ")
            if not re.search("U\\+[0-9A-F]{4}", spelled):  # a variation selector without its base
                assert spelled.strip(" ") == meant.strip(" ")
        words = units_of(labels, "word")
        spelled = "".join(" " * space + label for space, label in zip(words.spaced, words.labels, strict=True))
        if not re.search("U\\+[0-9A-F]{4}", spelled):
            assert re.sub("[ ▁]+", " ", spelled).strip() == re.sub(" +", " ", meant).strip()


def test_a_long_text_takes_no_long_time():
    labels = bytes_of("🇫" * 5_000) + ["a"] * 20_000
    assert len(units_of(labels, "word").labels) == 2_501
