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

from playwright.sync_api import Browser, Locator, Page, sync_playwright

PROJECT = Path(__file__).resolve().parents[2]
FIGURE = ".headlight-figure"


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


def open_page(page: Page, address: str) -> None:
    """Go there and wait until the figure is painted."""
    page.goto(address)
    painted(page)


def painted(page: Page, name: str = "") -> str:
    """Wait until the figure shows ``name`` (or anything) and give what it shows."""
    page.wait_for_function(
        "([figure, name]) => document.querySelector(figure)?.dataset.shown?.includes(name)", arg=[FIGURE, name]
    )
    return page.locator(FIGURE).get_attribute("data-shown") or ""


def cells(page: Page, name: str = "weights") -> list[list[float]] | None:
    """The numbers of one of the figure's traces, as the browser holds them; None for a missing trace."""
    return page.evaluate(
        """([figure, name]) => {
            const trace = document.querySelector(figure).data.find((one) => one.name === name)
            return trace ? trace.z.map((row) => Array.from(row)) : null
        }""",
        [FIGURE, name],
    )


def axis(page: Page, name: str) -> list[str]:
    """The labels along ``xaxis`` or ``yaxis``, in order, as they are drawn."""
    return page.locator(f"{FIGURE} .{name[0]}tick text").evaluate_all(
        "(texts) => texts.map((text) => text.textContent)"
    )


def slider(page: Page, number: int) -> Locator:
    """The layer's (0) or the head's (1) slider."""
    return page.get_by_role("slider").nth(number)
