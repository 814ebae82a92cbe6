"""Greedy decoding does what the slow loop does, alone or in company, and its steps can be looked at."""

import pytest
import torch
from small_models import ODD_TEXTS, made_up_pairs, small_model, untrained_checkpoint

from transformer import TextTransformer, record
from transformer.bugs import Bug
from transformer.checkpoint import Checkpoint
from transformer.decoded import Decoded
from transformer.decoding import Decoding, decode, length_limit, pad, translate
from transformer.interventions import EditMask, edited
from transformer.mask_rules import BLOCKED, MaskRule

PADDED = torch.tensor([[11, 12, 13, 14, 15, 3], [21, 22, 23, 3, 0, 0], [31, 3, 0, 0, 0, 0]])


@torch.no_grad()
def step_by_step(model: TextTransformer, source: list[int], limit: int) -> Decoded:
    """One sentence, whole forwards, nothing clever."""
    ids: list[int] = []
    while len(ids) < limit:
        logits = model(torch.tensor([source]), torch.tensor([[2, *ids]]))
        ids.append(1 + int(logits[0, -1, 1:].argmax()))  # padding, id 0, is no token of a sentence
        if ids[-1] == 3:
            return Decoded(tuple(ids), finished=True)
    return Decoded(tuple(ids), finished=False)


def best(found: list[list[Decoded]]) -> list[Decoded]:
    return [beams[0] for beams in found]


def test_the_model_has_learned_the_language_that_these_tests_speak(trained):
    pairs = made_up_pairs()
    decoded = translate(trained, [source for source, _ in pairs])
    assert [trained.target_tokenizer.text(one.ids) for one in decoded] == [target for _, target in pairs]
    assert all(one.finished and one.ids[-1] == 3 for one in decoded)


@pytest.mark.parametrize("seed", range(4))
def test_untrained_models_decode_as_the_slow_loop_does(seed):
    model = small_model(seed, tie_output=False)
    expected = [step_by_step(model, [i for i in row if i], 9) for row in PADDED.tolist()]
    assert best(decode(model, PADDED, 9)) == expected
    assert all(len(one.ids) == 9 for one in expected if not one.finished)


@pytest.mark.parametrize("how", [Decoding(), Decoding("beam", beams=3), Decoding("sample", temperature=0.8, seed=3)])
@pytest.mark.parametrize("drop_ended", [False, True])
def test_without_a_cache_the_same_comes_out(trained, how, drop_ended):
    for model in (small_model(1, tie_output=False), trained.model):
        cached, uncached = (decode(one, PADDED, 9, how, drop_ended=drop_ended) for one in (model, edited(model, [])))
        for beams, others in zip(cached, uncached, strict=True):
            assert [beam.ids for beam in beams] == [beam.ids for beam in others]


def test_an_edited_model_decodes_as_its_whole_forwards_do():
    """Its rows are edited by their number, which a step that reads one row would not know."""
    rule = MaskRule(cells=tuple((query, key, BLOCKED) for query in (2, 4) for key in (0, 1, 2)))
    for edits in ([EditMask("cross", rule=rule)], [Bug("softmax_over_queries")], [Bug("inverted_mask")]):
        changed = edited(small_model(3, tie_output=False), edits)
        expected = [step_by_step(changed, PADDED[0].tolist(), 9)]
        assert best(decode(changed, PADDED[:1], 9)) == expected


def test_the_trained_model_decodes_as_the_slow_loop_does(trained):
    texts = [source for source, _ in made_up_pairs()[::5]] + ["the the the", "bread bread", "a"]
    for text, decoded in zip(texts, translate(trained, texts), strict=True):
        source = trained.source_ids(text)
        assert decoded == step_by_step(trained.model, source, length_limit(len(source), 64))


@pytest.mark.parametrize("batch_size", [1, 2, 7, 64])
@pytest.mark.parametrize("which", ["trained", "untrained"])
def test_a_text_comes_out_in_company_as_it_does_alone(which, batch_size, trained):
    checkpoint = trained if which == "trained" else untrained_checkpoint(tie_output=False)
    texts = [*ODD_TEXTS, *(source for source, _ in made_up_pairs()[::6])]
    alone = [translate(checkpoint, [text])[0] for text in texts]
    assert translate(checkpoint, texts, batch_size=batch_size) == alone
    assert translate(checkpoint, texts[::-1], batch_size=batch_size) == alone[::-1]


def test_decoding_stops_at_the_limit_and_says_so():
    checkpoint = untrained_checkpoint()  # tied: it repeats itself and never ends
    for text in ("bread", "the cat sees the small boat"):
        (decoded,) = translate(checkpoint, [text])
        assert not decoded.finished
        assert len(decoded.ids) == length_limit(len(checkpoint.source_ids(text)), 64)
        assert 3 not in decoded.ids
    assert best(decode(checkpoint.model, PADDED, 0)) == [Decoded((), finished=False)] * 3


@pytest.mark.parametrize(("source", "longest", "limit"), [(1, 256, 13), (10, 256, 40), (82, 256, 256), (10, 20, 20)])
def test_the_limit_follows_the_source_within_what_the_model_reads(source, longest, limit):
    assert length_limit(source, longest) == limit


@pytest.mark.parametrize(
    ("likeliest", "decoded"), [(7, Decoded((7, 7, 7, 7), finished=False)), (3, Decoded((3,), finished=True))]
)
def test_the_likeliest_token_is_taken_and_the_end_token_ends(likeliest, decoded):
    model = small_model(tie_output=False)
    with torch.no_grad():  # whatever is read, the bias decides
        model.output.weight.zero_()
        model.output.bias[likeliest], model.output.bias[8] = 2.0, 1.0
    assert best(decode(model, PADDED, 4)) == [decoded] * 3


def test_texts_of_different_ends_are_cut_each_at_its_own(trained):
    source = pad([trained.source_ids(text) for text, _ in made_up_pairs()[:8]], 0)
    decoded = best(decode(trained.model, source, 20))
    assert len({len(one.ids) for one in decoded}) > 1
    for one in decoded:
        assert one.ids.index(3) == len(one.ids) - 1
        assert 0 not in one.ids


def test_no_texts_are_no_translations(trained):
    assert translate(trained, []) == []


def test_blank_texts_are_translated_to_nothing(trained):
    nothing = Decoded((3,), finished=True)
    text = made_up_pairs()[3][0]
    decoded = translate(trained, ["", text, "  \t "])
    assert [decoded[0], decoded[2]] == [nothing, nothing]
    assert decoded[1] == translate(trained, [text])[0]


def test_a_text_that_is_too_long_is_refused_with_both_numbers(trained):
    longest, too_long = "😀" * 15, "😀" * 16  # four bytes each, a space before the first and the end token
    assert len(translate(trained, [longest])) == 1
    with pytest.raises(ValueError, match="has 66 tokens, but the model reads 64"):
        translate(trained, ["bread", too_long])


@pytest.mark.parametrize("batch_size", [0, -1])
def test_a_batch_of_nothing_is_refused(batch_size, trained):
    with pytest.raises(ValueError, match="batch_size must be at least 1"):
        translate(trained, ["bread"], batch_size=batch_size)


@torch.no_grad()
def assert_steps_are_those_of_the_whole(checkpoint: Checkpoint, texts: list[str]) -> None:
    """Each decoding step looks where the same rows look when the whole target is read at once."""
    source = pad([checkpoint.source_ids(text) for text in texts], 0)
    with record(checkpoint.model) as stepwise:
        decoded = best(decode(checkpoint.model, source, 12))
    fed = max(len(one.ids) for one in decoded)
    assert len(stepwise.runs) == fed
    target = pad([[2, *one.ids][:fed] for one in decoded], 0)
    with record(checkpoint.model) as whole:
        checkpoint.model(source, target)
    for kind in ("decoder", "cross"):
        for site in (site for site in whole.sites if site.kind == kind):
            for sentence in range(len(texts)):
                expected = whole.pattern(site, sentence=sentence)  # (H, T, S)
                read = min(len(decoded[sentence].ids), fed)  # rows after a sentence's end stand for padding
                for step in range(read):
                    row = stepwise.pattern(site, sentence=sentence, run=step)[:, 0]  # (H, S)
                    columns = expected[:, step, : row.size(1)]
                    assert (row - columns).abs().max() < 1e-6


def test_steps_of_one_sentence_look_where_the_whole_looks(trained):
    assert_steps_are_those_of_the_whole(trained, ["a dog follows the sea"])


def test_steps_of_a_padded_batch_look_where_the_whole_looks(trained):
    assert_steps_are_those_of_the_whole(trained, ["bread", "the old bird likes the small boat", "a dog sees a house"])


def test_steps_of_an_untrained_model_look_where_the_whole_looks():
    assert_steps_are_those_of_the_whole(untrained_checkpoint(num_decoder_layers=2), ["bread", "the cat"])


def test_padding_fills_up_to_the_longest():
    assert pad([[5], [6, 7, 8], [9, 1]], pad_id=0).tolist() == [[5, 0, 0], [6, 7, 8], [9, 1, 0]]
