"""Where two lists of calls differ: every kind of outcome, the first places, and what JSON can hold."""

import json
import math

import pytest
import torch

from attention_core.compare import MOST_PLACES, compare_cases
from attention_core.intake import Case


def case(name: str = "", **arrays: torch.Tensor) -> Case:
    return Case(name, arrays)


def test_places_are_the_first_in_order_and_the_worst_is_named():
    weights = torch.rand(2, 3, 5, 7, generator=torch.Generator().manual_seed(1))
    other = weights.clone()
    for n, place in enumerate([(0, 1, 2, 3), (0, 2, 4, 6), (1, 0, 0, 0), (1, 0, 0, 5), (1, 1, 1, 1), (1, 2, 3, 4)]):
        other[place] += 0.1 * (n + 1) if place != (1, 0, 0, 5) else 2.0
    [found] = compare_cases([case(weights=weights)], [case(weights=other)])
    assert (found.kind, found.cells, found.total, found.nan) == ("differs", 6, 210, 0)
    assert found.places == ((0, 1, 2, 3), (0, 2, 4, 6), (1, 0, 0, 0), (1, 0, 0, 5), (1, 1, 1, 1))
    assert len(found.places) == MOST_PLACES and found.where == (1, 0, 0, 5)
    assert found.difference == pytest.approx(2.0, rel=1e-6)  # 2.0 was added in float32
    assert (found.call, found.role, found.same) == (0, "weights", False)


def test_rounding_is_no_difference_and_integers_have_no_tolerance():
    weights = torch.full((3, 5), 0.2)
    [found] = compare_cases([case(weights=weights)], [case(weights=weights + 1e-7)])
    assert found.same and found.places == () and found.where is None and 0 < found.tolerance < 1e-4
    [found] = compare_cases([case(lengths=torch.tensor([5, 3]))], [case(lengths=torch.tensor([5, 2]))])
    assert (found.kind, found.places, found.tolerance) == ("differs", ((1,),), 0.0)
    [found] = compare_cases([case(weights=weights)], [case(weights=weights + 0.01)], tolerance=0.02)
    assert found.same


def test_nan_shapes_and_missing_arrays_have_kinds_of_their_own():
    one = case(weights=torch.tensor([[0.5, torch.nan], [torch.nan, 1.0]]), value=torch.zeros(2, 3), sinks=torch.ones(2))
    other = case(weights=torch.tensor([[0.5, torch.nan], [0.0, 1.0]]), value=torch.zeros(3, 2), bias=torch.ones(2))
    found = {entry.role: entry for entry in compare_cases([one], [other])}
    assert {role: entry.kind for role, entry in found.items()} == {
        "weights": "differs", "value": "shape", "sinks": "first alone", "bias": "second alone",
    }  # fmt: skip
    weights = found["weights"]
    assert (weights.nan, weights.cells, weights.places, weights.difference) == (1, 1, ((1, 0),), math.inf)
    assert "NaN in one file alone: 1" in weights.said
    assert found["value"].shapes == ((2, 3), (3, 2)) and found["bias"].shapes == ((2,),)
    read = json.loads(json.dumps([entry.to_dict() for entry in found.values()], allow_nan=False))
    assert read[0]["difference"] is None and read[0]["same"] is False and read[0]["where"] == [1, 0]


def test_calls_are_matched_by_order_and_their_number_is_told():
    calls = [case(name, weights=torch.eye(3)) for name in ("a", "b", "c")]
    found = compare_cases(calls, calls[:2])
    assert [(entry.kind, entry.call) for entry in found] == [("calls", None), ("same", 0), ("same", 1)]
    assert found[0].shapes == ((3,), (2,)) and found[2].what == "b: weights"


def test_nothing_in_common_is_refused():
    with pytest.raises(ValueError, match="must have an array of one kind to be compared"):
        compare_cases([case(weights=torch.eye(2))], [case(query=torch.eye(2))])
