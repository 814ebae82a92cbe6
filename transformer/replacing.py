"""Ours in place of torch's attention, in a model that stays otherwise as it is."""

from torch import nn

from transformer.attention import MultiheadAttention


def replace_attention(module: nn.Module) -> nn.Module:
    """Put our :class:`~transformer.MultiheadAttention` in the place of every ``torch.nn.MultiheadAttention`` inside.

    The weights are shared, not copied. torch's fast path and its nested tensors, which go around the module, are
    turned off. Outputs stay the same, but for queries whose keys are all blocked: they get zeros instead of NaN.

    Args:
        module: changed in place; or itself an attention.

    Returns:
        ``module``, or what stands in its place.

    Example:
        >>> layer = replace_attention(nn.TransformerEncoderLayer(8, 2))
        >>> type(layer.self_attn) is MultiheadAttention
        True
    """
    if isinstance(module, nn.MultiheadAttention):
        return _ours(module)
    for name, child in module.named_children():
        module.add_module(name, replace_attention(child))
    if isinstance(module, nn.TransformerEncoder):
        module.use_nested_tensor = False
    return module


def _ours(theirs: nn.MultiheadAttention) -> MultiheadAttention:
    with_bias_kv, weight = theirs.bias_k is not None, theirs.out_proj.weight
    ours = MultiheadAttention(
        theirs.embed_dim,
        theirs.num_heads,
        theirs.dropout,
        theirs.in_proj_bias is not None,
        with_bias_kv,
        theirs.add_zero_attn,
        theirs.kdim,
        theirs.vdim,
        theirs.batch_first,
        weight.device,
        weight.dtype,
    )
    for name, parameter in theirs.named_parameters():
        owner, _, own_name = name.rpartition(".")
        ours.get_submodule(owner).register_parameter(own_name, parameter)
    ours._qkv_same_embed_dim = False  # type: ignore[assignment]  # torch's layer asks before it takes its fast path
    return ours.train(theirs.training)
