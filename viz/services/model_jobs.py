"""Bringing and loading of models beside the pages: one worker per model, whoever asks; it can be cancelled."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from attention_core.pretrained import bring
from attention_core.pretrained.progress import Stage
from viz.services.models import MEGABYTE, loaded_model


class Cancelled(Exception):
    """Nobody waits for the model any more."""


@dataclass
class Job:
    """One model on its way.

    Attributes:
        name: of the model.
        bring: whether it may be downloaded; else only what is here is loaded.
        stage: "start", "download", "convert" or "weights".
        done, total: of the stage: megabytes for "download", else tensors; 0 while it is not known.
        error: why it ended without a model; None while it runs and where it was cancelled.
        ended: set when the worker is through, one way or another.
        visitors: who waits for it.
    """

    name: str
    bring: bool
    stage: str = "start"
    done: float = 0.0
    total: float = 0.0
    error: Exception | None = None
    ended: threading.Event = field(default_factory=threading.Event)
    visitors: set[str] = field(default_factory=set)
    cancelled: bool = False

    def tell(self, stage: Stage, done: int, total: int) -> None:
        """How far the work is; ends it where nobody waits any more."""
        if self.cancelled:
            raise Cancelled
        unit = MEGABYTE if stage == "download" else 1
        self.stage, self.done, self.total = stage, done / unit, total / unit

    @property
    def fraction(self) -> float:
        """Of the stage, in [0, 1]."""
        return min(1.0, self.done / self.total) if self.total else 0.0


class Jobs:
    """The models on their way, for all visitors together."""

    def __init__(self, make: Callable[[Job], None]) -> None:
        self._make = make
        self._guard = threading.Lock()
        self._jobs: dict[str, Job] = {}

    def ask(self, name: str, visitor: str, *, bring: bool) -> Job:
        """The job of that model, begun if there is none; another visitor's is shared. Failed ones are begun anew."""
        with self._guard:
            job = self._jobs.get(name)
            if job is None or job.cancelled or job.ended.is_set():
                job = self._jobs[name] = Job(name, bring)
                threading.Thread(target=self._work, args=(job,), name=f"model {name}", daemon=True).start()
            job.visitors.add(visitor)
            return job

    def find(self, name: str) -> Job | None:
        """The job of that model, running or failed; None where there is none or it was cancelled."""
        with self._guard:
            job = self._jobs.get(name)
            return None if job is None or job.cancelled else job

    def leave(self, name: str, visitor: str) -> None:
        """This visitor waits no longer; the last one to leave ends the job, and forgets how it failed."""
        with self._guard:
            job = self._jobs.get(name)
            if job is None:
                return
            job.visitors.discard(visitor)
            if not job.visitors:
                job.cancelled = True
                del self._jobs[name]

    def _work(self, job: Job) -> None:
        try:
            self._make(job)
        except Cancelled:
            pass
        except Exception as error:  # whatever it is belongs on the page of whoever waits, not in this thread
            job.error = error
        finally:
            if job.error is None:
                with self._guard:
                    if self._jobs.get(job.name) is job:
                        del self._jobs[job.name]
            job.ended.set()


def _bring_and_load(job: Job) -> None:
    if job.bring:
        bring(job.name, progress=job.tell)
    loaded_model(job.name, progress=job.tell)


model_jobs = Jobs(_bring_and_load)
