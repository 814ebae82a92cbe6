"""A model that is read one token at a time, as decoding does it.

N batch · S source length · P prompt length · V vocabulary
"""

import math

import torch
from torch import Tensor

from transformer.cache import KeyValueCache
from transformer.text_model import TextTransformer


class Stepper:
    """Sentences that grow by a token a step, over one key/value cache; without one where the model does not read on.

    An encoder-decoder reads the source once, and the target grows from the begin token; a decoder alone goes on with
    the source itself.

    Args:
        model: in eval mode.
        source: (N, S) ids, padded at the end; for a decoder alone of one length.

    Raises:
        ValueError: an encoder alone, which has nothing that could grow; padding in what a decoder alone goes on with.
    """

    def __init__(self, model: TextTransformer, source: Tensor) -> None:
        config = model.config
        if config.architecture == "encoder":
            raise ValueError("A model of architecture encoder cannot decode; wanted encoder-decoder or decoder.")
        self.model = model
        self.cache = KeyValueCache(config.num_decoder_layers) if model.reads_on else None
        self.ids = source.new_zeros((source.size(0), 0))  # (N, T): what has been read, where no cache knows it
        self.memory: Tensor | None = None
        self.memory_padding: Tensor | None = None
        self.prompt = source.new_full((source.size(0), 1), config.bos_id)  # (N, P): what no step has to choose
        if config.architecture == "encoder-decoder":
            self.memory, self.memory_padding = model.encode(source)
        elif bool((source == config.pad_id).any()):
            raise ValueError("A decoder alone goes on with sources of one length; decode others apart.")
        else:
            self.prompt = torch.cat([self.prompt, source], dim=1)

    def begin(self) -> Tensor:
        """Read the prompts: (N, V), the logits of the token after them."""
        return self._read(self.prompt)

    def step(self, chosen: Tensor) -> Tensor:
        """Read one more token of each sentence: (N,) ids -> (N, V), the logits of the token after it."""
        return self._read(chosen[:, None])

    def select(self, rows: Tensor, of_one_source: bool = False) -> None:
        """Go on with some of the sentences (see :meth:`KeyValueCache.select`)."""
        self.ids = self.ids.index_select(0, rows)
        if self.cache is not None:
            self.cache.select(rows, of_one_source)
        if self.memory is not None and not of_one_source:
            self.memory = self.memory.index_select(0, rows)
            if self.memory_padding is not None:
                self.memory_padding = self.memory_padding.index_select(0, rows)

    def _read(self, ids: Tensor) -> Tensor:
        if self.cache is None:
            ids = self.ids = torch.cat([self.ids, ids], dim=1)
        if self.memory is None:
            logits = self.model.read(ids, self.cache)
        else:
            logits = self.model.decode(ids, self.memory, self.memory_padding, self.cache)
        logits = logits[:, -1]
        logits[:, self.model.config.pad_id] = -math.inf  # padding fills up batches; it is no token of a sentence
        return logits
