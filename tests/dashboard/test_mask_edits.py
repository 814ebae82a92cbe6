"""Edits as JSON: both ways, nonsense, limits."""

import json
import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.linked import Link
from dashboard.mask_edits import (
    LARGEST,
    LONGEST,
    MOST_CELLS,
    MOST_EDITS,
    MOST_PRESETS,
    Edit,
    as_json,
    edits,
    read_edits,
    runs_of,
    taken_edits,
)
from dashboard.masks import LINK, MaskLab
from transformer.interventions import EditMask
from transformer.mask_rules import BLOCKED, PRESETS, Chosen, MaskRule

VALUES = st.one_of(st.just(BLOCKED), st.floats(-LARGEST, LARGEST))
CELLS = st.dictionaries(st.tuples(st.integers(0, 9), st.integers(0, 9)), VALUES, max_size=20).map(
    lambda cells: tuple((*place, value) for place, value in sorted(cells.items()))
)
PRESET = st.sampled_from(sorted(PRESETS)).flatmap(
    lambda name: st.tuples(*(st.floats(number.least, number.most) for number in PRESETS[name].numbers)).map(
        lambda numbers: Chosen(name, numbers)
    )
)
PLACES = st.none() | st.integers(0, 11)
EDITS = st.builds(
    Edit,
    st.sampled_from(["encoder", "decoder", "cross"]),
    PLACES,
    PLACES,
    st.builds(
        MaskRule,
        own=st.booleans(),
        presets=st.lists(PRESET, max_size=MOST_PRESETS).map(tuple),
        combined=st.sampled_from(["all", "any"]),
        cells=CELLS,
    ),
    st.booleans(),
)


@given(st.lists(EDITS, max_size=MOST_EDITS))
def test_edits_come_back_from_an_address_and_from_a_browser(made):
    field = edits()
    text = field.write(tuple(made))
    assert field.read(text) == tuple(made)
    assert field.take(json.loads(text)) == tuple(made)
    assert json.loads(text) == [as_json(one) for one in made]


@given(CELLS)
def test_runs_hold_every_cell_once_and_none_could_be_longer(cells):
    runs = runs_of(cells)
    assert [(row, column, value) for row, first, last, value in runs for column in range(first, last + 1)] == [*cells]
    for (row, _, last, value), (other, first, _, following) in pairwise(runs):
        assert (row, last + 1, value) != (other, first, following)


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers(-(10**400), 10**400)
        | st.floats()
        | st.sampled_from(["cross", "causal", "all", ""]),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(
                st.sampled_from(["kind", "layer", "head", "own", "presets", "combined", "runs", "renormalise"]), inner
            )
        ),
    )
)
def test_nonsense_is_none_and_never_an_error(sent):
    for tried in (sent, [sent], [{"kind": "cross", "runs": sent}], [{"kind": "cross", "presets": [sent]}]):
        for made in (taken_edits(tried), read_edits(json.dumps(tried))):
            assert made is None or all(isinstance(one, Edit) for one in made)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[",
        "{}",
        "null",
        "[[]]",
        "[1]",
        "[" * 100_000,
        '[{"kind": "sideways"}]',
        '[{"layer": 0}]',
        '[{"kind": "cross", "layer": -1}]',
        '[{"kind": "cross", "layer": true}]',
        '[{"kind": "cross", "head": 1000}]',
        '[{"kind": "cross", "head": 1.5}]',
        '[{"kind": "cross", "own": 1}]',
        '[{"kind": "cross", "renormalise": null}]',
        '[{"kind": "cross", "combined": "some"}]',
        '[{"kind": "cross", "combined": ["all"]}]',
        '[{"kind": "cross", "presets": 3}]',
        '[{"kind": "cross", "presets": [["sliding"]]}]',
        '[{"kind": "cross", "presets": [["window", 1]]}]',
        '[{"kind": "cross", "presets": [["window", 1, NaN]]}]',
        '[{"kind": "cross", "runs": [[0, 0, 0]]}]',
        '[{"kind": "cross", "runs": [[0, 0, null, 0]]}]',
        '[{"kind": "cross", "runs": [[0, 0, 0, true]]}]',
        '[{"kind": "cross", "runs": [[0, 0, 0, NaN]]}]',
        '[{"kind": "cross", "runs": [[0, 0, 0, -Infinity]]}]',
        '[{"kind": "cross", "runs": [[0, 0, 0, "1"]]}]',
        f'[{{"kind": "cross", "runs": [[0, 0, {LONGEST}, null]]}}]',
        f'[{{"kind": "cross", "runs": [[0, 0, 0, {10**400}]]}}]',
        f'[{{"kind": "cross", "runs": [[0, 0, 0, {LARGEST * 1.01}]]}}]',
        f'[{{"kind": "cross", "runs": [[0, 0, 0, {-LARGEST * 1.01}]]}}]',
    ],
)
def test_what_makes_no_sense_is_no_edit(text):
    assert read_edits(text) is None


def test_the_plainest_edit_is_a_blank_one():
    assert taken_edits([{"kind": "cross"}]) == (Edit("cross", None, None, MaskRule()),)
    assert taken_edits([]) == ()


@pytest.mark.parametrize(
    ("most", "of"),
    [
        (MOST_EDITS, lambda count: [{"kind": "cross"}] * count),
        (MOST_PRESETS, lambda count: [{"kind": "cross", "presets": [["causal"]] * count}]),
        (LONGEST, lambda count: [{"kind": "cross", "runs": [[count - 1, 0, 0, None]]}]),
    ],
)
def test_as_many_as_the_limit_and_not_one_more(most, of):
    assert taken_edits(of(most)) is not None
    assert taken_edits(of(most + 1)) is None


def test_cells_are_counted_over_all_edits_together():
    rows, rest = divmod(MOST_CELLS // 2, LONGEST)
    half = [[row, 0, LONGEST - 1, None] for row in range(rows)] + [[rows, 0, rest - 1, None]] * bool(rest)
    one = {"kind": "cross", "runs": half}
    assert sum(len(made.rule.cells) for made in taken_edits([one, one])) == MOST_CELLS
    assert taken_edits([one, one, {"kind": "cross", "runs": [[0, 0, 0, None]]}]) is None
    twice = {"kind": "cross", "runs": [[0, 0, LONGEST - 1, None]] * 1000}  # the same cells again
    assert len(taken_edits([twice])[0].rule.cells) == LONGEST


def test_the_last_run_has_the_last_word():
    (edit,) = taken_edits([{"kind": "cross", "runs": [[0, 0, 2, None], [0, 1, 1, 0.5]]}])
    assert edit.rule.cells == ((0, 0, BLOCKED), (0, 1, 0.5), (0, 2, BLOCKED))


def test_an_edit_is_an_intervention_on_its_heads_only():
    rule = MaskRule(own=False)
    assert Edit("cross", 1, 2, rule, renormalise=False).intervention == EditMask("cross", 1, (2,), rule, False)
    assert Edit("cross", None, None, rule).intervention == EditMask("cross", None, None, rule, True)
    heads = [(kind, layer, head) for kind in ("encoder", "cross") for layer in (0, 1) for head in (0, 1)]
    for edit, expected in [
        (Edit("cross", 1, 0, rule), [("cross", 1, 0)]),
        (Edit("cross", 1, None, rule), [("cross", 1, 0), ("cross", 1, 1)]),
        (Edit("cross", None, 0, rule), [("cross", 0, 0), ("cross", 1, 0)]),
        (Edit("encoder", None, None, rule), [one for one in heads if one[0] == "encoder"]),
    ]:
        assert [one for one in heads if edit.concerns(*one)] == expected


def test_nonsense_in_a_link_is_passed_over():
    state = LINK.from_address({"edits": "[{}]", "kind": "decoder"})
    assert state == MaskLab(kind="decoder")
    assert isinstance(LINK, Link)


def test_a_link_says_infinity_as_null():
    text = edits().write((Edit("cross", 0, 1, MaskRule(cells=((0, 1, BLOCKED), (0, 2, BLOCKED), (1, 0, 2.5)))),))
    assert json.loads(text)[0]["runs"] == [[0, 1, 2, None], [1, 0, 0, 2.5]]
    assert "Infinity" not in text
    assert math.isinf(read_edits(text)[0].rule.cells[0][2])
