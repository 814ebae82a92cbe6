"""The mask lab, as a person works in it: every mask and number beside what the model itself gives."""

import io
import json
import re

import numpy as np
import pytest
import torch
from masks_lab import MASKS, Lab, click, drag, grid, masked, open_masks, place, shown, until, until_mask
from playwright.sync_api import Page, expect

from transformer.interventions import EditMask, edited
from transformer.mask_rules import BLOCKED, Chosen, MaskRule
from transformer.parting import parting
from transformer.probes import leaks, padding_moves

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def lab() -> Lab:
    return Lab()


def cells(*several) -> MaskRule:
    """A rule of single cells: row, column, value."""
    return MaskRule(cells=tuple(several))


def cut(*pairs, layer=1, heads=(0,), renormalise=True, kind="cross") -> EditMask:
    return EditMask(kind, layer, heads, cells(*((*pair, BLOCKED) for pair in pairs)), renormalise)


def press(page: Page, name: str) -> None:
    page.locator(MASKS).get_by_role("button", name=name, exact=True).click()


def choose(page: Page, name: str) -> None:
    page.locator(f"{MASKS} .choice label", has_text=re.compile(f"^{name}$")).first.click()


def view(page: Page, name: str, state: str) -> None:
    choose(page, name)
    until(page, f"e.shown.state.show === '{state}'")


def sentence(page: Page) -> str:
    return page.locator(f"{MASKS} > .sentence").text_content()


def slide(page: Page, label: str, at: int) -> None:
    page.locator(MASKS).get_by_role("slider", name=label, exact=True).fill(str(at))


def test_cells_are_painted_by_clicks_and_strokes_and_all_of_it_is_undone(page, address, lab):
    open_masks(page, masked(address))
    own = lab.mask()
    until_mask(page, own)
    assert "Click a cell" in sentence(page)

    click(page, 1, 2)
    one = lab.mask(cut((1, 2)))
    until_mask(page, one)
    assert shown(page, "e.shown.state.pair") == [1, 2]
    click(page, 1, 2)  # and back: nothing is left of it
    until_mask(page, own)
    assert shown(page, "e.shown.state.edits") == []

    drag(page, (2, 1), (2, 4), (3, 4), (3, -2))  # beyond the edge of the cells it touches nothing
    stroke = [(2, 1), (2, 2), (2, 3), (2, 4), (3, 4), (3, 3), (3, 2), (3, 1), (3, 0)]
    painted = lab.mask(cut(*stroke))
    until_mask(page, painted)
    drag(page, (2, 2), (2, 3))  # begins on a blocked cell: unblocks
    fewer = lab.mask(cut(*(one for one in stroke if one not in [(2, 2), (2, 3)])))
    until_mask(page, fewer)

    press(page, "Undo")
    until_mask(page, painted)
    page.keyboard.press("Control+z")
    until_mask(page, own)
    press(page, "Redo")
    until_mask(page, painted)
    page.keyboard.press("Control+Shift+z")
    until_mask(page, fewer)
    expect(page.locator(MASKS).get_by_role("button", name="Redo")).to_be_disabled()
    press(page, "Remove all edits")
    until_mask(page, own)
    press(page, "Undo")
    until_mask(page, fewer)
    press(page, "Remove all edits")

    click(page, 3, None)
    row = [(3, column) for column in range(own.shape[1])]
    until_mask(page, lab.mask(cut(*row)))
    assert "Rows that may look at nothing: 1." in sentence(page)
    click(page, 3, None)
    until_mask(page, own)
    click(page, None, 4)
    until_mask(page, lab.mask(cut(*((row, 4) for row in range(own.shape[0])))))
    if shown(page, "e.shown.editor.slanted"):  # a label leans away from its column
        x, y = place(page, None, 4)
        page.mouse.click(x + 28, y - 28)
        until_mask(page, own)
        page.mouse.click(x + 28, y - 28)
    drag(page, (None, 4), (None, 5), (2, 5))  # over tokens it goes from column to column
    until_mask(page, own)

    choose(page, "adds a number")
    slide(page, "Added to the score", -35)
    drag(page, (0, 0), (0, 2))
    click(page, 4, 4)
    lowered = cells(*((*place, -3.5) for place in [(0, 0), (0, 1), (0, 2), (4, 4)]))
    until_mask(page, lab.mask(EditMask("cross", 1, (0,), lowered)))
    page.mouse.move(*place(page, 4, 4))
    expect(page.locator(f"{MASKS} .tip").first).to_contain_text("added to the score−3.50")


def test_a_blocked_future_opens_by_a_click_and_a_row_comes_back_as_it_was(page, address, lab):
    open_masks(page, masked(address, kind="decoder", layer=1, head=2, mask_view="leaks"))
    site = {"site": ("decoder", 0), "head": 1}
    own = lab.mask(**site)
    until_mask(page, own)
    assert "No output depends on a later token" in sentence(page)
    assert shown(page, "e.shown.picture.leaking") == []

    click(page, 1, 4)
    seeing = EditMask("decoder", 0, (1,), cells((1, 4, 0.0)))
    until_mask(page, lab.mask(seeing, **site))
    ids = lab.read[0, : len(lab.targets[0])]
    source = torch.tensor([lab.alone[0]])
    probed = leaks(lambda several: edited(lab.model, [seeing])(source.expand(len(several), -1), several), ids, ids + 1)
    got = np.array(shown(page, "[...e.shown.leaks.cells]")).reshape(probed.shape)
    np.testing.assert_allclose(got, probed, atol=1e-4)
    leaking = [[int(row), int(column)] for row, column in probed.triu(1).gt(1e-4).nonzero()]
    assert [1, 4] in leaking
    assert shown(page, "e.shown.picture.leaking") == leaking
    assert f"change by up to {float(f'{float(probed.triu(1).max()):.2g}'):g}" in sentence(page)

    view(page, "check", "check")
    found = page.locator(f"{MASKS} .finding")
    expect(found).to_have_count(1)
    expect(found).to_contain_text("Rows that see tokens which come later (1)")
    repair = found.locator("pre").text_content()
    scope = {"torch": torch, "attn_mask": torch.from_numpy(lab.mask(seeing, **site))}
    exec(repair, scope)
    np.testing.assert_array_equal(scope["attn_mask"].numpy(), own)

    click(page, 2, None)  # the whole row, and back to what was given: the future stays closed
    until(page, "e.shown.numbers.empty.length === 1")
    expect(found.last).to_contain_text("Rows that may look at nothing (1)")
    click(page, 2, None)
    until_mask(page, lab.mask(seeing, **site))
    press(page, "Undo")
    press(page, "Undo")
    click(page, 1, 4)
    until_mask(page, own)
    expect(page.locator(f"{MASKS} .findings")).to_have_text("Nothing suspicious about this mask.")


def test_before_after_difference_layers_and_output_are_the_edited_models(page, address, lab):
    open_masks(page, masked(address))
    pairs = [(0, 1), (0, 2), (3, 4), (3, 5)]
    for scope, edit in [("this head", cut(*pairs)), ("all layers", cut(*pairs, layer=None, heads=None))]:
        choose(page, scope)
        for pair in pairs:
            click(page, *pair)
        until_mask(page, lab.mask(edit))
        before, after = lab.pattern(), lab.pattern(edit)
        np.testing.assert_allclose(grid(page, "e.shown.numbers.before"), before, atol=1e-5)
        blocked = np.isneginf(lab.mask(edit))
        np.testing.assert_allclose(grid(page, "e.shown.numbers.after"), np.where(blocked, np.nan, after), atol=1e-5)
        np.testing.assert_allclose(np.nansum(grid(page, "e.shown.numbers.after"), axis=1), 1, atol=1e-5)
        assert "sums to 1" in sentence(page)
        shown_as = {"before": before, "difference": after - before, "after": np.where(blocked, np.nan, after)}
        for name, values in shown_as.items():
            choose(page, name)
            until(page, "e.shown.state.compared === argument", name)
            np.testing.assert_allclose(grid(page, "e.shown.picture.cells"), values, atol=1e-5)
        page.mouse.move(*place(page, 1, 0, "picture"))
        expect(page.locator(f"{MASKS} .tip").last).to_contain_text(f"before{before[1, 0]:.4f}after{after[1, 0]:.4f}")

        view(page, "layers", "layers")
        until(page, "e.shown.layers")
        parted = [one for one in parting(lab.run()[0], lab.run(edit)[0]) if ".layers." in one.path]
        got = shown(page, "e.shown.layers.streams.flatMap((one) => [...one.distance])")
        np.testing.assert_allclose(got, torch.cat([one.distance for one in parted]), atol=1e-4)
        assert f"full colour: {float(f'{max(got):.2g}'):g}" in sentence(page)

        view(page, "output", "words")
        until(page, "e.shown.written")
        np.testing.assert_allclose(shown(page, "[...e.shown.chances.before]"), lab.chances(), atol=1e-5)
        np.testing.assert_allclose(shown(page, "[...e.shown.chances.after]"), lab.chances(edit), atol=1e-5)
        texts = [lab.asked.target_tokenizer.text(lab.translated(lab.alone[0], *some)) for some in ((), (edit,))]
        assert shown(page, "[e.shown.written.before.text, e.shown.written.after.text]") == texts
        written = shown(page, "e.shown.picture.items.filter((one) => one.type === 'text').map((one) => one.text)")
        assert [text for text in texts if text in written] == texts
        assert ("something else" in sentence(page)) == (texts[0] != texts[1])
        view(page, "pattern", "effect")
        press(page, "Remove all edits")
        until_mask(page, lab.mask())


def test_the_page_stays_usable_while_the_model_writes(page, address, lab):
    held, holding = [], [True]
    page.route("**/written?**", lambda route: held.append(route) if holding[0] else route.continue_())
    open_masks(page, masked(address, mask_view="words"))
    until(page, "e.shown.chances && e.shown.written === null")
    click(page, 0, 1)
    until_mask(page, lab.mask(cut((0, 1))))
    np.testing.assert_allclose(shown(page, "[...e.shown.chances.after]"), lab.chances(cut((0, 1))), atol=1e-5)
    assert "The model is writing" in sentence(page)
    assert len(held) == 1  # one question on its way, whatever was edited meanwhile
    holding[0] = False
    held[0].continue_()
    until(page, "e.shown.written && e.shown.state.edits.length === 1")
    text = lab.asked.target_tokenizer.text(lab.translated(lab.alone[0], cut((0, 1))))
    assert shown(page, "e.shown.written.after.text") == text


def test_edits_are_of_a_head_a_layer_or_all_and_narrower_ones_have_the_last_word(page, address, lab):
    open_masks(page, masked(address))
    press_cut = page.locator(f"{MASKS} .cut button")
    expect(press_cut.first).to_be_disabled()
    choose(page, "all heads of the layer")
    click(page, 1, 1)
    layer = cut((1, 1), heads=None)
    until_mask(page, lab.mask(layer))
    slide(page, "Head (of 4)", 4)
    until(page, "e.shown.state.head === 3")
    until_mask(page, lab.mask(layer, head=3))
    choose(page, "this head")
    click(page, 1, 1)  # opens it in this head alone
    opened = EditMask("cross", 1, (3,), cells((1, 1, 0.0)))
    until_mask(page, lab.mask(layer, opened, head=3))
    slide(page, "Layer (of 3)", 3)
    until(page, "e.shown.state.layer === 2")
    until_mask(page, lab.mask(layer, opened, site=("cross", 2), head=3))
    choose(page, "all layers")
    click(page, 2, 3)
    everywhere = cut((2, 3), layer=None, heads=None)
    until_mask(page, lab.mask(everywhere, layer, opened, site=("cross", 2), head=3))
    slide(page, "Layer (of 3)", 2)
    until(page, "e.shown.state.layer === 1")
    until_mask(page, lab.mask(everywhere, layer, opened, head=3))
    click(page, 1, 1)  # of all layers: takes the cell from narrower edits
    click(page, 1, 1)
    slide(page, "Head (of 4)", 1)
    until(page, "e.shown.state.head === 0")
    until_mask(page, lab.mask(everywhere))
    assert len(shown(page, "e.shown.state.edits")) == 1

    press(page, "Remove all edits")
    click(page, 0, 2, "picture")
    until(page, "e.shown.state.pair")
    assert shown(page, "[e.shown.state.pair, e.shown.state.edits]") == [[0, 2], []]
    press_cut.first.click()
    until_mask(page, lab.mask(cut((0, 2))))
    press_cut.last.click()
    until_mask(page, lab.mask(cut((0, 2), layer=None, heads=None)))
    slide(page, "Layer (of 3)", 1)
    until(page, "e.shown.state.layer === 0")
    until_mask(page, lab.mask(cut((0, 2), layer=None, heads=None), site=("cross", 0)))


def test_what_is_zeroed_is_struck_out_and_nothing_makes_up_for_it(page, address, lab):
    open_masks(page, masked(address))
    page.locator(f"{MASKS} summary", has_text="Rules").click()
    page.get_by_text("share a blocked weight among the rest").click()
    page.keyboard.press("Escape")
    drag(page, (0, 1), (0, 3))
    zeroed = cut((0, 1), (0, 2), (0, 3), renormalise=False)
    until(page, "[...e.shown.numbers.taken].filter(Boolean).length === 3")
    until_mask(page, lab.mask())
    after = grid(page, "e.shown.numbers.after")
    np.testing.assert_allclose(after, lab.pattern(zeroed), atol=1e-5)
    assert after[0].sum() == pytest.approx(1 - lab.pattern()[0, 1:4].sum(), abs=1e-5)
    assert after[0].sum() < 0.999
    np.testing.assert_allclose(after[1:].sum(axis=1), 1, atol=1e-5)
    assert "sum to less than 1" in sentence(page)
    struck = shown(page, "e.shown.editor.items.filter((one) => one.type === 'line' && one.lineWidth === 1.5).length")
    assert struck == 3
    page.mouse.move(*place(page, 0, 2))
    expect(page.locator(f"{MASKS} .tip").first).to_contain_text("weight set to zero")
    click(page, 0, 2)  # a struck cell is blocked: a click gives it back
    until(page, "[...e.shown.numbers.taken].filter(Boolean).length === 2")
    np.testing.assert_allclose(
        grid(page, "e.shown.numbers.after"), lab.pattern(cut((0, 1), (0, 3), renormalise=False)), atol=1e-5
    )


def test_presets_slide_and_are_combined(page, address, lab):
    open_masks(page, masked(address, kind="encoder"))
    site = {"site": ("encoder", 1)}
    own = lab.mask(**site)
    until_mask(page, own)

    def of(*presets, **more):
        return lab.mask(EditMask("encoder", 1, (0,), MaskRule(presets=presets, **more)), **site)

    page.locator(f"{MASKS} summary", has_text="Rules").click()
    press(page, "window")
    until_mask(page, of(Chosen("window", (2, 2))))
    press(page, "blocks")
    page.keyboard.press("Escape")
    until_mask(page, of(Chosen("window", (2, 2)), Chosen("blocks", (4,))))
    before = page.locator(MASKS).get_by_role("slider", name="before", exact=True)
    assert int(before.get_attribute("max")) == max(own.shape)  # and not the 64 of a long text
    for at in (1, 0):
        slide(page, "before", at)
    slide(page, "size", 3)
    until_mask(page, of(Chosen("window", (0, 2)), Chosen("blocks", (3,))))
    choose(page, "any mask allows it")
    any_of_them = of(Chosen("window", (0, 2)), Chosen("blocks", (3,)), combined="any")
    until_mask(page, any_of_them)
    assert not np.array_equal(any_of_them, of(Chosen("window", (0, 2)), Chosen("blocks", (3,))))
    press(page, "Undo")
    press(page, "Undo")
    until_mask(page, of(Chosen("window", (0, 2)), Chosen("blocks", (4,))))
    press(page, "Undo")  # one slide, one step back
    until_mask(page, of(Chosen("window", (2, 2)), Chosen("blocks", (4,))))
    page.locator(MASKS).get_by_role("button", name="Remove", exact=True).first.click()
    until_mask(page, of(Chosen("blocks", (4,))))

    page.locator(f"{MASKS} summary", has_text="Rules").click()
    press(page, "ALiBi")
    page.get_by_text("begin with the model's own mask").click()
    slide(page, "× slope", 25)
    until_mask(page, of(Chosen("blocks", (4,)), Chosen("alibi", (2.5,)), own=False))
    for _ in range(4):
        press(page, "causal")
    expect(page.locator(MASKS).get_by_role("button", name="causal", exact=True)).to_be_disabled()
    press(page, "Remove all edits")
    until_mask(page, own)
    expect(page.locator(f"{MASKS} .preset")).to_have_count(0)


def test_padding_is_real_and_every_mask_is_drawn_as_itself(page, address, lab):
    open_masks(page, masked(address, mask_view="masks"))
    lengths = [len(one) for one in lab.alone]
    assert len(set(lengths)) > 1
    for at, length in enumerate(lengths):
        slide(page, "Sentence (of 3)", at + 1)
        until(page, "e.shown.state.text === argument", at)
        until_mask(page, lab.mask(sentence=at))
        mask = grid(page, "e.shown.numbers.mask")
        assert np.isneginf(mask[:, length:]).all()
        assert (mask[:, :length] == 0).all()
        labels = shown(page, "e.shown.numbers.keys")
        assert labels[length:] == ["<pad>"] * (max(lengths) - length)
        np.testing.assert_allclose(
            np.nan_to_num(grid(page, "e.shown.numbers.before")), lab.pattern(sentence=at), atol=1e-5
        )
    blocked = "[...one.cells].map((value) => value === -Infinity)"
    got = shown(page, f"e.shown.picture.pictures.map((one) => [one.name, one.grid, {blocked}])")
    of_padding = ["src_key_padding_mask", "tgt_key_padding_mask", "memory_key_padding_mask"]
    assert [name for name, *_ in got] == [*of_padding, "tgt_is_causal", *["merged"] * 3]
    arrays = [np.array(flat).reshape(size) for _, size, flat in got]
    np.testing.assert_array_equal(arrays[0], lab.source == 0)
    np.testing.assert_array_equal(arrays[1], lab.read == 0)
    np.testing.assert_array_equal(arrays[2], lab.source == 0)
    np.testing.assert_array_equal(arrays[3], torch.ones(len(lab.read[0]), len(lab.read[0])).triu(1))
    for at in range(3):
        np.testing.assert_array_equal(arrays[4 + at], np.isneginf(lab.mask(sentence=at)))

    view(page, "padding test", "padding")
    until(page, "e.shown.padding")
    assert "Padding moves nothing" in sentence(page)
    choose(page, "all layers")
    page.locator(f"{MASKS} summary", has_text="Rules").click()
    page.get_by_text("begin with the model's own mask").click()
    page.keyboard.press("Escape")
    bare = EditMask("cross", None, None, MaskRule(own=False))
    until_mask(page, lab.mask(bare, sentence=2))
    until(page, "e.shown.padding.most > 0.01")
    model, source, target = edited(lab.model, [bare]), torch.tensor(lab.alone[2]), lab.read[2, : len(lab.targets[2])]
    moved = padding_moves(lambda several: model(several, target.expand(len(several), -1)), source, 0)
    assert shown(page, "e.shown.padding.streams[0].stream") == "source"
    np.testing.assert_allclose(
        np.array(shown(page, "[...e.shown.padding.streams[0].cells]")).reshape(moved.shape), moved, atol=1e-3
    )
    assert "Padding moves the outputs" in sentence(page)


def test_a_mask_comes_in_by_paste_and_by_file_and_goes_out(page, address, lab, tmp_path):
    open_masks(page, masked(address))
    rows, columns = lab.mask().shape
    files = page.locator(f"{MASKS} .panel", has=page.locator("textarea"))
    answer = files.locator(".answer")

    def paste(text: str) -> None:
        files.locator("textarea").fill(text)
        press(page, "Read what is pasted")

    files.locator("summary").click()
    paste("\n".join([",".join(["False"] * rows)] * columns))
    expect(answer).to_contain_text(f"The mask has {columns} × {rows} cells; this attention wants {rows} × {columns}.")
    expect(answer).to_contain_text("transposed")
    expect(answer.locator("pre")).to_have_text("attn_mask = attn_mask.T")
    expect(answer.get_by_role("button")).to_have_count(0)
    paste("0,1\n1")
    expect(answer).to_have_text("The rows have different lengths: 2 cells in the first, others elsewhere.")
    paste("0，1 <b>x</b>")
    expect(answer).to_have_text("The mask holds something that is no number: '0，1'.")
    ones = torch.ones(rows, columns).triu(1)
    paste("\n".join(",".join(str(int(one)) for one in row) for row in ones.tolist()))
    expect(answer).to_contain_text("A float mask of 0 and 1: the ones are added to the scores, they block nothing.")
    expect(answer.locator("pre")).to_have_text("attn_mask = attn_mask.bool()")
    paste(repr(ones.bool()))
    expect(answer).to_contain_text(f"Read a mask of {rows} × {columns} cells, torch.bool.")
    expect(answer).to_contain_text("Nothing suspicious about this mask.")
    answer.get_by_role("button", name="Use this mask").click()
    used = torch.zeros(rows, columns).masked_fill(ones.bool(), -torch.inf).numpy()
    until_mask(page, used)

    numbers = np.random.default_rng(3).choice([0, -np.inf, 0.1, -2.75], (rows, columns)).astype(np.float32)
    np.save(tmp_path / "mine.npy", numbers)
    files.locator("input[type=file]").set_input_files(tmp_path / "mine.npy")
    expect(answer).to_contain_text("torch.float32")
    answer.get_by_role("button", name="Use this mask").click()
    until_mask(page, numbers)
    for form in ("NPY", "CSV"):
        with page.expect_download() as coming:
            press(page, form)
        assert coming.value.suggested_filename == f"mask.{form.lower()}"
        content = coming.value.path().read_bytes()
        if form == "NPY":
            back = np.load(io.BytesIO(content), allow_pickle=False)
        else:
            back = np.loadtxt(io.BytesIO(content), delimiter=",", dtype=np.float32)
        np.testing.assert_array_equal(back, numbers)
    heads = {"torch": torch, "given": torch.from_numpy(lab.mask()).expand(4, -1, -1)}
    exec(files.locator("pre").last.text_content(), heads)
    np.testing.assert_array_equal(heads["mask"].numpy(), numbers)
    (tmp_path / "large.csv").write_text("0," * 130_000)
    files.locator("input[type=file]").set_input_files(tmp_path / "large.csv")
    expect(answer).to_have_text("The file is too large; a mask may have 250,000 bytes.")
    paste(repr(ones.bool()))
    expect(answer.get_by_role("button")).to_have_count(1)
    page.keyboard.press("Escape")
    choose(page, "encoder")  # whose mask has another shape: the answer was not about it
    until(page, "e.shown.state.kind === 'encoder'")
    files.locator("summary").click()
    expect(answer).to_be_empty()


def test_a_reload_keeps_all_and_edits_of_another_checkpoint_do_no_harm(page, address, lab):
    open_masks(page, masked(address, mask_view="check", scope="all"))
    drag(page, (0, 1), (0, 3))
    everywhere = cut((0, 1), (0, 2), (0, 3), layer=None, heads=None)
    until_mask(page, lab.mask(everywhere))
    slide(page, "Sentence (of 3)", 2)
    until(page, "e.shown.state.text === 1")
    page.wait_for_url(re.compile("edits=.*of_batch=2|of_batch=2.*edits="))
    state = shown(page, "e.shown.state")
    page.reload()
    until(page, "e.shown.numbers")
    until_mask(page, lab.mask(everywhere, sentence=1))
    assert shown(page, "e.shown.state") == state

    far = {"kind": "cross", "layer": 9, "runs": [[0, 0, 0, None]]}
    wide = {"kind": "cross", "runs": [[0, 3, 3, 1.5]]}
    near = {"kind": "cross", "layer": 1, "head": 0, "presets": [["window", 1, 1]], "runs": [[1, 1, 1, None]]}
    open_masks(page, masked(address, edits=json.dumps([far, wide, near])))
    narrow = MaskRule(presets=(Chosen("window", (1, 1)),), cells=((1, 1, BLOCKED),))
    until_mask(page, lab.mask(EditMask("cross", rule=cells((0, 3, 1.5))), EditMask("cross", 1, (0,), narrow)))
    expect(page.locator(f"{MASKS} > .sentence")).to_contain_text("sums to 1")


@pytest.mark.parametrize(
    ("language", "scheme", "views"),
    [
        ("en", "light", ["pattern", "output", "layers", "all masks", "leak test", "padding test", "check"]),
        ("zh", "dark", ["模式", "输出", "各层", "所有掩码", "泄漏测试", "填充测试", "检查"]),
    ],
)
def test_every_view_in_both_languages_on_one_screen(page, address, language, scheme, views):
    page.emulate_media(color_scheme=scheme)
    edit = {"presets": [["window", 2, 2], ["alibi", 1]], "runs": [[0, 1, 2, None]]}
    edits = json.dumps([{"kind": "cross", "layer": 1, "head": 0, **edit}])
    open_masks(page, masked(address, language=language, edits=edits))
    names = ["effect", "words", "layers", "masks", "leaks", "padding", "check"]
    for name, state in zip(views, names, strict=True):
        view(page, name, state)
        items = "[...(e.shown.picture?.items ?? []), ...e.shown.editor.items].filter((one) => one.type === 'text')"
        said = shown(page, f"{items}.map((one) => one.text)")
        assert not re.search("undefined|NaN|null|masks\\.", " ".join([*said, sentence(page)]))
        assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight - window.innerHeight") <= 0


def test_a_decoder_alone_goes_on_with_its_text(page, address):
    text = {"checkpoint": "alone", "source": "abcXabcX", "others": "abc"}
    open_masks(page, masked(address, **text, kind="decoder", layer=1, mask_view="words"))
    until(page, "e.shown.written")
    written = shown(page, "e.shown.picture.items.filter((one) => one.type === 'text').map((one) => one.text)")
    assert written[0] == "How the model goes on, before"
    assert written[2] == "and after the edit"
    assert shown(page, "e.shown.written.before.text === e.shown.written.after.text")
    view(page, "padding test", "padding")
    until(page, "e.shown.padding")
    assert shown(page, "e.shown.padding.streams.map((one) => one.stream)") == ["text"]
    click(page, 3, 1)
    until(page, "e.shown.numbers.mask[3 * e.shown.numbers.keys.length + 1] === -Infinity")
    for name, state in [("layers", "layers"), ("all masks", "masks"), ("leak test", "leaks"), ("output", "words")]:
        view(page, name, state)
        until(page, "e.shown.state.edits.length === 1")
    expect(page.locator(f"{MASKS} .choice", has_text="decoder").first).to_be_visible()
