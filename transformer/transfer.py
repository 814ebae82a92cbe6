"""Beginning with what another model has learned."""

import torch
from torch import Tensor

from transformer.checkpoint import Checkpoint
from transformer.text_model import TextTransformer
from transformer.tokens import Tokenizer


@torch.no_grad()
def start_from(model: TextTransformer, tokenizers: tuple[Tokenizer, ...], checkpoint: Checkpoint) -> int:
    """Copy what fits from a checkpoint into a new model.

    A parameter is taken when its name and shape are the same. Of embeddings and the output head the rows are taken
    whose pieces stand in both vocabularies.

    Args:
        tokenizers: the new model's, one for each side.

    Returns:
        How many numbers were taken.

    Raises:
        ValueError: another width, of which next to nothing would fit.

    Source: Zoph et al. 2016; Kocmi and Bojar 2018; by piece: Aji et al. 2020.
    """
    if model.config.d_model != checkpoint.config.d_model:
        raise ValueError(
            f"The checkpoint {checkpoint.name} has d_model {checkpoint.config.d_model}, "
            f"but this model has {model.config.d_model}."
        )
    old = checkpoint.model.state_dict()
    source = _common(tokenizers[0], checkpoint.source_tokenizer)
    target = _common(tokenizers[-1], checkpoint.target_tokenizer)
    rows = {"source_embedding.weight": source, "target_embedding.weight": target}
    rows |= {"output.weight": target, "output.bias": target}
    return sum(
        _take(parameter, old[name], rows.get(name)) for name, parameter in model.named_parameters() if name in old
    )


def _take(new: Tensor, old: Tensor, rows: tuple[list[int], list[int]] | None) -> int:
    if rows is not None:
        new[rows[0]] = old[rows[1]]
        return new[rows[0]].numel()
    if new.shape != old.shape:
        return 0
    new.copy_(old)
    return new.numel()


def _common(new: Tokenizer, old: Tokenizer) -> tuple[list[int], list[int]]:
    """The ids, in either vocabulary, of the pieces that stand in both."""
    where = {piece: index for index, piece in enumerate(old.labels(range(len(old))))}
    pieces = new.labels(range(len(new)))
    both = [(index, where[piece]) for index, piece in enumerate(pieces) if piece in where]
    return [index for index, _ in both], [index for _, index in both]
