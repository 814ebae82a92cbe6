"""A recording as a file: safetensors, with a JSON description in its metadata. No pickle, nothing that runs."""

import json
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, get_args

import safetensors
from torch import Tensor

from transformer.checkpoint import write_safetensors
from transformer.masks import AttentionMasks, check_mask
from transformer.recording import Attention, Kind, Recording, Run, Site

FORMAT, VERSION = "headlight recording", 3
_READABLE = (1, 2, 3)  # the first lacks the weights of out-projections, the second edited attention
_HEADS = ("query", "key", "value")
_MASKS = ("attn_mask", "key_padding_mask", "zeroed")


class RecordingError(ValueError):
    """A file that is no recording, said in one sentence."""


class _Names:
    """The vocabulary of an opened recording: the ids that ran, with the names they had."""

    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def labels(self, ids: Sequence[int], /) -> list[str]:
        return [self.names[str(index)] for index in ids]


def write(recording: Recording, path: str | Path) -> None:
    """Write a recording; see :meth:`~transformer.recording.Recording.save`."""
    tensors: dict[str, Tensor] = {}
    weight_names: dict[int, str] = {}  # by id: attentions share a weight, and the file holds it once
    runs = []
    for i, run in enumerate(recording.runs):
        sites = []
        for site, attention in run.attentions.items():
            masks = attention.masks
            for name in _HEADS:
                tensors[f"{i}/{site}/{name}"] = getattr(attention, name)
            for name in _MASKS:
                if getattr(masks, name) is not None:
                    tensors[f"{i}/{site}/{name}"] = getattr(masks, name)
            weight = attention.out_proj_weight
            if weight is not None:
                tensors[weight_names.setdefault(id(weight), f"{i}/{site}/out_proj_weight")] = weight
            sites.append(
                {
                    "path": site,
                    "kind": site.kind,
                    "layer": site.layer,
                    "heads": site.heads,
                    "is_causal": masks.is_causal,
                    "appended": masks.appended,
                    "over_queries": masks.over_queries,
                    "masks": [name for name in _MASKS if getattr(masks, name) is not None],
                    "out_proj_weight": weight_names.get(id(weight)),
                }
            )
        parts = {"outputs": run.outputs, "hidden": run.hidden, "ids": run.ids}
        for part, values in parts.items():
            tensors.update({f"{i}/{part}/{name}": value for name, value in values.items()})
        runs.append({"sites": sites, **{part: list(values) for part, values in parts.items()}})
    if not Path(path).parent.is_dir():
        raise RecordingError(f"There is no folder {Path(path).parent} to save the recording in.")
    about = {
        "version": VERSION,
        "runs": runs,
        "names": _names(recording),
        "tokens": recording.assigned_tokens,
        "note": recording.note,
    }
    # Heads are views of one projection; a file wants each tensor by itself.
    apart = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}
    write_safetensors(Path(path), apart, {"format": FORMAT, "about": json.dumps(about)})


def _names(recording: Recording) -> dict[str, dict[str, str]]:
    """What each id that ran is called, by stream."""
    ran: dict[str, list[int]] = {}
    for run in recording.runs:
        for stream, ids in run.ids.items():
            ran[stream] = sorted({*ran.get(stream, ()), *ids.flatten().tolist()})
    labels = {stream: recording.labels(stream, ids) for stream, ids in ran.items()}
    return {
        stream: {str(i): str(label) for i, label in zip(ids, labels[stream], strict=True)}
        for stream, ids in ran.items()
    }


def open_recording(path: str | Path) -> Recording:
    """Read a recording that :meth:`~transformer.recording.Recording.save` wrote, bit for bit.

    Raises:
        RecordingError: no such file, another kind of file, a later version, or damage; said in one sentence.

    Example:
        >>> open_recording("no-such-file.safetensors")
        Traceback (most recent call last):
        transformer.recording_file.RecordingError: There is no file no-such-file.safetensors.
    """
    path = Path(path)
    if not path.is_file():
        raise RecordingError(f"There is no file {path.name}.")
    try:
        with safetensors.safe_open(path, "pt") as file:
            metadata = file.metadata() or {}
            if metadata.get("format") != FORMAT:
                raise RecordingError(f"{path.name} is a safetensors file, but not a recording of Headlight.")
            about = json.loads(metadata["about"])
            if about["version"] not in _READABLE:
                raise RecordingError(
                    f"{path.name} is a recording of version {about['version']}; "
                    f"this Headlight reads versions up to {VERSION}."
                )
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (safetensors.SafetensorError, OSError) as error:
        raise RecordingError(f"{path.name} is damaged or not a safetensors file.") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        if isinstance(error, RecordingError):
            raise
        raise RecordingError(f"{path.name} is a damaged recording: its description cannot be read.") from error
    try:
        return _assemble(about, tensors)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError) as error:
        raise RecordingError(f"{path.name} is a damaged recording: {_reason(error)}.") from error


def _assemble(about: dict[str, Any], tensors: dict[str, Tensor]) -> Recording:
    names = {stream: _Names(dict(known)) for stream, known in about["names"].items()}
    recording = Recording(names)
    described_sites = [site for run in about["runs"] for site in run["sites"]]
    weight_names = {site.get("out_proj_weight") for site in described_sites} - {None}
    weights = {name: tensors.pop(name) for name in weight_names}
    for i, described in enumerate(about["runs"]):
        run = Run()
        for site in described["sites"]:
            if site["kind"] not in get_args(Kind):
                raise ValueError(f"it describes an attention of kind {site['kind']!r}")
            path = Site(site["path"], site["kind"], int(site["layer"]), int(site["heads"]))
            masks = {name: tensors.pop(f"{i}/{path}/{name}") for name in site["masks"]}
            attention = Attention(
                **{name: tensors.pop(f"{i}/{path}/{name}") for name in _HEADS},
                masks=AttentionMasks(
                    **masks,
                    is_causal=bool(site["is_causal"]),
                    appended=int(site["appended"]),
                    over_queries=bool(site.get("over_queries", False)),
                ),
                out_proj_weight=weights.get(site.get("out_proj_weight")),
            )
            _check(path, attention)
            run.attentions[path] = attention
        for part in [f.name for f in fields(Run) if f.name != "attentions"]:
            getattr(run, part).update({name: tensors.pop(f"{i}/{part}/{name}") for name in described[part]})
        _check_parts(run)
        recording.runs.append(run)
    if tensors:
        raise ValueError(f"it holds {next(iter(tensors))}, which its description does not name")
    recording.tokens = {
        str(stream): [[str(label) for label in labels] for labels in sentences]
        for stream, sentences in about["tokens"].items()
    }
    recording.note = str(about["note"])
    for run in recording.runs:  # every id has its name
        for stream, ids in run.ids.items():
            recording.labels(stream, ids.flatten().tolist())
    return recording


def _check(site: Site, attention: Attention) -> None:
    """Raise ValueError unless query, key, value, masks and the out-projection fit together."""
    query, key, value, masks = attention.query, attention.key, attention.value, attention.masks
    shapes = [tuple(tensor.shape) for tensor in (query, key, value)]
    fit = (
        all(len(shape) == 4 for shape in shapes)
        and query.shape[:2] == key.shape[:2] == value.shape[:2]
        and query.size(1) == site.heads
        and query.size(3) == key.size(3)
        and key.size(2) == value.size(2)
        and 0 <= masks.appended <= key.size(2)
        and all(tensor.is_floating_point() for tensor in (query, key, value))
    )
    if not fit:
        raise ValueError(f"query, key and value of {site} have shapes {shapes} that do not fit together")
    weight, width = attention.out_proj_weight, value.size(1) * value.size(3)
    if weight is not None and (weight.shape != (width, width) or not weight.is_floating_point()):
        raise ValueError(f"the out-projection of {site} has shape {tuple(weight.shape)} and dtype {weight.dtype}")
    batch, heads, square = query.size(0), query.size(1), (query.size(2), key.size(2) - masks.appended)
    if masks.attn_mask is not None and masks.attn_mask.dim() == 4:
        shape = tuple(masks.attn_mask.shape)
        if shape[0] not in (1, batch) or shape[1] not in (1, heads):
            raise ValueError(f"the mask of {site} has shape {shape}")
        check_mask("attn_mask", masks.attn_mask, {"(L, S)": (*shape[:2], *square)})
        masks = replace(masks, attn_mask=None)
    masks.check(batch, heads, *square)


def _check_parts(run: Run) -> None:
    """Raise ValueError unless each output is an attention's, states are numbers and ids are (N, S) whole numbers."""
    if odd := run.outputs.keys() - run.attentions.keys():
        raise ValueError(f"the attention {next(iter(odd))} lacks its queries")
    for name, tensor in (run.outputs | run.hidden).items():
        if not tensor.is_floating_point():
            raise ValueError(f"what stands at {name} has dtype {tensor.dtype}")
    for stream, ids in run.ids.items():
        if ids.dim() != 2 or ids.is_floating_point():
            raise ValueError(f"the ids of {stream} have shape {tuple(ids.shape)} and dtype {ids.dtype}")


def _reason(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"it lacks {error.args[0]}"
    return str(error).rstrip(".")
