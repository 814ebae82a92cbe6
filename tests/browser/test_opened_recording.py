"""A recording that a viewer opens, as a person sees it."""

from pathlib import Path

import numpy as np
import pytest
import torch
from browsing import EXPLORER, cells, labels, link, open_page, painted, shown, slider, until
from playwright.sync_api import Page, expect
from small_recordings import NOTE, batch, home_made, stock
from test_value_norms import of_version_1

from transformer.recording import Recording

pytestmark = pytest.mark.browser


def upload(page: Page, path: Path) -> None:
    page.get_by_role("button", name="Open a recording").click()
    page.locator("input[type=file]").set_input_files(path)


def saved(recording: Recording, path: Path) -> Path:
    recording.save(path)
    return path


def offered(page: Page, name: str) -> list[str]:
    return page.locator(EXPLORER).get_by_role("radiogroup", name=name).locator("label:visible").all_inner_texts()


def choose(page: Page, name: str) -> None:
    page.locator(EXPLORER).get_by_text(name, exact=True).locator("visible=true").click()


def test_a_sentence_of_a_padded_batch_is_drawn_as_it_was_recorded(page, address, tmp_path):
    whole = batch()
    open_page(page, link(address, checkpoint="small", kind="encoder", layer=1, head=1))
    upload(page, saved(whole, tmp_path / "step1200.safetensors"))
    page.wait_for_url("**checkpoint=step1200.safetensors**")
    expect(page.get_by_text(NOTE)).to_be_visible()
    expect(page.get_by_text("A file that recording.save() wrote")).to_be_hidden()
    expect(page.get_by_role("textbox", name="Source text")).to_have_count(0)
    page.get_by_role("slider", name="Sentence (of 3)").press("ArrowRight")
    page.wait_for_url("**sentence=2**")
    for kind, layer in (("encoder", 0), ("encoder", 1), ("decoder", 0), ("cross", 0)):
        choose(page, kind)
        if kind == "encoder":
            slider(page, 0).press("Home" if layer == 0 else "End")
        site = whole.site(kind, layer)
        for head in range(3):
            slider(page, 1).press("Home" if head == 0 else "ArrowRight")
            painted(page, f"{kind}: layer {layer + 1}, head {head + 1}")
            blocked = whole.mask(site, head, 1, run=0).isneginf()
            expected = whole.pattern(site, head, 1, run=0).masked_fill(blocked, torch.nan).numpy()
            until(page, "e.shown.numbers[0].queries.length === argument", len(expected))
            np.testing.assert_allclose(cells(page), expected, atol=1e-6)
            assert np.isnan(expected[:, -1]).all()  # the padding
    assert labels(page, "keys") == whole.key_tokens(site, 1, run=0)
    assert labels(page, "queries") == whole.query_tokens(site, 1, run=0)
    until(page, "e.shown.picture.items.some((one) => one.text === 'queries: target, read')")
    expect(page.get_by_text("module: transformer.decoder.layers.0.multihead_attn")).to_be_visible()
    page.get_by_role("slider", name="Run (of 2)").press("ArrowRight")
    page.wait_for_url("**recording_run=2**")
    until(page, "e.shown.numbers[0].keys.join() === argument", ",".join(whole.key_tokens(site, 1, run=1)))


def test_every_view_that_needs_no_model_opens(page, address, tmp_path):
    open_page(page, link(address, checkpoint="small", view="steps"))
    assert "decoding" in offered(page, "View")
    upload(page, saved(batch(), tmp_path / "a.safetensors"))
    until(page, "e.shown.state.view === 'heat'")
    assert offered(page, "View") == ["heat map", "all heads", "lines", "text", "three kinds", "table"]
    expect(page.locator(EXPLORER).get_by_text("Name rows by").locator("visible=true")).to_have_count(0)
    for name, view in (("all heads", "heads"), ("lines", "lines"), ("text", "text"), ("three kinds", "three")):
        choose(page, name)
        until(page, "e.shown.state.view === argument && e.shown.picture.items.length > 5", view)
        expect(page.locator(f"{EXPLORER} .failed")).to_have_count(0)
    assert shown(page, "e.shown.picture.parts.map((one) => one.kind)") == ["encoder", "decoder", "cross"]
    choose(page, "table")
    expect(page.get_by_text("pairs, the strongest first")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)
    choose(page, "heat map")
    page.locator(EXPLORER).get_by_text("Display").click()
    choose(page, "weight × ‖value‖")
    until(page, "e.shown.numbers[0].quantity === 'norm'")


def test_what_was_wanted_comes_back_with_a_run_that_has_it(page, address, tmp_path):
    open_page(page, link(address, checkpoint="small", view="steps", measure="norm"))
    upload(page, of_version_1(batch(), tmp_path / "old.safetensors"))
    until(page, "e.shown.state.view === 'heat' && e.shown.numbers[0].quantity === 'weight'")
    page.locator(EXPLORER).get_by_text("Display").click()
    assert offered(page, "Colours show")
    assert not offered(page, "Measure")
    page.get_by_role("combobox", name="Checkpoint").click()
    page.get_by_role("option", name="small", exact=True).click()
    until(page, "e.shown.state.view === 'steps' && e.shown.numbers[0].quantity === 'norm'")


def test_a_module_of_ones_own_with_layers_that_differ(page, address, tmp_path):
    whole = home_made()
    open_page(page, link(address, checkpoint="small"))
    upload(page, saved(whole, tmp_path / "home.safetensors"))
    painted(page, "other: layer 2, head 1")
    until(page, "e.tiles.every((one) => one.numbers.tiles[one.place])")
    assert shown(page, "e.tiles.map((one) => [one.layer, one.head])") == [
        [layer, head] for layer, site in enumerate(whole.sites) for head in range(site.heads)
    ]
    slider(page, 0).press("Home")
    for layer, site in enumerate(whole.sites):
        if layer:
            slider(page, 0).press("ArrowRight")  # the slider keeps the focus, though that of the heads is another
        painted(page, f"other: layer {layer + 1}, head 1")
        expected = whole.pattern(site, 0).numpy()
        until(page, "e.shown.numbers[0].cells.length === argument", expected.size)
        np.testing.assert_allclose(cells(page), expected, atol=1e-6)
        assert page.locator(f"{EXPLORER} .sliders .control").first.get_attribute("title") == site
        assert page.locator(f"{EXPLORER} .sliders input").last.get_attribute("max") == str(site.heads)
        expect(page.locator(f"{EXPLORER} .legend")).to_contain_text(f"module: {site}")
    slider(page, 0).press("Home")
    assert labels(page, "keys") == ["<b>", "x*y*", "</script>", "d", "e"]
    choose(page, "text")
    until(page, "e.shown.state.view === 'text'")
    sides = "new Set(e.shown.picture.items.filter((one) => one.side).map((one) => one.side)).size"
    until(page, f"{sides} === 1")
    slider(page, 0).press("ArrowRight")
    until(page, f"{sides} === 2")  # its queries and its keys are not of one length


def test_a_stock_module_of_torchs_is_drawn_as_it_was_recorded(page, address, tmp_path):
    whole = stock()
    open_page(page, link(address, checkpoint="small"))
    upload(page, saved(whole, tmp_path / "stock.safetensors"))
    page.wait_for_url("**checkpoint=stock.safetensors**")
    page.get_by_role("slider", name="Sentence (of 2)").press("ArrowRight")
    page.wait_for_url("**sentence=2**")
    for kind, path in (("encoder", "encoder.layers.0.self_attn"), ("cross", "decoder.layers.0.multihead_attn")):
        choose(page, kind)
        slider(page, 0).press("Home")
        painted(page, f"{kind}: layer 1, head 1")
        expect(page.locator(f"{EXPLORER} .legend")).to_contain_text(f"module: {path}")
        blocked = whole.mask(path, 0, 1).isneginf()
        np.testing.assert_allclose(cells(page), whole.pattern(path, 0, 1).masked_fill(blocked, torch.nan), atol=1e-6)
        assert blocked[:, 4:].all()


def test_a_damaged_file_is_said_under_the_button_and_the_page_goes_on(page, address, tmp_path):
    open_page(page, link(address, checkpoint="small"))
    damaged = tmp_path / "damaged.safetensors"
    damaged.write_bytes(saved(batch(), tmp_path / "whole").read_bytes()[:-100])
    upload(page, damaged)
    expect(page.get_by_text("damaged.safetensors is damaged or not a safetensors file.")).to_be_visible()
    expect(page.get_by_text("At most 100 MB")).to_be_visible()
    page.keyboard.press("Escape")
    painted(page)
    assert "checkpoint=small" in page.url
    upload(page, saved(home_made(), tmp_path / "good.safetensors"))
    painted(page, "other: layer 2")
