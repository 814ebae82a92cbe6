"""A server of our own and a real Chromium, for tests, benchmarks and the pictures in README.md."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
from playwright.sync_api import Browser, Error, Locator, Page, Request, sync_playwright

PROJECT = Path(__file__).resolve().parents[2]
EXPLORER = ".explorer"


@contextmanager
def serving(script: str, environment: Mapping[str, str], log: Path) -> Iterator[str]:
    """Run an app as ``streamlit run`` does and give its address; what it prints goes to ``log``."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", script, "--server.port", str(port)]
    with log.open("w") as output:
        server = subprocess.Popen(
            command, cwd=PROJECT, env={**os.environ, **environment}, stdout=output, stderr=subprocess.STDOUT
        )
        try:
            address = f"http://127.0.0.1:{port}"
            _wait_until_healthy(server, address, log)
            yield address
        finally:
            server.terminate()
            server.wait(timeout=20)


def _wait_until_healthy(server: subprocess.Popen[bytes], address: str, log: Path) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if server.poll() is not None:
            raise RuntimeError(f"The server stopped:\n{log.read_text()}")
        try:
            urllib.request.urlopen(f"{address}/_stcore/health", timeout=5)
            return
        except OSError:
            time.sleep(0.2)
    raise TimeoutError(f"The server did not start:\n{log.read_text()}")


def chromium() -> str | None:
    """The path of an installed Chromium."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@contextmanager
def browsing() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium(),
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"],
        )
        yield browser
        browser.close()


SCREEN = {"width": 1280, "height": 800}


def blank(browser: Browser, patience: int) -> Page:
    """An empty page of its own.

    Args:
        patience: milliseconds to wait for what is expected on the page.
    """
    context = browser.new_context(viewport=SCREEN, locale="en-US")
    context.set_default_timeout(patience)
    return context.new_page()


@contextmanager
def watched(page: Page) -> Iterator[Page]:
    """The page, which fails on a JavaScript error or a request that leaves this machine."""
    faults: list[str] = []

    def failed(error: Error) -> None:
        faults.append(str(error))

    def requested(request: Request) -> None:
        if not _stays_here(request.url):
            faults.append(f"left this machine: {request.url}")

    page.on("pageerror", failed)
    page.on("request", requested)
    yield page
    page.remove_listener("pageerror", failed)
    page.remove_listener("request", requested)
    assert faults == []


def _stays_here(url: str) -> bool:
    return url.startswith(("http://127.0.0.1", "ws://127.0.0.1", "data:", "blob:"))


def link(address: str, **choices: object) -> str:
    """An address that opens the page with these choices."""
    return f"{address}/?{urlencode(choices)}"


def open_page(page: Page, address: str) -> None:
    """Go there and wait until a picture is painted."""
    page.goto(address)
    painted(page)


def painted(page: Page, name: str = "") -> str:
    """Wait until the explorer shows ``name`` (or anything) and give what it shows."""
    page.locator(f"{EXPLORER}[data-shown{f'*={name!r}' if name else ''}]").wait_for(state="attached")
    return page.locator(EXPLORER).get_attribute("data-shown") or ""


def shown(page: Page, what: str = "e.shown", where: str = EXPLORER) -> Any:
    """What the explorer painted last: ``shown.state``, ``.numbers`` (the selected head's first) and ``.picture``."""
    return page.locator(where).evaluate(f"(e) => {what}")


def cells(page: Page) -> np.ndarray:
    """The numbers (L, S) of the head that was painted last; not-a-number where the mask forbids a cell."""
    queries, keys, flat = shown(
        page, "(([one]) => [one.queries.length, one.keys.length, [...one.cells].map(String)])(e.shown.numbers)"
    )
    return np.array(flat, dtype=np.float64).reshape(queries, keys)


def labels(page: Page, side: str) -> list[str]:
    """What ``queries`` or ``keys`` of that head are called."""
    return shown(page, f"e.shown.numbers[0].{side}")


def until(page: Page, condition: str, argument: object = None, where: str = EXPLORER) -> None:
    """Wait for something to be true of what is shown: an expression of ``e``, the explorer, and ``argument``."""
    page.wait_for_function(
        f"""(argument) => {{
            const hosts = [...document.querySelectorAll("*")].filter((one) => one.shadowRoot)
            const e = hosts.map((one) => one.shadowRoot.querySelector("{where}")).find(Boolean)
            return e?.shown && ({condition})
        }}""",
        arg=argument,
    )


def slider(page: Page, number: int) -> Locator:
    """The layer's (0) or the head's (1) slider."""
    return page.locator(f"{EXPLORER} .sliders input").nth(number)


def plot(page: Page) -> dict[str, float]:
    """Where the cells of the main picture lie on the page: x, y, width, height; and rows and columns in view."""
    box = page.locator(f"{EXPLORER} canvas").first.bounding_box()
    inside = shown(page, "({...e.shown.picture.plot, seen: e.shown.picture.seen})")
    assert box
    return {
        "x": box["x"] + inside["x"],
        "y": box["y"] + inside["y"],
        "width": inside["width"],
        "height": inside["height"],
        "rows": inside["seen"]["rows"][1] - inside["seen"]["rows"][0],
        "columns": inside["seen"]["columns"][1] - inside["seen"]["columns"][0],
    }


def point_at(page: Page, row: float, column: float) -> tuple[float, float]:
    """Move the pointer over the middle of a cell, both counted from 0 within what is in view."""
    on = plot(page)
    place = (
        on["x"] + on["width"] * (column + 0.5) / on["columns"],
        on["y"] + on["height"] * (row + 0.5) / on["rows"],
    )
    page.mouse.move(*place)
    return place
