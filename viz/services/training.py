"""Training beside the pages: a thread per run, that can be paused, ends by itself, and stops with its visitor.

A run is one model, or two side by side. It computes in short turns; turns are given out by ``_TURNS``, so that all runs
together leave one processor to the other visitors. Everything random comes from the seed of each model, and turns fall
between steps: the numbers are the same with pauses, with other runs beside it, and without.
"""

import logging
import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import torch

from attention_core.training import IGNORED, Trainer, TrainingConfig, TrainingStopped

State = Literal["running", "paused", "stopped", "ended", "failed"]
LaneState = Literal["open", "learned", "limit", "broken"]

_log = logging.getLogger("headscope")
MOST_AT_ONCE = 3  # runs of all visitors together
MOST_STEPS = 300  # after which a run ends by itself; going on allows as many again
LAST_STEP = 1500  # and no further
LOOK_EVERY = 5  # steps between two checkpoints
MOST_MAPS = 32  # checkpoints whose attention is kept; beyond, every second one is dropped
PATIENCE = 10.0  # seconds that a run goes on after the last sign of its visitor
TURN = 0.06  # seconds of computing at a stretch
REST = 0.02  # seconds for everybody else between two turns
_PLACES = threading.BoundedSemaphore(MOST_AT_ONCE)
_TURNS = threading.BoundedSemaphore(max(1, (os.cpu_count() or 1) - 1))


class Busy(RuntimeError):
    """As many runs as are allowed at once are running already."""


@dataclass(frozen=True, eq=False)
class Seen:
    """Numbers of one checkpoint.

    Attributes:
        step: steps done.
        loss: on examples that are not trained on, in nats.
        accuracy: share of right answers.
        on_source: (layers, heads) float32, mean weight on the key that holds the answer.
        entropy: (layers, heads) float32, of the asked rows, as a share of the largest possible.
        similarity: (layers,) float32, mean cosine between two heads; NaN with one head.
        said: what the model answers in the example on screen, one word per question.
    """

    step: int
    loss: float
    accuracy: float
    on_source: np.ndarray
    entropy: np.ndarray
    similarity: np.ndarray
    said: tuple[str, ...]

    @property
    def best(self) -> tuple[int, int, float]:
        """(layer, head, weight on the answer) of the head that looks there most."""
        layer, head = np.unravel_index(int(self.on_source.argmax()), self.on_source.shape)
        return int(layer), int(head), float(self.on_source[layer, head])


@dataclass(eq=False)
class Lane:
    """One model of a run.

    Attributes:
        config: what it depends on.
        trainer: the model in training.
        seen: all checkpoints, without maps.
        maps: step -> (layers, heads, len, len) float32; thinned, the first and the last are always there.
        state: whether it still trains, and if not, why.
        broken_at: step since when the loss is no number; 0 while it is one.
        reached: step at which the goal was reached; 0 while it was not.
    """

    config: TrainingConfig
    trainer: Trainer = field(init=False)
    seen: list[Seen] = field(init=False, default_factory=list)
    maps: Mapping[int, np.ndarray] = field(init=False, default_factory=dict)
    state: LaneState = field(init=False, default="open")
    broken_at: int = field(init=False, default=0)
    reached: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.trainer = Trainer(self.config)
        self.look()

    @property
    def goal(self) -> float:
        """Share of right answers that counts as learned."""
        return self.trainer.task.goal

    def advance(self, limit: int) -> None:
        """One step, and a checkpoint where one is due; the state says when that was the last."""
        try:
            self.trainer.step()
        except TrainingStopped as error:
            self.state, self.broken_at = "broken", error.step
            return
        if self.trainer.steps % LOOK_EVERY == 0:
            self.look()
            if not self.reached and self.seen[-1].accuracy >= self.goal:
                self.reached, self.state = self.trainer.steps, "learned"
        if self.trainer.steps >= limit and self.state == "open":
            self.state = "limit"

    def look(self) -> None:
        """A checkpoint of the model as it is now."""
        trainer = self.trainer
        found = trainer.look()
        trainer.checkpoints.clear()  # kept here, thinned
        with torch.no_grad():
            logits, _ = trainer.model(trainer.test.ids[:1], keep=())
        asked = trainer.test.targets[0] != IGNORED
        words = trainer.task.classes or trainer.task.words
        self.seen.append(
            Seen(
                found.step,
                found.loss,
                found.accuracy,
                found.on_source.numpy(),
                found.entropy.numpy(),
                found.similarity.numpy(),
                tuple(words[i] for i in logits[0].argmax(-1)[asked].tolist()),
            )
        )
        maps = {**self.maps, found.step: found.weights.numpy()}
        if len(maps) > MOST_MAPS:
            steps = sorted(maps)
            maps = {step: maps[step] for step in [*steps[:-1:2], steps[-1]]}
        self.maps = maps  # put in place at once: the page reads from another thread

    def at(self, step: int) -> tuple[Seen, np.ndarray]:
        """The last checkpoint with maps at that step or before it, and the maps."""
        maps = self.maps  # the thread may put others in place meanwhile
        known = max(one for one in maps if one <= step)
        return next(seen for seen in self.seen if seen.step == known), maps[known]


class Training:
    """A run of one or two models.

    Attributes:
        lanes: the models.
        state: how it stands; "ended" when every model has learned, broken, or come to the limit.
        limit: step at which it ends by itself.
        error: what went wrong where it failed.
    """

    def __init__(self, *configs: TrainingConfig, wanted: Callable[[], bool] = lambda: True) -> None:
        """Sets the models up and looks at them once; ``start`` lets them run.

        Args:
            configs: one or two.
            wanted: False once the visitor is gone; asked between two turns, from the thread.
        """
        self.lanes = tuple(Lane(config) for config in configs)
        self.state: State = "paused"
        self.limit = MOST_STEPS
        self.error: Exception | None = None
        self._wanted = wanted
        self._halt: State | None = None
        self._thread: threading.Thread | None = None

    @property
    def step(self) -> int:
        """Steps of the model that is furthest."""
        return max(lane.trainer.steps for lane in self.lanes)

    @property
    def can_go_on(self) -> bool:
        """True where some model is not broken and not at the very last step."""
        open_ones = [lane for lane in self.lanes if lane.state != "broken" and lane.trainer.steps < LAST_STEP]
        return self.state in ("paused", "ended") and bool(open_ones)

    def start(self) -> None:
        """Runs on, at first or after a pause. A run that had ended goes on for as many steps again.

        Raises:
            Busy: if as many runs as are allowed at once are running.
        """
        if not self.can_go_on:
            return
        self.join()
        if not _PLACES.acquire(blocking=False):
            raise Busy(f"at most {MOST_AT_ONCE} runs train at once: all places are taken; try again in a moment")
        if self.state == "ended":
            self.limit = min(LAST_STEP, self.step + MOST_STEPS)
            for lane in self.lanes:
                if lane.state != "broken" and lane.trainer.steps < self.limit:
                    lane.state = "open"
        self._halt, self.state = None, "running"
        self._thread = threading.Thread(target=self._work, name="training", daemon=True)
        self._thread.start()

    def pause(self) -> None:
        """Halts after the step that is running; ``start`` goes on."""
        self._halt_with("paused")

    def stop(self) -> None:
        """Ends it after the step that is running; what was seen stays."""
        self._halt_with("stopped")

    def join(self, timeout: float | None = None) -> None:
        """Waits until its thread is through."""
        if self._thread is not None:
            self._thread.join(timeout)

    def _halt_with(self, state: State) -> None:
        if self.state == "running":
            self._halt = state
        elif self.state == "paused":
            self.state = state

    def _work(self) -> None:
        state: State = "failed"
        try:
            state = self._run()
        except Exception as error:  # whatever it is, the page of the visitor tells it
            _log.exception("a training run failed")
            self.error = error
        finally:
            _PLACES.release()
            self.state = state

    def _run(self) -> State:
        last_wanted = time.monotonic()
        while True:
            with _TURNS:
                end = time.monotonic() + TURN
                while time.monotonic() < end:
                    if self._halt is not None:
                        return self._halt
                    training = [lane for lane in self.lanes if lane.state == "open"]
                    if not training:
                        return "ended"
                    min(training, key=lambda lane: lane.trainer.steps).advance(self.limit)
            now = time.monotonic()
            if self._wanted():
                last_wanted = now
            elif now - last_wanted > PATIENCE:
                return "stopped"
            time.sleep(REST)
