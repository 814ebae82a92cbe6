"""Whether a text fits a model: its ids, or what stands in the way and what helps."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from transformer.checkpoint import Checkpoint
from transformer.config import TransformerConfig
from transformer.tokens import Tokenizer

MOST_CHARACTERS = 120_000
LONGEST = 16_384  # tokens of a text where positions have no end: the longest that tests/bench/long_texts.py measures
LONGEST_TARGET = 512  # tokens of a typed target there


@dataclass(frozen=True)
class Problem:
    """Why there is nothing to see, and a text that would do.

    Attributes:
        name: of the message in the interface's texts, without its stream.
        stream: which text it is about: ``source``, ``target``, or ``text`` for the only one; or ``recording``, or a
            ``run`` of one.
        length, limit, unknown, known: what the message's gaps are filled with; unknown and known characters.
        remedy: the name of what makes the text fit, in the interface's texts: ``cut`` or ``rewrite``.
        fits: what the remedy makes of the text.
        reason: what was said of a file, in one sentence.
        among: the text itself, where it is one of several and not the one in the sidebar.
    """

    name: str
    stream: str
    length: int = 0
    limit: int = 0
    unknown: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    remedy: str = ""
    fits: str = ""
    reason: str = ""
    among: str = ""


def ids_of(asked: Checkpoint, stream: str, text: str) -> tuple[int, ...] | Problem:
    """The ids of a text and the end token."""
    encode, tokenizer = asked.source_ids, asked.source_tokenizer
    if stream == "target":
        encode, tokenizer = asked.target_ids, asked.target_tokenizer
    limit = most_tokens(asked.config, stream)
    read = text[:MOST_CHARACTERS]
    if unknown := tokenizer.unknown_characters(read):
        known = _known(asked.config, tokenizer)
        fits = _rewritten(text, set(known))
        return Problem("unknown", stream, unknown=tuple(unknown), known=known, remedy="rewrite", fits=fits)
    ids = encode(read)
    if len(text) > MOST_CHARACTERS:
        cut = _beginning(read, encode, limit)
        return Problem("long.characters", stream, len(text), MOST_CHARACTERS, remedy="cut", fits=cut)
    if len(ids) > limit:
        return Problem("long.tokens", stream, len(ids), limit, remedy="cut", fits=_beginning(read, encode, limit))
    if len(ids) == 1:  # only the end token
        return Problem("empty", stream)
    return tuple(ids)


def most_tokens(config: TransformerConfig, stream: str) -> int:
    """How many tokens a text may have, its end token counted.

    Learned positions end with their table. Sinusoidal ones, or none, go on: the limit is for the machine's sake.
    """
    if config.positions == "learned":
        return config.max_length
    return max(config.max_length, LONGEST_TARGET if stream == "target" else LONGEST)


def beyond_training(config: TransformerConfig, ids: Sequence[int]) -> bool:
    """Whether a text is longer than any that the model can have been trained on: training leaves such ones out."""
    return len(ids) > config.max_length


def _known(config: TransformerConfig, tokenizer: Tokenizer) -> tuple[str, ...]:
    """The characters of a vocabulary, in their order there."""
    special = {config.pad_id, config.unk_id, config.bos_id, config.eos_id}
    pieces = tokenizer.labels(index for index in range(len(tokenizer)) if index not in special)
    return tuple(dict.fromkeys("".join(pieces).replace("▁", " ")))


def _rewritten(text: str, known: set[str]) -> str:
    """A text in known characters: small letters for capitals where only those are known, nothing for other ones."""
    return "".join(next((one for one in (c, c.lower()) if one in known), "") for c in text)


def _beginning(text: str, encode: Callable[[str], list[int]], limit: int) -> str:
    """As many characters from the beginning of a text as have at most ``limit`` tokens."""
    characters = bisect_right(range(len(text)), limit, key=lambda length: len(encode(text[:length])))
    while len(encode(text[:characters])) > limit:  # a few more characters may have one token less
        characters -= 1
    return text[:characters]
