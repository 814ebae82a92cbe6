"""Every mistake is found, alone, and its repair really repairs it; a right mask is left in peace."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from transformer.mask_lint import Finding, lint_mask, lint_padding_mask

CAUSAL = torch.ones(4, 4, dtype=torch.bool).triu(1)
ADDED = torch.zeros(4, 4).masked_fill(CAUSAL, -torch.inf)
IDS = torch.tensor([5, 6, 3, 0, 0])


def names(findings: list[Finding]) -> list[str]:
    return [finding.name for finding in findings]


def repaired(mask: torch.Tensor, finding: Finding, **others: object) -> torch.Tensor:
    """What the repair's own line makes of the mask."""
    argument = finding.repair.split(" ")[0].split("[")[0]
    scope: dict[str, object] = {"torch": torch, argument: mask.clone(), **others}
    exec(finding.repair, scope)
    return scope[argument]


@pytest.mark.parametrize("mask", [CAUSAL, ADDED])
def test_a_causal_mask_is_left_in_peace(mask):
    assert lint_mask(mask, 4, 4, causal=True) == []


@pytest.mark.parametrize(
    ("mask", "expected"),
    [
        (CAUSAL.float(), ["numbers_for_bools"]),
        (~CAUSAL, ["polarity"]),
        (torch.zeros(4, 4), ["future"]),
        (torch.zeros(4, 4, dtype=torch.bool), ["future"]),
        (CAUSAL.T.contiguous(), ["future"]),
        (CAUSAL | torch.tensor([[True], [False], [False], [True]]), ["nothing_left"]),
    ],
)
def test_mistakes_of_a_target_mask(mask, expected):
    found = lint_mask(mask, 4, 4, "tgt_mask", causal=True)
    assert names(found) == expected


@pytest.mark.parametrize("mask", [CAUSAL.float(), ~CAUSAL, torch.zeros(4, 4), torch.zeros(4, 4, dtype=torch.bool)])
def test_the_repair_of_a_target_mask_makes_it_causal(mask):
    (finding,) = lint_mask(mask, 4, 4, "tgt_mask", causal=True)
    right = repaired(mask, finding)
    assert lint_mask(right, 4, 4, "tgt_mask", causal=True) == []
    blocked = right if right.dtype == torch.bool else right == -torch.inf
    assert torch.equal(blocked, CAUSAL)


def test_places_are_the_rows_concerned():
    mask = CAUSAL.clone()
    mask[1, 3] = False
    mask[2] = True
    future, empty = lint_mask(mask, 4, 4, causal=True)
    assert (future.places, empty.places) == ((1,), (2,))
    assert not bool(repaired(mask, empty)[2].any())


def test_a_transposed_memory_mask_is_turned():
    mask = torch.zeros(6, 4, dtype=torch.bool)
    (finding,) = lint_mask(mask, 4, 6, "memory_mask")
    assert finding == Finding("transposed", repair="memory_mask = memory_mask.T")
    assert lint_mask(repaired(mask, finding), 4, 6, "memory_mask") == []
    assert names(lint_mask(torch.zeros(3, 4), 4, 6)) == ["shape"]


def test_a_right_padding_mask_is_left_in_peace():
    assert lint_padding_mask(IDS == 0, IDS, 0) == []
    assert lint_padding_mask(torch.zeros(5).masked_fill(IDS == 0, -torch.inf), IDS, 0) == []
    assert lint_padding_mask(torch.zeros(3, dtype=torch.bool), IDS[:3], 0) == []


@pytest.mark.parametrize(
    ("mask", "expected"),
    [
        ((IDS == 0).float(), ["numbers_for_bools"]),
        (IDS != 0, ["polarity"]),
        (torch.tensor([True, False, False, True, True]), ["hides_tokens"]),
        (torch.zeros(5, dtype=torch.bool), ["shows_padding"]),
        (torch.tensor([True, False, False, False, True]), ["hides_tokens", "shows_padding"]),
        (torch.zeros(2, dtype=torch.bool), ["shape"]),
    ],
)
def test_mistakes_of_a_padding_mask_and_their_repair(mask, expected):
    found = lint_padding_mask(mask, IDS, 0, "src_key_padding_mask")
    assert names(found) == expected
    right = repaired(mask, found[0], ids=IDS)
    assert torch.equal(right, IDS == 0)


@given(st.integers(1, 6), st.integers(1, 6), st.data())
def test_nothing_is_found_twice_and_every_place_is_there(queries, keys, data):
    bits = data.draw(st.lists(st.booleans(), min_size=queries * keys, max_size=queries * keys))
    mask = torch.tensor(bits).reshape(queries, keys)
    for causal in (False, True):
        found = lint_mask(mask, queries, keys, causal=causal)
        assert len(set(names(found))) == len(found)
        for finding in found:
            assert all(0 <= place < queries for place in finding.places)
        empty = [row for row in range(queries) if mask[row].all()]
        if "polarity" not in names(found):
            assert ("nothing_left" in names(found)) == bool(empty)
