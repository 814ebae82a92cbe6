"""The server: ``streamlit run dashboard/app.py``.

It serves ``main.py`` to each browser and, beside it, the pages' JavaScript and the numbers that it asks for.
"""

import gc
import logging
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import streamlit as st
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

# Streamlit puts this folder on the path, not the project's.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from dashboard import served, shelf
from dashboard.components import browser
from dashboard.words import current_words


@asynccontextmanager
async def lifespan(app: st.App) -> AsyncIterator[None]:
    """Import what every page needs and load the first checkpoint before the first viewer comes.

    Streamlit collects garbage after every run of a page; frozen, what stands here is not walked each time.
    """
    import dashboard.views.attention  # noqa: F401  imports torch

    shelf.warm_up()
    gc.collect()
    gc.freeze()
    yield


def say_unexpected(error: Exception) -> bool:
    """Show one sentence in place of a traceback, and log the traceback."""
    logging.getLogger("headlight").exception("A page failed", exc_info=error)
    st.error(current_words()["unexpected"])
    return True


app = st.App(
    Path(__file__).resolve().parent / "main.py",
    # The version stands in the path, not behind it: modules import each other by relative paths.
    routes=[Mount(f"/{browser.MODULES}/{browser.VERSION}", StaticFiles(directory=browser.FOLDER)), served.ROUTE],
    lifespan=lifespan,
    on_script_error=say_unexpected,
)
