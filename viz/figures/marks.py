"""What a cell is, and the marks drawn over the map: hatch, outlines, glyphs.

The marks are one vector image laid over the heatmap. Its unit is the cell, so it stays sharp at any size; equal parts
(a mask that all heads share) are written once.
"""

from dataclasses import dataclass, fields
from urllib.parse import quote

import numpy as np

from viz.figures import theme
from viz.figures.scales import pool

ALLOWED, FORBIDDEN, LEAK, LOST = 1, 0, 2, 3  # states of a cell, as hover may give them


@dataclass(frozen=True, eq=False)
class CellMarks:
    """Bool arrays of the shape of the values; a cell may carry several marks.

    Attributes:
        forbidden: not allowed, or not intended.
        leak: forbidden, but the weight is not 0.
        blocked: intended, but not allowed.
        zero: allowed, weight exactly 0.
        tiny: allowed, weight not 0 but below 1e-6.
        nan, pos_inf, neg_inf: not a finite number.
    """

    forbidden: np.ndarray
    leak: np.ndarray
    blocked: np.ndarray
    zero: np.ndarray
    tiny: np.ndarray
    nan: np.ndarray
    pos_inf: np.ndarray
    neg_inf: np.ndarray

    def present(self) -> set[str]:
        """Names of the marks that occur."""
        return {field.name for field in fields(self) if getattr(self, field.name).any()}

    def states(self) -> np.ndarray:
        """One code per cell: 1 allowed, 0 not allowed, 2 leak, 3 wrongly blocked; uint8."""
        codes = np.where(self.forbidden, FORBIDDEN, ALLOWED).astype(np.uint8)
        codes[self.blocked] = LOST
        codes[self.leak] = LEAK
        return codes

    def part(self, index: int) -> "CellMarks":
        """The marks of one head."""
        return CellMarks(**{field.name: getattr(self, field.name)[index] for field in fields(self)})

    def pooled(self, rows: int, columns: int) -> "CellMarks":
        """The marks of blocks: any cell's, but not allowed, zero and tiny only where the whole block is."""
        whole = ("forbidden", "zero", "tiny")
        pooled = {}
        for field in fields(self):
            mask = getattr(self, field.name)
            pooled[field.name] = ~pool(~mask, rows, columns) if field.name in whole else pool(mask, rows, columns)
        return CellMarks(**pooled)


def classify(
    weights: np.ndarray, *, allowed: np.ndarray | None = None, intended: np.ndarray | None = None
) -> CellMarks:
    """Says of every cell what it is.

    Args:
        weights: (..., q_len, k_len) float.
        allowed: bool, broadcastable; the mask that was applied, True = may attend. None: not known.
        intended: bool, broadcastable; the mask that was meant. None: the applied one.
    """
    shape = weights.shape
    nobody = np.zeros(shape, bool)
    forbidden = nobody
    if allowed is not None:
        forbidden = ~np.broadcast_to(allowed, shape)
    blocked = nobody
    if intended is not None:
        meant = np.broadcast_to(intended, shape)
        if allowed is not None:
            blocked = meant & forbidden
        forbidden = forbidden | ~meant
    nan = np.isnan(weights)
    size = np.abs(weights)
    return CellMarks(
        forbidden=forbidden,
        leak=forbidden & (weights != 0) & ~nan,
        blocked=blocked,
        zero=~forbidden & (weights == 0),
        tiny=~forbidden & (size > 0) & (size < theme.TINY),
        nan=nan,
        pos_inf=weights == np.inf,
        neg_inf=weights == -np.inf,
    )


def overlay(
    tiles: list[tuple[int, int, CellMarks]],
    *,
    width: int,
    height: int,
    cell: float,
    glyphs: bool = True,
    padded: list[tuple[int, int, int, int]] | None = None,
    veiled: list[tuple[int, int, int, int]] | None = None,
) -> dict | None:
    """One entry for ``layout.images`` with the marks of all tiles.

    Args:
        tiles: (x, y, marks) per tile: its top left cell and its marks (q_len, k_len).
        width: of the whole, in cells.
        height: of the whole, in cells.
        cell: expected size of a cell in pixels, which sets how far apart the hatch lines stand.
        glyphs: False leaves out zero and tiny, which nobody can see in small cells.
        padded: (x, y, width, height) of stripes over padded queries and keys.
        veiled: rectangles to be greyed (heads that are off).

    Returns:
        The image, or None where there is nothing to mark.
    """
    sheet = _Sheet()
    for name in ("forbidden", "tiny", "zero", "nan", "pos_inf", "neg_inf"):
        if name in ("tiny", "zero") and not glyphs:
            continue
        for x, y, marks in tiles:
            sheet.add(name, x, y, _area(getattr(marks, name)))
    for name in ("blocked", "leak"):
        for x, y, marks in tiles:
            sheet.add(name, x, y, _outline(getattr(marks, name)))
    for x, y, w, h in padded or []:
        sheet.add("padding", x, y, f"M0 0h{w}v{h}h-{w}z")
    for x, y, w, h in veiled or []:
        sheet.add("veil", x, y, f"M0 0h{w}v{h}h-{w}z")
    if not sheet.layers:
        return None
    return {
        "source": "data:image/svg+xml," + quote(sheet.svg(width, height, cell), safe=" ='/:,.;()-"),
        "xref": "x",
        "yref": "y",
        "x": -0.5,
        "y": -0.5,
        "sizex": width,
        "sizey": height,
        "sizing": "stretch",
        "xanchor": "left",
        "yanchor": "top",
        "layer": "above",
    }


class _Sheet:
    """Collects paths by layer; equal paths are defined once and used many times."""

    def __init__(self) -> None:
        self.layers: dict[str, list[str]] = {}
        self._ids: dict[str, str] = {}

    def add(self, layer: str, x: int, y: int, path: str) -> None:
        if path:
            name = self._ids.setdefault(path, f"p{len(self._ids)}")
            self.layers.setdefault(layer, []).append(f"<use href='#{name}' x='{x}' y='{y}'/>")

    def svg(self, width: int, height: int, cell: float) -> str:
        paths = "".join(
            f"<path id='{name}' d='{path}' vector-effect='non-scaling-stroke'/>" for path, name in self._ids.items()
        )
        patterns = "".join(_pattern(layer, cell) for layer in self.layers)
        body = "".join(f"<g {_paint(layer)}>{''.join(uses)}</g>" for layer, uses in self.layers.items())
        return (
            f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' width='{width}' height='{height}' "
            f"preserveAspectRatio='none'><defs>{patterns}{paths}</defs>{body}</svg>"
        )


def _paint(layer: str) -> str:
    if layer in ("leak", "blocked"):
        colour = theme.LEAK if layer == "leak" else theme.BLOCKED
        return f"fill='none' stroke='{colour}' stroke-width='2' stroke-linecap='square'"
    if layer == "veil":
        return "fill='rgba(128,128,128,0.55)'"
    return f"fill='url(#{layer})'"


def _pattern(layer: str, cell: float) -> str:
    """The tile that fills a layer, in cells."""
    if layer in ("leak", "blocked", "veil"):
        return ""
    if layer == "forbidden":
        step = max(1, round(6 / cell)) if cell < 12 else 1 / round(cell / 8)
        line = 1 / cell
        path = f"M{-step / 4:g} {step / 4:g}L{step / 4:g} {-step / 4:g}M0 {step:g}L{step:g} 0"
        path += f"M{step * 0.75:g} {step * 1.25:g}L{step * 1.25:g} {step * 0.75:g}"
        # a light line beside a dark one shows on every colour
        drawing = f"<rect width='{step:g}' height='{step:g}' fill='rgba(150,150,150,0.14)'/>"
        drawing += f"<g stroke-width='{line:.3g}' fill='none'><path d='{path}' stroke='rgba(190,194,202,0.55)'/>"
        drawing += f"<path d='{path}' stroke='rgba(10,12,18,0.45)' transform='translate({line:.3g} 0)'/></g>"
    elif layer == "padding":
        step = max(0.5, round(8 / cell) / 2)
        drawing = f"<rect width='{step:g}' height='{step / 2.5:g}' fill='rgba(150,152,158,0.32)'/>"
    else:
        step = 1
        scale = min(1.0, 16 / cell)
        place = f"translate({0.5 - scale / 2:.3g} {0.5 - scale / 2:.3g}) scale({scale:.3g})"
        drawing = f"<g transform='{place}'>{_GLYPHS[layer]}</g>"
    return f"<pattern id='{layer}' width='{step:g}' height='{step:g}' patternUnits='userSpaceOnUse'>{drawing}</pattern>"


_INK = "rgb(205,209,216)"
_DARK = "rgb(24,26,30)"
_GLYPHS = {
    "tiny": f"<circle cx='.5' cy='.5' r='.11' fill='{_INK}'/>",
    "zero": f"<rect x='.28' y='.43' width='.44' height='.14' fill='{_INK}'/>",
    "nan": f"<path d='M.25 .25L.75 .75M.75 .25L.25 .75' stroke='{_DARK}' stroke-width='.13'/>",
    "pos_inf": f"<path d='M.5 .2L.8 .75H.2z' fill='{_DARK}'/>",
    "neg_inf": f"<path d='M.5 .8L.8 .25H.2z' fill='{_DARK}'/>",
}


def _area(mask: np.ndarray) -> str:
    """Path around the True cells: one rectangle per run of a row; equal neighbouring rows share theirs."""
    if not mask.any():
        return ""
    changes = np.flatnonzero((mask[1:] != mask[:-1]).any(axis=1)) + 1
    tops = np.concatenate(([0], changes))
    bottoms = np.concatenate((changes, [mask.shape[0]]))
    rows, starts, lengths = _runs(mask[tops])
    parts = [
        f"M{x} {tops[r]}h{n}v{bottoms[r] - tops[r]}h-{n}z"
        for r, x, n in zip(rows.tolist(), starts.tolist(), lengths.tolist(), strict=True)
    ]
    return "".join(parts)


def _outline(mask: np.ndarray) -> str:
    """Path along the border between True and False cells."""
    if not mask.any():
        return ""
    framed = np.pad(mask, 1)
    rows, starts, lengths = _runs(framed[1:, 1:-1] != framed[:-1, 1:-1])
    path = "".join(f"M{x} {y}h{n}" for y, x, n in zip(rows.tolist(), starts.tolist(), lengths.tolist(), strict=True))
    columns, starts, lengths = _runs((framed[1:-1, 1:] != framed[1:-1, :-1]).T)
    return path + "".join(
        f"M{x} {y}v{n}" for x, y, n in zip(columns.tolist(), starts.tolist(), lengths.tolist(), strict=True)
    )


def _runs(mask: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Row, first column and length of every run of True along the rows."""
    edges = np.diff(np.pad(mask, ((0, 0), (1, 1))).astype(np.int8), axis=1)
    rows, starts = np.nonzero(edges == 1)
    return rows, starts, np.nonzero(edges == -1)[1] - starts
