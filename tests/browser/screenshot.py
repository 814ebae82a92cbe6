"""Make the pictures in README.md anew: ``make screenshot``."""

import tempfile
from pathlib import Path

from browsing import PROJECT, browsing, open_page, serving

PICTURES = {"light": "/?kind=cross&layer=2", "dark": "/?kind=decoder&layer=1&language=zh"}


def main() -> None:
    folder = PROJECT / "docs"
    folder.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as log,
        serving("dashboard/app.py", {}, Path(log) / "log.txt") as address,
        browsing() as browser,
    ):
        for scheme, link in PICTURES.items():
            page = browser.new_page(viewport={"width": 1280, "height": 800}, color_scheme=scheme, locale="en-US")
            open_page(page, address + link)
            page.wait_for_timeout(1000)  # fonts and the last paint
            page.screenshot(path=folder / f"{scheme}.png")
            print(folder / f"{scheme}.png")


if __name__ == "__main__":
    main()
