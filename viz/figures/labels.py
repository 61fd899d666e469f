"""Token labels that show the token, whatever the token is.

A chart library reads a label as markup, as a number or as a date, merges equal ones and drops blank ones. Labels made
here survive all of that: ``{index} {token}`` with the token escaped once, blanks and controls made visible, text of
any direction isolated from its neighbours.
"""

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count, islice

TICK_WIDTH = 16  # of a label on an axis, in half-width columns
HOVER_WIDTH = 120  # of a token on hover

_TALLEST = 32  # code points drawn of one grapheme: thousands of marks on one letter bring a browser to its knees
_EMPTY = "∅"
_MARKS = {
    "\n": "↵",
    "\r": "←",
    "\t": "⇥",
    "\u00a0": "⍽",
    "\u2028": "↵",
    "\u2029": "↵",
    "\u200b": "⟨ZWSP⟩",
    "\u200e": "⟨LRM⟩",
    "\u200f": "⟨RLM⟩",
    "\u2060": "⟨WJ⟩",
    "\ufeff": "⟨BOM⟩",
    "\u00ad": "⟨SHY⟩",
}
_JOINERS = {"\u200d": "⟨ZWJ⟩", "\u200c": "⟨ZWNJ⟩"}
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "$": "&#36;"}
_INVISIBLE = "\u200b\u200c"  # two digits of a number that nobody sees
_HOVER_EDGE = "\u2060"  # an axis adds it to hover texts (and to its outermost ticks): see axis_words


def escape(text: str) -> str:
    """Text for any place where Plotly reads markup: titles, ticks, hover, legends, templates.

    Escapes once, so ``&amp;`` stays ``&amp;`` on screen; ``$`` never starts mathematics, ``%`` never a template, and
    ``#0000`` is not one of the colours that Streamlit replaces in a figure.
    """
    escaped = "".join(_ENTITIES.get(char, char) for char in text)
    return escaped.replace("#0000", "&#35;0000").replace("%{", "&#37;{")


def visible(token: str, max_len: int | None = TICK_WIDTH) -> str:
    """The token as a person can see it; plain text, not escaped.

    Blank tokens, controls, and characters that change the order of others become signs; everything else stays. ``""``
    is ∅, a space at an end is ·, newline ↵, tab ⇥, carriage return ←, no-break space ⍽, C0/C1 controls and lone
    surrogates �.

    Args:
        token: any string.
        max_len: longest width in half-width columns (a Chinese character or an emoji has two), at least 2; a longer
            token is cut between graphemes and ends in …; None: never cut.
    """
    if not token:
        return _EMPTY
    start = len(token) - len(token.lstrip(" "))
    end = len(token.rstrip(" "))
    signs = []
    for position, char in enumerate(token):
        if char == " ":
            signs.append(" " if start <= position < end else "·")
        else:
            signs.append(_sign(token, position))
    text = "".join(signs)
    if unicodedata.category(text[0]).startswith("M"):
        text = "◌" + text  # a mark needs something to stand on
    return text if max_len is None else _cut(text, max(2, max_len))


def hover_text(token: str, max_len: int | None = HOVER_WIDTH) -> str:
    r"""The token exactly, for hover and messages; plain text, not escaped.

    A token that can be seen as it is stays as it is; any other is quoted, with escapes: a newline reads ``"\n"``, a
    word with its space ``" fox"``, the empty token ``""``.

    Args:
        token: any string.
        max_len: as in ``visible``.
    """
    if token and token == visible(token, None):
        text = token
    else:
        text = '"' + "".join(_escape_sequence(token, position) for position in range(len(token))) + '"'
    return text if max_len is None else _cut(text, max(2, max_len))


def axis_labels(
    tokens: Sequence[str],
    *,
    offset: int = 0,
    suffix: int = 0,
    max_len: int | None = TICK_WIDTH,
    dimmed: Iterable[bool] | None = None,
) -> list[str]:
    """One unique, escaped category per token: ``{index} {token}``.

    Args:
        tokens: the tokens, in order; equal ones are fine.
        offset: index of the first token.
        suffix: number >= 0 written in characters without width, so that several groups of the same tokens can share
            one axis.
        max_len: as in ``visible``.
        dimmed: one bool per token; True writes the label in grey (padding). None: none.

    Returns:
        As many strings as tokens, all different.
    """
    tail = invisible(suffix)
    dim = [False] * len(tokens) if dimmed is None else list(dimmed)
    if len(dim) != len(tokens):
        raise ValueError(f"need one bool per token: got {len(dim)} for {len(tokens)} tokens; pass dimmed=None for none")
    labels = []
    for index, token in enumerate(tokens, start=offset):
        label = f"{index} " + _isolate(escape(visible(token, max_len))) + tail
        labels.append(f'<span style="opacity:0.5">{label}</span>' if dim[index - offset] else label)
    return labels


def hover_labels(tokens: Sequence[str], *, offset: int = 0) -> list[str]:
    """What hover says of each token: ``{index} {token}``, escaped, exact, never shortened below 120 columns."""
    return [f"{i} " + _isolate(escape(hover_text(token))) for i, token in enumerate(tokens, start=offset)]


def invisible(number: int) -> str:
    """A string without width, different for every number >= 0; empty for 0."""
    digits = f"{number:b}" if number else ""
    return "".join(_INVISIBLE[int(digit)] for digit in digits)


@dataclass(frozen=True)
class TokenAxis:
    """The categories of one axis: one or more groups of the same tokens, with blank places between them.

    Attributes:
        categories: every place of the axis in order; blank places hold invisible strings.
        starts: index of the first token of each group.
        size: number of tokens of a group.
        alias: hover texts that differ from the tick, keyed as Plotly's ``labelalias`` wants it.
        shortened: how many tokens are cut on the axis.
    """

    categories: list[str]
    starts: list[int]
    size: int
    alias: dict[str, str]
    shortened: int

    def layout(self, step: int) -> dict:
        """Axis settings: each ``step``-th place carries a tick, so that the first token of a group has one."""
        settings: dict = {
            "type": "category",
            "categoryorder": "array",
            "categoryarray": self.categories,
            "tickmode": "linear",
            "tick0": self.starts[0] % step,
            "dtick": step,
            "automargin": False,
            "showgrid": False,
            "zeroline": False,
            "showline": False,
            "ticks": "",
        }
        if self.alias:
            # Plotly adds prefix and suffix to every hover text, to ticks only as named here; an alias keyed with both
            # is therefore the hover's alone.
            settings |= {
                "tickprefix": _HOVER_EDGE,
                "showtickprefix": "first",
                "ticksuffix": _HOVER_EDGE,
                "showticksuffix": "last",
                "labelalias": self.alias,
            }
        return settings


def token_axis(
    tokens: Sequence[str],
    *,
    groups: int = 1,
    before: int = 0,
    after: int = 0,
    max_len: int = TICK_WIDTH,
    dimmed: Iterable[bool] | None = None,
    block: int = 1,
    offset: int = 0,
) -> TokenAxis:
    """Lays ``groups`` copies of the tokens on one axis, each with ``before`` and ``after`` blank places.

    Args:
        tokens: the tokens of one group.
        groups: number of copies.
        before: blank places before each copy.
        after: blank places after each copy.
        max_len: as in ``visible``.
        dimmed: as in ``axis_labels``.
        block: tokens per place; above 1 a place reads ``{first} to {last}``, and ``dimmed`` counts places.
        offset: number of the first token, where the tokens are a part of a longer text.
    """
    dim = None if dimmed is None else list(dimmed)
    places = -(-len(tokens) // block)
    starting = range(0, len(tokens), block) if block > 1 else ()
    ranges = [f"{i + offset} to {min(i + block, len(tokens)) - 1 + offset}" for i in starting]
    hovers = hover_labels(tokens, offset=offset) if block == 1 else ranges
    plain = [f"{i} " + _isolate(escape(token)) for i, token in enumerate(tokens, offset)] if block == 1 else ranges
    categories: list[str] = []
    starts: list[int] = []
    alias: dict[str, str] = {}
    blanks = (_HOVER_EDGE + invisible(number) for number in count(1))
    for group in range(groups):
        categories += islice(blanks, before)
        starts.append(len(categories))
        if block == 1:
            labels = axis_labels(tokens, suffix=group, max_len=max_len, dimmed=dim, offset=offset)
        else:
            labels = [text + invisible(group) for text in ranges]
        for label, hover, simple in zip(labels, hovers, plain, strict=True):
            if label != simple + invisible(group):
                alias[_HOVER_EDGE + label + _HOVER_EDGE] = hover
        categories += labels
        categories += islice(blanks, after)
    shortened = sum(visible(token, max_len) != visible(token, None) for token in tokens) if block == 1 else 0
    return TokenAxis(categories, starts, places, alias, shortened)


def display_width(text: str) -> int:
    """Width of plain text in half-width columns: wide characters and emoji count two, marks and joiners none."""
    return sum(_width(grapheme) for grapheme in graphemes(text))


def graphemes(text: str) -> list[str]:
    """Splits into what a reader takes for one character: marks, joiners, skin tones, flags stay with their base.

    An approximation of the Unicode rules that needs no tables beyond the standard library's.
    """
    clusters: list[str] = []
    flags = 0  # regional indicators in a row
    for char in text:
        code = ord(char)
        indicator = 0x1F1E6 <= code <= 0x1F1FF
        joins = (
            unicodedata.category(char) in ("Mn", "Me", "Mc")
            or char in _JOINERS
            or 0x1F3FB <= code <= 0x1F3FF
            or 0xE0020 <= code <= 0xE007F
            or (clusters and clusters[-1].endswith("\u200d"))
            or (indicator and flags % 2 == 1)
        )
        flags = flags + 1 if indicator else 0
        if joins and clusters:
            clusters[-1] += char
        else:
            clusters.append(char)
    return clusters


def _isolate(text: str) -> str:
    """Keeps text of another direction from moving its neighbours; ASCII cannot."""
    return text if text.isascii() else f"\u2068{text}\u2069"  # first strong isolate ... pop


def _sign(token: str, position: int) -> str:
    char = token[position]
    if char in _MARKS:
        return _MARKS[char]
    category = unicodedata.category(char)
    if category in ("Cc", "Cs"):
        return "\ufffd"
    if char in _JOINERS:
        inside = (
            0 < position < len(token) - 1 and not token[position - 1].isspace() and not token[position + 1].isspace()
        )
        return char if inside else _JOINERS[char]
    if category == "Zs" or (category == "Cf" and not _tag_of_flag(token, position)):
        return _code(char)
    return char


def _tag_of_flag(token: str, position: int) -> bool:
    return 0xE0020 <= ord(token[position]) <= 0xE007F and "\U0001f3f4" in token[:position]


def _code(char: str) -> str:
    return f"⟨U+{ord(char):04X}⟩"


def _escape_sequence(token: str, position: int) -> str:
    char = token[position]
    known = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
    if char in known:
        return known[char]
    if char == " " or _sign(token, position) == char:
        return char
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _cut(text: str, width: int) -> str:
    clusters = [
        part
        for cluster in graphemes(text)
        for part in ([cluster[:_TALLEST], "…"] if len(cluster) > _TALLEST else [cluster])
    ]
    if sum(map(_width, clusters)) <= width:
        return "".join(clusters)
    kept, used = [], 0
    for cluster in clusters:
        used += _width(cluster)
        if used > width - 1:
            break
        kept.append(cluster)
    return "".join(kept) + "…"


def _width(cluster: str) -> int:
    if unicodedata.category(cluster[0]) == "Cf":
        return 0
    return 2 if unicodedata.east_asian_width(cluster[0]) in "WF" or "\ufe0f" in cluster else 1
