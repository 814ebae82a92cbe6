"""Where two runs part: nowhere before an edit, and by the distance that plain code measures after it."""

import pytest
import torch
from small_models import padded_batch, small_model

from transformer import record
from transformer.interventions import EditMask, SwitchOff, edited
from transformer.mask_rules import BLOCKED, MaskRule
from transformer.parting import parting


def recorded(model):
    with torch.inference_mode(), record(model) as recording:
        model(*padded_batch())
    return recording


def test_runs_part_at_the_edited_site_and_not_before():
    model = small_model()
    before, after = recorded(model), recorded(edited(model, [SwitchOff("encoder", 1, (0,))]))
    found = parting(before, after, sentence=1)
    assert [one.path for one in found] == list(before.runs[0].hidden)
    first = next(place for place, one in enumerate(found) if one.distance.max() > 0)
    assert found[first].path == "transformer.encoder.layers.1.after_self_attn"
    for one in found[first:]:
        old, new = (run.hidden(one.path)[1] for run in (before, after))
        if "decoder.layers.0.after_self_attn" in one.path or "target" in one.path:
            assert one.distance.eq(0).all()  # the target has not met the source yet
        else:
            torch.testing.assert_close(one.distance, (new - old).norm(dim=1) / old.norm(dim=1))
            assert one.distance.min() > 0


def test_only_the_rows_that_were_cut_part_at_once():
    model = small_model()
    cut = EditMask("cross", 0, None, MaskRule(cells=((2, 0, BLOCKED),)))
    found = parting(recorded(model), recorded(edited(model, [cut])))
    after_cross = next(one for one in found if one.path.endswith("after_multihead_attn"))
    assert (after_cross.distance > 0).tolist() == [False, False, True, False, False]


def test_runs_of_other_texts_are_refused():
    model = small_model()
    with record(model) as other:
        model(padded_batch()[0][:, :4], padded_batch()[1])
    with pytest.raises(ValueError, match="not of one model and one text"):
        parting(recorded(model), other)
