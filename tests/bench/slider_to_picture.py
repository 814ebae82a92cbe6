"""From the press of an arrow key on a slider to the painted picture, against an empty page in the same browser."""

import statistics
import tempfile
from pathlib import Path

from browsing import browsing, open_page, serving, slider
from playwright.sync_api import Page

from transformer.checkpoint import CHECKPOINTS, load_checkpoint

MOVES = 20
WORDS = "the old man and the sea and the cat on the mat saw a dog in the park with my friend from the city "

# The clock starts at the key and stops when the element says (or holds) something else.
CLOCK = """([selector, attribute]) => {
  window.moves = []
  let pressed = 0
  addEventListener("keydown", () => { pressed = performance.now() }, true)
  const watched = document.querySelector(selector)
  new MutationObserver(() => { if (pressed) { moves.push(performance.now() - pressed); pressed = 0 } }).observe(
    watched, attribute ? { attributeFilter: [attribute] } : { characterData: true, childList: true, subtree: true })
}"""


def medians() -> dict[str, float]:
    """Milliseconds, by page."""
    with tempfile.TemporaryDirectory() as folder, browsing() as browser:
        log = Path(folder)
        with (
            serving("tests/bench/empty_page.py", {}, log / "empty.txt") as empty,
            serving("dashboard/app.py", {"HEADLIGHT_CHECKPOINTS": str(CHECKPOINTS)}, log / "ours.txt") as ours,
        ):
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            page.goto(empty)
            page.wait_for_selector("[data-testid=stText]")
            measured = {"empty page": _median(page, 0, "[data-testid=stText]", None)}
            ids = load_checkpoint("en-zh").source_tokenizer
            for tokens in (16, 64, 150, 256):
                source = ids.text(ids.ids(WORDS * 12)[: tokens - 1])  # and the end token
                open_page(page, f"{ours}/?kind=encoder&layer=1&source={source.replace(' ', '+')}")
                length = page.evaluate("document.querySelector('.headlight-figure').data[0].z.length")
                measured[f"{length} tokens"] = _median(page, 1, ".headlight-figure", "data-shown")
    return measured


def _median(page: Page, number: int, selector: str, attribute: str | None) -> float:
    page.evaluate(CLOCK, [selector, attribute])
    keys = ["ArrowRight"] * 3 + ["ArrowLeft"] * 3
    for move in range(MOVES + 2):
        slider(page, number).press(keys[move % len(keys)])
        page.wait_for_function("(count) => moves.length >= count", arg=move + 1)
        page.wait_for_timeout(150)
    return statistics.median(page.evaluate("moves")[2:])


def main() -> None:
    measured = medians()
    floor = measured["empty page"]
    print(f"Slider to painted picture, medians of {MOVES} moves")
    for name, milliseconds in measured.items():
        print(f"  {name:12} {milliseconds:7.0f} ms  {milliseconds / floor:5.2f}x")


if __name__ == "__main__":
    main()
