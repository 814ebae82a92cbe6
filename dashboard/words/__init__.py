"""The interface's texts, one TOML file a language."""

import tomllib
from functools import cache
from pathlib import Path

import streamlit as st

LANGUAGES = {"en": "English", "zh": "中文"}


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


@cache
def words_of(language: str) -> Words:
    """The texts of ``en`` or ``zh``."""
    return Words(language)


def browser_language() -> str:
    """The first of our languages that the browser asks for; English if none."""
    locale = st.context.locale or ""
    return next((language for language in LANGUAGES if locale.lower().startswith(language)), "en")


def browser_words() -> Words:
    """The texts in the browser's language."""
    return words_of(browser_language())
