"""What the doctor hands back: findings, the faults that explain them, and every check with its outcome."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from attention_core.doctor.messages import MESSAGES, remedy_of, sentence_of

Severity = Literal["error", "warning", "info"]
CheckStatus = Literal["passed", "failed", "not possible"]
Cell = tuple[int | None, int | None, int | None, int | None]

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")
LISTED = 200  # cells named per finding; the count of all is in the evidence


@dataclass(frozen=True)
class Finding:
    """One thing that the doctor saw.

    Attributes:
        code: a key of ``MESSAGES``; the interface holds a text of its own for each.
        severity: "error" (wrong), "warning" (looks wrong, or wrong where it may not matter), "info" (worth knowing).
        where: cells as (sample, head, query, key); None stands for all of an axis. At most 200 are listed.
        message: one English sentence with the numbers.
        evidence: the numbers of the message by name, plain Python values that fit into JSON.
        remedy: what to do; empty where nothing is to be done.
    """

    code: str
    severity: Severity
    where: tuple[Cell, ...]
    message: str
    evidence: Mapping[str, Any]
    remedy: str


@dataclass(frozen=True)
class Check:
    """One check: what came of it, and why it was not possible where it was not."""

    name: str
    status: CheckStatus
    reason: str = ""


@dataclass(frozen=True)
class Report:
    """The verdict on one attention call.

    Attributes:
        findings: errors first, then warnings, then infos.
        explained_by: ids of ``faults.CATALOGUE`` in its order, each of which alone reproduces what was given; empty
            where the right computation does. They agree on this input and form one class. "a+b" names two faults at
            once, tried only where no single one fits.
        checks: every check, in the order in which they are made.
        intent: the mask that was taken as meant, in words; empty where nothing was stated and nothing fits.
        inferred: the intent was read from the weights, not stated.
        estimates: numbers estimated on the way, such as ``scale`` and ``expected_scale``.
    """

    findings: tuple[Finding, ...]
    explained_by: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    intent: str = ""
    inferred: bool = False
    estimates: Mapping[str, float] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """True without an error; warnings and infos may stand."""
        return not self.errors

    @property
    def errors(self) -> tuple[Finding, ...]:
        return tuple(f for f in self.findings if f.severity == "error")

    def finding(self, code: str) -> Finding:
        """The first finding of that code; KeyError names those that are there."""
        for found in self.findings:
            if found.code == code:
                return found
        raise KeyError(f"no finding {code!r} in this report: it has {[f.code for f in self.findings]}")

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, dicts, strings and numbers for JSON; a number that JSON cannot hold becomes its name."""
        return {
            "ok": self.ok,
            "intent": self.intent,
            "inferred": self.inferred,
            "explained_by": list(self.explained_by),
            "estimates": _plain(dict(self.estimates)),
            "findings": [
                {
                    "code": f.code,
                    "severity": f.severity,
                    "title": MESSAGES[f.code].title,
                    "message": f.message,
                    "remedy": f.remedy,
                    "where": [list(cell) for cell in f.where],
                    "evidence": _plain(dict(f.evidence)),
                }
                for f in self.findings
            ],
            "checks": [{"name": c.name, "status": c.status, "reason": c.reason} for c in self.checks],
        }

    def to_text(self) -> str:
        """The report as plain lines, for a terminal or the failure of a test."""
        lines = [self._verdict()]
        if self.intent:
            lines.append(f"intended: {self.intent}{' (inferred from the weights)' if self.inferred else ''}")
        for f in self.findings:
            lines.append(f"{f.severity}: {f.message}{f' -> {f.remedy}' if f.remedy else ''}")
        lines += [f"not checked: {c.name} ({c.reason})" for c in self.checks if c.status == "not possible"]
        return "\n".join(lines)

    def to_markdown(self) -> str:
        """The report as Markdown: verdict, findings, checks."""
        lines = ["# Attention report", "", self._verdict(), ""]
        if self.intent:
            lines += [f"Intended mask: {self.intent}{' (inferred from the weights)' if self.inferred else ''}", ""]
        if self.findings:
            lines += ["## Findings", ""]
            for f in self.findings:
                lines.append(f"- **{f.severity}** `{f.code}`: {f.message}{f'. Remedy: {f.remedy}' if f.remedy else ''}")
            lines.append("")
        lines += ["## Checks", "", "| check | outcome | why |", "|---|---|---|"]
        lines += [f"| {c.name} | {c.status} | {c.reason} |" for c in self.checks]
        return "\n".join(lines) + "\n"

    def _verdict(self) -> str:
        counts = [(s, sum(f.severity == s for f in self.findings)) for s in SEVERITIES[:2]]
        said = ", ".join(f"{n} {s}{'' if n == 1 else 's'}" for s, n in counts if n)
        explained = f"; explained by {' or '.join(self.explained_by)}" if self.explained_by else ""
        return (said or "no errors") + explained


def finding(code: str, severity: Severity, evidence: Mapping[str, Any], where: Iterable[Cell] = ()) -> Finding:
    """A finding whose sentence and remedy come from the template of its code."""
    return Finding(
        code, severity, tuple(where)[:LISTED], sentence_of(code, evidence), evidence, remedy_of(code, evidence)
    )


def sorted_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Errors, warnings, infos; in each, the order in which they were found."""
    return tuple(sorted(findings, key=lambda f: SEVERITIES.index(f.severity)))


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return str(value)
    return value
