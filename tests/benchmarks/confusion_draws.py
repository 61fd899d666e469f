"""What the doctor names for each fault over random draws, and that it names nothing for right computations.

Pure functions: each draw has a number, and the number alone decides it, so that a wrong answer can be looked at again.
"""

import statistics
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Generator, Tensor

from attention_core import masks
from attention_core.doctor import Report, diagnose
from attention_core.faults import CATALOGUE, Outcome, Situation, correct
from tests.core.situations import choice, random_case, random_situation, whole

# Without query and key nothing tells these from right weights; the doctor must say so.
NEEDS_SCORES = (
    "no-scaling", "scaled-by-d-k", "scaled-by-d-model", "divided-by-inverse", "bias-scaled-too", "query-key-swapped",
    "heads-split-without-transpose", "kv-heads-tiled",
)  # fmt: skip
KINDS = ("any", "causal", "padding", "causal padding", "causal left", "causal window", "window", "causal chunk",
    "chunk", "documents", "causal documents", "prefix", "cache", "bias", "heads tiles", "t5", "no mask")  # fmt: skip
ROUTES = ("core", "finite fill", "renormalised", "kept in half", "float64", "4 decimals", "6 decimals", "8 decimals")
_SUM = {torch.float64: 1e-9, torch.float32: 1e-5, torch.float16: 1e-2, torch.bfloat16: 5e-2}  # of a row, above rounding


@dataclass(frozen=True)
class Score:
    """One line of the table.

    Attributes:
        draws: draws that count.
        hits: draws with the true fault in the first class.
        alone: draws in which it is named alone.
        instead: what was named where it was missed, as one text per draw.
        missed: numbers of the draws that were missed.
        milliseconds: median CPU time of a call.
        silent: draws that left no trace or do not fit the mask, and so do not count (without query and key).
    """

    draws: int
    hits: int
    alone: int
    instead: Mapping[str, int]
    missed: tuple[int, ...]
    milliseconds: float
    silent: int = 0

    @property
    def share(self) -> float:
        """Share of hits; 1 where nothing counts."""
        return self.hits / self.draws if self.draws else 1.0


@dataclass(frozen=True)
class Controls:
    """Right computations.

    Attributes:
        draws: how many.
        errors: numbers of those with a finding of severity "error".
        explained: numbers of those for which a fault was named.
        milliseconds: median CPU time of a call.
    """

    draws: int
    errors: tuple[int, ...]
    explained: tuple[int, ...]
    milliseconds: float


def generator_of(name: str, number: int) -> Generator:
    """The generator of one draw."""
    names = [*CATALOGUE, "control"]
    return Generator().manual_seed(1_000_003 * (names.index(name) + 1) + number)


def draw(fault_id: str, number: int) -> tuple[Situation, Outcome]:
    """The situation and the fault committed in it, of one number."""
    return random_case(generator_of(fault_id, number), fault_id)


def at_hand(situation: Situation) -> dict[str, Any]:
    """What a user has beside Q, K and the weights: intended mask, lengths, documents, what went into softmax."""
    lengths = situation.lengths
    if lengths is not None and "padding" in situation.parts:  # the attention mask of a tokenizer, which says the side
        lengths = situation.parts["padding"][:, 0, 0, :].long()
    return {
        "allowed": situation.allowed,
        "lengths": lengths,
        "document_ids": situation.document_ids,
        "bias": situation.bias,
        "sinks": situation.sinks,
        "scale": situation.scale,
        "softcap": situation.softcap,
    }


def ask(situation: Situation, outcome: Outcome, fault_id: str) -> Report:
    """Diagnoses one outcome with Q and K, on the output where the fault is judged on it."""
    given: dict[str, Any] = {"query": situation.query, "key": situation.key, **at_hand(situation)}
    if CATALOGUE[fault_id].judged_on == "output":
        given |= {"value": situation.value, "output": outcome.output}
    return diagnose(weights=outcome.weights, **given)


def ask_without_scores(situation: Situation, weights: Tensor) -> Report:
    """Diagnoses weights with the intent alone."""
    known = at_hand(situation)
    return diagnose(weights=weights, **{name: known[name] for name in ("allowed", "lengths", "document_ids", "sinks")})


def leaves_a_trace(situation: Situation, outcome: Outcome) -> bool:
    """Whether weights alone contradict the intent: support, sums, NaN, or heads that are copies."""
    weights = outcome.weights
    assert weights is not None
    if tuple(weights.shape) != situation.sizes:  # the mask does not fit them, so they are refused at the door
        return False  # and a map without an axis of heads is a right thing to hand over
    right = correct(situation).weights
    assert right is not None
    if bool(((weights != 0) & ~situation.allowed).any()) or not bool(torch.isfinite(weights).all()):
        return True
    sums = weights.double().sum(-1)
    full = situation.allowed.expand(weights.shape).any(-1)
    limit = _SUM[weights.dtype]
    if bool((sums > 1 + limit).any()) or (situation.sinks is None and bool((sums[full] < 1 - limit).any())):
        return True
    lost = (weights == 0) & (right > 1e-2)  # a key that surely counts has no weight at all
    same = weights.shape[1] > 1 and bool((weights == weights[:, :1]).all())
    return bool(lost.any()) or same


def _score(answers: Iterable[tuple[int, Report, float]], fault_id: str, silent: int = 0) -> Score:
    instead: Counter[str] = Counter()
    missed: list[int] = []
    alone = draws = 0
    times = [0.0]
    for number, report, seconds in answers:
        draws += 1
        times.append(seconds)
        named = report.explained_by
        if fault_id not in named:
            missed.append(number)
            instead[", ".join(named) if named else "nothing"] += 1
        elif len(named) == 1:
            alone += 1
    median = 1000 * statistics.median(times[1:] or times)
    return Score(draws, draws - len(missed), alone, dict(instead.most_common()), tuple(missed), median, silent)


def _timed(call: Any, *arguments: Any) -> tuple[Report, float]:
    start = time.process_time()
    report = call(*arguments)
    return report, time.process_time() - start


def with_scores(fault_id: str, draws: int) -> Score:
    """How often the fault is named with Q and K at hand."""
    answers = ((number, *_timed(ask, *draw(fault_id, number), fault_id)) for number in range(draws))
    return _score(answers, fault_id)


def without_scores(fault_id: str, draws: int) -> Score:
    """How often it is named from weights and intent, among the draws in which it leaves a trace."""
    answers: list[tuple[int, Report, float]] = []
    for number in range(draws):
        situation, outcome = draw(fault_id, number)
        assert outcome.weights is not None
        if leaves_a_trace(situation, outcome):
            answers.append((number, *_timed(ask_without_scores, situation, outcome.weights)))
    return _score(answers, fault_id, draws - len(answers))


def says_cannot_tell(fault_id: str, draws: int) -> int:
    """In how many draws the report says that the fault cannot be told without Q and K, and names nothing."""
    said = 0
    for number in range(draws):
        situation, outcome = draw(fault_id, number)
        assert outcome.weights is not None
        report = ask_without_scores(situation, outcome.weights)
        reasons = [c.reason for c in report.checks if c.reason.startswith("cannot tell without Q and K: ")]
        names = {name.strip() for reason in reasons for name in reason.split(":")[1].split(",")}
        said += fault_id in names and report.explained_by == ()
    return said


def control(number: int) -> tuple[Situation, Tensor]:
    """A right computation: its situation and its weights, on one of several honest ways."""
    generator = generator_of("control", number)
    kind, route = KINDS[number % len(KINDS)], choice(generator, *ROUTES)
    situation = _situation_of(generator, kind)
    return situation, honest_weights(situation, route)


def _situation_of(generator: Generator, kind: str) -> Situation:
    if kind == "any":
        return random_situation(generator)
    if kind in ("prefix", "no mask", "t5"):
        situation = random_situation(generator, "query-key-swapped")
        _, heads, size, _ = situation.sizes
        if kind == "no mask":
            return replace(situation, allowed=torch.ones(1, 1, dtype=torch.bool), parts={}, lengths=None)
        if kind == "prefix":
            part = masks.prefix_lm(size, prefix=whole(generator, 0, size))
            return replace(situation, allowed=part, parts={"prefix": part}, lengths=None)
        bias = 2.0 * torch.randn(heads, size, size, generator=generator)
        return replace(situation, scale=1.0, bias=bias, sinks=None, softcap=None)
    return random_situation(generator, needs_too=kind)


def honest_weights(situation: Situation, route: str) -> Tensor:
    """The right weights, computed as different programs do."""
    right = correct(situation)
    assert right.weights is not None and right.logits is not None
    dtype = situation.query.dtype
    if route == "float64":
        doubled = {n: _double(getattr(situation, n)) for n in ("query", "key", "value", "bias", "sinks")}
        weights = correct(replace(situation, **doubled)).weights
        assert weights is not None
        return weights.to(dtype)
    if route.endswith("decimals"):  # as printed; half precision is not printed, for nothing would say what it was
        printed = torch.round(right.weights.double(), decimals=int(route[0]))
        return right.weights if dtype in (torch.float16, torch.bfloat16) else printed
    open_logits = _open_logits(situation, half=route == "kept in half")
    allowed = situation.allowed.expand(open_logits.shape)
    rows = allowed.any(-1, keepdim=True)
    if route in ("finite fill", "kept in half"):
        joint = open_logits.masked_fill(~allowed, torch.finfo(open_logits.dtype).min)
        return (_with_sinks(situation, joint) * rows).to(dtype)
    if route == "renormalised" and situation.sinks is None:
        weights = torch.softmax(open_logits.double(), dim=-1) * allowed
        return (weights / weights.sum(-1, keepdim=True).clamp_min(1e-300)).to(dtype)
    return right.weights


def _open_logits(situation: Situation, *, half: bool) -> Tensor:
    query, key = situation.query, situation.key.repeat_interleave(situation.sizes[1] // situation.key.shape[1], dim=1)
    if not half:
        query, key = (
            query.to(torch.promote_types(query.dtype, torch.float32)),
            key.to(torch.promote_types(key.dtype, torch.float32)),
        )
    logits = query @ key.transpose(-2, -1) * situation.right_scale
    if situation.softcap is not None:
        logits = situation.softcap * torch.tanh(logits / situation.softcap)
    return logits if situation.bias is None else logits + situation.bias.to(logits.dtype)


def _with_sinks(situation: Situation, logits: Tensor) -> Tensor:
    if situation.sinks is None:
        return torch.softmax(logits, dim=-1)
    column = situation.sinks.to(logits.dtype).reshape(-1, 1, 1).expand(*logits.shape[:-1], 1)
    return torch.softmax(torch.cat([logits, column], dim=-1), dim=-1)[..., :-1]


def _double(tensor: Tensor | None) -> Tensor | None:
    return None if tensor is None else tensor.double()


def controls(draws: int, *, scores: bool = True) -> Controls:
    """How often something is held against a right computation, with Q and K or without."""
    errors: list[int] = []
    named: list[int] = []
    times: list[float] = []
    for number in range(draws):
        situation, weights = control(number)
        if scores:
            report, seconds = _timed(ask, situation, Outcome(weights, None), "no-scaling")
        else:
            report, seconds = _timed(ask_without_scores, situation, weights)
        times.append(seconds)
        if any(finding.severity == "error" for finding in report.findings):
            errors.append(number)
        if report.explained_by:
            named.append(number)
    return Controls(draws, tuple(errors), tuple(named), 1000 * statistics.median(times or [0.0]))


def percent(share: float) -> str:
    """A share as the table prints it; never rounded up to 100."""
    return "100 %" if share == 1 else f"{min(100 * share, 99.9):.1f} %"
