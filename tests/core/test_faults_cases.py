"""Faults of scale, heads and softmax on tiny inputs worked by hand; reported ones are named after the list of cases."""

import math
from dataclasses import replace

import pytest
import torch

from attention_core import masks
from attention_core.faults import CATALOGUE, CannotCommit, Situation, commit, correct
from tests.core.tiny_situations import NAN, check, even, of_keys, of_scores, uniform

# scaling


def test_no_scaling() -> None:
    situation = of_keys([1.0] * 4, [1.0] * 4, [0.0] * 4)
    check(correct(situation).weights, [[0.8808, 0.1192]])  # softmax([2, 0])
    outcome = commit("no-scaling", situation)
    check(outcome, [[0.9820, 0.0180]])  # softmax([4, 0])
    assert outcome.note == {"scale": 1.0}


def test_scaled_by_d_k() -> None:
    check(commit("scaled-by-d-k", of_keys([1.0] * 4, [1.0] * 4, [0.0] * 4)), [[0.7311, 0.2689]])  # softmax([1, 0])


def test_scaled_twice() -> None:
    situation = replace(of_keys([1.0] * 4, [1.0] * 4, [0.0] * 4), scale=0.25)
    check(commit("scaled-by-d-k", situation, how="twice"), [[0.5622, 0.4378]])  # softmax([4 / 16, 0])


def test_c67_scaled_by_the_model_width() -> None:
    query = torch.ones(1, 4, 1, 16)
    key = torch.stack([torch.ones(16), torch.zeros(16)]).expand(1, 4, 2, 16)
    situation = Situation(query, key, key, torch.ones(1, 2, dtype=torch.bool))
    check(correct(situation).weights, [[[0.9820, 0.0180]]] * 4)
    outcome = commit("scaled-by-d-model", situation)
    check(outcome, [[[0.8808, 0.1192]]] * 4)
    assert outcome.note["scale"] == 0.125


def test_c68_divided_by_the_inverse() -> None:
    situation = of_keys([1.0] + [0.0] * 15, [1.0] + [0.0] * 15, [0.5] + [0.0] * 15, [0.0] * 16)
    check(correct(situation).weights, [[0.3758, 0.3316, 0.2926]])
    outcome = commit("divided-by-inverse", situation)
    check(outcome, [[0.8668, 0.1173, 0.0159]])
    assert outcome.note["scale"] == 4.0


def test_divided_by_a_given_scale() -> None:
    situation = replace(of_scores([[2.0, 0.0]]), scale=0.5)
    check(commit("divided-by-inverse", situation, of="scale"), [[0.9820, 0.0180]])  # softmax([4, 0])


def test_c70_bias_scaled_too() -> None:
    situation = of_keys([1.0] + [0.0] * 15, [8.0] + [0.0] * 15, [0.0] * 16)
    situation = replace(situation, bias=torch.tensor([[0.0, -4.0]]))
    check(correct(situation).weights, [[0.9975, 0.0025]])
    outcome = commit("bias-scaled-too", situation)
    check(outcome, [[0.9526, 0.0474]])
    assert outcome.note["share"] == 0.25


# heads and axes


def test_query_and_key_swapped() -> None:
    situation = of_scores([[0.0, 1.0], [2.0, 3.0]])
    check(correct(situation).weights, [[0.2689, 0.7311], [0.2689, 0.7311]])
    check(commit("query-key-swapped", situation), [[0.1192, 0.8808], [0.1192, 0.8808]])  # rows [0, 2] and [1, 3]


def test_c75_heads_split_by_view() -> None:
    packed = torch.arange(16.0).view(1, 4, 4)
    right = packed.view(1, 4, 2, 2).transpose(1, 2)
    situation = Situation(right, right, right, torch.ones(4, 4, dtype=torch.bool))
    changed = commit("heads-split-without-transpose", situation).changed
    assert changed is not None and changed.value is not None
    expected = [[[0.0, 1], [2, 3], [4, 5], [6, 7]], [[8.0, 9], [10, 11], [12, 13], [14, 15]]]
    for tensor in (changed.query, changed.key, changed.value):
        check(tensor, expected)


def test_c79_key_heads_tiled() -> None:
    query = torch.ones(1, 4, 1, 1)
    key = torch.tensor([0.0, 1.0]).view(1, 2, 1, 1).expand(1, 2, 1, 1)
    changed = commit("kv-heads-tiled", Situation(query, key, key, torch.ones(1, 1, dtype=torch.bool))).changed
    assert changed is not None
    assert changed.key.flatten().tolist() == [0, 1, 0, 1]  # right: 0, 0, 1, 1


def two_samples(lengths: list[int], heads: int = 1, q_len: int = 3) -> Situation:
    """All scores 0, padding alone."""
    batch, k_len = len(lengths), q_len
    zeros = torch.zeros(batch, heads, q_len, 1)
    padding = masks.padding(lengths, k_len)
    return Situation(zeros, zeros, zeros, padding, {"padding": padding}, lengths=torch.tensor(lengths))


def test_c17_masks_of_samples_repeated_over_heads() -> None:
    situation = two_samples([3, 1], heads=2)
    outcome = commit("head-masks-in-wrong-order", situation)
    full, first = [[1 / 3] * 3] * 3, [[1.0, 0, 0]] * 3
    check(outcome, [[full, first], [full, first]])
    assert outcome.weights is not None
    check(outcome.weights.mean(dim=1), [[[2 / 3, 1 / 6, 1 / 6]] * 3] * 2)


def test_masks_interleaved_where_heads_come_first() -> None:
    situation = two_samples([3, 1, 2], heads=2, q_len=3)
    outcome = commit("head-masks-in-wrong-order", situation, how="repeat_interleave")
    assert outcome.changed is not None
    # position h * 3 + b reads mask (h * 3 + b) // 2: samples 0, 0, 1 for head 0 and 1, 2, 2 for head 1
    lengths = outcome.changed.allowed[:, :, 0].sum(dim=-1)
    assert lengths.tolist() == [[3, 1], [3, 2], [1, 2]]


def test_c16_padding_read_as_query_by_key() -> None:
    outcome = commit("batch-axis-swapped", two_samples([3, 2, 1]), what="mask rows")
    check(outcome, [[uniform("xxx", "xx.", "x..")]] * 3)


def test_c81_attention_over_the_batch() -> None:
    zeros = torch.zeros(2, 1, 3, 4)
    outcome = commit(
        "batch-axis-swapped",
        Situation(zeros, zeros, zeros, torch.ones(3, 3, dtype=torch.bool)),
        what="attention over the batch",
    )
    assert outcome.weights is not None and outcome.output is not None
    assert outcome.weights.shape == (3, 1, 2, 2) and outcome.output.shape == (2, 1, 3, 4)
    check(outcome, [[[[1 / 2] * 2] * 2]] * 3)


def test_another_samples_mask_or_keys() -> None:
    situation = two_samples([3, 1])
    check(commit("batch-axis-swapped", situation, what="mask"), [[uniform(*["x.."] * 3)], [uniform(*["xxx"] * 3)]])
    check(commit("batch-axis-swapped", situation, what="first mask"), [[uniform(*["xxx"] * 3)]] * 2)
    key = torch.tensor([[0.0, math.log(3.0)], [0.0, 0.0]]).view(2, 1, 2, 1)
    situation = Situation(torch.ones(2, 1, 1, 1), key, key, torch.ones(1, 2, dtype=torch.bool))
    check(correct(situation).weights, [[[[0.25, 0.75]]], [[[0.5, 0.5]]]])
    check(commit("batch-axis-swapped", situation, what="keys"), [[[[0.5, 0.5]]], [[[0.25, 0.75]]]])


def test_c126_heads_averaged() -> None:
    scores = torch.tensor([[40.0, 0.0], [0.0, 40.0]])
    query = torch.stack([scores, scores.flip(0)])[None]  # one head is the identity, the other swaps
    eye = torch.eye(2).expand(1, 2, 2, 2)
    situation = Situation(query, eye, eye, torch.ones(2, 2, dtype=torch.bool), scale=1.0)
    half = [[1 / 2, 1 / 2], [1 / 2, 1 / 2]]
    outcome = commit("heads-averaged", situation)
    check(outcome, [half, half])
    check(outcome.output, [[[1.0, 0], [0, 1]], [[0.0, 1], [1, 0]]])  # what was computed is right
    alone = commit("heads-averaged", situation, shape="one map")
    assert alone.weights is not None and alone.weights.shape == (1, 2, 2)
    check(alone, half)


def test_c76_heads_merged_by_view() -> None:
    value = torch.tensor([[[1.0, 2], [3, 4]], [[5, 6], [7, 8]]])[None]
    scores = (40.0 * torch.eye(2)).expand(1, 2, 2, 2)  # each query reads its own key
    situation = Situation(scores, torch.eye(2).expand(1, 2, 2, 2), value, torch.ones(2, 2, dtype=torch.bool), scale=1.0)
    check(commit("heads-merged-without-transpose", situation, shape="merged").output, [[1.0, 2, 3, 4], [5, 6, 7, 8]])
    per_head = commit("heads-merged-without-transpose", situation)
    check(per_head.output, [[[1.0, 2], [5, 6]], [[3.0, 4], [7, 8]]])
    check(per_head, [[[1.0, 0], [0, 1]]] * 2)


# softmax


def test_c60_softmax_over_queries() -> None:
    outcome = commit("softmax-over-queries", of_scores([[0, 1, 2], [0, 0, 0], [3.0, 0, 0]]))
    check(outcome, [[0.0453, 0.5761, 0.7870], [0.0453, 0.2119, 0.1065], [0.9094, 0.2119, 0.1065]])
    assert outcome.weights is not None
    check(outcome.weights.sum(dim=-1), [1.4084, 0.3637, 1.2278])


def test_softmax_over_queries_with_keys_that_nobody_reads() -> None:
    situation = even(2, padding=masks.padding([1], 2))
    check(commit("softmax-over-queries", situation), [[1 / 2, 0], [1 / 2, 0]])
    check(commit("softmax-over-queries", situation, empty="nan"), [[1 / 2, NAN], [1 / 2, NAN]])
    check(commit("softmax-over-queries", situation, empty="uniform"), [[1 / 2, 1 / 2], [1 / 2, 1 / 2]])


def test_c61_softmax_over_an_axis_of_size_one() -> None:
    for axis in ("heads", "batch"):
        check(commit("softmax-over-heads", of_scores([[3, -2.0, 0, 1, 7]]), axis=axis), [[1.0] * 5])


def test_softmax_over_heads() -> None:
    query = torch.tensor([0.0, math.log(3.0)]).view(1, 2, 1, 1)
    situation = Situation(query, torch.ones(1, 2, 1, 1), None, torch.ones(1, 1, dtype=torch.bool))
    check(commit("softmax-over-heads", situation), [[[0.25]], [[0.75]]])


def test_c65_softmax_twice() -> None:
    situation = of_scores([[4.0, 1, 0]])
    check(correct(situation).weights, [[0.9362, 0.0466, 0.0171]])
    check(commit("double-softmax", situation), [[0.5526, 0.2270, 0.2204]])
    row = of_scores([[math.log(0.7), math.log(0.3), 0.0]], causal=torch.tensor([[True, True, False]]))
    check(commit("double-softmax", row), [[0.4615, 0.3093, 0.2292]])
    check(commit("double-softmax", row, mask="kept"), [[0.5987, 0.4013, 0.0]])  # softmax([0.7, 0.3])


def test_exp_without_the_maximum() -> None:
    situation = of_scores([[100.0, 0, 0], [-200, -200, -200], [2, 1, 0]], causal=torch.ones(3, 3).bool())
    check(commit("no-max-subtraction", situation), [[NAN, 0, 0], [NAN] * 3, [0.6652, 0.2447, 0.0900]])
    with pytest.raises(CannotCommit, match="result is right"):
        CATALOGUE["no-max-subtraction"].act(of_scores([[80.0, 0]]))
    check(commit("no-max-subtraction", of_scores([[-200.0, -200]])), [[NAN, NAN]])  # 0 / 0
    sinks = replace(of_scores([[100.0, 0], [1, 0]]), sinks=torch.tensor([2.0]))
    check(commit("no-max-subtraction", sinks), [[NAN, 0], [0.2447, 0.0900]])  # the sink has the other 0.6652
    half = of_scores([[12.0, 0]])
    half = replace(half, query=half.query.half(), key=half.key.half(), value=None)
    check(commit("no-max-subtraction", half), [[NAN, 0]])  # exp(12) is beyond 65504
    with pytest.raises(CannotCommit, match="result is right"):
        commit("no-max-subtraction", half, dtype="float32")


def test_c125_dropout_left_on() -> None:
    situation = even(3, causal=masks.causal(3))
    keep = torch.tensor([[True, False, False], [False, True, True], [True, True, False]])[None, None]
    outcome = commit("dropout-left-on", situation, p=0.2, keep=keep)
    check(outcome, [[1.25, 0, 0], [0, 0.625, 0], [0.4167, 0.4167, 0]])
    check(outcome.output, [[1.25, 0, 0], [0, 0.625, 0], [0.4167, 0.4167, 0]])  # V is the identity
    with pytest.raises(CannotCommit, match=r"got 1\.0"):
        commit("dropout-left-on", situation, p=1.0)
