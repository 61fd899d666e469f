"""Parts that the grid and the single head share: checked inputs, hover texts, cells without a number, the legend."""

from collections.abc import Sequence

import numpy as np

from viz.figures import theme
from viz.figures.labels import display_width, escape
from viz.figures.marks import ALLOWED, CellMarks
from viz.figures.words import FigureWords

NUMBER = ":.9~g"  # nine digits give a float32 back exactly
STATE_BYTES = 60_000  # what the words for "may attend" may cost in one figure


def check_tokens(name: str, tokens: Sequence[str], length: int, axis: str) -> list[str]:
    """The tokens as a list; ValueError where there is not one per row or column."""
    if isinstance(tokens, str) or len(tokens) != length:
        got = f"one string of length {len(tokens)}" if isinstance(tokens, str) else f"{len(tokens)} tokens"
        raise ValueError(
            f"need one {name} token per {axis}: got {got} for {length} (did the tokenizer add special tokens?)"
        )
    return [str(token) for token in tokens]


def check_mask(name: str, mask: np.ndarray | None, shape: tuple[int, ...]) -> np.ndarray | None:
    """The mask as an array that broadcasts to ``shape``; TypeError unless bool, ValueError unless it fits."""
    if mask is None:
        return None
    array = np.asarray(mask)
    if array.dtype != bool:
        raise TypeError(f"{name} must be bool, True = may attend: got {array.dtype}; convert it first")
    try:
        np.broadcast_to(array, shape)
    except ValueError:
        raise ValueError(f"{name} must broadcast to {shape}: got {array.shape}") from None
    return array


def check_padding(name: str, flags: Sequence[bool] | np.ndarray | None, length: int) -> np.ndarray:
    """One bool per token, all False for None."""
    if flags is None:
        return np.zeros(length, bool)
    array = np.asarray(flags)
    if array.dtype != bool or array.shape != (length,):
        raise ValueError(f"{name} must be one bool per token ({length}): got {array.dtype} {array.shape}")
    return array


class StateText:
    """The word in each cell's hover that says whether the query may look there.

    Words where they are cheap, digits with their key where words would weigh too much, nothing in the cells where all
    of the figure say the same.
    """

    def __init__(self, marks: CellMarks, *, known: bool, words: FigureWords) -> None:
        """
        Args:
            marks: of all cells of the figure.
            known: False if no mask was given, so that nothing is said.
            words: the words.
        """
        by_code = [escape(word) for word in (words.no, words.yes, words.leak_short, words.lost_short)]
        self._table: np.ndarray | None = None
        self._uniform = not known or not (marks.forbidden.any() or marks.blocked.any())
        self.line = ""
        if not known:
            return
        self.line = f"<br>{escape(words.may_attend)}: "
        if self._uniform:
            self.line += by_code[ALLOWED]
            return
        counts = np.bincount(marks.states().ravel(), minlength=4).tolist()
        if sum(count * (3 + _json_length(word)) for count, word in zip(counts, by_code, strict=True)) <= STATE_BYTES:
            self._table = np.array(by_code)
            self.line += "%{hovertext}"
        else:
            key = [f"{code} {by_code[code]}" for code in (1, 0, 2, 3) if counts[code]]
            self.line += f"%{{hovertext}} ({', '.join(key)})"

    def cells(self, marks: CellMarks) -> np.ndarray | None:
        """What goes into ``hovertext`` for these cells: words, uint8 digits, or nothing."""
        if self._uniform:
            return None
        return marks.states() if self._table is None else self._table[marks.states()]


def _json_length(text: str) -> int:
    return sum(1 if ord(char) < 128 else 6 if ord(char) < 0x10000 else 12 for char in text)


def unplaced(
    values: np.ndarray, z: np.ndarray, *, place: dict, template: str, hovertext: np.ndarray | None, words: FigureWords
) -> list[dict]:
    """Grey layers over the cells whose value has no place on the colour scale, one per kind; hover names the value.

    Args:
        values: (q_len, k_len) the true values.
        z: what the colours are made of; NaN marks the cells in question.
        place: ``x0, dx, y0, dy`` of the map that they lie on.
        template: hovertemplate with ``{value}`` where the value stands.
        hovertext: that of the map.
        words: how NaN and the infinities read.
    """
    missing = np.isnan(z)
    if not missing.any():
        return []
    kinds = {
        words.nan: np.isnan(values),
        words.pos_inf: values == np.inf,
        words.neg_inf: values == -np.inf,
        "0": values == 0,
        "< 0": missing & np.isfinite(values) & (values < 0),
    }
    layers = []
    for name, kind in kinds.items():
        cells = missing & kind
        if cells.any():
            layers.append(
                {
                    "type": "heatmap",
                    "z": np.where(cells, np.float32(1), np.float32(np.nan)),
                    "hovertext": hovertext,
                    "colorscale": theme.flat(theme.NEUTRAL),
                    "zmin": 0,
                    "zmax": 1,
                    "showscale": False,
                    "hoverongaps": False,
                    "hovertemplate": template.replace("{value}", escape(name)),
                    "meta": {"value": name},
                    **place,
                }
            )
    return layers


def legend_entries(present: set[str], *, padding: bool, words: FigureWords) -> list[dict]:
    """Legend entries, and nothing else, for the marks that occur."""
    entries: list[dict] = []
    nothing = {"x": [None], "y": [None], "hoverinfo": "skip", "showlegend": True}

    def bar(name: str, **marker) -> None:
        entries.append({"type": "bar", "name": escape(name), "marker": marker, **nothing})

    def point(name: str, **marker) -> None:
        entries.append({"type": "scatter", "mode": "markers", "name": escape(name), "marker": marker, **nothing})

    if "forbidden" in present:
        hatch = {
            "shape": "/",
            "fgcolor": "rgb(128,133,142)",
            "bgcolor": "rgba(150,150,150,0.18)",
            "size": 4,
            "solidity": 0.3,
        }
        bar(words.legend_forbidden, pattern=hatch, color="rgb(150,150,150)")
    if "leak" in present:
        bar(words.legend_leak, color="rgba(0,0,0,0)", line={"color": theme.LEAK, "width": 2})
    if "blocked" in present:
        bar(words.legend_blocked, color="rgba(0,0,0,0)", line={"color": theme.BLOCKED, "width": 2})
    if "zero" in present:
        point(words.legend_zero, symbol="line-ew-open", size=8, color=theme.NEUTRAL, line={"width": 2})
    if "tiny" in present:
        point(words.legend_tiny, symbol="circle", size=4, color=theme.NEUTRAL)
    if "nan" in present:
        point(words.legend_nan, symbol="x-thin-open", size=7, color=theme.NEUTRAL, line={"width": 2})
    if "pos_inf" in present:
        point(words.legend_pos_inf, symbol="triangle-up", size=8, color=theme.NEUTRAL)
    if "neg_inf" in present:
        point(words.legend_neg_inf, symbol="triangle-down", size=8, color=theme.NEUTRAL)
    if padding:
        stripe = {"shape": "-", "fgcolor": "rgb(128,133,142)", "size": 4, "solidity": 0.4}
        bar(words.legend_padding, pattern=stripe, color="rgba(0,0,0,0)")
    return entries


def legend_height(entries: list, *, width: int) -> int:
    """Pixels that the legend's rows need."""
    if not entries:
        return 0
    total = sum(46 + 6.2 * len(entry["name"]) for entry in entries)
    return 6 + 20 * max(1, int(np.ceil(total / max(width, 1))))


def label_width(labels: Sequence[str], *, size: float) -> int:
    """Pixels that the widest of these tick labels needs; markup and invisible characters do not count."""
    widest = 0
    for label in labels:
        text = label.rpartition('">')[2].removesuffix("</span>") if label.startswith("<span") else label
        for entity in ("&amp;", "&lt;", "&gt;", "&#36;", "&#35;", "&#37;"):
            text = text.replace(entity, "w")
        widest = max(widest, display_width(text))
    return int(widest * size * 0.58) + 8
