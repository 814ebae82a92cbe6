"""The mask lab as a person meets it, and what the model itself gives for the same sentences."""

from collections.abc import Sequence

import numpy as np
import torch
from browsing import link
from playwright.sync_api import Page

from transformer import record
from transformer.checkpoint import CHECKPOINTS, load_checkpoint
from transformer.decoding import decode, length_limit, pad
from transformer.interventions import EditMask, edited

MASKS = ".masks"
SOURCES = ["The cat saw the dog.", "Good morning.", "I have no time today."]
TARGET = "猫看见了狗。"


def masked(address: str, **choices: object) -> str:
    texts = {"source": SOURCES[0], "target_from": "type", "target": TARGET, "others": "\n".join(SOURCES[1:])}
    place: dict[str, object] = {"kind": "cross", "layer": 2, "head": 1}
    return link(address, page="masks", **place | texts | choices)


def shown(page: Page, what: str):
    """What the page painted last: ``e.shown`` has state, numbers, mask, editor, picture, and what a view asked for."""
    return page.locator(MASKS).evaluate(f"(e) => {what}")


def until(page: Page, condition: str, argument: object = None) -> None:
    page.wait_for_function(
        f"""(argument) => {{
            const hosts = [...document.querySelectorAll("*")].filter((one) => one.shadowRoot)
            const e = hosts.map((one) => one.shadowRoot.querySelector("{MASKS}")).find(Boolean)
            return e?.shown && ({condition})
        }}""",
        arg=argument,
    )


def open_masks(page: Page, url: str) -> None:
    page.goto(url)
    until(page, "e.shown.numbers")


def grid(page: Page, what: str) -> np.ndarray:
    """Numbers (L, S) of what is shown."""
    sizes = "e.shown.numbers.queries.length, e.shown.numbers.keys.length"
    queries, keys, flat = shown(page, f"[{sizes}, [...{what}].map(String)]")
    return np.array(flat, dtype=np.float64).reshape(queries, keys)


def until_mask(page: Page, expected: np.ndarray) -> None:
    """Wait until Python has given this mask, and the picture shows it."""
    until(
        page,
        "[e.shown.numbers.mask, e.shown.mask].every((mask) => mask.length === argument.length && "
        "argument.every((one, i) => (one === null ? -Infinity : Math.fround(one)) === mask[i]))",
        [None if np.isneginf(one) else float(one) for one in expected.ravel()],
    )


def place(page: Page, row: float | None, column: float | None, side: str = "editor") -> tuple[float, float]:
    """Where a cell of the mask (or of the ``picture`` beside it) lies on the page; without a column its row's token."""
    box = page.locator(f"{MASKS} .stage canvas").nth(0 if side == "editor" else 1).bounding_box()
    plot = shown(page, f"e.shown.{side}.plot")
    rows, columns = shown(page, "[e.shown.numbers.queries.length, e.shown.numbers.keys.length]")
    x = -20 if column is None else plot["width"] * (column + 0.5) / columns
    y = -7 if row is None else plot["height"] * (row + 0.5) / rows
    return box["x"] + plot["x"] + x, box["y"] + plot["y"] + y


def click(page: Page, row: float | None, column: float | None, side: str = "editor") -> None:
    page.mouse.click(*place(page, row, column, side))


def drag(page: Page, *places: tuple[float | None, float | None]) -> None:
    """Press at the first place, go through the others, let go."""
    first, *others = [place(page, *one) for one in places]
    page.mouse.move(*first)
    page.mouse.down()
    for one in others:
        page.mouse.move(*one, steps=2)
    page.mouse.up()


class Lab:
    """The same sentences, padded, run by the model itself."""

    def __init__(self, name: str = "en-zh", sources: Sequence[str] = SOURCES, target: str = TARGET) -> None:
        self.asked = load_checkpoint(CHECKPOINTS / name)
        self.model, config = self.asked.model, self.asked.config
        ids = [self.asked.source_ids(text) for text in sources]
        written = [self.translated(one) for one in ids[1:]]
        self.targets = [list(self.asked.target_ids(target)), *written]
        self.source = pad(ids, config.pad_id)
        self.read = pad([[config.bos_id, *one[:-1]] for one in self.targets], config.pad_id)
        self.alone = ids

    def translated(self, ids: Sequence[int], *edits: EditMask) -> list[int]:
        limit = length_limit(len(ids), self.asked.config.max_length)
        return list(decode(edited(self.model, edits), torch.tensor([ids]), limit)[0][0].ids)

    def run(self, *edits: EditMask):
        """A recording of the batch, and its logits (N, T, V)."""
        model = edited(self.model, edits)
        with torch.inference_mode(), record(model) as recording:
            logits = model(self.source, self.read)
        return recording, logits

    def mask(self, *edits: EditMask, site=("cross", 1), head=0, sentence=0) -> np.ndarray:
        """What is added to a head's scores."""
        recording, _ = self.run(*edits)
        return recording.mask(recording.site(*site), head, sentence).numpy()

    def pattern(self, *edits: EditMask, site=("cross", 1), head=0, sentence=0) -> np.ndarray:
        """A head's pattern; zeros where the mask blocks."""
        recording, _ = self.run(*edits)
        return recording.pattern(recording.site(*site), head, sentence).numpy()

    def chances(self, *edits: EditMask, sentence: int = 0) -> np.ndarray:
        """The probability of each target token of a sentence."""
        labels = torch.tensor(self.targets[sentence])
        logits = self.run(*edits)[1][sentence, : len(labels)]
        return logits.softmax(dim=-1)[torch.arange(len(labels)), labels].numpy()
