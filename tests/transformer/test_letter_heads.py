"""Measures of heads: on patterns worked out by hand, and on models, whatever shares a string's batch."""

import pytest
import torch
from torch import Tensor

from transformer import TextTransformer, TransformerConfig, record
from transformer.batches import make_batch
from transformer.checkpoint import Checkpoint
from transformer.letter_heads import (
    diagonal_share,
    examples_of,
    induction_score,
    previous_token_score,
    random_repeats,
    score_diagonals,
    score_repeats,
)
from transformer.tokens import Tokenizer

LETTERS = "abcdefgh"
TEXTS = [("abc", "cba"), ("hgfed", "defgh"), ("ab", "ba"), ("ggaab", "baagg")]


def letter_model(**changes: object) -> Checkpoint:
    tokenizer = Tokenizer.of_letters(LETTERS)
    sizes = {"d_model": 12, "nhead": 3, "num_encoder_layers": 1, "num_decoder_layers": 2, "dim_feedforward": 8}
    torch.manual_seed(0)
    config = TransformerConfig(len(tokenizer), len(tokenizer), **(sizes | changes))  # type: ignore[arg-type]
    model = TextTransformer(config).eval().requires_grad_(False)
    return Checkpoint("letters", model, tokenizer, tokenizer)


def looks(rows: list[int], keys: int) -> Tensor:
    """One head whose row i puts all its weight on the key rows[i]."""
    return torch.eye(keys)[rows]


def test_rows_that_look_at_the_answer_are_counted():
    # Three letters and the end token; the last row predicts the end token.
    right, half, end = looks([2, 1, 0, 3], 4), looks([2, 0, 3, 0], 4), looks([3, 3, 3, 3], 4)
    assert diagonal_share(torch.stack([right, half, end]), 3, backwards=True).tolist() == pytest.approx([1, 1 / 3, 0])
    forwards = torch.stack([looks([0, 1, 2, 0], 4), looks([0, 1, 0, 3], 4)])
    assert diagonal_share(forwards, 3, backwards=False).tolist() == pytest.approx([1, 2 / 3])


def test_the_largest_weight_counts_however_small_and_padding_does_not():
    pattern = torch.tensor(
        [[[0.3, 0.4, 0.3, 0.0], [0.36, 0.32, 0.32, 0.0], [0.1, 0.1, 0.8, 0.0], [1.0, 0.0, 0.0, 0.0]]]
    )
    assert diagonal_share(pattern, 2, backwards=True).tolist() == [1]
    assert diagonal_share(pattern, 2, backwards=False).tolist() == [0]


def test_an_induction_head_looks_at_what_came_next_the_first_time():
    # <s> a b c a b c: the second a (row 4) looks at b (column 2), b at c, and c at the a that followed it (column 4).
    perfect = looks([0, 0, 0, 0, 2, 3, 4], 7)
    same_letter = looks([0, 0, 0, 0, 1, 2, 3], 7)
    assert induction_score(torch.stack([perfect, same_letter]), 3).tolist() == [1, 0]
    assert induction_score((perfect + 3 * same_letter)[None] / 4, 3).tolist() == [0.25]
    one_of_three = looks([2, 3, 4, 4, 2, 2, 2], 7)
    assert induction_score(one_of_three[None], 3).tolist() == pytest.approx([1 / 3])


def test_a_previous_token_head_looks_one_back():
    pattern = torch.stack([looks([0, 0, 1, 2], 4), looks([0, 1, 2, 3], 4), looks([3, 0, 0, 2], 4)])
    assert previous_token_score(pattern).tolist() == pytest.approx([1, 0, 2 / 3])


def test_repeats_are_segments_of_distinct_letters_written_twice():
    repeats = random_repeats(LETTERS, 5, 50)
    assert len(set(repeats)) > 45
    for (text,) in repeats:
        assert text[:5] == text[5:]
        assert len(set(text)) == 5
        assert set(text) <= set(LETTERS)
    assert repeats == random_repeats(LETTERS, 5, 50)
    assert repeats != random_repeats(LETTERS, 5, 50, seed=2)
    with pytest.raises(ValueError, match="9 different letters cannot be drawn from 8"):
        random_repeats(LETTERS, 9, 1)


@pytest.mark.parametrize("backwards", [True, False])
def test_the_share_of_strings_of_all_lengths_is_a_share_of_their_rows(backwards):
    checkpoint = letter_model()
    scores = score_diagonals(checkpoint, TEXTS, backwards)
    assert [(one.site.layer, one.head) for one in scores] == [(layer, head) for layer in range(2) for head in range(3)]
    assert {one.measure for one in scores} == {"anti-diagonal" if backwards else "diagonal"}
    for one in scores:
        hits = 0.0
        for example in examples_of(checkpoint, TEXTS):  # each alone, so without padding
            with record(checkpoint.model) as recording:
                checkpoint.model(*make_batch([example], 0, 2).inputs)
            letters = len(example[1]) - 1
            pattern = recording.pattern(one.site, head=one.head)
            wanted = [letters - 1 - t if backwards else t for t in range(letters)]
            hits += sum(int(pattern[t].argmax()) == key for t, key in enumerate(wanted))
        assert one.score == pytest.approx(hits / sum(len(source) for source, _ in TEXTS))


def test_repeats_of_any_length_are_measured_as_if_each_stood_alone():
    checkpoint = letter_model(architecture="decoder", tie_output=True)
    repeats = [*random_repeats(LETTERS, 6, 3), *random_repeats(LETTERS, 3, 2)]
    scores = score_repeats(checkpoint, repeats)
    assert len(scores) == 2 * 2 * 3
    alone = [score_repeats(checkpoint, [one]) for one in repeats]
    for one, *each in zip(scores, *alone, strict=True):
        assert {(other.measure, other.site, other.head) for other in each} == {(one.measure, one.site, one.head)}
        assert one.score == pytest.approx(sum(other.score for other in each) / len(each), abs=1e-6)
