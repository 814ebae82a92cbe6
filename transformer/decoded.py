"""What decoding makes of one sentence."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Decoded:
    """One decoded sentence.

    Attributes:
        ids: the end token included where ``finished``.
        finished: False where the limit cut it.
        score: of beam search: the sum of the tokens' log-probabilities over length ** length_penalty.
    """

    ids: tuple[int, ...]
    finished: bool
    score: float | None = field(default=None, compare=False)
