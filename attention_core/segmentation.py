"""Text cut into tokens by rule, with exact offsets: ``text[start:end]`` is the token. Reached through ``from_scratch``.

A token never splits what a reader sees as one character: a letter with its accents, a flag, a family of emoji. The
cluster rules are those of Unicode's annex 29 as far as the standard library knows the properties; rare prefixed marks
are left out.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Mapping
from types import MappingProxyType

from attention_core.runs import Span

_ZWJ = "\u200d"
_HAN = ((0x3005, 0x3007), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x323AF))
_KANA = ((0x3041, 0x309F), (0x30A1, 0x30FA), (0x30FC, 0x30FF), (0x31F0, 0x31FF), (0xFF66, 0xFF9D))
_PICTURES = (
    *((point, point) for point in (0xA9, 0xAE, 0x203C, 0x2049, 0x2122, 0x2139, 0x3030, 0x303D, 0x3297, 0x3299)),
    *((0x2190, 0x21FF), (0x2300, 0x23FF), (0x2460, 0x24FF), (0x25A0, 0x27BF), (0x2900, 0x297F), (0x2B00, 0x2BFF)),
    *((0x1F000, 0x1F1E5), (0x1F200, 0x1F3FA), (0x1F400, 0x1FAFF)),
)
_INDIC = (0x0900, 0x0980, 0x0A80, 0x0B00, 0x0C00, 0x0D00)  # blocks of one layout: consonants 15-39, virama 4D
_LETTERS_JOINED_BY = "'’"
_DIGITS_JOINED_BY = ".,"
_SENTENCE_END = re.compile(
    r"""(?: [.!?…]+ ["'”’)\]]* (?=\s|$)  |  [。！？]+ ["'”’」』）]*  |  \n ) \s*""",
    re.VERBOSE,
)


def graphemes(text: str) -> list[Span]:
    """Characters as a reader counts them: accents, emoji sequences, flags and Korean syllables stay whole.

    >>> graphemes("e" + chr(0x301) + "x")
    [(0, 2), (2, 3)]

    Source:
        Unicode Standard Annex 29, "Unicode Text Segmentation", section 3.1.1 (rules GB3 to GB13).
    """
    borders, flags = [], 0  # flag letters in a row, up to here: counting back from each would be quadratic
    for i in range(1, len(text)):
        flags = flags + 1 if _flag_letter(text[i - 1]) else 0
        if _breaks(text, i, flags):
            borders.append(i)
    starts, ends = [0, *borders], [*borders, len(text)]
    return list(zip(starts, ends, strict=True)) if text else []


def words(text: str) -> list[Span]:
    """Words, numbers and single punctuation marks; Chinese characters and kana one by one; white space is dropped.

    An apostrophe between letters and a point or comma between digits belong to the word.

    >>> text = "It's 3.5, 我打你!"
    >>> [text[a:b] for a, b in words(text)]
    ["It's", '3.5', ',', '我', '打', '你', '!']
    """
    clusters = graphemes(text)
    kinds = [_kind(text[start]) for start, _ in clusters]
    spans: list[Span] = []
    open_word = False  # whether the last span may grow
    for i, (start, end) in enumerate(clusters):
        joins = kinds[i] == "word" or (open_word and _joins(text, clusters, i))
        if kinds[i] == "space":
            open_word = False
        elif joins and open_word:
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
            open_word = joins
    return spans


def characters(text: str) -> list[Span]:
    """One token per character as a reader counts them, white space and newlines included."""
    return graphemes(text)


def spaces(text: str) -> list[Span]:
    """What stands between white space, punctuation attached.

    >>> text = "Well, then <s>"
    >>> [text[a:b] for a, b in spaces(text)]
    ['Well,', 'then', '<s>']
    """
    return [found.span() for found in re.finditer(r"\S+", text)]


TOKEN_RULES: Mapping[str, Callable[[str], list[Span]]] = MappingProxyType(
    {"words": words, "characters": characters, "spaces": spaces}
)


def sentence_indices(text: str, spans: list[Span]) -> list[int]:
    """The sentence of each token, counted from 0 without gaps: (start, end) offsets -> one number each.

    A sentence ends after ``. ! ? …`` before white space, after ``。！？`` and at a newline; closing quotes belong to
    it.

    >>> text = "Go. 你好。Stop"
    >>> sentence_indices(text, words(text))
    [0, 0, 1, 1, 1, 2]
    """
    ends = [found.end() for found in _SENTENCE_END.finditer(text)]
    numbers = [bisect_right(ends, start) for start, _ in spans]
    order = {number: index for index, number in enumerate(sorted(set(numbers)))}
    return [order[number] for number in numbers]


def _breaks(text: str, i: int, flags: int) -> bool:
    """Whether a new cluster begins at ``text[i]``, right after ``flags`` flag letters in a row."""
    before, after = text[i - 1], text[i]
    if before < "\u0300" and after < "\u0300":  # the usual case
        return (before, after) != ("\r", "\n")
    if _control(before) or _control(after):
        return True
    if _extends(after):
        return False
    if _hangul_joins(before, after):
        return False
    if before == _ZWJ and _picture(after):
        return not _picture(_base(text, i - 1))
    if _flag_letter(before) and _flag_letter(after):
        return flags % 2 == 0
    return not _conjunct(text, i)


def _base(text: str, end: int) -> str:
    """The last character before ``end`` that does not extend another one; "" where there is none."""
    while end > 0:
        end -= 1
        if not _extends(text[end]):
            return text[end]
    return ""


def _conjunct(text: str, i: int) -> bool:
    """An Indic consonant after a virama belongs to the consonant before it."""
    block = ord(text[i]) & ~0x7F
    if block not in _INDIC or not 0x15 <= ord(text[i]) - block <= 0x39:
        return False
    virama, j = chr(block + 0x4D), i
    while j > 0 and _extends(text[j - 1]):
        j -= 1
    linked = virama in text[j:i]
    return linked and j > 0 and ord(text[j - 1]) & ~0x7F == block and 0x15 <= ord(text[j - 1]) - block <= 0x39


def _extends(character: str) -> bool:
    """Marks, joiners, variation selectors, skin tones and tag letters stay with what stands before them."""
    if unicodedata.category(character) in ("Mn", "Me", "Mc"):
        return True
    point = ord(character)
    return (
        character in "\u200c\u200d\u0e33\u0eb3\uff9e\uff9f"
        or 0x1F3FB <= point <= 0x1F3FF
        or 0xE0020 <= point <= 0xE007F
    )


def _control(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp", "Cs") and not _extends(character)


def _hangul_joins(before: str, after: str) -> bool:
    """Leading consonant, vowel and trailing consonant of one Korean syllable."""
    left, right = _hangul(before), _hangul(after)
    return (left, right) in (("L", "L"), ("L", "V"), ("L", "LV"), ("L", "LVT")) or (
        (left in ("V", "LV") and right in ("V", "T")) or (left in ("T", "LVT") and right == "T")
    )


def _hangul(character: str) -> str:
    point = ord(character)
    if 0x1100 <= point <= 0x115F or 0xA960 <= point <= 0xA97C:
        return "L"
    if 0x1160 <= point <= 0x11A7 or 0xD7B0 <= point <= 0xD7C6:
        return "V"
    if 0x11A8 <= point <= 0x11FF or 0xD7CB <= point <= 0xD7FB:
        return "T"
    if 0xAC00 <= point <= 0xD7A3:
        return "LV" if (point - 0xAC00) % 28 == 0 else "LVT"
    return ""


def _picture(character: str) -> bool:
    return character != "" and _within(character, _PICTURES)


def _flag_letter(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _kind(character: str) -> str:
    """What the rule "words" sees: space, word, or a token on its own."""
    if character.isspace():
        return "space"
    if _within(character, _HAN) or _within(character, _KANA):
        return "single"
    return "word" if character == "_" or unicodedata.category(character)[0] in "LNM" else "single"


def _joins(text: str, clusters: list[Span], i: int) -> bool:
    """Whether the mark at cluster i stands inside a word or a number."""
    start, end = clusters[i]
    mark = text[start:end]
    if i + 1 == len(clusters) or mark not in _LETTERS_JOINED_BY + _DIGITS_JOINED_BY:
        return False
    left, right = text[clusters[i - 1][0]], text[clusters[i + 1][0]]
    if mark in _DIGITS_JOINED_BY:
        return left.isdigit() and right.isdigit()
    return left.isalpha() and right.isalpha() and _kind(right) == "word"


def _within(character: str, ranges: tuple[tuple[int, int], ...]) -> bool:
    point = ord(character)
    return any(low <= point <= high for low, high in ranges)
