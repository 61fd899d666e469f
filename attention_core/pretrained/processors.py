"""Processors are held by one pass each; everybody else waits, and is told so when it takes too long."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

WAIT_SECONDS = 120.0
_free = threading.BoundedSemaphore(os.cpu_count() or 1)


class BusyError(RuntimeError):
    """Every processor has been computing for other callers all the while."""


@contextmanager
def processor() -> Iterator[None]:
    """Waits for a free processor and holds it.

    Raises:
        BusyError: if none came free in two minutes.
    """
    if not _free.acquire(timeout=WAIT_SECONDS):
        raise BusyError(f"a run needs a free processor: all were taken for {WAIT_SECONDS:.0f} s; try again in a moment")
    try:
        yield
    finally:
        _free.release()
