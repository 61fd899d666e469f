"""Score variance against NumPy, against theory on random numbers, and the parts that explain the gap."""

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from attention_core import scaled_dot_product_attention
from attention_core.diagnostics import score_histogram, score_variance, summarize
from attention_core.runs import CallInputs

BATCH, HEADS, Q_LEN, K_LEN, D_K, D_V = 2, 3, 5, 7, 11, 13


def normal(*shape: int, seed: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def mask(*shape: int, seed: int = 5) -> Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed)) < 0.6


def test_measured_variance_is_numpys_over_the_allowed_pairs_of_real_queries():
    q, k = normal(BATCH, HEADS, Q_LEN, D_K, seed=1), normal(BATCH, HEADS, K_LEN, D_K, seed=2)
    allowed = mask(BATCH, HEADS, Q_LEN, K_LEN)
    valid = torch.tensor([[True, True, False, True, True], [True] * 4 + [False]])
    found = score_variance(q, k, scale=0.3, allowed=allowed, valid_queries=valid)
    for b in range(BATCH):
        for h in range(HEADS):
            scores = q[b, h].numpy() @ k[b, h].numpy().T
            counted = allowed[b, h].numpy() & valid[b].numpy()[:, None]
            rows, columns = np.nonzero(counted)
            pair_q, pair_k = q[b, h].numpy()[rows], k[b, h].numpy()[columns]  # (pairs, d_k), one row per pair
            assert found.pairs[b, h] == counted.sum()
            np.testing.assert_allclose(found.raw_measured[b, h], scores[counted].var())
            np.testing.assert_allclose(found.scaled_measured[b, h], (0.3 * scores[counted]).var())
            np.testing.assert_allclose(found.raw_theory[b, h], (pair_q.var(0) * pair_k.var(0)).sum())
            np.testing.assert_allclose(found.scaled_theory[b, h], 0.09 * (pair_q.var(0) * pair_k.var(0)).sum())
            np.testing.assert_allclose(found.raw_mean[b, h], scores[counted].mean())
            np.testing.assert_allclose(found.mean_product[b, h], (pair_q.mean(0) * pair_k.mean(0)).sum())
            np.testing.assert_allclose(found.query_variance[b, h], pair_q.var(0).mean())
            np.testing.assert_allclose(found.key_variance[b, h], pair_k.var(0).mean())
            covariance = ((pair_q - pair_q.mean(0)) * (pair_k - pair_k.mean(0))).mean(0).sum()
            spread = np.sqrt(pair_q.var(0).sum() * pair_k.var(0).sum())
            np.testing.assert_allclose(found.correlation[b, h], covariance / spread)


def test_each_query_has_its_own_variance_and_theory():
    q, k = normal(BATCH, HEADS, Q_LEN, D_K, seed=1), normal(BATCH, HEADS, K_LEN, D_K, seed=2) + 3
    allowed = mask(BATCH, 1, Q_LEN, K_LEN)
    allowed[0, 0, 2] = False
    allowed[0, 0, 3] = torch.arange(K_LEN) == 4
    found = score_variance(q, k, scale=0.3, allowed=allowed)
    for b in range(BATCH):
        for h in range(HEADS):
            for i in range(Q_LEN):
                keys = k[b, h][allowed[b, 0, i]].numpy()
                if len(keys) < 2:
                    assert found.raw_per_query[b, h, i].isnan()
                    assert found.raw_theory_per_query[b, h, i].isnan()
                    continue
                measured = (keys @ q[b, h, i].numpy()).var()
                theory = (q[b, h, i].numpy() ** 2 * keys.var(0)).sum()
                np.testing.assert_allclose(found.raw_per_query[b, h, i], measured)
                np.testing.assert_allclose(found.scaled_per_query[b, h, i], 0.09 * measured)
                np.testing.assert_allclose(
                    found.raw_theory_per_query[b, h, i], theory, rtol=1e-6
                )  # difference of squares
                np.testing.assert_allclose(found.scaled_theory_per_query[b, h, i], 0.09 * theory, rtol=1e-6)
    assert int(found.raw_per_query.isnan().sum()) == 2 * HEADS


def test_the_gap_is_the_sum_of_its_named_parts():
    q = normal(BATCH, HEADS, Q_LEN, D_K, seed=1) @ normal(D_K, D_K, seed=3) + 0.7
    k = normal(BATCH, HEADS, K_LEN, D_K, seed=2) @ normal(D_K, D_K, seed=4) - 0.4
    found = score_variance(q, k, allowed=mask(BATCH, HEADS, Q_LEN, K_LEN))
    parts = found.mean_contribution + found.covariance_contribution + found.pairing_contribution
    assert_close(found.raw_measured, found.raw_theory + parts)


def test_all_pairs_allowed_leave_nothing_to_pairing():
    """Every query meets every key: the pairs are independent by construction, so means and covariance explain all."""
    q = normal(BATCH, HEADS, Q_LEN, D_K, seed=1) @ normal(D_K, D_K, seed=3) + 0.7
    k = normal(BATCH, HEADS, K_LEN, D_K, seed=2) @ normal(D_K, D_K, seed=4) - 0.4
    found = score_variance(q, k)
    zero = torch.zeros(BATCH, HEADS, dtype=torch.float64)
    assert_close(found.pairing_contribution, zero, atol=1e-9, rtol=0)  # rounding of variances near 1e3 in float64
    assert_close(found.correlation, zero, atol=1e-12, rtol=0)
    assert_close(found.raw_mean, found.mean_product)
    expected = torch.stack(
        [
            torch.stack(
                [
                    torch.trace(torch.cov(a.T, correction=0) @ torch.cov(b.T, correction=0))
                    for a, b in zip(x, y, strict=True)
                ]
            )
            for x, y in zip(q, k, strict=True)
        ]
    )
    assert_close(found.raw_theory + found.covariance_contribution, expected)


def test_means_alone():
    """Constant queries have no variance: all of the scores' variance comes from the mean query."""
    q = torch.full((1, 1, Q_LEN, D_K), 2.0)
    k = normal(1, 1, K_LEN, D_K, seed=2)
    found = score_variance(q, k)
    assert_close(found.raw_theory, torch.zeros(1, 1, dtype=torch.float64))
    assert_close(found.mean_contribution, (2 * k.sum(-1)).var(correction=0).reshape(1, 1))


@pytest.mark.parametrize("d_k", [4, 16, 64, 256])
def test_unit_variance_gives_d_k_before_scaling_and_one_after(d_k: int):
    n = 199
    q, k = normal(1, 7, n, d_k, seed=d_k), normal(1, 7, n, d_k, seed=d_k + 1)
    found = score_variance(q, k)
    # The variance of one head's scores is uncertain by about 2 sqrt(2 / n); seven heads average, 4 sigma are allowed.
    bound = 4 * 2 * (2 / n) ** 0.5 / 7**0.5
    assert found.raw_measured.mean().item() == pytest.approx(d_k, rel=bound)
    assert found.raw_theory.mean().item() == pytest.approx(d_k, rel=bound)
    assert found.scaled_measured.mean().item() == pytest.approx(1, rel=bound)
    assert_close(found.scaled_theory * d_k, found.raw_theory)
    assert found.scale == pytest.approx(d_k**-0.5)


def test_grouped_heads_read_the_key_head_of_their_group():
    q, k = normal(BATCH, 6, Q_LEN, D_K, seed=1), normal(BATCH, 2, K_LEN, D_K, seed=2)
    grouped = score_variance(q, k)
    repeated = score_variance(q, k[:, [0, 0, 0, 1, 1, 1]])
    assert_close(grouped.raw_measured, repeated.raw_measured)
    assert_close(grouped.raw_theory, repeated.raw_theory)


def test_broken_numbers_outside_the_pairs_do_no_harm():
    q, k = normal(1, 1, Q_LEN, D_K, seed=1), normal(1, 1, K_LEN, D_K, seed=2)
    allowed = torch.ones(1, 1, Q_LEN, K_LEN, dtype=torch.bool)
    allowed[..., 6] = False
    valid = torch.tensor([[True, True, True, True, False]])
    clean = score_variance(q, k, allowed=allowed, valid_queries=valid)
    k[..., 6, :], q[..., 4, :] = float("nan"), float("inf")
    dirty = score_variance(q, k, allowed=allowed, valid_queries=valid)
    for name in ("raw_measured", "raw_theory", "mean_contribution", "pairing_contribution", "raw_theory_per_query"):
        assert_close(getattr(dirty, name), getattr(clean, name), equal_nan=True)


def test_fewer_than_two_pairs_have_no_variance():
    q, k = normal(1, 1, 2, D_K, seed=1), normal(1, 1, 2, D_K, seed=2)
    for allowed in (torch.zeros(2, 2, dtype=torch.bool), torch.tensor([[True, False], [False, False]])):
        found = score_variance(q, k, allowed=allowed)
        assert found.raw_measured.isnan().all()
        assert found.raw_theory.isnan().all()
        assert found.correlation.isnan().all()


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="with one d_k: got"):
        score_variance(torch.zeros(1, 1, 2, 3), torch.zeros(1, 1, 2, 4))
    with pytest.raises(ValueError, match="query heads must be a multiple of key heads: got 3 and 2"):
        score_variance(torch.zeros(1, 3, 2, 3), torch.zeros(1, 2, 2, 3))


def call_inputs(allowed: Tensor, scale: float = 0.3) -> CallInputs:
    return CallInputs(
        query=normal(BATCH, HEADS, Q_LEN, D_K, seed=1),
        key=normal(BATCH, HEADS, K_LEN, D_K, seed=2),
        value=normal(BATCH, HEADS, K_LEN, D_V, seed=3),
        allowed=allowed,
        scale=scale,
        own_scale=D_K**-0.5,
    )


def test_histogram_counts_are_numpys():
    inputs = call_inputs(mask(BATCH, 1, Q_LEN, K_LEN))
    trace = inputs.trace()
    valid = torch.tensor([[True] * 4 + [False], [True] * 5])
    found = score_histogram(trace, 9, valid_queries=valid)
    assert trace.scores is not None
    counted = inputs.allowed[:, 0] & valid[:, :, None]
    for b in range(BATCH):
        for h in range(HEADS):
            scores = trace.scores[b, h][counted[b]].numpy()
            np.testing.assert_array_equal(
                found.raw_counts[b, h].numpy(), np.histogram(scores, bins=found.raw_edges.numpy())[0]
            )
            np.testing.assert_array_equal(
                found.scaled_counts[b, h].numpy(), np.histogram(0.3 * scores, bins=found.scaled_edges.numpy())[0]
            )
    everything = trace.scores[counted[:, None].expand(trace.scores.shape)]
    assert_close(found.raw_edges[[0, -1]], torch.stack([everything.min(), everything.max()]))
    assert_close(found.scaled_edges, found.raw_edges * 0.3)
    assert int(found.raw_counts.sum()) == int(counted.sum()) * HEADS


def test_a_score_on_an_edge_falls_into_the_bin_that_it_begins():
    keys = torch.arange(5.0).reshape(1, 1, 5, 1)
    found = score_histogram(scaled_dot_product_attention(torch.ones(1, 1, 1, 1), keys, keys), 4)
    assert found.raw_edges.tolist() == [0, 1, 2, 3, 4]
    assert found.raw_counts.tolist() == [[[1, 1, 1, 2]]]


def test_histogram_of_equal_broken_and_missing_scores():
    k = torch.zeros(1, 1, 3, 2)
    k[0, 0, 2, 0] = float("inf")
    q = torch.ones(1, 1, 2, 2)
    found = score_histogram(scaled_dot_product_attention(q, k, torch.ones(1, 1, 3, 1)), 4)
    assert found.raw_counts.sum().item() == 4
    assert found.not_finite.item() == 2
    assert_close(found.raw_edges, torch.tensor([-0.5, -0.25, 0, 0.25, 0.5], dtype=torch.float64))
    nothing = scaled_dot_product_attention(q, q, q, allowed=torch.zeros(2, 2, dtype=torch.bool))
    assert score_histogram(nothing, 4).raw_counts.sum().item() == 0
    with pytest.raises(ValueError, match="needs the stages scores and scaled"):
        score_histogram(scaled_dot_product_attention(q, q, q, keep=("weights",)))
    with pytest.raises(ValueError, match="bins must be at least 1: got 0"):
        score_histogram(nothing, 0)


def test_summary_is_the_mean_over_real_rows_of_each_measure():
    from attention_core import diagnostics as d

    allowed = mask(BATCH, 1, Q_LEN, K_LEN)
    allowed[1, 0, 2] = False  # an empty row: no part of any mean
    valid = torch.tensor([[True] * 4 + [False], [True] * 5])
    inputs = call_inputs(allowed)
    trace = inputs.trace()
    assert trace.weights is not None
    found = summarize(trace, inputs, valid_queries=valid)

    def mean(rows: Tensor) -> Tensor:
        return torch.stack([rows[0, :, [0, 1, 2, 3]].mean(-1), rows[1, :, [0, 1, 3, 4]].mean(-1)])

    assert_close(found.entropy, mean(d.attention_entropy(trace.weights)))
    assert_close(found.normalized_entropy, mean(d.normalized_entropy(trace.weights, allowed=allowed)))
    assert_close(found.top_weight, mean(trace.weights.amax(-1)))
    assert_close(found.effective_keys, mean(d.attention_entropy(trace.weights).exp()))
    assert_close(found.jacobian_norm, mean(d.softmax_jacobian_norm(trace.weights)))
    assert_close(found.saturation, mean((trace.weights.amax(-1) > 0.99).double()))
    variance = score_variance(inputs.query, inputs.key, scale=0.3, allowed=allowed, valid_queries=valid)
    assert_close(found.raw_variance, variance.raw_measured)
    assert_close(found.raw_theory, variance.raw_theory)
    assert_close(found.scaled_variance, variance.scaled_measured)
    assert_close(found.scaled_theory, variance.scaled_theory)


def test_summary_counts_a_bias_of_minus_infinity_as_forbidden():
    bias = torch.zeros(Q_LEN, K_LEN, dtype=torch.float64).masked_fill(~mask(Q_LEN, K_LEN), -torch.inf)
    everything = torch.ones(Q_LEN, K_LEN, dtype=torch.bool)
    by_mask = call_inputs(bias == 0)
    plain = call_inputs(everything)
    by_bias = CallInputs(plain.query, plain.key, plain.value, everything, 0.3, plain.own_scale, bias=bias)
    one, other = summarize(by_mask.trace(), by_mask), summarize(by_bias.trace(), by_bias)
    assert_close(one.raw_variance, other.raw_variance)
    assert_close(one.normalized_entropy, other.normalized_entropy)


def test_summary_needs_the_weights():
    inputs = call_inputs(torch.ones(Q_LEN, K_LEN, dtype=torch.bool))
    with pytest.raises(ValueError, match="a summary needs the stage weights"):
        summarize(inputs.trace(keep=("scores",)), inputs)
