"""Pairs are read from a file line by line, and each is in exactly one batch of an epoch."""

import gzip
import random
from collections import Counter
from itertools import chain

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from transformer.batches import bucketed, drop_words, make_batch, read_pairs, read_sentences

PAIRS = st.lists(
    st.tuples(st.lists(st.integers(4, 9), min_size=1, max_size=12), st.lists(st.integers(4, 9), min_size=1, max_size=9))
)


def area(batch: list) -> int:
    """How many tokens the longer side has, padding included."""
    return len(batch) * max(max(len(source), len(target)) for source, target in batch)


@given(pairs=PAIRS, tokens=st.integers(1, 40), seed=st.none() | st.integers(0, 5))
def test_every_pair_is_in_one_batch_and_no_batch_is_too_big(pairs, tokens, seed):
    batches = list(bucketed(pairs, tokens, None if seed is None else random.Random(seed)))
    assert Counter(map(str, chain(*batches))) == Counter(map(str, pairs))
    assert all(area(batch) <= tokens or len(batch) == 1 for batch in batches)
    assert all(batches)


@given(pairs=PAIRS, seed=st.integers(0, 5))
def test_one_seed_is_one_order(pairs, seed):
    once, again = (list(bucketed(pairs, 20, random.Random(seed))) for _ in range(2))
    assert once == again


def test_other_seeds_are_other_orders_and_none_is_none():
    pairs = [([i] * (1 + i % 5), [i] * (1 + i % 3)) for i in range(60)]
    orders = {str(list(bucketed(pairs, 20, random.Random(seed)))) for seed in range(5)}
    assert len(orders) == 5
    lengths = [len(batch[0][1]) for batch in bucketed(pairs, 20)]
    assert lengths == sorted(lengths)
    pairs_of_one_length = [([i], [i]) for i in range(10)]
    assert list(chain(*bucketed(pairs_of_one_length, 3))) == pairs_of_one_length


def test_pairs_of_like_length_stand_together():
    pairs = [([5] * length, [6] * length) for length in (9, 1, 9, 1, 9, 1)]
    assert [[len(source) for source, _ in batch] for batch in bucketed(pairs, 27)] == [[1, 1, 1], [9, 9, 9]]


def test_a_pair_longer_than_a_batch_stands_alone():
    pairs = [([5], [6]), ([5] * 50, [6]), ([5], [6])]
    batches = list(bucketed(pairs, 10))
    assert sorted(map(len, batches)) == [1, 2]


def test_the_decoder_reads_the_labels_one_token_late():
    batch = make_batch([([11, 12, 3], [21, 22, 23, 3]), ([13, 3], [24, 3])], pad_id=0, bos_id=2)
    source, target = batch.inputs
    assert source.tolist() == [[11, 12, 3], [13, 3, 0]]
    assert target.tolist() == [[2, 21, 22, 23], [2, 24, 0, 0]]
    assert batch.labels.tolist() == [[21, 22, 23, 3], [24, 3, 0, 0]]


def test_a_decoder_alone_reads_its_labels_one_token_late():
    batch = make_batch([([21, 22, 23, 3],), ([24, 3],)], pad_id=0, bos_id=2)
    assert [side.tolist() for side in batch.inputs] == [[[2, 21, 22, 23], [2, 24, 0, 0]]]
    assert batch.labels.tolist() == [[21, 22, 23, 3], [24, 3, 0, 0]]


def test_texts_of_one_side_are_grouped_by_their_length():
    texts = [([5] * length,) for length in (9, 1, 9, 1, 9, 1)]
    assert [[len(text) for (text,) in batch] for batch in bucketed(texts, 27)] == [[1, 1, 1], [9, 9, 9]]


@pytest.mark.parametrize("sides", [1, 2])
def test_word_dropout_makes_a_share_of_what_the_decoder_reads_unknown(sides):
    rows = [[7] * 40 + [3], [8] * 25 + [3]] * 30
    batch = make_batch([(row,) * sides for row in rows], pad_id=0, bos_id=2)
    torch.manual_seed(0)
    dropped = drop_words(batch, 0.3, unk_id=1, kept=(0, 2))
    assert torch.equal(dropped.labels, batch.labels)
    assert all(torch.equal(*pair) for pair in zip(dropped.inputs[:-1], batch.inputs[:-1], strict=True))
    before, after = batch.inputs[-1], dropped.inputs[-1]
    words = (before != 0) & (before != 2)
    assert torch.equal(after[~words], before[~words])
    assert set(after[words].tolist()) == {1, 7, 8}
    assert torch.equal(after[after != 1], before[after != 1])
    assert 0.27 < float((after[words] == 1).float().mean()) < 0.33
    torch.manual_seed(0)
    assert torch.equal(drop_words(batch, 0.3, unk_id=1, kept=(0, 2)).inputs[-1], after)


# Files.


def write(path, text: str, newline: str = "\n"):
    path.write_bytes(text.replace("\n", newline).encode())
    return path


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_pairs_are_read_as_they_stand(tmp_path, newline):
    text = 'source\ttarget\nthe "cat\'s" ear\t猫的耳朵\n"odd\t😀 \n a \tb'
    pairs = read_pairs(write(tmp_path / "a.tsv", text, newline))
    assert pairs == [('the "cat\'s" ear', "猫的耳朵"), ('"odd', "😀 "), (" a ", "b")]


def test_columns_are_found_by_their_names(tmp_path):
    text = "id\ttarget\tnote\tsource\n7\tneko\tx\tcat\textra\n"
    assert read_pairs(str(write(tmp_path / "a.tsv", text))) == [("cat", "neko")]


def test_packed_files_are_read_as_plain_ones(tmp_path):
    (tmp_path / "a.tsv.gz").write_bytes(gzip.compress("source\ttarget\ncat\tné\n".encode()))
    assert read_pairs(tmp_path / "a.tsv.gz") == [("cat", "né")]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("source\ttarget\na\tb\n\nc\td\n", 3),
        ("source\ttarget\na\tb\nc\td\ne\n", 4),
        ("source\ttarget\n\tb\n", 2),
        ("source\ttarget\na\t \n", 2),
        ("x\tsource\ttarget\na\tb\n", 2),
    ],
)
def test_a_line_without_two_texts_is_named_by_its_number(text, line, tmp_path):
    with pytest.raises(ValueError, match=rf"a\.tsv, line {line}: "):
        read_pairs(write(tmp_path / "a.tsv", text))


@pytest.mark.parametrize("text", ["", "a\tb\n", "Source\tTarget\na\tb\n", "source\na\n", "\nsource\ttarget\n"])
def test_a_file_without_its_header_is_refused(text, tmp_path):
    with pytest.raises(ValueError, match="must begin with a header line"):
        read_pairs(write(tmp_path / "a.tsv", text))


def test_a_file_without_pairs_is_refused(tmp_path):
    with pytest.raises(ValueError, match="holds no pairs"):
        read_pairs(write(tmp_path / "a.tsv", "source\ttarget\n"))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.tsv", b"source\ttarget\n\xff\tb\n"),
        ("a.tsv", b"source\ttarget\n" + b"a" * 200_000 + b"\tb\n"),
        ("a.tsv.gz", b"source\ttarget\na\tb\n"),
        ("a.tsv.gz", gzip.compress(b"source\ttarget\na\tb\n" * 50)[:-9]),
        ("a.tsv.gz", gzip.compress(bytes(range(256)) * 9)[:40] + b"x" * 90),
    ],
    ids=["other bytes", "endless line", "not packed", "cut", "damaged"],
)
def test_a_file_that_cannot_be_read_is_named(name, content, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=rf"{name} cannot be read: "):
        read_pairs(tmp_path / name)


def test_what_is_not_a_file_is_refused(tmp_path):
    for path in (tmp_path / "missing.tsv", tmp_path):
        with pytest.raises(ValueError, match="There is no file"):
            read_pairs(path)


def test_sentences_are_lines_that_are_not_blank(tmp_path):
    text = 'the cat\n\n  \n "a\tb"  \n猫'
    assert read_sentences(write(tmp_path / "a.txt", text)) == ["the cat", '"a\tb"', "猫"]
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress("né\r\n\r\ncat".encode()))
    assert read_sentences(tmp_path / "a.txt.gz") == ["né", "cat"]


def test_sentences_that_are_not_there_are_missed(tmp_path):
    with pytest.raises(ValueError, match=r"a\.txt holds no text"):
        read_sentences(write(tmp_path / "a.txt", "\n \n"))
    with pytest.raises(ValueError, match="There is no file"):
        read_sentences(tmp_path / "missing.txt")
    (tmp_path / "b.txt").write_bytes(b"\xff")
    with pytest.raises(ValueError, match=r"b\.txt cannot be read"):
        read_sentences(tmp_path / "b.txt")
