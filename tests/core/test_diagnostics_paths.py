"""Rollout layer by layer and across two texts, and attention flow on graphs worked by hand."""

import itertools

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from attention_core.diagnostics import (
    MOST_EDGES,
    attention_flow,
    cross_rollout,
    max_flow,
    mixed_with_residual,
    rollout,
    rollouts,
)


def maps(*shape: int, count: int, seed: int = 0) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator, dtype=torch.float64).softmax(-1) for _ in range(count)]


def test_each_layer_gives_the_rollout_up_to_it_and_one_layer_is_held_at_a_time():
    layers = maps(2, 3, 5, 5, count=4)
    asked = []

    def one_by_one():
        for number, layer in enumerate(layers):
            asked.append(number)
            yield layer

    for number, found in enumerate(rollouts(one_by_one(), residual=0.3), start=1):
        assert asked == list(range(number))
        assert_close(found, rollout(layers[:number], residual=0.3))
        assert_close(found.sum(-1), torch.ones(2, 5, dtype=torch.float64))


def test_a_sink_takes_a_share_that_the_rows_are_divided_back_to():
    short = torch.tensor([[0.3, 0.1], [0.0, 0.2]])  # rows of 0.4 and 0.2: the rest went to a sink
    expected = torch.tensor([[0.65 / 0.7, 0.05 / 0.7], [0.0, 1.0]])
    assert_close(mixed_with_residual(short), expected)


def test_cross_rollout_worked_by_hand():
    """One layer, two target and two source tokens, residual 1/2: half of each row comes from the source."""
    own = torch.tensor([[1.0, 0.0], [0.5, 0.5]], dtype=torch.float64)
    cross = torch.tensor([[0.2, 0.8], [1.0, 0.0]], dtype=torch.float64)
    encoder = torch.tensor([[0.9, 0.1], [0.4, 0.6]], dtype=torch.float64)
    [(target, source)] = cross_rollout([own], [cross], encoder)
    assert_close(target, torch.tensor([[0.5, 0.0], [0.125, 0.375]], dtype=torch.float64))
    assert_close(source, 0.5 * torch.tensor([[0.5, 0.5], [0.9, 0.1]], dtype=torch.float64))


def test_cross_rollout_keeps_row_sums_over_layers_and_follows_both_texts():
    own, cross = maps(3, 5, 5, count=3), maps(3, 5, 7, count=3, seed=1)
    encoder = rollout([layer[None] for layer in maps(3, 7, 7, count=2, seed=2)])[0]
    found = list(cross_rollout(own, cross, encoder, residual=0.6))
    eye = torch.eye(5, dtype=torch.float64)
    target, source = eye, torch.zeros(5, 7, dtype=torch.float64)
    for a, c, (t, s) in zip(own, cross, found, strict=True):
        step = 0.4 * a.mean(0) + 0.6 * eye
        target, source = step @ target, step @ source
        target, source = 0.6 * target, 0.6 * source + 0.4 * c.mean(0) @ encoder
        assert_close(t, target)
        assert_close(s, source)
        assert_close(t.sum(-1) + s.sum(-1), torch.ones(5, dtype=torch.float64))
    alone = list(cross_rollout(own, [torch.zeros(5, 7, dtype=torch.float64)] * 3, encoder, residual=0.6))
    assert_close(alone[-1][0], rollout([layer[None] for layer in own], residual=0.6)[0])
    assert not alone[-1][1].any()


def test_cross_rollout_refuses_what_does_not_fit():
    own, cross = maps(5, 5, count=2), maps(5, 7, count=1)
    with pytest.raises(ValueError, match="zip"):
        list(cross_rollout(own, cross, torch.eye(7, dtype=torch.float64)))
    with pytest.raises(ValueError, match=r"cross_weights must be \(5, 3\) beside this decoder: got \(5, 7\)"):
        list(cross_rollout(own[:1], cross, torch.eye(3, dtype=torch.float64)))
    with pytest.raises(ValueError, match="residual is a share, from 0 to 1: got -1"):
        list(cross_rollout(own[:1], cross, torch.eye(7, dtype=torch.float64), residual=-1))


def cut_value(edges: list[tuple[int, int, float]], source: int, sink: int, nodes: int) -> float:
    """The smallest cut, by trying all: what the largest flow must equal."""
    others = [node for node in range(nodes) if node not in (source, sink)]
    sides = (set(part) | {source} for size in range(len(others) + 1) for part in itertools.combinations(others, size))
    return min(sum(c for a, b, c in edges if a in side and b not in side) for side in sides)


def test_max_flow_on_graphs_worked_by_hand():
    diamond = [(0, 1, 3.0), (0, 2, 2.0), (1, 2, 5.0), (1, 3, 2.0), (2, 3, 3.0)]
    assert max_flow(diamond, 0, 3, nodes=4) == 5
    assert max_flow([(0, 1, 1.0), (0, 1, 0.5)], 0, 1, nodes=2) == 1.5  # side by side
    assert max_flow([(0, 1, 1.0), (1, 2, 0.25)], 0, 2, nodes=3) == 0.25  # one after the other
    assert max_flow([(1, 0, 1.0)], 0, 1, nodes=2) == 0  # against the arrow
    # The shortest path takes the middle edge; the largest flow has to give it back.
    crossing = [(0, 1, 1.0), (0, 2, 1.0), (1, 4, 1.0), (1, 3, 1.0), (2, 3, 1.0), (3, 5, 1.0), (4, 6, 1.0), (6, 5, 1.0)]
    assert max_flow(crossing, 0, 5, nodes=7) == 2
    with pytest.raises(ValueError, match="two nodes: got 1 twice"):
        max_flow(crossing, 1, 1, nodes=7)


def test_max_flow_equals_the_smallest_cut():
    generator = torch.Generator().manual_seed(3)
    for _ in range(30):
        weights = torch.rand(7, 7, generator=generator) * (torch.rand(7, 7, generator=generator) < 0.5)
        edges = [(i, j, float(weights[i, j])) for i in range(7) for j in range(7) if i != j]
        # edges below 1e-9 are left out, sums of float64 differ in the last places
        assert max_flow(edges, 0, 6, nodes=7) == pytest.approx(cut_value(edges, 0, 6, 7), abs=1e-7)


def test_attention_flow_worked_by_hand():
    """Two layers of two tokens; with residual 0 the capacities are the weights."""
    first = torch.tensor([[1.0, 0.0], [0.3, 0.7]])
    second = torch.tensor([[0.4, 0.6], [0.0, 1.0]])
    # to input 0: over position 0 min(0.4, 1), over position 1 min(0.6, 0.3); to input 1: over position 1 min(0.6, 0.7)
    assert attention_flow([first, second], 0, residual=0) == pytest.approx([0.7, 0.6], abs=1e-6)
    assert attention_flow([first, second], 1, residual=0) == pytest.approx([0.3, 0.7], abs=1e-6)
    assert attention_flow([first], 1) == pytest.approx([0.15, 0.85], abs=1e-6)  # one layer: the mixed weights


def test_attention_flow_of_heads_is_at_least_the_rollout():
    layers = maps(3, 5, 5, count=3)
    for query in range(5):
        found = attention_flow(layers, query)
        cut = [
            cut_value(
                [((n + 1) * 5 + i, n * 5 + j, float(m[i, j])) for n, m in enumerate(
                    [mixed_with_residual(layer[None])[0] for layer in layers[:2]]) for i in range(5) for j in range(5)],
                10 + query, sink, 15,
            )
            for sink in range(2)
        ]  # fmt: skip
        assert attention_flow(layers[:2], query)[:2] == pytest.approx(cut, abs=1e-7)
        carried = rollout([layer[None] for layer in layers])[0, query].tolist()
        assert all(flow >= share - 1e-7 for flow, share in zip(found, carried, strict=True))
        assert max(found) <= 1 + 1e-7


def test_attention_flow_refuses_what_takes_too_long_or_is_no_number():
    side = int((MOST_EDGES / 2) ** 0.5) + 1
    with pytest.raises(ValueError, match=rf"up to {MOST_EDGES} edges: got 2 layers x {side} x {side}"):
        attention_flow([torch.eye(side)] * 2, 0)
    with pytest.raises(ValueError, match="at least one layer"):
        attention_flow([], 0)
    with pytest.raises(ValueError, match="square maps of one size"):
        attention_flow([torch.eye(2), torch.eye(3)], 0)
    with pytest.raises(ValueError, match="finite weights: got NaN"):
        attention_flow([torch.full((2, 2), torch.nan)], 0)
    with pytest.raises(IndexError, match="query must be one of 2, from 0: got 2"):
        attention_flow([torch.eye(2)], 2)
