"""Three checkpoints and ten texts: what each view shows is what the checkpoint computes, whatever was typed."""

import csv
import re
from itertools import groupby

import numpy as np
import pytest
from browsing import EXPLORER, cells, labels, link, open_page, shown, until
from computed import Computed, items
from playwright.sync_api import Page

from transformer import load_checkpoint

pytestmark = pytest.mark.browser

TEXTS = {
    "repeated words": "the cat and the dog and the cat and the dog",
    "one word": "Hello",
    "200 words": " ".join(["the old man and the sea saw a small boat on the way home"] * 15)[:900],
    "emoji": "I like 🎉 and 😀 at home 🎉",
    "Arabic": "مرحبا بالعالم الجميل",
    "Chinese": "我喜欢猫和狗。",
    "punctuation": "?! ... -- , ; : ()",
    "HTML": "<b>bold</b> <script>alert(1)</script> &amp; </s>",
    "lines": 'first line\nsecond\tline "quoted"',
    "a sentence": "Tom's mother-in-law paid 3.50 euros for it.",
}
TARGETS = {"en-zh": "我喜欢猫🎉。", "en-fr": "J'aime les chats 🎉.", "zh-en": "I like cats 🎉."}
KIND, LAYER, HEAD = "cross", 2, 3  # counted from 1
FAINTEST, MOST_LINES = 0.02, 2000  # as a share of full colour; of more pairs the strongest have lines


@pytest.fixture(scope="module", params=TARGETS)
def asked(request):
    return request.param, load_checkpoint(request.param)


def joined(tokens: list[str]) -> list[list[int]]:
    """Places of tokens: the bytes of one character together, every other token alone."""
    groups: list[list[int]] = []
    for is_byte, run in groupby(range(len(tokens)), lambda place: bool(re.fullmatch("<0x..>", tokens[place]))):
        places = list(run)
        while is_byte and places:
            first = int(tokens[places[0]][3:5], 16)
            width = 1 if first < 0x80 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4
            groups.append(places[:width])
            places = places[width:]
        groups += [[place] for place in places]
    return groups


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_every_view_shows_what_the_model_computes(page, address, asked, text):
    name, checkpoint = asked
    computed = Computed(checkpoint, text, TARGETS[name])
    queries, keys = joined(computed.target), joined(computed.source)
    pattern = computed.recording.pattern(computed.recording.site(KIND, LAYER - 1), HEAD - 1).numpy()
    summed = np.stack([pattern[:, places].sum(axis=1) for places in keys], axis=1)
    expected = np.stack([summed[places].mean(axis=0) for places in queries])
    assert expected.sum(axis=1) == pytest.approx(1, abs=1e-4)

    url = link(address, checkpoint=name, source=text, target=TARGETS[name], target_from="type", layer=LAYER, head=HEAD)
    open_page(page, url)
    np.testing.assert_allclose(cells(page), expected, atol=1e-5)
    assert shown(page, "e.shown.picture.plot.width > 100 && e.shown.picture.plot.height > 100")
    high = shown(page, "e.shown.numbers[0].high")
    shares = np.minimum(1, expected / high)

    turn_to(page, "lines")
    drawn = {(one["row"], one["column"]): one["opacity"] for one in items(page, "curve")}
    unsure = np.abs(shares - FAINTEST) < 1e-5  # on the brink of having a line
    wanted = {tuple(place): shares[tuple(place)] for place in np.argwhere((shares >= FAINTEST) & ~unsure).tolist()}
    sure = {place: share for place, share in drawn.items() if not unsure[place]}
    assert sure == pytest.approx({place: share for place, share in wanted.items() if place in sure}, abs=1e-4)
    assert len(wanted) - len(sure) == max(0, len(wanted) - MOST_LINES)
    assert max((wanted[place] for place in wanted.keys() - sure), default=0) <= min(sure.values()) + 1 / 256

    turn_to(page, "text")
    row = next(one["index"] for one in items(page, "rect") if one.get("outlined"))
    values = {one["index"]: one["value"] for one in items(page, "rect", having="value") if one["side"] == "keys"}
    assert values == pytest.approx(dict(enumerate(expected[row])), abs=1e-5)

    turn_to(page, "three kinds")
    own = shown(page, "e.shown.numbers.find((one) => one.kind === 'cross').cells.length")
    assert own == expected.size

    turn_to(page, "table")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as CSV").click()
    with download.value.path().open(encoding="utf-8", newline="") as file:
        pairs = list(csv.DictReader(file))
    table = {(int(one["row"]) - 1, int(one["column"]) - 1): float(one["weight"]) for one in pairs}
    assert table == pytest.approx({place: float(weight) for place, weight in np.ndenumerate(expected)}, abs=1e-5)
    assert [float(one["weight"]) for one in pairs] == sorted((float(one["weight"]) for one in pairs), reverse=True)
    assert page.locator(f"{EXPLORER} script, {EXPLORER} .body b").count() == 0


def turn_to(page: Page, view: str) -> None:
    before = page.locator(EXPLORER).get_attribute("data-view")
    page.locator(EXPLORER).get_by_role("radiogroup", name="View").get_by_text(view, exact=True).click()
    until(page, "e.dataset.view !== argument", before)


def test_the_ten_texts_are_told_apart(page, address):
    open_page(page, link(address, source=TEXTS["HTML"]))
    assert "<" in "".join(labels(page, "keys"))
    assert labels(page, "keys")[-1] == "</s>"
    assert labels(page, "keys").count("</s>") == 1
