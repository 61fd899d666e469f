"""Labels: each token visible, exact, unique, and escaped once."""

import html

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.figures.nasty import NASTY
from viz.figures.labels import (
    axis_labels,
    display_width,
    escape,
    graphemes,
    hover_labels,
    hover_text,
    invisible,
    token_axis,
    visible,
)

INVISIBLE = dict.fromkeys(map(ord, "\u2068\u2069\u2060\u200b\u200c"))


@pytest.mark.parametrize(
    "token,shown",
    [
        ("fox", "fox"), ("", "∅"), (" ", "·"), ("  ", "··"), (" fox", "·fox"), ("a  b", "a  b"), ("\n", "↵"),
        ("\t", "⇥"),
        ("a\nb", "a↵b"), ("\r", "←"), ("\u00a0", "⍽"), ("\u200b", "⟨ZWSP⟩"), ("\ufeff", "⟨BOM⟩"), ("\x00", "\ufffd"),
        ("\ud800", "\ufffd"), ("\u202eabc", "⟨U+202E⟩abc"), ("\u200f", "⟨RLM⟩"), ("\u3000", "⟨U+3000⟩"),
        ("\u0301", "◌\u0301"),
        ("👩\u200d👩\u200d👧", "👩\u200d👩\u200d👧"), ("\u200d", "⟨ZWJ⟩"), ("می\u200cخواهم", "می\u200cخواهم"),
        ("你好", "你好"),
        ("[PAD]", "[PAD]"), ("<s>", "<s>"), ("&amp;", "&amp;"), ("$x$", "$x$"), ("2020-01-01", "2020-01-01"),
        ("🏴\U000e0067\U000e0062\U000e007f", "🏴\U000e0067\U000e0062\U000e007f"),
    ],
)  # fmt: skip
def test_visible(token: str, shown: str) -> None:
    assert visible(token) == shown


@pytest.mark.parametrize(
    "token,shown",
    [
        ("fox", "fox"), ("", '""'), ("\n", '"\\n"'), ("a\nb", '"a\\nb"'), (" fox", '" fox"'), ("\u200b", '"\\u200b"'),
        ("\x00", '"\\x00"'), ("\ud800", '"\\ud800"'), ("\\n", "\\n"), ("\n\\", '"\\n\\\\"'), ('\t"', '"\\t\\""'),
        ("\U000e0001", '"\\U000e0001"'),
    ],
)  # fmt: skip
def test_hover_text_is_exact_and_tells_a_newline_from_a_backslash_n(token: str, shown: str) -> None:
    """C146."""
    assert hover_text(token) == shown


def test_different_tokens_never_share_a_hover_text() -> None:
    assert len({hover_text(token, None) for token in NASTY}) == len(set(NASTY))


@pytest.mark.parametrize(
    "token,width,shown",
    [
        ("supercalifragilistic", 8, "superca…"), ("supercal", 8, "supercal"), ("你好你好你", 8, "你好你…"),
        ("👩\u200d👩\u200d👧👩\u200d👩\u200d👧👍🏽", 4, "👩\u200d👩\u200d👧…"),
        ("e\u0301e\u0301e\u0301", 2, "e\u0301…"),
    ],
)  # fmt: skip
def test_long_tokens_are_cut_between_graphemes(token: str, width: int, shown: str) -> None:
    assert visible(token, width) == shown
    assert display_width(shown) <= width


def test_a_letter_under_thousands_of_marks_is_cut() -> None:
    assert visible("e" + "\u0301" * 5000 + "x") == "e" + "\u0301" * 31 + "…x"
    assert len(hover_text("e" + "\u0301" * 5000)) < 60


def test_graphemes_keep_families_flags_and_accents_whole() -> None:
    assert graphemes("a👩\u200d👩\u200d👧e\u0301🇩🇪🇫🇷👍🏽❤️") == [
        "a",
        "👩\u200d👩\u200d👧",
        "e\u0301",
        "🇩🇪",
        "🇫🇷",
        "👍🏽",
        "❤️",
    ]


@given(st.text(alphabet=st.one_of(st.sampled_from("&<>$%{}#0;ampltg36"), st.characters()), max_size=20))
def test_escape_is_undone_by_one_reading_of_entities(text: str) -> None:
    """C140, C141: what a label renderer decodes once is the text again, and no markup is left to read."""
    escaped = escape(text)
    assert html.unescape(escaped) == text
    assert not set("<>$") & set(escaped)
    assert "%{" not in escaped and "#0000" not in escaped


@pytest.mark.parametrize("token", NASTY)
def test_every_spoilt_token_survives_escaping(token: str) -> None:
    assert html.unescape(escape(token)) == token
    assert "%{" not in escape(token) and "#0000" not in escape(token)


@given(st.lists(st.text(max_size=6), max_size=12), st.integers(0, 40))
def test_axis_labels_are_unique_and_start_with_the_index(tokens: list[str], offset: int) -> None:
    """C139, C143: equal tokens stay apart, and no label can pass for a number or a date."""
    labels = axis_labels(tokens, offset=offset) + axis_labels(tokens, offset=offset, suffix=1)
    assert len(set(labels)) == 2 * len(tokens)
    for i, label in enumerate(labels[: len(tokens)]):
        assert label.startswith(f"{offset + i} ")


def test_axis_labels_of_repeated_tokens() -> None:
    """C139."""
    assert axis_labels(["the", "cat", "the", "dog"]) == ["0 the", "1 cat", "2 the", "3 dog"]


def test_text_of_another_direction_is_isolated() -> None:
    """C148: the full stop after a Hebrew word keeps its place."""
    assert axis_labels(["שלום", "."]) == ["0 \u2068שלום\u2069", "1 ."]


def test_dimmed_labels_say_the_same() -> None:
    (label,) = axis_labels(["[PAD]"], dimmed=[True])
    assert label == '<span style="opacity:0.5">0 [PAD]</span>'
    with pytest.raises(ValueError, match="one bool per token: got 1 for 2"):
        axis_labels(["a", "b"], dimmed=[True])


def test_invisible_numbers_differ_and_have_no_width() -> None:
    written = [invisible(number) for number in range(200)]
    assert len(set(written)) == 200 and written[0] == ""
    assert {display_width(text) for text in written} == {0}
    assert "".join(written).translate(INVISIBLE) == ""


def test_a_token_axis_repeats_its_tokens_at_known_places() -> None:
    axis = token_axis(["a", "\n", "a"], groups=2, before=1, after=2)
    assert axis.starts == [1, 7]
    assert len(axis.categories) == len(set(axis.categories)) == 12
    for start in axis.starts:
        assert [text.translate(INVISIBLE) for text in axis.categories[start : start + 3]] == ["0 a", "1 ↵", "2 a"]
    blank = [text for i, text in enumerate(axis.categories) if i not in (1, 2, 3, 7, 8, 9)]
    assert "".join(blank).translate(INVISIBLE) == ""


def test_only_labels_that_are_not_the_token_get_a_hover_of_their_own() -> None:
    axis = token_axis(["a", "\n", "a very long token indeed"], groups=2, max_len=8)
    assert set(axis.alias.values()) == {'1 "\\n"', "2 a very long token indeed"}
    edge = "\u2060"
    for group in range(2):
        assert axis.alias[edge + axis.categories[group * 3 + 1] + edge] == '1 "\\n"'
    layout = axis.layout(1)
    assert (layout["tickprefix"], layout["showtickprefix"]) == (edge, "first")
    assert (layout["ticksuffix"], layout["showticksuffix"]) == (edge, "last")
    assert axis.shortened == 1
    assert hover_labels(["a"]) == ["0 a"]


def test_blocks_of_tokens_read_as_ranges() -> None:
    axis = token_axis(list("abcdefg"), block=3)
    assert axis.categories == ["0 to 2", "3 to 5", "6 to 6"]
    assert axis.size == 3
