"""The page without a browser, opened by an address."""

from pathlib import Path

from streamlit.testing.v1 import AppTest

import dashboard

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
