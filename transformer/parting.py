"""Where two runs of one text part: how far apart their hidden states are, from the embeddings up.

L length of a text · E model width
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from transformer.recording import Recording


@dataclass(frozen=True)
class Parted:
    """One place on the residual stream.

    Attributes:
        path: of the hook point.
        distance: (L,) ‖after - before‖ / ‖before‖ of each token, 0 where nothing has changed yet.
    """

    path: str
    distance: Tensor


def parting(before: Recording, after: Recording, sentence: int = 0) -> list[Parted]:
    """Every hook point of two recordings of batch-first models, in order of execution.

    Raises:
        ValueError: the two are not of one model and one text.

    Example:
        >>> from transformer import TransformerEncoderLayer, record
        >>> layer, x = TransformerEncoderLayer(8, 2, 16, batch_first=True).eval(), torch.randn(1, 3, 8)
        >>> with record(layer) as recording:
        ...     _ = layer(x)
        >>> [(one.path, one.distance.tolist()) for one in parting(recording, recording)]
        [('after_self_attn', [0.0, 0.0, 0.0]), ('after_feedforward', [0.0, 0.0, 0.0])]
    """
    one, other = before.runs[-1].hidden, after.runs[-1].hidden
    if [(path, x.shape) for path, x in one.items()] != [(path, x.shape) for path, x in other.items()]:
        raise ValueError("The two recordings are not of one model and one text.")
    found = []
    for path in one:
        old, new = one[path][sentence].float().cpu(), other[path][sentence].float().cpu()  # (L, E)
        found.append(Parted(path, (new - old).norm(dim=-1) / old.norm(dim=-1).clamp(min=torch.finfo(old.dtype).tiny)))
    return found
