"""The page without a browser, opened by an address."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from streamlit.testing.v1 import AppTest

import dashboard
from dashboard.linked import state_of

MAIN = str(Path(dashboard.__file__).parent / "main.py")


def opened(**url: str) -> AppTest:
    """The page after its first run."""
    page = AppTest.from_file(MAIN, default_timeout=60)
    for name, value in url.items():
        page.query_params[name] = value
    page.run()
    assert not page.exception, page.exception
    return page


def control(page: AppTest, key: str):
    """A row of buttons."""
    return next(one for one in page.get("button_group") if one.key == key)


def explorer(page: AppTest) -> dict[str, Any]:
    """What the explorer's JavaScript is given."""
    (component,) = (one for one in page.get("bidi_component") if one.proto.component_name == "headlight_page")
    return json.loads(component.proto.json)


def look(page: AppTest) -> dict[str, Any]:
    """What the explorer shows."""
    return explorer(page)["state"]


def moved(page: AppTest, **changes: Any) -> AppTest:
    """The page after the viewer moved something in the explorer."""
    at = state_of("explorer")
    page.session_state[at] = replace(page.session_state[at], **changes)
    page.run()
    assert not page.exception, page.exception
    return page
