"""A Transformer to read and to look into.

It mirrors :class:`torch.nn.Transformer` (names, arguments, numbers) and records through forward hooks what every
attention head looks at.

The letters of every shape in this package:

=====  ==========================================  =====  ==============================
N      batch                                       E      model width
S      source length; key length of an attention   H      heads
T      target length                               D      head width, E / H
L      query length of an attention                F      feed-forward width
V      vocabulary
=====  ==========================================  =====  ==============================

Masks follow torch.nn everywhere: bool ``True`` = may not be looked at, float = added to the scores.
"""

from transformer.attention import MultiheadAttention, multi_head_attention_forward, scaled_dot_product_attention
from transformer.checkpoint import load_checkpoint
from transformer.config import TransformerConfig
from transformer.layers import TransformerDecoderLayer, TransformerEncoderLayer
from transformer.pair import explain_pair, split_first_layer
from transformer.positions import positional_encoding
from transformer.probes import assert_causal, assert_padding_invariant
from transformer.progress import after_each_sublayer
from transformer.recorder import record
from transformer.recording_file import open_recording
from transformer.replacing import replace_attention
from transformer.stacks import Transformer, TransformerDecoder, TransformerEncoder
from transformer.text_model import TextTransformer

__all__ = [
    "MultiheadAttention",
    "TextTransformer",
    "Transformer",
    "TransformerConfig",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
    "after_each_sublayer",
    "assert_causal",
    "assert_padding_invariant",
    "explain_pair",
    "load_checkpoint",
    "multi_head_attention_forward",
    "open_recording",
    "positional_encoding",
    "record",
    "replace_attention",
    "scaled_dot_product_attention",
    "split_first_layer",
]
