"""What a page draws by itself in the browser, from numbers that it asks for as it needs them.

Its JavaScript stands in the folder ``browser``, one module a concept, and is served as files: a component's own text
would be sent again with every run of the page.
"""

from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal

import streamlit as st

FOLDER = Path(__file__).parent / "browser"
MODULES = "browser-modules"  # where app.py serves them
Page = Literal["bugs", "explorer", "inside", "masks", "positions"]


def _version() -> str:
    """Another one for other files, so that a browser never mixes old modules with new ones."""
    contents = (path.read_bytes() for path in sorted(FOLDER.rglob("*.js")))
    return blake2b(b"".join(contents), digest_size=8).hexdigest()


VERSION = _version()
_COMPONENT = st.components.v2.component(
    "headlight_page",
    html="<div class='page'></div>",
    css=(Path(__file__).parent / "browser.css").read_text(encoding="utf-8"),
    js=(
        "export default function (component) {\n"
        "  const loaded = import(new URL(component.data.modules, document.baseURI).href)\n"
        "  let close = null\n"
        "  loaded.then(({ mount }) => { close = mount(component) }, console.error)\n"
        "  return () => close?.()\n"
        "}\n"
    ),
)


def show(page: Page, data: dict[str, Any], key: str, on_change: Callable[[], None]) -> None:
    """Let the browser draw.

    Args:
        page: which module of ``browser/main.js`` draws.
        data: what it draws from, as JSON.
        on_change: called when the viewer moved something; ``st.session_state[key].state`` says where everything is.
    """
    told = {"page": page, "modules": address(MODULES, VERSION, "main.js"), **data}
    _COMPONENT(data=told, key=key, default={"state": None}, on_state_change=on_change, on_gone_change=lambda: None)


def address(*parts: str) -> str:
    """A path on this server."""
    base = str(st.get_option("server.baseUrlPath") or "").strip("/")
    return "/".join(["", *([base] if base else []), *parts])
