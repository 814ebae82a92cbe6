"""Alignments by hand: what links a pattern shows, and how wrong they are."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.alignment import (
    AlignedPair,
    error_rate,
    pattern_links,
    pieces_of_tokens,
    read_alignments,
    token_spans,
)


def pair(sure: set[tuple[int, int]], possible: set[tuple[int, int]] = frozenset(), size: int = 4) -> AlignedPair:
    words = tuple("abcd"[:size])
    return AlignedPair(" ".join(words), " ".join(words), words, words, frozenset(sure), frozenset(sure | possible))


# Alignment error rate, from the definition of Och and Ney.


@pytest.mark.parametrize(
    ("found", "sure", "possible", "rate"),
    [
        ({(0, 0), (1, 1)}, {(0, 0), (1, 1)}, set(), 0.0),
        ({(0, 0), (2, 2)}, {(0, 0)}, {(2, 2)}, 0.0),  # a possible link costs nothing
        ({(0, 0)}, {(0, 0), (1, 1)}, set(), 1 - (1 + 1) / (1 + 2)),  # a sure link that was missed
        ({(0, 0), (0, 1)}, {(0, 0)}, set(), 1 - (1 + 1) / (2 + 1)),  # a link too much
        ({(0, 0), (1, 2), (3, 3)}, {(0, 0), (1, 1)}, {(1, 2)}, 1 - (1 + 2) / (3 + 2)),
        ({(1, 0)}, {(0, 1)}, set(), 1.0),  # a link has a direction
        (set(), {(0, 0)}, set(), 1.0),
        (set(), set(), {(0, 0)}, 0.0),  # nothing found, nothing wanted
        ({(0, 0)}, set(), {(0, 0)}, 0.0),
    ],
)
def test_error_rates_worked_out_by_hand(found, sure, possible, rate):
    assert error_rate([frozenset(found)], [pair(sure, possible)]).aer == pytest.approx(rate)


def test_a_corpus_is_one_sum_and_not_a_mean_of_sentences():
    pairs = [pair({(0, 0)}), pair({(0, 0), (1, 1), (2, 2), (3, 3)})]
    found = [frozenset({(1, 1)}), frozenset({(0, 0), (1, 1), (2, 2), (3, 3)})]
    assert error_rate(found, pairs).aer == pytest.approx(1 - (4 + 4) / (5 + 5))


def test_each_sentence_needs_its_links():
    with pytest.raises(ValueError, match="at least one sentence"):
        error_rate([], [])
    with pytest.raises(ValueError, match="argument 2 is longer"):
        error_rate([frozenset()], [pair({(0, 0)}), pair({(0, 0)})])


LINKS = st.frozensets(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=8)


@given(st.lists(st.tuples(LINKS, LINKS, LINKS), min_size=1, max_size=12))
def test_the_interval_lies_within_0_and_1_and_repeats(sentences):
    pairs = [pair(set(sure), set(possible)) for _, sure, possible in sentences]
    found = [links for links, _, _ in sentences]
    rate = error_rate(found, pairs)
    assert 0 <= rate.low <= rate.high <= 1
    assert 0 <= rate.aer <= 1
    assert error_rate(found, pairs) == rate


def test_the_interval_brackets_the_rate_as_the_bootstrap_does():
    half_right = [pair({(0, 0)}) for _ in range(60)]
    found = [frozenset({(i % 2, 0)}) for i in range(60)]
    rate = error_rate(found, half_right)
    assert rate.aer == 0.5
    # The number of wrong sentences in a draw is binomial (60, 1/2): 1.96 standard deviations are 0.127 of 60.
    assert (rate.low, rate.high) == pytest.approx((0.373, 0.627), abs=0.02)
    assert error_rate(found, half_right, seed=2) != rate
    certain = error_rate([frozenset({(0, 0)})] * 60, half_right)
    assert (certain.aer, certain.low, certain.high) == (0, 0, 0)


# Which pieces a token is made of.


@pytest.mark.parametrize(
    ("text", "tokens", "pieces", "made_of"),
    [
        ("the cat", ["the", "cat"], [(0, 3), (3, 7)], [[0], [1]]),
        ("the cat", ["the", "cat"], [(0, 2), (2, 3), (3, 5), (5, 7)], [[0, 1], [2, 3]]),  # words of two pieces
        (
            "我喜欢猫。",
            list("我喜欢猫。"),
            [(0, 1), (1, 3), (3, 5)],
            [[0], [1], [1], [2], [2]],
        ),  # pieces of two characters
        (
            "猫😀",
            ["猫", "😀"],
            [(0, 1), (1, 2), (1, 2), (1, 2), (1, 2)],
            [[0], [1, 2, 3, 4]],
        ),  # a character of four bytes
        ("J'ai", ["J'", "ai"], [(0, 4)], [[0], [0]]),
        (" a b ", ["a", "b"], [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)], [[0, 1], [2, 3]]),  # a space is the next word's
        ("a", ["a"], [(0, 0), (0, 1)], [[0, 1]]),  # the space put before the text
        ("ab", ["a", "b"], [(0, 1)], [[0], []]),  # a character that normalisation dropped
        ("", [], [], []),
    ],
)
def test_tokens_are_made_of_the_pieces_that_they_share_characters_with(text, tokens, pieces, made_of):
    assert pieces_of_tokens(token_spans(text, tokens), pieces) == made_of


@pytest.mark.parametrize(
    ("text", "tokens", "said"),
    [
        ("the cat", ["the", "dog"], "the token 'dog' does not stand at character 4 of 'the cat'"),
        ("the cat", ["cat"], "the token 'cat' does not stand at character 0"),
        ("the cat", ["the"], "no token stands for the end of 'the cat', from character 3"),
        ("the cat", ["the", "", "cat"], "the token '' does not stand"),
        ("the cat", ["the", 3], "the token 3 does not stand"),
    ],
)
def test_tokens_must_be_the_text(text, tokens, said):
    with pytest.raises(ValueError, match=said):
        token_spans(text, tokens)


# From a pattern to links. Columns: source pieces and the end token; rows: what has read <s>, piece 0, piece 1, ...


def links(pattern: list[list[float]], source: list[list[int]], target: list[list[int]], **options: str) -> set:
    return set(pattern_links(np.array(pattern), source, target, **options))


def test_each_target_token_is_linked_to_the_source_token_that_the_row_predicting_it_looks_at_most():
    pattern = [[0.1, 0.8, 0.1], [0.7, 0.2, 0.1], [0.3, 0.3, 0.4]]
    assert links(pattern, [[0], [1]], [[0], [1]]) == {(1, 0), (0, 1)}


def test_the_row_that_reads_a_piece_is_the_next_one():
    pattern = [[0.1, 0.8, 0.1], [0.7, 0.2, 0.1], [0.4, 0.5, 0.1]]
    assert links(pattern, [[0], [1]], [[0], [1]], rows="reads") == {(0, 0), (1, 1)}


def test_what_looks_at_the_end_most_is_not_linked():
    pattern = [[0.2, 0.3, 0.5], [0.35, 0.25, 0.4], [0.0, 0.0, 1.0]]
    assert links(pattern, [[0], [1]], [[0], [1]]) == set()
    assert links(pattern, [[0, 1]], [[0], [1]]) == {
        (0, 1)
    }  # 0.6 on the one word of both pieces beats 0.4; 0.5 does not


def test_pieces_of_a_source_word_are_summed():
    pattern = [[0.3, 0.3, 0.35, 0.05], [0.0, 0.0, 0.0, 1.0]]
    assert links(pattern, [[0], [1], [2]], [[0]]) == {(2, 0)}
    assert links(pattern, [[0, 1], [2]], [[0]]) == {(0, 0)}


def test_pieces_of_a_target_word_are_averaged():
    pattern = [[0.6, 0.4, 0.0], [0.1, 0.9, 0.0], [0.0, 0.0, 1.0]]
    assert links(pattern, [[0], [1]], [[0], [1]]) == {(0, 0), (1, 1)}
    assert links(pattern, [[0], [1]], [[0, 1]]) == {(1, 0)}
    # The end counts against their mean, too.
    assert links([[0.9, 0.1], [0.3, 0.7], [0.0, 1.0]], [[0]], [[0, 1]]) == {(0, 0)}


def test_characters_of_one_piece_all_get_its_links():
    pattern = [[0.1, 0.9, 0.0], [0.8, 0.2, 0.0], [0.0, 0.0, 1.0]]
    assert links(pattern, [[0], [1]], [[0], [0], [1]]) == {(1, 0), (1, 1), (0, 2)}
    assert links(pattern, [[0], [1], [1]], [[0], [1]]) == {(1, 0), (2, 0), (0, 1)}  # on the source side as well


def test_the_bytes_of_a_character_are_averaged():
    pattern = [[0.6, 0.3, 0.1], [0.2, 0.7, 0.1], [0.2, 0.7, 0.1], [0.0, 0.0, 1.0]]
    assert links(pattern, [[0], [1]], [[0, 1, 2]]) == {(1, 0)}


def test_tokens_without_pieces_are_not_linked():
    pattern = [[0.9, 0.1], [0.0, 1.0]]
    assert links(pattern, [[0], []], [[], [0]]) == {(0, 1)}
    assert links(pattern, [[]], [[0]]) == links(pattern, [], [[0]]) == links(pattern, [[0]], []) == set()


# Reading the file.

LINE = {
    "source": "I eat.",
    "target": "我吃。",
    "source_tokens": ["I", "eat", "."],
    "target_tokens": ["我", "吃", "。"],
    "sure": [[0, 0], [2, 2]],
    "possible": [[1, 1]],
}


def written(path: Path, *lines: object) -> Path:
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
    return path


def test_sure_links_are_possible_too_and_a_pair_can_be_turned_round(tmp_path):
    first, second = read_alignments(written(tmp_path / "a.jsonl", LINE, LINE | {"id": "b", "source": "I  eat\u2028."}))
    assert first.sure == {(0, 0), (2, 2)}
    assert first.possible == {(0, 0), (1, 1), (2, 2)}
    assert second.source == "I  eat\u2028."
    crossed = pair({(0, 1)}, {(2, 3)}).reversed()
    assert (crossed.sure, crossed.possible) == ({(1, 0)}, {(1, 0), (3, 2)})
    turned = first.reversed()
    assert (turned.source, turned.target_tokens) == ("我吃。", ("I", "eat", "."))
    assert turned.reversed() == first


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"sure": None}, "line 2: an object with source, target, source_tokens, .* is wanted"),
        ({"source": 3}, "line 2: an object"),
        ({"sure": [[0, 3]]}, r"line 2: \[0, 3\] is no link between 3 source and 3 target tokens"),
        ({"possible": [[-1, 0]]}, r"line 2: \[-1, 0\] is no link"),
        ({"possible": [[0]]}, r"line 2: \[0\] is no link"),
        ({"possible": ["00"]}, "line 2: 00 is no link"),
        ({"target_tokens": ["我", "吃"]}, "line 2: no token stands for the end"),
        ({"source_tokens": ["I", "ate", "."]}, "line 2: the token 'ate' does not stand at character 2"),
    ],
)
def test_a_line_that_cannot_be_used_is_named(change, said, tmp_path):
    with pytest.raises(ValueError, match=said):
        read_alignments(written(tmp_path / "a.jsonl", LINE, LINE | change))


def test_files_that_cannot_be_used_are_named(tmp_path):
    with pytest.raises(ValueError, match=r"There is no file .*missing\.jsonl"):
        read_alignments(tmp_path / "missing.jsonl")
    with pytest.raises(ValueError, match="holds no sure link"):
        read_alignments(written(tmp_path / "empty.jsonl"))
    with pytest.raises(ValueError, match="holds no sure link"):
        read_alignments(written(tmp_path / "unsure.jsonl", LINE | {"sure": []}))
    with pytest.raises(ValueError, match="line 1: an object"):
        read_alignments(written(tmp_path / "list.jsonl", [LINE]))
    (tmp_path / "text.jsonl").write_text("source\ttarget\n")
    with pytest.raises(ValueError, match=r"text\.jsonl, line 1: Expecting value"):
        read_alignments(tmp_path / "text.jsonl")
    (tmp_path / "bytes.jsonl").write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match="cannot be read"):
        read_alignments(tmp_path / "bytes.jsonl")


# Where the pieces of a text stand in it.


@given(st.text(max_size=30) | st.text(alphabet="the cat ﬁ…½Ⅷ😀\u3000\u0301e", max_size=12))
def test_there_is_a_span_in_the_text_for_each_id(spaced, plain, text):
    for tokenizer in (spaced, plain):
        spans = tokenizer.spans(text)
        assert len(spans) == len(tokenizer.ids(text))
        assert all(0 <= begin <= end <= len(text) for begin, end in spans)
        assert spans == sorted(spans)


@given(st.text(max_size=30).filter(lambda text: "▁" not in text))
def test_where_nothing_is_normalised_the_characters_under_a_piece_are_the_piece(plain, text):
    for label, (begin, end) in zip(plain.labels(plain.ids(text)), plain.spans(text), strict=True):
        under = text[begin:end]
        if label.startswith("<0x"):
            assert len(under.strip(" ")) == 1
            assert bytes([int(label[3:5], 16)]) in under.encode()
        else:
            assert under.lstrip(" ") == label.lstrip("▁")


@pytest.mark.parametrize(
    ("text", "under"),
    [
        ("the  ie", ["", "t", "h", "e", "  ", "i", "e"]),  # nothing lies under the space that is put before the text
        ("é", ["", "é", "é"]),  # two bytes
        ("😀😁", ["", *["😀"] * 4, *["😁"] * 4]),
        ("ﬁsh…", ["ﬁ", "ﬁ", "s", "h", *["…"] * 3]),  # read as ▁f i s h . . .
        (" ½", ["", *["½"] * 5]),  # read as ▁ 1 ⁄ 2, and ⁄ is three bytes
        ("\ud83dat", ["", "\ud83d", "a", "t"]),
        ("", []),
    ],
)
def test_ids_that_share_a_character_all_span_it(spaced, text, under):
    assert [text[begin:end] for begin, end in spaced.spans(text)] == under
