"""Presets, their combinations, and single cells: against masks written by hand and rules in other words."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from transformer.mask_code import mask_code
from transformer.mask_rules import BLOCKED, PRESETS, Chosen, MaskRule

LENGTHS = st.integers(0, 9)


def picture(rule: MaskRule, queries: int, keys: int) -> list[str]:
    """Rows of the mask, x where it blocks."""
    return [
        "".join("x" if one == BLOCKED else "." for one in row) for row in rule.additive(1, queries, keys)[0].tolist()
    ]


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        (Chosen("causal"), [".xxxx", "..xxx", "...xx", "....x"]),
        (Chosen("window", (1, 0)), [".xxxx", "..xxx", "x..xx", "xx..x"]),
        (Chosen("window", (0, 2)), ["...xx", "x...x", "xx...", "xxx.."]),
        (Chosen("prefix", (3,)), ["...xx", "...xx", "...xx", "....x"]),
        (Chosen("blocks", (2,)), ["..xxx", "..xxx", "xx..x", "xx..x"]),
        (Chosen("strided", (2,)), [".x.x.", "x.x.x", ".x.x.", "x.x.x"]),
        (Chosen("local_global", (0, 1)), [".....", "..xxx", ".x.xx", ".xx.x"]),
    ],
)
def test_presets_block_what_they_say(chosen, expected):
    assert picture(MaskRule(presets=(chosen,)), 4, 5) == expected


def test_alibi_is_the_papers_slopes_times_the_distance():
    mask = MaskRule(presets=(Chosen("alibi", (2,)),)).additive(8, 3, 4)
    for head in range(8):
        for query in range(3):
            for key in range(4):
                assert mask[head, query, key].item() == pytest.approx(-2 * 2.0 ** -(head + 1) * abs(query - key))


def test_a_relative_bias_favours_the_key_at_its_offset():
    mask = MaskRule(presets=(Chosen("relative", (-1, 0.5)),)).additive(2, 3, 3)
    assert mask[1].tolist() == [[-0.5, -1.0, -1.5], [0.0, -0.5, -1.0], [-0.5, 0.0, -0.5]]
    assert torch.equal(mask[0], mask[1])


def test_all_or_any_must_allow():
    both = (Chosen("causal"), Chosen("window", (1, 1)))
    assert picture(MaskRule(presets=both), 3, 3) == [".xx", "..x", "x.."]
    assert picture(MaskRule(presets=both, combined="any"), 3, 3) == ["..x", "...", "..."]


def test_cells_come_last_and_beyond_the_text_are_ignored():
    rule = MaskRule(presets=(Chosen("causal"),), cells=((0, 1, 0.0), (1, 0, BLOCKED), (2, 2, -1.5), (7, 0, BLOCKED)))
    assert rule.additive(1, 3, 3)[0].tolist() == [[0, 0, BLOCKED], [BLOCKED, 0, BLOCKED], [0, 0, -1.5]]


def test_the_own_mask_stays_unless_it_is_left_out():
    own = torch.tensor([[[0.0, BLOCKED], [-2.0, 0.0]]])
    assert torch.equal(MaskRule().additive(1, 2, 2, own), own)
    assert MaskRule(own=False).additive(1, 2, 2, own).eq(0).all()
    added = MaskRule(presets=(Chosen("relative", (0, 1)),)).additive(1, 2, 2, own)
    assert added.tolist() == [[[0.0, BLOCKED], [-3.0, 0.0]]]
    assert MaskRule(cells=((0, 1, 0.0),)).additive(1, 2, 2, own).tolist() == [[[0.0, 0.0], [-2.0, 0.0]]]
    assert torch.equal(own, torch.tensor([[[0.0, BLOCKED], [-2.0, 0.0]]]))


@given(st.sampled_from(sorted(PRESETS)), LENGTHS, LENGTHS, st.integers(1, 5), st.data())
def test_every_preset_makes_a_mask_for_any_lengths(name, queries, keys, heads, data):
    numbers = tuple(data.draw(st.integers(math.ceil(n.least), math.floor(n.most))) for n in PRESETS[name].numbers)
    mask = MaskRule(presets=(Chosen(name, numbers),)).additive(heads, queries, keys)
    assert mask.shape == (heads, queries, keys)
    if PRESETS[name].adds:
        assert mask.isfinite().all()
    else:
        assert ((mask == 0) | (mask == BLOCKED)).all()


@pytest.mark.parametrize(
    ("name", "numbers", "said"),
    [
        ("sliding", (), "no mask called 'sliding'"),
        ("window", (1,), "window has 2 numbers, not 1"),
        ("blocks", (0,), "size of blocks must lie between 1 and 64"),
        ("window", (math.nan, 1), "before of window must lie between 0 and 64"),
    ],
)
def test_what_is_no_preset_is_said(name, numbers, said):
    with pytest.raises(ValueError, match=said):
        Chosen(name, numbers)


RULES = st.builds(
    MaskRule,
    own=st.booleans(),
    presets=st.lists(
        st.sampled_from(sorted(PRESETS)).flatmap(
            lambda name: st.tuples(
                *(st.integers(math.ceil(n.least), math.floor(n.most)) for n in PRESETS[name].numbers)
            ).map(lambda numbers: Chosen(name, numbers))
        ),
        max_size=3,
    ).map(tuple),
    combined=st.sampled_from(["all", "any"]),
    cells=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.sampled_from([BLOCKED, 0.0, -1.5]))).map(tuple),
)


@given(RULES, st.integers(1, 5), st.integers(1, 5))
def test_the_code_of_a_rule_makes_its_mask(rule, queries, keys):
    given_mask = torch.randn(3, queries, keys).clamp(max=0.5)
    scope: dict[str, object] = {"given": given_mask}
    exec(mask_code(rule, 3, queries, keys), scope)
    torch.testing.assert_close(scope["mask"], rule.additive(3, queries, keys, given_mask))


def test_a_rule_is_a_value():
    one = MaskRule(presets=(Chosen("window", (1, 1)),), cells=((0, 0, BLOCKED),))
    assert one == MaskRule(presets=(Chosen("window", (1, 1)),), cells=((0, 0, BLOCKED),))
    assert len({one, MaskRule(), MaskRule(own=False)}) == 3
