"""Tasks on random letters: endless, repeatable, and solved only by looking at the right place."""

import json
import random
import string
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, fields
from itertools import islice
from pathlib import Path
from typing import Literal

from transformer.tasks.task import Task, Texts
from transformer.tokens import Tokenizer

_HELD_OUT = 20  # one string in so many belongs to the dev set
_TRIES = 100


@dataclass(frozen=True)
class LetterTask:
    """How strings are drawn, and what is to be done with them.

    Args:
        kind: ``reverse`` or ``copy`` (encoder-decoder: the string in, its reverse or itself out), or ``induction``
            (decoder alone: random letters, then a segment of random length, again and again to the end, which only
            one who looks back at what followed the last time can predict; it comes at least twice).
        letters: what strings are made of.
        shortest, longest: letters a string may have.
        examples: strings in an epoch.
        dev_examples: strings to be judged by; fewer where there are not as many.

    A string belongs to the dev set or to training by its checksum, so that none of the dev set is ever trained on.

    Raises:
        ValueError: lengths or numbers out of range.

    Source: Olsson et al. 2022 (induction).
    """

    kind: Literal["reverse", "copy", "induction"]
    letters: str = string.ascii_lowercase
    shortest: int = 3
    longest: int = 16
    examples: int = 10_000
    dev_examples: int = 500

    def __post_init__(self) -> None:
        least = 4 if self.kind == "induction" else 1
        if not least <= self.shortest <= self.longest:
            raise ValueError(
                f"Lengths must rise from at least {least} for {self.kind}, not from {self.shortest} to {self.longest}."
            )
        if min(self.examples, self.dev_examples) < 1:
            raise ValueError("An epoch and the dev set need at least one example each.")

    def task(self, seed: int = 1) -> Task:
        """The task, its training strings drawn from the seed and the epoch, its dev set the same for every seed.

        Raises:
            ValueError: letters that are none (:meth:`Tokenizer.of_letters`); so few strings that none can be held out.
        """
        tokenizer = Tokenizer.of_letters(self.letters)
        salt = self._salt()

        def texts(epoch: int) -> list[Texts]:
            strings = (s for s in self._strings(f"train {seed} {epoch}") if not _held_out(s, salt))
            return [self.sides(s) for s in islice(strings, self.examples)]

        architecture: Literal["decoder", "encoder-decoder"] = (
            "decoder" if self.kind == "induction" else "encoder-decoder"
        )
        sides = len(self.sides(""))
        return Task(architecture, (tokenizer,) * sides, texts, self._dev(salt), self._settings(), seed)

    def unseen(self, count: int, seed: int = 1) -> list[Texts]:
        """Strings that no run of this task trains on, or chooses its weights by; fewer where there are not as many.

        Raises:
            ValueError: the dev set has all that are held out.
        """
        salt = self._salt()
        dev = set(self._dev(salt))
        drawn = (self.sides(s) for s in self._held_out_strings(f"unseen {seed}", salt, count + len(dev)))
        unseen = list(islice((sides for sides in drawn if sides not in dev), count))
        if not unseen:
            raise ValueError("The dev set holds all strings that training leaves out, so there are no others to test.")
        return unseen

    def sides(self, drawn: str) -> Texts:
        """A string as an example: the source and its answer, or the one text that a decoder alone reads."""
        if self.kind == "induction":
            return (drawn,)
        return (drawn, drawn[::-1] if self.kind == "reverse" else drawn)

    @classmethod
    def load(cls, path: Path) -> "LetterTask | None":
        """What a run wrote beside its weights; None where it learned from texts, or no file tells.

        Raises:
            ValueError: a file that describes no task.
        """
        if not path.is_file():
            return None
        try:
            settings = json.loads(path.read_text(encoding="utf-8"))
            if (kind := settings.pop("task")) not in LETTER_TASKS:
                return None
            return cls(kind, **settings)
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            raise ValueError(f"{path.parent.name}/{path.name} cannot be used: {error}") from error

    def _settings(self) -> dict[str, object]:
        return {"task": self.kind} | {f.name: getattr(self, f.name) for f in fields(self) if f.name != "kind"}

    def _dev(self, salt: int) -> list[Texts]:
        return [self.sides(s) for s in self._held_out_strings("dev", salt, self.dev_examples)]

    def _held_out_strings(self, seed: str, salt: int, count: int) -> Iterator[str]:
        drawn = islice(self._strings(seed), _TRIES * count)
        return islice(dict.fromkeys(s for s in drawn if _held_out(s, salt)), count)

    def _salt(self) -> int:
        """The first salt that leaves something on both sides: with few letters the first may not."""
        drawn = list(islice(self._strings("salt"), _TRIES * _HELD_OUT))
        for salt in range(_TRIES):
            if len({_held_out(s, salt) for s in drawn}) == 2:
                return salt
        raise ValueError(
            f"The letters {self.letters} make too few strings of {self.shortest} to {self.longest} to hold some out."
        )

    def _strings(self, seed: str) -> Iterator[str]:
        chance = random.Random(f"{self.kind} {seed}")
        while True:
            length = chance.randint(self.shortest, self.longest)
            if self.kind == "induction":
                period = chance.randint(max(2, length // 8), length // 2)
                before = chance.randint(0, length - 2 * period)
                first = "".join(chance.choices(self.letters, k=before + period))
                yield (first + first[before:] * length)[:length]
            else:
                yield "".join(chance.choices(self.letters, k=length))


def _held_out(drawn: str, salt: int) -> bool:
    return zlib.crc32(f"{salt} {drawn}".encode()) % _HELD_OUT == 0


LETTER_TASKS = {
    "reverse": LetterTask("reverse"),
    "copy": LetterTask("copy"),
    "induction": LetterTask("induction", string.ascii_letters + string.digits, 8, 40),
}
