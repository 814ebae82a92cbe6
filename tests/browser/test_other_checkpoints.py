"""Models of letters, decoders alone and snapshots, as a person sees them."""

import numpy as np
import pytest
import torch
from browsing import EXPLORER, cells, labels, open_page, painted, until
from playwright.sync_api import expect

from transformer.checkpoint import load_checkpoint
from transformer.recorder import record

pytestmark = pytest.mark.browser


def test_the_training_step_moves_the_picture_and_the_address(page, address, checkpoint_folder):
    open_page(page, f"{address}/?checkpoint=letters&kind=encoder&layer=1&head=3")
    finished = cells(page)
    steps = page.get_by_role("slider", name="Training step")
    steps.press("ArrowLeft")
    page.wait_for_url("**step=1000**")
    steps.press("Home")
    page.wait_for_url("**step=0**")
    expect(page.get_by_text("Its answer at step 0")).to_be_visible()
    assert painted(page, "encoder: layer 1, head 3")
    asked = load_checkpoint(checkpoint_folder / "letters", snapshot=0)
    source = torch.tensor([asked.source_ids("abcdef")])
    with torch.inference_mode(), record(asked.model) as recording:
        asked.model(source, source)
    pattern = recording.pattern(recording.site("encoder", 0), 2).numpy()
    assert np.abs(pattern - finished).max() > 0.01
    until(page, "Math.abs(e.shown.numbers[0].cells[0] - argument) < 1e-5", float(pattern[0, 0]))
    np.testing.assert_allclose(cells(page), pattern, atol=1e-5)
    page.get_by_text("中文", exact=True).click()
    expect(page.get_by_text("训练步数")).to_be_visible()
    assert "step=0" in page.url
    page.get_by_role("slider", name="训练步数").press("End")
    page.wait_for_function("!location.search.includes('step=')")
    page.get_by_text("English", exact=True).click()
    expect(page.get_by_text("Training step")).to_be_visible()
    page.wait_for_timeout(500)
    assert "step=" not in page.url


def test_a_decoder_alone_shows_one_text(page, address):
    open_page(page, f"{address}/?checkpoint=alone")
    painted(page, "decoder: layer 2, head 1")
    assert labels(page, "keys") == labels(page, "queries") == ["<s>", *"abcXabcX"]
    expect(page.get_by_role("textbox", name="Text", exact=True)).to_have_value("abcXabcX")
    expect(page.get_by_text("Target text")).to_have_count(0)
    until(page, "e.shown.picture.items.some((one) => one.text === 'queries: text, read')")
    page.get_by_role("slider", name="Layer").press("ArrowLeft")
    painted(page, "decoder: layer 1, head 1")
    page.locator(EXPLORER).get_by_text("token predicted").locator("visible=true").click()
    until(page, "e.shown.numbers[0].queries[0] === 'a'")
    assert labels(page, "queries")[:-1] == [*"abcXabcX"]


def test_unknown_characters_are_said_and_left_out_on_request(page, address):
    page.goto(f"{address}/?checkpoint=letters&source=ab*É* <b>7")
    said = "This model reads only a–z; in the source text it does not know: *, É, space, <, >, 7."
    expect(page.get_by_text(said)).to_be_visible()
    page.get_by_role("button", name="Keep what it knows").click()
    painted(page)
    assert labels(page, "keys") == ["a", "b", "b", "</s>"]
    expect(page.get_by_role("textbox", name="Source text")).to_have_value("abb")
    assert "source=abb" in page.url
