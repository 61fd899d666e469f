"""Markdown with formulas as HTML that needs no script: formulas become MathML, which browsers draw by themselves."""

import re
from collections.abc import Iterator
from html import escape

from latex2mathml.converter import convert
from markdown_it import MarkdownIt

_READ = MarkdownIt("commonmark", {"html": False}).enable("table")  # HTML in a text is shown, never obeyed
_FORMULA = re.compile(r"(`+).+?\1|\\\$|\$\$(?P<display>.+?)\$\$|\$(?P<inline>[^\s$](?:[^$]*?[^\s$\\])?)\$", re.DOTALL)
_PLACE = re.compile("\ue000(\\d+)\ue001")


def formulas(text: str) -> Iterator[tuple[str, bool]]:
    r"""(LaTeX, whether it has lines of its own) of each formula in a Markdown text; code and ``\$`` are none.

    >>> list(formulas(r"So $x$, `$y$` and $$z$$ for \$5 or \$6"))
    [('x', False), ('z', True)]
    """
    for found in _FORMULA.finditer(text):
        if found["inline"] or found["display"]:
            yield (found["display"] or found["inline"]).strip(), found["display"] is not None


def to_html(text: str) -> str:
    """A Markdown text with ``$LaTeX$`` as HTML; its HTML is escaped."""
    made: list[str] = []

    def keep(found: re.Match[str]) -> str:
        latex = found["display"] or found["inline"]
        if not latex:
            return found[0]
        made.append(mathml(latex.strip(), display=found["display"] is not None))
        return f"\ue000{len(made) - 1}\ue001"

    plain = re.sub("[\ue000\ue001]", "", text)
    return _PLACE.sub(lambda found: made[int(found[1])], _READ.render(_FORMULA.sub(keep, plain)))


def to_line(text: str) -> str:
    """``to_html`` without the paragraph around it, for one line of text."""
    return to_html(text).strip().removeprefix("<p>").removesuffix("</p>")


def mathml(latex: str, *, display: bool) -> str:
    """A formula as MathML; one that cannot be read is shown as it was written."""
    try:
        return convert(latex, display="block" if display else "inline")
    except Exception:  # the library has a class of its own for each mistake, and lets others through
        return f"<code>{escape(latex)}</code>"
