"""Which code does the steps between what an attention reads and what it gives: ours, and that of torch.nn."""

from torch import nn
from torch.nn import functional as F

from dashboard.passages import Beside, one
from transformer.attention import (
    DotProductAttention,
    MultiheadAttention,
    multi_head_attention_forward,
    scaled_dot_product_attention,
)
from transformer.masked_softmax import masked_softmax
from transformer.projection import in_projection_packed
from transformer.walked import StepName

_OURS = {
    "heads": (
        "q = split_heads(q, num_heads)",
        'k = split_heads(k, num_heads) if static_k is None else static_heads("static_k", static_k, q)',
        'v = split_heads(v, num_heads) if static_v is None else static_heads("static_v", static_v, q)',
    ),
    "joined": ("joined = heads.transpose(1, 2).reshape(batch, length, width).transpose(0, 1)",),
    "out": ("output = project(joined, out_proj_weight, out_proj_bias)",),
}
_CONCATENATED = "attn_output = attn_output.transpose(0, 1).reshape(tgt_len * bsz, embed_dim)"
_TORCH = {
    "heads": (
        "q = q.view(tgt_len, bsz * num_heads, head_dim).transpose(0, 1)",
        "k = k.view(k.shape[0], bsz * num_heads, head_dim).transpose(0, 1)",
        "v = v.view(v.shape[0], bsz * num_heads, head_dim).transpose(0, 1)",
    ),
    "softmax": ("attn_output_weights = softmax(attn_output_weights, dim=-1)",),
    "values": ("attn_output = torch.bmm(attn_output_weights, v)",),
    "joined": (_CONCATENATED,),
    "out": (f"{_CONCATENATED}\nattn_output = linear(attn_output, out_proj_weight, out_proj_bias)",),
}


def of_attention(step: StepName, cross: bool, masked: bool, causal: bool) -> Beside:
    """The code of a step.

    Args:
        cross: keys and values are made of something else than the queries.
        masked, causal: something is masked; nothing but the future is.
    """
    if step == "projection":
        return _projection(cross)
    if step in ("scores", "mask", "softmax", "values"):
        return _explicit(step, masked, causal)
    ours = one(multi_head_attention_forward, *_OURS[step])
    torch = one(F.multi_head_attention_forward, *_TORCH[step])
    if step == "out":
        ours += one(
            MultiheadAttention.forward,
            "return (output.transpose(0, 1) if transposed else output), pattern",
            role="swap",
        )
        torch += one(nn.MultiheadAttention.forward, "attn_output = attn_output.transpose(1, 0)", role="swap")
    return Beside(ours, torch)


def _projection(cross: bool) -> Beside:
    ours, torch = ["q, k, v = project(query, weight, bias).chunk(3, dim=-1)"], ["proj = linear(q, w, b)"]
    swap = ["query = key = value = query.transpose(1, 0)"]
    if cross:
        ours = [
            "q = project(query, weight[:width], None if bias is None else bias[:width])",
            "k, v = project(key, weight[width:], None if bias is None else bias[width:]).chunk(2, dim=-1)",
        ]
        torch = ["q_proj = linear(q, w_q, b_q)", "kv_proj = linear(k, w_kv, b_kv)"]
        swap = ["query, key = (x.transpose(1, 0) for x in (query, key))", "value = key"]
    our_swap = "query, key, value = swap_batch_axis(query, key, value)"
    return Beside(
        one(in_projection_packed, *ours) + one(MultiheadAttention.forward, our_swap, role="swap"),
        one(F._in_projection_packed, *torch)  # type: ignore[attr-defined]  # which torch's stubs leave out
        + one(nn.MultiheadAttention.forward, *swap, role="swap"),
    )


def _explicit(step: StepName, masked: bool, causal: bool) -> Beside:
    """What the fused call never makes: scores, weights."""
    added = "attn_output_weights = torch.baddbmm(attn_mask, q_scaled, k.transpose(-2, -1))"
    product = added if masked else "attn_output_weights = torch.bmm(q_scaled, k.transpose(-2, -1))"
    whole = "pattern = scores.softmax(dim=-1) if attn_mask is None else masked_softmax(scores, attn_mask)"
    if step == "scores":
        ours = one(scaled_dot_product_attention, "scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))")
        torch = one(F.multi_head_attention_forward, "q_scaled = q * math.sqrt(1.0 / float(E))", product)
    elif step == "mask":
        blocked = (
            "scores = (scores + attn_mask).clamp(min=torch.finfo(scores.dtype).min)",
            "scores = scores.masked_fill(blocked, -math.inf).masked_fill(nothing_left, 0.0)",
        )
        ours = one(masked_softmax, *blocked) if masked else one(scaled_dot_product_attention, whole)
        torch = one(F.multi_head_attention_forward, product)
    elif step == "softmax":
        last = "return scores.softmax(dim=-1).masked_fill(nothing_left, 0.0)"
        ours = one(masked_softmax, last) if masked else one(scaled_dot_product_attention, whole)
        torch = one(F.multi_head_attention_forward, *_TORCH[step])
    else:
        ours = one(scaled_dot_product_attention, "return F.dropout(pattern, dropout_p) @ value, pattern")
        torch = one(F.multi_head_attention_forward, *_TORCH[step])
    arguments = "dropout_p=dropout_p, is_causal=True" if causal else "attn_mask, dropout_p"
    call = f"return F.scaled_dot_product_attention(query, key, value, {arguments}), None"
    their_call = "attn_output = scaled_dot_product_attention(q, k, v, attn_mask, dropout_p, is_causal)"
    return Beside(
        ours + one(DotProductAttention.forward, call, role="fused"),
        torch + one(F.multi_head_attention_forward, their_call, role="fused"),
    )
