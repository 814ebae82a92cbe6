"""Masks: the small functions that make them, and the merging of all masks of one call."""

import math
import re

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from parity import MASK_KINDS, seeds, some_mask
from torch import Tensor, nn

from transformer.masks import AttentionMasks, causal_mask, check_mask, generate_square_subsequent_mask, padding_mask

FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]


def test_causal_mask_blocks_what_comes_after() -> None:
    assert causal_mask(3, 4).tolist() == [
        [False, True, True, True],
        [False, False, True, True],
        [False, False, False, True],
    ]
    assert torch.equal(causal_mask(torch.tensor([2, 0]), 4), causal_mask(3, 4)[[2, 0]])
    assert causal_mask(2, 3, device="meta").device.type == "meta"


def test_padding_mask_blocks_the_padding_and_is_none_without_any() -> None:
    ids = torch.tensor([[5, 1, 1], [1, 6, 7]])
    assert padding_mask(ids, pad_id=1).tolist() == [[False, True, True], [True, False, False]]
    assert padding_mask(ids, pad_id=0) is None


@pytest.mark.parametrize("dtype", FLOATS)
def test_square_subsequent_mask_is_the_causal_mask_as_numbers(dtype: torch.dtype) -> None:
    mask = generate_square_subsequent_mask(4, dtype=dtype)
    assert mask.dtype == dtype
    assert torch.equal(mask, nn.Transformer.generate_square_subsequent_mask(4, dtype=dtype))
    assert torch.equal(mask == -math.inf, causal_mask(4, 4))
    assert (mask[~causal_mask(4, 4)] == 0).all()


def test_check_mask_names_the_argument_the_shape_and_the_shapes_wanted() -> None:
    wanted = {"(L, S)": (2, 3), "(N*H, L, S)": (4, 2, 3)}
    for shape in wanted.values():
        check_mask("attn_mask", torch.zeros(shape), wanted)
        check_mask("attn_mask", torch.zeros(shape, dtype=torch.bool), wanted)
    message = "src_mask has shape (3, 2); wanted (L, S) = (2, 3) or (N*H, L, S) = (4, 2, 3)."
    with pytest.raises(ValueError, match=re.escape(message)):
        check_mask("src_mask", torch.zeros(3, 2), wanted)
    with pytest.raises(TypeError, match=r"src_mask has dtype torch\.uint8; wanted bool \(True = may not"):
        check_mask("src_mask", torch.zeros(2, 3, dtype=torch.uint8), wanted)


def merged(masks: AttentionMasks, num_heads: int, rows: int, columns: int, dtype=torch.float32) -> Tensor | None:
    return masks.additive(num_heads, rows, columns, dtype, None)


def test_merging_worked_by_hand() -> None:
    assert merged(AttentionMasks(), 1, 2, 3) is None
    assert merged(AttentionMasks(appended=2), 1, 2, 3) is None

    attn_mask = torch.tensor([[0.5, 1.0, -math.inf], [0.0, 0.0, 2.0]])
    padding = torch.tensor([[False, True, False], [False, False, False]])
    both = merged(AttentionMasks(attn_mask, padding, is_causal=True, appended=1), 1, 2, 3)
    low = -math.inf
    assert both.tolist() == [
        [[[0.5, low, low, 0.0], [0.0, low, low, 0.0]]],
        [[[0.5, low, low, 0.0], [0.0, 0.0, low, 0.0]]],
    ]


def test_heads_of_one_sentence_stand_side_by_side_in_a_mask_for_each() -> None:
    """(N*H, L, S) is repeat_interleave's order; repeat's would give sentences each other's masks, silently."""
    of_sentence = torch.tensor([[[0.0, 1.0]], [[2.0, 3.0]]])  # (N, L, S)
    mask = merged(AttentionMasks(of_sentence.repeat_interleave(3, dim=0)), 3, 1, 2)
    assert torch.equal(mask, of_sentence[:, None].expand(2, 3, 1, 2))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("given_dtype", [torch.bool, *FLOATS])
def test_the_merged_mask_is_in_the_querys_dtype(given_dtype: torch.dtype, dtype: torch.dtype) -> None:
    attn_mask, padding = torch.zeros(2, 3, dtype=given_dtype), torch.zeros(1, 3, dtype=given_dtype)
    for masks in (AttentionMasks(attn_mask), AttentionMasks(None, padding), AttentionMasks(attn_mask, padding)):
        assert merged(masks, 1, 2, 3, dtype).dtype == dtype
    assert merged(AttentionMasks(is_causal=True), 1, 2, 3, dtype).dtype == dtype


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("given_dtype", FLOATS)
def test_finite_numbers_stay_finite_and_infinite_ones_block(given_dtype: torch.dtype, dtype: torch.dtype) -> None:
    limits = torch.finfo(given_dtype)
    mask = torch.tensor([[limits.min, limits.max, -math.inf, 0.5]], dtype=given_dtype)
    alone, doubled = (merged(AttentionMasks(mask, padding), 1, 1, 4, dtype).flatten() for padding in (None, mask))
    for result in (alone, doubled):
        assert result.isfinite().tolist() == [True, True, False, True]
        assert result[2] == -math.inf
        assert result[0] <= max(limits.min, torch.finfo(dtype).min)
    assert (alone[3], doubled[3]) == (0.5, 1.0)


@st.composite
def mask_sets(draw: st.DrawFn) -> tuple[AttentionMasks, int, int, int, int]:
    batch, heads, rows, columns = (draw(st.integers(1, 4)) for _ in range(4))
    seed = draw(seeds)
    square = (batch * heads, rows, columns) if draw(st.booleans()) else (rows, columns)
    masks = AttentionMasks(
        some_mask(draw(st.sampled_from(MASK_KINDS)), *square, seed=seed),
        some_mask(draw(st.sampled_from(MASK_KINDS)), batch, columns, seed=seed + 1),
        draw(st.booleans()),
        draw(st.integers(0, 2)),
    )
    masks.check(batch, heads, rows, columns)
    return masks, batch, heads, rows, columns


def filled(mask: Tensor | None, *shape: int) -> Tensor:
    return torch.zeros(shape) if mask is None else mask.expand(shape)


@given(drawn=mask_sets())
def test_merging_is_adding_each_mask_by_itself(drawn: tuple) -> None:
    masks, batch, heads, rows, columns = drawn

    def numbers(mask: Tensor) -> Tensor:
        return torch.zeros(mask.shape).masked_fill(mask, -math.inf) if mask.dtype == torch.bool else mask

    wanted = torch.zeros(batch, heads, rows, columns)
    if masks.attn_mask is not None:
        wanted = wanted + numbers(masks.attn_mask).expand(batch * heads, rows, columns).reshape(wanted.shape)
    if masks.key_padding_mask is not None:
        wanted = wanted + numbers(masks.key_padding_mask)[:, None, None, :]
    if masks.is_causal:
        wanted = wanted + numbers(causal_mask(rows, columns))
    whole = filled(merged(masks, heads, rows, columns), batch, heads, rows, columns + masks.appended)
    torch.testing.assert_close(whole[..., :columns], wanted)
    assert (whole[..., columns:] == 0).all()


@given(drawn=mask_sets(), data=st.data())
def test_some_rows_are_the_rows_of_the_whole(drawn: tuple, data: st.DataObject) -> None:
    masks, batch, heads, rows, columns = drawn
    picked = torch.tensor(data.draw(st.lists(st.integers(0, rows - 1), min_size=1, max_size=5)))
    whole = merged(masks, heads, rows, columns)
    part = masks.additive(heads, picked, columns, torch.float32, None)
    assert (whole is None) == (part is None)
    if whole is not None:
        width = columns + masks.appended
        assert torch.equal(
            filled(part, batch, heads, len(picked), width), filled(whole, batch, heads, rows, width)[:, :, picked]
        )


@given(drawn=mask_sets(), data=st.data())
def test_the_masks_of_a_sentence_and_of_a_head_are_slices_of_the_whole(drawn: tuple, data: st.DataObject) -> None:
    masks, batch, heads, rows, columns = drawn
    sentence, head = data.draw(st.integers(0, batch - 1)), data.draw(st.integers(0, heads - 1))
    width = columns + masks.appended
    whole = filled(merged(masks, heads, rows, columns), batch, heads, rows, width)
    of_sentence, of_head = masks.of_sentence(sentence, heads), masks.of_sentence(sentence, heads, head)
    of_sentence.check(1, heads, rows, columns)
    of_head.check(1, 1, rows, columns)
    assert torch.equal(
        filled(merged(of_sentence, heads, rows, columns), 1, heads, rows, width), whole[sentence : sentence + 1]
    )
    assert torch.equal(filled(merged(of_head, 1, rows, columns), 1, 1, rows, width)[0, 0], whole[sentence, head])


@given(drawn=mask_sets())
def test_merging_changes_no_mask(drawn: tuple) -> None:
    masks, _, heads, rows, columns = drawn
    given_masks = [mask for mask in (masks.attn_mask, masks.key_padding_mask) if mask is not None]
    before = [mask.clone() for mask in given_masks]
    result = merged(masks, heads, rows, columns)
    assert all(map(torch.equal, given_masks, before))
    assert result is None or result.shape[-1] == columns + masks.appended
