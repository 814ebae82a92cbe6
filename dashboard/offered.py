"""Runs on offer: a page gives its run a key that nobody can guess, and the browser asks by it."""

import secrets
import threading
from collections import OrderedDict

from dashboard.mask_runs import Batch
from dashboard.runs import Answer
from dashboard.scenes import Scene

MOST_OFFERED = 32  # of all viewers together; a page whose run is gone runs again

Run = Answer | Batch | Scene
_offered: OrderedDict[str, Run] = OrderedDict()
_changing = threading.Lock()


def offer(run: Run) -> str:
    """The key under which the browser finds this run's numbers; the same for the same run."""
    with _changing:
        key = next((known for known, other in _offered.items() if other == run), None) or secrets.token_urlsafe(16)
        _offered[key] = run
        _offered.move_to_end(key)
        while len(_offered) > MOST_OFFERED:
            _offered.popitem(last=False)
    return key


def offered(key: str) -> Run | None:
    """The run under a key; None where it is gone, or never was."""
    return _offered.get(key)
