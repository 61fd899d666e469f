"""What a leak test found, in tensors and in words."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from attention_core import masks

Method = Literal["change", "gradient"]
_WORDS = {
    "future-visible": ("future tokens are visible", "apply the causal mask before softmax, in every layer"),
    "padding-visible": ("padding is read", "hide padded keys with a (batch, 1, 1, k_len) mask before softmax"),
    "document-visible": (
        "packed documents read each other",
        "add a block-diagonal mask over documents; restarting position ids does not isolate them",
    ),
    "forbidden-visible": ("the outputs depend on inputs that they may not read", "compare the mask with the one meant"),
}

LISTED_CELLS = 20  # cells named per finding; the count is of all
_LISTED_INPUTS = 3  # inputs spelled out per sentence


@dataclass(frozen=True)
class LeakFinding:
    """One thing that a leak test found.

    Attributes:
        code: "future-visible", "padding-visible", "document-visible", "forbidden-visible", "samples-mixed",
            "padding-shifts", "implementations-differ", "not-finite", "nothing-moved" or "padding-not-compared".
        severity: "error" or "info".
        message: the sentence.
        remedy: what to do; empty where there is nothing to do.
        cells: the first of them, at most 20, as (sample, output, input).
        count: how many cells there are.
    """

    code: str
    severity: Literal["error", "info"]
    message: str
    remedy: str = ""
    cells: tuple[tuple[int, int, int], ...] = ()
    count: int = 0


@dataclass(frozen=True, eq=False)
class LeakReport:
    """Which outputs depend on which inputs, and whether they may.

    Attributes:
        change: (batch, q_len, k_len) float, how far output i moved at most when input j was changed (method "change"),
            or the norm of its gradient by input j (method "gradient"); inf where it became or ceased to be finite, NaN
            in columns that were not tested and where the gradient is NaN.
        moved: (batch, q_len, k_len) bool, ``change`` above ``tolerance``.
        allowed: (batch, q_len, k_len) bool, True = output i may depend on input j; rows of padding are all True.
        judged: (batch, q_len) bool, the outputs that count; padding does not.
        tested: (k_len,) bool, the inputs that were changed.
        tolerance: (batch, q_len) float, in the unit of ``change``.
        noise: largest difference between equal runs, 0 for a deterministic model.
        crossed: (batch, batch) bool, changing sample [row] moved an output of sample [column].
        output: (batch, q_len, features) of the unchanged inputs.
        method: "change" or "gradient".
        passes: how often the model ran, or ran backwards.
        findings: errors first.
    """

    change: Tensor
    moved: Tensor
    allowed: Tensor
    judged: Tensor
    tested: Tensor
    tolerance: Tensor
    noise: float
    crossed: Tensor
    output: Tensor
    method: Method
    passes: int
    findings: tuple[LeakFinding, ...]

    @property
    def leaks(self) -> Tensor:
        """(batch, q_len, k_len) bool: moved, though it may not."""
        return self.moved & ~self.allowed

    @property
    def unmoved(self) -> Tensor:
        """(batch, q_len, k_len) bool: might have moved, and did not; no fault by itself."""
        return self.allowed & ~self.moved & self.tested

    @property
    def matrix(self) -> Tensor:
        """(q_len, k_len) float: ``change``, the largest over the batch."""
        return self.change.amax(dim=0)

    @property
    def passed(self) -> bool:
        return all(finding.severity != "error" for finding in self.findings)

    @property
    def message(self) -> str:
        """All findings as text, one per line."""
        lines = [_line(finding) for finding in self.findings]
        if self.passed:
            tested = int(self.tested.sum())
            lines.insert(
                0, f"no leak: {tested} inputs {_done(self.method)}, {int(self.moved.sum())} cells moved, all allowed"
            )
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True, eq=False)
class ImplementationsReport:
    """The same leak test under several implementations of attention.

    Attributes:
        reports: implementation -> LeakReport, the reference first.
        skipped: implementation -> why it could not be run.
        differences: implementation -> largest difference of its outputs from the reference's, padding left out.
        findings: what only the comparison shows.
    """

    reports: Mapping[str, LeakReport]
    skipped: Mapping[str, str]
    differences: Mapping[str, float]
    findings: tuple[LeakFinding, ...]

    @property
    def passed(self) -> bool:
        sound = all(finding.severity != "error" for finding in self.findings)
        return sound and all(report.passed for report in self.reports.values())

    @property
    def message(self) -> str:
        """One block per implementation, then what the comparison says."""
        lines = [f"{name}: {line}" for name, report in self.reports.items() for line in report.message.splitlines()]
        lines += [f"{name}: not run: {why}" for name, why in self.skipped.items()]
        lines += [_line(finding) for finding in self.findings]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.message


def cell_finding(
    code: str, verdict: str, remedy: str, found: Tensor, change: Tensor, method: Method
) -> LeakFinding | None:
    """An error over all cells of ``found`` (batch, q_len, k_len); None where there is none."""
    count = int(found.sum())
    if not count:
        return None
    cells = tuple((b, i, j) for b, i, j in found.nonzero()[:LISTED_CELLS].tolist())
    return LeakFinding(code, "error", f"{said_by_input(found, change, method)}: {verdict}", remedy, cells, count)


def said_by_input(found: Tensor, change: Tensor, method: Method) -> str:
    """Says: changing input 3 moved outputs 0-2 (largest 0.41 at 1); for the first inputs, and how many more."""
    size = torch.where(found, change, -1.0).amax(dim=0)  # (q_len, k_len)
    inputs = [int(j) for j in found.any(dim=0).any(dim=0).nonzero()]
    pieces = []
    for j in inputs[:_LISTED_INPUTS]:
        outputs = (size[:, j] >= 0).nonzero().flatten().tolist()
        at = int(size[:, j].argmax())
        largest = f"(largest {said_number(float(size[at, j]))} at {at})"
        if method == "change":
            pieces.append(f"{'' if pieces else 'changing '}input {j} moved {said_places('output', outputs)} {largest}")
        else:
            depend = "depend" if len(outputs) > 1 else "depends"
            pieces.append(f"{said_places('output', outputs)} {depend} on input {j} by gradient {largest}")
    text = ", ".join(pieces)
    if len(inputs) > _LISTED_INPUTS:
        output, source = divmod(int(size.argmax()), size.shape[1])
        rest = len(inputs) - _LISTED_INPUTS
        text += (
            f" and {rest} more input{'s' * (rest > 1)} likewise ({int((size >= 0).sum())} cells in all, largest "
            f"{said_number(float(size.max()))}: input {source} on output {output})"
        )
    if found.shape[0] > 1:
        samples = found.flatten(1).any(dim=1).nonzero().flatten().tolist()
        text += f" in {said_places('sample', samples)}"
    return text


def said_places(noun: str, places: list[int]) -> str:
    """[0, 1, 2, 5] -> "outputs 0-2, 5"."""
    runs: list[list[int]] = []
    for place in places:
        if runs and place == runs[-1][1] + 1:
            runs[-1][1] = place
        else:
            runs.append([place, place])
    words = [str(a) if a == b else f"{a}-{b}" for a, b in runs]
    more = f", ... ({len(places)} in all)" if len(words) > 8 else ""
    return f"{noun}{'s' * (len(places) > 1)} {', '.join(words[:8])}{more}"


def said_number(value: float) -> str:
    """Two significant digits."""
    return f"{value:.2g}" if math.isfinite(value) else "NaN or infinite"


def _line(finding: LeakFinding) -> str:
    return f"{finding.message}; {finding.remedy}" if finding.remedy else finding.message


def _done(method: Method) -> str:
    return "changed" if method == "change" else "differentiated"


def leak_findings(
    leaks: Tensor, change: Tensor, method: Method, may: Tensor, document_ids: Tensor | None, real: Tensor | None
) -> Iterator[LeakFinding]:
    """One finding per kind of leak, a cell counting once; ``may`` is what judged outputs may read."""
    q_len, k_len = leaks.shape[1:]
    later = ~masks.causal(q_len, k_len).expand_as(leaks) if q_len <= k_len else torch.zeros_like(leaks)
    kinds = {
        "padding-visible": torch.zeros_like(leaks) if real is None else ~real[:, None, :].expand_as(leaks),
        "future-visible": later & ~(may & later).any(),
        "document-visible": torch.zeros_like(leaks)
        if document_ids is None
        else ~masks.packed(document_ids)[:, 0, k_len - q_len :].cpu().expand_as(leaks),
        "forbidden-visible": torch.ones_like(leaks),
    }
    for code, kind in kinds.items():
        verdict, remedy = _WORDS[code]
        finding = cell_finding(code, verdict, remedy, leaks & kind, change, method)
        leaks = leaks & ~kind
        if finding is not None:
            yield finding


def mixed_findings(crossed: Tensor) -> Iterator[LeakFinding]:
    """What changing one sample did to the others; ``crossed`` is (batch, batch) bool."""
    pairs = crossed.nonzero().tolist()
    if pairs:
        said = ", ".join(f"changing sample {a} moved sample {b}" for a, b in pairs[:3])
        more = f" and {len(pairs) - 3} more pairs" if len(pairs) > 3 else ""
        yield LeakFinding(
            "samples-mixed",
            "error",
            f"{said}{more}: samples of one batch read each other",
            "keep the batch axis apart when heads are folded into it or axes are turned",
            count=len(pairs),
        )


def not_finite_findings(output: Tensor, judged: Tensor) -> list[LeakFinding]:
    """NaN that is there before anything is changed: what such an output depends on cannot be seen."""
    broken = output.isnan().any(-1) & judged  # (batch, q_len)
    if not broken.any():
        return []
    places = said_places("output", broken.any(0).nonzero().flatten().tolist())
    samples = said_places("sample", broken.any(1).nonzero().flatten().tolist())
    text = f"{places} of {samples} hold NaN before anything is changed: what they depend on cannot be seen"
    remedy = "look for rows without an allowed key, and for overflow"
    return [LeakFinding("not-finite", "error", text, remedy, count=int(broken.sum()))]


def unseen_gradients(broken: Tensor) -> list[LeakFinding]:
    """Outputs (batch, q_len) whose gradient is NaN: one NaN row inside the model is enough for that, no leak."""
    if not broken.any():
        return []
    places = said_places("output", broken.any(0).nonzero().flatten().tolist())
    text = f"the gradient of {places} holds NaN: what they depend on cannot be seen"
    return [LeakFinding("not-finite", "error", text, 'use method="change"', count=int(broken.sum()))]
