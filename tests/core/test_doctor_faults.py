"""Every fault of the catalogue in random situations, and right computations of every kind: named, or left in peace."""

import pytest
import torch
from torch import Generator, Tensor

from attention_core import masks
from attention_core.doctor import Report, diagnose
from attention_core.faults import CATALOGUE, Situation, correct
from tests.core.situations import random_case, random_situation

UNSEEN = {
    "no-scaling", "scaled-by-d-k", "scaled-by-d-model", "divided-by-inverse", "bias-scaled-too", "query-key-swapped",
    "heads-split-without-transpose", "kv-heads-tiled",
}  # fmt: skip
ON_OUTPUT = {name for name, fault in CATALOGUE.items() if fault.judged_on == "output"}
HARMLESS = {"empty-rows"}  # a real row without a key is worth a warning, also where the weights are right


def examine(situation: Situation, weights: Tensor, output: Tensor | None = None, *, with_qk: bool = True) -> Report:
    """What the doctor says, told everything that was meant."""
    known = {
        "allowed": situation.allowed, "lengths": situation.lengths, "document_ids": situation.document_ids,
        "sinks": situation.sinks,
    }  # fmt: skip
    if with_qk:
        known |= {
            "query": situation.query, "key": situation.key, "bias": situation.bias, "scale": situation.scale,
            "softcap": situation.softcap,
        }  # fmt: skip
    if output is not None:
        known |= {"value": situation.value, "output": output}
    return diagnose(weights=weights, **known)


@pytest.mark.parametrize("fault", CATALOGUE)
def test_the_true_fault_is_in_the_class(fault):
    generator = Generator().manual_seed(1)
    missed = []
    for _ in range(10):
        situation, outcome = random_case(generator, fault)
        report = examine(situation, outcome.weights, outcome.output if fault in ON_OUTPUT else None)
        if fault not in report.explained_by:
            missed.append((report.intent, dict(outcome.note), report.to_text()))
            continue
        assert list(report.explained_by) == [name for name in CATALOGUE if name in report.explained_by]
        found = report.finding("explained")
        assert fault in found.message
        if len(report.explained_by) > 1:
            assert found.message.startswith(f"cannot be told apart here: {', '.join(report.explained_by)}; ")
            assert f"{report.explained_by[1]} would differ if" in found.message
    # Padding can hide that a mask has a window or chunks: with the mask alone, it is then taken for a plain causal one.
    assert len(missed) <= (1 if fault in ("chunk-as-window", "window-off-by-one") else 0), missed


@pytest.mark.parametrize("fault", [name for name in CATALOGUE if name not in UNSEEN | ON_OUTPUT])
def test_faults_that_leave_a_trace_are_found_without_query_and_key(fault):
    generator = Generator().manual_seed(2)
    hits = asked = 0
    while asked < 6:
        situation, outcome = random_case(generator, fault)
        seen_elsewhere = str(outcome.note.get("what", "")) in ("keys", "both", "attention over the batch")
        if seen_elsewhere or outcome.weights.dim() == 3:  # other keys leave no trace; one map may be one head's
            continue
        asked += 1
        hits += fault in examine(situation, outcome.weights, with_qk=False).explained_by
    assert hits >= 5


def test_faults_without_a_trace_are_never_named_without_query_and_key():
    generator = Generator().manual_seed(3)
    for fault in sorted(UNSEEN):
        situation, outcome = random_case(generator, fault)
        report = examine(situation, outcome.weights, with_qk=False)
        assert not set(report.explained_by) & UNSEEN
        reasons = [c.reason for c in report.checks if c.name == "recomputation"]
        assert fault in reasons[0]


def test_right_computations_are_left_in_peace():
    generator = Generator().manual_seed(4)
    for index in range(300):
        situation = random_situation(generator, [None, *CATALOGUE][index % (1 + len(CATALOGUE))])
        trace = correct(situation)
        report = examine(situation, trace.weights, trace.output)
        assert report.explained_by == (), report.to_text()
        assert {f.code for f in report.findings if f.severity != "info"} <= HARMLESS, report.to_text()
        assert [c.status for c in report.checks if c.name == "recomputation"] == ["passed"]


def test_right_computations_in_half_precision_throughout_are_left_in_peace():
    generator = Generator().manual_seed(5)
    for index in range(60):
        dtype = (torch.float16, torch.bfloat16)[index % 2]
        query, key = (torch.randn(2, 3, 7, 16, generator=generator).to(dtype) for _ in range(2))
        allowed = masks.causal(7) & masks.padding([5, 7], 7)
        scores = (query @ key.mT) * 0.25
        weights = torch.softmax(scores.masked_fill(~allowed, float("-inf")), -1)
        report = diagnose(weights=weights, query=query, key=key, allowed=allowed, lengths=torch.tensor([5, 7]))
        assert report.explained_by == () and report.ok, report.to_text()


def test_right_weights_alone_raise_no_error():
    generator = Generator().manual_seed(6)
    for _ in range(150):
        situation = random_situation(generator)
        report = examine(situation, correct(situation).weights, with_qk=False)
        assert report.ok and report.explained_by == (), report.to_text()
