"""The views of the positions lab: what each shows is what a direct computation gives."""

import math
from itertools import pairwise

import numpy as np
import pytest
from playwright.sync_api import expect
from positions_lab import (
    FREE,
    LAB,
    equation,
    items,
    numbers,
    open_lab,
    point,
    said,
    shown,
    sinusoids,
    texts,
    tip,
    until,
    values_of,
)

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("layout", ["interleaved", "halves"])
def test_curves_are_the_formulas(page, address, layout):
    open_lab(page, address, **FREE, layout=layout, dimensions="0,3,11,18")
    table = sinusoids(halves=layout == "halves")
    np.testing.assert_allclose(numbers(page).reshape(30, 20), table, atol=1e-6)
    paths = items(page, "one.type === 'path' && one.dimension !== undefined")
    assert [path["dimension"] for path in paths] == [0, 3, 11, 18]
    for path, (x, y) in zip(paths, values_of(page, paths), strict=True):
        np.testing.assert_allclose(x * 29, np.arange(30), atol=1e-6)
        np.testing.assert_allclose((y * 2 - 1) * 1.04, table[:, path["dimension"]], atol=1e-6)
    plot = shown(page, "e.shown.picture.plot")
    point(page, plot["x"] + plot["width"] * 17.2 / 29, plot["y"] + plot["height"] / 2)
    assert tip(page) == {"position": "17"} | {f"dimension {one}": said(table[17, one]) for one in (0, 3, 11, 18)}


def test_dimensions_are_added_moved_and_taken_away(page, address):
    open_lab(page, address, **FREE, dimensions="4,9")
    page.get_by_role("button", name="Draw one more dimension").click()
    until(page, "String(e.shown.state.dimensions) === '4,9,10'")
    page.get_by_role("slider", name="Dimension").press("ArrowRight")
    until(page, "String(e.shown.state.dimensions) === '4,9,11'")
    page.locator(LAB).get_by_role("button", name="dimension 4", exact=True).click()
    page.get_by_role("button", name="Take the chosen dimension away").click()
    until(page, "String(e.shown.state.dimensions) === '9,11'")
    paths = items(page, "one.dimension !== undefined")
    for path, (_, y) in zip(paths, values_of(page, paths), strict=True):
        np.testing.assert_allclose((y * 2 - 1) * 1.04, sinusoids()[:, path["dimension"]], atol=1e-6)
    page.wait_for_url("**positions_dimensions=9%2C11**")


def test_the_table_is_a_heat_map_centred_at_0(page, address):
    open_lab(page, address, view="table", **FREE, dimensions="2,19")
    table = sinusoids()
    np.testing.assert_allclose(numbers(page).reshape(30, 20), table, atol=1e-6)
    (cells,) = items(page, "one.type === 'cells'")
    assert (cells["rows"], cells["columns"]) == (30, 20)
    pixels = shown(
        page, "[...e.shown.picture.items.flatMap((one) => one.items ?? [one]).find((one) => one.pixels).pixels]"
    )
    colours = np.array([[pixel >> shift & 255 for shift in (0, 8, 16)] for pixel in pixels]).reshape(30, 20, 3)
    background, positive, negative = (np.array(one) for one in ((255, 255, 255), (15, 118, 110), (194, 89, 10)))
    share = np.abs(table)[..., None]
    expected = background + (np.where(table[..., None] < 0, negative, positive) - background) * share
    assert np.abs(colours - expected).max() < 2
    plot = shown(page, "e.shown.picture.plot")
    place = point(page, plot["x"] + plot["width"] * 7.5 / 20, plot["y"] + plot["height"] * 12.5 / 30)
    assert tip(page) == {"position": "12", "dimension 7": said(table[12, 7])}
    page.mouse.click(*place)
    until(page, "String(e.shown.state.dimensions) === '2,19,7'")
    assert sorted(one["dimension"] for one in items(page, "one.dimension !== undefined")) == [2, 7, 19]


@pytest.mark.parametrize("layout", ["interleaved", "halves"])
def test_wavelengths_are_those_of_the_pairs(page, address, layout):
    open_lab(page, address, view="waves", **FREE, layout=layout)
    pairs = [2 * math.pi * 500 ** (2 * pair / 20) for pair in range(10)]
    expected = [pairs[one // 2] for one in range(20)] if layout == "interleaved" else pairs * 2
    np.testing.assert_allclose(numbers(page), expected, rtol=1e-6)
    dots = sorted(
        items(page, "one.value !== undefined && one.dimension !== undefined"), key=lambda one: one["dimension"]
    )
    assert [one["value"] for one in dots] == pytest.approx(expected, rel=1e-6)
    heights = [one["y"] + one["height"] / 2 for one in dots]
    for (low, y), (high, higher) in pairwise(sorted(zip(expected, heights, strict=True))):
        assert higher <= y + 1e-6
        assert (y - higher) == pytest.approx(
            (heights[0] - min(heights)) * math.log(high / low) / math.log(pairs[-1] / pairs[0]), abs=1e-3
        )
    turning = sum(one <= 30 for one in expected)
    expect(page.locator(f"{LAB} .sentence")).to_contain_text(f"{turning} of 20 dimensions")
    assert [one["opacity"] < 1 for one in dots if one["dimension"] not in shown(page, "e.shown.state.dimensions")] == [
        length > 30 for at, length in enumerate(expected) if at not in shown(page, "e.shown.state.dimensions")
    ]
    plot = shown(page, "e.shown.picture.plot")
    point(page, plot["x"] + plot["width"] * 7 / 19, plot["y"] + 5)
    assert tip(page) == {
        "dimension 7": "cosine" if layout == "interleaved" else "sine",
        "wavelength": f"{said(expected[7], 2)} tokens",
        "angle a token": f"{said(2 * math.pi / expected[7], 6)} rad",
    }


@pytest.mark.parametrize("measure", ["dot", "cosine"])
def test_products_are_of_every_two_positions_and_by_offset(page, address, measure):
    open_lab(page, address, view="products", **FREE, measure=measure)
    table = sinusoids() / (math.sqrt(10) if measure == "cosine" else 1)
    expected = table @ table.T
    np.testing.assert_allclose(numbers(page).reshape(30, 30), expected, atol=1e-5)
    means = [np.diagonal(expected, offset).mean() for offset in range(-29, 30)]
    for name in ("mean", "low", "high"):
        np.testing.assert_allclose(numbers(page, name), means, atol=1e-5)
    expect(page.locator(f"{LAB} .sentence")).to_contain_text("depends on their offset alone")
    name = {"dot": "dot product", "cosine": "cosine"}[measure]
    plot, chart = (shown(page, f"e.shown.picture.{one}") for one in ("plot", "chart"))
    point(page, plot["x"] + plot["width"] * 21.5 / 30, plot["y"] + plot["height"] * 4.5 / 30)
    assert tip(page) == {"p": "4", "p + k": "21", "offset k": "+17", name: said(expected[4, 21])}
    point(page, chart["x"] + chart["width"] * (29 - 12) / 58, chart["y"] + 20)
    assert tip(page) == {"offset k": "−12", name: said(expected[12, 0])}
    page.locator(LAB).get_by_text("cosine" if measure == "dot" else "dot product", exact=True).click()
    until(
        page,
        f"e.shown.state.measure !== '{measure}' && Math.abs(e.shown.numbers[0].cells[0] - argument) < 1e-4",
        1.0 if measure == "dot" else 10.0,
    )


@pytest.mark.parametrize("layout", ["interleaved", "halves"])
def test_the_rotation_leads_from_p_to_p_plus_k(page, address, layout):
    open_lab(page, address, view="rotation", **FREE, layout=layout, pair=4, position=6, offset=-5)
    table, step = sinusoids(halves=layout == "halves"), 500 ** (-8 / 20)
    first, second = (8, 9) if layout == "interleaved" else (4, 14)
    cosine, sine = math.cos(-5 * step), math.sin(-5 * step)
    assert equation(page) == pytest.approx(
        [cosine, -sine, sine, cosine, *table[6, [first, second]], *table[1, [first, second]]], abs=6e-5
    )
    there = ", ".join(said(one) for one in table[1, [first, second]])
    assert f"At position 1 the table has {there}." in texts(page)
    assert shown(page, "e.shown.numbers[0].step") == pytest.approx(step)
    expect(page.locator(f"{LAB} .sentence")).to_contain_text(f"{said(math.degrees(-5 * step), 1)}°")
    places = shown(page, "e.shown.picture.places")
    (circle,) = items(page, "one.radius > 40")
    radius = circle["radius"]
    for at, place in enumerate(places):
        assert (place["x"] - circle["x"]) / radius - 1 == pytest.approx(table[at, first], abs=1e-5)
        assert 1 - (place["y"] - circle["y"]) / radius == pytest.approx(table[at, second], abs=1e-5)
    assert [one["point"] for one in items(page, "one.point")] == ["p", "p + k"]
    point(page, places[20]["x"], places[20]["y"])
    assert tip(page) == {
        "position": "20",
        f"dimension {first}": said(table[20, first]),
        f"dimension {second}": said(table[20, second]),
    }


@pytest.mark.parametrize(("position", "offset", "seen"), [(29, 3, (26, 3)), (0, -4, (4, -4)), (29, 500, (0, 29))])
def test_what_lies_beyond_the_table_is_brought_within_it(page, address, position, offset, seen):
    open_lab(page, address, view="rotation", **FREE, position=position, offset=offset)
    assert shown(page, "[e.shown.state.position, e.shown.state.offset]") == list(seen)
    expected = sinusoids()[sum(seen), [4, 5]]
    assert list(shown(page, "e.shown.picture.points").values())[1] == pytest.approx(expected, abs=1e-5)


def test_the_rotation_plays_pauses_and_steps(page, address):
    open_lab(page, address, view="rotation", **FREE, pair=1, position=0, offset=3)
    page.get_by_role("button", name="A step on").click()
    until(page, "e.shown.state.position === 1")
    page.get_by_role("button", name="Play").click()
    until(page, "e.shown.state.position >= 3")
    page.get_by_role("button", name="Pause").click()
    at = shown(page, "e.shown.state.position")
    page.wait_for_timeout(1000)
    assert shown(page, "e.shown.state.position") == at
    matrix = equation(page)[:4]
    page.get_by_role("button", name="A step back").click()
    until(page, "e.shown.state.position === argument", at - 1)
    assert equation(page)[:4] == matrix  # the same from wherever
    page.get_by_role("slider", name="Position p").press("End")
    until(page, "e.shown.state.position === 26")  # p + 3 is the last there is
    page.get_by_role("slider", name="Offset k").press("ArrowLeft")
    until(page, "e.shown.state.offset === 2")
    assert equation(page)[:4] != matrix
    page.get_by_role("slider", name="Pair").press("End")
    until(page, "e.shown.state.pair === 9 && e.shown.numbers[0].features[0] === 18")
    page.wait_for_url("**positions_pair=9**")


def test_schemes_are_compared_on_one_axis(page, address):
    open_lab(page, address, view="compare", **FREE, heads=6)
    offsets, step = np.arange(-29, 30), 500 ** (-2 / 20)
    cosine = np.mean([np.cos(offsets * step**pair) for pair in range(10)], axis=0)
    np.testing.assert_allclose(np.array(shown(page, "[...e.shown.numbers[0].added.mean]")), cosine, atol=1e-5)
    rotary = np.cos(offsets)  # 20 / 6 leaves heads of width 2: one pair
    np.testing.assert_allclose(numbers(page, "rotary"), rotary, atol=1e-5)
    slopes = np.array([2.0**-2, 2.0**-4, 2.0**-6, 2.0**-8, 2.0**-1, 2.0**-3])  # those of 4 heads, and 2 of 8
    bias = numbers(page, "alibi").reshape(6, 59)
    np.testing.assert_allclose(bias, np.where(offsets > 0, -np.inf, slopes[:, None] * offsets), atol=1e-6)
    buckets = numbers(page, "t5")
    before, behind = [0, 1, 7, 8, 9, 10], [0, 17, 23, 24, 25, 26]
    assert [buckets[29 - k] for k in (0, 1, 7, 8, 12, 16)] == before
    assert [buckets[29 + k] for k in (0, 1, 7, 8, 12, 16)] == behind
    charts = shown(page, "e.shown.picture.charts")
    point(page, charts[3]["x"] + charts[3]["width"] * (29 - 12) / 58, charts[3]["y"] + 10)
    assert tip(page) == {
        "offset k": "−12",
        "sinusoidal": said(cosine[17]),
        "rotary, q = k": f"× {said(rotary[17])}",
        "T5 bucket": "9",
    } | {f"ALiBi, head {head + 1}": said(-12 * slope) for head, slope in enumerate(slopes)}
    point(page, charts[2]["x"] + charts[2]["width"] * (29 + 5) / 58, charts[2]["y"] + 10)
    assert tip(page)["ALiBi, head 3"] == "masked"
    page.get_by_role("switch", name="T5 as in a decoder").check()
    until(page, "e.shown.state.past && e.shown.numbers[0].t5.at(-1) === 0")
    page.get_by_role("slider", name="Heads").press("ArrowLeft")
    until(page, "e.shown.numbers[0].alibi.length === 5 * 59")
