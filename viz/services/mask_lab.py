"""What the mask lab shows of a composed mask, as arrays and text: the door from the recipe to the page."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch

from attention_core import masks
from attention_core.diagnostics import reach_layers
from attention_core.mask_code import CONVENTIONS, Snippet, mask_code
from attention_core.mask_parts import MaskRecipe, Padding


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
        opened: painted cells that a part blocks: part -> (query, key) of each.
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
    opened: Mapping[str, tuple[tuple[int, int], ...]]
    coverage: Coverage | None

    @property
    def count(self) -> int:
        """Allowed cells."""
        return int(self.keys_per_query.sum())


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
        opened={
            name: tuple((int(q), int(k)) for q, k in (mask & painted & allowed).nonzero())
            for name, mask in blockers.items()
            if (mask & painted & allowed).any()
        },
        coverage=_coverage(allowed) if recipe.q_len == recipe.k_len and recipe.start == 0 else None,
    )


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
