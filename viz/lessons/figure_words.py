"""The words on figures, in the current language."""

from dataclasses import fields

from viz.figures import FigureWords
from viz.text import DEFAULT_LANGUAGE, language, template


def figure_words() -> FigureWords:
    """The words on the figures in the current language."""
    kind = FigureWords if language() == DEFAULT_LANGUAGE else _PlainOrdinals
    return kind(**{field.name: template(f"figure.{field.name}") for field in fields(FigureWords)})


class _PlainOrdinals(FigureWords):
    def nth(self, step: int) -> str:
        return str(step)
