"""The attention page as a person sees and uses it, on the checkpoint that ships."""

import io

import numpy as np
import pytest
import torch
from browsing import EXPLORER, cells, labels, link, open_page, painted, point_at, shown, slider, until
from PIL import Image
from playwright.sync_api import Page, expect

from transformer import load_checkpoint
from transformer.attention import MultiheadAttention

pytestmark = pytest.mark.browser

ASKED = {"source": "The cat saw the dog and the dog saw the cat.", "target": "猫看见了狗，狗也看见了猫。"}


@pytest.fixture(scope="module")
def patterns() -> dict[str, list[torch.Tensor]]:
    """By kind, a pattern (H, L, S) a layer, computed without our recording: from weights the modules return."""
    checkpoint = load_checkpoint("en-zh")
    model, seen = checkpoint.model, {"encoder": [], "decoder": [], "cross": []}

    def computes_weights(module, arguments, keywords):
        return arguments, keywords | {"need_weights": True, "average_attn_weights": False}

    def keeps_weights(path):
        kind = "cross" if path.endswith("multihead_attn") else "decoder" if ".decoder." in path else "encoder"
        return lambda module, arguments, output: seen[kind].append(output[1][0])

    for path, module in model.named_modules():
        if isinstance(module, MultiheadAttention):
            module.register_forward_pre_hook(computes_weights, with_kwargs=True)
            module.register_forward_hook(keeps_weights(path))
    source = torch.tensor([checkpoint.source_ids(ASKED["source"])])
    target = torch.tensor([[checkpoint.config.bos_id, *checkpoint.target_ids(ASKED["target"])[:-1]]])
    with torch.inference_mode():
        model(source, target)
    return seen


def asked_link(address: str, **choices: object) -> str:
    return link(address, **ASKED, target_from="type", **choices)


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_every_head_is_the_one_the_model_has(page, address, patterns, kind):
    assert len(patterns["cross"]) >= 2
    for layer, pattern in enumerate(patterns[kind], start=1):
        for head in (1, pattern.size(0)):
            open_page(page, asked_link(address, kind=kind, layer=layer, head=head))
            painted(page, f"layer {layer}, head {head}")
            seen = cells(page)
            np.testing.assert_allclose(np.nan_to_num(seen), pattern[head - 1], atol=1e-6)
            future = (
                np.triu(np.ones_like(seen, dtype=bool), 1) if kind == "decoder" else np.zeros_like(seen, dtype=bool)
            )
            np.testing.assert_array_equal(np.isnan(seen), future)


def test_the_mean_is_the_mean_of_the_heads(page, address, patterns):
    open_page(page, asked_link(address, kind="cross", layer=2, head="mean"))
    np.testing.assert_allclose(cells(page), patterns["cross"][1].mean(0), atol=1e-6)
    expect(page.get_by_text("average of 4 heads")).to_be_visible()


def test_the_cells_on_the_screen_have_the_colours_of_their_weights(page, address, patterns):
    open_page(page, asked_link(address, kind="cross", layer=2, head=1))
    page.mouse.move(5, 5)
    pattern = patterns["cross"][1][0].numpy()
    assert pattern.shape[0] != pattern.shape[1]
    strong, background = np.array([0xC2, 0x59, 0x0A]), np.array([255, 255, 255])
    box = page.locator(f"{EXPLORER} canvas").first.bounding_box()
    image = np.array(Image.open(io.BytesIO(page.screenshot())).convert("RGB")).astype(float)
    inside = shown(page, "e.shown.picture.plot")
    for (row, column), weight in np.ndenumerate(pattern):
        # Near the upper left corner of its cell, beside any number that is written into it.
        x = box["x"] + inside["x"] + inside["width"] * (column + 0.12) / pattern.shape[1]
        y = box["y"] + inside["y"] + inside["height"] * (row + 0.15) / pattern.shape[0]
        expected = background + (strong - background) * min(1.0, float(weight))
        np.testing.assert_allclose(image[int(y), int(x)], expected, atol=4, err_msg=f"cell {row}, {column}")


def test_axes_carry_the_tokens_that_ran(page, address):
    checkpoint = load_checkpoint("en-zh")
    source = checkpoint.source_tokenizer.labels(checkpoint.source_ids(ASKED["source"]))
    target = checkpoint.target_tokenizer.labels(checkpoint.target_ids(ASKED["target"]))
    assert source.count("▁the") == 2 or source.count("▁dog") == 2
    assert len(source) != len(target)
    open_page(page, asked_link(address))
    assert (labels(page, "keys"), labels(page, "queries")) == (source, target)
    drawn = shown(page, "e.shown.picture.items.filter((one) => one.type === 'text' && one.mono).map((one) => one.text)")
    assert drawn == [*target, *source]
    page.get_by_text("token read").locator("visible=true").click()
    until(page, "e.shown.numbers[0].queries[0] === '<s>'")
    assert labels(page, "queries") == ["<s>", *target[:-1]]
    open_page(page, asked_link(address, kind="encoder"))
    assert labels(page, "queries") == labels(page, "keys") == source


def test_the_page_opens_on_a_sentence_that_has_run(page, address):
    open_page(page, address)
    expect(page.get_by_role("textbox", name="Source text")).not_to_have_value("")
    expect(page.get_by_text("Weights show where a head reads")).to_be_visible()
    fits = "(main) => main.scrollHeight <= main.clientHeight"
    assert page.locator("[data-testid=stMain]").evaluate(fits)


def test_a_new_text_is_run_and_shown(page, address):
    open_page(page, address)
    box = page.get_by_role("textbox", name="Source text")
    box.fill("Tom is happy.")
    box.press("Control+Enter")
    until(page, "e.shown.numbers[0].keys.includes('▁Tom')")
    assert "source=Tom" in page.url


def test_sliders_move_the_picture_and_the_address(page, address):
    open_page(page, asked_link(address, kind="cross", layer=2, head=1))
    before = cells(page)
    slider(page, 1).press("ArrowRight")
    painted(page, "layer 2, head 2")
    assert np.abs(cells(page) - before).max() > 0.01
    slider(page, 0).press("ArrowRight")
    painted(page, "layer 3, head 2")
    page.wait_for_url("**layer=3**")
    page.wait_for_url("**head=2**")


def test_fast_keys_leave_the_last_head_on_the_screen(page, address, patterns):
    open_page(page, asked_link(address, kind="encoder", layer=1, head=1))
    slider(page, 1).focus()
    for key in ["ArrowRight"] * 3 + ["ArrowLeft"] * 3 + ["ArrowRight"] * 3:
        page.keyboard.press(key)
        page.wait_for_timeout(30)
    painted(page, "layer 1, head 4")
    page.wait_for_timeout(800)
    assert painted(page) == "encoder: layer 1, head 4"
    np.testing.assert_allclose(cells(page), patterns["encoder"][0][3], atol=1e-6)
    assert "head=4" in page.url


def test_the_picture_follows_a_collapsed_sidebar(page, address):
    open_page(page, asked_link(address))
    before = page.locator(f"{EXPLORER} canvas").first.bounding_box()["width"]
    page.locator("[data-testid=stSidebar]").hover()
    page.locator("[data-testid=stSidebarCollapseButton] button").click()
    until(page, "e.querySelector('canvas').getBoundingClientRect().width > argument + 100", before)
    until(page, "e.shown.picture.plot.width > argument - 200", before + 100)


def tile(page: Page, kind: str, layer: int, head: int) -> tuple[float, float]:
    """Where a head stands in the overview, in the middle of its tile."""
    canvas = page.locator(f"{EXPLORER} .side canvas").first.bounding_box()
    kinds = ["encoder", "decoder", "cross"]
    boxes = page.locator(EXPLORER).evaluate(
        "(e) => e.tiles.map(({kind, layer, head, box}) => ({kind, layer, head, box}))"
    )
    assert {one["kind"] for one in boxes} == set(kinds)
    (box,) = (one["box"] for one in boxes if (one["kind"], one["layer"], one["head"]) == (kind, layer - 1, head - 1))
    return canvas["x"] + box["x"] + box["width"] / 2, canvas["y"] + box["y"] + box["height"] / 2


def test_a_click_on_a_head_selects_it(page, address, patterns):
    open_page(page, asked_link(address, kind="encoder", layer=1, head=1))
    page.locator(f"{EXPLORER}[data-overview]").wait_for(state="attached")
    page.mouse.click(*tile(page, "cross", 3, 2))
    painted(page, "cross: layer 3, head 2")
    assert (slider(page, 0).input_value(), slider(page, 1).input_value()) == ("3", "2")
    np.testing.assert_allclose(cells(page), patterns["cross"][2][1], atol=1e-6)
    tip, pattern = page.locator(f"{EXPLORER} .side .tip").first, patterns["cross"][1][0].numpy()
    page.mouse.move(*tile(page, "cross", 2, 1))
    row, column = np.unravel_index(pattern.argmax(), pattern.shape)
    assert f"{pattern.max():.4f}" in tip.inner_text()
    assert labels(page, "queries")[row] in tip.inner_text()
    assert labels(page, "keys")[column] in tip.inner_text()


def test_a_reload_restores_the_view(page, address):
    open_page(page, address)
    page.get_by_text("decoder", exact=True).first.click()
    painted(page, "decoder")
    slider(page, 1).press("End")
    name = painted(page, "head 4")
    page.wait_for_url("**head=4**")
    seen = cells(page)
    page.reload()
    assert painted(page, "head 4") == name
    np.testing.assert_array_equal(cells(page), seen)


def test_back_and_forward_walk_through_the_views(page, address):
    open_page(page, asked_link(address, kind="cross", layer=1, head=1))
    page.get_by_text("decoder", exact=True).first.click()
    painted(page, "decoder")
    page.wait_for_url("**kind=decoder**")
    page.wait_for_timeout(1500)  # a change right after another is not taken for Back
    page.go_back()
    painted(page, "cross: layer 1, head 1")
    page.wait_for_timeout(1500)
    page.go_forward()
    painted(page, "decoder: layer 1, head 1")


def test_zoom_stays_when_the_head_changes_and_shows_more(page, address, patterns):
    open_page(page, asked_link(address, kind="encoder", layer=1, head=1))
    point_at(page, 3, 5)
    for _ in range(4):
        page.mouse.wheel(0, -120)
    until(page, "e.shown.picture.seen.rows[1] - e.shown.picture.seen.rows[0] < 7")
    zoomed = shown(page, "e.shown.picture.seen")
    assert zoomed["rows"][0] < 3.5 < zoomed["rows"][1]
    assert zoomed["columns"][0] < 5.5 < zoomed["columns"][1]
    slider(page, 1).press("ArrowRight")
    painted(page, "layer 1, head 2")
    assert shown(page, "e.shown.picture.seen") == zoomed
    np.testing.assert_allclose(cells(page), patterns["encoder"][0][1], atol=1e-6)
    x, y = point_at(page, 2, 2)
    page.mouse.down()
    page.mouse.move(x + 80, y, steps=4)
    page.mouse.up()
    assert shown(page, "e.shown.picture.seen")["columns"][0] < zoomed["columns"][0]
    page.get_by_role("button", name="Show all").click()
    until(
        page, "e.shown.picture.seen.rows[0] === 0 && e.shown.picture.seen.rows[1] === e.shown.numbers[0].queries.length"
    )


def test_a_long_text_has_few_labels_and_more_when_one_comes_closer(page, address):
    open_page(page, link(address, source="the old man and the sea " * 20, kind="encoder"))
    count = "e.shown.picture.items.filter((one) => one.type === 'text' && one.mono).length"
    total = len(labels(page, "keys"))
    assert total > 100
    assert 20 < shown(page, count) <= 120
    point_at(page, 60, 60)
    for _ in range(8):
        page.mouse.wheel(0, -120)
    until(page, "e.shown.picture.seen.rows[1] - e.shown.picture.seen.rows[0] < 30")
    seen = shown(page, "e.shown.picture.seen")
    named = shown(page, "e.shown.picture.items.filter((one) => one.type === 'text' && one.mono).map((one) => one.text)")
    inside = [index for index in range(total) if seen["columns"][0] <= index + 0.5 <= seen["columns"][1]]
    every = [labels(page, "keys")[index] for index in inside]
    assert named[-len(every) :] == every


def test_hover_names_query_key_and_weight(page, address, patterns):
    open_page(page, asked_link(address, kind="cross", layer=2, head=1))
    point_at(page, 2, 1)
    tip = page.locator(f"{EXPLORER} .tip").first
    expect(tip).to_be_visible()
    assert labels(page, "queries")[2] in tip.inner_text()
    assert labels(page, "keys")[1] in tip.inner_text()
    assert f"{patterns['cross'][1][0, 2, 1]:.4f}" in tip.inner_text()
    page.mouse.move(5, 5)
    expect(tip).to_be_hidden()


def test_a_click_on_a_cell_selects_the_pair(page, address):
    open_page(page, asked_link(address, kind="cross", layer=2, head=1))
    page.mouse.click(*point_at(page, 2, 5))
    page.wait_for_url("**pair=3%2C6**")
    assert shown(page, "e.shown.state.pair") == [2, 5]


def test_words_and_hidden_specials_are_what_python_makes_of_them(page, address, patterns):
    open_page(page, asked_link(address, kind="encoder", layer=1, head=1, special="hidden"))
    pattern = patterns["encoder"][0][0].numpy()
    kept = pattern[:-1, :-1] / pattern[:-1, :-1].sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(cells(page), kept, atol=1e-5)
    expect(page.get_by_text("renormalised")).to_be_visible()
    page.get_by_text("Display").click()
    page.get_by_text("shown", exact=True).click()
    until(page, "e.shown.numbers[0].keys.at(-1) === '</s>'")
    page.get_by_text("scores", exact=True).click()
    until(page, "e.shown.numbers[0].quantity === 'score'")
    scores = cells(page)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    np.testing.assert_allclose(weights / weights.sum(axis=-1, keepdims=True), pattern, atol=1e-5)


def test_the_table_fits_on_the_screen_and_offers_what_it_can(page, address):
    open_page(page, link(address, view="table"))
    table, footer = page.get_by_test_id("stDataFrame"), page.get_by_text("Weights show where a head reads")
    heights = []
    for width, height in ((1280, 800), (1920, 1080)):
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_function("(height) => innerHeight === height", arg=height)
        expect(page.get_by_role("button", name="Save as CSV")).to_be_in_viewport(ratio=1)
        expect(footer).to_be_in_viewport(ratio=1)
        heights.append(table.bounding_box()["height"])
    assert heights[1] - heights[0] == pytest.approx(280, abs=2)
    expect(page.get_by_text("full colour")).to_be_hidden()
    expect(page.get_by_role("button", name="Save the picture (SVG)")).to_be_hidden()


def test_typed_html_is_text_everywhere(page, address):
    text = "<b>bold</b> <img src=x onerror=document.title='hacked'>"
    open_page(page, link(address, source=text, target_from="type", target=text))
    assert page.locator(f"{EXPLORER} img, {EXPLORER} .body b").count() == 0
    assert page.title() != "hacked"
    assert "<" in labels(page, "keys")
    expect(page.get_by_text("spelled as bytes").first).to_be_visible()


def test_another_checkpoint_keeps_the_choices(page, address):
    open_page(page, asked_link(address, kind="encoder", layer=2, head=3))
    before = len(labels(page, "keys"))
    page.get_by_role("combobox", name="Checkpoint").click()
    page.get_by_role("option", name="small").click()
    page.wait_for_url("**checkpoint=small**")
    until(page, "e.shown.numbers[0].keys.length > argument", before)
    assert painted(page) == "encoder: layer 2, head 3"
    expect(page.get_by_role("textbox", name="Source text")).to_have_value(ASKED["source"])


def test_the_picture_is_saved_as_vectors(page, address):
    open_page(page, asked_link(address, kind="cross", layer=2, head=1))
    with page.expect_download() as download:
        page.get_by_role("button", name="Save the picture").click()
    svg = download.value.path().read_text(encoding="utf-8")
    assert download.value.suggested_filename.endswith(".svg")
    page.set_content(svg)
    texts = page.locator("svg text").all_text_contents()
    assert {"猫", "▁cat", "keys: source"} <= {text.strip() for text in texts}


def test_the_browsers_language_comes_first_and_the_switch_beats_it(browser, address):
    context = browser.new_context(locale="zh-CN")
    page = context.new_page()
    open_page(page, address)
    expect(page.get_by_text("源文本")).to_be_visible()
    expect(page.get_by_text("热图")).to_be_visible()
    page.get_by_text("English", exact=True).click()
    expect(page.get_by_text("Source text").first).to_be_visible()
    expect(page.get_by_text("heat map")).to_be_visible()
    page.wait_for_url("**language=en**")
    context.close()


def test_light_and_dark_follow_the_viewers_system(page, address):
    open_page(page, asked_link(address, kind="decoder"))
    colour = "e.shown.picture.items.find((one) => one.mono).fill"
    assert shown(page, colour) == "#1f2328"
    page.emulate_media(color_scheme="dark")
    until(page, f"{colour} === '#e6edf3'")


def test_two_viewers_do_not_see_each_others_texts(browser, address):
    contexts = [browser.new_context(locale="en-US") for _ in range(2)]
    pages = [context.new_page() for context in contexts]
    for viewer, text in zip(pages, ("Tom is happy.", "She reads a book."), strict=True):
        open_page(viewer, link(address, source=text))
    assert "▁Tom" in labels(pages[0], "keys")
    assert "▁Tom" not in labels(pages[1], "keys")
    slider(pages[0], 1).press("ArrowRight")
    painted(pages[0], "head 2")
    assert "▁Tom" in labels(pages[0], "keys")
    for context in contexts:
        context.close()
