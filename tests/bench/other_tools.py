"""The same attention in BertViz, CircuitsVis and Headlight, in one browser, in one run: time to paint, bytes, nodes.

The encoder of en-zh (every layer and head) on texts of 64 to 512 tokens. BertViz draws its head view, which holds all
layers and shows one; CircuitsVis draws the heads of one layer; Headlight opens its page on the text and, a second row,
turns to the next head. The clock runs from the navigation to the last change of the page or the end of the last long
task, whichever is later. The others' pages are files that load their libraries from a folder, as fast as a browser can.

What it needs beside the development requirements stands in a folder of its own:

    pip install --target OTHER --no-deps bertviz==1.4.1 circuitsvis==1.43.3 mpld3==0.5.12 nbclassic==1.3.3
    pip install --target OTHER ipython importlib-metadata
    PYTHONPATH=.:tests/browser:OTHER .venv/bin/python tests/bench/other_tools.py OTHER
"""

import math
import re
import statistics
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import unquote, urlparse

import torch
from browsing import browsing, link, open_page, serving, slider
from playwright.sync_api import Browser, Error, Page, Response, Route, TimeoutError

from transformer import load_checkpoint, record
from transformer.checkpoint import CHECKPOINTS

LENGTHS = (64, 128, 256, 512)
TURNS = 3  # the shortest text is opened so often, and the median counts; longer ones once
PATIENCE = 120_000  # milliseconds, after which a page is given up
QUIET = 1500  # milliseconds without a change, after which a page is taken for painted
WORDS = "the old man and the sea and the cat on the mat saw a dog in the park with my friend from the city "

ENVIRONMENT = {"HEADLIGHT_CHECKPOINTS": str(CHECKPOINTS)}

CLOCK = """
window.lastChange = 0
const changed = () => { window.lastChange = performance.now() }
new PerformanceObserver((list) => {
  for (const task of list.getEntries()) window.lastChange = Math.max(window.lastChange, task.startTime + task.duration)
}).observe({ type: "longtask", buffered: true })
const everything = { childList: true, subtree: true, attributes: true, characterData: true }
const watch = (root) => new MutationObserver(changed).observe(root, everything)
watch(document)
const attach = Element.prototype.attachShadow
Element.prototype.attachShadow = function (options) {
  const root = attach.call(this, options)
  watch(root)
  return root
}
"""
NODES = """() => {
  const count = (root) =>
    [...root.querySelectorAll("*")].reduce((sum, one) => sum + 1 + (one.shadowRoot ? count(one.shadowRoot) : 0), 0)
  return count(document)
}"""


def pages_of(other: Path, folder: Path, length: int) -> tuple[dict[str, Path], str]:
    """The others' pages as files, and the text that was read."""
    from bertviz import head_view
    from circuitsvis.attention import attention_patterns

    asked = load_checkpoint("en-zh")
    text = asked.source_tokenizer.text(asked.source_tokenizer.ids(WORDS * 40)[: length - 1])
    ids = asked.source_ids(text)
    with torch.inference_mode(), record(asked.model) as recording:
        asked.model.encode(torch.tensor([ids]))
    patterns = [recording.pattern(site) for site in recording.sites]
    tokens = asked.source_tokenizer.labels(ids)
    pages = {"BertViz head view": head_view([one[None] for one in patterns], tokens, html_action="return").data}
    pages["CircuitsVis, one layer"] = attention_patterns(tokens=tokens, attention=patterns[0]).local_src
    written = {}
    for name, content in pages.items():
        written[name] = folder / f"{name.split()[0]}.{length}.html"
        written[name].write_text(f"<!doctype html><meta charset=utf-8><body>{content}</body>", encoding="utf-8")
    return written, text


def libraries(page: Page, other: Path) -> None:
    """Give the page what it would fetch from a network."""
    files = {
        "require.js": "nbclassic/static/components/requirejs/require.js",
        "d3.min": "mpld3/js/d3.v5.min.js",
        "jquery": "nbclassic/static/components/jquery/jquery.min.js",
    }

    def answer(route: Route) -> None:
        url = route.request.url.replace("require.min", "require.js")
        found = next((path for name, path in files.items() if name in url), None)
        route.fulfill(path=other / found) if found else route.abort()

    page.route(re.compile("^https://"), answer)


def measure(browser: Browser, address: str, other: Path, ours: bool) -> tuple[float, int, int]:
    """Milliseconds to paint, bytes, nodes."""
    context = browser.new_context(viewport={"width": 1400, "height": 900}, locale="en-US")
    context.add_init_script(CLOCK)
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    received = [0]
    page.on("response", lambda response: received.append(_size(response)))
    page.on("websocket", lambda socket: socket.on("framereceived", lambda frame: received.append(len(frame))))
    libraries(page, other)
    try:
        if ours:
            open_page(page, address)
        else:
            page.goto(address)
        page.wait_for_function("(quiet) => performance.now() - window.lastChange > quiet", arg=QUIET, polling=200)
        return page.evaluate("window.lastChange"), sum(received), page.evaluate(NODES)
    except TimeoutError:
        return math.inf, sum(received), 0
    finally:
        context.close()


def _size(response: Response) -> int:
    if response.url.startswith("file:"):
        return Path(unquote(urlparse(response.url).path)).stat().st_size
    try:
        return len(response.body())
    except Error:  # a redirect or an aborted request has no body
        return 0


def next_head(browser: Browser, address: str) -> float:
    """Milliseconds from a key on the head's slider to the painted picture."""
    page = browser.new_page(viewport={"width": 1400, "height": 900}, locale="en-US")
    open_page(page, address)
    page.wait_for_timeout(1500)
    page.locator(".explorer").evaluate(
        """(e) => {
            window.moves = []
            let pressed = 0
            addEventListener("keydown", () => { pressed = performance.now() }, true)
            new MutationObserver(() => { if (pressed) { moves.push(performance.now() - pressed); pressed = 0 } })
              .observe(e, { attributeFilter: ["data-shown"] })
        }"""
    )
    for move in range(7):
        slider(page, 1).press("ArrowRight" if move % 6 < 3 else "ArrowLeft")
        page.wait_for_function("(count) => moves.length >= count", arg=move + 1)
        page.wait_for_timeout(300)
    milliseconds = statistics.median(page.evaluate("moves")[1:])
    page.close()
    return milliseconds


def main(other: Path) -> None:
    print(f"{'':26} tokens   to paint      bytes     nodes")
    with (
        tempfile.TemporaryDirectory() as temporary,
        browsing() as browser,
        serving(
            "dashboard/app.py", {"HEADLIGHT_CHECKPOINTS": str(CHECKPOINTS)}, Path(temporary) / "log.txt"
        ) as address,
    ):
        for length in LENGTHS:
            pages, text = pages_of(other, Path(temporary), length)
            ours = link(address, kind="encoder", layer=1, head=1, source=text)
            rounds: dict[str, list[tuple[float, int, int]]] = {}
            for _ in range(TURNS if length == LENGTHS[0] else 1):
                for name, path in pages.items():
                    rounds.setdefault(name, []).append(measure(browser, path.as_uri(), other, ours=False))
                rounds.setdefault("Headlight, all views", []).append(measure(browser, ours, other, ours=True))
            for name, found in rounds.items():
                milliseconds, size, nodes = (statistics.median(column) for column in zip(*found, strict=True))
                print(f"{name:26} {length:6} {milliseconds:8,.0f} ms {size / 1e6:7.1f} MB {nodes:9,.0f}", flush=True)
            print(f"{'Headlight, the next head':26} {length:6} {next_head(browser, ours):8,.0f} ms", flush=True)


if __name__ == "__main__":
    began = time.monotonic()
    main(Path(sys.argv[1]))
    print(f"{time.monotonic() - began:.0f} s in all")
