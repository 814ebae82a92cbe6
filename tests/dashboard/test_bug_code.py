"""Each mistake is made in a line that stands in the source, and the line is right as it stands."""

import ast

import pytest

from dashboard.bug_code import NO_SHIFT, SLIPS, lines_of
from dashboard.words import LANGUAGES, words_of
from transformer.bugs import BUGS


def test_every_mistake_of_the_model_has_its_line_and_one_is_made_outside():
    assert set(SLIPS) == {*BUGS, NO_SHIFT}


@pytest.mark.parametrize("name", sorted(SLIPS))
def test_the_line_stands_in_the_source_and_the_mistake_is_python_too(name):
    function, right, wrong = lines_of(name)
    assert function.startswith("transformer.")
    assert right != wrong
    assert len(right) == len(wrong) >= 1
    assert sum(one != other for one, other in zip(right, wrong, strict=True)) == 1
    for lines in (right, wrong):
        deep = min(len(line) - len(line.lstrip()) for line in lines)
        body = "\n".join(" " + line[deep:] for line in lines)
        ast.parse(f"def f():\n{body}")


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_mistake_is_named_explained_and_noticed(language):
    words = words_of(language)
    for name in SLIPS:
        for part in ("name", "what", "notice"):
            assert words[f"bugs.{part}.{name}"]
