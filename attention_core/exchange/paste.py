"""Pasted text as an array: a drawing, a grid of numbers, or lists as Python, JSON, NumPy and torch print them."""

import math
import re
from typing import Any

import torch
from torch import Tensor

from attention_core.exchange.foreign import numbers
from attention_core.exchange.limits import DEFAULT_LIMITS, FileRefused, Limits, readable, short

_FULL, _EMPTY = "■⬛█▉", "⬚□⬜░▢"
_TOKEN = re.compile(r"[\[\]()]|[^\s,;\[\]()]+")
_WRAPPER = re.compile(r"^(?:(?:torch|np|numpy)\.)?(?:tensor|array|asarray|as_tensor)\s*\(", re.IGNORECASE)
_ARGUMENT = re.compile(r"""^(?:dtype|device|requires_grad|grad_fn|layout|size|shape|names)\s*=""")
_WORDS = {
    "true": True, "false": False, "nan": math.nan, "inf": math.inf, "-inf": -math.inf, "+inf": math.inf,
    "infinity": math.inf, "-infinity": -math.inf, "float('inf')": math.inf, "null": math.nan, "none": math.nan,
}  # fmt: skip


def parse_paste(text: str, *, limits: Limits = DEFAULT_LIMITS) -> Tensor:
    r"""The array that somebody pasted; nothing of it is executed.

    >>> parse_paste("■⬚\n■■")
    tensor([[ True, False],
            [ True,  True]])
    >>> parse_paste("10\n11")
    tensor([[1, 0],
            [1, 1]])
    >>> parse_paste("tensor([[0.5, 0.5], [1., 0.]])")
    tensor([[0.5000, 0.5000],
            [1.0000, 0.0000]])

    Args:
        text: a drawing of ■ (True) and ⬚ (False), lines of numbers, digits 0 and 1 without gaps, or nested lists.
            Blank lines between drawings or grids of one size stack them: (n, rows, columns).
        limits: what is taken at most.

    Returns:
        bool for drawings and True/False, int64 for whole numbers, else float32.

    Raises:
        FileRefused: if it is none of these, ragged, or too long.
    """
    if len(text) > limits.text_bytes:
        raise FileRefused(
            f"a pasted text may have at most {readable(limits.text_bytes)}: got {readable(len(text))}; load a file"
        )
    text = text.strip().strip("`").strip()
    if not text:
        raise FileRefused("a pasted text must hold an array: got nothing")
    if "..." in text or "…" in text:
        raise FileRefused(
            "an array must be pasted whole: got '...', which stands for cells that were not printed; print it with "
            "torch.set_printoptions(threshold=10**6)"
        )
    if text[0] in _FULL + _EMPTY:
        return _stacked(text, _drawn, limits)
    if text[0] in "[(" or _WRAPPER.match(text):
        return numbers(_lists(_WRAPPER.sub("", text), limits), "pasted", limits)
    return _stacked(text, _row, limits)


def _stacked(text: str, read: Any, limits: Limits) -> Tensor:
    blocks = [block.strip().splitlines() for block in re.split(r"\n\s*\n", text)]
    found = [numbers([read(line) for line in block], "pasted", limits) for block in blocks]
    if len({grid.shape for grid in found}) != 1:
        raise FileRefused(f"grids below each other must have one size: got {[tuple(grid.shape) for grid in found[:8]]}")
    if len({grid.dtype for grid in found}) != 1:
        found = [grid.float() for grid in found]
    return found[0] if len(found) == 1 else torch.stack(found)


def _drawn(line: str) -> list[Any]:
    cells = [c for c in line if not c.isspace() and c != "\ufe0f"]
    odd = next((c for c in cells if c not in _FULL + _EMPTY), None)
    if odd is not None:
        raise FileRefused(f"a drawing must be made of ■ and ⬚: got {short(odd)!r}")
    return [c in _FULL for c in cells]


def _row(line: str) -> list[Any]:
    cells = [c for c in re.split(r"[\s,;|]+", line.strip()) if c]
    if len(cells) == 1 and re.fullmatch(r"[01]{2,}", cells[0]):
        cells = list(cells[0])
    return [_cell(c) for c in cells]


def _cell(word: str) -> bool | int | float:
    lower = word.lower()
    if lower in _WORDS:
        return _WORDS[lower]
    try:
        return int(word) if re.fullmatch(r"[+-]?\d{1,18}", word) else float(word)
    except ValueError:
        raise FileRefused(
            f"a cell must be a number, ■ or ⬚: got {short(word)!r}; paste a grid of 0 and 1, lists, or a drawing"
        ) from None


def _lists(text: str, limits: Limits) -> list[Any]:
    """Nested lists, read token by token, with or without commas; named arguments after them are passed over."""
    stack: list[list[Any]] = []
    for match in _TOKEN.finditer(text):
        token = match.group()
        if token in "[(":
            if len(stack) >= limits.axes:
                raise FileRefused(f"an array may have at most {limits.axes} axes: got deeper lists")
            stack.append([])
        elif token in ")]":
            if len(stack) < 2:
                return _only(stack, text[match.end() :])
            stack[-2].append(stack.pop())
        elif not stack:
            raise FileRefused(f"lists must start with [: got {short(token)!r}")
        else:
            stack[-1].append(_cell(token))
    raise FileRefused("lists must be closed: got more [ than ]")


def _only(stack: list[list[Any]], rest: str) -> list[Any]:
    if not stack:
        raise FileRefused("lists must be opened: got ] first")
    for part in re.split(r",\s*", rest.strip().rstrip(";").rstrip(")").strip(" ,")):
        if part and not _ARGUMENT.match(part):
            raise FileRefused(f"one array at a time: got {short(part)!r} after it")
    return stack[0]
