"""Word alignments: those that people made, those that a cross-attention pattern shows, and how far the two differ.

A link is (source token, target token), counted from 0. A token is a word, or in Chinese a character.

L target pieces and the end token · S source pieces and the end token
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Link = tuple[int, int]
Span = tuple[int, int]
Rows = Literal["predicts", "reads"]


@dataclass(frozen=True)
class AlignedPair:
    """One sentence pair with the links that people saw: the sure ones stand among the possible ones too."""

    source: str
    target: str
    source_tokens: tuple[str, ...]
    target_tokens: tuple[str, ...]
    sure: frozenset[Link]
    possible: frozenset[Link]

    def reversed(self) -> "AlignedPair":
        """The same pair for the other direction of translation."""
        sure, possible = (frozenset((j, i) for i, j in links) for links in (self.sure, self.possible))
        return AlignedPair(self.target, self.source, self.target_tokens, self.source_tokens, sure, possible)


def read_alignments(path: str | Path) -> list[AlignedPair]:
    """The pairs of a file with one JSON object a line.

    Its keys: ``source`` and ``target`` (texts), ``source_tokens`` and ``target_tokens`` (what is linked: the texts
    without white space, in pieces), ``sure`` and ``possible`` (lists of links).

    Raises:
        ValueError: no such file, a damaged one, no pairs, no sure link at all, or a line whose tokens do not stand in
            its text or whose links do not lie within its tokens; the message says which.
    """
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"There is no file {path}.")
    try:
        with path.open(encoding="utf-8") as file:
            lines = list(file)
    except (OSError, UnicodeError) as error:
        raise ValueError(f"{path} cannot be read: {error}.") from error
    pairs = []
    for number, line in enumerate(lines, start=1):
        try:
            pairs.append(_pair(json.loads(line)))
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{path}, line {number}: {error}") from error
    if not any(pair.sure for pair in pairs):
        raise ValueError(f"{path} holds no sure link.")
    return pairs


def _pair(line: Any) -> AlignedPair:
    wanted = {
        "source": str,
        "target": str,
        "source_tokens": list,
        "target_tokens": list,
        "sure": list,
        "possible": list,
    }
    if not isinstance(line, dict) or any(not isinstance(line.get(name), kind) for name, kind in wanted.items()):
        raise ValueError(f"an object with {', '.join(wanted)} is wanted.")
    for side in ("source", "target"):
        token_spans(line[side], line[f"{side}_tokens"])
    ends = len(line["source_tokens"]), len(line["target_tokens"])
    sure, possible = (frozenset(_link(link, ends) for link in line[name]) for name in ("sure", "possible"))
    tokens = tuple(line["source_tokens"]), tuple(line["target_tokens"])
    return AlignedPair(line["source"], line["target"], *tokens, sure, sure | possible)


def _link(link: Any, ends: tuple[int, int]) -> Link:
    match link:
        case [int(i), int(j)] if 0 <= i < ends[0] and 0 <= j < ends[1]:
            return i, j
    raise ValueError(f"{link} is no link between {ends[0]} source and {ends[1]} target tokens.")


def token_spans(text: str, tokens: Sequence[str]) -> list[Span]:
    """Where each token stands in the text: a begin and an end, counted in characters.

    Raises:
        ValueError: the tokens are not the text, apart from white space.
    """
    spans, at = [], 0
    for token in tokens:
        at += len(text[at:]) - len(text[at:].lstrip())
        if not isinstance(token, str) or not token or not text.startswith(token, at):
            raise ValueError(f"the token {token!r} does not stand at character {at} of {text!r}.")
        spans.append((at, at + len(token)))
        at += len(token)
    if text[at:].strip():
        raise ValueError(f"no token stands for the end of {text!r}, from character {at}.")
    return spans


def pieces_of_tokens(tokens: Sequence[Span], pieces: Sequence[Span]) -> list[list[int]]:
    """Which pieces each token is made of; both sides by their spans in one text.

    A piece may touch several tokens. One that touches none (a space) is part of the token after it.

    Example:
        >>> pieces_of_tokens([(0, 3), (4, 7)], [(0, 2), (2, 3), (3, 4), (4, 7)])  # 'the cat' as 'th', 'e', ' ', 'cat'
        [[0, 1], [2, 3]]
    """
    made_of: list[list[int]] = [[] for _ in tokens]
    for piece, (begin, end) in enumerate(pieces):
        touched = [i for i, (first, last) in enumerate(tokens) if begin < last and first < end]
        if not touched:
            touched = [i for i, (first, _) in enumerate(tokens) if first >= end][:1]
        for i in touched:
            made_of[i].append(piece)
    return made_of


def pattern_links(
    pattern: npt.NDArray[np.floating],
    source_pieces: Sequence[Sequence[int]],
    target_pieces: Sequence[Sequence[int]],
    rows: Rows = "predicts",
) -> frozenset[Link]:
    """Link each target token to the source token that it looks at most: weights averaged over the target token's
    pieces, summed over the source token's. No link where the end token gets more than any source token.

    Source tokens that share their pieces (characters of one piece) cannot be told apart: all of them are linked.

    Args:
        pattern: (L, S), the weights of cross-attention; row 0 has read the begin token and predicts piece 0.
        source_pieces, target_pieces: the pieces of each token, as :func:`pieces_of_tokens` gives them.
        rows: the row of a piece is the one that predicts it, or the one that reads it, which is the next.

    Source: the row that reads a piece: Chen et al. 2020, "Accurate word alignment induction from neural machine
        translation".
    """
    first = 0 if rows == "predicts" else 1
    candidates = list(dict.fromkeys(tuple(pieces) for pieces in source_pieces if pieces))
    links: set[Link] = set()
    for j, pieces in enumerate(target_pieces):
        if not pieces or not candidates:
            continue
        weights = pattern[[first + piece for piece in pieces]].mean(axis=0)  # (S,)
        sums = [weights[list(candidate)].sum() for candidate in candidates]
        most = int(np.argmax(sums))
        if sums[most] > weights[-1]:
            links.update((i, j) for i, pieces in enumerate(source_pieces) if tuple(pieces) == candidates[most])
    return frozenset(links)


@dataclass(frozen=True)
class ErrorRate:
    """Alignment error rate, 0 (best) to 1, with a 95 % interval."""

    aer: float
    low: float
    high: float


def error_rate(
    found: Iterable[frozenset[Link]], pairs: Sequence[AlignedPair], draws: int = 1000, seed: int = 1
) -> ErrorRate:
    """1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|) over a corpus: A the links found, S the sure, P the possible ones.

    The interval is that of a bootstrap: sentences are drawn with replacement, as many as there are, ``draws`` times,
    from a generator with that seed. Where nothing is found and nothing is sure, the rate is 0.

    Raises:
        ValueError: no pairs, or not one set of links for each.

    Source: Och and Ney 2003 (AER), Efron and Tibshirani 1993 (percentile bootstrap).

    Example:
        >>> pair = AlignedPair("a b", "x y", ("a", "b"), ("x", "y"), frozenset({(0, 0)}), frozenset({(0, 0), (1, 1)}))
        >>> error_rate([frozenset({(0, 0), (1, 1)})], [pair]).aer
        0.0
    """
    if not pairs:
        raise ValueError("An alignment error rate needs at least one sentence.")
    counts = np.array(  # (sentences, 2): links that agree, links that there are
        [
            (len(links & pair.sure) + len(links & pair.possible), len(links) + len(pair.sure))
            for links, pair in zip(found, pairs, strict=True)
        ]
    )
    drawn = np.random.default_rng(seed).integers(len(counts), size=(draws, len(counts)))
    low, high = np.percentile(_rates(counts[drawn].sum(axis=1)), [2.5, 97.5])
    return ErrorRate(float(_rates(counts.sum(axis=0))), float(low), float(high))


def _rates(counts: npt.NDArray[np.integer]) -> npt.NDArray[np.floating]:
    agreeing, all_links = counts[..., 0], counts[..., 1]
    return np.where(all_links == 0, 0.0, 1 - agreeing / np.maximum(all_links, 1))
