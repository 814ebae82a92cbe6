"""A long text shows how far the model is, can be stopped and run again, and gives way to another text."""

import pytest
from browsing import labels, link, open_page, painted, until
from playwright.sync_api import Locator, Page, expect

pytestmark = pytest.mark.browser

LONG = "the cat sees the sea " * 700  # some 12,000 tokens
SAID = "You stopped the model before it was done with this text."


def type_in(page: Page, text: str) -> None:
    page.get_by_role("textbox", name="Source text").fill(text)
    page.get_by_role("textbox", name="Source text").press("Control+Enter")


def stop(page: Page) -> Locator:
    return page.get_by_test_id("stSidebar").get_by_role("button", name="Stop", exact=True)


def test_a_long_text_can_be_stopped_and_run_again(page, address):
    page.set_default_timeout(120_000)
    open_page(page, link(address, checkpoint="small", kind="encoder", layer=1, head=1))
    expect(stop(page)).to_have_count(0)
    type_in(page, LONG)
    stop(page).click()
    expect(page.get_by_text(SAID)).to_be_visible()
    expect(page.get_by_role("progressbar")).to_have_count(0)
    expect(stop(page)).to_have_count(0)
    type_in(page, LONG + "bread")  # another text is not stopped
    expect(page.get_by_role("progressbar")).to_be_visible()
    type_in(page, "bread")  # and gives way to what is typed meanwhile
    until(page, "e.shown.numbers[0].keys?.join('') === '▁bread</s>'")
    expect(stop(page)).to_have_count(0)
    type_in(page, LONG)
    page.get_by_role("button", name="Run it").click()
    until(page, "e.shown.numbers[0].total?.[0] > 11_000")
    assert painted(page, "encoder: layer 1, head 1")
    assert labels(page, "keys") is None
    expect(stop(page)).to_have_count(0)
    expect(page.get_by_text(SAID)).to_have_count(0)
