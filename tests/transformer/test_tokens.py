"""Any text has ids, ids have names, and no character is lost."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_models import ODD_TEXTS, made_up_pairs

from transformer.tokens import Tokenizer, seed_sampling

UNKNOWN, CONTROL = 1, (0, 2, 3)
ANY_TEXT = st.text(max_size=30)  # all of Unicode but surrogates: emoji, Arabic, control characters, nothing at all


@given(ANY_TEXT)
def test_any_text_has_ids_none_of_them_unknown_or_special(spaced, plain, text):
    for tokenizer in (spaced, plain):
        ids = tokenizer.ids(text)
        assert all(3 < index < len(tokenizer) for index in ids)
        labels = tokenizer.labels(ids)
        assert len(labels) == len(ids)
        assert all(labels)


@pytest.mark.parametrize("text", [text for text in ODD_TEXTS if text.strip()] + [s for s, _ in made_up_pairs()[:5]])
def test_normalised_text_comes_back(spaced, plain, text):
    assert spaced.text(spaced.ids(text)) == spaced.text(spaced.ids(spaced.text(spaced.ids(text))))
    if "▁" not in text:
        assert plain.text(plain.ids(text)) == text.strip()


@given(ANY_TEXT.filter(lambda text: " " not in text and "▁" not in text))
def test_text_comes_back_letter_for_letter_where_nothing_is_normalised(plain, text):
    assert plain.text(plain.ids(text)) == text


def test_empty_text_has_no_ids(spaced, plain):
    for tokenizer in (spaced, plain):
        assert tokenizer.ids("") == tokenizer.ids("   ") == []
        assert (tokenizer.text([]), tokenizer.labels([]), tokenizer.spelled_as_bytes("")) == ("", [], [])


def test_labels_are_the_pieces_and_say_what_is_a_byte(spaced):
    assert spaced.labels([*CONTROL, UNKNOWN]) == ["<pad>", "<s>", "</s>", "<unk>"]
    assert spaced.labels(spaced.ids("😀")) == ["▁", "<0xF0>", "<0x9F>", "<0x98>", "<0x80>"]
    assert "".join(spaced.labels(spaced.ids("the cat"))) == "▁the▁cat"


def test_special_tokens_spell_nothing(spaced):
    ids = spaced.ids("the cat")
    assert spaced.text([2, *ids[:1], 0, *ids[1:], 3, 0, 0]) == "the cat"


@pytest.mark.parametrize(
    ("text", "lacking"),
    [
        ("the cat", []),
        ("😀", ["😀"]),
        ("😀😁", ["😀", "😁"]),  # side by side, they are one run of eight bytes
        ("😁cat😀cat😁", ["😁", "😀"]),
        ("catïe", ["ï"]),
        ("مرحبا", ["م", "ر", "ح", "ب", "ا"]),
        ("a\x07b", ["\x07"]),
        ("a\nb", ["\n"]),
        ("<0x41>", ["<", "0", "x", "4", "1", ">"]),  # written out, it is no byte
        ("\ufffd", ["\ufffd"]),
        ("\ud83d", ["?"]),  # half a character
    ],
)
def test_characters_that_the_vocabulary_lacks_are_found(plain, text, lacking):
    assert plain.spelled_as_bytes(text) == lacking


@given(ANY_TEXT)
def test_exactly_the_characters_without_a_piece_are_spelled_as_bytes(plain, text):
    pieces = {plain.labels([index])[0] for index in range(4 + 256, len(plain))}
    text = text.replace("▁", "")
    letters = text.strip(" ")  # a space is the piece ▁
    assert plain.spelled_as_bytes(text) == [c for c in dict.fromkeys(letters) if c != " " and c not in pieces]


@given(st.text(alphabet="ab 😀😁é\u0301م猫", max_size=12))
def test_no_replacement_character_is_invented(spaced, text):
    found = spaced.spelled_as_bytes(text)
    assert "\ufffd" not in found
    assert set(found) <= set(unicodedata.normalize("NFKC", text))


def test_sampled_segmentations_spell_the_same_text_and_repeat_with_the_seed(spaced):
    text = "my friend follows the small boat"

    def draws(seed: int) -> list[list[int]]:
        seed_sampling(seed)
        return [spaced.ids(text, sampling=0.1) for _ in range(10)]

    first = draws(5)
    assert len({tuple(ids) for ids in first}) > 1
    assert all(spaced.text(ids) == text for ids in first)
    assert draws(5) == first
    assert draws(6) != first
    assert spaced.ids(text) == spaced.ids(text)


def test_one_text_gives_one_vocabulary_and_the_file_holds_it(tmp_path):
    sources = [source for source, _ in made_up_pairs()]
    first, second = Tokenizer.train(sources, 283), Tokenizer.train(iter(sources), 283)
    assert first.model == second.model
    assert len(first) == 283
    (tmp_path / "a.model").write_bytes(first.model)
    assert Tokenizer.load(tmp_path / "a.model").ids("a dog likes bread") == first.ids("a dog likes bread")


@pytest.mark.parametrize("content", [b"", b"x", b"not a model" * 50, bytes(500)])
def test_other_bytes_are_no_vocabulary(content):
    with pytest.raises(ValueError, match="not a SentencePiece model"):
        Tokenizer(content)


@pytest.mark.parametrize(("vocabulary", "reason"), [(100, "smaller"), (5000, "too high")])
def test_a_vocabulary_that_the_text_cannot_fill_is_refused_in_a_sentence(vocabulary, reason):
    with pytest.raises(ValueError, match=f"No vocabulary of {vocabulary} pieces .*{reason}"):
        Tokenizer.train([source for source, _ in made_up_pairs()], vocabulary)


def test_letters_are_the_whole_vocabulary_in_their_order():
    tokenizer = Tokenizer.of_letters("zaé猫9")
    assert tokenizer.labels(range(len(tokenizer))) == ["<pad>", "<unk>", "<s>", "</s>", "z", "a", "é", "猫", "9"]
    assert tokenizer.ids("9a猫") == [8, 5, 7]
    assert tokenizer.text([2, 8, 5, 7, 3]) == "9a猫"
    assert tokenizer.ids("") == []
    assert Tokenizer.of_letters("x").ids("xx") == [4, 4]


def test_characters_that_no_letter_stands_for_are_named(tokenizers):
    tokenizer = Tokenizer.of_letters("abc")
    assert tokenizer.unknown_characters("abé c猫猫") == ["é", " ", "猫"]
    assert tokenizer.unknown_characters("a<s>") == ["<", "s", ">"]  # the begin token's name, typed, is no begin token
    assert tokenizer.unknown_characters("abc") == tokenizers[0].unknown_characters("é猫") == []
    with pytest.raises(ValueError, match=r"no token for 'é' ' ' '猫'; it reads abc$"):
        tokenizer.ids("abé c猫猫")
    with pytest.raises(ValueError, match=r"it reads 一.{39}… \(90 letters\)"):
        Tokenizer.of_letters("".join(chr(0x4E00 + i) for i in range(90))).ids("x")


@pytest.mark.parametrize("letters", ["", "aba", "a b", "a▁", "a\n", "a\x07"])
def test_what_is_no_set_of_letters_is_refused(letters):
    with pytest.raises(ValueError, match="printable, not blank, and each stand once"):
        Tokenizer.of_letters(letters)
