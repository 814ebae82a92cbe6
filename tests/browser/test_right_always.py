"""Three checkpoints and ten texts: what each view shows is what the checkpoint computes, whatever was typed."""

import csv

import numpy as np
import pytest
import torch
from browsing import EXPLORER, cells, labels, link, open_page, shown, until
from computed import Computed, items, names_of, painted_cells, painted_shares, under
from merged import Merged, pooled
from playwright.sync_api import Page

from dashboard.figures.colours import colours
from transformer.checkpoint import Checkpoint, load_checkpoint
from transformer.decoding import Decoding, decode, length_limit

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
TARGETS = {"en-zh": "我喜欢猫🎉。", "en-fr": "J'aime beaucoup les chats 🎉.", "zh-en": "I like cats 🎉."}
KIND, LAYER, HEAD = "cross", 2, 3  # counted from 1
BEAMS = 2

# How near a view must come to what was computed.
SENT = 1e-5  # a number that a picture is drawn from, or that stands in the table
WRITTEN = 6e-5  # one that is written with four digits
PAINTED = 0.005  # a colour, as a share of full colour: one of 255 shades, of three rounded channels
DRAWN = 1e-4  # the opacity of a line
MOST_EXACT = 512 * 512  # cells of a head whose strongest is told beside its small picture
FAINTEST, MOST_LINES = 0.02, 2000  # as a share of full colour; of more pairs the strongest have lines


@pytest.fixture(scope="module", params=TARGETS)
def asked(request):
    return request.param, load_checkpoint(request.param)


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_every_view_shows_what_the_model_computes(page, address, asked, text):
    name, checkpoint = asked
    right = Merged(Computed(checkpoint, text, TARGETS[name]))
    expected = right.heads(KIND, LAYER - 1)[HEAD - 1]
    assert expected.sum(axis=1) == pytest.approx(1, abs=1e-4)
    assert expected.shape[0] != expected.shape[1]
    choices = {"checkpoint": name, "source": text, "layer": LAYER, "head": HEAD}
    step = right.inside_a_character()
    open_page(page, link(address, target=TARGETS[name], target_from="type", decoding_step=step + 1, **choices))
    check_heat_map(page, right, expected)
    for view, check in CHECKS.items():
        turn_to(page, view)
        check(page, right, expected)
    open_page(page, link(address, view="steps", method="beam", beams=BEAMS, decoding_step=2, **choices))
    check_beams(page, checkpoint, text)


def turn_to(page: Page, view: str) -> None:
    before = page.locator(EXPLORER).get_attribute("data-view")
    page.locator(EXPLORER).get_by_role("radiogroup", name="View").get_by_text(view, exact=True).click()
    until(page, "e.dataset.view !== argument", before)


def check_painted(found: np.ndarray, shares: np.ndarray, kind: str) -> None:
    np.testing.assert_allclose(painted_shares(found, colours(kind, "light")), shares, atol=PAINTED)


def check_heat_map(page, right, expected):
    np.testing.assert_allclose(cells(page), expected, atol=SENT)
    (painted,) = painted_cells(page)
    check_painted(painted, right.shares(KIND, LAYER - 1)[HEAD - 1], KIND)
    assert shown(page, "e.shown.picture.plot.width > 100 && e.shown.picture.plot.height > 100")


def check_lines(page, right, expected):
    shares = right.shares(KIND, LAYER - 1)[HEAD - 1]
    drawn = {(one["row"], one["column"]): one["opacity"] for one in items(page, "curve")}
    unsure = np.abs(shares - FAINTEST) < 1e-5  # on the brink of having a line
    wanted = {tuple(place): shares[tuple(place)] for place in np.argwhere((shares >= FAINTEST) & ~unsure).tolist()}
    sure = {place: share for place, share in drawn.items() if not unsure[place]}
    assert sure == pytest.approx({place: share for place, share in wanted.items() if place in sure}, abs=DRAWN)
    assert len(wanted) - len(sure) == max(0, len(wanted) - MOST_LINES)
    assert max((wanted[place] for place in wanted.keys() - sure), default=0) <= min(sure.values()) + 1 / 256


def check_text(page, right, expected):
    row = next(one["index"] for one in items(page, "rect") if one.get("outlined"))
    values = {one["index"]: one["value"] for one in items(page, "rect", having="value") if one["side"] == "keys"}
    assert values == pytest.approx(dict(enumerate(expected[row])), abs=SENT)


def check_three_kinds(page, right, expected):
    parts = shown(
        page, "e.shown.picture.parts.map(({ kind, plot, numbers }) => [kind, [...numbers.cells].map(String)])"
    )
    assert [kind for kind, _ in parts] == ["encoder", "decoder", "cross"]
    for (kind, sent), painted in zip(parts, painted_cells(page), strict=True):
        layer = min(LAYER, right.layers[kind]) - 1
        weights = right.heads(kind, layer)[HEAD - 1]
        np.testing.assert_allclose(np.array(sent, dtype=np.float64).reshape(weights.shape), weights, atol=SENT)
        check_painted(painted, right.shares(kind, layer)[HEAD - 1], kind)


def check_all_heads(page, right, expected):
    tips = shown(
        page,
        """e.shown.picture.tiles.map(({ kind, layer, head, box }) =>
            ({ kind, layer, head, tip: e.shown.picture.at(box.x + box.width / 2, box.y + box.height / 2).tip }))""",
    )
    assert len(tips) == sum(layers * right.computed.asked.config.nhead for layers in right.layers.values())
    for one, tile in zip(tips, painted_cells(page), strict=True):
        kind, layer, head = one["kind"], one["layer"], one["head"]
        check_painted(tile, pooled(right.shares(kind, layer)[head]), kind)
        weights = right.heads(kind, layer)[head]
        if weights.size > MOST_EXACT:
            assert len(one["tip"]) == 1  # of a long text the head's name alone
            continue
        (_, query), (_, key), (_, strongest) = one["tip"][1:]
        assert float(strongest) == pytest.approx(np.nanmax(weights), abs=WRITTEN)
        pairs = np.argwhere(weights > np.nanmax(weights) - SENT)
        assert (query, key) in [(right.names("queries", kind)[row], right.names("keys", kind)[at]) for row, at in pairs]
    assert len({(one["kind"], one["layer"], one["head"]) for one in tips}) == len(tips)


def check_table(page, right, expected):
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as CSV").click()
    with download.value.path().open(encoding="utf-8", newline="") as file:
        pairs = list(csv.DictReader(file))
    table = {(int(one["row"]) - 1, int(one["column"]) - 1): float(one["weight"]) for one in pairs}
    assert table == pytest.approx({place: float(weight) for place, weight in np.ndenumerate(expected)}, abs=SENT)
    assert [float(one["weight"]) for one in pairs] == sorted((float(one["weight"]) for one in pairs), reverse=True)
    assert page.locator(f"{EXPLORER} script, {EXPLORER} .body b").count() == 0


def check_decoding(page, right, expected):
    ids, likely = right.computed.ids, right.computed.logits.log_softmax(dim=-1)
    strip = {one["step"]: dict(map(tuple, tip)) for one, tip in under(page, "strip")}
    assert sorted(strip) == list(range(len(ids)))
    for step, tip in strip.items():
        loss = -float(likely[step, ids[step]])
        assert float(tip["loss, in nats"]) == pytest.approx(loss, abs=WRITTEN)
        assert float(tip["probability"]) == pytest.approx(np.exp(-loss), abs=WRITTEN)
        assert tip["label"] == right.computed.names([ids[step]])[0]
    check_step(page, right, right.inside_a_character())
    for key, step in (("Home", 0), ("End", len(ids) - 1)):
        page.get_by_role("slider", name="Step").press(key)
        until(page, "e.shown.state.step === argument", step)
        check_step(page, right, step)


def check_step(page: Page, right: Merged, step: int) -> None:
    """The distribution, and the row of every head of the layer."""
    computed, label = right.computed, right.computed.ids[step]
    likeliest = computed.probabilities[step].topk(10).indices.tolist()
    wanted = [*likeliest, *([] if label in likeliest else [label])]
    tips = [tip for _, tip in sorted(under(page, "chances"), key=lambda one: one[0]["row"])]
    assert [name for (_, name), _ in tips] == computed.names(wanted)
    chances = [float(chance) for _, (_, chance) in tips]
    assert chances == pytest.approx(computed.probabilities[step, wanted].tolist(), abs=WRITTEN)
    assert [name for (what, name), _ in tips if what == "label"] == computed.names([label])
    for kind, painted in zip(("cross", "decoder"), painted_cells(page), strict=True):
        layer = min(LAYER, right.layers[kind]) - 1
        row = next(row for row, places in enumerate(right.queries[kind]) if step in places)
        shares = right.shares(kind, layer)[:, row]
        per = -(-shares.shape[1] // painted.shape[1])  # keys a bar, of which the largest shows
        check_painted(painted, np.fmax.reduceat(shares, range(0, shares.shape[1], per), axis=1), kind)


def check_beams(page: Page, asked: Checkpoint, text: str) -> None:
    source, trace = torch.tensor([asked.source_ids(text)]), []
    limit = length_limit(source.size(1), asked.config.max_length)
    best = decode(asked.model, source, limit, Decoding("beam", beams=BEAMS), trace=[trace])[0][0]
    step = shown(page, "Math.min(e.shown.state.step, e.querySelector('.own input').max - 1)")
    assert step == min(1, len(best.ids) - 1)
    found = [dict(map(tuple, tip)) for _, tip in under(page, "beams")]
    for known, said in zip(trace[step].candidates, found, strict=True):
        assert said["text so far"] == "".join(names_of(asked, known.beam))
        assert said["next"] == names_of(asked, [known.token])[0]
        assert float(said["score"].replace("−", "-")) == pytest.approx(known.score, abs=WRITTEN)
        assert said["then"] == known.fate
        assert ("became the answer" in said) is (known.ids == best.ids[: step + 1])


CHECKS = {
    "lines": check_lines,
    "text": check_text,
    "three kinds": check_three_kinds,
    "all heads": check_all_heads,
    "decoding": check_decoding,
    "table": check_table,
}


def test_the_ten_texts_are_told_apart(page, address):
    open_page(page, link(address, source=TEXTS["HTML"]))
    assert "<" in "".join(labels(page, "keys"))
    assert labels(page, "keys")[-1] == "</s>"
    assert labels(page, "keys").count("</s>") == 1
