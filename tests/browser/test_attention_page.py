"""The attention page as a person sees and uses it, on the checkpoint that ships."""

import numpy as np
import pytest
import torch
from browsing import FIGURE, axis, cells, open_page, painted, slider
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


def link(address: str, **choices: object) -> str:
    from urllib.parse import urlencode

    return f"{address}/?{urlencode(choices)}"


def asked_link(address: str, **choices: object) -> str:
    return link(address, **ASKED, target_from="type", **choices)


def shown_weights(page: Page) -> np.ndarray:
    """The figure's cells with blocked ones as 0, which is what a pattern holds there."""
    weights = np.array(cells(page), dtype=np.float64)
    blocked = cells(page, "blocked")
    if blocked is not None:
        np.testing.assert_array_equal(np.isnan(weights), ~np.isnan(np.array(blocked, dtype=np.float64)))
    return np.nan_to_num(weights)


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_every_head_is_the_one_the_model_has(page, address, patterns, kind):
    assert len(patterns["cross"]) >= 2
    for layer, pattern in enumerate(patterns[kind], start=1):
        for head in (1, pattern.size(0)):
            open_page(page, asked_link(address, kind=kind, layer=layer, head=head))
            painted(page, f"layer {layer}, head {head}")
            np.testing.assert_allclose(shown_weights(page), pattern[head - 1], atol=1e-6)


def test_the_mean_is_the_mean_of_the_heads(page, address, patterns):
    open_page(page, asked_link(address, kind="cross", layer=2, mean="true"))
    np.testing.assert_allclose(shown_weights(page), patterns["cross"][1].mean(0), atol=1e-6)
    expect(page.get_by_text("average of 4 heads")).to_be_visible()


def test_axes_carry_the_tokens_that_ran(page, address):
    checkpoint = load_checkpoint("en-zh")
    source = checkpoint.source_tokenizer.labels(checkpoint.source_ids(ASKED["source"]))
    target = checkpoint.target_tokenizer.labels(checkpoint.target_ids(ASKED["target"]))
    assert source.count("▁the") == 2 or source.count("▁dog") == 2
    assert len(source) != len(target)
    open_page(page, asked_link(address))
    assert axis(page, "xaxis") == source
    assert axis(page, "yaxis") == target
    page.get_by_text("token read").click()
    page.wait_for_function(f"document.querySelector('{FIGURE}').layout.meta.queries[0] === '<s>'")
    assert axis(page, "yaxis") == ["<s>", *target[:-1]]
    open_page(page, asked_link(address, kind="encoder"))
    assert axis(page, "xaxis") == axis(page, "yaxis") == source


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
    page.wait_for_function(f"document.querySelector('{FIGURE}').layout.meta.keys.includes('▁Tom')")
    assert "source=Tom" in page.url


def test_sliders_move_the_picture_and_the_address(page, address):
    open_page(page, asked_link(address, kind="cross", layer=2, head=1))
    before = cells(page)
    slider(page, 1).press("ArrowRight")
    painted(page, "layer 2, head 2")
    assert cells(page) != before
    slider(page, 0).press("ArrowRight")
    painted(page, "layer 3, head 2")
    page.wait_for_url("**layer=3**")
    assert "head=2" in page.url


def test_fast_keys_leave_the_last_head_on_the_screen(page, address):
    open_page(page, asked_link(address, kind="encoder", layer=1, head=1))
    slider(page, 1).focus()
    for key in ["ArrowRight"] * 3 + ["ArrowLeft"] * 3 + ["ArrowRight"] * 3:
        page.keyboard.press(key)
        page.wait_for_timeout(40)
    painted(page, "layer 1, head 4")
    page.wait_for_timeout(500)
    assert painted(page) == "encoder: layer 1, head 4"
    assert page.locator(FIGURE).evaluate("(figure) => [...figure.childNodes].every((node) => node.nodeType === 1)")


def test_the_picture_follows_a_collapsed_sidebar(page, address):
    open_page(page, asked_link(address))
    before = page.locator(FIGURE).bounding_box()["width"]
    page.locator("[data-testid=stSidebar]").hover()
    page.locator("[data-testid=stSidebarCollapseButton] button").click()
    page.wait_for_function(f"document.querySelector('{FIGURE}').getBoundingClientRect().width > {before} + 100")
    page.wait_for_function(
        f"document.querySelector('{FIGURE} .main-svg').getBoundingClientRect().width > {before} + 100"
    )


def test_a_click_on_a_head_selects_it(page, address):
    open_page(page, asked_link(address, kind="encoder", layer=1, head=1))
    page.get_by_role("button", name="layer 3, head 2").click()
    painted(page, "layer 3, head 2")
    assert (slider(page, 0).input_value(), slider(page, 1).input_value()) == ("3", "2")
    expect(page.get_by_role("button", name="layer 3, head 2")).to_have_attribute("aria-pressed", "true")


def test_a_reload_restores_the_view(page, address):
    open_page(page, address)
    page.get_by_text("decoder", exact=True).first.click()
    painted(page, "decoder")
    page.get_by_role("button", name="layer 1, head 3").click()
    name = painted(page, "layer 1, head 3")
    page.wait_for_url("**kind=decoder**")
    seen = cells(page)
    page.reload()
    assert painted(page, "layer 1, head 3") == name
    np.testing.assert_array_equal(np.array(cells(page)), np.array(seen))


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


def test_zoom_stays_when_the_head_changes(page, address):
    open_page(page, asked_link(address, kind="encoder", layer=1, head=1))
    plot = page.locator(f"{FIGURE} .nsewdrag").bounding_box()
    page.mouse.move(plot["x"] + plot["width"] * 0.2, plot["y"] + plot["height"] * 0.2)
    page.mouse.down()
    page.mouse.move(plot["x"] + plot["width"] * 0.7, plot["y"] + plot["height"] * 0.7, steps=5)
    page.mouse.up()
    span = f"document.querySelector('{FIGURE}').layout.xaxis.range"
    page.wait_for_function(f"{span}[1] - {span}[0] < 10")
    zoomed = page.evaluate(span)
    slider(page, 1).press("ArrowRight")
    painted(page, "layer 1, head 2")
    assert page.evaluate(span) == zoomed


def test_hover_names_query_key_weight_and_score(page, address, patterns):
    open_page(page, asked_link(address, kind="cross", layer=2, head=1))
    plot = page.locator(f"{FIGURE} .nsewdrag").bounding_box()
    rows, columns = np.array(cells(page)).shape
    page.mouse.move(plot["x"] + plot["width"] * 1.5 / columns, plot["y"] + plot["height"] * 2.5 / rows)
    tip = page.locator(".headlight-hover")
    expect(tip).to_be_visible()
    text = tip.inner_text()
    meta = page.evaluate(f"document.querySelector('{FIGURE}').layout.meta")
    assert meta["queries"][2] in text
    assert meta["keys"][1] in text
    assert f"{patterns['cross'][1][0, 2, 1]:.4f}" in text
    assert "score" in text


def test_typed_html_is_text_everywhere(page, address):
    text = "<b>bold</b> <img src=x onerror=document.title='hacked'>"
    open_page(page, link(address, source=text, target_from="type", target=text))
    assert page.locator(f"{FIGURE} img, {FIGURE} b").count() == 0
    assert page.title() != "hacked"
    assert "<0x3C>" in axis(page, "xaxis")
    expect(page.get_by_text("spelled as bytes").first).to_be_visible()


def test_another_checkpoint_keeps_the_choices(page, address):
    open_page(page, asked_link(address, kind="encoder", layer=2, head=3))
    page.get_by_role("combobox", name="Checkpoint").click()
    page.get_by_role("option", name="small").click()
    page.wait_for_url("**checkpoint=small**")
    painted(page, "encoder: layer 2, head 3")
    page.wait_for_function(f"document.querySelector('{FIGURE}').layout.meta.keys.length > 20")
    expect(page.get_by_role("textbox", name="Source text")).to_have_value(ASKED["source"])


def test_a_long_text_is_cut_on_request(page, address):
    page.goto(link(address, source="hello " * 400))
    expect(page.get_by_text("at most 256")).to_be_visible()
    page.get_by_role("button", name="Cut it to what fits").click()
    painted(page)
    assert len(cells(page)[0]) <= 256


def test_the_browsers_language_comes_first_and_the_switch_beats_it(browser, address):
    context = browser.new_context(locale="zh-CN")
    page = context.new_page()
    open_page(page, address)
    expect(page.get_by_text("源文本")).to_be_visible()
    page.get_by_text("English", exact=True).click()
    expect(page.get_by_text("Source text").first).to_be_visible()
    page.wait_for_url("**language=en**")
    context.close()


def test_light_and_dark_follow_the_viewers_system(page, address):
    open_page(page, asked_link(address))
    light = page.evaluate(f"document.querySelector('{FIGURE}').data[0].colorscale[0][1]")
    assert light == "#ffffff"
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(f"document.querySelector('{FIGURE}').data[0].colorscale[0][1] === '#0e1116'")


def test_two_viewers_do_not_see_each_others_texts(browser, address):
    contexts = [browser.new_context(locale="en-US") for _ in range(2)]
    pages = [context.new_page() for context in contexts]
    for viewer, text in zip(pages, ("Tom is happy.", "She reads a book."), strict=True):
        open_page(viewer, link(address, source=text))
    assert "▁Tom" in axis(pages[0], "xaxis")
    assert "▁Tom" not in axis(pages[1], "xaxis")
    slider(pages[0], 1).press("ArrowRight")
    painted(pages[0], "head 2")
    assert "▁Tom" in axis(pages[0], "xaxis")
    for context in contexts:
        context.close()
