"""The mask lab's mask: from what is typed to a recipe, and from the recipe to arrays and text."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch

from attention_core import masks
from attention_core.diagnostics import reach_layers
from attention_core.mask_code import CONVENTIONS, Snippet, mask_code
from attention_core.mask_parts import (
    BlockSparse,
    Causal,
    Cell,
    Chunked,
    Dilated,
    GlobalLocal,
    MaskRecipe,
    Packed,
    Padding,
    Part,
    PartError,
    Prefix,
    Strided,
    Window,
)

LONGEST = 64
MOST_SAMPLES = 8


def compose(values: Mapping[str, Any], cells: Sequence[Cell]) -> MaskRecipe:
    """The recipe of what the page holds; painted cells outside the mask are left out.

    Args:
        values: the settings of the page by name.
        cells: painted cells, (sample, query, key).

    Raises:
        PartError: if what is typed cannot be read or does not fit.
    """
    q_len, k_len = values["q_len"], values["k_len"]
    parts = [_READERS[name](values) for name in _READERS if name in values["parts"]]
    offset = {"end": None, "start": 0, "custom": values["offset"]}[values["place"]]
    plain = MaskRecipe(q_len, k_len, tuple(_same_batch(parts)), offset)
    if plain.batch > MOST_SAMPLES:
        part = "padding" if "padding" in values["parts"] else "packed"
        message = f"at most {MOST_SAMPLES} samples: got {plain.batch}"
        raise PartError(part, "samples", message, most=MOST_SAMPLES, got=plain.batch)
    painted = tuple(c for c in cells if c[0] < plain.batch and c[1] < q_len and c[2] < k_len)
    return MaskRecipe(q_len, k_len, plain.parts, offset, painted)


def _same_batch(parts: list[Part]) -> list[Part]:
    """One length, or one row of document ids, stands for every sample."""
    padding = next((part for part in parts if isinstance(part, Padding)), None)
    packed = next((part for part in parts if isinstance(part, Packed)), None)
    if padding is None or packed is None:
        return parts
    lengths, ids = padding.lengths, packed.document_ids
    lengths = lengths * len(ids) if len(lengths) == 1 else lengths
    ids = ids * len(lengths) if len(ids) == 1 else ids
    alike = {padding: Padding(lengths, padding.side), packed: Packed(ids)}
    return [alike.get(part, part) for part in parts]


def _numbers(part: str, text: str) -> tuple[int, ...]:
    """Whole numbers with commas or spaces between them."""
    words = [word for word in re.split(r"[\s,，、]+", text) if word]
    wrong = next((word for word in words if not re.fullmatch(r"\d{1,6}", word)), None)
    if wrong is not None:
        raise PartError(part, "numbers", f"need whole numbers with commas between them: got {wrong!r}", got=wrong)
    return tuple(int(word) for word in words)


def _lines(part: str, text: str) -> tuple[tuple[int, ...], ...]:
    """One row of numbers per line; a semicolon also ends a line."""
    rows = (_numbers(part, line) for line in re.split(r"[\n;；]", text))
    return tuple(row for row in rows if row)


def _block_map(values: Mapping[str, Any]) -> tuple[tuple[int, ...], ...]:
    """The typed map, digits with or without gaps; nothing typed means the blocks of the diagonal."""
    text, size = values["block_map"], values["block_size"]
    if not text.strip():
        rows, columns = -(-values["q_len"] // size), -(-values["k_len"] // size)
        return tuple(tuple(int(row == column) for column in range(columns)) for row in range(rows))
    lines = [re.sub(r"[\s,，、]", "", line) for line in re.split(r"[\n;；]", text) if line.strip()]
    wrong = next((line for line in lines if not re.fullmatch(r"[01]+", line)), None)
    if wrong is not None:
        raise PartError("block_sparse", "zero_one", f"a map of blocks holds only 0 and 1: got {wrong!r}", got=wrong)
    return tuple(tuple(int(sign) for sign in line) for line in lines)


_READERS = {
    "causal": lambda values: Causal(),
    "padding": lambda values: Padding(_numbers("padding", values["lengths"]), values["side"]),
    "window": lambda values: Window(values["left"], values["right"]),
    "chunked": lambda values: Chunked(values["chunk"]),
    "dilated": lambda values: Dilated(values["dilated_window"], values["step"]),
    "strided": lambda values: Strided(values["stride"]),
    "global_local": lambda values: GlobalLocal(values["local_window"], _numbers("global_local", values["global_keys"])),
    "block_sparse": lambda values: BlockSparse(_block_map(values), values["block_size"]),
    "prefix": lambda values: Prefix(values["prefix"]),
    "packed": lambda values: Packed(_lines("packed", values["documents"])),
}
PARTS = tuple(_READERS)


@dataclass(frozen=True, eq=False)
class Coverage:
    """How far a stack of layers with this mask reaches, one sample.

    Attributes:
        first: (len, len) int, layers needed; 0 for itself, -1 for never.
        depth: layers after which nothing new is reached.
        reached: pairs reached after 0, 1, ... ``depth`` layers; ``pairs`` is how many there are.
    """

    first: np.ndarray
    depth: int
    reached: tuple[int, ...]
    pairs: int

    def after(self, layers: int) -> int:
        """Pairs reached after so many layers."""
        return self.reached[min(layers, self.depth)]

    @property
    def shares(self) -> tuple[float, ...]:
        """``reached`` as shares of all pairs."""
        return tuple(count / self.pairs for count in self.reached)


@dataclass(frozen=True, eq=False)
class MaskView:
    """One sample of a composed mask, as arrays that nobody writes to.

    Attributes:
        allowed, painted: (q_len, k_len) bool.
        blockers: name of each part -> (q_len, k_len) bool, the cells that it blocks.
        padded_queries, padded_keys: (q_len,) and (k_len,) bool; a query is padding where it stands at a padded key.
        drawing: one line of ■ and ⬚ per query; ``numbers``: the same as 1 and 0.
        keys_per_query: (q_len,) int; ``queries_per_key``: (k_len,) int.
        empty, empty_padding: queries that may read nothing, those that are no padding and those that are.
        unread: keys that are no padding and that no query may read.
        homeless: queries that stand at no key.
        opened: painted cells that parts block, (query, key) -> their names.
        coverage: None where queries and keys are not the same positions.
    """

    allowed: np.ndarray
    painted: np.ndarray
    blockers: Mapping[str, np.ndarray]
    padded_queries: np.ndarray
    padded_keys: np.ndarray
    drawing: str
    numbers: str
    keys_per_query: np.ndarray
    queries_per_key: np.ndarray
    empty: tuple[int, ...]
    empty_padding: tuple[int, ...]
    unread: tuple[int, ...]
    homeless: tuple[int, ...]
    opened: Mapping[tuple[int, int], tuple[str, ...]]
    coverage: Coverage | None

    @property
    def count(self) -> int:
        """Allowed cells."""
        return int(self.keys_per_query.sum())

    @property
    def share(self) -> float:
        """Allowed cells, as a share of all."""
        return self.count / self.allowed.size

    @property
    def fewest(self) -> int:
        """Keys of the query that may read fewest."""
        return int(self.keys_per_query.min())

    @property
    def most(self) -> int:
        """Keys of the query that may read most."""
        return int(self.keys_per_query.max())

    @property
    def query_states(self) -> list[str]:
        """Of each query "plain", "padding", "empty" or "empty_padding"."""
        padded = np.where(self.padded_queries, "padding", "plain")
        padded[list(self.empty)] = "empty"
        padded = padded.astype(object)
        padded[list(self.empty_padding)] = "empty_padding"
        return padded.tolist()


@lru_cache(maxsize=64)
def mask_view(recipe: MaskRecipe, sample: int) -> MaskView:
    """One sample of the mask.

    Raises:
        IndexError: if there is no such sample.
    """
    whole = recipe.allowed()
    shape = whole.shape
    allowed = whole[sample, 0]  # (q_len, k_len)
    painted = torch.zeros(shape[2:], dtype=torch.bool)
    for _, query, key in (cell for cell in recipe.painted if cell[0] == sample):
        painted[query, key] = True
    blockers = {name: ~mask.expand(shape)[sample, 0] for name, mask in recipe.part_masks().items()}
    padded_keys = _padded_keys(recipe, sample)
    place = torch.arange(recipe.q_len) + recipe.start
    inside = (place >= 0) & (place < recipe.k_len)
    padded_queries = inside & padded_keys[place.clamp(0, recipe.k_len - 1)]
    nothing = ~allowed.any(dim=1)
    drawing = masks.draw(allowed)
    return MaskView(
        allowed=_array(allowed),
        painted=_array(painted),
        blockers={name: _array(mask) for name, mask in blockers.items()},
        padded_queries=_array(padded_queries),
        padded_keys=_array(padded_keys),
        drawing=drawing,
        numbers="\n".join(" ".join("1" if sign == "■" else "0" for sign in line) for line in drawing.splitlines()),
        keys_per_query=_array(allowed.sum(dim=1)),
        queries_per_key=_array(allowed.sum(dim=0)),
        empty=_indices(nothing & ~padded_queries),
        empty_padding=_indices(nothing & padded_queries),
        unread=_indices(~allowed.any(dim=0) & ~padded_keys),
        homeless=_indices(~inside),
        opened={
            (query, key): tuple(name for name, mask in blockers.items() if mask[query, key])
            for query, key in (allowed & painted).nonzero().tolist()
        },
        coverage=_coverage(allowed) if recipe.q_len == recipe.k_len and recipe.start == 0 else None,
    )


def reasons(view: MaskView, names: Mapping[str, str], joint: str) -> np.ndarray:
    """(q_len, k_len) texts: the names of the parts that block each cell, "" where none does.

    Args:
        view: the mask.
        names: what each part is called.
        joint: what stands between two names.
    """
    codes = sum(
        (mask.astype(np.int64) << bit for bit, mask in enumerate(view.blockers.values())),
        np.zeros_like(view.allowed, np.int64),
    )
    labels = [names[name] for name in view.blockers]
    texts = {
        code: joint.join(label for bit, label in enumerate(labels) if code >> bit & 1)
        for code in np.unique(codes).tolist()
    }
    return np.vectorize(texts.__getitem__, otypes=[object])(codes)


@lru_cache(maxsize=64)
def snippets(recipe: MaskRecipe) -> Mapping[str, Snippet]:
    """The code of the whole mask, all samples, in every convention."""
    return {convention: mask_code(recipe, convention) for convention in CONVENTIONS}


def _padded_keys(recipe: MaskRecipe, sample: int) -> torch.Tensor:
    padding = next((part for part in recipe.parts if isinstance(part, Padding)), None)
    if padding is None:
        return torch.zeros(recipe.k_len, dtype=torch.bool)
    return ~masks.padding(padding.lengths, recipe.k_len, side=padding.side)[sample, 0, 0]


def _coverage(allowed: torch.Tensor) -> Coverage:
    first = reach_layers(allowed)
    depth = int(first.max())
    reached = tuple(int(((first >= 0) & (first <= layers)).sum()) for layers in range(depth + 1))
    return Coverage(_array(first), depth, reached, first.numel())


def _indices(flags: torch.Tensor) -> tuple[int, ...]:
    return tuple(int(index) for index in flags.nonzero()[:, 0])


def _array(tensor: torch.Tensor) -> np.ndarray:
    array = tensor.numpy()
    array.flags.writeable = False
    return array
