"""The whole model: what it is made of, which tokens reach which logits, and what it refuses."""

import math
import re

import pytest
import torch
from torch import Tensor, nn

from transformer import TextTransformer, TransformerConfig
from transformer.layers import TransformerDecoderLayer, TransformerEncoderLayer
from transformer.positions import LearnedPositionalEncoding, PositionalEncoding
from transformer.text_model import TokenEmbedding

PAD = 0
SMALL = {
    "source_vocabulary": 20,
    "target_vocabulary": 17,
    "d_model": 12,
    "nhead": 3,
    "num_encoder_layers": 2,
    "num_decoder_layers": 2,
    "dim_feedforward": 16,
    "max_length": 16,
}
SOURCE = torch.tensor([[5, 6, 7, 8], [9, 10, 11, 12]])
TARGET = torch.tensor([[2, 5, 6], [2, 7, 8]])


def build(**options) -> TextTransformer:
    """A model in eval mode, in float64 so that equal means equal."""
    torch.manual_seed(0)
    return TextTransformer(TransformerConfig(**SMALL | options)).eval().double()


def single(architecture: str, **options) -> TextTransformer:
    return build(architecture=architecture, target_vocabulary=20, **options)


def close(one: Tensor, other: Tensor) -> bool:
    return torch.allclose(one, other, rtol=1e-9, atol=1e-9)


every_position = pytest.mark.parametrize("positions", ["sinusoidal", "learned", "none"])
norms = pytest.mark.parametrize("norm_first", [True, False], ids=["norm_first", "norm_last"])


@every_position
@norms
def test_shapes(positions: str, norm_first: bool) -> None:
    options = {"positions": positions, "norm_first": norm_first}
    assert build(**options)(SOURCE, TARGET).shape == (2, 3, 17)
    for architecture in ("encoder", "decoder"):
        model = build(architecture=architecture, tie_output=False, **options)
        assert model(SOURCE).shape == (2, 4, 17)
    memory, padding = build(**options).encode(SOURCE)
    assert memory.shape == (2, 4, 12)
    assert padding is None


def test_encode_and_decode_are_forward_in_two_steps() -> None:
    model, source = build(), torch.tensor([[5, 6, 7, PAD], [9, 10, 11, 12]])
    memory, padding = model.encode(source)
    assert padding.tolist() == [[False, False, False, True], [False] * 4]
    assert torch.equal(model.decode(TARGET, memory, padding), model(source, TARGET))


@norms
@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
def test_padding_does_not_change_the_logits_of_the_real_tokens(positions: str, norm_first: bool) -> None:
    options = {"positions": positions, "norm_first": norm_first}
    sources, targets = [[5, 6, 7, 8, 9], [10, 11]], [[2, 5], [2, 6, 7, 8]]
    model = build(**options)
    together = model(padded(sources), padded(targets))
    for row, (source, target) in enumerate(zip(sources, targets, strict=True)):
        alone = model(torch.tensor([source]), torch.tensor([target]))
        assert close(together[row, : len(target)], alone[0])
    for architecture in ("encoder", "decoder"):
        model = single(architecture, **options)
        together = model(padded(sources))
        for row, source in enumerate(sources):
            assert close(together[row, : len(source)], model(torch.tensor([source]))[0])


def padded(rows: list[list[int]]) -> Tensor:
    return nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=PAD)


def test_padding_of_the_target_is_not_looked_at_where_causality_would_allow_it() -> None:
    model = build(positions="none")
    padded_left = torch.tensor([[PAD, PAD, 2, 5]])
    assert close(model(SOURCE[:1], padded_left)[:, 2:], model(SOURCE[:1], padded_left[:, 2:]))


def test_padding_has_the_id_that_the_configuration_says() -> None:
    model, source = build(pad_id=4), torch.tensor([[5, 6, 4]])
    assert close(model(source, TARGET[:1]), model(source[:, :2], TARGET[:1]))
    assert not close(model(torch.tensor([[5, 6, 0]]), TARGET[:1]), model(source[:, :2], TARGET[:1]))


def test_a_sentence_of_padding_alone_gives_numbers() -> None:
    model = build()
    logits = model(torch.tensor([[PAD, PAD], [5, 6]]), torch.tensor([[PAD, PAD], [2, 5]]))
    assert logits.isfinite().all()
    logits[1].sum().backward()
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters())


def test_a_later_target_token_does_not_change_earlier_logits() -> None:
    model = build()
    logits = model(SOURCE, TARGET)
    for step in range(3):
        changed = TARGET.clone()
        changed[:, step] = 11
        after = model(SOURCE, changed)
        assert close(after[:, :step], logits[:, :step])
        assert all(not close(after[:, t], logits[:, t]) for t in range(step, 3))


def test_every_source_token_reaches_every_logit() -> None:
    model = build()
    logits = model(SOURCE, TARGET)
    for step in range(4):
        changed = SOURCE.clone()
        changed[:, step] = 15
        assert all(not close(model(changed, TARGET)[:, t], logits[:, t]) for t in range(3))


def test_a_decoder_alone_is_causal_and_an_encoder_is_not() -> None:
    changed = SOURCE.clone()
    changed[:, -1] = 15
    decoder, encoder = single("decoder"), single("encoder")
    assert close(decoder(changed)[:, :-1], decoder(SOURCE)[:, :-1])
    assert not close(decoder(changed)[:, -1], decoder(SOURCE)[:, -1])
    assert all(not close(encoder(changed)[:, s], encoder(SOURCE)[:, s]) for s in range(4))


@pytest.mark.parametrize(("positions", "told_apart"), [("sinusoidal", True), ("learned", True), ("none", False)])
def test_positions_reach_the_source_and_the_target(positions: str, told_apart: bool) -> None:
    """Without them the order of the source is lost, and one causal layer's last step sees a set of tokens."""
    model = build(positions=positions, num_decoder_layers=1)
    logits = model(SOURCE, TARGET)
    assert close(model(SOURCE[:, [2, 0, 3, 1]], TARGET), logits) != told_apart
    assert close(model(SOURCE, TARGET[:, [1, 0, 2]])[:, -1], logits[:, -1]) != told_apart
    encoder = single("encoder", positions=positions)
    assert close(encoder(SOURCE.flip(1)), encoder(SOURCE).flip(1)) != told_apart


def test_identical_sentences_of_a_batch_get_identical_logits() -> None:
    logits = build()(SOURCE[:1].expand(3, -1), TARGET[:1].expand(3, -1))
    assert close(logits, logits[:1].expand_as(logits))


def test_positions_are_added_once_and_before_the_first_layer() -> None:
    model = build()
    found = [name for name, module in model.named_modules() if isinstance(module, PositionalEncoding)]
    assert found == ["source_positions", "target_positions"]
    seen = []
    model.transformer.encoder.layers[0].register_forward_pre_hook(lambda module, args: seen.append(args[0]))
    model.encode(SOURCE)
    assert close(seen[0], model.source_positions(model.source_embedding(SOURCE)))


def test_learned_positions_have_max_length_rows_and_refuse_more() -> None:
    model = build(positions="learned", max_length=4)
    learned = [module for module in model.modules() if isinstance(module, LearnedPositionalEncoding)]
    assert [module.weight.shape for module in learned] == [(4, 12), (4, 12)]
    with pytest.raises(ValueError, match="5 positions, but only 4 were learned"):
        model(torch.tensor([[5] * 5]), TARGET[:1])


def test_sinusoidal_positions_go_on_beyond_max_length() -> None:
    assert build(max_length=4)(torch.tensor([[5] * 600]), TARGET[:1]).shape == (1, 3, 17)


def test_embeddings_are_scaled_by_the_square_root_of_the_width() -> None:
    model = build()
    for embedding in (model.source_embedding, model.target_embedding):
        assert close(embedding(TARGET), embedding.weight[TARGET] * math.sqrt(12))
    assert torch.equal(build(scale_embedding=False).source_embedding(SOURCE), build().source_embedding.weight[SOURCE])
    # Scaled, an embedded token has entries of about 1, as the positions have.
    assert 0.9 < TokenEmbedding(1000, 64)(torch.arange(1000)[None]).std() < 1.1


def pointers(*parameters: Tensor) -> int:
    return len({parameter.data_ptr() for parameter in parameters})


def test_the_output_shares_the_memory_of_the_embedding_if_tied() -> None:
    tied, free = build(), build(tie_output=False)
    assert tied.output.weight is tied.target_embedding.weight
    assert pointers(free.output.weight, free.target_embedding.weight) == 2
    for architecture in ("encoder", "decoder"):
        model = single(architecture)
        assert model.output.weight is model.source_embedding.weight
    with pytest.raises(ValueError, match="tie_output needs an embedding and an output head of one vocabulary"):
        build(architecture="encoder")


def test_source_and_target_share_one_table_if_told() -> None:
    shared = build(share_embeddings=True, target_vocabulary=20)
    assert shared.source_embedding is shared.target_embedding
    assert shared.output.weight is shared.source_embedding.weight
    assert pointers(build().source_embedding.weight, build().target_embedding.weight) == 2
    alone = build(share_embeddings=True, target_vocabulary=20, tie_output=False)
    assert pointers(alone.output.weight, alone.source_embedding.weight) == 2


def test_shared_memory_survives_a_state_dict() -> None:
    options = {"share_embeddings": True, "target_vocabulary": 20}
    model, other = build(**options), build(**options)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1)
    other.load_state_dict(model.state_dict(), strict=True)
    assert torch.equal(other(SOURCE, TARGET), model(SOURCE, TARGET))
    assert other.output.weight is other.source_embedding.weight


@pytest.mark.parametrize(
    ("architecture", "stacks"),
    [
        ("encoder-decoder", {"transformer.encoder.": 2, "transformer.decoder.": 3}),
        ("encoder", {"encoder.": 2}),
        ("decoder", {"decoder.": 3}),
    ],
)
def test_stacks_have_their_names_their_layers_and_a_last_norm(architecture: str, stacks: dict[str, int]) -> None:
    model = build(architecture=architecture, target_vocabulary=20, num_decoder_layers=3)
    layers = {
        name: module
        for name, module in model.named_modules()
        if isinstance(module, TransformerEncoderLayer | TransformerDecoderLayer)
    }
    assert list(layers) == [f"{stack}layers.{i}" for stack, number in stacks.items() for i in range(number)]
    assert all(isinstance(model.get_submodule(f"{stack}norm"), nn.LayerNorm) for stack in stacks)


@pytest.mark.parametrize("layer", ["transformer.encoder.layers.0", "transformer.decoder.layers.1"])
def test_layers_share_no_weights(layer: str) -> None:
    model = build()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    with torch.no_grad():
        for parameter in model.get_submodule(layer).parameters():
            parameter.add_(1.0)
    changed = {name for name, value in model.state_dict().items() if not torch.equal(value, before[name])}
    assert changed == {name for name in before if name.startswith(f"{layer}.")}


def test_options_reach_the_layers() -> None:
    options = {"activation": "gelu", "layer_norm_eps": 0.01, "dropout": 0.3, "bias": False, "norm_first": False}
    for architecture in ("encoder-decoder", "encoder", "decoder"):
        model = build(architecture=architecture, target_vocabulary=20, **options)
        for module in model.modules():
            if isinstance(module, TransformerEncoderLayer | TransformerDecoderLayer):
                assert module.activation is nn.functional.gelu
                assert not module.norm_first
                assert module.self_attn.in_proj_bias is None
                assert (module.self_attn.num_heads, module.linear1.out_features) == (3, 16)
            if isinstance(module, nn.LayerNorm):
                assert (module.eps, module.bias) == (0.01, None)
            if isinstance(module, nn.Dropout):
                assert module.p == 0.3


def test_eval_is_still_and_training_is_not() -> None:
    model = build(dropout=0.5)
    assert torch.equal(model(SOURCE, TARGET), model(SOURCE, TARGET))
    model.train()
    assert not torch.equal(model(SOURCE, TARGET), model(SOURCE, TARGET))


def test_weights_start_xavier_and_the_output_bias_at_zero() -> None:
    model = single("decoder", d_model=48, dim_feedforward=96)
    layer = model.decoder.layers[1]
    for weight in (layer.linear1.weight, layer.linear2.weight, layer.self_attn.out_proj.weight):
        bound = math.sqrt(6 / sum(weight.shape))
        assert 0.9 * bound < weight.abs().max() <= bound
    assert not model.output.bias.any()


def test_every_layers_attention_is_told_apart_by_name() -> None:
    """One hook on one shared layer would fire for all of them under one name."""
    model = build()
    names = [name for name, _ in model.named_modules() if name.endswith((".self_attn", ".multihead_attn"))]
    assert len(names) == 2 + 2 * 2
    fired = []
    for name in names:
        model.get_submodule(name).register_forward_hook(lambda module, args, out, name=name: fired.append(name))
    model(SOURCE, TARGET)
    assert sorted(fired) == sorted(names)


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (torch.tensor([[5, 20]]), "source holds ids from 5 to 20; the vocabulary has 20."),
        (torch.tensor([[-1, 5]]), "source holds ids from -1 to 5; the vocabulary has 20."),
        (torch.tensor([5, 6]), "source has shape (2,) and dtype torch.int64; wanted (N, S) of int64 or int32."),
        (torch.tensor([[5.0]]), "source has shape (1, 1) and dtype torch.float32; wanted (N, S) of int64 or int32."),
        (torch.tensor([[True]]), "source has shape (1, 1) and dtype torch.bool; wanted (N, S) of int64 or int32."),
        (torch.tensor([[5]], dtype=torch.int16), "dtype torch.int16; wanted (N, S) of int64 or int32."),
    ],
)
def test_bad_ids_are_refused(ids: Tensor, message: str) -> None:
    for model in (build(), single("encoder"), single("decoder")):
        given = (ids, TARGET[:1]) if model.config.architecture == "encoder-decoder" else (ids,)
        with pytest.raises(ValueError, match=re.escape(message)):
            model(*given)


def test_target_ids_are_held_against_the_targets_vocabulary() -> None:
    with pytest.raises(ValueError, match="target holds ids from 17 to 18; the vocabulary has 17"):
        build()(torch.tensor([[18, 19]]), torch.tensor([[17, 18]]))


def test_a_missing_target_and_one_too_much_are_refused() -> None:
    with pytest.raises(ValueError, match="encoder-decoder needs a target"):
        build()(SOURCE)
    for architecture in ("encoder", "decoder"):
        with pytest.raises(ValueError, match=f"architecture {architecture} reads no target"):
            single(architecture)(SOURCE, TARGET)


def test_int32_ids_give_what_int64_ids_give() -> None:
    assert torch.equal(build()(SOURCE.int(), TARGET.int()), build()(SOURCE, TARGET))
