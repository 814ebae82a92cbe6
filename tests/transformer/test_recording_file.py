"""A recording comes back from its file bit for bit, and what is no recording is refused in one sentence."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import safetensors
import safetensors.torch
import torch
from hypothesis import given
from hypothesis import strategies as st
from small_models import padded_batch, small_model, untrained_checkpoint
from torch import Tensor

from transformer import MultiheadAttention, Transformer, open_recording, record
from transformer.decoding import decode
from transformer.recording import Recording
from transformer.recording_file import RecordingError


def refused(path: Path) -> str:
    """The one sentence with which a file is refused."""
    with pytest.raises(RecordingError) as caught:
        open_recording(path)
    message = str(caught.value)
    assert isinstance(caught.value, ValueError)
    assert "\n" not in message
    assert message.endswith(".")
    assert path.name in message
    return message


def assert_same_bits(one: Tensor | None, other: Tensor | None) -> None:
    if one is None or other is None:
        assert one is other
        return
    assert (one.dtype, one.shape) == (other.dtype, other.shape)
    assert one.contiguous().flatten().view(torch.uint8).equal(other.contiguous().flatten().view(torch.uint8))


def assert_same(one: Recording, other: Recording) -> None:
    assert [(s, s.kind, s.layer, s.heads) for s in one.sites] == [(s, s.kind, s.layer, s.heads) for s in other.sites]
    assert (one.tokens, one.note, len(one.runs)) == (other.tokens, other.note, len(other.runs))
    for i, (mine, theirs) in enumerate(zip(one.runs, other.runs, strict=True)):
        assert list(mine.attentions) == list(theirs.attentions)
        for site, attention in mine.attentions.items():
            read = theirs.attentions[site]
            for name in ("query", "key", "value", "out_proj_weight"):
                assert_same_bits(getattr(attention, name), getattr(read, name))
            for name in ("attn_mask", "key_padding_mask"):
                assert_same_bits(getattr(attention.masks, name), getattr(read.masks, name))
            flags = (attention.masks.is_causal, attention.masks.appended)
            assert flags == (read.masks.is_causal, read.masks.appended)
            assert torch.equal(one.pattern(site, run=i), other.pattern(site, run=i))
            for sentence in range(attention.query.size(0)):
                assert one.query_tokens(site, sentence, i) == other.query_tokens(site, sentence, i)
                assert one.key_tokens(site, sentence, i) == other.key_tokens(site, sentence, i)
        for part in ("outputs", "hidden", "ids"):
            assert list(getattr(mine, part)) == list(getattr(theirs, part))
            for name, tensor in getattr(mine, part).items():
                assert_same_bits(tensor, getattr(theirs, part)[name])


def padded_text() -> Recording:
    """Two forwards of a text model, with padding, the causal flag and a vocabulary; the texts are of one length."""
    checkpoint = untrained_checkpoint()
    vocabularies = {"source": checkpoint.source_tokenizer, "target": checkpoint.target_tokenizer}
    source, target = padded_batch()
    with torch.no_grad(), record(checkpoint.model, vocabularies) as recording:
        checkpoint.model(source, target)
        checkpoint.model(source.flip(0), target.flip(0))
    return recording


def decoding_steps() -> Recording:
    checkpoint = untrained_checkpoint()
    vocabularies = {"source": checkpoint.source_tokenizer, "target": checkpoint.target_tokenizer}
    with record(checkpoint.model, vocabularies) as recording:
        decode(checkpoint.model, padded_batch()[0], 4)
    return recording


def given_masks_and_added_keys() -> Recording:
    """Float masks for every head with -inf and NaN-free extremes, added keys, sequence-first, no ids."""
    attention = MultiheadAttention(8, 2, add_bias_kv=True, add_zero_attn=True).eval()
    mask = torch.randn(3 * 2, 4, 5).masked_fill(torch.rand(6, 4, 5) > 0.7, -torch.inf)
    mask[0, 0, 0] = torch.finfo(torch.float32).min
    with torch.no_grad(), record(attention) as recording:
        attention(torch.randn(4, 3, 8), torch.randn(5, 3, 8), torch.randn(5, 3, 8), attn_mask=mask)
    recording.tokens = {"source": [list("abcd"), ["", "😀", "\n", "</s>"], ["م", "▁", "\ud800", "d"]]}
    return recording


def half_precision(dtype: torch.dtype) -> Callable[[], Recording]:
    def make() -> Recording:
        model = Transformer(8, 2, 1, 1, 16, batch_first=True).eval().to(dtype)
        x, y = torch.randn(2, 5, 8, dtype=dtype), torch.randn(2, 3, 8, dtype=dtype)
        with torch.no_grad(), record(model) as recording:
            model(x, y, src_key_padding_mask=torch.tensor([[False] * 5, [False] * 4 + [True]]), tgt_is_causal=True)
        return recording

    return make


def nothing_ran() -> Recording:
    with record(small_model()) as recording:
        pass
    return recording


@pytest.mark.parametrize(
    "make",
    [
        padded_text,
        decoding_steps,
        given_masks_and_added_keys,
        half_precision(torch.float16),
        half_precision(torch.bfloat16),
        half_precision(torch.float64),
        nothing_ran,
    ],
)
def test_what_was_saved_is_what_is_opened(make, tmp_path):
    recording = make()
    recording.save(tmp_path / "a.safetensors", note="two\nlines, ünïcode 😀")
    opened = open_recording(tmp_path / "a.safetensors")
    assert opened.note == "two\nlines, ünïcode 😀"
    assert_same(recording, opened)
    opened.save(tmp_path / "b.safetensors")
    assert_same(recording, open_recording(tmp_path / "b.safetensors"))


def test_tokens_given_to_save_stay_with_the_recording(tmp_path):
    recording = nothing_ran()
    recording.save(str(tmp_path / "a"), tokens={"source": [("x", "y")]})
    assert recording.tokens == open_recording(tmp_path / "a").tokens == {"source": [["x", "y"]]}
    recording.save(tmp_path / "b", note="n")
    assert open_recording(tmp_path / "b").tokens == {"source": [["x", "y"]]}  # not forgotten when not given again


def test_every_run_of_an_opened_recording_has_its_own_names(tmp_path):
    recording = padded_text()
    recording.save(tmp_path / "a")
    opened = open_recording(tmp_path / "a")
    site = opened.site("encoder", 0)
    first, second = (opened.query_tokens(site, sentence=0, run=i) for i in (0, 1))
    assert first != second  # the texts are of one length, so that nothing but the ids tells them apart
    assert first == recording.query_tokens(site, sentence=0, run=0)


def test_an_opened_recording_cannot_run_anything(tmp_path):
    recording = nothing_ran()
    recording.save(tmp_path / "a")
    assert b"pickle" not in (tmp_path / "a").read_bytes()
    with safetensors.safe_open(tmp_path / "a", "pt") as file:
        assert file.metadata()["format"] == "headlight recording"


def test_a_save_that_is_cut_leaves_the_file_that_stood_there(tmp_path, monkeypatch):
    path = tmp_path / "a"
    nothing_ran().save(path, note="first")

    def cut(tensors: dict, filename: Path, metadata: dict) -> None:
        Path(filename).write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(safetensors.torch, "save_file", cut)
    with pytest.raises(KeyboardInterrupt):
        nothing_ran().save(path, note="second")
    assert open_recording(path).note == "first"


# What is no recording.


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("saved") / "good.safetensors"
    padded_text().save(path)
    return path


def parts_of(path: Path) -> tuple[dict[str, Tensor], dict]:
    with safetensors.safe_open(path, "pt") as file:
        return {name: file.get_tensor(name) for name in file.keys()}, json.loads(file.metadata()["about"])  # noqa: SIM118


def put_together(path: Path, tensors: dict[str, Tensor], about: object, form: str = "headlight recording") -> Path:
    text = about if isinstance(about, str) else json.dumps(about)
    safetensors.torch.save_file(tensors, path, {"format": form, "about": text})
    return path


@pytest.mark.parametrize("content", [b"", b"\x00", bytes(range(256)) * 40, b"not a recording\n" * 100, b"\xff" * 64])
def test_other_files_are_refused(content, tmp_path):
    path = tmp_path / "other.safetensors"
    path.write_bytes(content)
    assert "damaged or not a safetensors file" in refused(path)


def test_what_is_not_a_file_is_refused(tmp_path):
    assert "There is no file" in refused(tmp_path / "missing.safetensors")
    assert "There is no file" in refused(tmp_path)


def test_safetensors_of_something_else_are_refused(tmp_path):
    for metadata in (None, {"format": "pt"}):
        safetensors.torch.save_file({"weight": torch.ones(2)}, tmp_path / "weights.safetensors", metadata)
        assert "not a recording of Headlight" in refused(tmp_path / "weights.safetensors")


@pytest.mark.parametrize("share", [0.0005, 0.1, 0.5, 0.9, 0.99999])
def test_a_file_that_was_cut_is_refused(saved, share, tmp_path):
    content = saved.read_bytes()
    path = tmp_path / "cut.safetensors"
    path.write_bytes(content[: int(len(content) * share)])
    refused(path)


def test_bytes_added_at_the_end_are_refused(saved, tmp_path):
    path = tmp_path / "longer.safetensors"
    path.write_bytes(saved.read_bytes() + b"x")
    refused(path)


def test_a_later_version_is_refused_by_its_number(saved, tmp_path):
    tensors, about = parts_of(saved)
    assert "version 4" in refused(put_together(tmp_path / "later", tensors, about | {"version": 4}))


def test_missing_and_extra_tensors_are_named(saved, tmp_path):
    tensors, about = parts_of(saved)
    for name in tensors:
        others = {other: tensor for other, tensor in tensors.items() if other != name}
        assert name in refused(put_together(tmp_path / "missing", others, about))
    assert "intruder" in refused(put_together(tmp_path / "extra", tensors | {"intruder": torch.ones(1)}, about))


def wrong_tensors(tensors: dict[str, Tensor]) -> Iterator[tuple[str, Tensor]]:
    for name, tensor in tensors.items():
        yield name, tensor.to(torch.int32 if tensor.is_floating_point() else torch.float32)
        if "/hidden/" not in name and "/outputs/" not in name:
            yield name, tensor[..., None]
            yield name, tensor.flatten()
        if name.endswith(("/query", "/key", "/value", "_mask")):
            yield name, tensor[:1]
            yield name, tensor[:, 1:]


def test_shapes_and_dtypes_that_do_not_fit_are_refused(saved, tmp_path):
    tensors, about = parts_of(saved)
    shortened = {n: t for n, t in tensors.items() if n.startswith("0/") and ("encoder.layers.0" in n or "/ids/" in n)}
    one_run = about | {"runs": [json.loads(json.dumps(about["runs"][0]))]}
    one_run["runs"][0]["sites"] = one_run["runs"][0]["sites"][:1]
    for part in ("outputs", "hidden"):
        one_run["runs"][0][part] = [n for n in one_run["runs"][0][part] if "encoder.layers.0" in n]
    assert open_recording(put_together(tmp_path / "good", shortened, one_run)).sites
    checked = 0
    for name, wrong in wrong_tensors(shortened):
        if name.endswith("_mask") and wrong.is_floating_point() and wrong.shape == shortened[name].shape:
            continue  # a float mask is a mask
        refused(put_together(tmp_path / "wrong", shortened | {name: wrong.contiguous()}, one_run))
        checked += 1
    assert checked > 15


@pytest.mark.parametrize(
    "about",
    ["", "{", "[]", "null", "1", '"x"', "{}", '{"version": 1}', "[" * 100_000, '{"version": [1]}'],
    ids=["nothing", "cut", "list", "null", "number", "text", "empty", "no runs", "deep", "odd version"],
)
def test_descriptions_that_say_nothing_are_refused(about, saved, tmp_path):
    refused(put_together(tmp_path / "odd", parts_of(saved)[0], about))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("runs",), None),
        (("runs",), 3),
        (("runs",), [[]]),
        (("runs", 0, "sites"), {}),
        (("runs", 0, "sites", 0), "x"),
        (("runs", 0, "sites", 0, "kind"), "sideways"),
        (("runs", 0, "sites", 0, "kind"), []),
        (("runs", 0, "sites", 0, "path"), "elsewhere"),
        (("runs", 0, "sites", 0, "layer"), "x"),
        (("runs", 0, "sites", 0, "layer"), float("inf")),
        (("runs", 0, "sites", 0, "heads"), 2),
        (("runs", 0, "sites", 0, "heads"), None),
        (("runs", 0, "sites", 0, "appended"), 1),
        (("runs", 0, "sites", 0, "appended"), -1),
        (("runs", 0, "sites", 0, "masks"), []),
        (("runs", 0, "sites", 0, "masks"), ["nonsense"]),
        (("runs", 0, "sites", 0, "out_proj_weight"), "elsewhere"),
        (("runs", 0, "sites", 0, "out_proj_weight"), []),
        (("runs", 0, "outputs"), []),
        (("runs", 0, "hidden"), None),
        (("runs", 0, "ids"), ["source"]),
        (("tokens",), []),
        (("tokens",), {"source": 5}),
        (("names",), []),
        (("names",), {"source": {}}),
        (("names",), {"source": 7}),
    ],
)
def test_descriptions_that_do_not_fit_are_refused(path, value, saved, tmp_path):
    tensors, about = parts_of(saved)
    place = about
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    refused(put_together(tmp_path / "odd", tensors, about))


@given(data=st.data())
def test_bytes_changed_in_the_header_are_refused_or_harmless(data, saved, tmp_path_factory):
    content = bytearray(saved.read_bytes())
    header = 8 + int.from_bytes(content[:8], "little")
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, header - 1))] ^= data.draw(st.integers(1, 255))
    path = tmp_path_factory.mktemp("flipped") / "flipped.safetensors"
    path.write_bytes(bytes(content))
    try:
        recording = open_recording(path)
    except RecordingError:
        return
    # What was opened can be read: a changed letter in a name or a note is no damage that anybody could know.
    assert recording.tokens is not None
    for i, run in enumerate(recording.runs):
        for site in run.attentions:
            recording.pattern(site, run=i)
            recording.output(site, run=i)
            recording.query_tokens(site, run=i)
            recording.key_tokens(site, run=i)


def test_saving_into_a_missing_folder_is_refused_in_a_sentence(tmp_path):
    attention, x = MultiheadAttention(8, 2), torch.zeros(3, 1, 8)
    with record(attention) as recording:
        attention(x, x, x)
    with pytest.raises(RecordingError, match="There is no folder"):
        recording.save(tmp_path / "missing" / "one.safetensors")
