"""The way from token ids to the output of one layer, step by step, through one head of one attention.

N batch · L query length · S key length · H heads · D head width · E model width · F feed-forward width · V vocabulary
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer import breakdown
from transformer.layers import TransformerDecoderLayer
from transformer.recording import Kind, Recording
from transformer.text_model import TextTransformer, TokenEmbedding
from transformer.walk_attention import attention_steps
from transformer.walked import StepName, Walk
from transformer.walking import Path, double, double_or_none, layer_norm

_CACHED = "The queries are only the last of the text: run it as a whole to walk through it."


def walk(
    model: TextTransformer,
    recording: Recording,
    kind: Kind,
    layer: int,
    head: int,
    sentence: int = 0,
    run: int | None = None,
) -> Walk:
    """Every step of a layer, for one head of its attention of that kind.

    What was recorded is taken from the recording; the rest is computed from the model's weights, which lead from one
    recorded tensor to the next. A layer after the first begins with the output of the one before it; the last one ends
    with the norm of its stack and, where the model says something after it, with the logits.

    Args:
        model: the one that ran, with the weights it had then.
        kind: of a decoder layer's two attentions, ``decoder`` or ``cross``; the other is one step.
        head: from 0.

    Raises:
        KeyError: no such attention.
        IndexError: no such head, sentence or run.
        ValueError: a model that does not compute what was recorded (other weights, dropout while it trained, an edited
            attention); a decoding step on a cache, whose queries are only the last of the text.

    Example:
        >>> from transformer import TransformerConfig, record
        >>> model = TextTransformer(TransformerConfig(9, 9, d_model=8, nhead=2, dim_feedforward=16)).eval()
        >>> with torch.no_grad(), record(model) as recording:
        ...     logits = model(torch.tensor([[4, 5, 3]]), torch.tensor([[2, 6]]))
        >>> way = walk(model, recording, "cross", layer=0, head=1)
        >>> [step.name for step in way.steps][:6]
        ['ids', 'embedding', 'scaled', 'positions', 'self_attention', 'norm']
        >>> way.step("softmax").values[0].shape(batch_first=True), way.step("softmax").tensor.shape
        (('N', 'H', 'L', 'S'), torch.Size([2, 3]))
    """
    site = recording.site(kind, layer)
    found = recording.run_with(site, run)
    batch, heads, length, width = found.attentions[site].query.shape
    for name, index, size in (("sentence", sentence, batch), ("head", head, heads)):
        if not 0 <= index < size:
            raise IndexError(f"{name} is {index}, but {site} has {size}.")
    keys = found.attentions[site].key.size(2)
    if kind != "cross" and keys != length:
        raise ValueError(_CACHED)
    path = Path(found, site, sentence)
    try:
        block: Any = model.get_submodule(site.rpartition(".")[0])
        _walk(model, recording, path, block, head)
        features = block.linear1.out_features, model.output.out_features
    except (AttributeError, KeyError, IndexError, RuntimeError) as error:  # another architecture, other widths
        raise ValueError(path.other_model) from error
    sizes = (batch, length, keys, heads, width, heads * width, *features)
    return Walk(site, tuple(path.steps), dict(zip("NLSHDEFV", sizes, strict=True)))  # type: ignore[arg-type]


def _walk(model: TextTransformer, recording: Recording, path: Path, block: Any, head: int) -> None:
    prefix = path.site.rpartition(".")[0]
    stack, _, number = prefix.rpartition(".layers.")
    x = _beginning(model, path, stack, int(number))
    attentions = [("self_attn", block.norm1)]
    last_norm = block.norm2
    if isinstance(block, TransformerDecoderLayer):
        attentions.append(("multihead_attn", block.norm2))
        last_norm = block.norm3
    for name, norm in attentions:
        path.part = "cross_attention" if name == "multihead_attn" else "self_attention"
        output = path.hidden(f"{prefix}.after_{name}")
        if f"{prefix}.{name}" != path.site:
            _as_a_whole(path, x, f"{prefix}.{name}", norm, block.norm_first, output)
        else:
            read = path.normed("norm", x, norm) if block.norm_first else x
            keys = _memory(model, path) if name == "multihead_attn" else read
            written = attention_steps(path, recording, getattr(block, name), read, keys, head)
            _added(path, x, written, norm, block.norm_first, output, ("add", "norm"))
        x = output
    path.part = "feedforward"
    x = _feedforward(path, x, block, last_norm, path.hidden(f"{prefix}.after_feedforward"))
    path.part = "end"
    _end(model, path, stack, int(number), x)


def _beginning(model: TextTransformer, path: Path, stack: str, layer: int) -> Tensor:
    """What the layer reads (L, E): token ids with vectors and positions, or what the layer before it gave."""
    if layer > 0:
        x = path.hidden(f"{stack}.layers.{layer - 1}.after_feedforward")
        path.add("input", x, breakdown.found(x, "taken"))
        return x
    stream = "target" if stack == "transformer.decoder" else "source"
    ids, embedding = path.run.ids[stream][path.sentence].cpu(), model.get_submodule(f"{stream}_embedding")
    assert isinstance(embedding, TokenEmbedding)
    embedded, scaled, x = double(embedding.weight)[ids], *_embedded(path, stream)
    path.check(embedded * embedding.scale, scaled)
    path.add("ids", ids[:, None].double(), breakdown.found(ids[:, None], "taken"), ("N", "L"))
    path.add("embedding", embedded, breakdown.found(embedded, "row", lambda row, _: int(ids[row])))
    if embedding.scale != 1:
        path.add("scaled", scaled, breakdown.changed(embedded, "scale", embedding.scale, scaled))
    if not torch.equal(x, scaled):
        path.add("positions", x, breakdown.changed(scaled, "position", x - scaled, x))
    return x


def _embedded(path: Path, stream: str) -> tuple[Tensor, Tensor]:
    """The scaled vectors of the tokens (L, E), before and after positions were added."""
    return path.hidden(f"after_{stream}_embedding"), path.hidden(f"after_{stream}_positions")


def _as_a_whole(path: Path, x: Tensor, site: str, norm: nn.LayerNorm, norm_first: bool, output: Tensor) -> None:
    """The attention that is not walked through, with what it is added to and its norm."""
    written = path.of_sentence(path.run.outputs[site])
    explain = breakdown.changed(x, "sublayer", written, x + written)
    if not norm_first:
        explain = breakdown.then(explain, breakdown.normalised(x + written, norm))
    path.add("cross_attention" if path.part == "cross_attention" else "self_attention", output, explain)


def _memory(model: TextTransformer, path: Path) -> Tensor:
    """What the encoder gave (S, E): the output of its last layer, normalised."""
    encoder: Any = model.transformer.encoder
    last = f"transformer.encoder.layers.{encoder.num_layers - 1}.after_feedforward"
    if encoder.num_layers and last not in path.run.hidden:
        raise ValueError(_CACHED)
    x = path.hidden(last) if encoder.num_layers else _embedded(path, "source")[1]
    return path.normed("memory", x, encoder.norm, ("N", "S", "E"))


def _feedforward(path: Path, x: Tensor, block: Any, norm: nn.LayerNorm, output: Tensor) -> Tensor:
    read = path.normed("ff_norm", x, norm) if block.norm_first else x
    first, second = ((double(one.weight), double_or_none(one.bias)) for one in (block.linear1, block.linear2))
    inner = F.linear(read, *first)
    path.add("linear1", inner, breakdown.linear(read, *first, "E"), ("N", "L", "F"))
    active = block.activation(inner)
    path.add("activation", active, breakdown.changed(inner, "activation", None, active), ("N", "L", "F"))
    written = F.linear(active, *second)
    path.add("linear2", written, breakdown.linear(active, *second, "F"))
    _added(path, x, written, norm, block.norm_first, output, ("ff_add", "ff_norm"))
    return output


def _added(
    path: Path,
    x: Tensor,
    written: Tensor,
    norm: nn.LayerNorm,
    norm_first: bool,
    output: Tensor,
    names: tuple[StepName, StepName],
) -> None:
    """What a sublayer wrote, added to what came in and (post-norm) normalised."""
    added = x + written
    path.check(added if norm_first else layer_norm(added, norm), output)
    path.add(names[0], output if norm_first else added, breakdown.changed(x, "sublayer", written, added))
    if not norm_first:
        path.add(names[1], output, breakdown.normalised(added, norm))


def _end(model: TextTransformer, path: Path, stack: str, layer: int, x: Tensor) -> None:
    """After the last layer: the norm of the stack, and what the model says."""
    layers: Any = model.get_submodule(stack)
    if layer < layers.num_layers - 1:
        return
    x = path.normed("final_norm", x, layers.norm)
    if stack != "transformer.encoder":
        weight, bias = double(model.output.weight), double_or_none(model.output.bias)
        path.add("logits", F.linear(x, weight, bias), breakdown.linear(x, weight, bias, "E"), ("N", "L", "V"))
