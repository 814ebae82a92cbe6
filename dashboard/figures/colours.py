"""One colour per kind of attention, on every page, in light and in dark."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Colours:
    """What a picture is painted with.

    Weights run from ``background`` (0) up to ``strong`` (full colour); numbers with a sign from ``negative`` over
    ``background`` to ``strong``.
    """

    background: str
    strong: str
    negative: str
    blocked: str
    text: str
    faint: str
    on_strong: str


_KINDS = {
    "light": {"encoder": "#2563eb", "decoder": "#7c3aed", "cross": "#c2590a", "other": "#0f766e"},
    "dark": {"encoder": "#6ea8fe", "decoder": "#b794f6", "cross": "#ff9f4a", "other": "#5eead4"},
}
_GROUND = {
    "light": {
        "background": "#ffffff",
        "blocked": "#dde2e8",
        "text": "#1f2328",
        "faint": "#57606a",
        "on_strong": "#ffffff",
    },
    "dark": {
        "background": "#0e1116",
        "blocked": "#343b45",
        "text": "#e6edf3",
        "faint": "#9aa4af",
        "on_strong": "#0e1116",
    },
}


def colours(kind: str, theme: str) -> Colours:
    """The colours of a kind of attention in the ``light`` or the ``dark`` theme."""
    opposite = "encoder" if kind == "cross" else "cross"  # orange is told from every other by every eye
    return Colours(strong=_KINDS[theme][kind], negative=_KINDS[theme][opposite], **_GROUND[theme])


def full_colour(keys: int) -> float:
    """The weight that gets the full colour: 1, or for long texts, among whose keys weights spread, one of a few steps.

    It depends on the number of keys alone, so that heads and layers can be compared; larger weights get it too.

    Example:
        >>> full_colour(12), full_colour(64), full_colour(150)
        (1.0, 0.5, 0.2)
    """
    return next(step for step in (0.02, 0.05, 0.1, 0.2, 0.5, 1.0) if step >= min(1.0, 16 / keys) or step == 1.0)
