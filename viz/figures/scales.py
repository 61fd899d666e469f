"""From numbers to colour: the named scales, and the rounding that saves bytes."""

from dataclasses import dataclass

import numpy as np

from viz.figures import theme
from viz.figures.words import FigureWords

LOG_FLOOR = -6  # decades shown on the logarithmic scale: 1e-6 to 1
UNITS = 10_000  # a rounded weight is sent as a whole number of 1/10000

SCALES = ("fixed", "row-max", "log")


@dataclass(frozen=True, eq=False)
class Coloured:
    """Values ready to be coloured.

    Attributes:
        z: float32, same shape as the values; NaN where a value has no place on the scale.
        axis: Plotly's ``coloraxis`` settings: range, colours, colour bar.
        name: what the scale is, for the figure's notes.
        exact: ``z`` is the value itself.
    """

    z: np.ndarray
    axis: dict
    name: str
    exact: bool


def colour_weights(weights: np.ndarray, *, scale: str, words: FigureWords) -> Coloured:
    """Weights on one of three scales: fixed 0 to 1, share of the row's largest, or log10 from 1e-6 to 1."""
    if scale not in SCALES:
        raise ValueError(f"scale must be one of {', '.join(SCALES)}: got {scale!r}")
    finite = np.where(np.isfinite(weights), weights, np.float32(np.nan)).astype(np.float32)
    bar = dict(theme.COLOUR_BAR)
    if scale == "log":
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.log10(np.where(finite > 0, finite, np.nan))
        z = np.maximum(z, LOG_FLOOR)  # NaN stays NaN
        bar |= {"tickvals": [-6, -4, -2, 0], "ticktext": ["1e-6", "1e-4", "0.01", "1"]}
        axis = {"cmin": LOG_FLOOR, "cmax": 0}
        name = words.scale_log
    elif scale == "row-max":
        top = np.max(np.nan_to_num(finite, nan=0.0), axis=-1, keepdims=True)
        z = finite / np.where(top > 0, top, 1)
        bar |= {"tickvals": [0, 0.25, 0.5, 0.75, 1]}
        axis = {"cmin": 0, "cmax": 1}
        name = words.scale_row_max
    else:
        z = finite
        bar |= {"tickvals": [0, 0.25, 0.5, 0.75, 1]}
        axis = {"cmin": 0, "cmax": 1}
        name = words.scale_fixed
    axis |= {"colorscale": theme.colorscale(theme.SEQUENTIAL), "colorbar": bar}
    return Coloured(z.astype(np.float32), axis, name, exact=scale == "fixed")


def colour_signed(values: np.ndarray, *, stage: str, words: FigureWords) -> Coloured:
    """Scores and the like on a diverging scale centred on 0, as wide as the largest finite value."""
    finite = np.where(np.isfinite(values), values, np.float32(np.nan)).astype(np.float32)
    size = np.abs(finite[np.isfinite(finite)])
    limit = float(size.max()) if size.size and size.max() > 0 else 1.0
    bar = dict(theme.COLOUR_BAR) | {"tickvals": [-limit, 0, limit], "ticktext": [f"-{limit:.3g}", "0", f"{limit:.3g}"]}
    axis = {"cmin": -limit, "cmax": limit, "colorscale": theme.colorscale(theme.DIVERGING), "colorbar": bar}
    name = words.scale_diverging.format(stage=stage, limit=f"{limit:.3g}")
    return Coloured(finite, axis, name, exact=True)


def colour_length(values: np.ndarray, *, name: str, words: FigureWords) -> Coloured:
    """Numbers from 0 upwards that are no shares, such as lengths, as far as the largest finite one."""
    finite = np.where(np.isfinite(values), values, np.float32(np.nan)).astype(np.float32)
    known = finite[np.isfinite(finite)]
    limit = float(known.max()) if known.size and known.max() > 0 else 1.0
    bar = dict(theme.COLOUR_BAR) | {"tickvals": [0, limit], "ticktext": ["0", f"{limit:.3g}"]}
    axis = {"cmin": 0, "cmax": limit, "colorscale": theme.colorscale(theme.SEQUENTIAL), "colorbar": bar}
    return Coloured(finite, axis, words.scale_length.format(name=name, limit=f"{limit:.3g}"), exact=True)


def rounded(weights: np.ndarray) -> np.ndarray:
    """Weights as whole numbers of 1/10000, uint16: not 0 unless the weight is; not finite or negative becomes 0."""
    clean = np.clip(np.nan_to_num(weights, nan=0.0, posinf=0.0, neginf=0.0), 0, 6.5)
    units = np.rint(clean * UNITS).astype(np.uint16)
    units[(clean > 0) & (units == 0)] = 1
    return units


def pool(values: np.ndarray, rows: int, columns: int, *, signed: bool = False) -> np.ndarray:
    """The largest of each block of ``rows`` x ``columns`` cells of the last two axes; NaN if any is NaN.

    Args:
        values: (..., q_len, k_len); bool arrays pool to "any".
        rows: height of a block; the last one may be smaller.
        columns: width of a block, likewise.
        signed: take the value of the largest magnitude instead.
    """
    if rows == 1 and columns == 1:
        return values
    starts_q = np.arange(0, values.shape[-2], rows)
    starts_k = np.arange(0, values.shape[-1], columns)

    def reduce(function: np.ufunc, array: np.ndarray) -> np.ndarray:
        return function.reduceat(function.reduceat(array, starts_q, axis=-2), starts_k, axis=-1)

    if values.dtype == bool:
        return reduce(np.logical_or, values)
    high = reduce(np.maximum, values)
    if not signed:
        return high
    low = reduce(np.minimum, values)
    return np.where(-low > high, low, high)
