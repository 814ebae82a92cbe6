"""The interface's texts: both languages say the same things, and captions name the right tokens."""

import re
from pathlib import Path
from string import Formatter

import numpy as np
import pytest

import dashboard
from dashboard.captions import caption, strongest_pairs
from dashboard.words import LANGUAGES, words_of
from transformer.units import units_of

FOLDER = Path(dashboard.__file__).parent


def gaps(text):
    return sorted(gap for _, gap, _, _ in Formatter().parse(text) if gap)


def test_every_text_stands_in_every_language_with_the_same_gaps():
    english = words_of("en")
    for language in LANGUAGES:
        words = words_of(language)
        assert words.names() == english.names()
        for name in english.names():
            assert gaps(words[name]) == gaps(english[name]), name


def test_every_text_is_used():
    files = [path for kind in ("*.py", "*.js") for path in FOLDER.rglob(kind)]
    literals = re.findall(r"""["`]([^"`\n]+)["`]""", "".join(path.read_text(encoding="utf-8") for path in files))
    # Gaps in a text stand for anything; a whole gap alone would match everything.
    spoken = [re.escape(one) for one in literals if re.search(r"[a-z]", one)]
    patterns = {re.sub(r"\\\$?\\{.*?\\}", ".+", one) for one in spoken} - {".+"}
    with_gaps = re.compile("|".join(f"(?:{one})" for one in patterns if ".+" in one))
    for name in words_of("en").names():
        assert re.escape(name) in patterns or with_gaps.fullmatch(name), name


def spelled(spans):
    return "".join(text for text, _ in spans)


def pieces(*labels):
    return units_of(labels, "piece")


def test_a_caption_names_the_two_strongest_pairs():
    weights = np.array([[0.1, 0.9], [0.7, 0.3]])
    spans = caption(words_of("en"), 3, 2, "predicted", weights, pieces("指责", "我"), pieces("accused", "me"))
    assert spelled(spans) == (
        "Head 2 of layer 3 reads me while predicting 指责 (0.90), and accused while predicting 我 (0.70)."
    )
    assert [text for text, strong in spans if strong] == ["me", "指责", "accused", "我"]


def test_a_caption_in_chinese():
    spans = caption(words_of("zh"), 1, None, "encoder", np.array([[1.0]]), pieces("a"), pieces("b"))
    assert spelled(spans) == "第 1 层各头平均在 a 处看 b（1.00）。"


def test_a_token_with_braces_is_only_text():
    spans = caption(words_of("en"), 1, 1, "read", np.array([[1.0]]), pieces("{layer}"), pieces("{0}"))
    assert spelled(spans) == "Head 1 of layer 1 reads {0} after reading {layer} (1.00)."


def test_pairs_with_special_tokens_come_last():
    weights = np.array([[0.0, 1.0], [0.6, 0.4], [0.8, 0.2]])
    assert strongest_pairs(weights, pieces("a", "b", "</s>"), pieces("x", "</s>")) == [(1, 0), (0, 1)]


def test_a_row_that_may_look_at_nothing_has_no_pair():
    weights = np.array([[np.nan, np.nan], [np.nan, 0.4]])
    assert strongest_pairs(weights, pieces("a", "b"), pieces("x", "y")) == [(1, 1)]
    nothing = caption(words_of("en"), 1, 1, "read", weights[:1], pieces("a"), pieces("x", "y"))
    assert spelled(nothing) == "This head may look at nothing here."


@pytest.mark.parametrize("language", LANGUAGES)
def test_long_texts_are_refused_with_both_numbers(language):
    text = words_of(language)("long.tokens.source", length=1234, limit=256)
    assert "1,234" in text
    assert "256" in text
