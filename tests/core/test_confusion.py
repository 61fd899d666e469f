"""What ``make confusion`` counts: hits, misses, draws without a trace, right computations that are accused."""

import pytest
import torch

from attention_core.faults import Outcome
from tests.benchmarks import confusion_draws
from tests.benchmarks.confusion import LIMIT, LIMIT_WITHOUT, instead, line, line_without, page
from tests.benchmarks.confusion_draws import (
    KINDS,
    NEEDS_SCORES,
    ROUTES,
    Controls,
    Score,
    control,
    controls,
    draw,
    honest_weights,
    leaves_a_trace,
    percent,
    says_cannot_tell,
    with_scores,
    without_scores,
)
from tests.core.situations import CHANGES
from tests.core.tiny_situations import even, of_scores


@pytest.mark.parametrize("fault_id", ["no-scaling", "mask-inverted", "fill-too-weak", "zero-times-nan"])
def test_a_fault_is_counted_where_it_is_named(fault_id):
    score = with_scores(fault_id, 3)
    assert (score.draws, score.hits, score.missed, dict(score.instead), score.silent) == (3, 3, (), {}, 0)
    assert score.share == 1 and score.alone <= 3 and score.milliseconds > 0


def test_a_fault_is_missed_where_another_is_named(monkeypatch):
    monkeypatch.setattr(confusion_draws, "draw", lambda _, number: draw("mask-inverted", number))
    score = with_scores("no-scaling", 3)
    assert (score.hits, score.missed) == (0, (0, 1, 2))
    assert sum(score.instead.values()) == 3 and "mask-inverted" in next(iter(score.instead))


def test_draws_without_a_trace_do_not_count():
    assert without_scores("causal-one-late", 3).silent == 0
    score = without_scores("no-scaling", 3)
    assert (score.draws, score.silent, score.share) == (0, 3, 1.0)


@pytest.mark.parametrize("fault_id", NEEDS_SCORES)
def test_what_cannot_be_told_without_query_and_key_is_said(fault_id):
    assert says_cannot_tell(fault_id, 3) == 3


def test_it_is_not_said_where_a_fault_is_named(monkeypatch):
    assert says_cannot_tell("mask-inverted", 3) == 0
    monkeypatch.setattr(confusion_draws, "draw", lambda _, number: draw("mask-inverted", number))
    assert says_cannot_tell("no-scaling", 3) == 0


@pytest.mark.parametrize("scores", [True, False])
def test_right_computations_are_not_accused(scores):
    found = controls(4 * len(KINDS), scores=scores)
    assert (found.draws, found.errors, found.explained) == (4 * len(KINDS), (), ())


def test_an_accused_computation_is_counted(monkeypatch):
    def wrong(number: int):
        situation, outcome = draw("causal-one-late", number)
        return situation, outcome.weights

    monkeypatch.setattr(confusion_draws, "control", wrong)
    found = controls(2)
    assert (found.errors, found.explained) == ((0, 1), (0, 1))


def test_a_number_decides_its_draw():
    for fault_id in ("fill-too-weak", "dropout-left-on", "cache-slots-unmasked"):
        one, other, next_ = draw(fault_id, 3), draw(fault_id, 3), draw(fault_id, 4)
        assert torch.equal(one[0].query, other[0].query) and one[1].note == other[1].note
        assert one[0].query.shape != next_[0].query.shape or not torch.equal(one[0].query, next_[0].query)


@pytest.mark.parametrize("route", ROUTES)
def test_the_honest_routes_compute_the_same(route):
    for number in range(2 * len(KINDS)):
        situation, _ = control(number)
        weights, core = honest_weights(situation, route).double(), honest_weights(situation, "core").double()
        # what half precision throughout costs: logits up to 20, each rounded to 8 or 11 bits
        slack = {torch.bfloat16: 0.2, torch.float16: 0.05}.get(situation.query.dtype, 1e-4)
        torch.testing.assert_close(weights, core, rtol=0, atol=slack)


def test_what_leaves_a_trace():
    situation = of_scores([[0.0, 1.0, 2.0], [1.0, 0.0, 0.5], [0.0, 0.0, 1.0]], causal=torch.ones(3, 3).tril().bool())
    right = honest_weights(situation, "core")
    assert not leaves_a_trace(situation, Outcome(right, None))
    future, short, lost, broken = (right.clone() for _ in range(4))
    future[..., 0, 1] = 1e-6
    short[..., 1, :] *= 0.9
    lost[..., 1, 0], lost[..., 1, 1] = 0.0, 1.0
    broken[..., 2, 0] = torch.nan
    for weights in (future, short, lost, broken):
        assert leaves_a_trace(situation, Outcome(weights, None))
    assert not leaves_a_trace(even(3), Outcome(torch.full((3, 1, 3), 1 / 3), None))  # another shape


def test_lines_of_the_table():
    score = Score(200, 197, 9, {"nothing": 2, "mask-ignored": 1}, (1, 2, 3), 11.6, 4)
    assert line("mask-inverted", score) == (
        "| `mask-inverted` | 197 of 200 | 98.5 % | 9 | 2 x nothing; 1 x mask-ignored | 12 |"
    )
    assert "| 9 | 4 | 2 x nothing" in line_without("mask-inverted", score)
    assert instead(score, most=1) == "2 x nothing; 1 x other"
    assert [percent(share) for share in (1, 0.9999, 0.98)] == ["100 %", "99.9 %", "98.0 %"]
    none = Controls(7, (), (), 3.0)
    text = page({"no-scaling": score}, {"mask-inverted": score}, {"no-scaling": (200, 200)}, none, none)
    assert "200 random configurations per fault" in text and "| `no-scaling` | 200 of 200 |" in text
    assert "7 with Q and K, 0 with an error, 0 with a fault named" in text
    assert (LIMIT, LIMIT_WITHOUT) == (0.98, 0.90) and set(CHANGES) == {
        torch.float64, torch.float32, torch.float16, torch.bfloat16,
    }  # fmt: skip
