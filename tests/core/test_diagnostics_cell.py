"""The arithmetic of one cell, against numbers worked by hand and against the whole call."""

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from attention_core import masks
from attention_core.diagnostics import CellSteps, cell_steps, one_head, value_norms, weighted_norms
from attention_core.runs import CallInputs


def normal(*shape: int, seed: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def call(**changes) -> CallInputs:
    """batch 2, heads 6, key/value heads 3, q_len 5, k_len 7, d_k 11, d_v 13."""
    inputs = CallInputs(
        query=normal(2, 6, 5, 11, seed=1), key=normal(2, 3, 7, 11, seed=2), value=normal(2, 3, 7, 13, seed=3),
        allowed=masks.causal(5, 7), scale=0.4, own_scale=0.4,
    )  # fmt: skip
    return replace(inputs, **changes)


def steps(inputs: CallInputs, sample: int, head: int, query: int, key: int) -> CellSteps:
    cut = one_head(inputs, sample=sample, head=head)
    return cell_steps(cut, cut.trace(), query=query, key=key)


def test_a_cell_worked_by_hand():
    """q = (1, 2), keys (3, 0), (0, 1), (2, 2): scores 3, 2, 6; x 0.5: 1.5, 1, 3; bias of the last -1: 2."""
    inputs = CallInputs(
        query=torch.tensor([[[[1.0, 2.0]]]]), key=torch.tensor([[[[3.0, 0.0], [0.0, 1.0], [2.0, 2.0]]]]),
        value=torch.tensor([[[[3.0, 4.0], [0.0, 0.0], [0.6, 0.8]]]]),
        allowed=torch.tensor([[[[True, False, True]]]]), scale=0.5, own_scale=0.5,
        bias=torch.tensor([[[[0.0, 0.0, -1.0]]]]),
    )  # fmt: skip
    found = cell_steps(inputs, inputs.trace(), query=0, key=2)
    assert [(p.dim, p.query, p.key, p.product) for p in found.products] == [(0, 1, 2, 2), (1, 2, 2, 4)]
    assert (found.score, found.scale, found.scaled, found.capped) == (6, 0.5, 3, 3)
    assert (found.bias, found.biased, found.logit, found.allowed) == (-1, 2, 2, True)
    assert (found.readable, found.keys, found.largest, found.largest_key) == (2, 3, 2, 2)
    total = 1 + math.exp(-0.5)
    assert found.exponential == 1
    assert found.total == pytest.approx(total, rel=1e-6)  # float32
    assert found.weight == pytest.approx(1 / total, rel=1e-6)
    assert found.value_norm == pytest.approx(1, rel=1e-6)
    assert found.contribution == pytest.approx(1 / total, rel=1e-6)

    masked = cell_steps(inputs, inputs.trace(), query=0, key=1)
    assert (masked.biased, masked.logit, masked.exponential, masked.weight) == (1, -math.inf, 0, 0)
    assert not masked.allowed and not masked.empty and masked.contribution == 0
    assert cell_steps(inputs, inputs.trace(), query=0, key=0).value_norm == 5


@pytest.mark.parametrize(("sample", "head", "query", "key"), [(0, 0, 0, 0), (1, 5, 4, 6), (1, 2, 3, 1), (0, 3, 2, 5)])
def test_the_steps_are_those_of_the_whole_call(sample, head, query, key):
    inputs = call(
        softcap=1.5, bias=normal(1, 6, 5, 7, seed=4), sinks=normal(6, seed=5),
        allowed=masks.causal(5, 7) & masks.padding([7, 6], 7),
    )  # fmt: skip
    found, whole = steps(inputs, sample, head, query, key), inputs.trace()
    for name, stage in (
        ("score", whole.scores), ("scaled", whole.scaled), ("capped", whole.capped), ("logit", whole.logits),
        ("weight", whole.weights), ("contribution", weighted_norms(whole.weights, inputs.value)),
    ):  # fmt: skip
        # the same sums, perhaps in another order: a few units of the last place of float32
        assert_close(getattr(found, name), stage[sample, head, query, key].item(), rtol=1e-5, atol=1e-6)
    assert sum(p.product for p in found.products) == pytest.approx(found.score, rel=1e-5, abs=1e-5)
    assert found.scaled == pytest.approx(found.score * 0.4, rel=1e-6)
    assert found.capped == pytest.approx(1.5 * math.tanh(found.scaled / 1.5), rel=1e-5)
    assert found.biased == pytest.approx(found.capped + inputs.bias[0, head, query, key].item(), rel=1e-5, abs=1e-6)
    assert found.sink == inputs.sinks[head].item()
    assert found.sink_weight == pytest.approx(whole.sink_weight[sample, head, query].item(), rel=1e-5)
    assert found.weight == pytest.approx(found.exponential / found.total, rel=1e-5, abs=1e-9)
    assert found.readable == inputs.allowed.expand(2, 6, 5, 7)[sample, head, query].sum()
    value = inputs.value[sample, head // 2, key]
    assert found.value_norm == pytest.approx(value.norm().item(), rel=1e-6)


def test_an_empty_row_is_told_as_one():
    allowed = masks.causal(5, 7).clone()
    allowed[3] = False
    found = steps(call(allowed=allowed), 0, 1, 3, 2)
    assert found.empty and found.readable == 0 and found.largest_key is None
    assert found.logit == -math.inf and math.isnan(found.total) and math.isnan(found.exponential)
    assert found.weight == 0 and found.contribution == 0 and not found.not_a_number
    assert not steps(call(allowed=allowed), 0, 1, 2, 2).empty


def test_a_row_whose_sink_takes_everything():
    allowed = masks.causal(5, 7).clone()
    allowed[3] = False
    found = steps(call(allowed=allowed, sinks=normal(6, seed=5)), 0, 1, 3, 2)
    assert not found.empty and found.readable == 0
    assert (found.exponential, found.total, found.weight, found.sink_weight) == (0, 1, 0, 1)
    assert found.largest == found.sink and found.largest_key is None


def test_nan_in_a_key_is_told_and_in_a_key_that_nobody_reads_does_no_harm():
    key = normal(2, 3, 7, 11, seed=2)
    key[0, 0, 6, 4] = math.nan
    inputs = call(key=key)
    assert steps(inputs, 0, 0, 4, 1).not_a_number  # the last query reads key 6
    assert math.isnan(steps(inputs, 0, 0, 4, 6).score)
    assert not steps(inputs, 0, 0, 3, 1).not_a_number  # the one before does not
    value = normal(2, 3, 7, 13, seed=3)
    value[0, 0, 6] = math.nan
    spoilt = call(value=value)
    found = weighted_norms(spoilt.trace().weights, value)
    assert found[0, 0, 3, 6] == 0 and math.isnan(found[0, 0, 4, 6])
    assert steps(spoilt, 0, 0, 3, 6).contribution == 0


def test_weighted_norms_are_those_of_each_group():
    weights, value = normal(2, 6, 5, 7, seed=6).softmax(-1), normal(2, 3, 7, 13, seed=3)
    expected = torch.empty(2, 6, 5, 7)
    for head in range(6):
        expected[:, head] = weights[:, head] * value[:, head // 2].square().sum(-1).sqrt()[:, None, :]
    assert_close(weighted_norms(weights, value), expected)
    assert value_norms(value, 6).shape == (2, 6, 7)
    assert weighted_norms(weights.half(), value.half()).dtype == torch.float32
    with pytest.raises(ValueError, match="multiple of key/value heads: got 5 and 3"):
        value_norms(value, 5)


def test_what_is_no_cell_is_refused():
    inputs = call()
    cut = one_head(inputs, sample=0, head=0)
    with pytest.raises(IndexError, match="query must be one of 5, from 0: got 5"):
        cell_steps(cut, cut.trace(), query=5, key=0)
    with pytest.raises(IndexError, match="key must be one of 7, from 0: got -1"):
        cell_steps(cut, cut.trace(), query=0, key=-1)
    with pytest.raises(IndexError, match="head must be one of 6, from 0: got 6"):
        one_head(inputs, sample=0, head=6)
    with pytest.raises(IndexError, match="sample must be one of 2, from 0: got 2"):
        one_head(inputs, sample=2, head=0)
    with pytest.raises(ValueError, match=r"one sample and head: got query \(2, 6, 5, 11\)"):
        cell_steps(inputs, inputs.trace(), query=0, key=0)
    with pytest.raises(ValueError, match="all stages: got a trace without some"):
        cell_steps(cut, cut.trace(keep={"weights"}), query=0, key=0)
