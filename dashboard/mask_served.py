"""What the JavaScript of the mask lab may ask for over HTTP."""

from collections.abc import Callable
from typing import Any

from dashboard.asked import Asked, one_of, whole
from dashboard.mask_edits import Edit, read_edits
from dashboard.mask_files import MaskFileError, as_csv, as_npy, fitting, read_mask
from dashboard.mask_numbers import (
    all_masks,
    chance_numbers,
    layer_numbers,
    lint_numbers,
    masked_numbers,
    named_finding,
    written_numbers,
)
from dashboard.mask_probes import leak_numbers, padding_numbers
from dashboard.mask_runs import Batch, run
from dashboard.selection import sites_of
from transformer.pooling import Proceed
from transformer.recording import Kind

_MOST = 1_000


def _edits(asked: Asked) -> tuple[Edit, ...]:
    edits = read_edits(asked["edits"])
    if edits is None:
        raise ValueError("The edits cannot be read.")
    return edits


def _sentence(batch: Batch, asked: Asked) -> int:
    return whole(asked, "sentence", 0, len(batch.targets) - 1)


def _head(asked: Asked) -> tuple[Kind, int, int]:
    return one_of(Kind, asked, "kind"), whole(asked, "layer", 0, _MOST), whole(asked, "head", 0, _MOST)


def _masked(batch: Batch, asked: Asked, proceed: Proceed) -> dict[str, Any]:
    return masked_numbers(batch, _edits(asked), *_head(asked), _sentence(batch, asked))


def _chances(batch: Batch, asked: Asked, proceed: Proceed) -> dict[str, Any]:
    return chance_numbers(batch, _edits(asked), _sentence(batch, asked))


def _written(batch: Batch, asked: Asked, proceed: Proceed) -> dict[str, Any]:
    return written_numbers(batch, _edits(asked), _sentence(batch, asked))


def _layers(batch: Batch, asked: Asked, proceed: Proceed) -> dict[str, Any]:
    return layer_numbers(batch, _edits(asked), _sentence(batch, asked))


def _masks(batch: Batch, asked: Asked, proceed: Proceed) -> dict[str, Any]:
    return all_masks(batch, _edits(asked), *_head(asked))


def _check(batch: Batch, asked: Asked, proceed: Proceed) -> dict[str, Any]:
    return lint_numbers(batch, _edits(asked), *_head(asked), _sentence(batch, asked))


def _leaks(batch: Batch, asked: Asked, proceed: Proceed) -> dict[str, Any]:
    return leak_numbers(batch, _edits(asked), _sentence(batch, asked))


def _padding(batch: Batch, asked: Asked, proceed: Proceed) -> dict[str, Any]:
    return padding_numbers(batch, _edits(asked), _sentence(batch, asked))


def _uploaded(batch: Batch, asked: Asked, proceed: Proceed) -> dict[str, Any]:
    """A file's mask as it would be used, or the sentence that says why not.

    ``content`` has its bytes, a character of Latin-1 each.
    """
    kind, layer, head = _head(asked)
    mask = run(batch).recording.mask(sites_of(run(batch).recording, kind)[layer], head, _sentence(batch, asked))
    try:
        read = read_mask(asked["content"].encode("latin-1"))
    except MaskFileError as error:
        return {"error": str(error), "findings": []}
    used, findings = fitting(read, mask.size(0), mask.size(1), causal=kind == "decoder")
    named = [named_finding(one, [str(place + 1) for place in range(mask.size(0))]) for one in findings]
    shape = {"shape": list(read.shape), "wanted": list(mask.shape), "dtype": str(read.dtype)}
    return {"findings": named, **shape, **({} if used is None else {"mask": used.numpy()})}


def _file(batch: Batch, asked: Asked, proceed: Proceed) -> dict[str, Any]:
    """The head's mask as a file's content: numbers that are its bytes."""
    kind, layer, head = _head(asked)
    ran = run(batch, _edits(asked))
    mask = ran.recording.mask(sites_of(ran.recording, kind)[layer], head, _sentence(batch, asked))
    content = {"csv": as_csv, "npy": as_npy}[one_of(("csv", "npy"), asked, "format")](mask)
    return {"content": list(content)}


ANSWERS: dict[str, Callable[[Batch, Asked, Proceed], dict[str, Any]]] = {
    "masked": _masked,
    "chances": _chances,
    "written": _written,
    "layers": _layers,
    "masks": _masks,
    "check": _check,
    "leaks": _leaks,
    "padding": _padding,
    "uploaded": _uploaded,
    "file": _file,
}
