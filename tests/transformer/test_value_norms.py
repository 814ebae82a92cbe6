"""How long a key's value is as its head writes it: beside the vectors themselves, which add up to the output."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import safetensors
import safetensors.torch
import torch
from hypothesis import given
from hypothesis import strategies as st
from small_models import padded_batch, small_model
from torch import Tensor, nn

from transformer import MultiheadAttention, TextTransformer, open_recording, record
from transformer.decoding import decode
from transformer.recording import Recording


def recorded(model: nn.Module, *arguments: Tensor, **keywords: object) -> Recording:
    with torch.no_grad(), record(model) as recording:
        model(*arguments, **keywords)
    return recording


def written(attention: MultiheadAttention, recording: Recording, site: str, sentence: int) -> Tensor:
    """(H, S, E): the value of every key as every head writes it, by sending it alone through the out-projection."""
    value = recording.value(site)[sentence].double()  # (H, S, D)
    heads, length, width = value.shape
    alone = torch.zeros(heads, length, heads * width, dtype=torch.float64)
    for head in range(heads):
        alone[head, :, head * width : (head + 1) * width] = value[head]
    return nn.functional.linear(alone, attention.out_proj.weight.detach().double())


def check(attention: MultiheadAttention, recording: Recording, site: str, output: Tensor) -> None:
    """Norms and weighted norms of every sentence and head; ``output`` is (N, L, E)."""
    for sentence in range(len(output)):
        vectors, pattern = written(attention, recording, site, sentence), recording.pattern(site, sentence=sentence)
        bias = 0 if attention.out_proj.bias is None else attention.out_proj.bias.detach()
        summed = torch.einsum("hls,hse->le", pattern.double(), vectors) + bias
        assert (summed - output[sentence]).abs().max() < 1e-5  # the vectors are those that were added up
        expected = vectors.norm(dim=-1).float()  # (H, S)
        norms = recording.value_norms(site, sentence=sentence)
        weighted = recording.weighted_norms(site, sentence=sentence)
        assert norms.dtype == weighted.dtype == torch.float32
        assert torch.allclose(norms, expected, rtol=1e-5, atol=1e-7)
        assert weighted.shape == pattern.shape
        assert torch.allclose(weighted, pattern * expected[:, None], rtol=1e-5, atol=1e-7)
        assert torch.allclose(recording.value_norms(site, "mean", sentence), expected.mean(dim=0), rtol=1e-5)
        of_mean = (pattern * expected[:, None]).mean(dim=0)  # not the mean pattern times the mean norm
        assert torch.allclose(recording.weighted_norms(site, "mean", sentence), of_mean, rtol=1e-5, atol=1e-7)
        for head in range(len(vectors)):
            assert torch.equal(recording.value_norms(site, head, sentence), norms[head])
            assert torch.allclose(recording.weighted_norms(site, head, sentence), weighted[head], rtol=1e-5, atol=1e-7)


@given(
    heads=st.integers(1, 3),
    width=st.integers(1, 4),
    lengths=st.tuples(st.integers(1, 4), st.integers(1, 5)),
    batch=st.integers(1, 2),
    batch_first=st.booleans(),
    bias=st.booleans(),
    added=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_norms_are_those_of_the_vectors_that_add_up_to_the_output(
    heads, width, lengths, batch, batch_first, bias, added, seed
):
    torch.manual_seed(seed)
    attention = MultiheadAttention(
        heads * width, heads, bias=bias, kdim=5, vdim=3, add_bias_kv=added, add_zero_attn=added, batch_first=batch_first
    )
    for parameter in attention.parameters():
        nn.init.normal_(parameter)
    query, key, value = (
        torch.randn(batch, n, e) for n, e in zip((lengths[0], *lengths[1:] * 2), (heads * width, 5, 3), strict=True)
    )
    given_tensors = [x if batch_first else x.transpose(0, 1) for x in (query, key, value)]
    recording = recorded(attention.eval(), *given_tensors)
    output = recording.output("")
    check(attention, recording, "", output if batch_first else output.transpose(0, 1))


@pytest.mark.parametrize("norm_first", [True, False])
def test_every_site_of_a_text_model(norm_first):
    model = small_model(norm_first=norm_first)
    recording = recorded(model, *padded_batch())
    assert len(recording.sites) == 4
    for site in recording.sites:
        check(model.get_submodule(site), recording, site, recording.output(site))


def test_by_hand():
    attention = MultiheadAttention(4, num_heads=2, bias=False, batch_first=True).eval()
    with torch.no_grad():
        attention.in_proj_weight.copy_(torch.eye(4).repeat(3, 1))
        attention.out_proj.weight.copy_(torch.tensor([[3.0, 0, 0, 0], [0, 0, 0, 0], [4, 0, 0, 0], [0, 0, 0, 2]]))
    x = torch.tensor([[[1.0, 7, 5, 0], [-2, 0, 0, 1]]])  # values, too: (1, 2, 4)
    recording = recorded(attention, x, x, x)
    # head 0 writes its first number as (3, ., 4, .), head 1 its second as (., ., ., 2)
    assert recording.value_norms("").tolist() == [[5, 10], [0, 2]]
    assert recording.value_norms("", "mean").tolist() == [2.5, 6]


@pytest.mark.parametrize("head", [None, 2, "mean"])
@pytest.mark.parametrize(("rows", "columns"), [(slice(1, 3), None), ([0, 4], [5, 0]), ([-1], [-6]), ([], [])])
def test_some_rows_and_columns_are_cut_from_the_whole(head, rows, columns):
    recording = recorded(small_model(), *padded_batch())
    site = recording.site("cross", 0)
    cut = recording.weighted_norms(site, head, 1, rows, columns)
    expected = recording.weighted_norms(site, head, 1)[..., rows, :]
    assert torch.allclose(cut, expected if columns is None else expected[..., columns], atol=1e-6)


def test_what_is_not_there_is_said():
    recording = recorded(small_model(), *padded_batch())
    site = recording.site("cross", 0)
    for read in (recording.value_norms, recording.weighted_norms):
        for beyond in ({"head": 3}, {"head": -1}, {"sentence": 3}, {"run": 1}):
            with pytest.raises(IndexError, match=f"{next(iter(beyond))} is "):
                read(site, **beyond)
        with pytest.raises(KeyError, match="No attention was recorded"):
            read("elsewhere")


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
def test_models_of_other_precisions(dtype):
    attention = MultiheadAttention(8, 2, batch_first=True).to(dtype).eval()
    x = torch.randn(1, 3, 8, dtype=dtype)
    recording = recorded(attention, x, x, x)
    expected = written(attention, recording, "", 0).norm(dim=-1).float()
    assert torch.allclose(recording.value_norms(""), expected, rtol=1e-5)


def in_place(weight: nn.Parameter) -> None:
    with torch.no_grad():
        weight.mul_(3)


def behind_autograd(weight: nn.Parameter) -> None:
    weight.data[:, ::2], weight.data[:, 1::2] = weight.data[:, 1::2].clone(), weight.data[:, ::2].clone()


def by_a_small_step(weight: nn.Parameter) -> None:
    weight.grad = torch.randn_like(weight)
    torch.optim.SGD([weight], lr=1e-5).step()


@pytest.mark.parametrize("change", [in_place, behind_autograd, by_a_small_step])
def test_a_recording_keeps_the_weights_that_ran(change: Callable[[nn.Parameter], None]):
    attention, x = MultiheadAttention(8, 2, batch_first=True).eval(), torch.randn(1, 3, 8)
    attention.out_proj.weight.data.mul_(20).round_()  # numbers whose sums are exact: a swap leaves them as they were
    before = recorded(attention, x, x, x)
    norms, weight = before.value_norms(""), attention.out_proj.weight.detach().clone()
    change(attention.out_proj.weight)
    after = recorded(attention, x, x, x)
    assert torch.equal(before.value_norms(""), norms)
    assert torch.equal(before.runs[0].attentions[""].out_proj_weight, weight)
    assert torch.equal(after.runs[0].attentions[""].out_proj_weight, attention.out_proj.weight)
    check(attention, after, "", after.output(""))
    attention.to(torch.bfloat16)
    assert recorded(attention, *[x.bfloat16()] * 3).runs[0].attentions[""].out_proj_weight.dtype == torch.bfloat16


def decoded(model: TextTransformer) -> Recording:
    with record(model) as recording:
        decode(model, padded_batch()[0], 4)
    return recording


def weights(recording: Recording) -> list[Tensor]:
    return [seen.out_proj_weight for run in recording.runs for seen in run.attentions.values()]


def test_recordings_share_the_copies_of_weights_that_stayed(tmp_path):
    model = small_model()
    one, other = decoded(model), decoded(model)
    assert len(one.runs) == 4
    assert len(weights(one)) == 2 + 2 * 4  # the encoder's, and the decoder's at every step
    assert len({id(weight) for weight in weights(one) + weights(other)}) == 4
    one.save(tmp_path / "steps")
    with safetensors.safe_open(tmp_path / "steps", "pt") as file:
        assert sum(name.endswith("/out_proj_weight") for name in file.keys()) == 4  # noqa: SIM118
    opened = open_recording(tmp_path / "steps")
    assert len({id(weight) for weight in weights(opened)}) == 4
    for i, run in enumerate(one.runs):
        for site in run.attentions:
            assert torch.equal(opened.value_norms(site, run=i), one.value_norms(site, run=i))


def test_copies_of_weights_leave_torchs_random_numbers_alone():
    torch.manual_seed(5)
    expected = torch.rand(1)
    attention, x = MultiheadAttention(8, 2).eval(), torch.ones(3, 1, 8)
    torch.manual_seed(5)
    recorded(attention, x, x, x)
    assert torch.equal(torch.rand(1), expected)


def of_version_1(recording: Recording, path: Path) -> Path:
    """Saved as it was before out-projections were recorded."""
    recording.save(path)
    with safetensors.safe_open(path, "pt") as file:
        tensors = {n: file.get_tensor(n) for n in file.keys() if not n.endswith("/out_proj_weight")}  # noqa: SIM118
        about = json.loads(file.metadata()["about"])
    for run in about["runs"]:
        for site in run["sites"]:
            del site["out_proj_weight"]
    metadata = {"format": "headlight recording", "about": json.dumps(about | {"version": 1})}
    safetensors.torch.save_file(tensors, path, metadata)
    return path


def test_an_older_file_opens_and_says_what_it_lacks(tmp_path):
    recording = recorded(small_model(), *padded_batch())
    opened = open_recording(of_version_1(recording, tmp_path / "old"))
    assert opened.sites == recording.sites
    site = opened.sites[0]
    assert torch.equal(opened.pattern(site), recording.pattern(site))
    for read in (opened.value_norms, opened.weighted_norms):
        with pytest.raises(KeyError, match=rf"lacks the out-projection of {site}: it is old"):
            read(site)
        with pytest.raises(IndexError):
            read(site, head=7)
    opened.save(tmp_path / "again")
    assert weights(open_recording(tmp_path / "again")) == [None] * 4
