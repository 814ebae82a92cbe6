"""The dashboard on the checkpoint that ships and on small ones beside it, seen in Chromium."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from browsing import SCREEN, blank, browsing, chromium, serving, watched
from playwright.sync_api import Browser, Page, expect
from small_checkpoint import write_alone, write_letters, write_small_checkpoint

from transformer.checkpoint import CHECKPOINTS

PATIENCE = 30_000  # milliseconds; a first page on a busy machine
expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if chromium() is None:
        if os.environ.get("CI") == "true":
            pytest.fail("Chromium is missing; .ci/run installs it.")
        pytest.skip("Chromium is missing: apt-get install chromium fonts-noto-cjk")
    with browsing() as opened:
        yield opened


@pytest.fixture(scope="session")
def checkpoint_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkpoints")
    for name in ("en-zh", "en-fr", "zh-en"):
        (folder / name).symlink_to(CHECKPOINTS / name)
    write_small_checkpoint(folder / "small")
    write_small_checkpoint(folder / "post", norm_first=False)
    write_letters(folder / "letters")
    write_alone(folder / "alone")
    return folder


@pytest.fixture(scope="session")
def address(checkpoint_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    log = tmp_path_factory.mktemp("server") / "log.txt"
    environment = {"HEADLIGHT_CHECKPOINTS": str(checkpoint_folder)}
    with serving("dashboard/app.py", environment, log) as address:
        yield address
    assert "Traceback" not in log.read_text()


@pytest.fixture(scope="session")
def tab(browser: Browser) -> Page:
    """One for all tests: a browser that has the dashboard's scripts at hand opens it three times as fast."""
    return blank(browser, PATIENCE)


@pytest.fixture
def page(tab: Page) -> Iterator[Page]:
    """The tab as if it were new: nothing of an earlier test is left in it, such as a sidebar that was folded."""
    if tab.url.startswith("http"):
        tab.evaluate("localStorage.clear()")
    tab.goto("about:blank")
    tab.mouse.move(0, 0)
    tab.set_viewport_size(SCREEN)
    tab.emulate_media(color_scheme="light")
    tab.set_default_timeout(PATIENCE)
    tab.unroute_all()
    with watched(tab) as page:
        yield page
