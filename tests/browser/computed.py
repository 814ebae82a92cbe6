"""Patterns computed in this process, to compare with what the browser shows; and what its pictures are made of."""

from typing import Any

import numpy as np
import torch
from browsing import EXPLORER, shown
from playwright.sync_api import Page

from dashboard.figures.colours import full_colour
from transformer.checkpoint import Checkpoint
from transformer.recorder import record

SOURCE, TARGET = "The cat saw the dog and the dog saw the cat.", "猫看见了狗，狗也看见了猫。"
ASKED = {"source": SOURCE, "target_from": "type", "target": TARGET}


class Computed:
    """One teacher-forced forward of a checkpoint with a source and a target.

    Attributes:
        source, target: the labels of their tokens.
        read: those of what the decoder reads: the target, one token late.
    """

    def __init__(self, asked: Checkpoint, source: str = SOURCE, target: str = TARGET) -> None:
        source_ids, target_ids = asked.source_ids(source), asked.target_ids(target)
        read_ids = [asked.config.bos_id, *target_ids[:-1]]
        self.source = asked.source_tokenizer.labels(source_ids)
        self.target, self.read = asked.target_tokenizer.labels(target_ids), asked.target_tokenizer.labels(read_ids)
        with torch.inference_mode(), record(asked.model) as self.recording:
            asked.model(torch.tensor([source_ids]), torch.tensor([read_ids]))

    def weights(self, kind: str, layer: int, head: int) -> np.ndarray:
        """(L, S) weights, layer and head counted from 0; not-a-number where the mask forbids a cell."""
        site = self.recording.site(kind, layer)
        blocked = np.isneginf(self.recording.mask(site, head).numpy())
        return np.where(blocked, np.nan, self.recording.pattern(site, head).numpy())

    def shares(self, kind: str, layer: int, head: int) -> np.ndarray:
        """The same as shares of full colour, at most 1."""
        weights = self.weights(kind, layer, head)
        return np.minimum(1.0, weights / full_colour(weights.shape[1]))


def items(page: Page, kind: str, having: str | None = None) -> list[dict[str, Any]]:
    """Those of the items of the main picture that are of a kind, such as ``curve``, and have a field."""
    chosen = f"(one) => one.type === '{kind}'" + (f" && one.{having} !== undefined" if having else "")
    return shown(page, f"e.shown.picture.items.filter({chosen})")


def canvas(page: Page) -> dict[str, float]:
    """Where the main picture lies on the page: x, y, width, height."""
    box = page.locator(f"{EXPLORER} canvas").first.bounding_box()
    assert box
    return dict(box)


def module(page: Page, path: str, script: str) -> Any:
    """What a script says of ``m``, a JavaScript module of the explorer, such as ``views/flow.js``."""
    return page.evaluate(
        f"""async () => {{
            const loaded = performance.getEntriesByType("resource").map((one) => one.name)
            const m = await import(loaded.find((name) => name.endsWith("/main.js")).replace("main.js", "{path}"))
            return ({script})
        }}"""
    )
