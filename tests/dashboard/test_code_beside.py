"""The lines that are lit beside a step are those that do it: found in the installed source, and seen to run."""

import inspect
import sys
import textwrap
from itertools import product
from pathlib import Path
from typing import get_args

import pytest
import torch
from small_models import padded_batch, small_model
from torch import nn

from dashboard.code_beside import Setting, beside, setting_of
from dashboard.passages import Passage, found, one, places
from transformer import record
from transformer.checkpoint import Checkpoint
from transformer.positions import LearnedPositionalEncoding, PositionalEncoding
from transformer.text_model import TokenEmbedding
from transformer.walk import walk
from transformer.walked import StepName

NAMES = get_args(StepName)
SETTINGS = [
    Setting(decoder, alone, cross, cross, pre, masked, masked and not cross, positions)
    for decoder, alone, cross, pre, masked, positions in product(
        *[[False, True]] * 5, [PositionalEncoding, LearnedPositionalEncoding]
    )
    if (decoder or not cross) and not (alone and decoder)
]
# What the lit lines of a step say, wherever it stands: ours, and those of torch.nn.
SAY = {
    "ids": ("tokenizer.ids(text)", None),
    "embedding": ("nn.functional.embedding(ids, self.weight)", "F.embedding("),
    "scaled": ("* self.scale", None),
    "positions": ("x + _beside(", None),
    "input": ("x = layer(", "output = mod("),
    "self_attention": ("self._self_attention(", "self._sa_block("),
    "cross_attention": ("self._cross_attention(", "self._mha_block("),
    "memory": ("self.norm(x)", "self.norm(output)"),
    "projection": ("project(query, weight", "linear(q, w"),
    "heads": ("split_heads(q, num_heads)", ".view(tgt_len, bsz * num_heads, head_dim)"),
    "scores": ("query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))", "q * math.sqrt(1.0 / float(E))"),
    "softmax": ("softmax(", "softmax(attn_output_weights, dim=-1)"),
    "values": ("@ value", "torch.bmm(attn_output_weights, v)"),
    "joined": ("heads.transpose(1, 2).reshape(", ".transpose(0, 1).reshape(tgt_len * bsz, embed_dim)"),
    "out": ("project(joined, out_proj_weight, out_proj_bias)", "linear(attn_output, out_proj_weight, out_proj_bias)"),
    "linear1": ("self.linear1(x)", "self.linear1(x)"),
    "activation": ("self.activation(", "self.activation("),
    "linear2": ("self.linear2(", "self.linear2("),
    "ff_add": ("x + self._feedforward(", "x + self._ff_block("),
    "final_norm": ("self.norm(x)", "self.norm(output)"),
    "logits": ("self.output(", "F.linear(input, self.weight, self.bias)"),
}


def lit(passages, role="plain"):
    """The lit lines as one text without the breaks between them."""
    lines = [
        found(passage).lines[at].strip() for passage in passages if passage.role == role for at in found(passage).lit
    ]
    return " ".join(lines)


@pytest.mark.parametrize("name", NAMES)
def test_every_step_has_its_lines_and_they_say_what_it_does(name):
    for setting in SETTINGS:
        if name in ("self_attention", "cross_attention", "memory") and not setting.decoder_layer:
            continue
        code = beside(name, setting)
        for passage in (*code.ours, *code.torch):
            assert found(passage).lit, passage
            assert all(found(passage).lines[at].strip() for at in found(passage).lit)
        if name in SAY:
            ours, theirs = SAY[name]
            assert ours in lit(code.ours)
            assert theirs in lit(code.torch).replace("( ", "(") if theirs else not code.torch


def test_the_stack_is_the_one_that_the_step_belongs_to():
    for setting in SETTINGS:
        for name in ("input", "memory", "final_norm"):
            stack = "Decoder" if setting.decoder_layer and name != "memory" else "Encoder"
            code = beside(name, setting)
            for passage in (*code.ours, *code.torch):
                assert f"Transformer{stack}.forward" in found(passage).title


def test_norms_and_sums_stand_where_the_order_puts_them():
    for setting in SETTINGS:
        for name, part in (
            ("norm", "cross" if setting.cross else "self"),
            ("add", "cross" if setting.cross else "self"),
            ("ff_norm", "ff"),
        ):
            code = beside(name, setting)
            number = {"self": 1, "cross": 2, "ff": 3 if setting.decoder_layer else 2}[part]
            for text in (lit(code.ours), lit(code.torch).replace("( ", "(")):
                inside = f"self.norm{number}(x)"
                around = text.replace("x = self.after_", "").find(f"self.norm{number}(x + ") >= 0
                assert (inside in text) == setting.norm_first
                assert around != setting.norm_first


def test_a_mask_is_added_only_where_there_is_one():
    masked, plain = (next(one for one in SETTINGS if one.masked == there) for there in (True, False))
    assert "scores + attn_mask" in lit(beside("mask", masked).ours)
    assert "torch.baddbmm(" in lit(beside("mask", masked).torch)
    assert "if attn_mask is None" in lit(beside("mask", plain).ours)
    assert "torch.bmm(q_scaled" in lit(beside("mask", plain).torch)


def test_what_an_unedited_run_calls_is_said_beside_what_it_never_makes():
    for setting in SETTINGS:
        for name in NAMES:
            code = beside(name, setting)
            fused = name in ("scores", "mask", "softmax", "values")
            assert ("F.scaled_dot_product_attention(" in lit(code.ours, "fused")) == fused
            assert ("scaled_dot_product_attention(q, k, v" in lit(code.torch, "fused").replace("( ", "(")) == fused
            assert ("is_causal=True" in lit(code.ours, "fused")) == (fused and setting.causal)
            assert bool(lit(code.ours, "swap")) == bool(lit(code.torch, "swap")) == (name in ("projection", "out"))


# The very lines: they run.


def ran(functions, call):
    """Which lines of these functions run in a call: (code, line of the file)."""
    codes = {inspect.unwrap(function).__code__ for function in functions}
    lines = set()

    def trace(frame, event, argument):
        if frame.f_code not in codes:
            return None
        lines.add((frame.f_code, frame.f_lineno))
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return lines


CHANGES = [{}, {"norm_first": False}, {"positions": "learned"}, {"architecture": "decoder", "tie_output": False}]


@pytest.mark.parametrize("padded", [True, False])
@pytest.mark.parametrize("changes", CHANGES, ids=str)
def test_the_lines_of_ours_run(changes, padded):
    model = small_model(**changes)
    inputs = padded_batch() if padded else (torch.tensor([[5, 6, 3]]), torch.tensor([[2, 7]]))
    inputs = inputs if model.config.architecture == "encoder-decoder" else inputs[:1]
    with torch.no_grad(), record(model) as recording:
        model(*inputs)
    ways = [walk(model, recording, site.kind, site.layer, 0) for site in recording.sites]
    passages = {
        passage
        for way in ways
        for step in way.steps
        if step.name != "ids"  # read before the model runs
        for passage in beside(step.name, setting_of(model, recording, way)).ours
    }

    def run():
        with torch.no_grad(), record(model):
            model(*inputs)
        for site in recording.sites:
            recording.pattern(site)

    check(passages, run)


def check(passages, run):
    lines = ran([passage.function for passage in passages], run)
    for passage in passages:
        source, code = found(passage), inspect.unwrap(passage.function).__code__
        first = source.first + source.lit[0]
        last = source.first + source.lit[-1]
        assert any(where is code and first <= line <= last for where, line in lines), passage


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("norm_first", [True, False])
def test_the_lines_of_torch_run(norm_first, masked):
    model = small_model(norm_first=norm_first)
    inputs = padded_batch() if masked else (torch.tensor([[5, 6, 3]]), torch.tensor([[2, 7]]))
    with torch.no_grad(), record(model) as recording:
        model(*inputs)
    theirs = nn.Transformer(24, 3, 2, 1, 40, norm_first=norm_first, batch_first=True)  # with a gradient: no fast path
    embedding, head = nn.Embedding(290, 24), nn.Linear(24, 281)
    asked = [(site, walk(model, recording, site.kind, site.layer, 0)) for site in recording.sites]
    passages = {
        passage
        for _, way in asked
        for step in way.steps
        for passage in beside(step.name, setting_of(model, recording, way)).torch
    }

    def run():
        source, target = (embedding(ids) for ids in inputs)
        causal = nn.Transformer.generate_square_subsequent_mask(target.size(1))
        padding = inputs[0] == 0
        head(theirs(source, target, tgt_mask=causal, src_key_padding_mask=padding, memory_key_padding_mask=padding))
        for query, key, mask in (
            (source, source, padding if masked else None),
            (target, target, None),
            (target, source, padding if masked else None),
        ):
            attention = nn.MultiheadAttention(24, 3, batch_first=True)
            attention(query, key, key, key_padding_mask=mask, attn_mask=causal if key is target else None)

    check(passages, run)


# A changed source.


def test_a_statement_is_found_however_it_is_broken_into_lines():
    source = "def f(a):\n    # b = a + 1\n    b = (\n        a  # twice\n        + 1\n    )\n    return b\n"
    assert places(source, ("b = a + 1",)) == (2, 3, 4, 5)
    assert places(source, ("return b", "b = a+1")) == (2, 3, 4, 5, 6)


def test_of_two_that_follow_each_other_the_last_is_meant():
    source = "def f(a):\n    if a:\n        a = g(a)\n        a = h(a)\n    else:\n        a = k(a)\n        a = h(a)\n"
    assert places(source, ("a = k(a)\na = h(a)",)) == (6,)
    with pytest.raises(LookupError, match="2 times"):
        places(source, ("a = h(a)",))


@pytest.mark.parametrize("change", [("scores = query @ key", "scores = key @ query"), ("math.sqrt", "sqrt")])
def test_a_changed_source_lights_nothing_rather_than_another_line(change):
    from transformer.attention import scaled_dot_product_attention

    source = textwrap.dedent(inspect.getsource(scaled_dot_product_attention))
    passage, _ = beside("scores", SETTINGS[0]).ours
    assert places(source, passage.statements)
    with pytest.raises(LookupError, match="0 times"):
        places(source.replace(*change), passage.statements)
    twice = f"{source}    {passage.statements[0]}\n"
    with pytest.raises(LookupError, match="2 times"):
        places(twice, passage.statements)


def test_a_version_with_other_lines_is_shown_without_light():
    (passage,) = one(textwrap.indent, "this_is = nowhere")
    assert found(passage).lit == ()
    assert found(passage).lines[0].startswith("def indent(")


def test_a_source_is_shown_as_it_stands_in_its_file():
    passage = Passage(Checkpoint.source_ids, ("return [*self.source_tokenizer.ids(text), self.config.eos_id]",))
    source = found(passage)
    lines = Path(inspect.getsourcefile(Checkpoint)).read_text(encoding="utf-8").splitlines()
    for at, line in enumerate(source.lines):
        assert line.strip() == lines[source.first - 1 + at].strip()
    assert source.title == "transformer.checkpoint.Checkpoint.source_ids"
    assert source.body == 2
    assert found(one(TokenEmbedding.forward)[0]).body == 0
