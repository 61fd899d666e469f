"""The Debug page's evidence: arrays of a file, a text or an example, the doctor's report, and every cell's verdict."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from torch import Tensor

from attention_core.doctor import MESSAGES, Finding, RecordingReport, Report, diagnose_recording
from attention_core.doctor.inputs import read_tokens
from attention_core.doctor.messages import said
from attention_core.exchange import FileRefused, parse_paste
from attention_core.faults import CATALOGUE
from attention_core.intake import Case, Intake, Masks
from viz.services.debug_files import LIMITS

MOST_CELLS = 2_000_000  # weights of one call, which the doctor takes seconds for
MOST_ROWS = 2000  # of the table of cells
EXPECTATIONS = ("infer", "causal", "bidirectional", "window", "prefix", "chunk", "packed", "cache", "mask")
SIZED = ("window", "prefix", "chunk")
VERDICTS = ("ok", "leak", "blocked", "nan")
OK, LEAK, BLOCKED, NAN = range(4)
Place = tuple[int, int, int | None, int | None]  # sample, head, query, key; None: the whole row or column
_BLOCKING = {"wrongly-blocked", "complement", "rows-lost", "top-left", "mask-query-axis", "mask-complement"}


class DebugError(ValueError):
    """Something typed cannot be taken; ``control`` says which, ``code`` why, ``values`` what came."""

    def __init__(self, control: str, code: str, **values: object) -> None:
        super().__init__(f"{control}: {code}")
        self.control, self.code, self.values_of_text = control, code, values


@dataclass(frozen=True)
class Wish:
    """What is meant, as it is chosen and typed on the page.

    Attributes:
        expect: one of ``EXPECTATIONS``; "infer" leaves it to what the file says, or to the weights.
        size: of window, prefix or chunk.
        padding: some keys are padding. lengths: valid keys per sample, typed; "" where the file says them. side: where.
        documents: document ids, one line per sample, typed.
        drawing: the intended mask, pasted.
        scale: factor on the scores, None: 1 / sqrt(d_k), or what the file says.
    """

    expect: str = "infer"
    size: int = 4
    padding: bool = False
    lengths: str = ""
    side: str = "right"
    documents: str = ""
    drawing: str = ""
    scale: float | None = None


@dataclass(frozen=True, eq=False)
class Examined:
    """One call with its report; ``masks`` as they were read for it."""

    case: Case
    report: Report
    masks: Masks


@dataclass(frozen=True, eq=False)
class CellView:
    """One map, cell by cell, as arrays that nobody writes to.

    Attributes:
        values: (q_len, k_len) float32, what is coloured: ``kind`` says which.
        kind: "observed" or "recomputed" weights, or "applied" or "intended": a mask as 1 and 0.
        intended, applied: (q_len, k_len) bool, or None where not known. ``applied_known``: it was given, not read off
            the weights.
        shown_applied: what the picture takes as applied: True wherever nobody knows better.
        verdicts: (q_len, k_len) uint8, indices of ``VERDICTS``; None where nothing is known to have been meant.
        query_tokens, key_tokens: labels, "" where there are none.
        padded_queries, padded_keys: bools.
        counts: verdict -> cells.
    """

    values: np.ndarray
    kind: str
    intended: np.ndarray | None
    applied: np.ndarray | None
    applied_known: bool
    shown_applied: np.ndarray | None
    verdicts: np.ndarray | None
    query_tokens: tuple[str, ...]
    key_tokens: tuple[str, ...]
    padded_queries: tuple[bool, ...]
    padded_keys: tuple[bool, ...]
    counts: Mapping[str, int]

    @property
    def drawable(self) -> bool:
        """Whether its masks can be drawn cell by cell."""
        return max(self.values.shape) <= 64


# ---------------------------------------------------------------------------------------------------------------------
# what was meant, and what the doctor says


def examine(case: Case, wish: Wish) -> Examined:
    """The doctor's report on one call.

    Raises:
        DebugError: if something typed cannot be read.
        TypeError, ValueError: of the doctor, in one sentence.
    """
    expect, more = _intent(wish, case)
    _check_size(case, more)
    return Examined(case, case.diagnose(expect, **more), case.masks(expect, **more))


def _intent(wish: Wish, case: Case) -> tuple[str | None, dict[str, Any]]:
    more: dict[str, Any] = {} if wish.scale is None else {"scale": wish.scale}
    words = [] if wish.expect in ("infer", "mask") else [wish.expect]
    if wish.expect in SIZED:
        words = [f"{wish.expect}={wish.size}"]
    if wish.expect == "packed":
        words.append("causal")
        if wish.documents.strip():
            more["document_ids"] = _id_rows(wish.documents)
        elif not {"document_ids", "position_ids"} & set(case.arrays):
            raise DebugError("documents", "documents_missing")
    if wish.expect == "mask":
        try:
            meant = parse_paste(wish.drawing, limits=replace(LIMITS, text_bytes=2**20))
        except FileRefused as error:
            raise DebugError("drawing", "sentence", reason=str(error)) from None
        if not bool(((meant == 0) | (meant == 1)).all()):
            raise DebugError("drawing", "zero_one")
        more |= {"allowed": meant.bool(), "lengths": None, "document_ids": None}  # it says all that is meant
    if (wish.padding and wish.expect != "mask") or wish.expect == "cache":
        if wish.lengths.strip():
            more["lengths"] = _numbers("lengths", wish.lengths)
        elif "lengths" not in case.arrays:
            raise DebugError("lengths", "lengths_missing")
        if wish.padding and words:
            words.append(f"padding={wish.side}")
    return " ".join(words) or None, more


def _numbers(control: str, text: str) -> list[int]:
    words = [word for word in re.split(r"[\s,，、;；]+", text) if word]
    wrong = next((word for word in words if not re.fullmatch(r"\d{1,6}", word)), None)
    if wrong is not None:
        raise DebugError(control, "numbers", got=wrong[:40])
    return [int(word) for word in words]


def _id_rows(text: str) -> list[list[int]]:
    rows = [_numbers("documents", line) for line in re.split(r"[\n;；]", text) if line.strip()]
    if len({len(row) for row in rows}) > 1:
        raise DebugError("documents", "ragged")
    return rows


def _check_size(case: Case, more: Mapping[str, Any]) -> None:
    """Refuses what the doctor would take long for, before anything as large is formed."""
    got = max(sizes_of(case), default=0)
    if got <= MOST_CELLS:
        got = math.prod(case.shape(**more))  # a mask of one row per sample stands for a square
    if got > MOST_CELLS:
        raise DebugError("file", "too_many_cells", got=got, most=MOST_CELLS)


def sizes_of(case: Case) -> list[int]:
    """Cells of what is as large as the weights, the weights that would be formed among them."""
    sizes = [array.numel() for name, array in case.arrays.items() if name in ("weights", "raw_mask", "allowed")]
    query, key = case.arrays.get("query"), case.arrays.get("key")
    if query is not None and key is not None and query.dim() >= 2 and key.dim() >= 2:
        sizes.append(math.prod(query.shape[:-1]) * key.shape[-2])
    return sizes


MOST_CELLS_OF_ALL = 8_000_000


def can_list_calls(intake: Intake, wish: Wish) -> bool:
    """Whether all calls of what was brought can be examined at once: a recording, not too large, meant in words."""
    if intake.recording is None or len(intake.cases) < 2 or wish.expect == "mask" or wish.scale is not None:
        return False
    return sum(max(sizes_of(case), default=0) for case in intake.cases) <= MOST_CELLS_OF_ALL


def all_calls(intake: Intake, wish: Wish) -> RecordingReport:
    """The reports of all calls of a recording, and their masks beside each other.

    Raises:
        DebugError: if something typed cannot be read.
        TypeError, ValueError: of the doctor, in one sentence.
    """
    assert intake.recording is not None
    expect, more = _intent(wish, intake.cases[0])
    return diagnose_recording(intake.recording, expect=expect, **more)


def cell_view(examined: Examined, sample: int, head: int) -> CellView:
    """One map of a call."""
    found = examined.masks
    batch, heads, q_len, k_len = found.shape

    def part(tensor: Tensor | None) -> np.ndarray | None:
        if tensor is None:
            return None
        return tensor[min(sample, batch - 1), min(head, heads - 1)].numpy()

    weights = part(None if found.weights is None else found.weights.float())
    intended, applied = part(found.intended), part(found.applied)
    known = applied is not None
    if weights is not None:
        values, kind = weights, "recomputed" if found.recomputed else "observed"
    elif applied is not None:
        values, kind = applied.astype(np.float32), "applied"
    else:
        values, kind = (np.ones((q_len, k_len), bool) if intended is None else intended).astype(np.float32), "intended"
    shown = applied
    if applied is None and weights is not None:
        blocked = _blocked_by_weights(examined.report, weights)
        applied, shown = weights != 0, ~blocked & (intended if intended is not None else True)
    verdicts = None if intended is None else _verdicts(values, intended, shown)
    queries, keys = read_tokens(examined.case.tokens)
    counts = {} if verdicts is None else {name: int((verdicts == i).sum()) for i, name in enumerate(VERDICTS)}
    return CellView(
        values=values, kind=kind, intended=intended, applied=applied, applied_known=known,
        shown_applied=shown if intended is not None else None, verdicts=verdicts,
        query_tokens=labels_of(queries, sample, q_len), key_tokens=labels_of(keys, sample, k_len),
        padded_queries=_padded(found.padded_queries, sample, q_len),
        padded_keys=_padded(found.padded_keys, sample, k_len), counts=counts,
    )  # fmt: skip


def _blocked_by_weights(report: Report, weights: np.ndarray) -> np.ndarray:
    """Zeros count as blocked only where the doctor says so: a weight may also round to 0."""
    blocking = any(f.code in _BLOCKING for f in report.findings)
    return weights == 0 if blocking else np.zeros(weights.shape, bool)


def _verdicts(values: np.ndarray, intended: np.ndarray, applied: np.ndarray | None) -> np.ndarray:
    verdicts = np.full(values.shape, OK, np.uint8)
    if applied is not None:
        verdicts[intended & ~applied] = BLOCKED
    verdicts[~intended & (values != 0)] = LEAK
    verdicts[np.isnan(values)] = NAN
    return verdicts


def labels_of(labels: Any, sample: int, length: int) -> tuple[str, ...]:
    """Tokens of one axis, "" each where there are none for it."""
    if labels is None or labels.count != length:
        return ("",) * length
    return labels.labels[min(sample, len(labels.labels) - 1)]


def _padded(flags: Tensor | None, sample: int, length: int) -> tuple[bool, ...]:
    return (False,) * length if flags is None else tuple(flags[min(sample, len(flags) - 1)].tolist())


def cell_rows(view: CellView, *, only_wrong: bool) -> dict[str, list[Any]]:
    """The cells as columns: query, key, intended, applied, weight, verdict (a code); at most ``MOST_ROWS`` rows."""
    if view.verdicts is None:
        return {}
    wanted = view.verdicts != OK if only_wrong else np.ones(view.verdicts.shape, bool)
    query, key = (axis[:MOST_ROWS] for axis in np.nonzero(wanted))
    assert view.intended is not None
    rows: dict[str, list[Any]] = {"query": query.tolist(), "key": key.tolist()}
    rows["intended"] = view.intended[query, key].tolist()
    if view.applied is not None:
        rows["applied"] = view.applied[query, key].tolist()
    rows["weight"] = view.values[query, key].tolist()
    rows["verdict"] = [VERDICTS[code] for code in view.verdicts[query, key].tolist()]
    return rows


def cell_of(finding: Finding, step: int, found: Masks, sample: int, head: int) -> Place:
    """The cell of a finding that the reader asked for, an axis that it leaves open as it is shown now."""
    where = finding.where[step % len(finding.where)]
    batch, heads, _, _ = found.shape
    chosen = [now if said is None else said for said, now in zip(where[:2], (sample, head), strict=True)]
    return min(chosen[0], batch - 1), min(chosen[1], heads - 1), where[2], where[3]


def worst_cell(examined: Examined) -> Place | None:
    """The first cell of the first error or warning that names one."""
    for finding in examined.report.findings:
        if finding.severity != "info" and finding.where:
            return cell_of(finding, 0, examined.masks, 0, 0)
    return None


def fault_title(fault: str) -> str:
    """English title of a fault, or of a pair."""
    return " + ".join(CATALOGUE[name].title if name in CATALOGUE else name for name in fault.split("+"))


def finding_title(code: str) -> str:
    """English title of a finding."""
    return MESSAGES[code].title if code in MESSAGES else code


def value_said(evidence: Mapping[str, Any]) -> dict[str, Any]:
    """The evidence of a finding as it reads in the doctor's sentences: ranges, four digits."""
    return {name: said(value) for name, value in evidence.items()}


def verdict_counts(report: Report) -> Mapping[str, int]:
    """Findings by severity."""
    return {severity: sum(f.severity == severity for f in report.findings) for severity in ("error", "warning", "info")}
