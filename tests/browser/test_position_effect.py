"""The view of what positions do, in a real browser."""

import numpy as np
import torch
from browsing import link
from computed import SOURCE, TARGET
from playwright.sync_api import Page, expect
from torch.nn import functional as F

from transformer.checkpoint import load_checkpoint
from transformer.interventions import ChangePositions, edited
from transformer.recorder import record

LAB = ".positions"


def opened(page: Page, address: str, **choices: object) -> None:
    asked = {"page": "positions", "positions_view": "effect", "checkpoint": "en-zh", "source": SOURCE}
    page.goto(link(address, **asked, target_from="type", target=TARGET, **choices))
    page.locator(f"{LAB}[data-shown]").wait_for(state="attached")


def until(page: Page, way: str, amount: int) -> None:
    handle = page.locator(LAB).element_handle()
    page.wait_for_function(
        "([e, way, amount]) => e.shown?.state.way === way && e.shown.state.amount === amount", arg=[handle, way, amount]
    )


def side(page: Page, name: str) -> np.ndarray:
    rows, columns, flat = page.locator(LAB).evaluate(
        "(e, name) => (({ queries, keys, cells }) => [queries.length, keys.length, [...cells].map(String)])"
        "(e.shown.picture.sides.find((one) => one.side === name).numbers)",
        name,
    )
    return np.array(flat, dtype=float).reshape(rows, columns)


def expected(change: ChangePositions | None) -> tuple[np.ndarray, float]:
    asked = load_checkpoint("en-zh")
    model = edited(asked.model, [] if change is None else [change])
    target = asked.target_ids(TARGET)
    with torch.inference_mode(), record(model) as recording:
        logits = model(torch.tensor([asked.source_ids(SOURCE)]), torch.tensor([[asked.config.bos_id, *target[:-1]]]))[0]
    return recording.pattern(recording.site("cross", 1), 0).numpy(), F.cross_entropy(
        logits, torch.tensor(target)
    ).item()


def test_both_patterns_are_what_the_model_does_and_the_sentence_says_the_loss(page, address):
    opened(page, address, kind="cross", layer=2, head=1)
    plain, before = expected(None)
    for name, way, amount, change in (
        (None, "off", 0, ChangePositions("source", "off")),
        ("shuffled", "shuffle", 1, ChangePositions("source", "shuffle", 1)),
        ("scaled", "scale", 5, ChangePositions("source", "scale", 0.5)),
    ):
        if name:
            page.get_by_text(name, exact=True).click()
        until(page, way, amount)
        cells, after = expected(change)
        np.testing.assert_allclose(side(page, "right"), plain, atol=1e-6)
        np.testing.assert_allclose(side(page, "broken"), cells, atol=1e-6)
        expect(page.locator(f"{LAB} .sentence")).to_contain_text(f"{before:.2f} → {after:.2f}")


def test_free_positions_belong_to_no_text_and_a_link_comes_back(page, address):
    opened(page, address, positions_way="shift", positions_amount=3, language="zh")
    until(page, "shift", 3)
    page.get_by_text("缩放", exact=True).click()
    until(page, "scale", 5)
    page.wait_for_url(lambda url: "positions_way=scale" in url and "positions_amount=5" in url)
    page.reload()
    page.locator(f"{LAB}[data-shown]").wait_for(state="attached")
    until(page, "scale", 5)
    page.goto(link(address, page="positions", positions_view="effect", positions_values="free"))
    page.locator(f"{LAB}[data-shown]").wait_for(state="attached")
    assert page.locator(LAB).evaluate("(e) => e.shown.picture.lacking") == "positions.lacks.effect.free"
