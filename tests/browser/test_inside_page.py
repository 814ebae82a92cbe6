"""Inside a layer, as a person walks through it: every number beside plain torch, keys, clicks, code."""

import re
from functools import partial

import browsing
import numpy as np
import pytest
from browsing import link
from plain_layer import PlainLayer
from playwright.sync_api import Page, expect

from transformer.checkpoint import load_checkpoint

pytestmark = pytest.mark.browser

INSIDE = ".inside"
TEXTS = {
    "letters": ("abcdef", "fedc"),
    "post": ("the cat sees the sea", "neko umi"),
    "en-zh": ("The cat saw the dog.", "猫看见了狗。"),
}


def walked(address: str, **choices: object) -> str:
    name = str(choices.get("checkpoint", "letters"))
    source, target = TEXTS[name]
    asked = {"page": "inside", "checkpoint": name, "source": source, "target_from": "type", "target": target}
    return link(address, **asked | choices)


# Of what the page painted last: ``e.shown`` holds state, way, step, numbers, values, cell, taken and picture.
shown, until = partial(browsing.shown, where=INSIDE), partial(browsing.until, where=INSIDE)


def open_inside(page: Page, url: str) -> None:
    page.goto(url)
    until(page, "e.shown.step")


def cells(page: Page) -> np.ndarray:
    """The tensor that is shown; not-a-number where the mask blocks."""
    size, flat = shown(page, "[e.shown.values.size, [...e.shown.values.cells].map(String)]")
    return np.array(flat, dtype=np.float64).reshape(size)


def written(page: Page) -> list[str]:
    return shown(page, "e.shown.picture.items.filter((one) => one.type === 'text').map((one) => one.text)")


def on_page(page: Page, x: float, y: float) -> tuple[float, float]:
    """Where a place of the picture lies on the page."""
    box = page.locator(f"{INSIDE} .stage canvas").bounding_box()
    assert box
    return box["x"] + x, box["y"] + y


def click_cell(page: Page, row: int, column: int) -> None:
    plot, (rows, columns) = shown(page, "e.shown.picture.plot"), shown(page, "e.shown.values.size")
    x, y = (column + 0.5) / columns, (row + 0.5) / rows
    page.mouse.click(*on_page(page, plot["x"] + plot["width"] * x, plot["y"] + plot["height"] * y))
    until(page, "e.shown.cell[0] === argument[0] && e.shown.cell[1] === argument[1]", [row, column])


def choose_tensor(page: Page, name: str) -> None:
    tab = f"e.shown.picture.items.find((one) => one.size > 15 && one.text === '{name}' && one.anchor === 'middle')"
    page.mouse.click(*on_page(page, *shown(page, f"(({{ x, y }}) => [x, y])({tab})")))
    until(page, "e.shown.values.name === argument", name)


def expected(checkpoint_folder, name, kind, layer, head) -> PlainLayer:
    asked = load_checkpoint(checkpoint_folder / name)
    source, target = TEXTS[name]
    read = [asked.config.bos_id, *asked.target_ids(target)[:-1]]
    return PlainLayer(asked, asked.source_ids(source), read, kind, layer, head)


WALKS = [
    ("letters", "encoder", 0, 2), ("letters", "decoder", 0, 1), ("letters", "cross", 0, 0),
    ("post", "encoder", 1, 1), ("post", "cross", 0, 2),
    ("en-zh", "cross", 2, 1),
]  # fmt: skip


@pytest.mark.parametrize(("name", "kind", "layer", "head"), WALKS)
def test_every_step_shows_what_plain_torch_computes(page, address, checkpoint_folder, name, kind, layer, head):
    plain = expected(checkpoint_folder, name, kind, layer, head).steps
    first = "input" if layer else "ids"
    open_inside(page, walked(address, checkpoint=name, kind=kind, layer=layer + 1, head=head + 1, inside_step=first))
    names = shown(page, "e.shown.way.steps.map((one) => one.name)")
    seen = set()
    for at, step in enumerate(names):
        until(page, "e.shown.step === argument", step)
        expect(page.locator(f"{INSIDE} .counted")).to_have_text(f"{at + 1} of {len(names)}")
        expect(page.locator(f"{INSIDE} .way [aria-current]")).to_have_count(1)
        several = shown(page, "e.shown.numbers.tensors.map((one) => one.name)")
        for tensor in several:
            if len(several) > 1:
                choose_tensor(page, tensor)
            wanted = plain[f"{step} {tensor}".strip()].numpy()
            np.testing.assert_allclose(cells(page), np.where(np.isneginf(wanted), np.nan, wanted), atol=1e-4, rtol=1e-4)
            row, column = shown(page, "e.shown.cell")
            value = shown(page, "e.shown.taken.lines[e.shown.taken.own].result")
            assert value == pytest.approx(float(wanted[row, column]), abs=1e-4, rel=1e-4)
            seen.add(f"{step} {tensor}".strip())
        if len(several) > 1:
            choose_tensor(page, "q")
        page.keyboard.press("ArrowRight")
    assert seen == set(plain)


def test_arrow_keys_go_from_step_to_step_and_the_address_follows(page, address):
    open_inside(page, walked(address, kind="encoder", layer=1, head=1, inside_step="scores"))
    page.keyboard.press("ArrowRight")
    until(page, "e.shown.step === 'mask'")
    page.wait_for_url("**inside_step=mask**")
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    until(page, "e.shown.step === 'projection'")
    page.keyboard.press("End")
    until(page, "e.shown.step === 'ff_add'")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("button", name="A step on")).to_be_disabled()
    page.keyboard.press("Home")
    until(page, "e.shown.step === 'ids'")
    expect(page.get_by_role("button", name="A step back")).to_be_disabled()
    page.get_by_role("button", name="A step on").click()
    until(page, "e.shown.step === 'embedding'")
    page.keyboard.press("ArrowRight")  # with the button in focus
    until(page, "e.shown.step === 'scaled'")
    page.get_by_role("navigation", name="Steps").get_by_text("softmax").click()
    until(page, "e.shown.step === 'softmax'")
    page.wait_for_url("**inside_step=softmax**")
    page.reload()
    until(page, "e.shown.step === 'softmax'")


def test_arrow_keys_of_a_text_or_a_slider_are_theirs(page, address):
    open_inside(page, walked(address, kind="encoder", layer=1, head=1, inside_step="scores"))
    page.get_by_role("textbox", name="Source text").focus()
    page.keyboard.press("ArrowRight")
    page.get_by_role("slider", name="Head").focus()
    page.keyboard.press("ArrowRight")
    until(page, "e.shown.state.head === 1")
    assert shown(page, "e.shown.step") == "scores"
    page.wait_for_url("**head=2**")


def test_a_click_takes_a_number_apart(page, address, checkpoint_folder):
    plain = expected(checkpoint_folder, "letters", "cross", 0, 1).steps
    open_inside(page, walked(address, kind="cross", layer=1, head=2, inside_step="scores"))
    row, column = 2, 5
    click_cell(page, row, column)
    page.wait_for_url(lambda url: "inside_cell=3%2C6" in url or "inside_cell=3,6" in url)
    taken = {name: np.array(shown(page, f"[...e.shown.taken.{name}]")) for name in ("left", "right", "results")}
    lines = shown(page, "e.shown.taken.lines")
    query, key = plain["heads q"][row].numpy(), plain["heads k"][column].numpy()
    np.testing.assert_allclose(taken["left"], query, atol=1e-5)
    np.testing.assert_allclose(taken["right"], key, atol=1e-5)
    np.testing.assert_allclose(taken["results"], query * key, atol=1e-5)
    results = {line["sign"]: line["result"] for line in lines}
    assert results["sum"] == pytest.approx(float(query @ key), abs=1e-4)
    assert results["root"] == pytest.approx(float(plain["scores"][row, column]), abs=1e-4)
    assert results["share"] == pytest.approx(float(plain["softmax"][row, column]), abs=1e-4)
    texts = written(page)
    for number in (*query, *key, *(query * key), results["sum"], results["root"], results["share"]):
        assert digits(number) in texts
    large = shown(page, "Math.min(...e.shown.picture.items.filter((one) => one.text === '×').map((one) => one.size))")
    assert large >= 15
    for step in ("mask", "softmax"):  # the cell stays chosen
        page.keyboard.press("ArrowRight")
        until(page, "e.shown.step === argument && e.shown.cell[0] === 2 && e.shown.cell[1] === 5", step)
    powers = shown(page, "[...e.shown.taken.results]")
    lines = shown(page, "e.shown.taken.lines")
    assert sum(powers) == pytest.approx(lines[0]["result"], rel=1e-5)
    np.testing.assert_allclose(np.array(powers) / sum(powers), plain["softmax"][row].numpy(), atol=1e-5)
    page.wait_for_url("**inside_step=softmax**")
    page.reload()
    until(page, "e.shown.step === 'softmax' && e.shown.cell[1] === 5")


def digits(number: float) -> str:
    text = f"{number:.4f}" if abs(number) < 0.005 else f"{number:.2f}"
    return (text.replace("-", "") if float(text) == 0 else text).replace("-", "−")


def test_of_many_terms_the_largest_are_shown_and_the_rest_is_counted(page, address):
    open_inside(page, walked(address, checkpoint="en-zh", kind="encoder", layer=1, head=1, inside_step="linear2"))
    results = np.array(shown(page, "[...e.shown.taken.results]"))
    assert len(results) == 1024
    texts = written(page)
    more = next(text for text in texts if text.startswith("and "))
    count = int(re.search(r"\d+", more).group())
    shown_terms = 1024 - count
    assert 2 <= shown_terms <= 20
    places = np.sort(np.argsort(-np.abs(results))[:shown_terms])
    for place in places:
        assert str(place + 1) in texts
    assert digits(results.sum() - results[places].sum()) in texts


def test_what_is_wider_than_the_screen_is_drawn_from_the_largest_of_each_few(page, address):
    open_inside(page, walked(address, checkpoint="en-zh", kind="encoder", layer=1, head=1, inside_step="linear1"))
    values, row = cells(page), 2
    plot, part = shown(page, "e.shown.picture.plot"), (row + 0.5) / len(values)
    y, steps = plot["y"] + plot["height"] * part, int(plot["width"] * 2)
    places = f"Array.from({{ length: {steps} }}, (_, at) => {plot['x']} + at / 2)"
    found = shown(page, f"{places}.map((x) => e.shown.picture.at(x, {y}).select.cell)")
    columns = [column for _, column in found]
    assert {at for at, _ in found} == {row}
    assert columns == sorted(columns)
    assert len(set(columns)) < 0.7 * 1024 == 0.7 * values.shape[1]
    assert int(np.abs(values[row]).argmax()) in columns
    bins = np.unique(columns)
    assert np.abs(values[row, bins]).mean() > 1.1 * np.abs(values[row]).mean()


def test_what_is_blocked_is_said(page, address):
    open_inside(page, walked(address, kind="decoder", layer=1, head=1, inside_step="mask"))
    assert np.isnan(cells(page)).sum() == 5 * 4 / 2
    click_cell(page, 0, 3)
    texts = written(page)
    assert texts.count("−∞") >= 2
    assert "+ mask −∞" in texts
    expect(page.locator(f"{INSIDE} .legend")).to_contain_text("blocked by the mask")
    expect(page.locator(f"{INSIDE} .sentence")).to_contain_text("−∞")


def axes(page: Page) -> list[list[str]]:
    """The letters of each row of axes, from left to right."""
    letters = "e.shown.picture.items.filter((one) => one.type === 'text' && one.bold && /^[A-Z]$/.test(one.text))"
    items = shown(page, f"{letters}.map(({{ x, y, text }}) => [y, x, text])")
    return [[text for at, _, text in sorted(items) if at == y] for y in sorted({at for at, _, _ in items})]


def test_the_switch_shows_where_axes_move(page, address):
    open_inside(page, walked(address, kind="encoder", layer=1, head=1, inside_step="projection"))
    assert axes(page) == [["N", "L", "E"], ["L", "N", "E"]]
    lit = page.locator(f"{INSIDE} .lit")
    expect(lit.filter(has_text="swap_batch_axis(query, key, value)")).to_have_count(1)
    page.get_by_role("switch", name="batch first").uncheck()
    until(page, "!e.shown.state.batch_first")
    assert axes(page) == [["L", "N", "E"], ["L", "N", "E"]]
    expect(lit.filter(has_text="swap_batch_axis")).to_have_count(0)
    page.wait_for_url("**batch_first=false**")
    page.keyboard.press("ArrowRight")
    until(page, "e.shown.step === 'heads'")
    assert axes(page) == [["L", "N", "E"], ["N", "H", "L", "D"]]
    page.keyboard.press("ArrowRight")
    until(page, "e.shown.step === 'scores'")
    assert axes(page) == [["N", "H", "L", "D", "N", "H", "S", "D"], ["N", "H", "L", "S"]]
    sizes = shown(page, "e.shown.way.sizes")
    assert [sizes[letter] for letter in "NLSHDE"] == [1, 7, 7, 3, 8, 24]
    assert "7" in written(page)


CODE = {
    "scores": ("scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))", "q_scaled = q * math.sqrt(1.0"),
    "softmax": ("softmax(dim=-1)", "softmax(attn_output_weights, dim=-1)"),
    "joined": ("joined = heads.transpose(1, 2)", "attn_output.transpose(0, 1).reshape(tgt_len * bsz, embed_dim)"),
    "add": ("x + self._cross_attention(self.norm2(x), memory, *cross)", "x = x + self._mha_block("),
    "linear1": ("self.activation(self.linear1(x))", "self.linear2(self.dropout(self.activation(self.linear1(x))))"),
}


def test_the_code_beside_a_step_is_lit(page, address):
    for step, (ours, theirs) in CODE.items():
        open_inside(page, walked(address, kind="cross", layer=1, head=1, inside_step=step))
        for number, wanted in enumerate((ours, theirs)):
            side = page.locator(f"{INSIDE} .side-of-code").nth(number)
            lit = " ".join(side.locator(".lit").all_text_contents())
            assert wanted in lit, step
        fused = page.get_by_text("A run that nobody edits calls this fused function")
        expect(fused).to_have_count(2 if step in ("scores", "softmax") else 0)
    side = page.locator(f"{INSIDE} .side-of-code").first
    before = len(side.locator("pre span").all())
    page.get_by_role("switch", name="whole functions").check()
    expect(side.locator("pre span").first).to_contain_text("def _feedforward")
    assert len(side.locator("pre span").all()) >= before
    open_inside(page, walked(address, kind="encoder", layer=1, head=1, inside_step="positions"))
    expect(page.get_by_text("torch.nn.Transformer adds no positions")).to_be_visible()


def test_the_other_attention_of_a_decoder_layer_is_one_step(page, address):
    open_inside(page, walked(address, kind="decoder", layer=1, head=1, inside_step="cross_attention"))
    expect(page.locator(f"{INSIDE} .sentence")).to_contain_text("choose “cross” above")
    page.locator(INSIDE).get_by_role("radiogroup", name="Attention").get_by_text("cross").click()
    until(page, "e.shown.state.kind === 'cross' && e.shown.step === 'norm'")
    assert "memory" in shown(page, "e.shown.way.steps.map((one) => one.name)")
    page.wait_for_url(lambda url: "kind=" not in url)  # as it begins
    page.keyboard.press("ArrowRight")  # what was clicked does not keep the keys
    until(page, "e.shown.step === 'memory'")
    assert shown(page, "e.shown.state.kind") == "cross"


def test_a_decoder_alone_is_walked_through(page, address):
    page.goto(link(address, page="inside", checkpoint="alone", inside_step="logits"))
    until(page, "e.shown.step === 'logits'")
    assert shown(page, "e.shown.state.kind") == "decoder"
    assert shown(page, "e.shown.values.size[1]") == shown(page, "e.shown.way.sizes.V")


def test_a_picture_is_saved(page, address):
    open_inside(page, walked(address, kind="encoder", layer=1, head=1, inside_step="scores"))
    with page.expect_download() as download:
        page.get_by_role("button", name="Save the picture").click()
    assert download.value.suggested_filename.endswith(".svg")
    text = download.value.path().read_text(encoding="utf-8")
    assert "softmax" not in text
    assert "sum" in text


def test_a_long_text_is_said_and_the_page_comes_back(page, address):
    source = "abcdefgh" * 70
    page.goto(walked(address, source=source, kind="encoder"))
    expect(page.get_by_text("texts of up to 512 tokens")).to_be_visible()
    expect(page.locator(f"{INSIDE} .stage canvas")).to_be_hidden()
    page.locator(INSIDE).get_by_role("radiogroup", name="Attention").get_by_text("decoder").click()
    until(page, "e.shown.state.kind === 'decoder'")
    expect(page.locator(f"{INSIDE} .stage canvas")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("language", "steps"), [("en", "Steps"), ("zh", "步骤")])
def test_the_page_opens_in_both_languages_light_and_dark(page, address, language, steps, scheme):
    page.emulate_media(color_scheme=scheme)
    open_inside(page, walked(address, language=language, kind="cross"))
    expect(page.get_by_role("navigation", name=steps)).to_be_visible()
    page.keyboard.press("Home")
    until(page, "e.shown.step === 'ids'")
    assert shown(
        page, "e.shown.picture.items.every((one) => one.text === undefined || !/undefined|NaN/.test(one.text))"
    )
    sentence = page.locator(f"{INSIDE} .sentence")
    for _ in range(len(shown(page, "e.shown.way.steps")) - 1):
        before = shown(page, "e.shown.step")
        page.keyboard.press("ArrowRight")
        until(page, "e.shown.step !== argument", before)
        assert "undefined" not in sentence.text_content() + "".join(written(page))
    overflow = page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight - window.innerHeight")
    assert overflow <= 0
