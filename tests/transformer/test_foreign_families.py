"""Models of transformers, tiny and random: recorded patterns equal the attentions that they give themselves."""

import pytest
import torch
import transformers

from transformer import record

ATOL = 1e-5
WIDTH = {"vocab_size": 50, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
IDS = torch.tensor([[5, 6, 7, 8, 9, 2], [10, 11, 12, 2, 0, 0]])
LEFT = torch.tensor([[5, 6, 7, 8, 9, 2], [0, 0, 10, 11, 12, 2]])
TARGET = torch.tensor([[1, 15, 16, 17], [1, 18, 19, 0]])


def gpt2():
    return transformers.GPT2LMHeadModel(
        transformers.GPT2Config(n_embd=16, n_layer=2, n_head=4, n_positions=32, **WIDTH)
    )


def llama():
    sizes = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(num_key_value_heads=2, **sizes, **WIDTH))


def bert():
    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
    return transformers.BertModel(transformers.BertConfig(**sizes, **WIDTH))


def marian():
    sides = {f"{side}_{what}": 2 for side in ("encoder", "decoder") for what in ("layers", "attention_heads")}
    sizes = {"d_model": 16, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32, "decoder_start_token_id": 0}
    return transformers.MarianMTModel(transformers.MarianConfig(**sides, **sizes, **WIDTH))


def t5():
    sizes = {"d_model": 16, "d_kv": 4, "d_ff": 32, "num_layers": 2, "num_heads": 4, "decoder_start_token_id": 0}
    return transformers.T5ForConditionalGeneration(transformers.T5Config(**sizes, **WIDTH))


def check(recording, kind, attentions, real_rows):
    """Of each layer (N, H, L, S), where the row stands for no padding."""
    sites = [site for site in recording.sites if site.kind == kind]
    assert len(sites) == len(attentions)
    for site, wanted in zip(sites, attentions, strict=True):
        for sentence, rows in enumerate(real_rows):
            found = recording.pattern(site, None, sentence)
            torch.testing.assert_close(found[:, rows], wanted[sentence][:, rows].float(), atol=ATOL, rtol=0)


def made(build):
    torch.manual_seed(7)
    model = build().eval()
    weights = {name: torch.randn_like(weight) for name, weight in model.named_parameters() if "rel" in name}
    model.load_state_dict(weights, strict=False)  # T5's biases, which begin near 0
    return model


def by_hand(build, **asked):
    """The same model with the softmax written out, which gives its attentions."""
    model = made(build)
    model.set_attn_implementation("eager")
    return model(**asked, output_attentions=True)


@torch.no_grad()
@pytest.mark.parametrize("ids", [IDS, LEFT], ids=["right", "left"])
@pytest.mark.parametrize(("build", "kind"), [(gpt2, "other"), (llama, "other"), (bert, "encoder")])
def test_one_text(build, kind, ids):
    asked = {"input_ids": ids, "attention_mask": (ids != 0).long()}
    model = made(build)
    before = model(**asked)[0]
    with record(model) as recording:
        output = model(**asked)[0]
    assert torch.equal(output, before)
    check(recording, kind, by_hand(build, **asked).attentions, ids != 0)
    for sentence in range(2):
        assert not recording.pattern(recording.sites[0], None, sentence)[:, ids[sentence] != 0][
            ..., ids[sentence] == 0
        ].any()
    assert recording.query_tokens(recording.sites[0]) == [str(one) for one in ids[0].tolist()]


@torch.no_grad()
@pytest.mark.parametrize("ids", [IDS, LEFT], ids=["right", "left"])
@pytest.mark.parametrize("build", [marian, t5])
def test_source_and_target(build, ids):
    asked = {"input_ids": ids, "attention_mask": (ids != 0).long(), "decoder_input_ids": TARGET, "use_cache": False}
    with record(model := made(build)) as recording:
        model(**asked)
    wanted = by_hand(build, **asked)
    check(recording, "encoder", wanted.encoder_attentions, ids != 0)
    check(recording, "decoder", wanted.decoder_attentions, [torch.ones(4).bool()] * 2)
    check(recording, "cross", wanted.cross_attentions, [torch.ones(4).bool()] * 2)
    cross = next(site for site in recording.sites if site.kind == "cross")
    assert recording.key_tokens(cross, 1) == [str(one) for one in ids[1].tolist()]
    assert recording.query_tokens(cross) == [str(one) for one in TARGET[0].tolist()]


def test_what_writes_its_softmax_out_is_said_to_be_unseen():
    model = made(gpt2)
    model.set_attn_implementation("eager")
    with pytest.raises(ValueError, match='attn_implementation="sdpa"'), record(model):
        model(IDS)
