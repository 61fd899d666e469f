"""The colours: even steps, readable in grey and on both grounds, safe for colour-blind eyes."""

import numpy as np
import pytest

from viz.figures import theme


def oklab(colour: str) -> np.ndarray:
    """Björn Ottosson's Oklab (2020), from sRGB."""
    return lms_to_lab(np.cbrt(RGB_TO_LMS @ linear(colour)))


RGB_TO_LMS = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)


def lms_to_lab(roots: np.ndarray) -> np.ndarray:
    return (
        np.array(
            [
                [0.2104542553, 0.7936177850, -0.0040720468],
                [1.9779984951, -2.4285922050, 0.4505937099],
                [0.0259040371, 0.7827717662, -0.8086757660],
            ]
        )
        @ roots
    )


def linear(colour: str) -> np.ndarray:
    srgb = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)


def luminance(colour: str) -> float:
    return float(linear(colour) @ [0.2126, 0.7152, 0.0722])


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_the_sequential_scale_rises_in_even_steps() -> None:
    lightness = np.array([oklab(colour)[0] for colour in theme.SEQUENTIAL])
    np.testing.assert_allclose(np.diff(lightness), (0.95 - 0.24) / 12, atol=0.006)  # 8-bit colours
    steps = [np.linalg.norm(oklab(a) - oklab(b)) for a, b in zip(theme.SEQUENTIAL, theme.SEQUENTIAL[1:], strict=False)]
    assert max(steps) / min(steps) < 1.6


def test_the_diverging_scale_is_lightest_at_0_and_even_on_both_sides() -> None:
    lightness = np.array([oklab(colour)[0] for colour in theme.DIVERGING])
    assert lightness.argmax() == 4
    assert (np.diff(lightness[:5]) > 0).all() and (np.diff(lightness[4:]) < 0).all()
    np.testing.assert_allclose(lightness[:4], lightness[:4:-1], atol=0.06)


@pytest.mark.parametrize("colour", [theme.LEAK, theme.BLOCKED])
def test_outlines_stand_out_from_the_colour_of_no_weight(colour: str) -> None:
    assert contrast(colour, theme.SEQUENTIAL[0]) > 3  # WCAG 2.2, 1.4.11


@pytest.mark.parametrize("ground", ["#ffffff", "#0e1117"])
@pytest.mark.parametrize("colour", [theme.ACCENT, theme.ACCENT_DEEP, theme.LEAK])
def test_marks_of_charts_stand_out_in_light_and_dark(colour: str, ground: str) -> None:
    assert contrast(colour, ground) > 3


def test_notes_wrap_between_parts() -> None:
    assert theme.wrap(["one", "two", "", "three"], columns=11) == ["one · two", "three"]
