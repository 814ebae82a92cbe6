"""A place for what takes long to compute: one computes it, others wait; work that was broken off leaves nothing."""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

Value = TypeVar("Value")

LOOK_AROUND = 0.2  # seconds between two calls while somebody else computes


class Slot(Generic[Value]):
    """Empty until it is filled once.

    Example:
        >>> slot = Slot()
        >>> slot.fill(lambda: 7), slot.fill(lambda: 8)
        (7, 7)
    """

    def __init__(self) -> None:
        self._computing = threading.Lock()
        self._filled: tuple[Value] | None = None

    def fill(self, compute: Callable[[], Value], waiting: Callable[[], None] = lambda: None) -> Value:
        """What is in it, computed by whoever asks first.

        Args:
            compute: what it raises leaves the slot empty, for the next to compute.
            waiting: called again and again while somebody else computes; what it raises ends the waiting.
        """
        while self._filled is None:
            if self._computing.acquire(timeout=LOOK_AROUND):
                try:
                    self._filled = self._filled or (compute(),)
                finally:
                    self._computing.release()
            else:
                waiting()
        return self._filled[0]
