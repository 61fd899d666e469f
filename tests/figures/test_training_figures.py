"""Figures of a model in training: which map is whose, which cells are outlined, and numbers of heads over steps."""

import numpy as np
import pytest

from tests.figures.spec import array, maps, spec
from viz.figures.training import heads_over_time, training_maps

GENERATOR = np.random.default_rng(3)
TOKENS = ["a", "b", "|", "a", "b"]


@pytest.mark.parametrize(("heads", "across"), [(3, 3), (7, 4)])
def test_every_map_is_in_its_place_with_its_outlines(heads: int, across: int) -> None:
    weights = GENERATOR.dirichlet(np.ones(5), (2, heads, 5)).astype(np.float32)
    names = [f"{layer}.{head}" for layer in range(2) for head in range(heads)]
    drawn = spec(training_maps(weights, tokens=TOKENS, sources=[(2, 0), (3, 1)], names=names))
    tiles = maps(drawn)
    assert [tile["name"] for tile in tiles] == names
    np.testing.assert_array_equal(np.stack([array(tile["z"]) for tile in tiles]), weights.reshape(-1, 5, 5))
    assert len({tile["x0"] for tile in tiles}) == across
    [shape] = drawn["layout"]["shapes"]
    corners = [part.split("L")[0] for part in shape["path"].split("M")[1:]]
    wanted = [(t["x0"] + key - 0.5, t["y0"] + query - 0.5) for t in tiles for query, key in ((2, 0), (3, 1))]
    assert corners == [f"{x},{y}" for x, y in wanted]


def test_maps_without_answers_have_no_outline() -> None:
    drawn = spec(training_maps(np.ones((1, 1, 2, 2)) / 2, tokens=["a", "b"], sources=[], names=["0.0"]))
    assert not drawn["layout"].get("shapes")


@pytest.mark.parametrize(
    ("weights", "sources", "message"),
    [
        (np.ones((2, 3, 3)), [], r"weights must be \(layers, heads, len, len\): got \(2, 3, 3\)"),
        (np.ones((1, 1, 2, 2)), [(1, 2)], r"a source must lie in a map of 2 x 2: got \[\(1, 2\)\]"),
        (np.ones((1, 1, 2, 2)), [(-1, 0)], "a source must lie in a map"),
    ],
)
def test_maps_that_do_not_fit_are_refused(weights: np.ndarray, sources: list, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        training_maps(weights, tokens=["a", "b"], sources=sources, names=["0.0"])


def test_heads_over_time_stand_at_their_steps() -> None:
    values = GENERATOR.random((3, 2)).astype(np.float32)
    figure = heads_over_time(
        values, heads=["0.0", "<b>", "1.0"], steps=[0, 5], head_title="head", step_title="steps", last=20
    )
    drawn = spec(figure)
    [main] = drawn["data"]
    np.testing.assert_array_equal(array(main["z"]), values)
    assert main["x"] == [0, 5]
    assert drawn["layout"]["yaxis"]["ticktext"] == ["0.0", "&lt;b&gt;", "1.0"]
    assert drawn["layout"]["yaxis"]["range"] == [2.5, -0.5]  # the first at the top
    assert drawn["layout"]["xaxis"]["range"] == [-2.5, 22.5]
    assert (drawn["layout"]["coloraxis"]["cmin"], drawn["layout"]["coloraxis"]["cmax"]) == (0, 1)
    with pytest.raises(ValueError, match=r"values must be \(heads, checkpoints\) = \(1, 2\): got \(3, 2\)"):
        heads_over_time(values, heads=["0.0"], steps=[0, 5], head_title="head", step_title="steps")
