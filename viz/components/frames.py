"""What both components share: how pieces, numbers, marks and words travel to the browser."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from streamlit.components.v2 import component as register

from viz.components.packing import UNITS, packed_states, rounded
from viz.figures import theme
from viz.figures.labels import HOVER_WIDTH, hover_text, visible
from viz.figures.marks import ALLOWED, classify

_HERE = Path(__file__).resolve().parent
SHARED_WORDS = (
    "about", "queries", "keys", "looks_at", "looked_at_by", "sum", "sum_outside", "nothing", "not_allowed", "leak",
    "lost", "leak_short", "lost_short", "not_allowed_short", "zero", "tiny", "nan", "pos_inf", "neg_inf", "below",
    "pinned", "special", "typed_special", "padding", "unknown", "hint",
)  # fmt: skip


class Piece(Protocol):
    """A token or word: what stands before it that belongs to none, itself, and what kind it is."""

    @property
    def gap(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def kind(self) -> str: ...


def component(name: str) -> Any:
    """Registers the component whose files are ``name.js`` and ``name.css``; the shared ones come first."""
    return register(
        f"headscope.{name}",
        html='<div class="root"></div>',
        css="\n".join(_read(f"{part}.css") for part in ("shared", name)),
        js="\n".join(_read(f"{part}.js") for part in ("shared", name)),
    )


def piece_entries(pieces: Sequence[Piece], first: int, *, flowing: bool) -> list[dict[str, Any]]:
    """One entry per piece: ``g`` the gap, ``t`` what is drawn, ``l`` its exact name, ``k`` its kind unless "text".

    Args:
        pieces: in order.
        first: number of the first one.
        flowing: True leaves white space around a word as it is, so that the text flows; False draws it as signs.
    """
    entries = []
    for number, piece in enumerate(pieces, start=first):
        entry = {
            "t": _flowing(piece.text) if flowing else visible(piece.text),
            "l": f"{number} {hover_text(piece.text)}",
        }
        if flowing and piece.gap:
            entry["g"] = _gap(piece.gap)
        if piece.kind != "text":
            entry["k"] = piece.kind
        entries.append(entry)
    return entries


def map_arrays(
    weights: np.ndarray, *, allowed: np.ndarray, intended: np.ndarray, exact: bool, outside: np.ndarray | None
) -> dict[str, np.ndarray]:
    """The arrays of one or more maps, as light as they may be.

    Args:
        weights: (maps, q_len, k_len) float32.
        allowed: likewise, bool, the mask that was applied.
        intended: likewise, the mask that was meant.
        exact: True sends float32, False whole numbers of 1/65000.
        outside: (maps, q_len) float32: what goes to keys that are not drawn; None: all are.

    Returns:
        ``weights``; ``states``, left out where all cells are allowed, and (ceil(q_len k_len / 4),) where all maps have
        the same; ``outside``.
    """
    arrays = {"weights": weights.astype(np.float32) if exact else rounded(weights)}
    states = classify(weights, allowed=allowed, intended=intended).states()
    if (states != ALLOWED).any():
        same = bool((states == states[:1]).all())
        arrays["states"] = np.concatenate([packed_states(part) for part in (states[:1] if same else states)])
    if outside is not None:
        arrays["outside"] = outside.astype(np.float32)
    return arrays


def common_header(words: Mapping[str, str], needed: Iterable[str]) -> dict[str, Any]:
    """Colours, units and words.

    Raises:
        KeyError: if a word is missing.
    """
    missing = [name for name in needed if name not in words]
    if missing:
        raise KeyError(f"a component needs all of its words: missing {missing}")
    return {
        "units": UNITS,
        "small": theme.TINY,
        "colours": {"leak": theme.LEAK, "lost": theme.BLOCKED},
        "words": dict(words),
    }


def _flowing(text: str) -> str:
    core = text.strip()
    if not core:
        signs = visible(text, HOVER_WIDTH)
        return signs + "\n" if "\n" in text else signs
    start = len(text) - len(text.lstrip())
    return _spaces(text[:start]) + visible(core, HOVER_WIDTH) + _spaces(text[start + len(core) :])


def _gap(text: str) -> str:
    """White space as it is, so that lines break where they did; anything else as a sign."""
    return "".join(char if char in " \n\t" else visible(char) for char in text.replace("\r\n", "\n"))


def _spaces(text: str) -> str:
    return "".join(char if char in " \n\t" else visible(char) for char in text)


def _read(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")
