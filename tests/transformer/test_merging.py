"""Patterns merged into units and keys left out: by hand, and what must hold for any pattern."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.merging import OverQueries, merge_blocked, merge_scores, merge_weights, without
from transformer.units import Unit, Units, units_of

OVER: tuple[OverQueries, ...] = ("first", "last", "mean")
QUERIES = ["▁le", "▁ch", "at"]  # le, chat
KEYS = ["▁the", "▁c", "at", "</s>"]  # the, cat, </s>
PATTERN = np.array([[0.5, 0.25, 0.125, 0.125], [0.0, 0.5, 0.25, 0.25], [0.125, 0.125, 0.25, 0.5]])
SCORES = np.log(np.maximum(PATTERN, 1e-9))
NONE_BLOCKED = np.zeros((3, 4), dtype=bool)


def softmax(scores: np.ndarray) -> np.ndarray:
    """Over the last axis; a row that is all -inf is zeros, as in a pattern."""
    highest = scores.max(axis=-1, keepdims=True, initial=-1e30)
    exponentials = np.exp(scores - highest)
    return exponentials / np.maximum(exponentials.sum(axis=-1, keepdims=True), 1e-300)


# By hand.


@pytest.mark.parametrize(
    ("over", "chat"), [("first", [0.0, 0.75, 0.25]), ("last", [0.125, 0.375, 0.5]), ("mean", [0.0625, 0.5625, 0.375])]
)
def test_the_keys_of_a_word_are_summed_and_its_queries_chosen(over, chat):
    merged = merge_weights(PATTERN, units_of(QUERIES, "word"), units_of(KEYS, "word"), over)
    assert merged == pytest.approx(np.array([[0.5, 0.375, 0.125], chat]))


def test_a_character_has_its_share_as_a_key_and_the_row_of_its_piece_as_a_query():
    merged = merge_weights(PATTERN, units_of(QUERIES, "character"), units_of(KEYS, "character"), "first")
    le, ch, at = (
        [the / 3, the / 3, the / 3, c, at / 2, at / 2, end] for the, c, at, end in PATTERN
    )  # ▁t h e · ▁c · a t · </s>
    assert merged == pytest.approx(np.array([le, le, ch, ch, at, at]))


def test_the_bytes_of_an_emoji_are_one_cell_a_side():
    emoji = units_of(["▁a", "<0xF0>", "<0x9F>", "<0x98>", "<0x80>"], "piece")
    pattern = np.tril(np.ones((5, 5))) / np.arange(1, 6)[:, None]
    assert merge_weights(pattern, emoji, emoji, "first") == pytest.approx(np.array([[1, 0], [1 / 2, 1 / 2]]))
    assert merge_weights(pattern, emoji, emoji, "last") == pytest.approx(np.array([[1, 0], [1 / 5, 4 / 5]]))
    mean = np.mean([1 / 2, 1 / 3, 1 / 4, 1 / 5])
    assert merge_weights(pattern, emoji, emoji, "mean") == pytest.approx(np.array([[1, 0], [mean, 1 - mean]]))


def test_scores_of_a_word_are_added_as_exponentials_of_what_may_be_looked_at():
    blocked = NONE_BLOCKED.copy()
    blocked[1, 2] = blocked[2, 1:3] = True
    queries, keys = units_of(QUERIES, "word"), units_of(KEYS, "word")
    first = merge_scores(SCORES, blocked, queries, keys, "first")
    assert first[0] == pytest.approx(np.log([0.5, 0.375, 0.125]))
    assert first[1, 1:] == pytest.approx(np.log([0.5, 0.25]))  # c alone
    last = merge_scores(SCORES, blocked, queries, keys, "last")
    assert last[1, 1] == -np.inf
    assert last[1, [0, 2]] == pytest.approx(np.log([0.125, 0.5]))
    mean = merge_scores(SCORES, blocked, queries, keys, "mean")
    assert mean[1, 1] == pytest.approx(np.log(0.5))  # of the one query that may look there
    assert mean[1, 2] == pytest.approx((np.log(0.25) + np.log(0.5)) / 2)
    assert merge_blocked(blocked, queries, keys, "first").tolist() == [[False, False, False], [False, False, False]]
    assert merge_blocked(blocked, queries, keys, "last").tolist() == [[False, False, False], [False, True, False]]
    assert merge_blocked(blocked, queries, keys, "mean").tolist() == [[False, False, False], [False, False, False]]


def test_the_score_of_a_character_is_less_by_the_log_of_how_many_share_its_piece():
    merged = merge_scores(SCORES, NONE_BLOCKED, units_of(QUERIES, "character"), units_of(KEYS, "character"), "last")
    the, c, at, end = SCORES[2]
    ends = [the - np.log(3)] * 3 + [c] + [at - np.log(2)] * 2 + [end]
    assert merged[-2:] == pytest.approx(np.array([ends, ends]))


def test_a_unit_is_blocked_for_mean_where_none_of_its_queries_may_look():
    blocked = NONE_BLOCKED.copy()
    blocked[1:, 1:3] = True
    queries, keys = units_of(QUERIES, "word"), units_of(KEYS, "word")
    assert merge_blocked(blocked, queries, keys, "mean").tolist() == [[False, False, False], [False, True, False]]
    assert merge_scores(SCORES, blocked, queries, keys, "mean")[1, 1] == -np.inf


@pytest.mark.parametrize("level", [-1e5, 0.0, 1e5])
@pytest.mark.parametrize("over", OVER)
def test_far_apart_scores_neither_overflow_nor_become_blocked(level, over):
    scores = np.array([[level, level, level - 9e4, level - 9e4]] * 2)
    queries, keys = units_of(["▁a", "b"], "word"), units_of(["▁a", "b", "▁c", "d"], "word")
    merged = merge_scores(scores, np.zeros((2, 4), dtype=bool), queries, keys, over)
    assert merged == pytest.approx(np.array([[level, level - 9e4]]) + np.log(2))


def test_what_does_not_fit_is_refused():
    queries, keys = units_of(QUERIES, "word"), units_of(KEYS, "word")
    for merge, cells in (
        (merge_weights, (PATTERN,)),
        (merge_scores, (SCORES, NONE_BLOCKED)),
        (merge_blocked, (NONE_BLOCKED,)),
    ):
        with pytest.raises(ValueError, match=r"Units of 4 queries and 3 keys do not fit a pattern of \(3, 4\)"):
            merge(*cells, keys, queries, "first")
        with pytest.raises(ValueError, match="first, last or mean is taken, not 'max'"):
            merge(*cells, queries, keys, "max")


def test_left_out_keys_are_zero_and_the_others_grow():
    weights = np.array([[0.5, 0.25, 0.25, 0.0], [0.0, 1.0, 0.0, 0.0], [0.25, 0.0, 0.0, 0.75], [0.0, 0.0, 0.0, 0.0]])
    kept, removed = without(weights, np.array([False, True, False, False]))
    assert kept.tolist() == [[2 / 3, 0, 1 / 3, 0], [0, 0, 0, 0], [0.25, 0, 0, 0.75], [0, 0, 0, 0]]
    assert removed.tolist() == [0.25, 1, 0, 0]
    with pytest.raises(ValueError, match=r"Which of 4 keys to hide takes as many bools, not \(3,\)"):
        without(weights, np.zeros(3, dtype=bool))


# For any pattern.

LABELS = st.lists(
    st.sampled_from(["▁the", "▁c", "at", "'", ".", "猫好", "▁", "<0xC3>", "<0xA9>", "\u0301", "</s>", "<s>", "b", "7"]),
    min_size=2,
    max_size=9,
)
UNIT = st.sampled_from(["character", "word", "piece"])


@st.composite
def attentions(draw):
    """Scores (H, L, S), blocked (L, S), the pattern that they make, and units of both sides."""
    queries, keys = draw(LABELS), draw(LABELS)
    unit: Unit = draw(UNIT)
    random = np.random.default_rng(draw(st.integers(0, 10_000)))
    scores = random.normal(scale=draw(st.sampled_from([0.5, 5.0, 50.0])), size=(2, len(queries), len(keys)))
    blocked = random.random((len(queries), len(keys))) < draw(st.sampled_from([0.0, 0.3, 0.8]))
    pattern = softmax(np.where(blocked, -np.inf, scores))
    return scores, blocked, pattern, units_of(queries, unit), units_of(keys, unit)


@given(attentions(), st.sampled_from(OVER))
def test_rows_keep_their_sums(attention, over):
    _, blocked, pattern, queries, keys = attention
    merged = merge_weights(pattern, queries, keys, over)
    assert merged.shape == (2, len(queries.labels), len(keys.labels))
    sums = pattern.sum(axis=-1)
    for row, pieces in enumerate(queries.pieces):
        chosen = {"first": sums[:, pieces[0]], "last": sums[:, pieces[-1]], "mean": sums[:, list(pieces)].mean(axis=1)}
        assert merged[:, row].sum(axis=-1) == pytest.approx(chosen[over])
    if not blocked.any():
        assert merged.sum(axis=-1) == pytest.approx(np.ones((2, len(queries.labels))))


@given(attentions())
def test_a_key_gets_all_the_weight_of_its_pieces_and_no_more(attention):
    _, _, pattern, queries, keys = attention
    single = units_of(["▁x"] * queries.num_pieces, "piece")
    merged = merge_weights(pattern, single, keys, "first")
    for column, (pieces, shares) in enumerate(zip(keys.pieces, keys.shares, strict=True)):
        assert merged[..., column] == pytest.approx(pattern[..., list(pieces)] @ np.array(shares))
    assert merged.sum() == pytest.approx(pattern.sum())


@given(attentions(), st.sampled_from(["first", "last"]))
def test_softmax_of_merged_scores_is_the_merged_pattern(attention, over):
    scores, blocked, pattern, queries, keys = attention
    merged = merge_scores(scores, blocked, queries, keys, over)
    assert softmax(merged) == pytest.approx(merge_weights(pattern, queries, keys, over), abs=1e-12)


@given(attentions(), st.sampled_from(OVER))
def test_a_score_is_missing_and_a_weight_zero_where_units_are_blocked(attention, over):
    scores, blocked, pattern, queries, keys = attention
    merged = merge_blocked(blocked, queries, keys, over)
    assert merged.dtype == bool
    assert (np.isneginf(merge_scores(scores, blocked, queries, keys, over)) == merged).all()
    assert (merge_weights(pattern, queries, keys, over)[:, merged] == 0).all()
    for row, rows in enumerate(queries.pieces):
        taken = {"first": rows[:1], "last": rows[-1:], "mean": rows}[over]
        for column, columns in enumerate(keys.pieces):
            assert merged[row, column] == all(blocked[i, j] for i in taken for j in columns)


@given(attentions(), st.sampled_from(OVER))
def test_units_of_one_piece_change_nothing(attention, over):
    scores, blocked, pattern, queries, keys = attention
    rows, columns = (units_of(["▁x"] * units.num_pieces, "piece") for units in (queries, keys))
    assert (merge_weights(pattern, rows, columns, over) == pattern).all()
    assert (merge_blocked(blocked, rows, columns, over) == blocked).all()
    assert (merge_scores(scores, blocked, rows, columns, over) == np.where(blocked, -np.inf, scores)).all()


@given(attentions(), st.sampled_from(OVER))
def test_heads_are_merged_as_one_by_one_and_keep_their_precision(attention, over):
    scores, blocked, pattern, queries, keys = attention
    scores, pattern = scores.astype(np.float32), pattern.astype(np.float32)
    merged = merge_weights(pattern, queries, keys, over)
    merged_scores = merge_scores(scores, blocked, queries, keys, over)
    assert merged.dtype == merged_scores.dtype == np.float32
    assert (merged[1] == merge_weights(pattern[1], queries, keys, over)).all()
    assert (merged_scores[1] == merge_scores(scores[1], blocked, queries, keys, over)).all()


@given(attentions(), st.integers(0, 2**9 - 1))
def test_what_is_removed_and_what_is_kept_are_all(attention, chosen):
    _, blocked, pattern, _, keys = attention
    hidden = np.array([bool(chosen >> key & 1) for key in range(keys.num_pieces)])
    kept, removed = without(pattern, hidden)
    assert kept.shape == pattern.shape
    assert removed + np.where(hidden, 0, pattern).sum(axis=-1) == pytest.approx(pattern.sum(axis=-1))
    assert (kept[..., hidden] == 0).all()
    assert (kept[:, blocked] == 0).all()
    looks = np.where(hidden, 0, pattern).sum(axis=-1) > 0
    assert kept.sum(axis=-1) == pytest.approx(looks.astype(float))
    rest = 1 - removed[..., None]  # the shape of what is kept does not change
    assert np.where(rest > 1e-6, kept * rest, 0) == pytest.approx(np.where((rest > 1e-6) & ~hidden, pattern, 0))


def test_no_tokens_are_merged_into_nothing():
    nothing = Units((), (), (), (), ())
    assert units_of([], "word") == nothing
    for over in OVER:
        assert merge_weights(np.zeros((2, 0, 0)), nothing, nothing, over).shape == (2, 0, 0)
