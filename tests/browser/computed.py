"""Patterns computed in this process, to compare with what the browser shows; and what its pictures are made of."""

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from browsing import EXPLORER, shown
from playwright.sync_api import Page

from dashboard.figures.colours import Colours, full_colour
from transformer.checkpoint import Checkpoint
from transformer.recorder import record
from transformer.units import units_of

SOURCE, TARGET = "The cat saw the dog and the dog saw the cat.", "猫看见了狗，狗也看见了猫。"
ASKED = {"source": SOURCE, "target_from": "type", "target": TARGET}


class Computed:
    """One teacher-forced forward of a checkpoint with a source and a target; a decoder alone has only a target.

    Attributes:
        ids: of the target.
        source, target: the labels of their tokens.
        read: those of what the decoder reads: the target, one token late.
        logits: (T, V).
    """

    def __init__(self, asked: Checkpoint, source: str = SOURCE, target: str | Sequence[int] = TARGET) -> None:
        self.asked = asked
        self.ids = asked.target_ids(target) if isinstance(target, str) else list(target)
        read_ids = [asked.config.bos_id, *self.ids[:-1]]
        alone = asked.config.architecture == "decoder"
        source_ids = [] if alone else asked.source_ids(source)
        self.source = asked.source_tokenizer.labels(source_ids)
        self.target, self.read = asked.target_tokenizer.labels(self.ids), asked.target_tokenizer.labels(read_ids)
        inputs = [torch.tensor([ids]) for ids in ([read_ids] if alone else [source_ids, read_ids])]
        with torch.inference_mode(), record(asked.model) as self.recording:
            self.logits = asked.model(*inputs)[0]

    @property
    def probabilities(self) -> torch.Tensor:
        """(T, V)"""
        return self.logits.softmax(dim=-1)

    def names(self, ids: Sequence[int]) -> list[str]:
        """What tokens are called, each by itself."""
        return names_of(self.asked, ids)

    def weights(self, kind: str, layer: int, head: int | None) -> np.ndarray:
        """(L, S) weights, or (H, L, S) of all heads, counted from 0; not-a-number where the mask forbids a cell."""
        site = self.recording.site(kind, layer)
        blocked = np.isneginf(self.recording.mask(site, head).numpy())
        return np.where(blocked, np.nan, self.recording.pattern(site, head).numpy())

    def shares(self, kind: str, layer: int, head: int) -> np.ndarray:
        """The same as shares of full colour, at most 1."""
        weights = self.weights(kind, layer, head)
        return np.minimum(1.0, weights / full_colour(weights.shape[1]))


def names_of(asked: Checkpoint, ids: Sequence[int]) -> list[str]:
    """What tokens of a checkpoint's target are called, each by itself."""
    return [units_of([label], "piece").labels[0] for label in asked.target_tokenizer.labels(ids)]


def items(page: Page, kind: str, having: str | None = None) -> list[dict[str, Any]]:
    """Those of the items of the main picture that are of a kind, such as ``curve``, and have a field."""
    chosen = f"(one) => one.type === '{kind}'" + (f" && one.{having} !== undefined" if having else "")
    return shown(page, f"e.shown.picture.items.filter({chosen})")


def painted_cells(page: Page) -> list[np.ndarray]:
    """The colours (rows, columns, 3) of every field of cells in the main picture, in the order of painting."""
    found = shown(
        page,
        """(() => {
            const flat = (items) => items.flatMap((one) => (one.items ? flat(one.items) : [one]))
            const letter = (byte) => String.fromCharCode(byte)
            return flat(e.shown.picture.items).filter((one) => one.type === "cells").map(({ rows, columns, pixels }) =>
                [rows, columns, btoa(Array.from(new Uint8Array(pixels.buffer), letter).join(""))])
        })()""",
    )
    return [np.frombuffer(base64.b64decode(text), np.uint8).reshape(*size, 4)[..., :3] for *size, text in found]


def painted_shares(colours: np.ndarray, palette: Colours) -> np.ndarray:
    """Shares of full colour, told from what was painted (..., 3); not-a-number where it has the colour of blocked."""
    low, high, blocked = (
        np.array([int(one[place : place + 2], 16) for place in (1, 3, 5)])
        for one in (palette.background, palette.strong, palette.blocked)
    )
    shares = (colours - low) @ (high - low) / ((high - low) ** 2).sum()
    assert (
        np.abs(low + (high - low) * shares[..., None] - colours)[(colours != blocked).any(axis=-1)].max(initial=0) < 1
    )
    return np.where((colours == blocked).all(axis=-1), np.nan, shares)


def under(page: Page, part: str) -> list[tuple[dict, list]]:
    """What the pointer finds all over a part of the decoding view: (hovered, tip), each once."""
    found = shown(
        page,
        f"""(() => {{
            const {{ room, at }} = e.shown.picture, found = new Map()
            const boxes = "{part}" === "rows" ? room.rows : [room["{part}"]]
            for (const {{ x, y, width, height }} of boxes)
                for (let down = y; down < y + height; down += 2) for (let right = x; right < x + width; right += 2) {{
                    const one = at(right, down)
                    if (one) found.set(JSON.stringify(one.hovered), [one.hovered, one.tip])
                }}
            return [...found.values()]
        }})()""",
    )
    return [(hovered, tip) for hovered, tip in found]


def canvas(page: Page) -> dict[str, float]:
    """Where the main picture lies on the page: x, y, width, height."""
    box = page.locator(f"{EXPLORER} canvas").first.bounding_box()
    assert box
    return dict(box)


def module(page: Page, path: str, script: str) -> Any:
    """What a script says of ``m``, one of the JavaScript modules, such as ``explorer/views/flow.js``."""
    return page.evaluate(
        f"""async () => {{
            const loaded = performance.getEntriesByType("resource").map((one) => one.name)
            const m = await import(loaded.find((name) => name.endsWith("/main.js")).replace("main.js", "{path}"))
            return ({script})
        }}"""
    )
