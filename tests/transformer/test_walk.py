"""A walk through a layer: every step beside what the modules really did, whatever the model is."""

import math

import pytest
import torch
from small_models import padded_batch, small_model
from torch import nn

from transformer import TransformerDecoderLayer, TransformerEncoderLayer, record
from transformer import attention as attention_module
from transformer.decoding import decode
from transformer.interventions import EditMask, edited
from transformer.mask_rules import MaskRule
from transformer.walk import walk

MODELS = {
    "pre-norm": {"num_decoder_layers": 2},
    "post-norm": {"num_decoder_layers": 2, "norm_first": False},
    "decoder alone": {"architecture": "decoder", "tie_output": False, "num_decoder_layers": 2},
    "decoder alone, post-norm": {
        "architecture": "decoder",
        "tie_output": False,
        "num_decoder_layers": 2,
        "norm_first": False,
    },
    "encoder alone": {"architecture": "encoder", "tie_output": False},
    "learned positions, gelu, no scale": {"positions": "learned", "activation": "gelu", "scale_embedding": False},
    "no positions, no bias": {"positions": "none", "bias": False},
}
SELF = ["projection", "heads", "scores", "mask", "softmax", "values", "joined", "out"]


def inputs(model):
    source, target = padded_batch()
    return (source, target) if model.config.architecture == "encoder-decoder" else (source,)


class Seen:
    """What the modules gave in a real forward, by path, seen by hooks of this test's own."""

    def __init__(self, model, *arguments):
        self.outputs, self.inputs = {}, {}
        hooks = [module.register_forward_hook(self.look(path)) for path, module in model.named_modules()]
        with torch.no_grad(), record(model) as self.recording:
            self.logits = model(*arguments)
        for hook in hooks:
            hook.remove()

    def look(self, path):
        def hook(module, arguments, output):
            self.inputs[path], self.outputs[path] = arguments, output[0] if isinstance(output, tuple) else output

        return hook


@pytest.fixture(scope="module", params=MODELS)
def seen(request):
    model = small_model(seed=3, **MODELS[request.param])
    with torch.no_grad():
        for parameter in model.parameters():  # norms and biases begin as ones and zeros, which hide mistakes
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model, Seen(model, *inputs(model))


def sites(model, seen):
    return [(site, head, sentence) for site in seen.recording.sites for head in (0, 2) for sentence in range(3)]


def close(got, expected):
    assert got.shape == expected.shape
    torch.testing.assert_close(got, expected.float(), atol=1e-5, rtol=1e-5)


def test_every_step_is_what_the_modules_did(seen):
    model, real = seen
    config = model.config
    for site, head, sentence in sites(model, real):
        way = walk(model, real.recording, site.kind, site.layer, head, sentence)
        assert way.site == site
        prefix, _, name = site.rpartition(".")
        stack, stream = prefix.split(".layers.")[0], "target" if prefix.startswith("transformer.decoder") else "source"
        cross, norm = name == "multihead_attn", "norm2" if name == "multihead_attn" else "norm1"
        decoder = isinstance(model.get_submodule(prefix), TransformerDecoderLayer)
        last_norm = "norm3" if decoder else "norm2"

        def of(path, sentence=sentence):
            return real.outputs[path][sentence]

        expected = {}
        if site.layer == 0:
            vectors = model.get_submodule(f"{stream}_embedding").weight[real.recording.runs[0].ids[stream][sentence]]
            expected |= {"embedding": vectors.detach(), "positions": of(f"{stream}_positions")}
            if config.scale_embedding:
                expected["scaled"] = vectors.detach() * math.sqrt(24)
        else:
            expected["input"] = of(f"{stack}.layers.{site.layer - 1}")
        if cross:
            expected["memory"] = of("transformer.encoder.norm")
        heads = real.inputs[f"{site}.attention"][:3]
        scores = heads[0][sentence, head] @ heads[1][sentence, head].T / math.sqrt(8)
        expected |= {
            "scores": scores,
            "mask": scores + real.recording.mask(site, head, sentence),
            "softmax": real.recording.pattern(site, head, sentence),
            "values": of(f"{site}.attention")[head],
            "joined": of(f"{site}.attention").transpose(0, 1).flatten(1),
            "out": of(site),
            "linear1": of(f"{prefix}.linear1"),
            "activation": model.get_submodule(prefix).activation(of(f"{prefix}.linear1")),
            "linear2": of(f"{prefix}.linear2"),
            "norm": of(f"{prefix}.{norm}"),
            "ff_norm": of(f"{prefix}.{last_norm}"),
        }
        if config.norm_first:
            expected |= {"add": of(f"{prefix}.after_{name}"), "ff_add": of(prefix)}
        else:
            expected |= {
                "add": real.inputs[f"{prefix}.{norm}"][0][sentence],
                "ff_add": real.inputs[f"{prefix}.{last_norm}"][0][sentence],
            }
        if decoder:
            other = "self_attention" if cross else "cross_attention"
            expected[other] = of(f"{prefix}.after_{'self_attn' if cross else 'multihead_attn'}")
        if site.layer == model.get_submodule(stack).num_layers - 1:
            expected["final_norm"] = of(f"{stack}.norm")
            if stack != "transformer.encoder":
                expected["logits"] = real.logits[sentence]
        if config.positions == "none":
            expected.pop("positions", None)
        for step in way.steps:
            if step.name == "ids":
                ids = real.recording.runs[0].ids[stream][sentence]
                assert step.tensor.tolist() == [[float(one)] for one in ids]
            elif step.name == "projection":
                for one, tensor in zip(step.values, heads, strict=True):
                    close(one.tensor, tensor[sentence].transpose(0, 1).flatten(1))
            elif step.name == "heads":
                for one, tensor in zip(step.values, heads, strict=True):
                    close(one.tensor, tensor[sentence, head])
            else:
                close(step.tensor, expected.pop(step.name))
        assert not expected
        assert [[one.name for one in step.values] for step in way.steps if len(step.values) > 1] == [
            ["q", "k", "v"]
        ] * 2
        sums = way.step("softmax").tensor.sum(dim=-1)
        nothing = real.recording.fully_masked(site, sentence, head)
        torch.testing.assert_close(sums, (~nothing).float())


BEGIN = ["ids", "embedding", "scaled", "positions"]
FEEDFORWARD = ["linear1", "activation", "linear2", "ff_add"]


@pytest.mark.parametrize(
    ("changes", "kind", "layer", "names"),
    [
        ({}, "encoder", 0, [*BEGIN, "norm", *SELF, "add", "ff_norm", *FEEDFORWARD]),
        ({}, "encoder", 1, ["input", "norm", *SELF, "add", "ff_norm", *FEEDFORWARD, "final_norm"]),
        ({"norm_first": False}, "encoder", 0, [*BEGIN, *SELF, "add", "norm", *FEEDFORWARD, "ff_norm"]),
        (
            {}, "decoder", 0,
            [*BEGIN, "norm", *SELF, "add", "cross_attention", "ff_norm", *FEEDFORWARD, "final_norm", "logits"],
        ),
        (
            {}, "cross", 0,
            [*BEGIN, "self_attention", "norm", "memory", *SELF, "add", "ff_norm", *FEEDFORWARD, "final_norm", "logits"],
        ),
        (
            {"norm_first": False}, "cross", 0,
            [*BEGIN, "self_attention", "memory", *SELF, "add", "norm", *FEEDFORWARD, "ff_norm", "final_norm", "logits"],
        ),
        (
            {"num_decoder_layers": 2}, "decoder", 0,
            [*BEGIN, "norm", *SELF, "add", "cross_attention", "ff_norm", *FEEDFORWARD],
        ),
    ],
)  # fmt: skip
def test_steps_stand_in_the_order_in_which_the_layer_does_them(changes, kind, layer, names):
    model = small_model(**changes)
    way = walk(model, Seen(model, *inputs(model)).recording, kind, layer, 0)
    assert [step.name for step in way.steps] == names
    parts = list(dict.fromkeys(step.part for step in way.steps))
    order = ["begin", "self_attention", "cross_attention", "feedforward", "end"]
    assert parts == sorted(parts, key=order.index)


def test_a_recorded_tensor_is_the_recorded_one(seen):
    model, real = seen
    for site in real.recording.sites:
        way = walk(model, real.recording, site.kind, site.layer, 1, 2)
        read = (real.recording.query, real.recording.key, real.recording.value)
        for one, recorded in zip(way.step("heads").values, read, strict=True):
            assert torch.equal(one.tensor, recorded(site)[2, 1])
        assert torch.equal(way.step("out").tensor, real.recording.output(site)[2])
        assert torch.equal(way.step("softmax").tensor, real.recording.pattern(site, 1, 2))


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_shapes_are_those_of_a_layer_with_its_batch_first_or_not(monkeypatch, batch_first, kind):
    model = small_model()
    way = walk(model, Seen(model, *inputs(model)).recording, kind, 0, 1)
    assert way.sizes == {
        "N": 3, "L": 6 if kind == "encoder" else 5, "S": 5 if kind == "decoder" else 6,
        "H": 3, "D": 8, "E": 24, "F": 40, "V": 281,
    }  # fmt: skip
    projected = []
    plain = attention_module.in_projection_packed

    def spy(*arguments):
        projected.extend(plain(*arguments))
        return projected[-3:]

    monkeypatch.setattr(attention_module, "in_projection_packed", spy)
    source, target = (torch.randn(3, length, 24) for length in (6, 5))
    if not batch_first:
        source, target = source.transpose(0, 1), target.transpose(0, 1)
    sizes = (24, 3, 40)
    if kind == "encoder":
        layer, name = TransformerEncoderLayer(*sizes, batch_first=batch_first, norm_first=True), "self_attn"
        real = Seen(layer, source)
    else:
        layer = TransformerDecoderLayer(*sizes, batch_first=batch_first, norm_first=True)
        name = "multihead_attn" if kind == "cross" else "self_attn"
        real = Seen(layer, target, source)
    tensors = {
        "norm": real.outputs["norm2" if kind == "cross" else "norm1"],
        "values": real.outputs[f"{name}.attention"],
        "out": real.outputs[name],
        "add": real.outputs[f"after_{name}"],
        "linear1": real.outputs["linear1"],
        "linear2": real.outputs["linear2"],
    }
    for step, tensor in tensors.items():
        assert shape(way, way.step(step).values[0], batch_first) == tuple(tensor.shape), step
    first = 3 if kind == "cross" else 0
    for one, tensor in zip(way.step("projection").values, projected[first : first + 3], strict=True):
        assert shape(way, one, batch_first) == tuple(tensor.shape)
    for one, tensor in zip(way.step("heads").values, real.inputs[f"{name}.attention"], strict=False):
        assert shape(way, one, batch_first) == tuple(tensor.shape)
    assert shape(way, way.step("joined").values[0], batch_first) == shape(way, way.step("projection").values[0], True)
    if kind == "cross":
        assert shape(way, way.step("memory").values[0], batch_first) == tuple(source.shape)
    pattern = (3, 3, way.sizes["L"], way.sizes["S"])
    assert {shape(way, way.step(step).values[0], batch_first) for step in ("scores", "mask", "softmax")} == {pattern}


def shape(way, values, batch_first):
    return tuple(way.sizes[letter] for letter in values.shape(batch_first))


def test_the_matrix_of_a_step_has_the_sizes_of_its_letters(seen):
    model, real = seen
    for site in real.recording.sites:
        way = walk(model, real.recording, site.kind, site.layer, 0)
        for one in (one for step in way.steps for one in step.values):
            left = [letter for letter in one.axes if letter not in "NH"]
            expected = [way.sizes[letter] for letter in left]
            assert list(one.tensor.shape) == (expected if len(expected) == 2 else [*expected, 1])


def test_it_begins_with_the_output_of_the_layer_before(seen):
    model, real = seen
    for site in real.recording.sites:
        if site.layer:
            before = walk(model, real.recording, site.kind, site.layer - 1, 0, 1).step
            name = "ff_add" if model.config.norm_first else "ff_norm"
            assert torch.equal(
                walk(model, real.recording, site.kind, site.layer, 0, 1).step("input").tensor, before(name).tensor
            )


def test_nothing_of_the_model_is_changed_and_no_random_number_drawn():
    model = small_model()
    real = Seen(model, *inputs(model))
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    state = torch.get_rng_state()
    walk(model, real.recording, "cross", 0, 0)
    assert torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())
    assert all(parameter.grad is None for parameter in model.parameters())


def test_the_run_that_is_meant_is_walked():
    model = small_model()
    with torch.no_grad(), record(model) as recording:
        model(*padded_batch())
        model(torch.tensor([[5, 3]]), torch.tensor([[2, 6, 7]]))
    assert walk(model, recording, "cross", 0, 0).step("softmax").tensor.shape == (3, 2)
    first = walk(model, recording, "cross", 0, 0, sentence=1, run=0)
    assert torch.equal(first.step("softmax").tensor, recording.pattern(first.site, 0, 1, run=0))


# What cannot be walked.


def test_a_model_of_other_weights_is_refused():
    model = small_model()
    real = Seen(model, *inputs(model))
    for part in ("self_attn.in_proj_weight", "self_attn.out_proj.weight", "linear2.bias"):
        other = small_model()
        with torch.no_grad():
            weight = other.transformer.encoder.layers[0].get_parameter(part)
            weight.add_(0.1 * torch.randn_like(weight))
        with pytest.raises(ValueError, match="its weights are others"):
            walk(other, real.recording, "encoder", 0, 0)
    other = small_model()
    with torch.no_grad():
        other.source_embedding.weight.mul_(1.1)
    with pytest.raises(ValueError, match="its weights are others"):
        walk(other, real.recording, "encoder", 0, 0)
    for changes in ({"architecture": "decoder", "tie_output": False}, {"d_model": 12}, {"num_encoder_layers": 1}):
        with pytest.raises(ValueError, match="its weights are others"):
            walk(small_model(**changes), real.recording, "encoder", 1, 0)


def test_a_forward_with_dropout_is_refused():
    model = small_model(dropout=0.5).train()
    for kind in ("encoder", "decoder", "cross"):
        with pytest.raises(ValueError, match="its weights are others"):
            walk(model, Seen(model, *inputs(model)).recording, kind, 0, 0)


def test_an_edited_attention_is_refused_and_another_mask_is_not():
    model = small_model()
    cut = edited(model, [EditMask(rule=MaskRule(cells=((1, 0, -math.inf),)), renormalise=False)])
    with pytest.raises(ValueError, match="edited"):
        walk(cut, Seen(cut, *inputs(model)).recording, "encoder", 0, 0)
    masked = edited(model, [EditMask(rule=MaskRule(cells=((1, 0, -math.inf),)))])  # only another mask
    way = walk(masked, Seen(masked, *inputs(model)).recording, "encoder", 0, 0)
    assert way.step("mask").tensor[1, 0] == -math.inf


def test_a_decoding_step_on_a_cache_is_refused_in_a_sentence():
    model = small_model(num_decoder_layers=2)
    with torch.inference_mode(), record(model) as recording:
        decode(model, torch.tensor([[5, 6, 3]]), 4)
    for kind in ("decoder", "cross"):
        for layer in (0, 1):
            with pytest.raises(ValueError, match="as a whole"):
                walk(model, recording, kind, layer, 0)


def test_an_attention_that_is_not_there():
    model = small_model()
    real = Seen(model, *inputs(model))
    with pytest.raises(KeyError):
        walk(model, real.recording, "encoder", 7, 0)
    for wrong in ({"head": 3}, {"head": -1}, {"head": 0, "sentence": 3}, {"head": 0, "run": 2}):
        with pytest.raises(IndexError):
            walk(model, real.recording, "encoder", 0, **wrong)
    with pytest.raises(KeyError):
        walk(model, real.recording, "encoder", 0, 0).step("memory")


def test_a_norm_without_bias_is_walked():
    model = small_model(bias=False)
    assert isinstance(model.transformer.encoder.layers[0].norm1, nn.LayerNorm)
    way = walk(model, Seen(model, *inputs(model)).recording, "encoder", 0, 0)
    assert [line.sign for line in way.step("norm").values[0].explain(0, 0).lines] == [
        "start",
        "mean",
        "deviation",
        "gain",
    ]
