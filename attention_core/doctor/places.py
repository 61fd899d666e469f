"""Where something is: cells and rows of a bool tensor as lists."""

from torch import Tensor

from attention_core.doctor.report import LISTED, Cell


def cell_list(found: Tensor) -> tuple[Cell, ...]:
    """The first cells of a bool (batch, heads, q_len, k_len) that are True."""
    return tuple((b, h, q, k) for b, h, q, k in found.nonzero()[:LISTED].tolist())


def row_list(rows: Tensor) -> tuple[Cell, ...]:
    """The first rows of a bool (batch, heads, q_len) that are True."""
    return tuple((b, h, q, None) for b, h, q in rows.nonzero()[:LISTED].tolist())


def rows_of(rows: Tensor) -> list[int]:
    """Query indices of a bool (batch, heads, q_len) that are True in any map."""
    return rows.flatten(0, -2).any(0).nonzero().flatten().tolist()


def keys_of(cells: Tensor) -> list[int]:
    """Key indices of a bool (batch, heads, q_len, k_len) that are True in any row."""
    return cells.flatten(0, -2).any(0).nonzero().flatten().tolist()
