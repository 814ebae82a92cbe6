"""The scores are sacrebleu's, of one hypothesis for each source against all its references."""

import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from small_models import made_up_pairs

from transformer.decoding import translate
from transformer.evaluation import evaluate, samples, score

PAIRS = made_up_pairs()
WRONG = [(source, "neko umi miru") for source, _ in PAIRS[10:20]]
# Some sources have two or three references, not side by side, and one reference stands twice.
TEST = [*PAIRS[:6], ("the cat sees bread", "neko pan o miru"), *WRONG, PAIRS[2], ("the cat sees bread", "NEKO PAN")]


def by_hand(hypotheses: list[str], references: list[list[str]], tokenizer: str = "13a") -> tuple[float, float]:
    """sacrebleu's own figures; ``references`` of each hypothesis, None-filled as sacrebleu wants them."""
    most = max(map(len, references))
    columns = [[refs[i] if i < len(refs) else None for refs in references] for i in range(most)]
    bleu = BLEU(tokenize=tokenizer).corpus_score(hypotheses, columns).score
    return round(bleu, 2), round(CHRF().corpus_score(hypotheses, columns).score, 2)


def translations(checkpoint, sources: list[str]) -> list[str]:
    return [checkpoint.target_tokenizer.text(one.ids) for one in translate(checkpoint, sources)]


def test_each_source_is_translated_once_and_scored_against_all_its_references(trained):
    scores = evaluate(trained, TEST)
    sources = [source for source, _ in [*PAIRS[:6], *PAIRS[10:20]]]
    references = [[target for source, target in TEST if source == one] for one in sources]
    assert sorted(map(len, references)) == [1] * 15 + [4]  # "the cat sees bread"
    expected = by_hand(translations(trained, sources), references)
    found = scores["test"]
    assert set(scores) == {"test"}
    assert (found.bleu, found.chrf, found.sentences) == (*expected, 16)
    assert 0 < found.bleu < 100


def test_perfect_translations_score_a_hundred(trained):
    found = evaluate(trained, PAIRS)["test"]
    assert (found.bleu, found.chrf, found.sentences) == (100.0, 100.0, 48)


def test_unseen_leaves_out_the_targets_that_stand_in_the_training_pairs(trained):
    seen = [("another source of the same target", target) for _, target in PAIRS[:4]]
    scores = evaluate(trained, TEST, seen)
    left = [pair for pair in TEST if pair[1] not in {target for _, target in seen}]
    sources = list(dict.fromkeys(source for source, _ in left))
    references = [[target for source, target in left if source == one] for one in sources]
    expected = by_hand(translations(trained, sources), references)
    unseen = scores["unseen"]
    assert (unseen.bleu, unseen.chrf, unseen.sentences) == (*expected, len(sources))
    assert "neko umi miru" in {target for _, target in seen}  # so every wrong reference is gone too
    assert len(sources) == 3
    assert scores["test"] == evaluate(trained, TEST)["test"]


def test_where_every_target_was_seen_there_is_no_unseen_score(trained):
    assert set(evaluate(trained, PAIRS[:4], PAIRS)) == {"test"}


def test_scores_are_cased_and_say_how_they_were_computed():
    pairs = [("a", "Neko umi miru suki ou"), ("b", "one two three four")]
    lower = score({"a": "neko umi miru suki ou", "b": "one two three four"}, pairs, "13a")
    assert lower.bleu < 100
    assert score({"a": pairs[0][1], "b": pairs[1][1]}, pairs, "13a").bleu == 100
    assert "tok:13a" in lower.bleu_signature
    assert "case:mixed" in lower.bleu_signature
    assert "nrefs:1" in lower.bleu_signature
    assert "version:" in lower.chrf_signature


def test_chinese_is_scored_by_characters():
    pairs, hypotheses = (
        [("a", "我喜欢大海和面包。"), ("b", "猫看见了一艘小船。")],
        {"a": "我喜欢大海和房子。", "b": "猫看见了一艘船。"},
    )
    found = score(hypotheses, pairs, "zh")
    expected = by_hand(list(hypotheses.values()), [[target] for _, target in pairs], "zh")
    assert (found.bleu, found.chrf) == expected
    assert found.bleu > score(hypotheses, pairs, "13a").bleu
    assert "tok:zh" in found.bleu_signature


def test_samples_are_read_beside_all_their_references(trained):
    shown = samples(trained, TEST, ["the cat sees bread"])
    assert [one.source for one in shown] == ["the cat sees bread"]
    assert shown[0].translation == translations(trained, ["the cat sees bread"])[0]
    assert shown[0].references == [target for source, target in TEST if source == "the cat sees bread"]


def test_a_sample_must_be_a_test_sentence(trained):
    with pytest.raises(ValueError, match="no source 'elsewhere'"):
        samples(trained, TEST, ["elsewhere"])
