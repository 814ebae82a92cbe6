"""Why this pair: the panel beside the picture, as a person opens, reads and leaves it, on the checkpoint that ships."""

import numpy as np
import pytest
from browsing import EXPLORER, labels, link, open_page, painted, point_at, shown, slider, until
from computed import ASKED, Computed
from playwright.sync_api import Page, expect

from transformer import load_checkpoint
from transformer.recording import Recording

pytestmark = pytest.mark.browser

PANEL = f"{EXPLORER} .side:visible canvas"


@pytest.fixture(scope="module")
def recording() -> Recording:
    return Computed(load_checkpoint("en-zh")).recording


def asked_link(address: str, **choices: object) -> str:
    return link(address, **ASKED, **choices)


def explained(page: Page, row: int, column: int, head: int | str) -> dict[str, object]:
    """Wait until the panel explains a pair of a head, and give what it is drawn from."""
    until(
        page,
        "e.beside?.numbers.row === argument[0] && e.beside.numbers.column === argument[1]"
        " && e.shown.state.head === argument[2]",
        [row, column, head],
    )
    plain = "([name, value]) => [name, ArrayBuffer.isView(value) ? [...value] : value]"
    return shown(page, f"Object.fromEntries(Object.entries(e.beside.numbers).map({plain}))")


def written(page: Page) -> list[str]:
    """Every text in the panel's picture."""
    return shown(page, "e.beside.picture.items.filter((item) => item.type === 'text').map((item) => item.text)")


def test_a_click_on_a_cell_explains_its_weight(page, address, recording):
    site = recording.site("cross", 1)
    pattern, scores = recording.pattern(site, 2).numpy(), recording.scores(site, 2).numpy()
    row, column = 2, 11
    assert pattern.shape[0] != pattern.shape[1]
    assert abs(scores[row, column] - scores[column, row]) > 0.01
    open_page(page, asked_link(address, kind="cross", layer=2, head=3))
    expect(page.get_by_role("button", name="Back to all heads")).to_be_hidden()
    x, y = point_at(page, row, column)
    page.mouse.click(x, y)
    got = explained(page, row, column, 2)
    np.testing.assert_allclose(got["weights"], pattern[row], atol=1e-6)
    np.testing.assert_allclose(got["scores"], scores[row], atol=1e-4)
    assert got["keys"] == labels(page, "keys")
    assert [got["query"], got["key"]] == [labels(page, "queries")[row], labels(page, "keys")[column]]
    texts = written(page)
    assert texts[:3] == [got["query"], "→", got["key"]]
    for number in (f"{scores[row, column]:.2f}".replace("-", "−"), f"{pattern[row, column]:.2f}"):
        assert number in texts
    page.wait_for_url("**pair=3*12*")


def test_the_button_and_escape_lead_back_to_all_heads(page, address):
    heads = page.get_by_role("img", name="All heads")
    open_page(page, asked_link(address, kind="cross", layer=1, head=1, pair="2,3"))
    explained(page, 1, 2, 0)
    expect(heads).to_be_hidden()
    page.get_by_role("button", name="Back to all heads").click()
    expect(heads).to_be_visible()
    page.wait_for_url(lambda url: "pair=" not in url)
    for leave in ("with the picture clicked", "with nothing clicked"):
        if leave == "with the picture clicked":
            page.mouse.click(*point_at(page, 4, 1))
            explained(page, 4, 1, 0)
        else:
            open_page(page, asked_link(address, kind="cross", layer=1, head=1, pair="5,2"))
            explained(page, 4, 1, 0)
        page.keyboard.press("Escape")
        expect(heads).to_be_visible()
        until(page, "e.shown.state.pair === null && e.beside === null")


def test_escape_in_an_open_panel_of_the_bar_only_closes_that(page, address):
    open_page(page, asked_link(address, kind="cross", layer=1, head=1, pair="2,3"))
    explained(page, 1, 2, 0)
    page.get_by_text("Display", exact=True).click()
    page.keyboard.press("Escape")
    page.wait_for_timeout(200)
    explained(page, 1, 2, 0)


def test_a_link_restores_the_panel_and_sliders_keep_the_pair(page, address, recording):
    pattern = {head: recording.pattern(recording.site("encoder", 0), head)[3].numpy() for head in (0, 1)}
    assert np.abs(pattern[0] - pattern[1]).max() > 0.01
    open_page(page, asked_link(address, kind="encoder", layer=1, head=1, pair="4,8", centred="true"))
    got = explained(page, 3, 7, 0)
    np.testing.assert_allclose(got["weights"], pattern[0], atol=1e-6)
    assert sum(got["first"].values()) == pytest.approx(got["scores"][7], abs=1e-3)
    assert sum(got["centred"]) == pytest.approx(got["scores"][7] - np.mean(got["scores"]), abs=1e-3)
    assert "less the mean" in " ".join(written(page))
    slider(page, 1).press("ArrowRight")
    painted(page, "layer 1, head 2")
    until(page, "Math.abs(e.beside.numbers.weights[0] - argument) < 1e-6", float(pattern[1][0]))
    np.testing.assert_allclose(explained(page, 3, 7, 1)["weights"], pattern[1], atol=1e-6)
    slider(page, 0).press("ArrowRight")
    painted(page, "layer 2, head 2")
    until(page, "e.beside.numbers.first === null")
    np.testing.assert_allclose(
        explained(page, 3, 7, 1)["weights"], recording.pattern(recording.site("encoder", 1), 1)[3].numpy(), atol=1e-6
    )


def test_the_mean_of_heads_asks_for_one_head(page, address, recording):
    open_page(page, asked_link(address, kind="decoder", layer=1, head="mean", pair="4,2"))
    got = explained(page, 3, 1, "mean")
    mean = recording.pattern(recording.site("decoder", 0), "mean")[3].numpy()
    np.testing.assert_allclose(got["weights"], mean, atol=1e-6)
    assert "choose one head" in " ".join(written(page))
    assert "score" not in written(page)


def click_in_panel(page: Page, condition: str) -> None:
    """Click in the middle of the first item of the panel's picture of which the condition is true."""
    item = shown(page, f"e.beside.picture.items.find((item) => {condition})")
    box = page.locator(PANEL).bounding_box()
    page.mouse.click(box["x"] + item["x"] + 3, box["y"] + item["y"])


def test_the_switch_centres_the_keys_and_a_row_leads_to_its_key(page, address):
    open_page(page, asked_link(address, kind="cross", layer=1, head=1, pair="3,4"))
    explained(page, 2, 3, 0)
    assert "less the mean" not in " ".join(written(page))
    click_in_panel(page, "item.text === 'keys centred'")
    until(page, "e.shown.state.centred === true")
    assert "less the mean" in " ".join(written(page))
    page.wait_for_url("**centred=true**")
    click_in_panel(page, "item.text === '▁cat'")
    explained(page, 2, labels(page, "keys").index("▁cat"), 0)


def test_a_pair_of_a_longer_text_leaves_all_heads_beside_the_picture(page, address):
    open_page(page, asked_link(address, kind="cross", layer=1, head=1, pair="3,200"))
    expect(page.get_by_role("img", name="All heads")).to_be_visible()
    expect(page.get_by_role("button", name="Back to all heads")).to_be_hidden()


@pytest.mark.parametrize("size", [(1280, 800), (1100, 600), (1920, 1080)])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_nothing_in_the_panel_leaves_it(page, address, size, language):
    page.set_viewport_size(dict(zip(("width", "height"), size, strict=True)))
    choices = {"kind": "encoder", "layer": 1, "head": 2, "pair": "4,8", "centred": "true", "language": language}
    open_page(page, link(address, source=f"{ASKED['source']} " * 4, **choices))
    explained(page, 3, 7, 1)
    box = page.locator(PANEL).bounding_box()
    foot = "(item) => (item.y ?? item.y2) + (item.height ?? (item.size ?? 0) / 2)"
    lowest = shown(page, f"Math.max(...e.beside.picture.items.map({foot}))")
    assert 0.6 * box["height"] < lowest <= box["height"] + 1
    right = shown(
        page,
        """(() => {
            const ruler = document.createElement("canvas").getContext("2d")
            return Math.max(...e.beside.picture.items.map((item) => {
                if (item.type !== "text") return item.x2 ?? item.x + item.width
                const family = item.mono ? "'Source Code Pro'" : "'Source Sans'"
                ruler.font = `${item.bold ? 600 : 400} ${item.size}px ${family}`
                const wide = ruler.measureText(item.text).width
                return item.x + { start: wide, middle: wide / 2, end: 0 }[item.anchor ?? "start"]
            }))
        })()""",
    )
    assert right <= box["width"] + 2
