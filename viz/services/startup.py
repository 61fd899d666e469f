"""What the app sets once for its whole process."""

import gc
import os
import threading

import torch

_lock = threading.Lock()
_done = False


def prepare_process() -> None:
    """Sets torch to one thread a call (threads that spin on shared cores make every visitor slower). Runs once."""
    global _done
    with _lock:
        if _done:
            return
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
        torch.set_num_threads(1)
        _done = True


def settle_memory() -> None:
    """Moves what is loaded out of the garbage collector's sight.

    Streamlit collects all generations after every rerun; with torch and a model loaded that walk costs 150 to 250 ms
    each time. Called after a model has been loaded, when the objects that stay for good are all there.
    """
    gc.collect()
    gc.freeze()
