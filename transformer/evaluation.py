"""How good translations are: BLEU and chrF as sacrebleu computes them, and the loss of the references."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from transformer.batches import Pair
from transformer.checkpoint import Checkpoint
from transformer.decoding import GREEDY, Decoding, translate
from transformer.loss import loss_and_accuracy


@dataclass(frozen=True)
class Score:
    """Corpus figures, 0 to 100, with sacrebleu's signatures that say how they were computed."""

    bleu: float
    chrf: float
    sentences: int
    bleu_signature: str
    chrf_signature: str


@dataclass(frozen=True)
class Sample:
    """One test sentence, what the model makes of it, and what people made of it."""

    source: str
    translation: str
    references: list[str]


def evaluate(
    checkpoint: Checkpoint,
    test: Sequence[Pair],
    train: Sequence[Pair] = (),
    bleu_tokenizer: str = "13a",
    how: Decoding = GREEDY,
) -> dict[str, Score]:
    """Translate each distinct source once and score it against all its references, cased.

    Args:
        train: with it, ``unseen`` scores again without the references that are the target of a training pair.

    Returns:
        ``test``, and with ``train`` also ``unseen``, unless every test target stands in ``train``.

    Source: Papineni et al. 2002 (BLEU), Popović 2015 (chrF), Post 2018 (sacrebleu).
    """
    sources = list(dict.fromkeys(source for source, _ in test))
    decoded = translate(checkpoint, sources, how)
    hypotheses = {
        source: checkpoint.target_tokenizer.text(one.ids) for source, one in zip(sources, decoded, strict=True)
    }
    scores = {"test": score(hypotheses, test, bleu_tokenizer)}
    if train:
        seen = {target for _, target in train}
        if unseen := [pair for pair in test if pair[1] not in seen]:
            scores["unseen"] = score(hypotheses, unseen, bleu_tokenizer)
    return scores


def score(hypotheses: dict[str, str], pairs: Sequence[Pair], bleu_tokenizer: str) -> Score:
    """Score one hypothesis for each distinct source of ``pairs`` against all its targets there."""
    references = references_of(pairs)
    texts = [hypotheses[source] for source in references]
    most = max(map(len, references.values()))
    columns: Any = [[targets[i] if i < len(targets) else None for targets in references.values()] for i in range(most)]
    bleu, chrf = BLEU(tokenize=bleu_tokenizer), CHRF()
    return Score(
        bleu=round(bleu.corpus_score(texts, columns).score, 2),
        chrf=round(chrf.corpus_score(texts, columns).score, 2),
        sentences=len(texts),
        bleu_signature=str(bleu.get_signature()),
        chrf_signature=str(chrf.get_signature()),
    )


def samples(
    checkpoint: Checkpoint, test: Sequence[Pair], sources: Sequence[str], how: Decoding = GREEDY
) -> list[Sample]:
    """Translations of some test sentences, to be read.

    Raises:
        ValueError: a sentence that is no source of ``test``.
    """
    references = references_of(test)
    for source in sources:
        if source not in references:
            raise ValueError(f"The test pairs hold no source {source!r}.")
    decoded = translate(checkpoint, sources, how)
    texts = [checkpoint.target_tokenizer.text(one.ids) for one in decoded]
    return [Sample(source, text, references[source]) for source, text in zip(sources, texts, strict=True)]


def references_of(pairs: Sequence[Pair]) -> dict[str, list[str]]:
    """Each distinct source with all its targets, in the order of the pairs."""
    references: dict[str, list[str]] = {}
    for source, target in pairs:
        references.setdefault(source, []).append(target)
    return references


def label_loss(checkpoint: Checkpoint, pairs: Sequence[Pair], tokens_per_batch: int = 3000) -> float:
    """Mean cross-entropy of the targets, in nats a label, with the reference as the decoder's input.

    The end token is a label too. Pairs longer than the model reads are left out.

    Raises:
        ValueError: no pair fits.
    """
    longest = checkpoint.config.max_length
    encoded = [(checkpoint.source_ids(source), checkpoint.target_ids(target)) for source, target in pairs]
    encoded = [pair for pair in encoded if max(map(len, pair)) <= longest]
    if not encoded:
        raise ValueError(f"No pair fits into the {longest} tokens that the model reads.")
    model = checkpoint.model
    return loss_and_accuracy(lambda batch: model(*batch.inputs), encoded, model.config, tokens_per_batch)[0]
