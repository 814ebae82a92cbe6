"""Which code does a step of a walk: ours, and that of torch.nn."""

from dataclasses import dataclass
from typing import Any

from torch import nn

from dashboard.code_of_attention import of_attention
from dashboard.passages import Beside, one
from transformer.checkpoint import Checkpoint
from transformer.layers import TransformerDecoderLayer, TransformerEncoderLayer
from transformer.positions import LearnedPositionalEncoding
from transformer.recording import Recording
from transformer.stacks import TransformerDecoder, TransformerEncoder
from transformer.text_model import TextTransformer, TokenEmbedding
from transformer.walked import StepName, Walk


@dataclass(frozen=True)
class Setting:
    """What decides which lines ran.

    Attributes:
        decoder_layer: the layer has two attentions.
        alone: the model is one stack.
        cross: the attention that is walked through reads the encoder's memory.
        target: the stream that the layer reads.
        masked, causal: something is masked; nothing but the future is.
        positions: the class of the module that adds them.
    """

    decoder_layer: bool
    alone: bool
    cross: bool
    target: bool
    norm_first: bool
    masked: bool
    causal: bool
    positions: type[nn.Module]


def setting_of(model: TextTransformer, recording: Recording, way: Walk) -> Setting:
    """What decides about the lines of a walk."""
    block: Any = model.get_submodule(way.site.rpartition(".")[0])
    masks = recording.run_with(way.site).attentions[way.site].masks
    given = (masks.attn_mask, masks.key_padding_mask)
    target = way.site.startswith("transformer.decoder")
    return Setting(
        decoder_layer=isinstance(block, TransformerDecoderLayer),
        alone=model.config.architecture != "encoder-decoder",
        cross=way.site.kind == "cross",
        target=target,
        norm_first=block.norm_first,
        masked=masks.is_causal or any(mask is not None for mask in given),
        causal=masks.only_causal,
        positions=type(model.get_submodule("target_positions" if target else "source_positions")),
    )


def beside(step: StepName, setting: Setting) -> Beside:
    """The code of a step."""
    if step in ("norm", "add", "self_attention", "cross_attention", "ff_norm", "ff_add"):
        return _of_layer(step, setting)
    if step in ("linear1", "activation", "linear2"):
        layers = (TransformerDecoderLayer, nn.TransformerDecoderLayer)
        ours, torch = layers if setting.decoder_layer else (TransformerEncoderLayer, nn.TransformerEncoderLayer)
        number = 3 if setting.decoder_layer else 2
        line = f"return self.dropout{number}(self.linear2(self.dropout(self.activation(self.linear1(x)))))"
        theirs = "x = self.linear2(self.dropout(self.activation(self.linear1(x))))"
        return Beside(one(ours._feedforward, line), one(torch._ff_block, theirs))
    if step in ("ids", "embedding", "scaled", "positions", "input", "memory", "final_norm", "logits"):
        return _around(step, setting)
    return of_attention(step, setting.cross, setting.masked, setting.causal)


def _around(step: StepName, setting: Setting) -> Beside:
    """Before and after the layer."""
    if step == "ids":
        stream, method = ("target", Checkpoint.target_ids) if setting.target else ("source", Checkpoint.source_ids)
        return Beside(one(method, f"return [*self.{stream}_tokenizer.ids(text), self.config.eos_id]"), ())
    if step in ("embedding", "scaled"):
        ours = one(TokenEmbedding.forward, "return nn.functional.embedding(ids, self.weight) * self.scale")
        theirs = one(
            nn.Embedding.forward,
            "return F.embedding(input, self.weight, self.padding_idx, self.max_norm, self.norm_type,"
            " self.scale_grad_by_freq, self.sparse)",
        )
        return Beside(ours, theirs if step == "embedding" else ())
    if step == "positions":
        if setting.positions is LearnedPositionalEncoding:
            rows = "self.weight[first:length].to(x.dtype)"
        else:
            rows = "rows.to(x.dtype)"
        function = setting.positions.forward
        return Beside(one(function, f"return self.dropout(x + _beside({rows}, x, self.batch_first))"), ())
    if step == "logits":
        ours = one(TextTransformer.decode, "return self.output(x)")
        if setting.alone:
            stack = "stack(x, src_key_padding_mask=padding, is_causal=causal, cache=cache)"
            ours = one(TextTransformer.read, f"return self.output({stack})")
        return Beside(ours, one(nn.Linear.forward, "return F.linear(input, self.weight, self.bias)"))
    decoder = setting.decoder_layer and step != "memory"
    stacks = (TransformerDecoder, nn.TransformerDecoder) if decoder else (TransformerEncoder, nn.TransformerEncoder)
    if step == "input":
        line, theirs_line = _LAYER_CALLS[decoder]
    else:
        line, theirs_line = "return x if self.norm is None else self.norm(x)", "output = self.norm(output)"
    return Beside(one(stacks[0].forward, line), one(stacks[1].forward, theirs_line))


_LAYER_CALLS = {
    False: (
        "x = layer(x, src_mask=mask, src_key_padding_mask=src_key_padding_mask, is_causal=bool(is_causal), **cached)",
        "output = mod(output, src_mask=mask, is_causal=is_causal,"
        " src_key_padding_mask=src_key_padding_mask_for_layers)",
    ),
    True: (
        "x = layer(x, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,"
        " memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=bool(tgt_is_causal),"
        " memory_is_causal=memory_is_causal, **cached)",
        "output = mod(output, memory, tgt_mask=tgt_mask, memory_mask=memory_mask,"
        " tgt_key_padding_mask=tgt_key_padding_mask, memory_key_padding_mask=memory_key_padding_mask,"
        " tgt_is_causal=tgt_is_causal, memory_is_causal=memory_is_causal)",
    ),
}


def _of_layer(step: StepName, setting: Setting) -> Beside:
    """The line of a layer that calls a sublayer, adds and normalises."""
    sublayer = {"ff_norm": "ff", "ff_add": "ff", "self_attention": "self", "cross_attention": "cross"}.get(
        step, "cross" if setting.cross else "self"
    )
    ours: Any = TransformerDecoderLayer if setting.decoder_layer else TransformerEncoderLayer
    theirs: Any = nn.TransformerDecoderLayer if setting.decoder_layer else nn.TransformerEncoderLayer
    own = "own" if setting.decoder_layer else "masks"
    number = {"self": 1, "cross": 2, "ff": 3 if setting.decoder_layer else 2}[sublayer]
    norm = f"self.norm{number}"
    x = f"{norm}(x)" if setting.norm_first else "x"
    if setting.decoder_layer:
        masks = "tgt_mask, tgt_key_padding_mask, tgt_is_causal"
        memory_masks = "memory_mask, memory_key_padding_mask, memory_is_causal"
    else:
        masks, memory_masks = "src_mask, src_key_padding_mask, is_causal=is_causal", ""
    called = {
        "self": ("after_self_attn", f"self._self_attention({x}, *{own})", f"self._sa_block({x}, {masks})"),
        "cross": (
            "after_multihead_attn",
            f"self._cross_attention({x}, memory, *cross)",
            f"self._mha_block({x}, memory, {memory_masks})",
        ),
        "ff": ("after_feedforward", f"self._feedforward({x})", f"self._ff_block({x})"),
    }
    hook, call, their_call = called[sublayer]
    added, theirs_added = f"x + {call}", f"x + {their_call}"
    if not setting.norm_first:
        added, theirs_added = f"{norm}({added})", f"{norm}({theirs_added})"
    return Beside(one(ours.forward, f"x = self.{hook}({added})"), one(theirs.forward, f"x = {theirs_added}"))
