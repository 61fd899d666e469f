"""Views of long texts: computed some heads at a time and only where looked at, with the numbers of the whole call."""

import numpy as np
import pytest
import torch
from torch import Tensor

from attention_core.attention import scaled_dot_product_attention
from attention_core.diagnostics import RowCheck, joined_checks, row_checks
from attention_core.from_scratch import MaskChoice, ScratchConfig
from viz.services import call_parts, views
from viz.services.attention import ScratchRequest
from viz.services.kept import Kept

REQUEST = ScratchRequest(
    "the cat sat on the mat", ScratchConfig(num_heads=6, num_kv_heads=2, d_model=48, d_k=7, mask=MaskChoice("causal"))
)


@pytest.fixture
def afresh(monkeypatch: pytest.MonkeyPatch):
    """Nothing kept, one head at a time; gives the memory of the stages."""
    monkeypatch.setattr(views, "_views", Kept(most=6, most_bytes=2**20, size=lambda made: 1))
    monkeypatch.setattr(views, "_stages", Kept(most=6, most_bytes=2**20, size=views._bytes_of))
    monkeypatch.setattr(call_parts, "WORK_BYTES", 1)
    return views._stages


def test_a_head_costs_that_head_and_a_stage_of_the_layer_that_stage(afresh: Kept):
    shown = views.view(REQUEST, "decoder.0", 0)
    assert len(afresh) == 0, "the verdict keeps no stage"
    one = shown.stages_of(4)
    assert list(one) == list(views.STAGES) and len(afresh) == 1
    assert afresh.held == sum(stage.nbytes for stage in one.values()) == 4 * 4 * shown.allowed[0].size
    weights = shown.weights
    assert afresh.held == 4 * 4 * shown.allowed[0].size + weights.nbytes
    trace = shown.inputs.trace()
    for name in views.STAGES:
        expected = getattr(trace, name)[0].numpy()
        # A product of one head rounds its sums in another order than one of six.
        np.testing.assert_allclose(one[name], expected[4], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(getattr(shown, name), expected, rtol=1e-5, atol=1e-6)
    with pytest.raises(IndexError, match="head must be from 0 to 5: got 6"):
        shown.stages_of(6)


def test_the_verdict_names_heads_as_the_call_counts_them(monkeypatch: pytest.MonkeyPatch, afresh: Kept):
    found = RowCheck("row_sums", "failed", 1, ((0, 0, 2, None),))
    monkeypatch.setattr(views, "row_checks", lambda *_, **__: (found,))
    (check,) = views.view(REQUEST, "decoder.0", 0).checks
    assert check.count == 6 and check.where == tuple((0, head, 2, None) for head in range(6))


def test_a_part_is_cut_from_every_stage(afresh: Kept):
    shown = views.view(REQUEST, "decoder.0", 0)
    part = views.part_of(shown, 2, 3)
    for name in views.STAGES:
        np.testing.assert_array_equal(getattr(part, name), getattr(shown, name)[:, 2:5, 2:5])
        np.testing.assert_array_equal(part.stages_of(3)[name], shown.stages_of(3)[name][2:5, 2:5])


def test_numbers_in_groups_are_those_of_the_whole(monkeypatch: pytest.MonkeyPatch, afresh: Kept):
    in_groups = views.statistics.__wrapped__(REQUEST, "decoder.0", 0)
    monkeypatch.setattr(call_parts, "WORK_BYTES", 2**20)
    whole = views.statistics.__wrapped__(REQUEST, "decoder.0", 0)
    assert list(in_groups.numbers) == list(whole.numbers)
    assert not [name for name in whole.numbers if "contribution" in name], "they are told as a gap, not in the table"
    for name, values in whole.numbers.items():
        if name not in ("query_gradient", "key_gradient"):  # in groups each has a direction of its own
            np.testing.assert_allclose(in_groups.numbers[name], values, rtol=1e-4, atol=1e-6)  # order of sums
    assert in_groups.gap.raw == pytest.approx(whole.gap.raw, rel=1e-5)
    np.testing.assert_allclose(in_groups.raw_scores, whole.raw_scores, rtol=1e-5, atol=1e-6)
    assert whole.every == in_groups.every == 1 and whole.raw_scores.size == 6 * 21


def test_of_many_scores_every_nth_is_kept_of_every_head(monkeypatch: pytest.MonkeyPatch, afresh: Kept):
    every_one = views.statistics.__wrapped__(REQUEST, "decoder.0", 0)
    monkeypatch.setattr(views, "MOST_SCORES", 60)  # of 126
    thinned = views.statistics.__wrapped__(REQUEST, "decoder.0", 0)
    assert thinned.every == 3
    expected = np.concatenate([every_one.raw_scores[head * 21 : (head + 1) * 21 : 3] for head in range(6)])
    np.testing.assert_array_equal(thinned.raw_scores, expected)
    assert thinned.raw_scores.size == thinned.scaled_scores.size <= 60


def test_checks_of_groups_join_to_those_of_the_whole():
    generator = torch.Generator().manual_seed(5)
    query, key, value = (torch.randn(1, 5, 7, 3, generator=generator) for _ in range(3))
    allowed = torch.ones(1, 5, 7, 7, dtype=torch.bool)
    allowed[0, 1, 2] = allowed[0, 3, 6] = False  # empty rows, the second a padded one
    query[0, 4, 1, 0] = torch.nan
    intended = allowed.clone()
    intended[0, 0, :, 3] = intended[0, 4, 2:, 5] = False  # 7 + 5 cells of forbidden weight
    padding = torch.tensor([[False] * 6 + [True]])

    def checks(heads: slice):
        def part(tensor: Tensor) -> Tensor:
            return tensor[:, heads]

        trace = scaled_dot_product_attention(part(query), part(key), part(value), allowed=part(allowed))
        return row_checks(trace, intended=part(intended), padded_keys=padding, padded_queries=padding)

    whole = checks(slice(0, 5))
    joined = joined_checks([(0, checks(slice(0, 2))), (2, checks(slice(2, 3))), (3, checks(slice(3, 5)))])
    by_code = {check.code: check for check in whole}
    assert {check.status for check in whole} == {"passed", "failed"}
    assert by_code["empty_rows"].parts == {"real": 1, "padded": 1} and by_code["forbidden_weight"].count == 12
    for found, expected in zip(joined, whole, strict=True):
        np.testing.assert_equal(
            (found.code, found.status, found.count), (expected.code, expected.status, expected.count)
        )
        np.testing.assert_equal(dict(found.parts), dict(expected.parts))
        np.testing.assert_allclose(found.largest, expected.largest, rtol=1e-5)
        assert set(found.where) == set(expected.where) and found.where[:1] == expected.where[:1]
    assert joined_checks([(2, whole)])[4].where[0] == (0, 3, 2, None), "heads are counted from the first of the group"
    with pytest.raises(ValueError, match="at least one group of heads: got none"):
        joined_checks([])
