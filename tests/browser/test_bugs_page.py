"""The theatre of bugs in a real browser: both sides show what the model does, and the text says it."""

import numpy as np
import pytest
import torch
from browsing import link
from computed import SOURCE, TARGET
from playwright.sync_api import Page, expect
from torch.nn import functional as F

from transformer.bugs import Bug
from transformer.checkpoint import load_checkpoint
from transformer.interventions import edited
from transformer.recorder import record

THEATRE = ".bugs"
ASKED = {"page": "bugs", "checkpoint": "en-zh", "source": SOURCE, "target_from": "type", "target": TARGET}


def opened(page: Page, address: str, **choices: object) -> None:
    page.goto(link(address, **ASKED | choices))
    page.locator(f"{THEATRE}[data-shown]").wait_for(state="attached")


def shown(page: Page, what: str):
    return page.locator(THEATRE).evaluate(f"(e) => {what}")


def side(page: Page, name: str) -> tuple[np.ndarray, float]:
    rows, columns, flat, loss = shown(
        page,
        f"(({{ queries, keys, cells, loss }}) => [queries.length, keys.length, [...cells].map(String), loss])"
        f"(e.shown.picture.sides.find((one) => one.side === '{name}').numbers)",
    )
    return np.array(flat, dtype=float).reshape(rows, columns), loss


def expected(bug: str | None, kind: str, layer: int, head: int) -> tuple[np.ndarray, float]:
    asked = load_checkpoint("en-zh")
    model = asked.model if bug is None else edited(asked.model, [Bug(bug)])
    target = asked.target_ids(TARGET)
    read = torch.tensor([[asked.config.bos_id, *target[:-1]]])
    with torch.inference_mode(), record(model) as recording:
        logits = model(torch.tensor([asked.source_ids(SOURCE)]), read)[0]
    site = recording.site(kind, layer)
    blocked = torch.isneginf(recording.mask(site, head))
    cells = recording.pattern(site, head).masked_fill(blocked, torch.nan).numpy()
    return cells, F.cross_entropy(logits, torch.tensor(target)).item()


def test_both_sides_are_what_the_model_does(page, address):
    opened(page, address, bug="no_causal_mask", kind="decoder", layer=2, head=3)
    named = {
        "no_causal_mask": "no causal mask",
        "masked_with_zero": "scores masked with 0",
        "softmax_over_queries": "softmax on the wrong axis",
    }
    for bug, name in named.items():
        page.get_by_role("button", name=name, exact=True).click()
        until(page, bug)
        for which, made in (("right", None), ("broken", bug)):
            cells, loss = side(page, which)
            wanted, wanted_loss = expected(made, "decoder", 1, 2)
            np.testing.assert_allclose(cells, wanted, atol=1e-6)
            assert loss == pytest.approx(wanted_loss, abs=1e-4)
        losses = page.locator(f"{THEATRE} .said").all_inner_texts()
        assert f"{expected(None, 'decoder', 1, 2)[1]:.2f}" in losses[0]
        assert f"{expected(bug, 'decoder', 1, 2)[1]:.2f}" in losses[1]


def until(page: Page, bug: str) -> None:
    """Wait until that mistake is painted."""
    handle = page.locator(THEATRE).element_handle()
    page.wait_for_function("([e, bug]) => e.shown?.state.bug === bug", arg=[handle, bug])


def test_the_code_shows_the_line_and_the_slip_and_a_link_comes_back(page, address):
    opened(page, address, bug="no_scaling")
    code = page.locator(f"{THEATRE} .slip pre")
    expect(code.locator(".gone")).to_contain_text("/ math.sqrt(query.size(-1))")
    expect(code.locator(".come")).not_to_contain_text("sqrt")
    page.get_by_role("button", name="inverted mask", exact=True).click()
    until(page, "inverted_mask")
    page.wait_for_url("**bug=inverted_mask**")
    page.reload()
    page.locator(f"{THEATRE}[data-shown]").wait_for(state="attached")
    until(page, "inverted_mask")
    expect(page.locator(f"{THEATRE} .sentence")).to_contain_text("How to notice:")


def test_dropout_has_a_slider_that_draws_anew_and_chinese_opens(page, address):
    opened(page, address, bug="dropout_on", language="zh")
    until(page, "dropout_on")
    _, before = side(page, "broken")
    slider = page.get_by_label("dropout 的抽取")
    slider.focus()
    page.keyboard.press("ArrowRight")
    handle = page.locator(THEATRE).element_handle()
    page.wait_for_function("([e, old]) => e.shown?.played.broken.loss !== old", arg=[handle, before])
    page.get_by_role("button", name="掩码反了", exact=True).click()
    until(page, "inverted_mask")
    expect(slider).to_be_hidden()


def test_what_a_model_cannot_get_wrong_is_not_offered(page, address):
    page.goto(link(address, page="bugs", checkpoint="alone", bug="cross_reads_target"))
    page.locator(f"{THEATRE}[data-shown]").wait_for(state="attached")
    expect(page.get_by_role("button", name="cross-attention reads the target")).to_be_disabled()
    assert shown(page, "e.shown.state.bug") == "shared_layer"


def test_what_helps_a_text_that_does_not_fit_changes_the_text_at_the_left(page, address):
    page.goto(link(address, page="bugs", checkpoint="letters", source="abc?d"))
    page.locator(".st-key-remedy button").click()
    page.locator(f"{THEATRE}[data-shown]").wait_for(state="attached")
    assert page.get_by_role("textbox", name="Source text").input_value() == "abcd"
