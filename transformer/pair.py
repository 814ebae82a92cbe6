"""Why a query reads a key: one cell of one head, from its score to its weight.

S key length · D head width · E model width
"""

import math
import operator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from transformer.picking import Head
from transformer.positions import LearnedPositionalEncoding, PositionalEncoding, sinusoidal_table
from transformer.recording import Recording, Stream
from transformer.text_model import TextTransformer, TokenEmbedding

Floats = npt.NDArray[np.float32]

_FIRST_LAYERS: dict[str, Stream] = {  # self-attention that reads embeddings, and of which stream
    "transformer.encoder.layers.0.self_attn": "source",
    "transformer.decoder.layers.0.self_attn": "target",
    "encoder.layers.0.self_attn": "source",
    "decoder.layers.0.self_attn": "source",
}


@dataclass(frozen=True, eq=False)
class PairReason:
    """The way from a query and a key to a weight, in the row in which it stands.

    Attributes:
        score: query · key / sqrt(D).
        mask: what the mask added; ``-inf`` = blocked.
        weight: softmax over the row's scores + masks; 0 in a row that may look at nothing.
        rank: 1 for the largest weight of the row; equal weights share the better rank.
        allowed: how many keys the row may look at.
        scores, masks, weights: (S,), the same for every key of the row.
        query, key: (D,).
        by_dimension: (D,), query_d * key_d / sqrt(D): sums to the score. It depends on the basis: an invertible change
            of basis inside the head (one for the queries, its inverse transpose for the keys) leaves every score as it
            was and changes this split.
        centred: (D,), the same with the mean of the allowed keys taken from the key: sums to the score less the mean
            score of the allowed keys. What all keys share, softmax does not see. NaN where no key is allowed.
        value_norm: the length of the key's value as the head writes it (:meth:`Recording.value_norms
            <transformer.recording.Recording.value_norms>`); None where the recording does not know it.
    """

    score: float
    mask: float
    weight: float
    rank: int
    allowed: int
    scores: Floats
    masks: Floats
    weights: Floats
    query: Floats
    key: Floats
    by_dimension: Floats
    centred: Floats
    value_norm: float | None


def explain_pair(
    recording: Recording, site: str, head: Head, row: int, column: int, sentence: int = 0, run: int | None = None
) -> PairReason:
    """Why the query of a row gives the key of a column its weight.

    Args:
        head: one head, from 0.

    Raises:
        KeyError: no such site.
        IndexError: no such head, sentence, row, column or run.
        ValueError: the mean of the heads, or all of them.

    Example:
        >>> from transformer import MultiheadAttention, record
        >>> attention, x = MultiheadAttention(8, num_heads=2, batch_first=True), torch.randn(1, 3, 8)
        >>> with record(attention) as recording:
        ...     output, _ = attention(x, x, x)
        >>> reason = explain_pair(recording, recording.sites[0], head=1, row=0, column=2)
        >>> reason.allowed, reason.by_dimension.shape
        (3, (4,))
    """
    one, query, keys = _one_cell(recording, site, head, row, column, sentence, run)
    scores, masks, weights = (
        read(site, one, sentence, rows=[row], run=run)[0].numpy()
        for read in (recording.scores, recording.mask, recording.pattern)
    )
    allowed = masks > -math.inf
    mean = keys[torch.from_numpy(allowed)].mean(dim=0)  # of nothing: NaN
    scaled = query / math.sqrt(len(query))
    value_norm = None
    with suppress(KeyError):
        value_norm = float(recording.value_norms(site, one, sentence, run)[column])
    return PairReason(
        score=float(scores[column]),
        mask=float(masks[column]),
        weight=float(weights[column]),
        rank=1 + int((weights > weights[column]).sum()),
        allowed=int(allowed.sum()),
        scores=scores,
        masks=masks,
        weights=weights,
        query=query.float().numpy(),
        key=keys[column].float().numpy(),
        by_dimension=(scaled * keys[column]).float().numpy(),
        centred=(scaled * (keys[column] - mean)).float().numpy(),
        value_norm=value_norm,
    )


@dataclass(frozen=True)
class FirstLayerSplit:
    """What query and key of a first layer bring to their score; the five add up to it.

    Attributes:
        token_token, token_position, position_token, position_position: the query's part first, then the key's.
        bias: everything in which a bias takes part, be it the in-projection's or the norm's.
    """

    token_token: float
    token_position: float
    position_token: float
    position_position: float
    bias: float


def split_first_layer(
    model: TextTransformer,
    recording: Recording,
    site: str,
    head: Head,
    row: int,
    column: int,
    sentence: int = 0,
    run: int | None = None,
) -> FirstLayerSplit | None:
    """Split a score of self-attention in a first layer by what was added up before it: token and position.

    Queries and keys are linear in the two. A norm before them is too, once the deviation it divided by is kept as it
    was for token and position together.

    Args:
        model: the one that ran, with the weights it had then.
        head: one head, from 0.

    Returns:
        The parts, or None where the site is not self-attention of the model's first encoder or decoder layer.

    Raises:
        KeyError: no such site, or no ids of what it read.
        IndexError: no such head, sentence, row, column or run.
        ValueError: the mean of the heads, or all of them; a model that does not compute what was recorded (other
            weights, dropout while it trained): its parts would not add up.
    """
    one, query, keys = _one_cell(recording, site, head, row, column, sentence, run)
    if site not in _FIRST_LAYERS:
        return None
    stream, found = _FIRST_LAYERS[site], recording.run_with(site, run)
    if stream not in found.ids:
        raise KeyError(f"Which tokens {site} read was not recorded.")
    ids = found.ids[stream][sentence].tolist()  # of a step on a cache, all it knows: its queries are the last
    places = [len(ids) - recording.query(site, run).size(2) + row, column]
    other = f"This model does not compute what was recorded at {site}: its weights are others, or dropout was on."
    try:
        of_query, of_key = _parts(model, site, stream, one, ids, places)
    except (AttributeError, IndexError, RuntimeError) as error:  # another architecture, fewer tokens, other widths
        raise ValueError(other) from error
    rounding = math.sqrt(torch.finfo(recording.query(site, run).dtype).eps)
    if not (_adds_up(of_query, query, rounding) and _adds_up(of_key, keys[column], rounding)):
        raise ValueError(other)
    cells = of_query @ of_key.T / math.sqrt(len(query))  # (3, 3)
    return FirstLayerSplit(
        token_token=float(cells[0, 0]),
        token_position=float(cells[0, 1]),
        position_token=float(cells[1, 0]),
        position_position=float(cells[1, 1]),
        bias=float(cells[2].sum() + cells[:2, 2].sum()),
    )


def _one_cell(
    recording: Recording, site: str, head: Head, row: int, column: int, sentence: int, run: int | None
) -> tuple[int, Tensor, Tensor]:
    """The head, the query (D,) and all keys (S, D) of the row, in float64."""
    if head is None or head == "mean":
        raise ValueError("Only a single head has a query and a key: choose one, not all of them or their mean.")
    one, query, key = operator.index(head), recording.query(site, run), recording.key(site, run)
    sizes = (*query.shape[:3], key.size(2))
    asked = {"sentence": sentence, "head": one, "row": row, "column": column}
    for (name, index), size in zip(asked.items(), sizes, strict=True):
        if not 0 <= index < size:
            raise IndexError(f"{name} is {index}, but {site} has {size}.")
    return one, query[sentence, one, row].double(), key[sentence, one].double()


def _parts(
    model: TextTransformer, site: str, stream: Stream, head: int, ids: list[int], places: list[int]
) -> tuple[Tensor, Tensor]:
    """What the query of the first place and the key of the second are sums of: (3, D) each, token, position, bias."""
    layer: Any = model.get_submodule(site.rpartition(".")[0])
    attention, embedding = layer.self_attn, model.get_submodule(f"{stream}_embedding")
    assert isinstance(embedding, TokenEmbedding)
    token = _double(embedding.weight[[ids[place] for place in places]]) * embedding.scale  # (2, E)
    position = _position_vectors(model.get_submodule(f"{stream}_positions"), token, places)
    bias = torch.zeros_like(token)
    if layer.norm_first:
        norm = layer.norm1
        deviation = ((token + position).var(dim=-1, correction=0, keepdim=True) + norm.eps).sqrt()
        token, position = (
            (part - part.mean(dim=-1, keepdim=True)) / deviation * _double(norm.weight) for part in (token, position)
        )
        bias = bias if norm.bias is None else bias + _double(norm.bias)
    parts = []
    for side in (0, 1):  # the query's rows of the in-projection stand before the key's
        start = side * attention.embed_dim + head * attention.head_dim
        rows = slice(start, start + attention.head_dim)
        projected = torch.stack([token[side], position[side], bias[side]]) @ _double(attention.in_proj_weight[rows]).T
        if attention.in_proj_bias is not None:
            projected[2] += _double(attention.in_proj_bias[rows])
        parts.append(projected)
    return parts[0], parts[1]


def _adds_up(parts: Tensor, recorded: Tensor, rounding: float) -> bool:
    if parts.shape[1:] != recorded.shape:
        return False
    return bool((parts.sum(dim=0) - recorded).norm() <= rounding * parts.norm(dim=1).sum())


def _position_vectors(positions: nn.Module, token: Tensor, places: list[int]) -> Tensor:
    """(2, E), beside the tokens' vectors."""
    if isinstance(positions, PositionalEncoding):
        size = (max(places) + 1, token.size(-1))
        return sinusoidal_table(*size, positions.base, positions.layout, dtype=token.dtype)[places]
    if isinstance(positions, LearnedPositionalEncoding):
        return _double(positions.weight[places])
    return torch.zeros_like(token)


def _double(parameter: Tensor) -> Tensor:
    return parameter.detach().cpu().double()
