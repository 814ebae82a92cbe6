"""The decoding view: what it shows of each step is what the checkpoint computes, and its player plays."""

import json
from math import exp

import numpy as np
import pytest
import torch
from browsing import EXPLORER, link, open_page, painted, shown, until
from computed import SOURCE, Computed, under
from playwright.sync_api import Page, expect

from transformer.checkpoint import load_checkpoint
from transformer.decoding import Decoding, decode, length_limit
from transformer.units import units_of

pytestmark = pytest.mark.browser

TARGET = "猫看见了狗，狗也看见<b>😀。"
STEP = 4


@pytest.fixture(scope="module")
def typed() -> Computed:
    return Computed(load_checkpoint("en-zh"), SOURCE, TARGET)


def asked_link(address: str, **choices: object) -> str:
    return link(address, **{"source": SOURCE, "target_from": "type", "target": TARGET, "view": "steps"} | choices)


def texts(page: Page, part: str) -> list[str]:
    """All that is written in a part, in the order in which it is drawn."""
    return shown(
        page,
        f"""e.shown.picture.items.filter(({{ type, x, y }}) => {{
            const box = e.shown.picture.room["{part}"]
            return type === "text" && x >= box.x && x <= box.x + box.width && y >= box.y && y <= box.y + box.height
        }}).map((item) => item.text)""",
    )


def heads(page: Page, kind: str) -> np.ndarray:
    """What the tips say of every head and key: (H, keys), not-a-number where the mask forbids one."""
    found = {(one["head"], one["column"]): tip[-1] for one, tip in under(page, "rows") if one["part"] == kind}
    rows, columns = (max(place[axis] for place in found) + 1 for axis in (0, 1))
    assert len(found) == rows * columns
    number = {
        place: np.nan if name == "blocked by the mask" else float(value) for place, (name, value) in found.items()
    }
    return np.array([[number[row, column] for column in range(columns)] for row in range(rows)])


def step_shown(page: Page) -> int:
    return shown(page, "e.shown.state.step")


def two_digits(number: float) -> str:
    return "<0.01" if 0 < number < 0.005 else f"{number:.2f}"


def test_the_strip_is_what_the_model_made_of_the_target(page, address, typed):
    open_page(page, asked_link(address, kind="cross", layer=2, decoding_step=STEP + 1))
    rows = {one["step"]: dict(map(tuple, tip)) for one, tip in under(page, "strip")}
    likely = typed.probabilities[range(len(typed.ids)), typed.ids]
    ranks = 1 + (typed.probabilities > likely[:, None]).sum(dim=-1)
    names, reads = typed.names(typed.ids), typed.names([typed.asked.config.bos_id, *typed.ids[:-1]])
    assert len(rows) == len(typed.ids)
    for step, row in rows.items():
        assert (row["reads"], row["label"]) == (reads[step], names[step])
        assert float(row["probability"]) == pytest.approx(float(likely[step]), abs=6e-5)
        assert float(row["loss, in nats"]) == pytest.approx(-float(likely[step].log()), abs=6e-5)
        assert (row["rank among all tokens"], row["counts"]) == (str(int(ranks[step])), "yes")
    written = texts(page, "strip")
    assert "Teacher-forcing strip" in written
    for step, probability in enumerate(likely.tolist()):
        at = written.index(f"{step + 1}", 1)
        loss = two_digits(-float(likely[step].log()))
        assert written[at : at + 6] == [
            f"{step + 1}",
            reads[step],
            names[step],
            two_digits(probability),
            loss,
            "✓ ",
        ]
    mean = -float(likely.log().mean())
    assert f"mean loss {mean:.2f} nats, over {len(names)} that count" in written


def test_the_bars_are_as_long_as_the_probabilities(page, address, typed):
    open_page(page, asked_link(address))
    bars = shown(
        page, "e.shown.picture.items.filter((one) => one.type === 'rect' && one.height === 10).map((one) => one.width)"
    )
    likely = typed.probabilities[range(len(typed.ids)), typed.ids].numpy()
    assert len(bars) >= len(likely)
    np.testing.assert_allclose(np.array(bars[: len(likely)]) / max(bars), likely / likely.max(), atol=1e-3)


@pytest.mark.parametrize("step", [0, STEP, 9])
def test_the_likeliest_tokens_of_a_step(page, address, typed, step):
    open_page(page, asked_link(address, decoding_step=step + 1))
    best = typed.probabilities[step].topk(10)
    names, chances = typed.names(best.indices.tolist()), best.values.tolist()
    label = typed.names([typed.ids[step]])[0]
    if label not in names:
        names, chances = [*names, label], [*chances, float(typed.probabilities[step, typed.ids[step]])]
    found = sorted(((one["row"], dict(map(tuple, tip))) for one, tip in under(page, "chances")), key=lambda one: one[0])
    assert [next(iter(tip.values())) for _, tip in found] == names
    assert [float(tip["probability"]) for _, tip in found] == pytest.approx(chances, abs=6e-5)
    assert [tip["label"] for _, tip in found if "label" in tip] == [label]
    entropy = float(torch.special.entr(typed.probabilities[step]).sum())
    said = " ".join(texts(page, "chances"))
    assert f"Step {step + 1} of {len(typed.ids)}" in said
    assert f"Entropy {entropy:.2f} nats: as unsure as among {exp(entropy):.1f}" in said


@pytest.mark.parametrize(("layer", "rows"), [(1, "read"), (3, "predicted")])
def test_every_heads_rows_are_those_of_the_step(page, address, typed, layer, rows):
    choices = {"kind": "decoder", "layer": layer, "head": 2, "cross_rows": rows, "decoder_rows": rows}
    open_page(page, asked_link(address, decoding_step=STEP + 1, unit="piece", **choices))
    painted(page, f"decoder: layer {layer}, head 2")
    assert len(typed.asked.source_ids(SOURCE)) != len(typed.ids)
    cross, decoder = heads(page, "cross"), heads(page, "decoder")
    np.testing.assert_allclose(cross, typed.weights("cross", layer - 1, None)[:, STEP], atol=6e-5)
    # The emoji's four bytes are one key, the last but two of those that were read: weights are summed over it.
    expected = typed.weights("decoder", layer - 1, None)[:, STEP]
    keys = units_of(typed.read, "piece")
    merged = np.stack([expected[:, list(pieces)].sum(axis=1) for pieces in keys.pieces], axis=1)
    np.testing.assert_allclose(decoder, merged, atol=6e-5)
    darkest = shown(
        page,
        """e.shown.picture.items.filter((one) => one.type === "cells").map(({ pixels, rows, columns }) => {
            const bytes = new Uint8Array(pixels.buffer, pixels.byteOffset)
            const light = (row, one) => [0, 1, 2].reduce((sum, i) => sum + bytes[4 * (row * columns + one) + i], 0)
            const darkest = (row) => (best, one) => (light(row, one) < light(row, best) ? one : best)
            return Array.from({ length: rows }, (_, row) => [...Array(columns).keys()].reduce(darkest(row)))
        })""",
    )
    assert darkest[0] == np.argmax(cross, axis=1).tolist()
    assert darkest[1] == np.nanargmax(decoder, axis=1).tolist()


def test_rows_follow_words_and_leave_out_what_is_hidden(page, address, checkpoint_folder):
    asked = load_checkpoint(checkpoint_folder / "small")
    source, target = "a dog likes the sea", "neko umi miru"
    computed = Computed(asked, source, target)
    labels = computed.target
    words, keys = units_of(labels, "word"), units_of(asked.source_tokenizer.labels(asked.source_ids(source)), "word")
    assert words.labels == ("neko", "umi", "miru", "</s>")
    step = words.pieces[1][-1]  # not the word's first piece
    assert step > words.pieces[1][0]
    choices = {
        "checkpoint": "small",
        "source": source,
        "target": target,
        "kind": "cross",
        "layer": 1,
        "special": "hidden",
    }
    open_page(page, asked_link(address, unit="word", decoding_step=step + 1, **choices))
    pattern = computed.weights("cross", 0, None)[:, list(words.pieces[1])].mean(axis=1)
    expected = np.stack([pattern[:, list(one)].sum(axis=1) for one in keys.pieces[:-1]], axis=1)
    np.testing.assert_allclose(heads(page, "cross"), expected / expected.sum(axis=1, keepdims=True), atol=6e-5)
    page.get_by_role("slider", name="Step").press("End")  # whose label is the end token, and so is its row
    until(page, f"e.shown.state.step === {len(labels) - 1}")
    assert not [one for one, _ in under(page, "rows") if one["part"] == "cross"]
    assert [one for one, _ in under(page, "rows") if one["part"] == "decoder"]


def test_the_models_own_answer_typed_costs_the_same(page, address, typed):
    source = "She reads a book."
    ids = torch.tensor([typed.asked.source_ids(source)])
    own = decode(typed.asked.model, ids, length_limit(ids.size(1), typed.asked.config.max_length))[0][0]
    text = typed.asked.target_tokenizer.text(own.ids)
    assert tuple(typed.asked.target_ids(text)) == own.ids  # or it would be another target
    open_page(page, link(address, view="steps", source=source))
    written = texts(page, "strip")
    assert "What the model wrote" in written
    assert "writes" in written
    tips = [tip[3:] for _, tip in under(page, "strip")]
    assert len(tips) == len(own.ids)
    open_page(page, asked_link(address, source=source, target=text))
    assert "Teacher-forcing strip" in texts(page, "strip")
    assert [tip[3:] for _, tip in under(page, "strip")] == tips


def test_the_searchs_candidates_are_those_of_the_step(page, address, typed):
    ids = torch.tensor([typed.asked.source_ids(SOURCE)])
    trace: list = []
    limit = length_limit(ids.size(1), typed.asked.config.max_length)
    best = decode(typed.asked.model, ids, limit, Decoding("beam", beams=3), trace=[trace])[0][0]
    open_page(page, link(address, view="steps", source=SOURCE, method="beam", beams=3, decoding_step=STEP))
    found = under(page, "beams")
    assert len(found) == len(trace[STEP - 1].candidates) == 6
    for known, (_, tip) in zip(trace[STEP - 1].candidates, found, strict=True):
        said = dict(map(tuple, tip))
        assert said["text so far"] == "".join(typed.names(list(known.beam)))
        assert said["next"] == typed.names([known.token])[0]
        assert float(said["score"].replace("−", "-")) == pytest.approx(known.score, abs=6e-5)
        assert said["then"] == known.fate
        assert ("became the answer" in said) is (known.ids == best.ids[:STEP])
    page.get_by_role("slider", name="Step").press("Home")
    until(page, "e.shown.state.step === 0")
    assert {dict(map(tuple, tip))["text so far"] for _, tip in under(page, "beams")} == {""}


def test_a_decoder_alone_has_no_cross_rows_and_ends_with_its_guess(page, address, checkpoint_folder):
    asked = load_checkpoint(checkpoint_folder / "alone")
    ids = asked.source_tokenizer.ids("abcXabc")
    computed = Computed(asked, "", [*ids, 0])
    open_page(page, link(address, view="steps", checkpoint="alone", source="abcXabc", decoding_step=8))
    guess = int(computed.probabilities[-1, 1:].argmax()) + 1
    last = dict(map(tuple, next(tip for one, tip in under(page, "strip") if one["step"] == 7)))
    assert last["its own guess"] == asked.source_tokenizer.labels([guess])[0]
    assert last["counts"] == "no: nothing was given"
    assert {one["part"] for one, _ in under(page, "rows")} == {"decoder"}
    np.testing.assert_allclose(heads(page, "decoder"), computed.weights("decoder", 1, None)[:, 7], atol=6e-5)
    written = texts(page, "strip")
    assert "The text, token by token" in written
    assert written.count("✓ ") == 7
    assert written.count("– ") == 1
    dashed = "e.shown.picture.items.filter((one) => one.type === 'line' && one.dash).length"
    assert shown(page, dashed) == 4
    open_page(page, asked_link(address))
    assert shown(page, dashed) == 0


def test_a_forgotten_shift_is_said_in_the_strips_place(page, address):
    open_page(page, asked_link(address, unshifted="true"))
    said = " ".join(texts(page, "strip"))
    assert said.startswith("The shift was forgotten At every step the label is the very token")
    assert "probability" not in said
    assert under(page, "strip") == []
    assert under(page, "chances")


def test_a_click_chooses_a_step_and_hover_says_what_stands_there(page, address, typed):
    open_page(page, asked_link(address))
    canvas = page.locator(f"{EXPLORER} canvas").first.bounding_box()
    place = shown(page, "e.shown.picture.items.filter((one) => one.type === 'text' && one.text === '✓ ')[5]")
    page.mouse.move(canvas["x"] + place["x"] - 60, canvas["y"] + place["y"])
    tip = page.locator(f"{EXPLORER} .tip").first
    expect(tip).to_contain_text(f"Step 6 of {len(typed.ids)}")
    likely = float(typed.probabilities[5, typed.ids[5]])
    expect(tip).to_contain_text(f"{likely:.4f}")
    page.mouse.click(canvas["x"] + place["x"] - 60, canvas["y"] + place["y"])
    until(page, "e.shown.state.step === 5")
    page.wait_for_url("**decoding_step=6**")
    assert f"Step 6 of {len(typed.ids)}" in texts(page, "chances")


def test_a_click_on_a_row_selects_its_head(page, address):
    open_page(page, asked_link(address, kind="encoder", layer=2, head=1))
    canvas = page.locator(f"{EXPLORER} canvas").first.bounding_box()
    row = shown(page, "e.shown.picture.items.filter((one) => one.type === 'cells')[0]")
    page.mouse.click(canvas["x"] + row["x"] + 30, canvas["y"] + row["y"] + row["height"] * 2.5 / row["rows"])
    painted(page, "cross: layer 2, head 3")


def test_a_link_restores_the_step_and_one_beyond_the_end_is_the_last(page, address, typed):
    open_page(page, asked_link(address, decoding_step=3))
    assert step_shown(page) == 2
    assert page.get_by_role("slider", name="Step").input_value() == "3"
    page.get_by_role("slider", name="Step").press("ArrowRight")
    page.wait_for_url("**decoding_step=4**")
    page.reload()
    painted(page)
    assert step_shown(page) == 3
    last = len(typed.ids)
    open_page(page, asked_link(address, decoding_step=900))
    assert f"Step {last} of {last}" in texts(page, "chances")
    assert page.get_by_role("slider", name="Step").input_value() == str(last)
    page.get_by_role("button", name="A step back").click()
    until(page, f"e.shown.state.step === {last - 2}")


def test_a_long_target_is_shown_around_the_step(page, address):
    text = "我知道他的名字。" * 20
    open_page(page, asked_link(address, target=text, decoding_step=40))
    (window,) = (one for one in texts(page, "strip") if " of " in one)
    begin, end = map(int, window.removeprefix("steps ").split(" of ")[0].split("–"))
    assert begin < 40 < end
    assert {one["step"] + 1 for one, _ in under(page, "strip")} == set(range(begin, end + 1))
    assert end - begin > 8


def test_it_plays_to_the_end_and_stops(page, address):
    open_page(page, asked_link(address, target="猫。"))
    last = shown(page, "e.querySelectorAll('.own input')[0].max")
    assert int(last) == 3
    page.evaluate("performance.mark('play')")
    page.get_by_role("button", name="Play").click()
    until(page, "e.shown.state.step === 1")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    until(page, "e.shown.state.step === 2")
    assert page.evaluate("performance.now() - performance.getEntriesByName('play')[0].startTime") > 1900
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    page.wait_for_timeout(1300)
    assert step_shown(page) == 2
    page.get_by_role("button", name="Play").click()  # from the end it begins anew
    until(page, "e.shown.state.step === 0")


@pytest.fixture
def counting(page):
    """A page that counts the clocks of a second that run in it."""
    another = page.context.new_page()
    another.add_init_script(
        """const [begin, end] = [setInterval, clearInterval]
        window.beats = new Set()
        window.setInterval = (call, time, ...rest) => {
            const id = begin(call, time, ...rest)
            if (time === 1000) beats.add(id)
            return id
        }
        window.clearInterval = (id) => { beats.delete(id); end(id) }"""
    )
    yield another
    another.close()


@pytest.mark.parametrize("how", ["pause", "another view", "another run", "off the page"])
def test_it_stops_playing(counting, address, how):
    page = counting
    open_page(page, asked_link(address))
    others = page.evaluate("beats.size")  # Streamlit's own
    page.get_by_role("button", name="Play").click()
    until(page, "e.shown.state.step === 1")
    assert page.evaluate("beats.size") == others + 1
    if how == "pause":
        page.get_by_role("button", name="Pause").click()
    elif how == "another view":
        page.get_by_text("heat map", exact=True).click()
        until(page, "e.dataset.view === 'heat'")
    elif how == "off the page":
        page.locator(EXPLORER).evaluate("(e) => e.getRootNode().host.remove()")
    else:
        box = page.get_by_role("textbox", name="Your own target text")
        box.fill("她读了一本书，然后睡着了。")
        box.press("Control+Enter")
        until(page, "e.shown.numbers.some(({ queries }) => queries.includes('她'))")
    assert page.evaluate("beats.size") == others
    if how in ("pause", "another run"):
        expect(page.get_by_role("button", name="Play")).to_be_visible()


def test_wide_and_small_screens_keep_every_part_on_the_picture(page, address):
    for width, height in ((1280, 800), (1920, 1080), (1280, 600)):
        page.set_viewport_size({"width": width, "height": height})
        for language in ("en", "zh"):
            open_page(
                page, link(address, view="steps", source=SOURCE, method="beam", decoding_step=5, language=language)
            )
            outside = shown(
                page,
                """(() => {
                    const { clientWidth, clientHeight } = e.querySelector(".stage")
                    const off = ({ x, y }) => x < 0 || x > clientWidth || y < 0 || y > clientHeight
                    return e.shown.picture.items.filter((one) => one.type === "text" && off(one))
                })()""",
            )
            assert outside == [], json.dumps(outside)
