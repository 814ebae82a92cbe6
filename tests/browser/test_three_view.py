"""Three kinds of attention at once: each matrix is what the checkpoint computes, and can be read and clicked."""

import numpy as np
import pytest
from browsing import EXPLORER, link, open_page, painted, shown, until
from computed import ASKED, Computed, canvas, items
from playwright.sync_api import Page, expect

from transformer import load_checkpoint

pytestmark = pytest.mark.browser

KINDS = ["encoder", "decoder", "cross"]


@pytest.fixture(scope="module")
def computed() -> Computed:
    return Computed(load_checkpoint("en-zh"))


def asked_link(address: str, **choices: object) -> str:
    return link(address, **ASKED | {"view": "three"} | choices)


def parts(page: Page) -> dict[str, dict]:
    """By kind: where its cells lie, its cells (L, S), and the labels of its axes."""
    found = shown(
        page,
        """e.shown.picture.parts.map(({ kind, plot, numbers }) =>
            ({ kind, plot, cells: [...numbers.cells].map(String), queries: numbers.queries, keys: numbers.keys }))""",
    )
    for one in found:
        one["cells"] = np.array(one["cells"], dtype=np.float64).reshape(len(one["queries"]), len(one["keys"]))
    return {one["kind"]: one for one in found}


def titles(page: Page) -> list[str]:
    return [one["text"] for one in items(page, "text", having="kind")]


def move_to(page: Page, part: dict, row: int, column: int) -> tuple[float, float]:
    box, plot = canvas(page), part["plot"]
    rows, columns = part["cells"].shape
    place = (
        box["x"] + plot["x"] + plot["width"] * (column + 0.5) / columns,
        box["y"] + plot["y"] + plot["height"] * (row + 0.5) / rows,
    )
    page.mouse.move(*place)
    return place


def test_every_kind_is_the_one_the_model_has(page, address, computed):
    assert len(computed.source) != len(computed.target)
    open_page(page, asked_link(address, kind="decoder", layer=3, head=2))
    found = parts(page)
    assert list(found) == KINDS
    for kind, one in found.items():
        np.testing.assert_allclose(one["cells"], computed.weights(kind, 2, 1), atol=1e-6)
    assert found["cross"]["queries"] == list(computed.target)
    assert found["cross"]["keys"] == found["encoder"]["queries"] == list(computed.source)
    assert found["decoder"]["keys"] == list(computed.read)
    assert titles(page) == [f"{kind}: layer 3, head 2" for kind in KINDS]
    assert shown(page, "e.shown.numbers.map((one) => one.kind)")[0] == "decoder"
    expect(page.locator(f"{EXPLORER} .sentence").first).to_contain_text("Head 2 of layer 3")


def test_moving_a_slider_moves_all_three(page, address, computed):
    open_page(page, asked_link(address, kind="cross", layer=1, head=4))
    page.locator(f"{EXPLORER} .sliders input").first.press("ArrowRight")
    painted(page, "layer 2, head 4")
    for kind, one in parts(page).items():
        np.testing.assert_allclose(one["cells"], computed.weights(kind, 1, 3), atol=1e-6)


@pytest.mark.parametrize("size", [(1280, 800), (1920, 1080), (1600, 640)])
def test_the_three_stand_apart_and_have_room(page, address, size):
    page.set_viewport_size(dict(zip(("width", "height"), size, strict=True)))
    open_page(page, asked_link(address))
    box, found = canvas(page), list(parts(page).values())
    if size[1] >= 800:
        tokens = sum(len(one["queries"]) + len(one["keys"]) for one in found)
        assert len(items(page, "text", having="mono")) == tokens
    expect(page.locator(f"{EXPLORER} .side").first).to_be_hidden()
    for one in found:
        plot, (rows, columns) = one["plot"], one["cells"].shape
        assert plot["x"] > 0
        assert plot["x"] + plot["width"] <= box["width"] + 1
        assert plot["y"] + plot["height"] <= box["height"] + 1
        assert plot["width"] / columns > 9
        assert plot["height"] / rows > 9
    for i, one in enumerate(found):
        for other in found[:i]:
            a, b = one["plot"], other["plot"]
            apart = (
                a["x"] >= b["x"] + b["width"],
                b["x"] >= a["x"] + a["width"],
                a["y"] >= b["y"] + b["height"],
                b["y"] >= a["y"] + a["height"],
            )
            assert any(apart)


def test_a_cell_says_its_number_and_a_click_selects_its_kind_and_pair(page, address, computed):
    open_page(page, asked_link(address, kind="cross", layer=2, head=3, picked="1,2"))
    weights = computed.weights("encoder", 1, 2)
    place = move_to(page, parts(page)["encoder"], 3, 6)
    tip = page.locator(f"{EXPLORER} .tip").first
    expect(tip).to_contain_text(f"{weights[3, 6]:.4f}")
    expect(tip).to_contain_text(computed.source[3])
    page.mouse.click(*place)
    until(page, "e.shown.state.kind === 'encoder'")
    assert shown(page, "e.shown.state.pair") == [3, 6]
    until(page, "e.beside")  # why this pair, beside the three
    assert shown(page, "[e.shown.state.layer, e.shown.state.head]") == [1, 2]
    page.wait_for_url("**pair=4%2C7**")
    assert "kind=encoder" in page.url
    marked = shown(
        page, "e.shown.picture.items.flatMap((one) => one.items ?? []).filter((one) => one.lineWidth === 2.5)"
    )
    plot = parts(page)["encoder"]["plot"]
    assert [(one["x"], one["y"]) for one in marked] == [
        pytest.approx(
            (
                plot["x"] + plot["width"] * 6 / len(computed.source),
                plot["y"] + plot["height"] * 3 / len(computed.source),
            )
        )
    ]


def test_a_kind_with_fewer_layers_shows_its_last(page, address, checkpoint_folder):
    open_page(page, link(address, checkpoint="small", view="three", kind="encoder", layer=2, head=3))
    assert titles(page) == ["encoder: layer 2, head 3", "decoder: layer 1, head 3", "cross: layer 1, head 3"]
    asked = load_checkpoint(checkpoint_folder / "small")
    computed = Computed(asked, "the cat sees the sea", "")
    assert parts(page)["encoder"]["queries"] == list(computed.source)
    np.testing.assert_allclose(parts(page)["encoder"]["cells"], computed.weights("encoder", 1, 2), atol=1e-6)


def test_a_model_with_one_kind_shows_what_it_has(page, address):
    open_page(page, link(address, checkpoint="alone", view="three", layer=2, head=1))
    assert titles(page) == ["decoder: layer 2, head 1"]
    (only,) = parts(page).values()
    assert only["plot"]["width"] > canvas(page)["width"] / 2
    assert only["keys"] == ["<s>", *"abcXabcX"]
