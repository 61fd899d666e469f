"""Attention flow: how much could pass from an input position to an output position at most, edge by edge."""

from collections import deque
from collections.abc import Sequence

from torch import Tensor

from attention_core.diagnostics.flow import mixed_with_residual

MOST_EDGES = 16_000
"""Edges, ``layers x len x len``, up to which ``attention_flow`` ends within seconds; above it refuses."""

_NOTHING = 1e-9  # capacities are shares; what is left below it is rounding


def attention_flow(weights: Sequence[Tensor], query: int, *, residual: float = 0.5) -> list[float]:
    """Largest flow from one position of the last layer to each input position, through the layers as pipes.

    An edge from position i of a layer to position j of the one below carries at most the weight mixed with the residual
    stream, as in ``rollout``. Each input is a problem of its own, so that the flows do not sum to 1, and are no shares.

    Args:
        weights: one map per layer, first layer first: (heads, len, len), whose heads are averaged, or (len, len).
        query: position of the last layer.
        residual: share of the residual stream, in [0, 1].

    Returns:
        One number per input position, from 0 to 1.

    Raises:
        ValueError: if no layer is given, maps are not square or not finite, or there are over ``MOST_EDGES`` edges.
        IndexError: if there is no such position.

    Source:
        Abnar and Zuidema 2020, "Quantifying Attention Flow in Transformers", section 3; Dinic 1970 for the algorithm.
    """
    if not weights:
        raise ValueError("attention flow needs at least one layer of weights: got none")
    length = weights[0].shape[-1]
    if any(tuple(layer.shape[-2:]) != (length, length) for layer in weights):
        raise ValueError(f"attention flow needs square maps of one size: got {[tuple(w.shape) for w in weights]}")
    if len(weights) * length**2 > MOST_EDGES:
        raise ValueError(
            f"attention flow takes up to {MOST_EDGES} edges: got {len(weights)} layers x {length} x {length}; "
            f"take fewer layers or a shorter text"
        )
    if not 0 <= query < length:
        raise IndexError(f"query must be one of {length}, from 0: got {query}")
    maps = [mixed_with_residual(w[None] if w.dim() == 3 else w, residual=residual) for w in weights]
    if not all(bool(layer.isfinite().all()) for layer in maps):
        raise ValueError("attention flow needs finite weights: got NaN or infinity")
    capacities = [layer.reshape(length, length).double().tolist() for layer in maps]
    edges = [
        ((layer + 1) * length + i, layer * length + j, capacity)
        for layer, rows in enumerate(capacities)
        for i, row in enumerate(rows)
        for j, capacity in enumerate(row)
    ]
    start = len(maps) * length + query
    return [max_flow(edges, start, sink, nodes=(len(maps) + 1) * length) for sink in range(length)]


def max_flow(edges: Sequence[tuple[int, int, float]], source: int, sink: int, *, nodes: int) -> float:
    """Value of the largest flow through a directed graph.

    >>> max_flow([(0, 1, 3.0), (0, 2, 2.0), (1, 2, 5.0), (1, 3, 2.0), (2, 3, 3.0)], 0, 3, nodes=4)
    5.0

    Args:
        edges: (from, to, capacity), capacities >= 0; edges between the same two nodes add up.
        source: node where it starts.
        sink: node where it ends.
        nodes: number of nodes, numbered from 0.

    Raises:
        ValueError: if source and sink are one node.

    Source:
        Dinic 1970, "Algorithm for solution of a problem of maximum flow in networks with power estimation".
    """
    if source == sink:
        raise ValueError(f"source and sink must be two nodes: got {source} twice")
    graph = _Residual(edges, nodes)
    total = 0.0
    while graph.levels(source, sink):
        graph.begin()
        while (pushed := graph.push(source, sink)) > 0:
            total += pushed
    return total


class _Residual:
    """What each edge can still take; edge ``e ^ 1`` is the way back of edge ``e``."""

    def __init__(self, edges: Sequence[tuple[int, int, float]], nodes: int) -> None:
        self.out: list[list[int]] = [[] for _ in range(nodes)]
        self.to: list[int] = []
        self.left: list[float] = []
        self.level: list[int] = []
        self.next: list[int] = []
        for start, end, capacity in edges:
            if capacity > _NOTHING:
                self.out[start].append(len(self.to))
                self.out[end].append(len(self.to) + 1)
                self.to += [end, start]
                self.left += [capacity, 0.0]

    def levels(self, source: int, sink: int) -> bool:
        """Distances from the source; False where the sink is out of reach."""
        self.level = [-1] * len(self.out)
        self.level[source] = 0
        waiting = deque([source])
        while waiting:
            node = waiting.popleft()
            for edge in self.out[node]:
                end = self.to[edge]
                if self.left[edge] > _NOTHING and self.level[end] < 0:
                    self.level[end] = self.level[node] + 1
                    waiting.append(end)
        return self.level[sink] >= 0

    def begin(self) -> None:
        """Forgets which edges lead nowhere."""
        self.next = [0] * len(self.out)

    def push(self, source: int, sink: int) -> float:
        """Sends what fits along one shortest path; 0 where none is left."""
        path: list[int] = []
        node = source
        while node != sink:
            edges, at = self.out[node], self.next[node]
            while at < len(edges):
                edge = edges[at]
                if self.left[edge] > _NOTHING and self.level[self.to[edge]] == self.level[node] + 1:
                    break
                at += 1
            self.next[node] = at
            if at < len(edges):
                path.append(edges[at])
                node = self.to[edges[at]]
            elif path:
                node = self.to[path.pop() ^ 1]
                self.next[node] += 1
            else:
                return 0.0
        pushed = min(self.left[edge] for edge in path)
        for edge in path:
            self.left[edge] -= pushed
            self.left[edge ^ 1] += pushed
        return pushed
