"""The interface's texts, one TOML file a language, and how foreign text stands among them."""

import re
import tomllib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import streamlit as st

LANGUAGES = {"en": "English", "zh": "中文"}
MOST_LISTED = 12


class Words:
    """The texts of one language, by name; ``words("name", n=3)`` fills a text's gaps."""

    def __init__(self, language: str) -> None:
        self.language = language
        path = Path(__file__).parent / f"{language}.toml"
        self._texts: dict[str, str] = tomllib.loads(path.read_text(encoding="utf-8"))

    def __getitem__(self, name: str) -> str:
        return self._texts[name]

    def __call__(self, name: str, **gaps: object) -> str:
        return self._texts[name].format(**gaps)

    def names(self) -> set[str]:
        return set(self._texts)

    def all(self) -> dict[str, str]:
        """Every text by its name, gaps unfilled, for the browser."""
        return dict(self._texts)


@cache
def words_of(language: str) -> Words:
    """The texts of ``en`` or ``zh``."""
    return Words(language)


def browser_language() -> str:
    """The first of our languages that the browser asks for; English if none."""
    locale = st.context.locale or ""
    return next((language for language in LANGUAGES if locale.lower().startswith(language)), "en")


def current_words() -> Words:
    """The texts in the language that the viewer chose, or else in the browser's."""
    chosen = st.session_state.get("language")
    return words_of(chosen if chosen in LANGUAGES else browser_language())


def as_text(foreign: str) -> str:
    """A text from outside (a path, a file's content), for places where Streamlit would read it as Markdown.

    Example:
        >>> print(as_text("a_b :red[c]"))
        a\\_b \\:red\\[c\\]
    """
    return re.sub(r"([\\`*_{}\[\]()<>#+!|~$:-])", r"\\\1", foreign)


def unicode_of(foreign: str) -> str:
    """A text from outside, with a question mark for what is no Unicode: Streamlit sends no such thing.

    Example:
        >>> unicode_of("half a pair: " + chr(0xD83D))
        'half a pair: ?'
    """
    return foreign.encode(errors="replace").decode()


def visible(words: Words, character: str) -> str:
    """A character as it is; where there would be nothing to see, its name or its code point.

    Example:
        >>> [visible(words_of("en"), character) for character in ("ä", " ", chr(9))]
        ['ä', 'space', 'U+0009']
    """
    if name := {" ": "space", "\n": "newline"}.get(character):
        return words[f"character.{name}"]
    return character if character.isprintable() and not character.isspace() else f"U+{ord(character):04X}"


def ranges(characters: Sequence[str]) -> list[str]:
    """Characters, three and more that follow each other drawn together.

    Example:
        >>> ranges("abcdxyABC")
        ['a–d', 'x', 'y', 'A–C']
    """
    runs: list[str] = []
    for character in characters:
        if runs and ord(character) == ord(runs[-1][-1]) + 1:
            runs[-1] += character
        else:
            runs.append(character)
    return [one for run in runs for one in ([f"{run[0]}–{run[-1]}"] if len(run) > 2 else run)]


def listed(words: Words, items: Sequence[str]) -> str:
    """Characters from outside as a list, for places that read Markdown; of many, the first."""
    shown = [as_text(visible(words, item) if len(item) == 1 else item) for item in items[:MOST_LISTED]]
    return words["list"].join(shown + ["…"] * (len(items) > MOST_LISTED))
