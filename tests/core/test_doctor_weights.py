"""What the doctor makes of printed numbers, of sinks, and of masks whose parts hide the same cells twice."""

import pytest
import torch

from attention_core import masks
from attention_core.doctor import diagnose
from attention_core.doctor.inputs import decimals_of
from attention_core.faults import Situation, commit, correct


def scores(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("decimals", [3, 4, 5, 6])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_printed_numbers_are_known_by_their_decimals(decimals, dtype):
    weights = torch.softmax(scores(3, 7, 7).double(), -1)
    printed = torch.round(weights, decimals=decimals).to(dtype)
    assert decimals_of(printed) == decimals
    assert decimals_of(weights.to(dtype)) is None
    for numbers in (printed, printed.tolist()):
        report = diagnose(weights=numbers, expect="bidirectional")
        assert report.ok and report.explained_by == ()
        assert report.finding("rounded-numbers").evidence["decimals"] == decimals


@pytest.mark.parametrize("decimals", [7, 8])
def test_the_last_decimals_say_something_in_float64_only(decimals):
    printed = torch.round(torch.softmax(scores(3, 7, 7).double(), -1), decimals=decimals)
    assert decimals_of(printed) == decimals
    assert decimals_of(printed.float()) is None


@pytest.mark.parametrize("decimals", [6, 8])
def test_printed_numbers_may_have_been_computed_in_float32(decimals):
    query, key = scores(2, 3, 11, 16), scores(2, 3, 11, 16, seed=1)
    weights = torch.softmax(query @ key.mT * 0.25, -1)
    printed = torch.round(weights.double(), decimals=decimals)
    assert (printed.sum(-1) - 1).abs().max() > 0.5 * 10.0**-decimals * 2  # the sums are off by more than one rounding
    assert diagnose(weights=printed, expect="bidirectional").ok
    report = diagnose(weights=printed, query=query, key=key, expect="bidirectional")
    assert report.ok and report.explained_by == ()


def test_numbers_beside_the_grid_were_not_printed():
    printed = torch.round(torch.softmax(scores(3, 7, 7).double(), -1), decimals=3)
    assert decimals_of(printed + 4.123456789e-5) is None  # 4 % of the last decimal, far above the rounding of float64
    assert decimals_of((printed + 4.123456789e-5).float()) is None


def test_a_wrong_sum_is_wrong_in_printed_numbers_too():
    printed = torch.round(torch.softmax(scores(7, 7).double(), -1), decimals=6)
    printed[2, 3] += 2e-5  # 7 roundings of half a millionth make 3.5e-6 at most
    found = diagnose(weights=printed, expect="bidirectional").finding("row-sums")
    assert found.severity == "error" and found.evidence["rows"] == [2]


def with_sinks(allowed: torch.Tensor, spread: float = 1.0) -> Situation:
    query, key = spread * scores(2, 3, 9, 8), scores(2, 3, 9, 8, seed=1)
    return Situation(query, key, None, allowed, {"causal": allowed}, sinks=scores(3, seed=2))


def test_dropout_is_seen_beside_a_sink():
    situation = with_sinks(masks.causal(9))
    weights = commit("dropout-left-on", situation, p=0.3, seed=3).weights
    assert weights is not None and float(weights.sum(-1).max()) > 1
    report = diagnose(weights=weights, allowed=situation.allowed, sinks=situation.sinks)
    assert report.explained_by == ("dropout-left-on",)
    assert "dropout-possible" in [f.code for f in report.findings]
    right = correct(situation).weights
    report = diagnose(weights=right, allowed=situation.allowed, sinks=situation.sinks)
    assert report.ok and report.explained_by == ()


def test_a_single_key_beside_a_sink_gives_no_factor():
    query, key = scores(1, 1, 9, 8), scores(1, 1, 9, 8, seed=1)
    situation = Situation(query, key, None, masks.causal(9), sinks=torch.tensor([-3.0]))
    keep = torch.ones(1, 1, 9, 9, dtype=torch.bool)
    keep[..., 4:, 1:3] = False
    weights = commit("dropout-left-on", situation, p=0.5, keep=keep).weights
    assert weights is not None and 1 < float(weights[0, 0, 0, 0]) < 2  # 2 (1 - the share of the sink)
    report = diagnose(weights=weights, allowed=situation.allowed, sinks=situation.sinks)
    codes = [f.code for f in report.findings]
    assert "dropout-possible" in codes and "dropout-active" not in codes


def test_saturated_heads_that_agree_are_no_average():
    weights = torch.softmax(24 * torch.eye(5) + scores(1, 3, 5, 5), -1)
    assert float(weights.max(-1).values.min()) > 1 - 1e-6 and not torch.equal(weights[:, 0], weights[:, 1])
    assert diagnose(weights=weights, expect="bidirectional").explained_by == ()
    mean = torch.softmax(scores(1, 3, 5, 5), -1).mean(1, keepdim=True).expand(1, 3, 5, 5)
    assert diagnose(weights=mean, expect="bidirectional").explained_by == ("heads-averaged",)


def test_a_second_softmax_beside_a_sink_stays_possible():
    situation = with_sinks(masks.causal(9), spread=0.3)
    weights = commit("double-softmax", situation).weights
    report = diagnose(weights=weights, allowed=situation.allowed, sinks=situation.sinks)
    assert "double-softmax" in report.explained_by
    situation = with_sinks(masks.causal(9), spread=3.0)
    steep = commit("fill-too-weak", situation, c=-3.0).weights
    report = diagnose(weights=steep, allowed=situation.allowed, sinks=situation.sinks)
    assert "fill-too-weak" in report.explained_by and "double-softmax" not in report.explained_by


def test_parts_that_hide_the_future_by_themselves_may_be_all_there_is():
    chunk, padding = masks.chunked(9, 14, size=3), masks.padding([7], 14)
    allowed = chunk & padding
    assert not (allowed & ~masks.causal(9, 14)).any()  # so that the mask reads as causal as well
    query, key = scores(1, 1, 9, 16), scores(1, 1, 14, 16, seed=1)
    situation = Situation(query, key, None, allowed, {"chunk": chunk, "padding": padding}, chunk=3)
    weights = commit("scores-multiplied-by-mask", situation, part="chunk").weights
    report = diagnose(weights=weights, query=query, key=key, allowed=allowed, lengths=padding[:, 0, 0, :].long())
    assert "scores-multiplied-by-mask" in report.explained_by
