"""A text too long to be drawn cell by cell: an overview first, cells and tokens when one comes closer."""

import json
from dataclasses import asdict

import numpy as np
import pytest
import torch
from browsing import EXPLORER, labels, link, open_page, painted, point_at, shown, slider, until
from computed import module
from playwright.sync_api import Page, expect

from dashboard.figures.colours import colours as colours_of
from transformer import load_checkpoint, record

pytestmark = pytest.mark.browser

TEXT = "The harbour was quiet when the first boat came back from the islands. Nobody had seen the keys. " * 40


@pytest.fixture(scope="module")
def pattern() -> np.ndarray:
    """(H, L, S) of the encoder's first layer."""
    checkpoint = load_checkpoint("en-zh")
    with torch.inference_mode(), record(checkpoint.model) as recording:
        checkpoint.model.encode(torch.tensor([checkpoint.source_ids(TEXT)]))
    return recording.pattern(recording.site("encoder", 0)).numpy()


@pytest.fixture
def long(page: Page, address: str) -> Page:
    """The page on the long text: it is typed, for no address could hold it."""
    open_page(page, link(address, kind="encoder", layer=1, head=2, target_from="type", target="我们"))
    page.get_by_role("textbox", name="Source text").fill(TEXT)
    page.get_by_role("textbox", name="Source text").press("Control+Enter")
    until(page, "e.shown.numbers[0].total")
    return page


def bins(page: Page) -> np.ndarray:
    rows, columns = shown(page, "e.shown.numbers[0].bins")
    return np.array(shown(page, "[...e.shown.numbers[0].cells]")).reshape(rows, columns)


def test_the_overview_shows_the_largest_or_the_mean_of_each_bin(long, pattern):
    length = pattern.shape[1]
    assert shown(long, "e.shown.numbers[0].total") == [length, length]
    assert length > 600
    edges = np.arange(513) * length // 512
    by_rows = np.maximum.reduceat(pattern[1], edges[:-1], axis=0)
    np.testing.assert_allclose(bins(long), np.maximum.reduceat(by_rows, edges[:-1], axis=1), atol=1e-6)
    long.locator(EXPLORER).get_by_text("mean", exact=True).locator("visible=true").click()
    until(long, "e.shown.numbers[0].pool === 'mean'")
    sums = np.add.reduceat(np.add.reduceat(pattern[1], edges[:-1], axis=0), edges[:-1], axis=1)
    np.testing.assert_allclose(bins(long), sums / np.outer(np.diff(edges), np.diff(edges)), atol=1e-6)
    expect(long.get_by_text("a square shows the mean of its cells")).to_be_visible()
    expect(long.get_by_text("the model was trained on none with more than 256")).to_be_visible()


def test_coming_closer_ends_at_cells_and_tokens(long, pattern):
    point_at(long, pattern.shape[1] * 0.25, pattern.shape[1] * 0.75)
    for _ in range(20):
        long.mouse.wheel(0, -120)
    until(long, "e.shown.picture.seen.rows[1] - e.shown.picture.seen.rows[0] < 20 && e.shown.numbers[0].bins[0] < 25")
    window = shown(long, "e.shown.numbers[0].window")
    (top, bottom), (left, right) = window["rows"], window["columns"]
    np.testing.assert_allclose(bins(long), pattern[1, top:bottom, left:right], atol=1e-6)
    checkpoint = load_checkpoint("en-zh")
    tokens = checkpoint.source_tokenizer.labels(checkpoint.source_ids(TEXT))
    assert (labels(long, "queries"), labels(long, "keys")) == (tokens[top:bottom], tokens[left:right])
    assert top < pattern.shape[1] * 0.25 < bottom
    assert left < pattern.shape[1] * 0.75 < right
    slider(long, 1).press("ArrowRight")
    painted(long, "layer 1, head 3")
    until(long, "e.shown.numbers[0].window.rows[0] === argument", top)
    np.testing.assert_allclose(bins(long), pattern[2, top:bottom, left:right], atol=1e-6)


def test_rows_and_columns_without_names_have_round_numbers(page, address):
    open_page(page, link(address))

    def numbered(seen: str) -> list[str]:
        numbers = """{ queries: null, keys: null, cells: new Float32Array(1), bins: [1, 1], total: [3137, 3137], low: 0,
            high: 1, window: { rows: [0, 3137], columns: [0, 3137] } }"""
        colours = json.dumps(asdict(colours_of("encoder", "light")))
        asked = f"""{{ numbers: {numbers}, palette: {colours}, state: {{ scale: "linear" }}, titles: {{}},
            box: {{ x: 0, y: 0, width: 600, height: 560 }}, zoom: {{ rows: {seen}, columns: [0, 3137] }} }}"""
        rows = "one.type === 'text' && one.mono && one.anchor === 'end'"
        return module(page, "matrix.js", f"m.matrix({asked}).items.filter((one) => {rows}).map((one) => one.text)")

    assert numbered("[0, 3137]") == ["1", *(f"{number:,}" for number in range(100, 3137, 100))]
    assert numbered("[1000, 1015]") == [f"{number:,}" for number in range(1001, 1016)]
    assert numbered("[0, 60]") == [str(number) for number in range(2, 61, 2)]  # 1 would stand too near to 2


def test_only_the_views_that_can_show_it_are_offered(long):
    views = long.locator(EXPLORER).get_by_role("radiogroup", name="View").locator("label:visible")
    assert views.all_inner_texts() == ["heat map", "all heads"]
    long.locator(EXPLORER).get_by_text("cross", exact=True).locator("visible=true").click()
    until(long, "e.shown.state.kind === 'cross'")
    assert "lines" in views.all_inner_texts()


def test_the_heads_come_one_by_one_and_can_be_stopped(long):
    until(long, "e.tiles.filter((one) => one.kind === 'encoder' && one.numbers.tiles.length === 12).length === 12")
    expect(long.locator(f"{EXPLORER} .progress")).to_be_hidden()
    long.locator(EXPLORER).get_by_text("Display").click()
    held = []
    long.route("**/tile?*", lambda route: held.append(route))
    long.locator(EXPLORER).get_by_text("weight × ‖value‖").click()
    expect(long.get_by_text("0 of 12 heads")).to_be_visible()
    long.locator(EXPLORER).get_by_text("all heads", exact=True).click()
    until(long, "e.dataset.view === 'heads'")
    expect(long.get_by_text("0 of 12 heads")).to_be_visible()
    expect(long.get_by_text("A square shows its cells'")).to_be_hidden()
    long.get_by_role("button", name="Stop", exact=True).last.click()
    expect(long.locator(f"{EXPLORER} .progress")).to_be_hidden()
    for route in held:
        route.continue_()
    long.wait_for_timeout(500)
    assert len(held) == 1
