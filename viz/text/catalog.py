"""Joins the texts of the pages into one table, and refuses what would go wrong later."""

from collections.abc import Mapping
from string import Formatter


def merged(pages: Mapping[str, Mapping[str, tuple[str, str]]]) -> dict[str, tuple[str, str]]:
    """One table out of the tables of all pages.

    Args:
        pages: name of the page's module -> its key -> (English, Chinese).

    Raises:
        ValueError: if a key stands twice, a language is empty, or the placeholders of the two languages differ.
    """
    table: dict[str, tuple[str, str]] = {}
    for page, texts in pages.items():
        for key, (english, chinese) in texts.items():
            if key in table:
                raise ValueError(f"a text key stands once: got {key!r} again in {page}")
            if not english.strip() or not chinese.strip():
                raise ValueError(f"a text needs both languages: {key!r} in {page} has an empty one")
            if placeholders(english) != placeholders(chinese):
                raise ValueError(
                    f"both languages need the same placeholders: {key!r} in {page} has "
                    f"{sorted(placeholders(english))} and {sorted(placeholders(chinese))}"
                )
            table[key] = (english, chinese)
    return table


def filled(text: str, values: Mapping[str, object]) -> str:
    """The text with its placeholders filled in.

    >>> filled("{n} {n:token|tokens}", {"n": 1}), filled("{n:,} {n:token|tokens}", {"n": 2000})
    ('1 token', '2,000 tokens')

    Raises:
        KeyError: if a placeholder got no value.
    """
    return _FORMATTER.vformat(text, (), values)


class _Plurals(Formatter):
    def format_field(self, value: object, format_spec: str) -> str:
        if "|" in format_spec:
            one, many = format_spec.split("|")
            return one if value == 1 else many
        return super().format_field(value, format_spec)


_FORMATTER = _Plurals()


def placeholders(text: str) -> set[str]:
    """Names in braces.

    >>> sorted(placeholders("kept {kept:,} of {total} {{literally}}"))
    ['kept', 'total']
    """
    return {name for _, name, _, _ in Formatter().parse(text) if name}
