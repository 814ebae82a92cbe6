"""A new model begins with what fits of another's weights."""

import pytest
import torch
from small_models import made_up_pairs, small_model

from transformer import TextTransformer
from transformer.checkpoint import Checkpoint
from transformer.tokens import Tokenizer
from transformer.transfer import start_from


def parent(tokenizers: tuple[Tokenizer, Tokenizer], **changes: object) -> Checkpoint:
    return Checkpoint("parent", small_model(seed=5, **changes), *tokenizers)


def parameters(model: TextTransformer) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


@pytest.mark.parametrize("tied", [True, False])
def test_an_equal_model_takes_everything(tied, tokenizers):
    old, new = parent(tokenizers, tie_output=tied), small_model(seed=1, tie_output=tied)
    assert start_from(new, tokenizers, old) == parameters(new)
    for name, parameter in new.named_parameters():
        assert torch.equal(parameter, old.model.get_parameter(name))
        assert parameter.requires_grad


def test_rows_are_taken_piece_by_piece(tokenizers):
    old = parent(tokenizers)
    other = Tokenizer.train([target for _, target in made_up_pairs()] + ["the cat the cat"] * 9, 284)
    new, before = (small_model(seed=1, source_vocabulary=284) for _ in range(2))
    taken = start_from(new, (other, tokenizers[1]), old)
    pieces, theirs = (one.labels(range(len(one))) for one in (other, tokenizers[0]))
    shared = set(pieces) & set(theirs)
    assert 4 + 256 < len(shared) < 284
    for index, piece in enumerate(pieces):
        row = new.source_embedding.weight[index]
        if piece in shared:
            assert torch.equal(row, old.model.source_embedding.weight[theirs.index(piece)])
        else:
            assert torch.equal(row, before.source_embedding.weight[index])
    assert taken == parameters(new) - 24 * (284 - len(shared))
    assert torch.equal(new.target_embedding.weight, old.model.target_embedding.weight)


def test_vocabularies_of_one_size_are_told_apart_by_their_pieces(tokenizers):
    first, second = Tokenizer.of_letters("abc"), Tokenizer.of_letters("xca")
    sizes = {"source_vocabulary": 7, "target_vocabulary": 7, "tie_output": False}
    old, new = small_model(seed=5, **sizes), small_model(seed=1, **sizes)
    start_from(new, (second, second), Checkpoint("parent", old, first, first))
    for name in ("source_embedding.weight", "target_embedding.weight", "output.weight", "output.bias"):
        ours, theirs = new.get_parameter(name), old.get_parameter(name)
        assert torch.equal(ours[:4], theirs[:4])  # the special tokens
        assert torch.equal(ours[5:7], theirs[[6, 4]])  # c and a
        assert torch.equal(ours[4], small_model(seed=1, **sizes).get_parameter(name)[4])  # x


def test_more_layers_begin_with_the_ones_there_are(tokenizers):
    old, new = parent(tokenizers, num_encoder_layers=1), small_model(seed=1, num_encoder_layers=2)
    untouched = {k: v.clone() for k, v in new.named_parameters() if ".encoder.layers.1." in k}
    assert untouched
    assert start_from(new, tokenizers, old) == parameters(new) - sum(v.numel() for v in untouched.values())
    for name, parameter in new.named_parameters():
        assert torch.equal(
            parameter, untouched.get(name, parameter) if name in untouched else old.model.get_parameter(name)
        )


def test_what_has_another_shape_stays_as_it_is(tokenizers):
    old, new = parent(tokenizers, dim_feedforward=56), small_model(seed=1)
    start_from(new, tokenizers, old)
    fresh = small_model(seed=1)
    assert torch.equal(
        new.transformer.encoder.layers[0].linear1.weight, fresh.transformer.encoder.layers[0].linear1.weight
    )
    assert torch.equal(
        new.transformer.encoder.layers[0].self_attn.in_proj_weight,
        old.model.transformer.encoder.layers[0].self_attn.in_proj_weight,
    )


def test_a_tied_head_begins_an_untied_one(tokenizers):
    old, new = parent(tokenizers), small_model(seed=1, tie_output=False)
    assert start_from(new, tokenizers, old) == parameters(new)
    assert torch.equal(new.output.weight, old.model.target_embedding.weight)
    assert new.output.weight is not new.target_embedding.weight


def test_a_checkpoint_of_another_width_is_refused(tokenizers):
    with pytest.raises(ValueError, match="The checkpoint parent has d_model 12, but this model has 24"):
        start_from(small_model(), tokenizers, parent(tokenizers, d_model=12))
