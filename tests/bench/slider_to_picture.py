"""From an arrow key on a slider, or a click on a page's name, to the painted picture, against an empty page."""

import statistics
import tempfile
from dataclasses import replace
from pathlib import Path

from browsing import EXPLORER, browsing, link, open_page, serving, shown, slider
from playwright.sync_api import Locator, Page

from transformer.checkpoint import CHECKPOINTS, load_checkpoint, save_checkpoint
from transformer.text_model import TextTransformer

MOVES = 20
HELD = 30  # presses of a held key, as fast as a keyboard repeats
REPEAT = 33  # milliseconds
WORDS = "the old man and the sea and the cat on the mat saw a dog in the park with my friend from the city "

# The clock starts at the key and stops when the element says (or holds) something else.
CLOCK = """(watched, attribute) => {
  window.moves = []
  window.pressed = 0
  addEventListener("keydown", () => { pressed = performance.now() }, true)
  new MutationObserver(() => { if (pressed) { moves.push(performance.now() - pressed); pressed = 0 } }).observe(
    watched, attribute ? { attributeFilter: [attribute] } : { characterData: true, childList: true, subtree: true })
}"""


# From the click on a page's name to the page's picture, whichever element it is in.
SWITCH = """(name) => new Promise((done) => {
  const inside = ({ shadowRoot }) => shadowRoot?.querySelector(".page[data-shown]")
  const shown = () => [...document.querySelectorAll("*")].map(inside).find(Boolean)
  const before = shown(), start = performance.now()
  const look = () => {
    const now = shown()
    if (now && now !== before) done(performance.now() - start)
    else requestAnimationFrame(look)
  }
  const tabs = [...document.querySelectorAll(".st-key-pages button")]
  tabs.find((tab) => tab.textContent === name).click()
  look()
})"""


def medians() -> dict[str, float]:
    """Milliseconds, by page."""
    with tempfile.TemporaryDirectory() as folder, browsing() as browser:
        log = Path(folder)
        environment = {"HEADLIGHT_CHECKPOINTS": str(_checkpoints(log / "checkpoints"))}
        with (
            serving("tests/bench/empty_page.py", {}, log / "empty.txt") as empty,
            serving("dashboard/app.py", environment, log / "ours.txt") as ours,
        ):
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            page.goto(empty)
            text = page.locator("[data-testid=stText]")
            text.wait_for()
            measured = {"empty page": _median(page, page.get_by_role("slider"), text, None)}
            for tokens in (16, 64, 150, 256, 512):
                _open(page, ours, tokens, view="heat")
                measured[f"heat map, {_length(page)} tokens"] = _explored(page)
            _open(page, ours, 64, view="lines")
            measured[f"lines, {_length(page)} tokens"] = _explored(page)
            _open(page, ours, 64, view="heads", checkpoint="deep")
            heads = shown(page, "e.shown.picture.tiles.length")
            measured[f"overview of {heads} heads, {_length(page)} tokens"] = _explored(page)
            for tokens in (64, 512):
                _open(page, ours, tokens, view="heat")
                measured[f"held key: last picture, {_length(page)} tokens"] = _held(page)
            _open(page, ours, 16, view="heat")
            for name in ("Mask lab", "Inside a layer", "Positions", "Theatre of bugs"):
                there, back = _switched(page, name)
                measured[f"page switch: {name}"] = there
                measured[f"page switch: Attention, from {name}"] = back
        return measured


def _checkpoints(folder: Path) -> Path:
    """Those that ship, and one of 48 heads: 4 + 4 layers of 4 heads, in three kinds."""
    folder.mkdir()
    for one in CHECKPOINTS.iterdir():
        (folder / one.name).symlink_to(one)
    asked = load_checkpoint("en-zh")
    deep = TextTransformer(replace(asked.config, num_encoder_layers=4, num_decoder_layers=4)).eval()
    save_checkpoint(folder / "deep", deep, asked.source_tokenizer, asked.target_tokenizer)
    return folder


def _switched(page: Page, name: str) -> tuple[float, float]:
    """There, and back to the page of attention."""
    times: list[tuple[float, float]] = []
    for _ in range(MOVES + 2):
        pair = []
        for to in (name, "Attention"):
            pair.append(page.evaluate(SWITCH, to))
            page.wait_for_timeout(150)
        times.append((pair[0], pair[1]))
    there, back = zip(*times[2:], strict=True)
    return statistics.median(there), statistics.median(back)


def _open(page: Page, address: str, tokens: int, view: str, checkpoint: str = "en-zh") -> None:
    ids = load_checkpoint("en-zh").source_tokenizer
    source = ids.text(ids.ids(WORDS * 24)[: tokens - 1])  # and the end token
    open_page(page, link(address, kind="encoder", layer=1, head=1, view=view, source=source, checkpoint=checkpoint))
    page.locator(f"{EXPLORER}[data-overview]").wait_for(state="attached")
    page.wait_for_timeout(1000)


def _length(page: Page) -> int:
    return shown(page, "e.shown.numbers[0].queries.length")


def _explored(page: Page) -> float:
    return _median(page, slider(page, 1), page.locator(EXPLORER), "data-shown")


def _median(page: Page, control: Locator, watched: Locator, attribute: str | None) -> float:
    watched.evaluate(CLOCK, attribute)
    keys = ["ArrowRight"] * 3 + ["ArrowLeft"] * 3
    for move in range(MOVES + 2):
        control.press(keys[move % len(keys)])
        page.wait_for_function("(count) => moves.length >= count", arg=move + 1)
        page.wait_for_timeout(150)
    return statistics.median(page.evaluate("moves")[2:])


def _held(page: Page) -> float:
    """From the last press of a key held down to the last picture: how far behind the page has fallen."""
    watched, control = page.locator(EXPLORER), slider(page, 1)
    watched.evaluate(
        """(watched) => {
            window.last = { pressed: 0, painted: 0 }
            addEventListener("keydown", () => { last.pressed = performance.now() }, true)
            const painted = () => { last.painted = performance.now() }
            new MutationObserver(painted).observe(watched, { attributeFilter: ["data-shown"] })
        }"""
    )
    control.focus()
    for press in range(HELD):
        page.keyboard.press("ArrowRight" if press % 6 < 3 else "ArrowLeft")
        page.wait_for_timeout(REPEAT)
    page.wait_for_timeout(1500)
    return page.evaluate("last.painted - last.pressed")


def main() -> None:
    measured = medians()
    floor = measured["empty page"]
    print(f"Slider to painted picture, medians of {MOVES} moves")
    for name, milliseconds in measured.items():
        print(f"  {name:40} {milliseconds:7.1f} ms  {milliseconds / floor:5.2f}x")


if __name__ == "__main__":
    main()
