"""Head maps in the making: one thread per map, that tells how far it is, can be stopped, and ends when nobody waits.

A finished map is kept by its whole request, so that a map is never shown for another text or other switches.
"""

import logging
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Literal

import numpy as np
from streamlit.runtime import exists, get_instance
from streamlit.runtime.scriptrunner import get_script_run_ctx

from attention_core.pretrained import Sample, Switches
from attention_core.pretrained.answers import masked_positions
from attention_core.pretrained.head_map import MEASURES as MEASURES
from attention_core.pretrained.head_map import HeadMapping, Measure, measures_of
from attention_core.runs import Call
from viz.services.models import loaded_model

State = Literal["running", "done", "cancelled", "failed"]

_log = logging.getLogger("headscope")
KEPT = 32
PATIENCE = 30.0  # seconds that a map is worked on after the last sign of whoever asked for it
_SLOTS = threading.BoundedSemaphore(max(1, (os.cpu_count() or 1) - 1))  # one processor is left to the other visitors


@dataclass(frozen=True)
class MapRequest:
    """What a map is of.

    Attributes:
        model: its name.
        text: one text.
        switches: on in every pass; ``ablation`` says what stands in a head's place.
        measure: what an effect is.
        target: of an encoder-decoder; None: what the model itself writes.
    """

    model: str
    text: Sample
    switches: Switches
    measure: Measure
    target: str | None = None


@dataclass(frozen=True, eq=False)
class MapResult:
    """A finished map.

    Attributes:
        request: what it is of.
        calls: one per row.
        values: (calls, heads) float64, NaN where there is no head; nobody writes to it.
        seconds: that it took.
        resumed: True where every pass began at the layer of its head.
    """

    request: MapRequest
    calls: tuple[Call, ...]
    values: np.ndarray
    seconds: float
    resumed: bool

    @property
    def count(self) -> int:
        """Heads of all layers."""
        return int((~np.isnan(self.values)).sum())

    def has(self, row: int, head: int) -> bool:
        """True where that row has such a head."""
        rows, heads = len(self.calls), self.values.shape[1]
        return row < rows and head < heads and not np.isnan(self.values[row, head])

    def off(self, pairs: Collection[tuple[str, int]]) -> np.ndarray:
        """(calls, heads) bool: which heads are among these pairs of call name and head."""
        rows = [[(call.name, head) in pairs for head in range(self.values.shape[1])] for call in self.calls]
        return np.array(rows)

    def strongest(self, count: int) -> tuple[tuple[int, int, float], ...]:
        """(row, head, effect) of the largest effects by size, the largest first."""
        sizes = np.abs(np.nan_to_num(self.values))
        order = np.argsort(-sizes, axis=None, kind="stable")[:count]
        places = zip(*np.unravel_index(order, self.values.shape), strict=True)
        return tuple((int(row), int(head), float(self.values[row, head])) for row, head in places)


_guard = threading.Lock()
_kept: OrderedDict[MapRequest, MapResult] = OrderedDict()


def measures(model: str) -> tuple[Measure, ...]:
    """What can be measured of a model, the usual one first."""
    return measures_of(loaded_model(model))


def obstacle(request: MapRequest) -> str:
    """Why the text has nothing to measure at: "mask" (no mask token in it), "short" (one token); "" where it has.

    Raises:
        LoadError, ValueError: as ``Model.read``.
    """
    model = loaded_model(request.model)
    batch = model.read(request.text)
    tokens = model._both_sides(batch, request.target)[1].tokens[0]
    if request.measure == "kl-masked" and not masked_positions(tokens, model.mask_id):
        return "mask"
    return "short" if request.measure == "nll" and len(tokens) < 2 else ""


def visitor_is_here() -> Callable[[], bool]:
    """A question that any thread may ask: is the visitor of this run of the script still connected?"""
    context = get_script_run_ctx(suppress_warning=True)
    if context is None or not exists():
        return lambda: True
    session = context.session_id
    return lambda: not exists() or get_instance().is_active_session(session)


def finished(request: MapRequest) -> MapResult | None:
    """The map of exactly this request, where there is one."""
    with _guard:
        if request in _kept:
            _kept.move_to_end(request)
        return _kept.get(request)


class MapJob:
    """One map in the making.

    Attributes:
        request: what is asked for.
        state: how it stands.
        done: heads that are ready; ``total``: all, 0 while it is not known yet.
        error: what went wrong, where it failed.
    """

    def __init__(self, request: MapRequest, *, wanted: Callable[[], bool] = lambda: True) -> None:
        """Starts at once.

        Args:
            request: what is asked for.
            wanted: False once whoever asked is gone; asked between two passes, from the thread.
        """
        self.request = request
        self.state: State = "running"
        self.done, self.total = 0, 0
        self.error: Exception | None = None
        self._cancelled = threading.Event()
        self._wanted, self._last_wanted = wanted, time.monotonic()
        self._thread = threading.Thread(target=self._work, name="head-map", daemon=True)
        self._thread.start()

    @property
    def cancelling(self) -> bool:
        """True from ``cancel`` on."""
        return self._cancelled.is_set()

    @property
    def share(self) -> float:
        """How much is done, 0 to 1."""
        return self.done / self.total if self.total else 0.0

    def cancel(self) -> None:
        """Ends the work after the pass that is running."""
        self._cancelled.set()

    def join(self, timeout: float | None = None) -> None:
        """Waits until the work has ended."""
        self._thread.join(timeout)

    def _work(self) -> None:
        while not _SLOTS.acquire(timeout=0.2):
            if self._ended():
                self.state = "cancelled"
                return
        try:
            made = self._make()
        except Exception as error:  # whatever it is, the page of whoever asked tells it
            _log.exception("a head map failed")
            self.error, self.state = error, "failed"
            return
        finally:
            _SLOTS.release()
        if made is None:
            self.state = "cancelled"
            return
        with _guard:
            _kept[self.request] = made
            while len(_kept) > KEPT:
                _kept.popitem(last=False)
        self.state = "done"

    def _make(self) -> MapResult | None:
        start = time.monotonic()
        asked = self.request
        if self._ended():
            return None
        mapping = HeadMapping(
            loaded_model(asked.model), asked.text, measure=asked.measure, switches=asked.switches, target=asked.target
        )
        self.total = mapping.total
        values = np.full((len(mapping.calls), max(mapping.heads.values())), np.nan)
        if self._ended():
            return None
        for effects in mapping:
            values[mapping.calls.index(effects.call), list(effects.heads)] = effects.values.numpy()
            self.done = effects.done
            if self._ended():
                return None
        values.flags.writeable = False
        return MapResult(asked, mapping.calls, values, time.monotonic() - start, mapping.resumes)

    def _ended(self) -> bool:
        now = time.monotonic()
        if self._wanted():
            self._last_wanted = now
        return self._cancelled.is_set() or now - self._last_wanted > PATIENCE
