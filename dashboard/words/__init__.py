"""The interface's texts, one TOML file a language, and how foreign text stands among them."""

import re
import tomllib
from functools import cache
from pathlib import Path

import streamlit as st

LANGUAGES = {"en": "English", "zh": "中文"}


class Words:
    """The texts of one language, by name; ``words("name", n=3)`` fills a text's gaps."""

    def __init__(self, language: str) -> None:
        path = Path(__file__).parent / f"{language}.toml"
        self._texts: dict[str, str] = tomllib.loads(path.read_text(encoding="utf-8"))

    def __getitem__(self, name: str) -> str:
        return self._texts[name]

    def __call__(self, name: str, **gaps: object) -> str:
        return self._texts[name].format(**gaps)

    def names(self) -> set[str]:
        return set(self._texts)


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


def visible(character: str) -> str:
    """A character as it is, or its code point where there would be nothing to see.

    Example:
        >>> visible("ä"), visible(chr(9))
        ('ä', 'U+0009')
    """
    return character if character.isprintable() and not character.isspace() else f"U+{ord(character):04X}"
