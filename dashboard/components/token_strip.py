"""The sentence under a picture and the target's tokens, as text."""

from collections.abc import Sequence

import streamlit as st

from dashboard.components import javascript

_CSS = """
.caption { color: var(--st-text-color); margin-bottom: 0.6rem; white-space: pre-wrap; }
.caption .strong, .label { unicode-bidi: isolate; }
.caption .strong {
  font-weight: 600; color: var(--strong); font-family: 'Source Code Pro', 'Noto Sans Mono CJK SC', monospace;
}
.row { display: flex; gap: 0.8rem; align-items: center; }
.title { flex: none; max-width: 7rem; font-size: 0.78rem; line-height: 1.2; opacity: 0.75; }
.tokens { min-width: 0; display: flex; gap: 0.4rem; overflow-x: auto; padding-bottom: 0.2rem; }
.tokens > div {
  flex: none; display: flex; flex-direction: column; align-items: center; padding: 0.15rem 0.55rem;
  border: 1px solid var(--st-border-color); border-radius: 0.4rem;
}
.tokens > div.guess { border-style: dashed; margin-left: 0.4rem; }
.label { font-family: 'Source Code Pro', 'Noto Sans Mono CJK SC', monospace; white-space: pre; }
.probability { font-size: 0.78rem; opacity: 0.75; font-variant-numeric: tabular-nums; }
.many { gap: 0.15rem; }
.many > div { padding: 0.15rem 0.2rem; }
.many .probability { font-size: 0.68rem; }
"""
_COMPONENT = st.components.v2.component(
    "headlight_token_strip",
    html=(
        "<div class='caption'></div>"
        "<div class='row'><div class='title' id='title'></div>"
        "<div class='tokens' role='group' aria-labelledby='title'></div></div>"
    ),
    css=_CSS,
    js=javascript("token_strip"),
)


def token_strip(
    caption: Sequence[tuple[str, bool]],
    tokens: Sequence[tuple[str, float]],
    guessed: bool,
    title: str,
    strong: str,
    key: str,
) -> None:
    """Show a sentence, and tokens with their probabilities.

    Args:
        caption: texts, and whether each stands out, in the colour ``strong``.
        guessed: the last token is the model's guess, no part of the text, and is drawn apart.
        title: what the probabilities are.
    """
    data = {"caption": list(caption), "tokens": list(tokens), "guessed": guessed, "title": title, "strong": strong}
    _COMPONENT(data=data, key=key)
