"""The positions lab: the model's own values are its module's, and sliders, address, languages and sizes."""

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import expect
from positions_lab import FREE, LAB, given, items, numbers, open_lab, shown, sinusoids, texts, until, values_of
from small_checkpoint import write_small_checkpoint

from transformer import load_checkpoint
from transformer.checkpoint import Checkpoint

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def learned(checkpoint_folder: Path) -> Checkpoint:
    """Checkpoints that learned their positions, and that have none."""
    for name in ("learned", "none"):
        write_small_checkpoint(checkpoint_folder / name, positions=name)
    return load_checkpoint(checkpoint_folder / "learned")


@pytest.mark.parametrize(("checkpoint", "stream"), [("small", "source"), ("small", "target"), ("alone", "source")])
def test_the_models_own_curve_is_what_its_module_gave_in_a_forward(
    page, address, checkpoint_folder, checkpoint, stream
):
    open_lab(page, address, checkpoint, values=stream, dimensions="1,2")
    asked = load_checkpoint(checkpoint_folder / checkpoint)
    shape = [shown(page, f"e.shown.table.{side}") for side in ("length", "width")]
    table = numbers(page).reshape(shape)
    expected = given(asked, stream, "abcXabcX" if checkpoint == "alone" else "the cat sees the sea")
    rows = min(len(table), len(expected))
    assert rows > 4
    np.testing.assert_allclose(table[:rows], expected[:rows], atol=1e-6)
    for (_, y), dimension in zip(values_of(page, items(page, "one.dimension !== undefined")), (1, 2), strict=True):
        np.testing.assert_allclose((y[:rows] * 2 - 1) * 1.04, expected[:rows, dimension], atol=1e-6)
    expect(page.locator(f"{LAB} .legend")).to_contain_text("recorded by forward hooks")


def test_the_models_own_numbers_stand_in_sliders_that_cannot_be_moved(page, address):
    open_lab(page, address, values="source", width=96, base=50)
    shapes = {
        "Width E": "24",
        "Length (tokens)": str(shown(page, "e.shown.numbers[0].cells.length / 24")),
        "Base": "10,000",
    }
    for name, value in shapes.items():
        slider = page.get_by_role("slider", name=name)
        expect(slider).to_be_disabled()
        expect(slider).to_have_attribute("aria-valuetext", value)
    assert shown(page, "e.shown.table.tokens.length") == shown(page, "e.shown.table.length")
    page.locator(LAB).get_by_text("free", exact=True).click()
    until(page, "e.shown.state.values === 'free' && e.shown.table.width === 96")
    for name, value in {"Width E": "96", "Length (tokens)": "64", "Base": "50"}.items():
        expect(page.get_by_role("slider", name=name)).to_be_enabled()
        expect(page.get_by_role("slider", name=name)).to_have_attribute("aria-valuetext", value)
    page.wait_for_url("**positions_values=free**")


def test_sliders_make_another_table_and_the_address_says_it(page, address):
    open_lab(page, address, **FREE)
    for name, key in (("Width E", "ArrowRight"), ("Length (tokens)", "ArrowLeft"), ("Base", "ArrowRight")):
        page.get_by_role("slider", name=name).press(key)
    until(page, "e.shown.table.width === 24 && e.shown.table.length === 24 && e.shown.table.base === 1000")
    until(page, "e.shown.numbers[0].cells.length === 24 * 24")
    np.testing.assert_allclose(numbers(page).reshape(24, 24), sinusoids(24, 24, 1000), atol=1e-6)
    page.locator(LAB).get_by_text("halves", exact=True).click()
    until(
        page, "Math.abs(e.shown.numbers[0].cells[24 + 1] - argument) < 1e-5", float(sinusoids(24, 24, 1000, True)[1, 1])
    )
    page.wait_for_url("**positions_layout=halves**")
    for wanted in ("positions_width=24", "positions_length=24", "positions_base=1000"):
        assert wanted in page.url
    page.reload()
    page.locator(f"{LAB}[data-shown]").wait_for(state="attached")
    np.testing.assert_allclose(numbers(page).reshape(24, 24), sinusoids(24, 24, 1000, True), atol=1e-6)


def test_learned_positions_stand_on_the_same_axes(page, address, learned):
    weight = learned.model.source_positions.weight.detach().numpy()
    open_lab(page, address, "learned", dimensions="5")
    np.testing.assert_array_equal(numbers(page).reshape(64, 24), weight)
    ((_, y),) = values_of(page, items(page, "one.dimension !== undefined"))
    most = np.abs(weight[:, 5]).max()
    np.testing.assert_allclose((y * 2 - 1) * 1.04 * most, weight[:, 5], atol=1e-6)
    expect(page.get_by_role("slider", name="Base")).to_have_count(0)
    open_lab(page, address, "learned", view="table", values="target")
    np.testing.assert_array_equal(numbers(page).reshape(64, 24), learned.model.target_positions.weight.detach().numpy())
    open_lab(page, address, "learned", view="products", measure="dot")
    np.testing.assert_allclose(numbers(page).reshape(64, 64), weight @ weight.T, atol=1e-6)
    expect(page.locator(f"{LAB} .sentence")).to_contain_text("depends on where they stand, too")
    open_lab(page, address, "learned", view="compare")
    unit = weight / np.linalg.norm(weight, axis=1, keepdims=True)
    means = [np.diagonal(unit @ unit.T, offset).mean() for offset in range(-63, 64)]
    np.testing.assert_allclose(shown(page, "[...e.shown.numbers[0].added.mean]"), means, atol=1e-5)
    assert {one["scheme"] for one in items(page, "one.scheme")} == {"added", "sinusoidal", "rotary", "alibi", "t5"}
    open_lab(page, address, "learned", view="rotation", pair=2, position=10, offset=4)
    points = shown(page, "e.shown.picture.points")
    assert points["from"] == pytest.approx(weight[10, 4:6])
    assert points["to"] == pytest.approx(weight[14, 4:6])
    open_lab(page, address, "learned", view="waves")
    assert "Only sinusoids have wavelengths" in " ".join(texts(page))


def test_a_model_without_positions_says_so_and_a_free_table_is_still_there(page, address, learned):
    open_lab(page, address, "none")
    assert "This model adds no positions" in " ".join(texts(page))
    page.locator(LAB).get_by_text("free", exact=True).click()
    until(page, "e.shown.numbers[0]?.cells.length === 64 * 64")


def test_a_text_that_is_changed_is_recorded_anew(page, address, checkpoint_folder):
    open_lab(page, address)
    before = shown(page, "e.shown.table.length")
    box = page.get_by_role("textbox", name="Source text")
    box.fill("a dog likes bread and the old bird follows the small boat")
    box.press("Control+Enter")
    until(page, "e.shown.table.length !== argument", before)
    asked = load_checkpoint(checkpoint_folder / "small")
    expected = given(asked, "source", "a dog likes bread and the old bird follows the small boat")
    np.testing.assert_allclose(numbers(page).reshape(expected.shape), expected, atol=1e-6)


VIEWS = ["curves", "table", "waves", "products", "rotation", "compare"]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_view_opens_in_both_languages(page, address, language):
    for view in VIEWS:
        open_lab(page, address, "en-zh", language, view=view)
        assert shown(page, "e.dataset.view") == view
        sentence = page.locator(f"{LAB} .sentence")
        expect(sentence).not_to_be_empty()
        assert any("\u4e00" <= letter <= "\u9fff" for letter in sentence.inner_text()) == (language == "zh")
        assert not [text for text in texts(page) if "undefined" in text or "NaN" in text or "{" in text]


@pytest.mark.parametrize("size", [(1280, 800), (1920, 1080)])
def test_every_picture_keeps_within_one_screen(page, address, size):
    page.set_viewport_size(dict(zip(("width", "height"), size, strict=True)))
    for view in VIEWS:
        open_lab(page, address, "en-zh", view=view, **FREE | {"length": 1024, "width": 1024})
        box = page.locator(LAB).bounding_box()
        assert box
        assert box["y"] + box["height"] <= size[1]
        canvas = page.locator(f"{LAB} canvas").bounding_box()
        assert canvas
        assert canvas["height"] > size[1] * 0.4
        edges = shown(
            page,
            """(() => {
                const MONO = "'Source Code Pro'"
                const context = new OffscreenCanvas(1, 1).getContext("2d")
                return e.shown.picture.items.filter((one) => one.type === "text" && !one.angle).map((one) => {
                    context.font = `${one.bold ? 600 : 400} ${one.size}px ${one.mono ? MONO : "'Source Sans'"}`
                    const wide = context.measureText(one.text).width
                    const left = one.x - { start: 0, middle: wide / 2, end: wide }[one.anchor ?? "start"]
                    return [left, left + wide, one.y - one.size / 2, one.y + one.size / 2, one.text]
                })
            })()""",
        )
        for left, right, top, bottom, text in edges:
            assert left >= -1, text
            assert right <= canvas["width"] + 1, text
            assert top >= -1, text
            assert bottom <= canvas["height"] + 1, text


def test_a_picture_is_saved_as_svg(page, address):
    for view, sign in (("curves", "<path"), ("rotation", "<path"), ("table", "<image")):
        open_lab(page, address, view=view, **FREE)
        with page.expect_download() as saved:
            page.get_by_role("button", name="Save the picture (SVG)").click()
        content = Path(saved.value.path()).read_text(encoding="utf-8")
        assert content.startswith("<svg")
        assert sign in content
        assert saved.value.suggested_filename.endswith(".svg")


def test_back_restores_what_was_shown_and_other_pages_keep_their_own(page, address):
    open_lab(page, address, view="table", **FREE)
    page.get_by_role("radio", name="Attention").or_(page.get_by_text("Attention", exact=True)).first.click()
    page.locator(".explorer[data-shown]").wait_for(state="attached")
    assert "positions_width=20" in page.url
    page.get_by_text("Positions", exact=True).first.click()
    page.locator(f"{LAB}[data-shown]").wait_for(state="attached")
    until(page, "e.shown.state.view === 'table' && e.shown.table.width === 20")
