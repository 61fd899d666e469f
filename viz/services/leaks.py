"""The Debug page's behavioural proof: a model at hand, one input changed at a time, and which outputs moved."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from attention_core import masks
from attention_core.doctor.messages import spans
from attention_core.leaks import LeakReport, leak_test, leak_test_implementations
from viz.services.leak_models import Subject, prepare

INTENTS = ("causal", "full", "documents", "causal+documents", "padding", "causal+padding")
METHODS = ("change", "gradient")
LONGEST_TEXT = 600  # characters
_LISTED = 3  # inputs spelled out per kind of leak
_PASSES = 6  # of the model per implementation, about


class LeakError(ValueError):
    """A test that would prove nothing; ``code`` is "no_tokens", "one_document", "sentence" or "gradient"."""

    def __init__(self, code: str, reason: str = "") -> None:
        super().__init__(code)
        self.code, self.reason = code, reason


@dataclass(frozen=True)
class LeakWish:
    """What is tested: a model at hand, a text, the mask it applies, what was meant, and how inputs are changed."""

    model: str
    text: str
    mask: str
    intent: str
    method: str


@dataclass(frozen=True)
class Moved:
    """One input and the outputs that it moved though it may not: places, and the largest change."""

    input: str
    outputs: str
    largest: float


@dataclass(frozen=True)
class Said:
    """One finding: its code, how many cells, the first inputs, how many more there are; the core's own sentence."""

    code: str
    severity: str
    cells: int
    moved: tuple[Moved, ...]
    more: int
    message: str


@dataclass(frozen=True, eq=False)
class LeakView:
    """The matrix of one implementation, as arrays that nobody writes to.

    Attributes:
        change: (outputs, inputs) float32, how far each output moved at most; 0 where it moved less than the tolerance.
        share: the same as a share of the largest finite change.
        allowed: (outputs, inputs) bool, may depend. leaks: moved, though it may not.
        moved, leaked: how many cells.
        largest: the largest change of a leak, 0 without one.
        tolerance: the largest one of any output.
        said: findings, errors first.
        passed: no error among them.
    """

    change: np.ndarray
    share: np.ndarray
    allowed: np.ndarray
    leaks: np.ndarray
    moved: int
    leaked: int
    largest: float
    tolerance: float
    said: tuple[Said, ...]
    passed: bool


@dataclass(frozen=True, eq=False)
class LeakFound:
    """What came of a test.

    Attributes:
        wish: what was asked.
        labels: one per position. padded: bools.
        total: tokens of the text before it was cut.
        views: implementation -> its matrix.
        apart: implementation -> largest difference of its outputs from the first's.
        only: implementation -> leaks that the first does not have.
        passed: no error anywhere.
    """

    wish: LeakWish
    labels: tuple[str, ...]
    padded: tuple[bool, ...]
    total: int
    views: Mapping[str, LeakView]
    apart: Mapping[str, float]
    only: Mapping[str, int]
    differ: bool
    passed: bool


def leak_matrix(wish: LeakWish, progress: Callable[[float], None]) -> LeakFound:
    """Runs the test.

    Args:
        wish: what to test.
        progress: called with the share that is done, 0 to 1.

    Raises:
        LeakError: if the test would prove nothing.
        LoadError, BusyError: if the model cannot be used now.
    """
    parts = wish.intent.split("+")
    padded = "padding" in parts
    try:
        subject = prepare(wish.model, wish.text[:LONGEST_TEXT], wish.mask, padded=padded)
    except ValueError as error:
        raise LeakError("no_tokens") from error
    if "documents" in parts and bool(masks.packed(subject.documents).all()):
        raise LeakError("one_document")
    options: dict[str, Any] = {
        "expect": "causal" if "causal" in parts else "full",
        "method": wish.method,
        "vocabulary": subject.vocabulary,
    }
    if "documents" in parts:
        options["document_ids"] = subject.documents
    if padded:
        options["attention_mask"] = subject.real.long()
    done = _Counter(progress, _PASSES * len(subject.models))
    try:
        return _found(wish, subject, options, done)
    except ValueError as error:
        raise LeakError("gradient" if wish.method == "gradient" else "sentence", str(error)) from error


class _Counter:
    """Counts the passes of a model, about ``expected`` of them, and tells how far it is."""

    def __init__(self, progress: Callable[[float], None], expected: int) -> None:
        self.progress, self.expected, self.passes = progress, expected, 0

    def tick(self, *_: object) -> None:
        self.passes += 1
        self.progress(min(self.passes / self.expected, 0.95))

    def watched(self, model: Callable[..., Any]) -> Callable[..., Any]:
        """The model, telling of each pass; modules stay modules, so that their embeddings are found."""
        if isinstance(model, nn.Module):
            model.register_forward_hook(self.tick)
            return model

        def told(ids: torch.Tensor, attention_mask: torch.Tensor | None = None) -> Any:
            self.tick()
            return model(ids, attention_mask)

        return told


def _found(wish: LeakWish, subject: Subject, options: dict[str, Any], done: _Counter) -> LeakFound:
    models = {name: done.watched(model) for name, model in subject.models.items()}
    apart: Mapping[str, float] = {}
    differ = False
    if len(models) == 1:
        [(name, model)] = models.items()
        reports = {name: leak_test(model, subject.ids, **options)}
    else:
        both = leak_test_implementations(models.__getitem__, subject.ids, implementations=tuple(models), **options)
        reports, apart, differ = dict(both.reports), both.differences, bool(both.findings)
    causal = options["expect"] == "causal"
    views = {name: _view(report, subject, causal=causal) for name, report in reports.items()}
    first = next(iter(reports.values()))
    only = {name: int((report.leaks & ~first.leaks).sum()) for name, report in reports.items()}
    return LeakFound(
        wish=wish, labels=subject.labels, padded=tuple((~subject.real[0]).tolist()), total=subject.total, views=views,
        apart=apart, only=only, differ=differ, passed=not differ and all(view.passed for view in views.values()),
    )  # fmt: skip


def _view(report: LeakReport, subject: Subject, *, causal: bool) -> LeakView:
    change = report.change[0].float().masked_fill(~report.moved[0], 0.0).numpy()
    finite = change[np.isfinite(change)]
    largest = float(finite.max()) if finite.size and finite.max() > 0 else 1.0
    leaks = report.leaks[0].numpy()
    return LeakView(
        change=change, share=change / np.float32(largest), allowed=report.allowed[0].numpy(), leaks=leaks,
        moved=int(report.moved[0].sum()), leaked=int(leaks.sum()), largest=float(change[leaks].max(initial=0.0)),
        tolerance=float(report.tolerance.max()), passed=report.passed,
        said=tuple(_said(report, subject, change, causal=causal)),
    )  # fmt: skip


def _said(report: LeakReport, subject: Subject, change: np.ndarray, *, causal: bool) -> list[Said]:
    """The findings with their inputs and outputs by place and token; the first inputs alone are spelled out."""
    found = []
    kinds = _kinds(report, subject, causal)
    for finding in report.findings:
        cells = kinds.get(finding.code, np.zeros_like(change, dtype=bool))
        inputs = np.flatnonzero(cells.any(axis=0)).tolist()
        moved = []
        for j in inputs[:_LISTED]:
            outputs = np.flatnonzero(cells[:, j])
            largest = float(change[outputs, j].max())
            moved.append(Moved(f"{j} {subject.labels[j]}".strip(), spans(outputs.tolist()), largest))
        more = max(0, len(inputs) - _LISTED)
        found.append(Said(finding.code, finding.severity, finding.count, tuple(moved), more, finding.message))
    return found


def _kinds(report: LeakReport, subject: Subject, causal: bool) -> dict[str, np.ndarray]:
    """Code -> the leaking cells that it is about, each cell once, in the order of the core's own findings."""
    left = report.leaks[0].numpy()
    length = len(subject.labels)
    later = ~np.tri(length, dtype=bool)
    padding = np.broadcast_to(~subject.real[0].numpy(), (length, length))
    documents = subject.documents[0].numpy()
    kinds = {}
    for code, kind in (
        ("padding-visible", padding),
        ("future-visible", later & causal),
        ("document-visible", documents[:, None] != documents[None, :]),
        ("forbidden-visible", np.ones_like(left)),
    ):
        kinds[code] = left & kind
        left = left & ~kind
    return kinds


_CAUSAL = "from attention_core.testing import assert_causal\n\nassert_causal(model, ids)"
_FULL = 'from attention_core.leaks import leak_test\n\nprint(leak_test(model, ids, expect="full").matrix)'
_DOCUMENTS = """from attention_core.testing import assert_no_document_leak

assert_no_document_leak(model, ids, document_ids=documents, expect="{expect}")"""
_PADDING = """from attention_core.testing import assert_no_padding_leak

assert_no_padding_leak(model, ids, attention_mask=attention_mask, expect="{expect}")"""
_CODE = {"causal": _CAUSAL, "full": _FULL, "documents": _DOCUMENTS, "padding": _PADDING}


def own_code(intent: str) -> str:
    """The lines that make the same test on a model of one's own: ``model``, ``ids`` (batch, len) and what it needs."""
    return _CODE[intent.split("+")[-1]].format(expect="causal" if "causal" in intent else "full")
