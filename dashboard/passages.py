"""The lines of code that do one thing, read from the source that is installed, with the very lines known."""

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

Role = Literal["plain", "fused", "swap"]


@dataclass(frozen=True)
class Passage:
    """Statements of a function.

    Attributes:
        function: in whose source they stand.
        statements: each as Python text; how it is broken into lines does not count, nor do comments. Of several in one
            text, which must follow each other there, the last is meant.
        role: they compute what is shown; or an unedited run calls them in its place; or they swap axes where the batch
            comes first.
    """

    function: Callable[..., Any]
    statements: tuple[str, ...]
    role: Role = "plain"


@dataclass(frozen=True)
class Beside:
    """The code that does a step: ours, and that of torch.nn, which is empty where torch.nn has none."""

    ours: tuple[Passage, ...]
    torch: tuple[Passage, ...]


def one(function: Callable[..., Any], *statements: str, role: Role = "plain") -> tuple[Passage, ...]:
    """A passage by itself."""
    return (Passage(function, statements, role),)


@dataclass(frozen=True)
class Found:
    """The source of a passage.

    Attributes:
        title: the function's name, with its class and module.
        first: the number of its first line in the file.
        lines: of the whole function, as far to the left as they go.
        lit: which lines are the statements', from 0; none where they were not found.
        body: the first line behind the docstring.
    """

    title: str
    first: int
    lines: tuple[str, ...]
    lit: tuple[int, ...]
    body: int


@cache
def found(passage: Passage) -> Found:
    """Look a passage up in the source that is installed.

    Another version of torch than the one that this was written for may do the same in other words: nothing is lit then.

    Example:
        >>> found(Passage(textwrap.indent, ("return ''.join(prefixed_lines)",))).title
        'textwrap.indent'
    """
    lines, first = inspect.getsourcelines(passage.function)
    source = textwrap.dedent("".join(lines))
    try:
        lit = places(source, passage.statements)
    except LookupError:
        lit = ()
    title = f"{passage.function.__module__}.{passage.function.__qualname__}"
    return Found(title, first, tuple(source.splitlines()), lit, _behind_docstring(source))


def places(source: str, statements: tuple[str, ...]) -> tuple[int, ...]:
    """The lines, from 0, on which statements stand in a source.

    Raises:
        LookupError: one of them does not stand there exactly once.

    Example:
        >>> places("def f(x):\\n    y = (\\n        x + 1\\n    )\\n    return y", ("y = x + 1",))
        (1, 2, 3)
    """
    tree = ast.parse(source)
    lit: set[int] = set()
    for statement in statements:
        wanted = [ast.dump(one) for one in ast.parse(statement).body]
        same = [run[-1] for run in _runs(tree, len(wanted)) if [ast.dump(one) for one in run] == wanted]
        if len(same) != 1:
            raise LookupError(f"{statement!r} stands {len(same)} times in the source; wanted once.")
        lit.update(range(same[0].lineno - 1, same[0].end_lineno or same[0].lineno))
    return tuple(sorted(lit))


def _runs(tree: ast.AST, length: int) -> Iterator[list[ast.stmt]]:
    """All statements that follow each other, so many at a time."""
    for node in ast.walk(tree):
        for _, field in ast.iter_fields(node):
            if isinstance(field, list) and field and isinstance(field[0], ast.stmt):
                yield from (field[start : start + length] for start in range(len(field) - length + 1))


def _behind_docstring(source: str) -> int:
    (function,) = ast.parse(source).body
    assert isinstance(function, ast.FunctionDef)
    first = function.body[0]
    says = isinstance(first, ast.Expr) and ast.get_docstring(function) is not None
    return (first.end_lineno or 0) if says else 0
