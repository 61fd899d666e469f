"""A mask put together from parts, frozen and hashable: a key of a cache, a link, or lines of code.

>>> from attention_core import masks
>>> recipe = MaskRecipe(4, 4, (Causal(), Padding((2,))), painted=((0, 3, 3),))
>>> print(masks.draw(recipe.allowed()))
■⬚⬚⬚
■■⬚⬚
■■⬚⬚
■■⬚■

The parts are those of ``attention_core.masks``; each must allow a cell (``&``). What is painted is flipped at the end.
``attention_core.mask_code`` writes the same mask as code.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from attention_core import masks

Cell = tuple[int, int, int]
"""(sample, query, key)."""


class PartError(ValueError):
    """A part that does not fit the sizes.

    Attributes:
        part: name of the part, or "sizes".
        code: which rule was broken.
        values: what the rule and the remedy are about, by name.
    """

    def __init__(self, part: str, code: str, message: str, **values: object) -> None:
        super().__init__(message)
        self.part = part
        self.code = code
        self.values: Mapping[str, object] = values


@dataclass(frozen=True)
class Causal:
    """No query reads a key after its own position."""

    name: ClassVar[str] = "causal"


@dataclass(frozen=True)
class Padding:
    """Only the first (filler at the right) or last ``lengths[sample]`` keys are real."""

    name: ClassVar[str] = "padding"
    lengths: tuple[int, ...]
    side: masks.Side = "right"


@dataclass(frozen=True)
class Window:
    """``-left <= key - query <= right``; None is without end."""

    name: ClassVar[str] = "window"
    left: int | None = None
    right: int | None = None


@dataclass(frozen=True)
class Chunked:
    """The same chunk of ``size`` positions."""

    name: ClassVar[str] = "chunked"
    size: int


@dataclass(frozen=True)
class Dilated:
    """``window`` keys per side, the query's own included, ``step`` apart."""

    name: ClassVar[str] = "dilated"
    window: int
    step: int


@dataclass(frozen=True)
class Strided:
    """Distances that are multiples of ``stride``."""

    name: ClassVar[str] = "strided"
    stride: int


@dataclass(frozen=True)
class GlobalLocal:
    """``window`` keys per side, the query's own included, and ``global_keys`` for everyone."""

    name: ClassVar[str] = "global_local"
    window: int
    global_keys: tuple[int, ...] = ()


@dataclass(frozen=True)
class BlockSparse:
    """Whole blocks: rows of ``block_map`` (1 = allowed) are blocks of queries; what sticks out of the mask is cut."""

    name: ClassVar[str] = "block_sparse"
    block_map: tuple[tuple[int, ...], ...]
    block_size: int


@dataclass(frozen=True)
class Prefix:
    """Everyone reads the first ``prefix`` keys; the rest is causal."""

    name: ClassVar[str] = "prefix"
    prefix: int


@dataclass(frozen=True)
class Packed:
    """The same document only; one row of ids per sample, one id per key."""

    name: ClassVar[str] = "packed"
    document_ids: tuple[tuple[int, ...], ...]


Part = Causal | Padding | Window | Chunked | Dilated | Strided | GlobalLocal | BlockSparse | Prefix | Packed


@dataclass(frozen=True)
class MaskRecipe:
    """Sizes, parts and painted cells.

    Attributes:
        q_len, k_len: numbers of queries and keys.
        parts: at most one of each kind; none allows everything.
        offset: key position of the first query; None means ``k_len - q_len``.
        painted: cells that are flipped at the end, each once.

    Raises:
        PartError: if a part does not fit the sizes or another part.
    """

    q_len: int
    k_len: int
    parts: tuple[Part, ...] = ()
    offset: int | None = None
    painted: tuple[Cell, ...] = ()

    def __post_init__(self) -> None:
        if self.q_len < 1 or self.k_len < 1:
            message = f"a mask needs at least one query and one key: got q_len {self.q_len} and k_len {self.k_len}"
            raise PartError("sizes", "sizes", message, q_len=self.q_len, k_len=self.k_len)
        names = [part.name for part in self.parts]
        if len(set(names)) != len(names):
            raise PartError("sizes", "twice", f"each kind of part can be there once: got {', '.join(names)}")
        for part in self.parts:
            if type(part) in _CHECKS:
                _CHECKS[type(part)](self, part)
        samples = {part.name: _samples(part) for part in self.parts if isinstance(part, Padding | Packed)}
        if len(set(samples.values())) > 1:
            raise PartError(
                "packed",
                "batch",
                f"padding and document ids must be of the same samples: got {samples['padding']} lengths and "
                f"{samples['packed']} rows of ids; write one of each per sample",
                lengths=samples["padding"],
                documents=samples["packed"],
            )
        for sample, query, key in self.painted:
            if not (0 <= sample < self.batch and 0 <= query < self.q_len and 0 <= key < self.k_len):
                sizes = (self.batch, self.q_len, self.k_len)
                raise PartError("sizes", "painted", f"painted cells must lie in {sizes}: got {(sample, query, key)}")
        if len(set(self.painted)) != len(self.painted):
            raise PartError("sizes", "painted", "each painted cell can be there once: two flips are none")

    @property
    def start(self) -> int:
        """Key position of the first query."""
        return self.k_len - self.q_len if self.offset is None else self.offset

    @property
    def batch(self) -> int:
        """Number of samples; 1 where every sample has the same mask."""
        return next((_samples(part) for part in self.parts if isinstance(part, Padding | Packed)), 1)

    def part_masks(self) -> dict[str, Tensor]:
        """Name of each part -> its mask alone, (q_len, k_len), (batch, 1, 1, k_len) or (batch, 1, q_len, k_len)."""
        return {part.name: _build(part, self.q_len, self.k_len, self.start) for part in self.parts}

    def allowed(self) -> Tensor:
        """The whole mask, (batch, 1, q_len, k_len) bool, True = may attend."""
        allowed = torch.ones(self.batch, 1, self.q_len, self.k_len, dtype=torch.bool)
        for mask in self.part_masks().values():
            allowed &= mask
        for sample, query, key in self.painted:
            allowed[sample, 0, query, key] ^= True
        return allowed


def _samples(part: Padding | Packed) -> int:
    return len(part.lengths) if isinstance(part, Padding) else len(part.document_ids)


def _check_padding(recipe: MaskRecipe, part: Padding) -> None:
    if not part.lengths:
        raise PartError("padding", "no_lengths", "padding needs one length per sample: got none")
    for sample, length in enumerate(part.lengths):
        if not 0 <= length <= recipe.k_len:
            raise PartError(
                "padding",
                "length",
                f"a length must lie between 0 and k_len {recipe.k_len}: got {length} for sample {sample}",
                k_len=recipe.k_len,
                length=length,
                sample=sample,
            )


def _check_global(recipe: MaskRecipe, part: GlobalLocal) -> None:
    for index in part.global_keys:
        if not 0 <= index < recipe.k_len:
            message = f"global keys must be positions below k_len {recipe.k_len}: got {index}"
            raise PartError("global_local", "global_key", message, k_len=recipe.k_len, index=index)


def _check_blocks(recipe: MaskRecipe, part: BlockSparse) -> None:
    rows, columns = -(-recipe.q_len // part.block_size), -(-recipe.k_len // part.block_size)
    found = {len(row) for row in part.block_map} or {0}
    if len(found) > 1 or len(part.block_map) < rows or min(found) < columns:
        got = f"{len(part.block_map)} x {min(found)}"
        raise PartError(
            "block_sparse",
            "block_map",
            f"blocks of {part.block_size} need a map of at least {rows} x {columns}, with rows of equal length: "
            f"got {got}",
            size=part.block_size,
            rows=rows,
            columns=columns,
            got=got,
        )


def _check_prefix(recipe: MaskRecipe, part: Prefix) -> None:
    if not 0 <= part.prefix <= recipe.k_len:
        message = f"prefix must lie between 0 and k_len {recipe.k_len}: got {part.prefix}"
        raise PartError("prefix", "prefix", message, k_len=recipe.k_len, prefix=part.prefix)


def _check_packed(recipe: MaskRecipe, part: Packed) -> None:
    if not part.document_ids:
        raise PartError("packed", "no_ids", "packing needs one row of document ids per sample: got none")
    for sample, ids in enumerate(part.document_ids):
        if len(ids) != recipe.k_len:
            raise PartError(
                "packed",
                "ids",
                f"need one document id per key: got {len(ids)} for k_len {recipe.k_len} in sample {sample}",
                got=len(ids),
                k_len=recipe.k_len,
                sample=sample,
            )
    last = recipe.start + recipe.q_len - 1
    if recipe.start < 0 or last >= recipe.k_len:
        raise PartError(
            "packed",
            "ids_place",
            f"with document ids every query must stand at a key, 0 to {recipe.k_len - 1}: got positions "
            f"{recipe.start} to {last}; change the offset or the sizes",
            last_key=recipe.k_len - 1,
            first=recipe.start,
            last=last,
        )


_CHECKS: Mapping[type, Callable] = {
    Padding: _check_padding,
    GlobalLocal: _check_global,
    BlockSparse: _check_blocks,
    Prefix: _check_prefix,
    Packed: _check_packed,
}


def _build(part: Part, q_len: int, k_len: int, start: int) -> Tensor:
    match part:
        case Causal():
            return masks.causal(q_len, k_len, offset=start)
        case Padding(lengths=lengths, side=side):
            return masks.padding(lengths, k_len, side=side)
        case Window(left=left, right=right):
            return masks.sliding_window(q_len, k_len, left=left, right=right, offset=start)
        case Chunked(size=size):
            return masks.chunked(q_len, k_len, size=size, offset=start)
        case Dilated(window=window, step=step):
            return masks.dilated(q_len, k_len, window=window, step=step, offset=start)
        case Strided(stride=stride):
            return masks.strided(q_len, k_len, stride=stride, offset=start)
        case GlobalLocal(window=window, global_keys=global_keys):
            return masks.global_local(q_len, k_len, window=window, global_keys=global_keys, offset=start)
        case BlockSparse(block_map=block_map, block_size=size):
            return masks.block_sparse(torch.tensor(block_map, dtype=torch.bool), block_size=size)[:q_len, :k_len]
        case Prefix(prefix=prefix):
            return masks.causal(q_len, k_len, offset=start) | (torch.arange(k_len) < prefix)
        case Packed(document_ids=document_ids):
            return masks.packed(torch.tensor(document_ids))[:, :, start : start + q_len]
