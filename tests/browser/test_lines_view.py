"""The lines view: each line is a weight that the checkpoint computes, and picked tokens are joined as it is said."""

from itertools import combinations

import numpy as np
import pytest
from browsing import EXPLORER, link, open_page, painted, shown, until
from computed import ASKED, Computed, canvas, items, module
from playwright.sync_api import Page, expect

from transformer import load_checkpoint

pytestmark = pytest.mark.browser

FAINTEST = 0.02  # of full colour
LONG = " ".join(["When we came home in the evening nobody was there to open the door for us."] * 8)
EYES = {  # what an eye without one kind of cones sees, on linear RGB: Machado, Oliveira and Fernandes 2009, table 1
    "all": np.eye(3),
    "no red": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "no green": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "no blue": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


@pytest.fixture(scope="module")
def computed() -> Computed:
    return Computed(load_checkpoint("en-zh"))


def asked_link(address: str, **choices: object) -> str:
    return link(address, **ASKED | {"view": "lines"} | choices)


def strong(shares: np.ndarray) -> dict[tuple[int, int], float]:
    """The pairs that have a line, and its opacity."""
    return {
        (int(row), int(key)): float(shares[row, key]) for row, key in np.argwhere(np.nan_to_num(shares) >= FAINTEST)
    }


def lines(page: Page, head: int) -> dict[tuple[int, int], float]:
    return {(one["row"], one["column"]): one["opacity"] for one in items(page, "curve") if one["head"] == head}


def figures(page: Page) -> dict[int, float]:
    """The numbers beside the tokens at the far end, by their place."""
    return {one["figure"]: one["value"] for one in items(page, "text", having="figure")}


def place_of(page: Page, side: str, index: int) -> tuple[float, float]:
    """Where a token's label stands on the page."""
    box = canvas(page)
    label = next(one for one in items(page, "text", having="index") if (one["side"], one["index"]) == (side, index))
    inwards = -4 if side == "queries" else 4
    return box["x"] + label["x"] + inwards, box["y"] + label["y"]


def hover(page: Page, side: str, index: int) -> None:
    page.mouse.move(*place_of(page, side, index))
    until(
        page,
        "e.shown.picture.items.some((one) => one.bold && one.side === argument[0] && one.index === argument[1])",
        [side, index],
    )


def pick(page: Page, row: int) -> None:
    count = len(items(page, "rect", having="picked"))
    page.mouse.click(*place_of(page, "queries", row))
    until(page, "e.shown.picture.items.filter((one) => one.picked !== undefined).length !== argument", count)


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_every_pair_has_the_line_of_its_weight(page, address, computed, kind):
    open_page(page, asked_link(address, kind=kind, layer=2, head=3))
    painted(page, "layer 2, head 3")
    expected = strong(computed.shares(kind, 1, 2))
    assert 10 < len(expected) < len(computed.source) ** 2
    assert kind != "decoder" or all(key <= row for row, key in expected)
    assert lines(page, 2) == pytest.approx(expected, abs=1e-5)


def test_lines_run_from_query_to_key(page, address, computed):
    assert len(computed.source) != len(computed.target)
    open_page(page, asked_link(address, kind="cross", layer=2, head=1))
    places = {(one["side"], one["index"]): one for one in items(page, "text", having="index")}
    assert [places["queries", row]["text"] for row in range(len(computed.target))] == list(computed.target)
    assert [places["keys", key]["text"] for key in range(len(computed.source))] == list(computed.source)
    for curve in items(page, "curve"):
        query, key = places["queries", curve["row"]], places["keys", curve["column"]]
        assert query["x"] < curve["x1"] < curve["x2"] < key["x"]
        assert (curve["y1"], curve["y2"]) == (query["y"], key["y"])
    widths = [one["lineWidth"] for one in sorted(items(page, "curve"), key=lambda one: one["opacity"])]
    assert widths == sorted(widths)
    assert widths[-1] > 2 * widths[0]
    titles = [one["text"] for one in items(page, "text")][:2]
    assert titles == ["queries: target, predicted", "keys: source"]


def test_several_heads_have_lines_of_their_own(page, address, computed):
    open_page(page, asked_link(address, kind="cross", layer=2, head=2, heads="2,4"))
    for head in (1, 3):
        assert lines(page, head) == pytest.approx(strong(computed.shares("cross", 1, head)), abs=1e-5)
    assert {one["head"] for one in items(page, "curve")} == {1, 3}
    assert len({one["stroke"] for one in items(page, "curve")}) == 2
    boxes = page.locator(f"{EXPLORER} .several input")
    assert [boxes.nth(head).is_checked() for head in range(4)] == [False, True, False, True]
    boxes.nth(0).check()
    until(page, "e.shown.numbers.length === 3")
    boxes.nth(1).uncheck()
    until(page, "e.shown.state.head === 0 && e.shown.numbers.length === 2")
    assert {one["head"] for one in items(page, "curve")} == {0, 3}
    boxes.nth(3).uncheck()
    until(page, "e.shown.numbers.length === 1")
    page.wait_for_url(lambda url: "heads=" not in url)
    boxes.nth(0).click()
    expect(boxes.nth(0)).to_be_checked()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_colours_of_heads_can_be_told_apart_by_every_eye(page, address, theme):
    open_page(page, link(address, view="lines"))
    ground = {"light": "#ffffff", "dark": "#0e1116"}[theme]
    colours = module(
        page,
        "line_colours.js",
        f"Array.from({{ length: 16 }}, (_, head) => m.lineOf(head, {{ background: '{ground}', text: '#888888' }}))",
    )
    assert colours[8:] == [one | {"dash": [6, 3]} for one in colours[:8]]
    linear = np.array([_linear(one["stroke"]) for one in colours[:8]])
    for eye in EYES.values():
        seen = _lab(np.clip(linear @ np.transpose(eye), 0, 1))
        assert min(np.linalg.norm(one - other) for one, other in combinations(seen, 2)) > 25
    brightness = np.array([0.2126, 0.7152, 0.0722])
    bright, dark = (
        np.maximum(linear @ brightness, _linear(ground) @ brightness),
        np.minimum(linear @ brightness, _linear(ground) @ brightness),
    )
    assert ((bright + 0.05) / (dark + 0.05)).min() >= 4.5
    css = module(page, "line_colours.js", "Array.from({ length: 8 }, (_, head) => m.cssColour(head))")
    assert all(one["stroke"] in both for one, both in zip(colours[:8], css, strict=True))


def _linear(colour: str) -> np.ndarray:
    channels = np.array([int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)])
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def _lab(linear: np.ndarray) -> np.ndarray:
    """CIE 1976 L*a*b* under D65."""
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    ratios = linear @ to_xyz.T / [0.9505, 1.0, 1.089]
    x, y, z = np.where(ratios > 0.008856, np.cbrt(ratios), 7.787 * ratios + 16 / 116).T
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=-1)


def test_a_hovered_token_has_only_its_lines_and_their_weights(page, address, computed):
    open_page(page, asked_link(address, kind="cross", layer=2, head=1))
    weights = computed.weights("cross", 1, 0)
    hover(page, "queries", 4)
    row = {key: weights[4, key] for key in range(len(computed.source)) if weights[4, key] >= FAINTEST}
    assert figures(page) == pytest.approx(row, abs=1e-6)
    assert set(lines(page, 0)) == {(4, key) for key in row}
    best = int(weights[4].argmax())
    texts = {one["figure"]: one["text"] for one in items(page, "text", having="figure")}
    assert texts[best] == f"{weights[4, best]:.2f}"
    expect(page.locator(f"{EXPLORER} .tip").first).to_contain_text(f"{weights[4, best]:.4f}")
    hover(page, "keys", 2)
    column = {row: weights[row, 2] for row in range(len(computed.target)) if weights[row, 2] >= FAINTEST}
    assert figures(page) == pytest.approx(column, abs=1e-6)
    assert set(lines(page, 0)) == {(row, 2) for row in column}
    page.mouse.move(5, 5)
    until(page, "!e.shown.picture.items.some((one) => one.figure !== undefined)")
    assert lines(page, 0) == pytest.approx(strong(computed.shares("cross", 1, 0)), abs=1e-5)


def test_picked_tokens_are_joined_by_mean_minimum_and_product(page, address, computed):
    open_page(page, asked_link(address, kind="cross", layer=2, head=1))
    way = page.locator(f"{EXPLORER} .own").get_by_text("Joined by", exact=True)
    clear = page.locator(f"{EXPLORER}").get_by_role("button", name="Unpick")
    expect(way).to_be_hidden()
    expect(clear).to_be_hidden()
    weights = computed.weights("cross", 1, 0)
    pick(page, 1)
    expect(way).to_be_hidden()
    assert figures(page) == pytest.approx(dict(enumerate(weights[1])), abs=1e-6)
    pick(page, 3)
    expect(way).to_be_visible()
    rows = weights[[1, 3]]
    assert {row for row, _ in lines(page, 0)} == {1, 3}
    for name, expected in [("mean", rows.mean(0)), ("minimum", rows.min(0)), ("product", rows.prod(0))]:
        page.locator(f"{EXPLORER} .own label").get_by_text(name, exact=True).click()
        page.mouse.move(5, 5)
        until(page, "e.shown.state.joint === argument", {"minimum": "min"}.get(name, name))
        assert figures(page) == pytest.approx(dict(enumerate(expected)), rel=1e-4, abs=1e-12)
        bars = np.array([one["width"] for one in sorted(items(page, "rect", having="bar"), key=lambda one: one["bar"])])
        longest = expected.max() if name == "product" else 1.0
        room = canvas(page)["width"] - items(page, "rect", having="bar")[0]["x"]
        np.testing.assert_allclose(bars / room, expected / longest, atol=0.6 / room)  # room is of whole pixels
        said = " ".join(one["text"] for one in items(page, "text"))
        assert {"minimum": "smallest"}.get(name, name) in said
        assert "2 picked rows" in said
    page.wait_for_url("**picked=2%2C4**")
    pick(page, 1)
    assert shown(page, "e.shown.state.picked") == [3]
    clear.click()
    until(page, "e.shown.state.picked.length === 0")
    pick(page, 2)
    box = canvas(page)
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] - 40)
    until(page, "e.shown.state.picked.length === 0")


def test_blocked_weights_are_joined_as_zero_and_blocked_for_all_stays_blocked(page, address, computed):
    open_page(page, asked_link(address, kind="decoder", layer=1, head=2, picked="3,5"))
    rows = computed.weights("decoder", 0, 1)[[2, 4]]
    assert figures(page) == pytest.approx({key: np.nan_to_num(rows)[:, key].mean() for key in range(5)}, abs=1e-6)
    numbers = "{ cells: [1, 2, NaN, 3, NaN, NaN], keys: ['a', 'b', 'c'], quantity: 'score' }"
    joined = module(page, "explorer/views/strands.js", f"m.joint({numbers}, [0, 1], 'mean').map(String)")
    assert joined == ["2", "NaN", "NaN"]


def test_rows_that_lost_most_to_hidden_tokens_are_faint(page, address):
    open_page(page, link(address, view="lines"))
    numbers = """{
        queries: ["a", "b"], keys: ["c", "d"], cells: [0.5, 0.01, NaN, 0.25], low: 0, high: 1, removed: [0.1, 0.9],
    }"""
    found = module(page, "explorer/views/strands.js", f"m.strandsOf({numbers}, {{ scale: 'linear' }}, {{}})")
    assert [(one["row"], one["column"], one["part"]) for one in found] == [(1, 1, 0.25), (0, 0, 0.5)]
    assert [one["opacity"] for one in found] == pytest.approx([0.25 / 3, 0.5])
    on_log = module(page, "explorer/views/strands.js", f"m.strandsOf({numbers}, {{ scale: 'log' }}, {{}})")
    assert [one["part"] for one in on_log] == pytest.approx([1 + np.log10(share) / 4 for share in (0.01, 0.25, 0.5)])


def test_a_long_text_keeps_its_strongest_lines_and_labels_apart(page, address):
    computed = Computed(load_checkpoint("en-zh"), LONG, "家")
    open_page(page, link(address, view="lines", kind="encoder", layer=3, head=1, source=LONG))
    shares = np.nan_to_num(computed.shares("encoder", 2, 0))
    expected, got = strong(shares), lines(page, 0)
    assert len(expected) > len(got) == 2000
    assert got == pytest.approx({pair: expected[pair] for pair in got}, abs=1e-5)
    assert max(share for pair, share in expected.items() if pair not in got) <= min(got.values()) + 1 / 256
    notes = [one["text"] for one in items(page, "text")]
    assert f"the 2,000 strongest of {len(expected):,} lines" in notes
    hidden = _unlabelled(page, "queries", len(computed.source))
    assert hidden
    box, labels = canvas(page), [one for one in items(page, "text", having="index") if one["side"] == "queries"]
    _check_apart(labels)
    above = next(one for one in labels if one["index"] == hidden[0] - 1)
    pitch = (labels[1]["y"] - labels[0]["y"]) / (labels[1]["index"] - labels[0]["index"])
    page.mouse.move(box["x"] + above["x"] - 4, box["y"] + above["y"] + pitch)
    until(
        page,
        "e.shown.picture.items.some((one) => one.bold && one.side === 'queries' && one.index === argument)",
        hidden[0],
    )
    strongest = int(shares[hidden[0]].argmax())
    assert strongest not in _unlabelled(page, "keys", len(computed.source))
    for side in ("queries", "keys"):
        _check_apart([one for one in items(page, "text", having="index") if one["side"] == side])


def _unlabelled(page: Page, side: str, count: int) -> list[int]:
    named = {one["index"] for one in items(page, "text", having="index") if one["side"] == side}
    return sorted(set(range(count)) - named)


def _check_apart(labels: list[dict]) -> None:
    heights = sorted(one["y"] for one in labels)
    assert min(np.diff(heights)) >= labels[0]["size"]


def test_small_numbers_keep_their_first_digit(page, address):
    open_page(page, link(address, view="lines"))
    written = module(
        page, "explorer/views/threads.js", "[0, 1, 0.126, -3.5, 0.0096, 0.0042, 0.00031, 2e-9].map(m.brief)"
    )
    assert written == ["0.00", "1.00", "0.13", "-3.50", "0.01", "0.004", "3e-4", "2e-9"]


@pytest.mark.parametrize("size", [(900, 620), (1280, 800), (1900, 1060)])
def test_nothing_is_cut_and_nothing_needs_scrolling(page, address, size):
    page.set_viewport_size(dict(zip(("width", "height"), size, strict=True)))
    open_page(page, asked_link(address, kind="cross", layer=2, heads="2,3,4", picked="2,4", joint="product"))
    box = canvas(page)
    for one in items(page, "text"):
        width = module(
            page,
            "draw.js",
            f"m.textWidth({one['text']!r}, {{ size: {one['size']}, mono: {str(bool(one.get('mono'))).lower()} }})",
        )
        left = one["x"] - {"start": 0, "middle": width / 2, "end": width}[one.get("anchor", "start")]
        assert left >= -1
        assert left + width <= box["width"] + 1
        assert 0 < one["y"] < box["height"]
    columns = len({one["x"] for one in items(page, "text", having="figure")})
    said = " ".join(one["text"] for one in items(page, "text"))
    assert "product of the 2 picked rows; longest bar: the largest" in said or size[0] < 1280
    assert columns == (4 if size[0] == 1900 else 1)
    assert ("largest head’s" in said) == (columns == 1)
    if size[1] >= 800:
        assert page.locator("[data-testid=stMain]").evaluate("(main) => main.scrollHeight <= main.clientHeight")
