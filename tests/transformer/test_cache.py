"""Reading token by token over a cache gives what reading everything at once gives."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from small_models import small_model

from transformer import MultiheadAttention, record
from transformer.cache import AttentionCache, KeyValueCache
from transformer.decoding import Decoding, decode

TARGET = torch.tensor([[2, 41, 42, 43, 44], [2, 51, 52, 53, 54]])
SOURCE = torch.tensor([[11, 12, 13, 3], [21, 3, 0, 0]])
ways = pytest.mark.parametrize("norm_first", [False, True], ids=["post-norm", "pre-norm"])
positions = pytest.mark.parametrize("positions", ["sinusoidal", "learned", "none"])


@ways
@positions
@pytest.mark.parametrize("at_once", [1, 3])
@torch.no_grad()
def test_logits_are_those_of_the_whole_target(norm_first: bool, positions: str, at_once: int) -> None:
    model = small_model(num_decoder_layers=2, norm_first=norm_first, positions=positions)
    whole = model(SOURCE, TARGET)
    memory, padding = model.encode(SOURCE)
    cache = KeyValueCache(layers=2)
    parts = [model.decode(TARGET[:, :at_once], memory, padding, cache)]
    parts += [model.decode(TARGET[:, t : t + 1], memory, padding, cache) for t in range(at_once, 5)]
    torch.testing.assert_close(torch.cat(parts, dim=1), whole, atol=1e-5, rtol=1e-5)
    assert cache.length == 5


@ways
@positions
@torch.no_grad()
def test_a_decoder_alone_reads_on(norm_first: bool, positions: str) -> None:
    model = small_model(
        architecture="decoder", target_vocabulary=290, norm_first=norm_first, positions=positions, num_decoder_layers=2
    )
    cache = KeyValueCache(layers=2)
    parts = [model.read(TARGET[:, :2], cache), *(model.read(TARGET[:, t : t + 1], cache) for t in range(2, 5))]
    torch.testing.assert_close(torch.cat(parts, dim=1), model(TARGET), atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_a_decoder_alone_goes_on_as_the_slow_loop_does() -> None:
    model = small_model(architecture="decoder", target_vocabulary=290, tie_output=False)
    prompts = torch.tensor([[11, 12, 13], [21, 22, 23]])
    for prompt, (decoded,) in zip(prompts, decode(model, prompts, 8), strict=True):
        ids: list[int] = []
        while len(ids) < 8 and ids[-1:] != [3]:
            ids.append(1 + int(model(torch.tensor([[2, *prompt.tolist(), *ids]]))[0, -1, 1:].argmax()))
        assert decoded.ids == tuple(ids)
    beams = decode(model, prompts, 8, Decoding("beam", beams=3))
    assert [len(found) for found in beams] == [3, 3]


@torch.no_grad()
@given(st.lists(st.integers(0, 1), min_size=1, max_size=4), st.booleans())
def test_selected_sentences_go_on_as_themselves(rows: list[int], of_one_source: bool) -> None:
    model = small_model()
    source = SOURCE[:1].expand(2, -1) if of_one_source else SOURCE
    memory, padding = model.encode(source)
    cache = KeyValueCache(layers=1)
    model.decode(TARGET[:, :3], memory, padding, cache)
    rows = rows[:2] + [0] * (2 - len(rows)) if of_one_source else rows
    chosen = torch.tensor(rows)
    cache.select(chosen, of_one_source)
    padding = None if padding is None else padding[chosen]
    step = model.decode(TARGET[chosen, 3:4], memory[chosen], padding, cache)
    torch.testing.assert_close(step[:, 0], model(source, TARGET)[chosen, 3], atol=1e-5, rtol=1e-5)
    assert torch.equal(cache.ids, TARGET[chosen, :4])


def test_several_tokens_on_a_cache_that_holds_some_are_refused() -> None:
    model = small_model()
    memory, padding = model.encode(SOURCE)
    cache = KeyValueCache(layers=1)
    model.decode(TARGET[:, :2], memory, padding, cache)
    with pytest.raises(ValueError, match="2 tokens were given to a cache that holds 2; wanted 1 at a time"):
        model.decode(TARGET[:, 2:4], memory, padding, cache)


@torch.no_grad()
def test_attention_to_a_memory_reads_it_once() -> None:
    attention = MultiheadAttention(8, 2, batch_first=True).eval()
    query, memory, cache = torch.randn(2, 1, 8), torch.randn(2, 5, 8), AttentionCache()
    first, _ = attention(query, memory, memory, cache=cache)
    again, _ = attention(query, torch.full_like(memory, torch.nan), torch.full_like(memory, torch.nan), cache=cache)
    torch.testing.assert_close(again, first)
    assert cache.length == 5


@torch.no_grad()
def test_the_patterns_of_a_decoder_alone_are_those_of_the_whole() -> None:
    model = small_model(architecture="decoder", target_vocabulary=290, tie_output=False, num_decoder_layers=2)
    prompt = torch.tensor([[11, 12, 13]])
    with record(model) as stepwise:
        ((decoded,),) = decode(model, prompt, 5)
    with record(model) as whole:
        model(torch.tensor([[2, 11, 12, 13, *decoded.ids[:-1]]]))
    for site in whole.sites:
        expected = whole.pattern(site)
        for step in range(len(decoded.ids)):
            last = stepwise.pattern(site, run=step)[:, -1]
            assert (last - expected[:, 3 + step, : 4 + step]).abs().max() < 1e-6
