"""Where each classic mistake is made: the right line, read from the source that runs, and what it becomes."""

from dataclasses import dataclass

from dashboard.passages import Passage, found
from transformer.attention import scaled_dot_product_attention
from transformer.batches import make_batch
from transformer.checkpoint import _load_weights
from transformer.layers import TransformerDecoderLayer
from transformer.masked_softmax import masked_softmax
from transformer.masks import causal_mask
from transformer.positions import PositionalEncoding
from transformer.stacks import TransformerEncoder, independent_copies
from transformer.text_model import TextTransformer

NO_SHIFT = "no_shift"  # a mistake of who feeds the model; the others are made in it


@dataclass(frozen=True)
class Slip:
    """A line, and what is typed in place of a part of it."""

    right: Passage
    part: str
    wrong: str


_DECODER = """x = self.transformer.decoder(
    x,
    memory,
    tgt_is_causal=True,
    tgt_key_padding_mask=padding_mask(target, self.config.pad_id) if cache is None else None,
    memory_key_padding_mask=memory_padding,
    cache=cache,
)"""
_LAYER = "x = layer(x, src_mask=mask, src_key_padding_mask=src_key_padding_mask, is_causal=bool(is_causal), **cached)"
_CROSS = (
    "output, _ = self.multihead_attn("
    "x, memory, memory, padding, need_weights=False, attn_mask=mask, is_causal=is_causal, cache=cache)"
)

SLIPS: dict[str, Slip] = {
    "shared_layer": Slip(
        Passage(independent_copies, ("return nn.ModuleList(copy.deepcopy(layer) for _ in range(num_layers))",)),
        "copy.deepcopy(layer) for _ in range(num_layers)",
        "[layer] * num_layers",
    ),
    "positions_on_batch": Slip(
        Passage(
            PositionalEncoding.forward,
            ("return self.dropout(x + _beside(rows.to(x.dtype), x, self.batch_first))",),
        ),
        "_beside(rows.to(x.dtype), x, self.batch_first)",
        "self.table[: x.size(0), None]",
    ),
    "positions_in_every_layer": Slip(
        Passage(TransformerEncoder.forward, (_LAYER,)), "layer(x,", "layer(x + positions,"
    ),
    "no_target_positions": Slip(
        Passage(TextTransformer.decode, ("x = self.after_target_positions(self.target_positions(x, first))",)),
        "self.target_positions(x, first)",
        "x",
    ),
    "dropout_on": Slip(
        Passage(_load_weights, ("model = TextTransformer(config).eval().requires_grad_(False)",)),
        ".eval()",
        ".train()",
    ),
    "inverted_mask": Slip(
        Passage(causal_mask, ("return torch.arange(columns, device=device) > query[:, None]",)), ">", "<="
    ),
    "no_causal_mask": Slip(Passage(TextTransformer.decode, (_DECODER,)), "tgt_is_causal=True", "tgt_is_causal=False"),
    "no_scaling": Slip(
        Passage(scaled_dot_product_attention, ("scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))",)),
        " / math.sqrt(query.size(-1))",
        "",
    ),
    "softmax_over_queries": Slip(
        Passage(masked_softmax, ("return scores.softmax(dim=-1).masked_fill(nothing_left, 0.0)",)), "dim=-1", "dim=-2"
    ),
    "masked_with_zero": Slip(
        Passage(
            masked_softmax,
            ("scores = scores.masked_fill(blocked, -math.inf).masked_fill(nothing_left, 0.0)",),
        ),
        "-math.inf",
        "0.0",
    ),
    "cross_reads_target": Slip(
        Passage(TransformerDecoderLayer._cross_attention, (_CROSS,)), "x, memory, memory,", "x, x, x,"
    ),
    NO_SHIFT: Slip(
        Passage(make_batch, ("read = [[bos_id, *ids[:-1]] for ids in target]",)), "[bos_id, *ids[:-1]]", "ids"
    ),
}


def lines_of(name: str) -> tuple[str, list[str], list[str]]:
    """Where a mistake is made: the function's name, the lines as they are, and as they are with it.

    Raises:
        LookupError: the source has no such line.
    """
    slip = SLIPS[name]
    passage = found(slip.right)
    right = "\n".join(passage.lines[line] for line in passage.lit)
    if slip.part not in right:
        raise LookupError(f"{slip.part!r} does not stand in {passage.title}.")
    return passage.title, right.splitlines(), right.replace(slip.part, slip.wrong, 1).splitlines()
