"""Colours for every eye: what the scales look like to people who lack one kind of cone, and on a pale projector.

Matrices: Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB. Distances in Oklab (Ottosson 2020), where
0.02 is about the least that is seen side by side.
"""

import numpy as np
import pytest

from viz.figures import theme
from viz.figures.curves import COLOURS, Curve, curves

SEEN = {
    "all cones": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
TO_LMS = np.array(
    [[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566],
     [0.0883024619, 0.2817188376, 0.6299787005]]
)  # fmt: skip
TO_OKLAB = np.array(
    [[0.2104542553, 0.7936177850, -0.0040720468], [1.9779984951, -2.4285922050, 0.4505937099],
     [0.0259040371, 0.7827717662, -0.8086757660]]
)  # fmt: skip
WHITE, DARK = "#ffffff", "#15191e"
EYES = pytest.mark.parametrize("eye", SEEN)


def linear(colours) -> np.ndarray:
    """(n, 3) linear RGB."""
    raw = np.array([[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in colours]) / 255
    return np.where(raw <= 0.04045, raw / 12.92, ((raw + 0.055) / 1.055) ** 2.4)


def oklab(colours, eye: str) -> np.ndarray:
    """(n, 3) lightness, green-red, blue-yellow, as that eye sees them."""
    seen = np.clip(linear(colours) @ SEEN[eye].T, 0, 1)
    return np.cbrt(seen @ TO_LMS.T) @ TO_OKLAB.T


def contrast(one: str, other: str) -> float:
    """WCAG 2: 1 to 21."""
    low, high = sorted(float(value) for value in linear([one, other]) @ [0.2126, 0.7152, 0.0722])
    return (high + 0.05) / (low + 0.05)


def test_the_instruments():
    np.testing.assert_allclose([matrix.sum(1) for matrix in SEEN.values()], 1, atol=2e-6)  # grey stays grey; six digits
    np.testing.assert_allclose(oklab([WHITE], "all cones"), [[1, 0, 0]], atol=1e-4)  # digits of the matrices
    assert contrast(WHITE, "#000000") == pytest.approx(21)
    red, green = oklab(["#c00000", "#5f7a00"], "deuteranopia")
    assert np.abs(red - green)[1] < np.abs(np.subtract(*oklab(["#c00000", "#5f7a00"], "all cones")))[1] / 4


@EYES
def test_more_weight_is_lighter_step_by_step(eye):
    seen = oklab(theme.SEQUENTIAL, eye)
    assert (np.diff(seen[:, 0]) > 0.03).all()  # lightness alone tells neighbours apart, as in print without colour
    assert (np.linalg.norm(np.diff(seen, axis=0), axis=1) > 0.04).all()


@EYES
def test_both_arms_of_the_signed_scale_darken_outwards_and_differ(eye):
    seen = oklab(theme.DIVERGING, eye)
    middle = len(seen) // 2
    assert (np.diff(seen[: middle + 1, 0]) > 0.03).all() and (np.diff(seen[middle:, 0]) < -0.03).all()
    arms = np.linalg.norm(seen[:middle] - seen[:middle:-1], axis=1)  # the same size, the other sign
    assert (arms > 0.07).all(), arms


@EYES
def test_neighbouring_curves_differ_in_colour(eye):
    seen = oklab(COLOURS, eye)
    apart = [np.linalg.norm(a - b) for i, a in enumerate(seen) for b in seen[i + 1 :]]
    assert min(apart) > 0.05, apart


@pytest.mark.parametrize("ground", [WHITE, DARK])
def test_curves_stand_out_from_the_ground(ground):
    assert min(contrast(colour, ground) for colour in COLOURS) >= 3  # WCAG 2, 1.4.11: graphics


def test_curves_differ_without_any_colour():
    lines = [Curve(str(number), [2, 3], [5, 7]) for number in range(5)]
    made = curves([*lines, Curve("theory", [2, 3], [5, 7], theory=True)], x_title="x", y_title="y")
    looks = [(trace.line.dash, trace.marker.symbol) for trace in made.data]
    assert len({dash for dash, _ in looks}) == 6 and len({symbol for _, symbol in looks}) == 6


def test_marks_on_weights_are_seen_on_light_and_dark_cells():
    assert max(contrast(theme.LEAK, stop) for stop in theme.SEQUENTIAL) > 3
