"""The text view: tokens are shaded by the weights that the checkpoint computes, and stand as the script is written."""

import json
from itertools import pairwise

import numpy as np
import pytest
from browsing import EXPLORER, link, open_page, until
from computed import ASKED, Computed, canvas, items, module
from playwright.sync_api import Page, expect

from dashboard.figures.colours import colours
from transformer import load_checkpoint
from transformer.units import units_of

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def computed() -> Computed:
    return Computed(load_checkpoint("en-zh"))


def asked_link(address: str, **choices: object) -> str:
    return link(address, **ASKED | {"view": "text"} | choices)


def shades(page: Page, side: str) -> list[dict]:
    """The ground of each token of the shaded text, in the order of the tokens."""
    found = sorted(
        (one for one in items(page, "rect", having="fill") if one["side"] == side), key=lambda one: one["index"]
    )
    assert [one["index"] for one in found] == list(range(len(found)))
    return found


def words(page: Page, side: str) -> list[str]:
    found = {one["index"]: one["text"] for one in items(page, "text", having="index") if one["side"] == side}
    return [found[index] for index in range(len(found))]


def outlined(page: Page) -> list[tuple[str, int]]:
    return [(one["side"], one["index"]) for one in items(page, "rect") if one.get("outlined")]


def click(page: Page, side: str, index: int) -> None:
    box = canvas(page)
    token = next(one for one in items(page, "text", having="index") if (one["side"], one["index"]) == (side, index))
    page.mouse.click(box["x"] + token["x"], box["y"] + token["y"])
    until(page, "e.shown.state.picked[0] === argument", index)


def check_shades(page: Page, side: str, kind: str, weights: np.ndarray, shares: np.ndarray) -> None:
    found, palette = shades(page, side), colours(kind, "light")
    assert len(found) == len(weights)
    for one, weight, share in zip(found, weights, shares, strict=True):
        if np.isnan(weight):
            assert one["fill"] == palette.blocked
            continue
        assert one["value"] == pytest.approx(float(weight), abs=1e-6)
        low, high = (
            np.array([int(end[place : place + 2], 16) for place in (1, 3, 5)])
            for end in (palette.background, palette.strong)
        )
        painted = [int(part) for part in one["fill"].removeprefix("rgb(").removesuffix(")").split()]
        np.testing.assert_allclose(painted, low + (high - low) * share, atol=0.6)


def test_the_source_is_shaded_by_what_the_picked_target_token_reads(page, address, computed):
    assert len(computed.source) != len(computed.target)
    open_page(page, asked_link(address, kind="cross", layer=3, head=3))
    assert words(page, "queries") == list(computed.target)
    assert words(page, "keys") == list(computed.source)
    weights, shares = computed.weights("cross", 2, 2), computed.shares("cross", 2, 2)
    ordinary = weights[:-1, :-1]  # all but </s>
    strongest = int(np.unravel_index(ordinary.argmax(), ordinary.shape)[0])
    assert weights[-1].max() > ordinary.max()
    assert outlined(page) == [("queries", strongest)]
    check_shades(page, "keys", "cross", weights[strongest], shares[strongest])
    for row in (1, len(computed.target) - 1):
        click(page, "queries", row)
        assert outlined(page) == [("queries", row)]
        check_shades(page, "keys", "cross", weights[row], shares[row])
        assert f"what \u2068{computed.target[row]}\u2069 reads" in items(page, "text")[0]["text"]
    page.wait_for_url(f"**picked={len(computed.target)}*")
    titles = [one["text"] for one in items(page, "text") if "index" not in one]
    assert titles[1:] == ["queries: target, predicted", "keys: source"]
    above, below = (
        max(one["y"] for one in items(page, "text", having="index") if one["side"] == side)
        for side in ("queries", "keys")
    )
    assert above < below


def test_the_target_is_shaded_by_who_reads_the_picked_source_token(page, address, computed):
    open_page(page, asked_link(address, kind="cross", layer=2, head=1, picked=2))
    page.get_by_text("who reads it", exact=True).click()
    until(page, "e.shown.state.reading === 'read_by' && e.shown.state.picked.length === 0")
    weights, shares = computed.weights("cross", 1, 0), computed.shares("cross", 1, 0)
    strongest = int(np.unravel_index(weights[:-1, :-1].argmax(), weights[:-1, :-1].shape)[1])
    assert outlined(page) == [("keys", strongest)]
    click(page, "keys", 12)
    check_shades(page, "queries", "cross", weights[:, 12], shares[:, 12])
    expect(page.get_by_role("radio", name="who reads it")).to_be_checked()
    page.wait_for_url("**reading=read_by*")


def test_one_text_reads_itself(page, address, computed):
    open_page(page, asked_link(address, kind="encoder", layer=1, head=2, picked=4))
    weights, shares = computed.weights("encoder", 0, 1), computed.shares("encoder", 0, 1)
    assert len(items(page, "text", having="index")) == len(computed.source)
    check_shades(page, "keys", "encoder", weights[3], shares[3])
    click(page, "keys", 7)
    check_shades(page, "keys", "encoder", weights[7], shares[7])
    page.get_by_text("who reads it", exact=True).click()
    until(page, "e.shown.state.reading === 'read_by'")
    check_shades(page, "queries", "encoder", weights[:, 7], shares[:, 7])
    assert outlined(page) == [("queries", 7)]


def test_what_comes_later_is_grey(page, address, computed):
    open_page(page, asked_link(address, kind="decoder", layer=2, head=1, picked=5))
    weights, shares = computed.weights("decoder", 1, 0), computed.shares("decoder", 1, 0)
    assert np.isnan(weights[4, 5:]).all()
    assert words(page, "keys") == list(computed.read)
    check_shades(page, "keys", "decoder", weights[4], shares[4])
    page.get_by_text("token predicted", exact=True).filter(visible=True).click()
    until(page, "e.shown.state.decoder_rows === 'predicted' && e.shown.numbers[0].queries[0] !== '<s>'")
    assert words(page, "queries") == list(computed.target)
    assert words(page, "keys") == list(computed.read)
    check_shades(page, "keys", "decoder", weights[4], shares[4])


def test_the_number_stands_beside_the_pointer(page, address, computed):
    open_page(page, asked_link(address, kind="cross", layer=2, head=1, picked=3))
    weights, box = computed.weights("cross", 1, 0), canvas(page)
    token = next(one for one in items(page, "text", having="index") if (one["side"], one["index"]) == ("keys", 1))
    page.mouse.move(box["x"] + token["x"], box["y"] + token["y"])
    tip = page.locator(f"{EXPLORER} .tip").first
    expect(tip).to_contain_text(f"{weights[2, 1]:.4f}")
    expect(tip).to_contain_text(computed.target[2])
    expect(tip).to_contain_text(computed.source[1])


def test_pieces_of_a_word_touch_and_words_do_not(page, address):
    source = "Nobody understands the photographer's unbelievable enthusiasm."
    labels = Computed(load_checkpoint("en-zh"), source, "家").source
    open_page(page, link(address, view="text", kind="encoder", source=source, spaces="false"))
    assert words(page, "keys") == [label.lstrip("▁") or label for label in labels]
    gaps = {"inside": [], "between": []}
    boxes = shades(page, "keys")
    for before, after, label in zip(boxes, boxes[1:], labels[1:], strict=False):
        if before["y"] == after["y"]:
            spaced = label.startswith("▁") or label == "</s>"
            gaps["between" if spaced else "inside"].append(after["x"] - before["x"] - before["width"])
    assert len(gaps["inside"]) > 3
    assert np.abs(gaps["inside"]).max() < 0.01
    assert min(gaps["between"]) > 3


def test_right_to_left_runs_from_the_right_and_chinese_has_no_spaces(page, address):
    open_page(page, link(address, view="text", kind="encoder", unit="word", source="مرحبا بالعالم كيف حالك"))
    places = [one["x"] for one in shades(page, "keys")]
    assert places == sorted(places, reverse=True)
    assert places[0] > canvas(page)["width"] / 2
    assert {one["direction"] for one in items(page, "text", having="index") if one["index"] < 4} == {"rtl"}
    open_page(page, link(address, view="text", kind="decoder", target_from="type", target="猫看见了狗，狗也看见了猫。"))
    boxes = shades(page, "keys")[1:]  # without <s>
    gaps = [after["x"] - before["x"] - before["width"] for before, after in pairwise(boxes)]
    assert np.abs(gaps).max() < 0.01


@pytest.mark.parametrize("size", [(900, 620), (1280, 800)])
@pytest.mark.parametrize("unit", ["piece", "character"])
def test_a_long_text_wraps_within_the_picture(page, address, size, unit):
    page.set_viewport_size(dict(zip(("width", "height"), size, strict=True)))
    source = " ".join(["When we came home, nobody <b>was</b> there to open the door."] * 16)
    open_page(page, link(address, view="text", kind="encoder", unit=unit, source=source))
    boxes, box = shades(page, "keys"), canvas(page)
    assert len(boxes) > 200
    assert all(one["x"] >= 0 and one["x"] + one["width"] <= box["width"] + 1 for one in boxes)
    assert all(one["y"] >= 0 and one["y"] + one["height"] <= box["height"] + 1 for one in boxes)
    for before, after in pairwise(boxes):
        assert after["y"] >= before["y"] + before["height"] or after["x"] >= before["x"] + before["width"] - 0.01
    assert "".join(words(page, "keys")).replace("▁", " ").strip().removesuffix("</s>") == source


def read(page: Page, side: str) -> str:
    """A text as it stands there: a gap between two tokens is a space, and so is the end of a line."""
    boxes = shades(page, side)
    ends = [(box["x"] + box["width"], box["y"]) for box in boxes]
    gaps = [box["y"] > y or box["x"] - x > 3 for (x, y), box in zip(ends, boxes[1:], strict=False)]
    text = "".join(" " * gap + word for gap, word in zip([False, *gaps], words(page, side), strict=True))
    return text.replace("▁", "")  # a space that is a token is to be seen in any case


@pytest.mark.parametrize("unit", ["piece", "word", "character"])
def test_tokens_stand_together_as_they_were_typed(page, address, unit):
    source, target = 'He said :"I don\'t ( really )know", 3.5?', "猫看见Tom，好。"
    open_page(page, link(address, view="text", kind="encoder", source=source, unit=unit, spaces="false"))
    assert read(page, "keys") == f"{source} </s>"
    typed = {"target": target, "target_from": "type"}
    open_page(page, link(address, view="text", kind="decoder", unit=unit, **typed))
    assert read(page, "keys") == f"<s> {target}"


def written(page: Page, labels: list[str]) -> str:
    """How pieces stand together: spaces, line breaks, and all that is drawn."""
    units = units_of(labels, "piece")
    given = json.dumps([units.labels, units.special, units.spaced, {"spaces": False}])
    tokens = module(page, "explorer/views/spacing.js", f"m.spaced(...{given})")
    return "".join(" " * token["space"] + token["text"] + "\n" * token["ends"] for token in tokens)


def test_arabic_letters_keep_their_forms_across_tokens_and_lines_end_where_the_text_breaks_them(page, address):
    open_page(page, link(address, view="text"))
    joiner = "\u200d"
    arabic = f"▁م{joiner}{joiner}ر{joiner}ح{joiner}{joiner}ب{joiner}{joiner}ا"
    assert written(page, ["▁", "م", "ر", "ح", "ب", "ا"]) == arabic
    assert written(page, ["▁one", "⏎", "two", "</s>", "a", "b"]) == "one⏎\ntwo </s> ab"


def test_what_is_picked_is_never_taken_for_another_token(page, address):
    """It is a query everywhere but where the text is shaded by who reads it: there it is a key."""
    picked = "e.shown.state.picked"
    views, ways = (page.get_by_role("radiogroup", name=name) for name in ("View", "Shade"))
    open_page(page, asked_link(address, view="lines", kind="cross", layer=2, head=1, picked="3,5"))
    views.get_by_text("text", exact=True).click()
    until(page, f"e.dataset.view === 'text' && {picked}.join() === '2,4'")
    assert outlined(page) == [("queries", 2)]
    ways.get_by_text("who reads it", exact=True).click()
    until(page, f"e.shown.state.reading === 'read_by' && {picked}.length === 0")
    click(page, "keys", 3)
    page.wait_for_url("**picked=4**")
    views.get_by_text("lines", exact=True).click()
    until(page, f"e.dataset.view === 'lines' && {picked}.length === 0")
    page.wait_for_url(lambda url: "picked" not in url)
    views.get_by_text("text", exact=True).click()
    until(page, f"e.dataset.view === 'text' && {picked}.length === 0")
    page.get_by_role("radiogroup", name="Attention").get_by_text("encoder", exact=True).click()
    until(page, "e.shown.state.kind === 'encoder'")
    click(page, "queries", 3)  # of one text, which reads itself: the same token on both sides
    views.get_by_text("heat map", exact=True).click()
    until(page, f"e.dataset.view === 'heat' && {picked}.join() === '3'")


def test_a_line_of_two_directions_is_set_in_runs(page, address):
    open_page(page, link(address, view="text"))

    def order(directions: list[str], base: str) -> list[int]:
        tokens = json.dumps([{"direction": one} for one in directions])
        return module(
            page, "explorer/views/spacing.js", f"m.inOrder({list(range(len(directions)))}, {tokens}, '{base}')"
        )

    assert order(["ltr", "rtl", "rtl", "ltr"], "ltr") == [0, 2, 1, 3]
    assert order(["rtl", "ltr", "ltr", "rtl"], "rtl") == [3, 1, 2, 0]
    assert order(["ltr", "rtl", "neutral", "rtl", "neutral"], "ltr") == [0, 3, 2, 1, 4]
    assert order(["rtl", "rtl", "neutral"], "rtl") == [2, 1, 0]


def test_a_line_ends_where_the_text_breaks_it(page, address):
    open_page(page, link(address, view="text"))
    token = {"space": False, "breakable": True, "ends": False, "direction": "ltr"}
    tokens = [token | {"text": "a", "ends": True}, token | {"text": "b"}]
    boxes, height = module(
        page,
        "explorer/views/flow.js",
        f"(({{ boxes, height }}) => [boxes, height])(m.flow({json.dumps(tokens).replace('False', 'false')}, 20, 500))",
    )
    assert boxes[0]["x"] == boxes[1]["x"] == 0
    assert boxes[1]["y"] >= boxes[0]["y"] + boxes[0]["height"]
    assert height == pytest.approx(2 * (boxes[1]["y"] - boxes[0]["y"]))
