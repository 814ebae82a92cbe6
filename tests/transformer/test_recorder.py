"""Hooks write to the recordings that are open here and now, and to nothing else."""

import copy
import pickle
import threading
from contextlib import suppress

import pytest
import torch
from small_models import padded_batch, small_model
from torch import nn

from transformer import MultiheadAttention, TransformerEncoderLayer, record
from transformer import recorder as recorder_module

A = (torch.tensor([[11, 12, 3]]), torch.tensor([[2, 41]]))
B = (torch.tensor([[21, 22, 23, 3]]), torch.tensor([[2, 51, 52]]))


def number_of_hooks(model: nn.Module) -> int:
    return sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.modules())


def sources(recording) -> list[list[int]]:
    return [run.ids["source"][0].tolist() for run in recording.runs]


@torch.no_grad()
def test_hooks_are_installed_once_and_leave_no_trace_on_the_numbers():
    model = small_model()
    before = model(*A)
    assert number_of_hooks(model) == 0
    with record(model) as recording:
        during = model(*A)
    installed = number_of_hooks(model)
    assert installed > 0
    for _ in range(20):
        with record(model):
            model(*A)
    assert number_of_hooks(model) == installed
    assert torch.equal(before, during)
    assert torch.equal(before, model(*A))
    assert len(recording.runs) == 1


@torch.no_grad()
def test_without_a_block_nothing_is_kept():
    model = small_model()
    with record(model) as recording:
        pass
    attributes = {path: set(vars(module)) for path, module in model.named_modules()}
    model(*A)
    assert recording.runs == []
    assert recording.sites == ()
    assert recorder_module._open.get() == ()
    assert {path: set(vars(module)) for path, module in model.named_modules()} == attributes


def test_a_model_without_attention_is_refused_once_it_has_run():
    nothing = nn.Linear(2, 2)
    with pytest.raises(ValueError, match="No attention was seen in Linear"), record(nothing):
        nothing(torch.zeros(1, 2))
    assert number_of_hooks(nothing) == 0


@torch.no_grad()
def test_several_forwards_are_several_runs_and_the_last_is_read():
    model = small_model()
    with record(model) as recording:
        model(*A)
        model(*B)
    assert sources(recording) == [[11, 12, 3], [21, 22, 23, 3]]
    site = recording.site("encoder", 1)
    assert torch.equal(recording.pattern(site), recording.pattern(site, run=1))
    assert recording.pattern(site).shape == (3, 4, 4)
    assert recording.pattern(site, run=0).shape == (3, 3, 3)
    for read in (recording.query, recording.key, recording.value):
        assert read(site, run=0).shape == (1, 3, 3, 8)
    assert recording.output(site, run=0).shape == (1, 3, 24)
    assert recording.hidden("transformer.encoder.layers.1.after_feedforward", run=0).shape == (1, 3, 24)
    assert len(recording.sites) == 4


@torch.no_grad()
def test_a_model_driven_piece_by_piece_begins_a_run_where_a_piece_comes_again():
    model = small_model()
    with record(model) as recording:
        memory, padding = model.encode(A[0])
        model.decode(A[1], memory, padding)
        model.decode(A[1][:, :1], memory, padding)
        model.encode(B[0])
    kinds = [[site.kind for site in run.attentions] for run in recording.runs]
    assert kinds == [["encoder", "encoder", "decoder", "cross"], ["decoder", "cross"], ["encoder", "encoder"]]
    assert recording.query(recording.site("cross", 0)).size(2) == 1
    assert recording.query(recording.site("encoder", 0)).size(2) == 4


@torch.no_grad()
def test_a_module_called_twice_in_one_forward_is_two_sites():
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList([TransformerEncoderLayer(4, 1, 8, batch_first=True)])

        def forward(self, x):
            return self.layers[0](self.layers[0](x))

    model = Twice().eval()
    with record(model) as recording:
        output = model(torch.randn(1, 3, 4))
    assert recording.sites == ("layers.0.self_attn", "layers.0.self_attn#2")
    first, second = recording.sites
    assert [(site.kind, site.layer, site.heads) for site in (first, second)] == [("encoder", 0, 1)] * 2
    assert not torch.equal(recording.query(first), recording.query(second))
    assert not torch.equal(recording.output(first), recording.output(second))
    assert torch.equal(recording.hidden("layers.0.after_feedforward#2"), output)
    assert len(recording.runs) == 1


@torch.no_grad()
def test_nested_blocks_each_get_what_ran_inside_them():
    model, other = small_model(), small_model(seed=1, num_encoder_layers=1)
    with record(model) as outer:
        model(*A)
        with record(model) as inner, record(other) as of_other, record(model.transformer.encoder) as of_part:
            model(*B)
            other(*A)
        model(*A)
    assert sources(outer) == [[11, 12, 3], [21, 22, 23, 3], [11, 12, 3]]
    assert sources(inner) == [[21, 22, 23, 3]]
    assert sources(of_other) == [[11, 12, 3]]
    assert of_part.sites == ("layers.0.self_attn", "layers.1.self_attn")
    assert len(of_part.runs) == 1
    same = torch.equal(of_part.pattern("layers.1.self_attn"), inner.pattern(inner.site("encoder", 1)))
    assert same


@torch.no_grad()
def test_a_block_that_raises_is_closed_and_later_runs_go_unrecorded():
    model = small_model()
    with pytest.raises(RuntimeError, match="on purpose"), record(model) as recording:  # noqa: PT012
        model(*A)
        raise RuntimeError("on purpose")
    assert recorder_module._open.get() == ()
    model(*B)
    assert sources(recording) == [[11, 12, 3]]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
@torch.no_grad()
def test_a_forward_that_raises_leaves_no_run(error):
    model = small_model()

    def fail(*_: object) -> None:
        raise error

    with record(model) as recording:
        model(*A)
        handle = model.output.register_forward_hook(fail)  # when every attention has run already
        with suppress(error):
            model(*A)
        handle.remove()
        model(*B)
    assert sources(recording) == [[11, 12, 3], [21, 22, 23, 3]]
    with record(model) as later:
        model(*A)
    assert sources(later) == [[11, 12, 3]]


@torch.no_grad()
def test_bad_input_in_the_middle_of_a_block_is_as_if_it_had_not_been():
    model = small_model()
    with record(model) as recording:
        with pytest.raises(ValueError, match="target holds ids"):
            model(A[0], torch.tensor([[999]]))
        model(*B)
    assert sources(recording) == [[21, 22, 23, 3]]


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
@torch.no_grad()
def test_a_copy_of_a_recorded_model_records_once_and_by_itself(copied):
    model = small_model()
    with record(model) as recording:
        model(*A)
        twin = copied(model)
        twin(*B)
    assert sources(recording) == [[11, 12, 3]]
    with record(twin) as of_twin:
        twin(*B)
    assert sources(of_twin) == [[21, 22, 23, 3]]
    assert number_of_hooks(twin) == number_of_hooks(model)
    assert len(of_twin.runs[0].outputs) == len(of_twin.sites) == 4


@torch.no_grad()
def test_modules_added_later_are_recorded_too():
    model = nn.Sequential(TransformerEncoderLayer(4, 1, 8, batch_first=True)).eval()
    with record(model):
        model(torch.randn(1, 2, 4))
    model.append(TransformerEncoderLayer(4, 2, 8, batch_first=True).eval())
    with record(model) as recording:
        model(torch.randn(1, 2, 4))
    assert [(site, site.layer, site.heads) for site in recording.sites] == [
        ("0.self_attn", 0, 1), ("1.self_attn", 1, 2)
    ]  # fmt: skip


def test_training_goes_on_while_it_is_recorded():
    model, recorded_model = small_model().train(), small_model().train()
    gradients = []
    for subject, block in ((model, None), (recorded_model, record(recorded_model))):
        torch.manual_seed(3)
        if block is None:
            subject(*padded_batch()).sum().backward()
        else:
            with block as recording:
                subject(*padded_batch()).sum().backward()
        gradients.append([parameter.grad for parameter in subject.parameters()])
    for one, other in zip(*gradients, strict=True):
        assert torch.equal(one, other)
    for seen in recording.runs[0].attentions.values():
        assert not seen.query.requires_grad  # or the whole graph would stay alive
    site = recording.sites[0]
    # Dropout was on in the forward; a pattern is what stands before it.
    assert torch.allclose(recording.pattern(site).sum(dim=-1), torch.ones(3, 6), atol=1e-6)


@torch.no_grad()
def test_twenty_threads_on_one_model_each_get_their_own():
    model = small_model()
    inputs = [
        (torch.tensor([[10 + i, *range(30, 33 + i % 4), 3]]), torch.tensor([[2, *range(100 + i, 102 + i)]]))
        for i in range(20)
    ]
    alone, model_alone = [], small_model()  # another model of the same weights, which no thread uses
    for source, target in inputs:
        with record(model_alone) as recording:
            model_alone(source, target)
        alone.append(recording)

    together, errors, start = {}, [], threading.Barrier(20)

    def work(i: int) -> None:
        try:
            start.wait()  # the hooks, too, are installed by all at once
            with torch.no_grad(), record(model) as recording:
                for _ in range(5):
                    model(*inputs[i])
            together[i] = recording
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert number_of_hooks(model) == number_of_hooks(model_alone)
    for i, expected in enumerate(alone):
        recording = together[i]
        assert len(recording.runs) == 5
        assert recording.sites == expected.sites
        for run in range(5):
            assert torch.equal(recording.runs[run].ids["source"], inputs[i][0])
            assert torch.equal(recording.runs[run].ids["target"], inputs[i][1])
            for site in expected.sites:
                assert torch.allclose(recording.pattern(site, run=run), expected.pattern(site), atol=1e-6)
                assert torch.allclose(recording.output(site, run), expected.output(site), atol=1e-5)


@torch.no_grad()
def test_a_thread_without_a_block_is_not_seen_by_one_with_a_block():
    model = small_model()
    with record(model) as recording:
        thread = threading.Thread(target=lambda: model(*B))
        thread.start()
        thread.join()
        model(*A)
    assert sources(recording) == [[11, 12, 3]]


@torch.no_grad()
def test_the_forward_stays_on_the_fast_path_and_makes_no_pattern(monkeypatch):
    def slow(*_: object) -> None:
        raise AssertionError("the explicit path ran")

    monkeypatch.setattr("transformer.attention.scaled_dot_product_attention", slow)
    model = small_model()
    with record(model) as recording:
        model(*padded_batch())
    assert len(recording.sites) == 4


@torch.no_grad()
def test_asking_for_weights_while_recording_gives_them():
    attention, x = MultiheadAttention(4, num_heads=2, batch_first=True).eval(), torch.randn(2, 3, 4)
    with record(attention) as recording:
        _, weights = attention(x, x, x, average_attn_weights=False)
    assert torch.allclose(recording.pattern("", sentence=1), weights[1], atol=1e-6)
