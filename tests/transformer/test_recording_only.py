"""One sentence of one run, as a recording by itself, says what the whole says of it."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from small_models import padded_batch, untrained_checkpoint
from test_recording_file import decoding_steps, given_masks_and_added_keys, half_precision, padded_text
from torch import nn

from transformer import MultiheadAttention, open_recording, record
from transformer.recording import Recording


def assert_same_sentence(whole: Recording, run: int, sentence: int) -> Recording:
    """Every method of the excerpt gives the numbers and names of the whole."""
    one = whole.only(run, sentence)
    sites = whole.runs[run].attentions
    assert one.sites == tuple(site for site, seen in sites.items() if sentence < seen.query.size(0))
    for site in one.sites:
        for read in ("pattern", "scores", "mask", "value_norms", "weighted_norms"):
            for head in (None, site.heads - 1, "mean"):
                expected = getattr(whole, read)(site, head, sentence, run=run)
                assert torch.equal(getattr(one, read)(site, head), expected), read
        rows = range(0, sites[site].query.size(2), 2)
        expected = whole.pattern(site, 0, sentence, rows, [-1], run)
        assert torch.equal(one.pattern(site, 0, rows=rows, columns=[-1]), expected)
        assert torch.equal(one.fully_masked(site), whole.fully_masked(site, sentence, run=run))
        for read in ("query", "key", "value"):
            assert torch.equal(getattr(one, read)(site)[0], getattr(whole, read)(site, run)[sentence])
        assert torch.equal(one.output(site), whole.output(site, run))
        assert one.query_tokens(site) == whole.query_tokens(site, sentence, run)
        assert one.key_tokens(site) == whole.key_tokens(site, sentence, run)
        for beyond in ({"sentence": 1}, {"sentence": -1}, {"head": site.heads}):
            with pytest.raises(IndexError):
                one.pattern(site, **beyond)
    for path in whole.runs[run].hidden:
        assert torch.equal(one.hidden(path), whole.hidden(path, run))
    assert one.note == whole.note
    return one


def named() -> Recording:
    """Names that a caller gave, for fewer sentences than the batch has."""
    recording = given_masks_and_added_keys()
    recording.tokens = {"source": [list("abcd"), list("vwxyz")]}
    recording.note = "named"
    return recording


@pytest.mark.parametrize(
    "make", [padded_text, decoding_steps, given_masks_and_added_keys, named, half_precision(torch.bfloat16)]
)
def test_every_method_says_the_same(make: Callable[[], Recording]) -> None:
    whole = make()
    for run in range(-1, len(whole.runs)):
        for sentence in range(whole.runs[run].sentences):
            assert_same_sentence(whole, run, sentence)


@given(
    sizes=st.tuples(*[st.integers(1, 3)] * 3, *[st.integers(1, 5)] * 2),
    causal=st.booleans(),
    attn_mask=st.sampled_from(["none", "bool", "float", "by head"]),
    padded=st.booleans(),
    added=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_masks_of_every_form_are_cut_to_the_sentence(sizes, causal, attn_mask, padded, added, seed) -> None:
    batch, heads, width, length, keys = sizes
    generator = torch.Generator().manual_seed(seed)
    attention = MultiheadAttention(
        heads * width, heads, add_bias_kv=added, add_zero_attn=added, batch_first=True
    ).eval()
    query, key = (torch.randn(batch, n, heads * width, generator=generator) for n in (length, keys))
    shape = (batch * heads, length, keys) if attn_mask == "by head" else (length, keys)
    mask = torch.randn(shape, generator=generator)
    mask = mask > 1 if attn_mask == "bool" else mask.masked_fill(mask > 1, -torch.inf)
    with torch.no_grad(), record(attention) as whole:
        for _ in range(2):
            attention(
                query, key, key,
                attn_mask=None if attn_mask == "none" else mask,
                key_padding_mask=torch.rand(batch, keys, generator=generator) > 0.7 if padded else None,
                is_causal=causal and attn_mask == "none",
            )  # fmt: skip
    for run in range(2):
        for sentence in range(batch):
            assert_same_sentence(whole, run, sentence)


class TwoBatches(nn.Module):
    """An attention for the whole batch, then one for all but its last sentence."""

    def __init__(self) -> None:
        super().__init__()
        self.first = MultiheadAttention(4, 1, batch_first=True)
        self.second = MultiheadAttention(4, 2, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.first(x, x, x)[0][:-1]
        return self.second(x, x, x)[0]


def test_an_attention_that_lacks_the_sentence_is_left_out() -> None:
    model = TwoBatches().eval()
    with torch.no_grad(), record(model) as whole:
        model(torch.randn(3, 2, 4))
    assert whole.runs[0].sentences == 3
    assert assert_same_sentence(whole, 0, 1).sites == ("first", "second")
    assert assert_same_sentence(whole, 0, 2).sites == ("first",)


def test_padding_stays_and_is_blocked() -> None:
    one = padded_text().only(0, 2)
    site = one.site("encoder", 0)
    assert one.query(site).shape[2] == 6
    assert one.mask(site, 0)[0].isneginf().tolist() == [False, False, True, True, True, True]
    assert one.key_tokens(site)[2:] == ["<pad>"] * 4


def test_a_decoding_step_keeps_the_names_of_the_source_that_was_encoded_before() -> None:
    whole, asked = decoding_steps(), untrained_checkpoint()
    for run in range(1, len(whole.runs)):
        assert "source" not in whole.runs[run].ids
        for sentence in range(whole.runs[run].sentences):
            names = asked.source_tokenizer.labels(padded_batch()[0][sentence].tolist())
            assert whole.only(run, sentence).key_tokens(whole.site("cross", 0)) == names


def test_it_can_be_saved_and_cut_again(tmp_path: Path) -> None:
    whole = decoding_steps()
    one = whole.only(2, 1)
    one.save(tmp_path / "one")
    opened = open_recording(tmp_path / "one")
    assert opened.sites == one.sites
    for site in one.sites:
        assert torch.equal(opened.pattern(site), whole.pattern(site, sentence=1, run=2))
        assert opened.key_tokens(site) == whole.key_tokens(site, 1, 2)
    assert opened.only(-1, 0).key_tokens(one.sites[-1]) == whole.key_tokens(one.sites[-1], 1, 2)


@pytest.mark.parametrize(("run", "sentence"), [(2, 0), (-3, 0), (0, 3), (0, -1)])
def test_what_is_not_there_is_an_index_error(run: int, sentence: int) -> None:
    with pytest.raises(IndexError, match=r"(run|sentence) is -?\d, but"):
        padded_text().only(run, sentence)


def test_a_run_without_attention_has_no_sentence() -> None:
    whole = decoding_steps()
    whole.runs[0].attentions.clear()
    assert whole.runs[0].sentences == 0
    with pytest.raises(IndexError):
        whole.only(0, 0)
