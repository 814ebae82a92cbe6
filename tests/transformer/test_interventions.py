"""A changed model does what its interventions say, and the one it was made of never knows."""

import copy
import threading

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from small_models import padded_batch, small_model

from transformer import MultiheadAttention, record
from transformer.interventions import ChangePositions, EditMask, SwitchOff, edited
from transformer.mask_rules import BLOCKED, Chosen, MaskRule

ENCODER, DECODER, CROSS = SITES = [
    "transformer.encoder.layers.1.self_attn",
    "transformer.decoder.layers.0.self_attn",
    "transformer.decoder.layers.0.multihead_attn",
]
WHERE = {ENCODER: ("encoder", 1), DECODER: ("decoder", 0), CROSS: ("cross", 0)}


@pytest.fixture(scope="module")
def model():
    return small_model().requires_grad_(False)


def without_columns(model, site: str, heads: range) -> torch.Tensor:
    """The logits of a copy whose out-projection does not read those heads."""
    changed = copy.deepcopy(model)
    attention = changed.get_submodule(site)
    for head in heads:
        attention.out_proj.weight[:, head * attention.head_dim : (head + 1) * attention.head_dim] = 0
    return changed(*padded_batch())


@pytest.mark.parametrize("site", SITES)
@pytest.mark.parametrize("head", [0, 1, 2])
def test_a_head_switched_off_is_one_that_the_out_projection_does_not_read(model, site, head):
    expected = without_columns(model, site, range(head, head + 1))
    logits = edited(model, [SwitchOff(*WHERE[site], (head,))])(*padded_batch())
    torch.testing.assert_close(logits, expected)
    assert not torch.allclose(logits, model(*padded_batch()), atol=1e-4)


def test_a_whole_site_is_switched_off_at_once_or_head_by_head(model):
    expected = without_columns(model, CROSS, range(3))
    torch.testing.assert_close(edited(model, [SwitchOff("cross")])(*padded_batch()), expected)
    one_by_one = [SwitchOff("cross", 0, (head,)) for head in (0, 2, 1)]
    torch.testing.assert_close(edited(model, one_by_one)(*padded_batch()), expected)


def test_every_weight_is_shared_and_nothing_stays_on_the_model():
    model = small_model()
    before, state = model(*padded_batch()), [set(vars(module)) for module in model.modules()]
    everything = [SwitchOff("cross"), EditMask("decoder", rule=MaskRule(own=False)), ChangePositions("source", "off")]
    changed = edited(model, everything)
    changed(*padded_batch())
    assert {id(one) for one in changed.parameters()} == {id(one) for one in model.parameters()}
    assert torch.equal(model(*padded_batch()), before)
    assert all(not (module._forward_hooks or module._forward_pre_hooks) for module in model.modules())
    assert [set(vars(module)) for module in model.modules()] == state


def test_the_pattern_is_that_of_the_head_all_the_same(model):
    with record(model) as before:
        model(*padded_batch())
    changed = edited(model, [SwitchOff("encoder", 1, (1,))])
    with record(changed) as recording:
        changed(*padded_batch())
    assert torch.equal(recording.pattern(ENCODER, sentence=1), before.pattern(ENCODER, sentence=1))


def test_gradients_flow_through_the_other_heads_only():
    attention = MultiheadAttention(8, num_heads=2, batch_first=True)
    x = torch.randn(1, 3, 8)
    edited(attention, [SwitchOff(heads=(0,))])(x, x, x)[0].sum().backward()
    gradient = attention.out_proj.weight.grad
    assert gradient[:, :4].eq(0).all()
    assert gradient[:, 4:].ne(0).any()


def test_other_threads_do_not_see_it(model):
    plain = model(*padded_batch())
    expected = {head: without_columns(model, CROSS, range(head, head + 1)) for head in range(3)}
    start, wrong = threading.Barrier(6), []

    def run(head: int | None) -> None:
        start.wait()
        for _ in range(20):
            wanted = plain if head is None else expected[head]
            ran = model if head is None else edited(model, [SwitchOff("cross", 0, (head,))])
            if not torch.allclose(ran(*padded_batch()), wanted, atol=1e-6):
                wrong.append(head)

    threads = [threading.Thread(target=run, args=(head,)) for head in (0, 1, 2, None, None, None)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.parametrize(
    ("intervention", "said"),
    [
        (SwitchOff("decoder", 9, (0,)), "no decoder attention in layer 9"),
        (EditMask("cross", 0, (3,)), "heads are .3., but .*multihead_attn has 3"),
        (SwitchOff("cross", 0, (-1,)), "heads are .-1."),
    ],
)
def test_what_is_not_there_cannot_be_changed(model, intervention, said):
    with pytest.raises(ValueError, match=said):
        edited(model, [intervention])


# Masks

LENGTHS = {ENCODER: (6, 6), DECODER: (5, 5), CROSS: (5, 6)}
RULES = st.builds(
    MaskRule,
    own=st.booleans(),
    presets=st.lists(
        st.sampled_from(
            [
                Chosen("causal"),
                Chosen("window", (1, 1)),
                Chosen("blocks", (2,)),
                Chosen("alibi", (1,)),
                Chosen("relative", (1, 2)),
            ]
        ),
        max_size=3,
    ).map(tuple),
    combined=st.sampled_from(["all", "any"]),
    cells=st.lists(
        st.tuples(st.integers(0, 6), st.integers(0, 6), st.sampled_from([BLOCKED, 0.0, -1.5])), max_size=4
    ).map(tuple),
)


def recorded(model, interventions=()):
    """The recording and the logits of the padded batch."""
    changed = edited(model, interventions)
    with torch.inference_mode(), record(changed) as recording:
        logits = changed(*padded_batch())
    return recording, logits


def shown(recording, site, sentence, heads=3):
    return torch.stack([recording.mask(site, head, sentence) for head in range(heads)])


@given(RULES, st.sampled_from(SITES), st.sampled_from([None, (1,), (0, 2)]))
def test_the_chosen_heads_have_the_mask_of_the_rule_and_the_others_their_own(model, rule, site, heads):
    before, _ = recorded(model)
    after, _ = recorded(model, [EditMask(*WHERE[site], heads, rule)])
    for sentence in range(3):
        own, now = shown(before, site, sentence), shown(after, site, sentence)
        expected = rule.additive(3, *LENGTHS[site], own)
        for head in range(3):
            chosen = heads is None or head in heads
            torch.testing.assert_close(now[head], expected[head] if chosen else own[head])
            scores = after.scores(site, head, sentence) + now[head]
            open_rows = ~torch.isneginf(now[head]).all(dim=-1)
            pattern = after.pattern(site, head, sentence)
            torch.testing.assert_close(pattern[open_rows], scores[open_rows].softmax(dim=-1))
            assert pattern[~open_rows].eq(0).all()


@pytest.mark.parametrize("site", SITES)
def test_the_output_is_that_of_the_recorded_pattern(model, site):
    """So that the picture is what the model did, whichever way it computed."""
    rule = MaskRule(presets=(Chosen("window", (1, 1)),), cells=((0, 1, BLOCKED), (2, 2, -3.0)))
    for renormalise in (True, False):
        recording, _ = recorded(model, [EditMask(*WHERE[site], (0, 1), rule, renormalise)])
        attention = model.get_submodule(site)
        for sentence in range(3):
            values = recording.value(site)[sentence]
            heads = recording.pattern(site, sentence=sentence) @ values  # (H, L, D)
            joined = heads.transpose(0, 1).flatten(1)
            expected = torch.nn.functional.linear(joined, attention.out_proj.weight, attention.out_proj.bias)
            torch.testing.assert_close(recording.output(site)[sentence], expected, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("site", SITES)
def test_without_renormalising_the_other_weights_stay_what_they_were(model, site):
    before, _ = recorded(model)
    cut = MaskRule(cells=((1, 0, BLOCKED), (2, 1, BLOCKED)))
    after, _ = recorded(model, [EditMask(*WHERE[site], (1,), cut, renormalise=False)])
    expected = before.pattern(site)
    expected[1, 1, 0] = expected[1, 2, 1] = 0
    torch.testing.assert_close(after.pattern(site), expected)
    assert after.pattern(site, 1).sum(dim=-1)[1] < 1 - 1e-4
    torch.testing.assert_close(after.pattern(site, 1, rows=[1, 2]), expected[1, [1, 2]])
    assert torch.equal(after.mask(site, 1), before.mask(site, 1))


def test_renormalising_shares_a_cut_weight_among_the_others(model):
    before, plain = recorded(model)
    after, logits = recorded(model, [EditMask("cross", 0, (1,), MaskRule(cells=((1, 0, BLOCKED),)))])
    row = before.pattern(CROSS, 1)[1]
    expected = row / (1 - row[0])
    expected[0] = 0
    torch.testing.assert_close(after.pattern(CROSS, 1)[1], expected)
    assert not torch.allclose(plain[0, 1], logits[0, 1], atol=1e-5)
    torch.testing.assert_close(
        plain[0, [0, 2, 3]], logits[0, [0, 2, 3]]
    )  # one decoder layer: other rows do not read row 1


def test_edits_add_up_in_their_order(model):
    first = EditMask("cross", 0, None, MaskRule(cells=((1, 0, BLOCKED),)))
    second = EditMask("cross", 0, (0,), MaskRule(cells=((1, 0, 0.0), (1, 1, BLOCKED))))
    recording, _ = recorded(model, [first, second])
    assert torch.isneginf(recording.mask(CROSS, 0)[1]).tolist() == [False, True, False, False, False, False]
    assert torch.isneginf(recording.mask(CROSS, 1)[1]).tolist() == [True, False, False, False, False, False]


# Positions


def test_positions_off_are_no_positions(model):
    without = copy.deepcopy(model)
    without.source_positions = torch.nn.Identity()
    without.source_positions.forward = lambda x, first=0: x
    changed = edited(model, [ChangePositions("source", "off")])
    torch.testing.assert_close(changed(*padded_batch()), without(*padded_batch()))


@pytest.mark.parametrize("stream", ["source", "target"])
@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
def test_shuffled_shifted_and_scaled_positions_are_added_so(stream, positions):
    model = small_model(positions=positions).requires_grad_(False)
    module = getattr(model, f"{stream}_positions")
    x = torch.randn(2, 5, 24)
    table = module(torch.zeros(1, 10, 24))[0]

    def added(way: str, amount: float) -> torch.Tensor:
        return getattr(edited(model, [ChangePositions(stream, way, amount)]), f"{stream}_positions")(x) - x

    torch.testing.assert_close(added("shift", 3), table[3:8].expand(2, 5, 24), atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(added("scale", 0.5), 0.5 * table[:5].expand(2, 5, 24), atol=1e-6, rtol=1e-5)
    shuffled = added("shuffle", 7)[0]
    order = torch.cdist(shuffled, table[:5]).argmin(dim=-1)
    assert sorted(order.tolist()) == [0, 1, 2, 3, 4]
    assert order.tolist() != [0, 1, 2, 3, 4]
    torch.testing.assert_close(shuffled, table[order], atol=1e-6, rtol=1e-5)


def test_positions_that_are_not_there_are_said():
    with pytest.raises(ValueError, match="adds no positions"):
        edited(small_model(positions="none"), [ChangePositions("source", "off")])
    model = small_model(positions="learned", max_length=8).requires_grad_(False)
    with pytest.raises(ValueError, match=r"Position 9 is wanted, but only 8 were learned"):
        edited(model, [ChangePositions("source", "shift", 4)])(*padded_batch())
