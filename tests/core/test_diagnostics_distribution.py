"""Entropy, top weight, saturation, Jacobian, row sums: against cases by hand and against the built matrices."""

import math

import pytest
import torch
from torch.testing import assert_close

from attention_core.diagnostics import (
    attention_entropy,
    effective_keys,
    normalized_entropy,
    row_sum_error,
    saturation,
    softmax_jacobian_norm,
    top_weight,
)

NAN = float("nan")
ROWS = torch.tensor([[[[0.5, 0.5, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]]]])  # (1, 1, 3, 4)
ALLOWED = torch.tensor([[True, True, False, False], [True, False, False, False], [False] * 4])


def random_weights(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    logits = 2 * torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return logits.softmax(dim=-1).to(dtype)


def test_c130_entropy_takes_zero_log_zero_as_zero_and_an_empty_row_as_unknown():
    assert_close(attention_entropy(ROWS)[0, 0], torch.tensor([math.log(2), 0.0, NAN]), equal_nan=True)
    assert_close(attention_entropy(ROWS, allowed=ALLOWED)[0, 0], torch.tensor([math.log(2), 0.0, NAN]), equal_nan=True)


def test_normalized_entropy_divides_by_the_allowed_keys_and_not_by_log_one():
    assert_close(normalized_entropy(ROWS, allowed=ALLOWED)[0, 0], torch.tensor([1.0, 0.0, NAN]), equal_nan=True)
    assert_close(normalized_entropy(ROWS)[0, 0], torch.tensor([0.5, 0.0, NAN]), equal_nan=True)  # log 2 / log 4


def test_effective_keys_and_top_weight_by_hand():
    assert_close(effective_keys(ROWS)[0, 0], torch.tensor([2.0, 1.0, NAN]), equal_nan=True)
    assert_close(top_weight(ROWS)[0, 0], torch.tensor([0.5, 1.0, NAN]), equal_nan=True)


def test_keys_that_are_not_allowed_do_not_count():
    weights = torch.tensor([[[[0.25, 0.25, 0.5]]]])
    allowed = torch.tensor([[True, True, False]])
    assert_close(top_weight(weights, allowed=allowed), torch.tensor([[[0.25]]]))
    assert_close(attention_entropy(weights, allowed=allowed), torch.tensor([[[0.5 * math.log(4)]]]))


def test_entropy_matches_torch_distributions_row_by_row():
    weights = random_weights(2, 3, 5, 7)
    assert_close(attention_entropy(weights), torch.distributions.Categorical(probs=weights).entropy())


def test_nan_weights_stay_visible():
    weights = torch.tensor([[[[NAN, 1.0]]]])
    for measure in (attention_entropy, normalized_entropy, top_weight, effective_keys, softmax_jacobian_norm):
        assert measure(weights).isnan().all(), measure.__name__
    one = torch.tensor([[True, False]])
    assert normalized_entropy(weights, allowed=one).isnan().all()


def test_no_keys_is_an_empty_row():
    for measure in (attention_entropy, top_weight, softmax_jacobian_norm):
        assert measure(torch.zeros(2, 3, 5, 0)).isnan().all(), measure.__name__


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_summed_in_float32(dtype: torch.dtype):
    weights = torch.full((1, 1, 1, 4096), 1 / 4096, dtype=dtype)  # exact in both
    entropy = attention_entropy(weights)
    assert entropy.dtype == torch.float32
    # float32 rounding of a sum of 4096 terms of size 2e-3
    assert_close(entropy, torch.tensor([[[math.log(4096)]]]), atol=1e-4, rtol=0)


def test_saturation_counts_rows_with_a_distribution_only():
    top = torch.tensor([0.995, 0.99, 0.5, 1.0, 0.999])
    weights = torch.stack([top, 1 - top], dim=-1).reshape(1, 1, 5, 2)
    weights[0, 0, 3] = 0.0  # an empty row
    assert_close(saturation(weights), torch.tensor([[2 / 4]]))  # 0.99 is not above 0.99
    valid = torch.tensor([[True, True, True, True, False]])
    assert_close(saturation(weights, valid_queries=valid), torch.tensor([[1 / 3]]))
    assert saturation(torch.zeros(1, 1, 5, 2)).isnan().all()


def test_rows_with_a_single_allowed_key_are_not_counted_as_saturated():
    weights = torch.tensor([[[[1.0, 0.0, 0.0], [0.995, 0.005, 0.0], [0.2, 0.3, 0.5]]]])
    causal = torch.tensor([[True, False, False], [True, True, False], [True, True, True]])
    assert_close(saturation(weights, allowed=causal), torch.tensor([[1 / 2]]))
    assert_close(saturation(weights), torch.tensor([[2 / 3]]))  # without a mask the first row had a choice
    own = torch.eye(3, dtype=torch.bool)
    assert saturation(torch.eye(3)[None, None], allowed=own).isnan().all()
    assert saturation(torch.ones(1, 1, 3, 1)).isnan().all()


def test_jacobian_norm_matches_the_built_jacobian():
    weights = random_weights(2, 3, 5, 7)
    built = torch.diag_embed(weights) - weights[..., :, None] * weights[..., None, :]
    assert_close(softmax_jacobian_norm(weights), torch.linalg.matrix_norm(built))


def test_jacobian_norm_matches_autograd_of_softmax():
    logits = torch.tensor([0.3, -1.2, 2.0, 0.1], dtype=torch.float64)
    jacobian = torch.autograd.functional.jacobian(lambda x: x.softmax(-1), logits)
    assert_close(softmax_jacobian_norm(logits.softmax(-1)), torch.linalg.matrix_norm(jacobian))  # type: ignore[arg-type]


def test_jacobian_norm_of_known_rows():
    rows = torch.tensor([[0.5, 0.5, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0], [0.25] * 4, [0.0] * 4])
    expected = torch.tensor([0.5, 0.0, math.sqrt(3) / 4, NAN])
    assert_close(softmax_jacobian_norm(rows), expected, equal_nan=True)


def test_jacobian_norm_vanishes_smoothly_near_one_hot():
    small = 1e-7
    row = torch.tensor([1 - small, small], dtype=torch.float64)
    assert_close(softmax_jacobian_norm(row), torch.tensor(2 * small * (1 - small), dtype=torch.float64))
    stored = torch.tensor([0.9999, 0.0001])  # float32 squares would lose the difference of the two terms
    built = torch.diag(stored.double()) - torch.outer(stored.double(), stored.double())
    assert_close(softmax_jacobian_norm(stored), torch.linalg.matrix_norm(built).float())


def test_row_sum_error_with_and_without_a_sink():
    weights = torch.tensor([[[[0.5, 0.25], [0.0, 0.0], [0.75, 0.5]]]], dtype=torch.float64)
    assert_close(row_sum_error(weights), torch.tensor([[[-0.25, -1.0, 0.25]]], dtype=torch.float64))
    sink = torch.tensor([[[0.25, 1.0, 0.0]]], dtype=torch.float64)
    assert_close(row_sum_error(weights, sink_weight=sink), torch.tensor([[[0.0, 0.0, 0.25]]], dtype=torch.float64))


def test_masks_of_the_wrong_kind_are_refused():
    with pytest.raises(TypeError, match="allowed must be bool with True = may attend"):
        attention_entropy(ROWS, allowed=torch.ones(3, 4, dtype=torch.int64))
    with pytest.raises(ValueError, match=r"allowed must broadcast to the weights, \(1, 1, 3, 4\): got \(4, 3\)"):
        top_weight(ROWS, allowed=torch.ones(4, 3, dtype=torch.bool))
    with pytest.raises(ValueError, match=r"valid_queries must be \(batch, q_len\) = \(1, 3\)"):
        saturation(ROWS, valid_queries=torch.ones(1, 4, dtype=torch.bool))
    with pytest.raises(TypeError, match="valid_queries must be bool"):
        saturation(ROWS, valid_queries=torch.ones(1, 3))
