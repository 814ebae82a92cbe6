"""The positions lab in Chromium: opening it, what it shows, and what it should show."""

import math
from functools import partial
from typing import Any

import browsing
import numpy as np
import torch
from browsing import link
from playwright.sync_api import Page, expect

from transformer.checkpoint import Checkpoint

LAB = ".positions"
FREE = {"values": "free", "width": 20, "length": 30, "base": 500}


def open_lab(page: Page, address: str, checkpoint: str = "small", language: str = "en", **choices: object) -> None:
    chosen = {f"positions_{name}": value for name, value in choices.items()}
    page.goto(link(address, page="positions", checkpoint=checkpoint, language=language, **chosen))
    page.locator(f"{LAB}[data-shown]").wait_for(state="attached")


shown, until = partial(browsing.shown, where=LAB), partial(browsing.until, where=LAB)


def numbers(page: Page, name: str = "cells", which: int = 0) -> np.ndarray:
    return np.array(shown(page, f"[...e.shown.numbers[{which}].{name}].map(String)"), dtype=np.float64)


def items(page: Page, condition: str) -> list[dict[str, Any]]:
    """Those of the items of the picture for which an expression of ``one`` holds, within groups, too."""
    return shown(page, f"e.shown.picture.items.flatMap((one) => one.items ?? [one]).filter((one) => {condition})")


def texts(page: Page) -> list[str]:
    return [one["text"] for one in items(page, "one.type === 'text'")]


def sinusoids(width: int = 20, length: int = 30, base: float = 500, halves: bool = False) -> np.ndarray:
    """(length, width), straight from the formula."""
    table = np.zeros((length, width))
    for position in range(length):
        for dimension in range(width):
            pair, cosine = divmod(dimension, 2)
            if halves:
                cosine, pair = divmod(dimension, (width + 1) // 2)
            angle = position / base ** (2 * pair / width)
            table[position, dimension] = math.cos(angle) if cosine else math.sin(angle)
    return table


def given(asked: Checkpoint, stream: str, text: str = "the cat sees the sea") -> np.ndarray:
    """What the module of a stream added in a forward of our own: its output less its input, (S, E)."""
    source = torch.tensor([asked.source_ids(text)])
    seen = []
    module = asked.model.get_submodule(f"{stream}_positions")
    hook = module.register_forward_hook(lambda _, arguments, output: seen.append(output[0] - arguments[0][0]))
    with torch.inference_mode():
        if asked.config.architecture == "encoder-decoder":
            asked.model(source, source.clamp(max=asked.config.target_vocabulary - 1))
        else:
            asked.model(source)
    hook.remove()
    return seen[0].numpy()


def values_of(page: Page, paths: list[dict[str, Any]]) -> list[tuple[np.ndarray, np.ndarray]]:
    """What the points of curves stand for, read back from their pixels: along x and along y, in shares of the plot."""
    plot = shown(page, "e.shown.picture.plot")
    read = []
    for path in paths:
        points = np.array(path["points"]).reshape(-1, 2)
        read.append(((points[:, 0] - plot["x"]) / plot["width"], 1 - (points[:, 1] - plot["y"]) / plot["height"]))
    return read


def point(page: Page, x: float, y: float) -> tuple[float, float]:
    """Move the pointer to a place on the picture, in its pixels."""
    box = page.locator(f"{LAB} canvas").bounding_box()
    assert box
    place = (box["x"] + x, box["y"] + y)
    page.mouse.move(*place)
    return place


def tip(page: Page) -> dict[str, str]:
    lines = page.locator(f"{LAB} .tip > div")
    expect(page.locator(f"{LAB} .tip")).to_be_visible()
    return {one.locator("span").inner_text(): one.locator("b").inner_text() for one in lines.all()}


def said(value: float, digits: int = 4) -> str:
    """A number as the page writes it."""
    text = f"{value:,.{digits}f}".replace("-", "−")
    return text.removeprefix("−") if not text.strip("−0.") else text


def equation(page: Page) -> list[float]:
    """The numbers of the equation: the matrix column by column, the vector, and what comes of them."""
    return [
        float(one["text"].replace("−", "-"))
        for one in items(page, "one.type === 'text' && one.mono && one.size > 10 && one.anchor === 'middle'")
    ]
