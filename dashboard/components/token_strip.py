"""The sentence under a picture and the target's tokens, as text."""

from collections.abc import Sequence

import streamlit as st

from dashboard.components import javascript

_CSS = """
.caption { color: var(--st-text-color); margin-bottom: 0.6rem; white-space: pre-wrap; }
.caption .strong {
  font-weight: 600; color: var(--strong); font-family: 'Source Code Pro', 'Noto Sans Mono CJK SC', monospace;
}
.tokens { display: flex; flex-wrap: wrap; gap: 0.4rem; max-height: 6.6rem; overflow-y: auto; }
.tokens > div {
  display: flex; flex-direction: column; align-items: center; padding: 0.15rem 0.55rem;
  border: 1px solid var(--st-border-color); border-radius: 0.4rem;
}
.label { font-family: 'Source Code Pro', 'Noto Sans Mono CJK SC', monospace; white-space: pre; }
.probability { font-size: 0.78rem; opacity: 0.75; font-variant-numeric: tabular-nums; }
"""
_COMPONENT = st.components.v2.component(
    "headlight_token_strip",
    html="<div class='caption'></div><div class='tokens' role='list'></div>",
    css=_CSS,
    js=javascript("token_strip"),
)


def token_strip(
    caption: Sequence[tuple[str, bool]], tokens: Sequence[tuple[str, float]], title: str, strong: str, key: str
) -> None:
    """Show a sentence, and tokens with their probabilities.

    Args:
        caption: texts, and whether each stands out, in the colour ``strong``.
        title: what the probabilities are.
    """
    _COMPONENT(data={"caption": list(caption), "tokens": list(tokens), "title": title, "strong": strong}, key=key)
