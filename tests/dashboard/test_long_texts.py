"""Texts longer than the model was trained on: which are read, which are refused, and what is left of those."""

import pytest
import torch
from small_models import small_config, untrained_checkpoint

from dashboard.fit import (
    LONGEST,
    LONGEST_TARGET,
    MOST_CHARACTERS,
    Problem,
    beyond_training,
    ids_of,
    most_tokens,
)
from transformer import record
from transformer.checkpoint import Checkpoint
from transformer.pooling import pooled
from transformer.tokens import Tokenizer

ENDLESS = ["sinusoidal", "none"]


def exactly(asked: Checkpoint, stream: str, tokens: int) -> str:
    """A text of that many tokens, the end token counted: an emoji is four bytes, a space before it one more."""
    tokenizer = asked.target_tokenizer if stream == "target" else asked.source_tokenizer
    emoji, rest = divmod(tokens - 1 - len(tokenizer.ids("😀")), len(tokenizer.ids("😀😀")) - len(tokenizer.ids("😀")))
    text = "😀" * (emoji + 1) + "zqzqzq"[:rest]
    assert len(tokenizer.ids(text)) + 1 == tokens
    return text


@pytest.mark.parametrize("positions", ENDLESS)
@pytest.mark.parametrize(("stream", "limit"), [("source", LONGEST), ("text", LONGEST), ("target", LONGEST_TARGET)])
def test_a_model_whose_positions_do_not_end_reads_more_than_it_was_trained_on(positions, stream, limit):
    asked = untrained_checkpoint(positions=positions)
    assert asked.config.max_length < limit == most_tokens(asked.config, stream)
    ids = ids_of(asked, stream, exactly(asked, stream, limit))
    assert isinstance(ids, tuple)
    assert len(ids) == limit
    too_long = exactly(asked, stream, limit + 1)
    problem = ids_of(asked, stream, too_long)
    assert isinstance(problem, Problem)
    assert (problem.name, problem.stream, problem.length, problem.limit) == ("long.tokens", stream, limit + 1, limit)
    assert too_long.startswith(problem.fits)
    cut = ids_of(asked, stream, problem.fits)
    assert isinstance(cut, tuple)
    assert limit - 4 <= len(cut) <= limit  # the next character would have been four bytes


@pytest.mark.parametrize("stream", ["source", "text", "target"])
def test_learned_positions_end_where_their_table_does(stream):
    asked = untrained_checkpoint(positions="learned", max_length=64)
    ids = ids_of(asked, stream, exactly(asked, stream, 64))
    assert isinstance(ids, tuple)
    assert not beyond_training(asked.config, ids)
    problem = ids_of(asked, stream, exactly(asked, stream, 65))
    assert isinstance(problem, Problem)
    assert (problem.name, problem.length, problem.limit) == ("long.tokens", 65, 64)


def test_a_model_that_was_trained_on_more_keeps_it():
    config = small_config(max_length=20_000)
    assert [most_tokens(config, stream) for stream in ("source", "text", "target")] == [20_000] * 3


def test_a_text_beyond_training_begins_with_the_first_token_too_much():
    config = small_config(max_length=64)
    assert not beyond_training(config, range(64))
    assert beyond_training(config, range(65))


def test_a_text_of_too_many_characters_is_cut_to_what_fits():
    asked = untrained_checkpoint()
    text = "the cat sees the sea " * 6_000
    problem = ids_of(asked, "source", text)
    assert isinstance(problem, Problem)
    assert (problem.name, problem.length, problem.limit) == ("long.characters", len(text), MOST_CHARACTERS)
    assert text.startswith(problem.fits)
    assert isinstance(ids_of(asked, "source", problem.fits), tuple)


def test_a_long_text_is_tokenized_a_few_times_only(monkeypatch):
    asked, lengths = untrained_checkpoint(), []
    ids = Tokenizer.ids
    monkeypatch.setattr(Tokenizer, "ids", lambda self, text: lengths.append(len(text)) or ids(self, text))
    problem = ids_of(asked, "source", "x" * (MOST_CHARACTERS + 1))
    assert isinstance(problem, Problem)
    assert len(lengths) <= 20
    assert max(lengths) == MOST_CHARACTERS


def test_what_is_beyond_training_is_read_recorded_and_drawn():
    asked = untrained_checkpoint(max_length=64)
    ids = ids_of(asked, "source", "the cat sees the sea " * 150)
    assert isinstance(ids, tuple)
    assert beyond_training(asked.config, ids)
    with torch.inference_mode(), record(asked.model) as recording:
        asked.model(torch.tensor([ids]), torch.tensor([[asked.config.bos_id]]))
    for kind, rows in (("encoder", len(ids)), ("cross", 1)):
        picture = pooled(recording, recording.site(kind, 0), 1, None, None, (64, 64))
        assert picture.max.shape == (min(rows, 64), 64)
        assert picture.mean.mean() == pytest.approx(1 / len(ids), rel=0.02)  # bins differ by a cell
