"""What a decoder has read already: the keys and values of each attention, so that a step reads only what is new.

N batch · H heads · S key length · D head width
"""

import torch
from torch import Tensor


class AttentionCache:
    """The keys and values that one attention has seen.

    Attributes:
        key, value: (N, H, S, D) so far; None before the first forward.
    """

    def __init__(self) -> None:
        self.key: Tensor | None = None
        self.value: Tensor | None = None

    @property
    def length(self) -> int:
        """S so far."""
        return 0 if self.key is None else self.key.size(2)

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Add those of new tokens (N, H, L, D); all that are known now, (N, H, S + L, D), come back."""
        # New tensors each time: a recording may hold on to the old ones.
        self.key = key if self.key is None else torch.cat([self.key, key], dim=2)
        self.value = value if self.value is None else torch.cat([self.value, value], dim=2)
        return self.key, self.value

    def select(self, rows: Tensor) -> None:
        """Go on with some of the N sentences, (any number,) indices: in another order, several times, or not at all."""
        if self.key is not None and self.value is not None:
            self.key, self.value = self.key.index_select(0, rows), self.value.index_select(0, rows)


class LayerCache:
    """The caches of one layer: of what it has read itself, and of the encoder's memory, which never grows."""

    def __init__(self) -> None:
        self.own = AttentionCache()
        self.memory = AttentionCache()


class KeyValueCache:
    """The caches of a stack of layers.

    Give one to :meth:`TextTransformer.decode <transformer.TextTransformer.decode>`, or to a decoder alone, and feed
    the tokens piece by piece: each forward reads the new ones and attends to all. After the first forward it is
    one token at a time, in eval mode, without gradients.

    Example:
        >>> from transformer import TextTransformer, TransformerConfig
        >>> model = TextTransformer(TransformerConfig(100, 90, d_model=8, nhead=2)).eval()
        >>> memory, padding = model.encode(torch.tensor([[5, 6, 7]]))
        >>> cache = KeyValueCache(layers=3)
        >>> _ = model.decode(torch.tensor([[2, 8]]), memory, padding, cache)
        >>> model.decode(torch.tensor([[9]]), memory, padding, cache).shape
        torch.Size([1, 1, 90])
        >>> cache.length
        3
    """

    def __init__(self, layers: int) -> None:
        self.layers = [LayerCache() for _ in range(layers)]
        self.ids: Tensor | None = None  # (N, T) of the tokens that have been read

    @property
    def length(self) -> int:
        """How many tokens have been read."""
        return 0 if self.ids is None else self.ids.size(1)

    def read(self, ids: Tensor) -> Tensor:
        """Note the ids (N, L) of new tokens; those of all that are known now, (N, T + L), come back."""
        self.ids = ids if self.ids is None else torch.cat([self.ids, ids], dim=1)
        return self.ids

    def select(self, rows: Tensor, of_one_source: bool = False) -> None:
        """Go on with some of the sentences (see :meth:`AttentionCache.select`).

        Args:
            of_one_source: every sentence is replaced by one with the same source, as among the beams of one: the
                memory's keys and values stay where they are.
        """
        self.ids = None if self.ids is None else self.ids.index_select(0, rows)
        for layer in self.layers:
            layer.own.select(rows)
            if not of_one_source:
                layer.memory.select(rows)
