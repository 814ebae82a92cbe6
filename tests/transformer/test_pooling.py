"""A pattern read by tiles and shrunk, beside the whole of it shrunk in one go."""

import math
from typing import Literal

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from small_models import padded_batch, small_model

from transformer import MultiheadAttention, pooling, record
from transformer.pooling import Pooled, Stopped, bin_edges, pooled, strongest
from transformer.recording import Recording, Site

HEADS = 2
MASKS = ["none", "causal", "padding", "both", "heads", "rows", "added key"]
Head = int | Literal["mean"]


def recorded(queries: int, keys: int, mask: str = "none", seed: int = 0, sharpness: float = 4.0) -> Recording:
    """One attention of two heads over two random sentences, whose weights are far from even."""
    torch.manual_seed(seed)
    attention = MultiheadAttention(8, HEADS, batch_first=True, add_zero_attn=mask == "added key")
    padding = None
    if mask in ("padding", "both"):
        padding = torch.arange(keys) >= torch.tensor([[max(1, keys - 2)], [max(1, keys // 2)]])
    attn_mask = None
    if mask == "heads":  # another one for each sentence and head
        attn_mask = torch.rand(2 * HEADS, queries, keys) < 0.5
    if mask == "rows":  # every other query may look at nothing
        attn_mask = (torch.arange(queries) % 2 == 1)[:, None].expand(queries, keys)
    query, key = torch.randn(2, queries, 8) * sharpness, torch.randn(2, keys, 8) * sharpness
    with torch.inference_mode(), record(attention) as recording:
        causal = mask in ("causal", "both")
        attention(query, key, key, padding, attn_mask=attn_mask, is_causal=causal, need_weights=False)
    return recording


def site_of(recording: Recording) -> Site:
    (site,) = recording.sites
    return site


def exact(recording: Recording, head: Head, sentence: int, quantity: str) -> np.ndarray:
    """The whole pattern, not-a-number where it is blocked."""
    site = site_of(recording)
    read = recording.pattern if quantity == "weight" else recording.scores
    blocked = recording.mask(site, head, sentence).numpy() == -np.inf
    return np.where(blocked, np.nan, read(site, head, sentence).numpy().astype(float))


def pooled_in_one_go(cells: np.ndarray, size: tuple[int, int]) -> Pooled:
    """Bin after bin, by the definition."""
    height, width = (min(length, most) for length, most in zip(cells.shape, size, strict=True))
    mean, highest = np.full((height, width), np.nan), np.full((height, width), np.nan)
    for i in range(height):
        for j in range(width):
            rows = slice(i * len(cells) // height, (i + 1) * len(cells) // height)
            columns = slice(j * cells.shape[1] // width, (j + 1) * cells.shape[1] // width)
            allowed = [cell for cell in cells[rows, columns].flat if not math.isnan(cell)]
            if allowed:
                mean[i, j], highest[i, j] = sum(allowed) / len(allowed), max(allowed)
    return Pooled(mean, highest)


@st.composite
def looks(draw: st.DrawFn) -> dict:
    """A pattern, a part of it, a size, and tiles that cut it anywhere."""
    lengths = draw(st.integers(1, 24)), draw(st.integers(1, 24))
    windows = []
    for length in lengths:
        begin = draw(st.integers(0, length - 1))
        windows.append(draw(st.sampled_from([None, (begin, draw(st.integers(begin + 1, length)))])))
    return {
        "lengths": lengths,
        "mask": draw(st.sampled_from(MASKS)),
        "rows": windows[0],
        "columns": windows[1],
        "size": (draw(st.integers(1, 26)), draw(st.integers(1, 26))),
        "head": draw(st.sampled_from([0, 1, "mean"])),
        "sentence": draw(st.integers(0, 1)),
        "quantity": draw(st.sampled_from(["weight", "score"])),
        "tile_cells": draw(st.integers(1, 400)),
        "seed": draw(st.integers(0, 50)),
    }


def part(cells: np.ndarray, look: dict) -> np.ndarray:
    return cells[slice(*(look["rows"] or (None,))), slice(*(look["columns"] or (None,)))]


def asked(look: dict) -> dict:
    return {name: look[name] for name in ("head", "rows", "columns", "sentence", "quantity")}


@given(looks())
def test_tiles_give_what_pooling_the_whole_pattern_gives(look):
    recording = recorded(*look["lengths"], look["mask"], look["seed"])
    cells = part(exact(recording, look["head"], look["sentence"], look["quantity"]), look)
    expected = pooled_in_one_go(cells, look["size"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pooling, "TILE_CELLS", look["tile_cells"])
        got = pooled(recording, site_of(recording), size=look["size"], **asked(look))
    assert got.mean.dtype == got.max.dtype == np.float32
    np.testing.assert_allclose(got.mean, expected.mean, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(got.max, expected.max, rtol=1e-5, atol=1e-6)


@given(looks())
def test_bins_weighted_by_their_allowed_cells_have_the_mean_of_the_whole(look):
    recording = recorded(*look["lengths"], look["mask"], look["seed"])
    cells = part(exact(recording, look["head"], look["sentence"], "weight"), look)
    got = pooled(recording, site_of(recording), size=look["size"], **asked(look | {"quantity": "weight"}))
    tops, lefts = (bin_edges(length, most) for length, most in zip(cells.shape, look["size"], strict=True))
    allowed = np.add.reduceat(np.add.reduceat(~np.isnan(cells), tops[:-1], axis=0, dtype=int), lefts[:-1], axis=1)
    assert np.array_equal(allowed == 0, np.isnan(got.mean))
    assert np.array_equal(np.isnan(got.mean), np.isnan(got.max))
    assert np.nansum(got.mean * allowed) == pytest.approx(np.nansum(cells), rel=1e-5, abs=1e-6)
    assert (np.nan_to_num(got.mean) <= np.nan_to_num(got.max) + 1e-6).all()


@given(looks())
def test_a_part_that_fits_comes_cell_by_cell(look):
    recording = recorded(*look["lengths"], look["mask"], look["seed"])
    cells = part(exact(recording, look["head"], look["sentence"], look["quantity"]), look)
    got = pooled(recording, site_of(recording), size=cells.shape, **asked(look))
    np.testing.assert_allclose(got.mean, cells, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(got.mean, got.max)


@given(st.integers(1, 300), st.integers(1, 300))
def test_bins_are_as_equal_as_possible_and_lose_no_cell(length, most):
    edges = bin_edges(length, most)
    sizes = np.diff(edges)
    assert (edges[0], edges[-1], len(sizes)) == (0, length, min(length, most))
    assert sizes.min() >= 1
    assert sizes.max() - sizes.min() <= 1


def test_bins_worked_out_by_hand():
    recording = recorded(4, 3, "causal")
    a = recording.pattern(site_of(recording), 1)
    got = pooled(recording, site_of(recording), 1, None, None, size=(2, 2))
    nan = math.nan
    # Rows 0-1 and 2-3; column 0, and columns 1-2, of which row 0 may look at neither and row 1 only at the first.
    mean = [[(1 + a[1, 0]) / 2, a[1, 1]], [(a[2, 0] + a[3, 0]) / 2, a[2:, 1:].mean()]]
    highest = [[1, a[1, 1]], [max(a[2, 0], a[3, 0]), a[2:, 1:].max()]]
    np.testing.assert_allclose(got.mean, mean, rtol=1e-6)
    np.testing.assert_allclose(got.max, highest, rtol=1e-6)
    got = pooled(recording, site_of(recording), 1, (0, 2), (1, 3), size=(2, 2))
    np.testing.assert_allclose(got.max, [[nan, nan], [a[1, 1], nan]], rtol=1e-6)


def test_queries_that_may_look_at_nothing_are_blocked_and_do_not_thin_the_mean():
    recording = recorded(6, 5, "rows")
    site = site_of(recording)
    assert recording.fully_masked(site).tolist() == [False, True] * 3
    by_row = pooled(recording, site, 0, None, None, size=(6, 1))
    assert np.isnan(by_row.mean[:, 0]).tolist() == [False, True] * 3
    np.testing.assert_allclose(by_row.mean[::2, 0], 1 / 5, rtol=1e-6)
    np.testing.assert_allclose(pooled(recording, site, 0, None, None, size=(1, 1)).mean, [[1 / 5]], rtol=1e-6)
    assert [row for row, _, _ in strongest(recording, site, 0, most=6)] == sorted(
        (0, 2, 4), key=lambda row: -recording.pattern(site, 0)[row].max()
    )


def test_the_softmax_is_over_all_keys_whatever_is_in_view():
    recording = recorded(10, 10)
    got = pooled(recording, site_of(recording), 0, None, (3, 5), size=(10, 10))
    np.testing.assert_array_equal(got.max, recording.pattern(site_of(recording), 0)[:, 3:5].numpy())


def test_a_lone_spike_stays_visible(monkeypatch):
    monkeypatch.setattr(pooling, "TILE_CELLS", 7_000)  # seven rows: other tiles come before and after in its bin
    attention = MultiheadAttention(8, num_heads=1, batch_first=True)
    query, key = torch.zeros(1, 1000, 8), torch.zeros(1, 1000, 8)
    query[0, 789, 0] = key[0, 412, 0] = 9.0  # one query fits one key; all other weights are 1/1000
    with torch.inference_mode(), record(attention) as recording:
        attention.in_proj_weight.copy_(torch.eye(8).repeat(3, 1))
        attention(query, key, key, need_weights=False)
    site = site_of(recording)
    got = pooled(recording, site, 0, None, None, size=(60, 60))
    row, column = 789 * 60 // 1000, 412 * 60 // 1000
    assert np.argwhere(got.max > 0.9).tolist() == [[row, column]]
    assert got.mean.max() < 0.01
    first, second = strongest(recording, site, 0)
    assert first == (789, 412, pytest.approx(1.0, abs=1e-3))
    assert second == (0, 0, pytest.approx(1 / 1000))


@given(looks(), st.integers(1, 6))
def test_the_strongest_pairs_are_those_of_the_whole_pattern_one_a_row(look, most):
    recording = recorded(*look["lengths"], look["mask"], look["seed"])
    cells = exact(recording, look["head"], look["sentence"], look["quantity"])
    rows = range(*look["rows"]) if look["rows"] else range(len(cells))
    columns = range(*look["columns"]) if look["columns"] else range(cells.shape[1])
    expected = []
    for row in rows:
        allowed = [column for column in columns if not math.isnan(cells[row, column])]
        if allowed:
            expected.append(max(((row, c, cells[row, c]) for c in allowed), key=lambda pair: pair[2]))
    expected.sort(key=lambda pair: -pair[2])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pooling, "TILE_CELLS", look["tile_cells"])
        got = strongest(recording, site_of(recording), most=most, **asked(look))
    assert [weight for _, _, weight in got] == pytest.approx([pair[2] for pair in expected[:most]], abs=1e-6)
    assert len({row for row, _, _ in got}) == len(got)
    for row, column, weight in got:
        assert row in rows
        assert column in columns
        assert weight == pytest.approx(cells[row, column], abs=1e-6)


def test_of_equal_pairs_the_upper_left_comes_first():
    recording = recorded(5, 4, sharpness=0.0)  # every weight is 1/4
    assert strongest(recording, site_of(recording), 0, most=2) == [(0, 0, 0.25), (1, 0, 0.25)]


def test_another_quantity_is_pooled_the_same_way():
    recording = recorded(12, 9, "padding")
    site = site_of(recording)
    weighted = recording.weighted_norms(site, 1, sentence=1)
    blocked = recording.mask(site, 1, sentence=1) == -math.inf
    expected = pooled_in_one_go(np.where(blocked, np.nan, weighted).astype(float), (4, 3))
    got = pooled(recording, site, 1, None, None, (4, 3), sentence=1, quantity=Recording.weighted_norms)
    np.testing.assert_allclose(got.mean, expected.mean, rtol=1e-5)
    np.testing.assert_allclose(got.max, expected.max, rtol=1e-5)


@pytest.mark.parametrize("head", [1, "mean"])
@pytest.mark.parametrize("work", ["pooled", "strongest"])
def test_no_tile_is_larger_than_it_may_be(head, work, monkeypatch):
    recording = recorded(300, 500)
    monkeypatch.setattr(pooling, "TILE_CELLS", 7_000)
    tiles = []

    def watched(recording, site, head, sentence, rows, columns):
        tiles.append(rows)
        return recording.pattern(site, head, sentence, rows, columns)

    if work == "pooled":
        pooled(recording, site_of(recording), head, (10, 290), (7, 9), (8, 8), quantity=watched)
    else:
        strongest(recording, site_of(recording), head, rows=(10, 290), columns=(7, 9), quantity=watched)
    assert [row for tile in tiles for row in range(300)[tile]] == list(range(10, 290))
    # All 500 keys count although two of them are in view, and every head where the mean is wanted.
    assert {tile.stop - tile.start for tile in tiles} == ({7} if head == "mean" else {14})


def test_whoever_waits_is_told_the_share_and_can_stop(monkeypatch):
    recording = recorded(10, 10)
    site = site_of(recording)
    monkeypatch.setattr(pooling, "TILE_CELLS", 30)  # three rows
    shares: list[float] = []

    def note(share: float) -> bool:
        shares.append(share)
        return True

    pooled(recording, site, 0, (0, 8), None, (4, 4), proceed=note)
    assert shares == [3 / 8, 6 / 8, 1.0]
    shares.clear()
    strongest(recording, site, 0, proceed=note)
    assert shares == [0.3, 0.6, 0.9, 1.0]
    for work in (
        lambda: pooled(recording, site, 0, None, None, (4, 4), proceed=lambda share: bool(note(share)) and share < 0.5),
        lambda: strongest(recording, site, 0, proceed=lambda share: bool(note(share)) and share < 0.5),
    ):
        shares.clear()
        with pytest.raises(Stopped):
            work()
        assert shares == [0.3, 0.6]


@pytest.mark.parametrize(("rows", "columns"), [((2, 2), None), ((-1, 3), None), (None, (0, 7)), ((3, 1), None)])
def test_a_window_beyond_the_pattern_is_refused(rows, columns):
    recording = recorded(5, 6)
    with pytest.raises(IndexError, match=r"(rows|columns) -?\d+ to \d+ are no part of a pattern that has [56]"):
        pooled(recording, site_of(recording), 0, rows, columns, (4, 4))


def test_what_is_not_there_is_refused():
    recording = recorded(5, 6)
    site = site_of(recording)
    with pytest.raises(ValueError, match="at least 1 bin, not 0"):
        pooled(recording, site, 0, None, None, (4, 0))
    with pytest.raises(IndexError, match="head is 2"):
        pooled(recording, site, 2, None, None, (4, 4))
    with pytest.raises(IndexError, match="sentence is 2"):
        strongest(recording, site, 0, sentence=2)
    with pytest.raises(KeyError, match="nowhere"):
        pooled(recording, "nowhere", 0, None, None, (4, 4))


def test_every_kind_of_attention_of_a_model_is_pooled():
    model = small_model()
    with torch.inference_mode(), record(model) as recording:
        model(*padded_batch())
    assert {site.kind for site in recording.sites} == {"encoder", "decoder", "cross"}
    for site in recording.sites:
        for sentence in range(3):
            cells = recording.pattern(site, 0, sentence).numpy().astype(float)
            cells[recording.mask(site, 0, sentence).numpy() == -np.inf] = np.nan
            expected = pooled_in_one_go(cells, (2, 3))
            got = pooled(recording, site, 0, None, None, (2, 3), sentence)
            np.testing.assert_allclose(got.mean, expected.mean, rtol=1e-5)
            np.testing.assert_allclose(got.max, expected.max, rtol=1e-5)
