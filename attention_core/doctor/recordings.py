"""A recorded program: one report per attention call, the masks of all calls beside each other, and a summary."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import torch

from attention_core.doctor.diagnosis import diagnose
from attention_core.doctor.estimates import named_scale
from attention_core.doctor.expectation import KNOWN_WORDS
from attention_core.doctor.intent import Intent, describe
from attention_core.doctor.messages import spans
from attention_core.doctor.report import Check, Finding, Report, finding

_CROSS = ("cross", "multihead_attn", "encoder_attn", "encdecattention")


@dataclass(frozen=True)
class CallMask:
    """One call in the strip of masks.

    Attributes:
        index: order of the call.
        name: module path, or "call 3" where no module called.
        place: "file:line" of the user's own code.
        mask: the mask that was applied, in words; "as given" where it is none of those known.
        allowed_cells, cells: how much of the first map is allowed.
    """

    index: int
    name: str
    place: str
    mask: str
    allowed_cells: int
    cells: int


@dataclass(frozen=True)
class RecordingReport(Sequence[Report]):
    """The reports of all calls, in order; itself a sequence of them.

    Attributes:
        reports: one per call.
        strip: the masks that were applied, one per call.
        findings: about the recording as a whole.
        notes: what the recording said about itself.
    """

    reports: tuple[Report, ...]
    strip: tuple[CallMask, ...]
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """True where no call and no finding of the whole has an error."""
        return all(r.ok for r in self.reports) and all(f.severity != "error" for f in self.findings)

    def __len__(self) -> int:
        return len(self.reports)

    def __getitem__(self, index):  # pyright: ignore[reportIncompatibleMethodOverride]
        return self.reports[index]

    def __iter__(self) -> Iterator[Report]:
        return iter(self.reports)

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, dicts, strings and numbers for JSON."""
        whole = Report(self.findings).to_dict()["findings"]
        calls = [
            {"index": m.index, "name": m.name, "place": m.place, "mask": m.mask, **r.to_dict()}
            for m, r in zip(self.strip, self.reports, strict=True)
        ]
        return {"ok": self.ok, "findings": whole, "notes": list(self.notes), "calls": calls}

    def to_text(self) -> str:
        """The summary, then the calls that have something to say."""
        wrong = [i for i, r in enumerate(self.reports) if not r.ok]
        said = f"{len(self.reports)} calls, " + (f"errors in calls {spans(wrong)}" if wrong else "no errors")
        lines = [said, *(f"note: {note}" for note in self.notes)]
        lines += [f"{f.severity}: {f.message}" for f in self.findings]
        for mask, report in zip(self.strip, self.reports, strict=True):
            lines.append(f"call {mask.index} {mask.name} ({mask.place}): mask {mask.mask}")
            lines += [f"  {line}" for line in report.to_text().splitlines() if not line.startswith("not checked")]
        return "\n".join(lines)

    def to_markdown(self) -> str:
        """The strip of masks as a table, then each report."""
        lines = ["# Recording", "", self.to_text().splitlines()[0], "", "| call | module | mask | verdict |"]
        lines.append("|---|---|---|---|")
        for mask, report in zip(self.strip, self.reports, strict=True):
            verdict = "ok" if report.ok else ", ".join(report.explained_by) or f"{len(report.errors)} errors"
            lines.append(f"| {mask.index} | {mask.name} | {mask.mask} | {verdict} |")
        lines += ["", *(f"- {f.severity}: {f.message}" for f in self.findings), ""]
        for mask, report in zip(self.strip, self.reports, strict=True):
            if report.findings:
                lines += [f"## Call {mask.index}: {mask.name}", ""]
                lines += [f"- **{f.severity}** `{f.code}`: {f.message}" for f in report.findings]
                lines.append("")
        return "\n".join(lines)


def diagnose_recording(
    recording: Iterable[Any], *, expect: Any = None, lengths: Any = None, position_ids: Any = None,
    document_ids: Any = None, tokens: Any = None,
) -> RecordingReport:  # fmt: skip
    """Diagnoses every call of a recording.

    The factor on the scores that a program hands to a library is taken as meant; one that it multiplies by hand is
    compared with 1 / sqrt(d_k) where it is a known mistake.

    Args:
        recording: records with query, key, value, allowed, bias, scale, flags, weights and observed, as
            ``attention_core.capture.record`` makes them.
        expect: what is meant: words for every call of self-attention, or a mapping from patterns of module paths to
            words, e.g. {"encoder*": "bidirectional", "decoder*": "causal"}, or a function of the record. None: read
            from each call's weights.
        lengths: as in ``diagnose``, for every call that has as many samples or keys.
        position_ids: likewise.
        document_ids: likewise.
        tokens: likewise, for every call.

    Returns:
        RecordingReport.

    Raises:
        TypeError, ValueError: as ``diagnose``, where ``expect`` cannot be read.
    """
    meant = _expectation(expect)
    common = {"lengths": lengths, "position_ids": position_ids, "document_ids": document_ids, "tokens": tokens}
    reports: list[Report] = []
    strip: list[CallMask] = []
    for index, record in enumerate(recording):
        reports.append(_one(record, meant(record), common))
        strip.append(_mask_of(index, record))
    findings: list[Finding] = []
    if not reports:
        findings.append(finding("recording-empty", "error", {}))
    kinds: dict[str, list[int]] = {}
    for mask in strip:
        kinds.setdefault(mask.mask, []).append(mask.index)
    if len(kinds) > 1:
        said = "; ".join(f"{words}: calls {spans(calls)}" for words, calls in kinds.items())
        findings.append(finding("window-on-layers", "info", {"said": said, "masks": kinds}))
    return RecordingReport(tuple(reports), tuple(strip), tuple(findings), tuple(getattr(recording, "notes", ())))


def _expectation(expect: Any) -> Callable[[Any], Any]:
    """A function from a record to what is meant there."""
    if callable(expect) and not isinstance(expect, type):
        return expect
    if isinstance(expect, Mapping) and not set(map(str, expect)) <= KNOWN_WORDS:
        patterns = dict(expect)
        return lambda record: next((w for p, w in patterns.items() if fnmatchcase(_module(record), p)), None)
    return lambda record: None if _is_cross(record) else expect


def _module(record: Any) -> str:
    return str(getattr(record, "module", "") or "")


def _is_cross(record: Any) -> bool:
    """Attention over another sequence, as far as names and lengths tell."""
    if any(word in _module(record).lower() for word in _CROSS):
        return True
    try:
        return record.query.shape[-2] > record.key.shape[-2]
    except (AttributeError, ValueError):
        return False


def _one(record: Any, expect: Any, common: Mapping[str, Any]) -> Report:
    flags = getattr(record, "flags", None) or {}
    dropout = float(flags.get("dropout_p") or 0.0)
    weights = getattr(record, "observed", None)
    try:
        if weights is None:
            weights = record.weights
        query, key, value = record.query, record.key, record.value
        bias, scale = getattr(record, "bias", None), _declared_scale(record)
    except ValueError as error:
        found = (finding("dropout-declared", "info", {"p": dropout}),) if dropout > 0 else ()
        return Report(found, (), (Check("recomputation", "not possible", str(error)),))
    if weights.dim() < 4:
        weights = weights.reshape((1,) * (4 - weights.dim()) + tuple(weights.shape))
    fitting = {name: given for name, given in common.items() if _fits(name, given, weights)}
    return diagnose(
        weights=weights, query=query, key=key, value=value, bias=bias, scale=scale, dropout_p=dropout, expect=expect,
        **fitting,
    )  # fmt: skip


def _declared_scale(record: Any) -> float | None:
    """The factor as it was meant: what was handed to a library, or multiplied by hand without being a known mistake."""
    scale = float(record.scale)
    d_k, heads = record.query.shape[-1], record.query.shape[-3]
    if getattr(record, "kind", "") == "manual" and named_scale(scale, d_k=d_k, heads=heads):
        return None
    return scale


def _fits(name: str, given: Any, weights: torch.Tensor) -> bool:
    """Whether what was said about the batch can be about this call: same samples, same keys."""
    if given is None:
        return False
    if name == "tokens":
        return True
    shape = torch.as_tensor(given).shape
    if name == "lengths" and len(shape) == 1:
        return shape[0] in (1, weights.shape[0])
    return shape[-1] == weights.shape[-1]


def _mask_of(index: int, record: Any) -> CallMask:
    name = _module(record) or f"call {index}"
    place = f"{getattr(record, 'file', '?')}:{getattr(record, 'line', '?')}"
    try:
        q_len, k_len = record.query.shape[-2], record.key.shape[-2]
        batch, heads = record.query.shape[0], record.query.shape[-3]
        allowed = record.allowed
    except ValueError:
        return CallMask(index, name, place, "not known", 0, 0)
    if allowed is None:
        allowed = torch.ones(1, 1, q_len, k_len, dtype=torch.bool)
    full = allowed.expand(batch, heads, q_len, k_len)[:1, :1]
    read, _ = describe(full, Intent(None))
    words = "as given" if read is None else read.words
    return CallMask(index, name, place, words, int(full.sum()), q_len * k_len)
