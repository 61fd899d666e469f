"""Marks: what each cell is, and the paths that say so."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from viz.figures.marks import _area, _outline, classify, overlay
from viz.figures.scales import pool, rounded

bools = hnp.arrays(bool, hnp.array_shapes(min_dims=2, max_dims=2, max_side=9))


def rectangles(path: str, shape: tuple[int, int]) -> np.ndarray:
    """Paints a path of rectangles; every cell at most once."""
    cells = np.zeros(shape, int)
    for piece in path.split("M")[1:]:
        corner, rest = piece.split("h", 1)
        x, y = map(int, corner.split())
        width, rest = rest.split("v", 1)
        height = int(rest.split("h")[0])
        cells[y : y + height, x : x + int(width)] += 1
    return cells


@given(bools)
def test_the_area_covers_exactly_the_marked_cells(mask: np.ndarray) -> None:
    np.testing.assert_array_equal(rectangles(_area(mask), mask.shape), mask.astype(int))


@given(bools)
def test_the_outline_runs_between_marked_and_unmarked(mask: np.ndarray) -> None:
    lines = sum(int(part.split("h")[1]) for part in _outline(mask).split("M")[1:] if "h" in part)
    framed = np.pad(mask, 1).astype(int)
    assert lines == np.abs(np.diff(framed, axis=0)).sum()
    lines = sum(int(part.split("v")[1]) for part in _outline(mask).split("M")[1:] if "v" in part)
    assert lines == np.abs(np.diff(framed, axis=1)).sum()


def test_each_cell_is_what_it_is() -> None:
    weights = np.array([[0.5, 0.0, 1e-7, np.nan, np.inf, -np.inf, -1e-9]])
    allowed = np.array([[True, True, True, True, False, True, False]])
    intended = np.array([[False, True, True, True, True, True, True]])
    marks = classify(weights, allowed=allowed, intended=intended)
    assert {name: np.flatnonzero(getattr(marks, name)).tolist() for name in sorted(vars(marks))} == {
        "blocked": [4, 6], "forbidden": [0, 4, 6], "leak": [0, 4, 6], "nan": [3], "neg_inf": [5], "pos_inf": [4],
        "tiny": [2], "zero": [1],
    }  # fmt: skip
    assert marks.states().tolist() == [[2, 1, 1, 1, 2, 1, 2]]


def test_a_nan_at_a_forbidden_cell_is_no_leak() -> None:
    marks = classify(np.array([[np.nan]]), allowed=np.array([[False]]))
    assert not marks.leak.any() and marks.nan.all() and marks.forbidden.all()


def test_equal_masks_are_written_once() -> None:
    marks = classify(np.zeros((3, 3)), allowed=np.tril(np.ones((3, 3), bool)))
    one = overlay([(0, 0, marks)], width=3, height=3, cell=20)
    many = overlay([(4 * i, 0, marks) for i in range(50)], width=200, height=3, cell=20)
    assert one is not None and many is not None
    assert len(many["source"]) < len(one["source"]) + 51 * 3 * 50
    assert (many["sizex"], many["sizey"], many["x"], many["y"]) == (200, 3, -0.5, -0.5)
    clean = classify(np.ones((3, 3)))
    assert overlay([(0, 0, clean)], width=3, height=3, cell=20) is None


@given(
    hnp.arrays(np.float32, st.tuples(st.integers(1, 7), st.integers(1, 7)), elements=st.floats(0, 1, width=32)),
    st.integers(1, 4),
    st.integers(1, 4),
)
def test_pooling_is_the_largest_of_each_block(values: np.ndarray, rows: int, columns: int) -> None:
    pooled = pool(values, rows, columns)
    for i in range(pooled.shape[0]):
        for j in range(pooled.shape[1]):
            block = values[i * rows : (i + 1) * rows, j * columns : (j + 1) * columns]
            assert pooled[i, j] == block.max()


@pytest.mark.parametrize(
    "weight,units",
    [(0, 0), (1e-30, 1), (4e-5, 1), (0.25, 2500), (1, 10_000), (np.nan, 0), (-0.5, 0), (1.5, 15_000), (np.inf, 0)],
)
def test_rounding(weight: float, units: int) -> None:
    assert rounded(np.array([weight])).tolist() == [units]
