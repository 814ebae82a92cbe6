"""Make the pictures in README.md anew: ``make screenshot``."""

import tempfile
from pathlib import Path

from browsing import PROJECT, browsing, open_page, serving

PICTURES = {
    "light": "/?kind=cross&layer=2",
    "dark": "/?kind=decoder&layer=1&language=zh",
    "pair": "/?kind=encoder&layer=1&pair=3,3",
    "lines": "/?view=lines&kind=cross&layer=2&heads=2,3",
}


def main() -> None:
    folder = PROJECT / "docs"
    folder.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as log,
        serving("dashboard/app.py", {}, Path(log) / "log.txt") as address,
        browsing() as browser,
    ):
        for name, link in PICTURES.items():
            scheme = "dark" if name == "dark" else "light"
            page = browser.new_page(viewport={"width": 1280, "height": 800}, color_scheme=scheme, locale="en-US")
            open_page(page, address + link)
            page.wait_for_timeout(1000)  # fonts and the last paint
            page.screenshot(path=folder / f"{name}.png")
            print(folder / f"{name}.png")


if __name__ == "__main__":
    main()
