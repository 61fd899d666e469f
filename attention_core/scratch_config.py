"""What can be chosen about a run from scratch: frozen, hashable, checked once. Reached through ``from_scratch``."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import torch

from attention_core.drawn_masks import drawn, read_rows, size_of
from attention_core.segmentation import TOKEN_RULES

Parameter = int | str | bool

POSITIONS = ("none", "sinusoidal", "learned", "rotary", "alibi", "t5")
DTYPES: Mapping[str, torch.dtype] = MappingProxyType(
    {
        "float32": torch.float32,
        "float64": torch.float64,
        "bfloat16": torch.bfloat16,
        "float16": torch.float16,
    }
)

MASK_PARAMETERS: Mapping[str, Mapping[str, Parameter]] = MappingProxyType(
    {
        "none": {},
        "causal": {},
        "padding": {"count": 2, "side": "right"},
        "causal+padding": {"count": 2, "side": "right"},
        "window": {"size": 3, "causal": False},
        "chunked": {"size": 3, "causal": False},
        "dilated": {"window": 2, "step": 2, "causal": False},
        "strided": {"stride": 3, "causal": False},
        "global_local": {"window": 2, "global_keys": 1, "causal": False},
        "block_sparse": {"block_size": 2, "causal": False},
        "prefix": {"prefix": 3},
        "packed": {},
        "packed+causal": {},
        "custom": {"rows": ""},
    }
)
"""Mask kind -> its parameters with their defaults; see ``MaskChoice``."""

LARGEST_PROJECTION = 2**24  # numbers in one weight matrix: 64 MiB in float32
_MOST_LAYERS = 24
_LOWEST = {"count": 0, "global_keys": 0, "prefix": 0}  # all others start at 1


class ControlError(ValueError):
    """A choice that cannot be run; ``control`` names it, so that a page can say so beside the right widget.

    Attributes:
        control: field of ``ScratchConfig``, "mask.NAME" for a parameter of the mask, or "text".
        values: numbers of the message by name, for a page that says it in its own words.
    """

    def __init__(self, control: str, message: str, **values: int) -> None:
        super().__init__(message)
        self.control = control
        self.values = values


@dataclass(frozen=True, init=False)
class MaskChoice:
    """A kind of mask with its parameters; defaults spelt out or left out make equal choices of equal hash.

    >>> MaskChoice("window", size=4).parameters
    (('size', 4), ('causal', False))

    Sizes count tokens. What is larger than the text is cut to it; what makes no sense is refused.

        none            every token sees every token
        causal          no token sees a later one
        padding         ``count`` filler tokens are put at the ``side``, and no query reads them
        causal+padding  both
        window          ``size`` keys including the query's own: |key - query| < size, with ``causal`` backwards only
        chunked         chunks of ``size`` tokens, each on its own
        dilated         ``window`` keys per side, ``step`` apart, the query's own included
        strided         every ``stride``-th key from the query's own
        global_local    ``window`` keys per side; the first ``global_keys`` tokens see all and are seen by all
        block_sparse    blocks of ``block_size`` tokens on the diagonal, and the first block of keys
        prefix          the first ``prefix`` tokens see each other, the rest is causal
        packed          each sentence on its own
        packed+causal   both
        custom          drawn for texts of one length: ``rows`` of 1 or ■ and 0 or ⬚ with "/" between, no default

    Args:
        kind: a key of ``MASK_PARAMETERS``.
        parameters: of that kind; the others keep their defaults.

    Raises:
        ControlError: if the kind, a parameter or a value is unknown or out of range.
    """

    kind: str
    parameters: tuple[tuple[str, Parameter], ...]

    def __init__(self, kind: str = "none", **parameters: Parameter) -> None:
        if kind not in MASK_PARAMETERS:
            raise ControlError("mask", f"mask must be one of {', '.join(MASK_PARAMETERS)}: got {kind!r}")
        defaults = MASK_PARAMETERS[kind]
        for name, value in parameters.items():
            if name not in defaults:
                known = ", ".join(defaults) or "no parameters"
                raise ControlError(f"mask.{name}", f"a {kind} mask takes {known}: got {name}={value!r}")
            if kind != "custom":
                _check_parameter(name, value, defaults[name])
        if kind == "custom":
            parameters = {"rows": _rows(parameters.get("rows", ""))}
        object.__setattr__(self, "kind", kind)
        object.__setattr__(self, "parameters", tuple({**defaults, **parameters}.items()))

    def __getitem__(self, name: str) -> Parameter:
        return dict(self.parameters)[name]

    def number(self, name: str) -> int:
        """A parameter that counts something."""
        return int(self[name])

    @property
    def causal(self) -> bool:
        """Whether this is a decoder's mask: no token sees a later one, except inside a prefix."""
        if self.kind == "custom":
            return not drawn(str(self["rows"])).triu(1).any()
        return "causal" in self.kind or self.kind == "prefix" or bool(dict(self.parameters).get("causal", False))

    def drawn(self, length: int) -> torch.Tensor:
        """The mask of kind "custom": (length, length) bool.

        Raises:
            ControlError: if the drawing is of another size.
        """
        rows = str(self["rows"])
        if size_of(rows) != length:
            size = size_of(rows)
            raise ControlError(
                "mask.rows",
                f"a drawn mask needs a text of as many tokens: the mask is {size} x {size} and the text has {length} "
                "tokens; edit the text or the mask",
                size=size,
                tokens=length,
            )
        return drawn(rows)


def _rows(value: Parameter) -> str:
    if not isinstance(value, str):
        raise ControlError("mask.rows", f"mask rows must be a string: got {value!r}")
    try:
        return read_rows(value)
    except ValueError as error:
        raise ControlError("mask.rows", str(error)) from None


def _check_parameter(name: str, value: Parameter, default: Parameter) -> None:
    if isinstance(default, bool):
        if not isinstance(value, bool):
            raise ControlError(f"mask.{name}", f"mask {name} must be True or False: got {value!r}")
    elif isinstance(default, str):
        if value not in ("left", "right"):
            raise ControlError(f"mask.{name}", f'mask {name} must be "left" or "right": got {value!r}')
    else:
        _check_count(f"mask.{name}", f"mask {name}", value, _LOWEST.get(name, 1))


def _check_count(control: str, name: str, value: object, lowest: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < lowest:
        raise ControlError(control, f"{name} must be a whole number of at least {lowest}: got {value!r}")


@dataclass(frozen=True)
class ScratchConfig:
    """Everything a run from scratch depends on besides the text.

    Attributes:
        tokens: "words", "characters" or "spaces": how the text is cut.
        num_heads: query heads.
        d_model: width of the embeddings.
        d_k: width of queries and keys per head; None means d_model / num_heads, which must then divide.
        d_v: width of values per head; None means d_k.
        num_kv_heads: key/value heads, a divisor of ``num_heads``; None means as many.
        num_layers: layers of attention; between two of them the input is added and each token normalised.
        scale: "default" is 1 / sqrt(d_k), "off" is 1, a number is the factor itself.
        mask: who may see whom.
        position: "none", "sinusoidal" and "learned" (added to the embeddings), "rotary" (turns q and k; even d_k),
            "alibi" and "t5" (added to the scores).
        seed: of embeddings, weights and tables; the same seed and text give the same numbers.
        dtype: "float32", "float64", "bfloat16" or "float16"; draws are float64 and rounded to it.
        max_tokens: tokens kept of each text; filler comes on top.

    Raises:
        ControlError: if a value is unknown, out of range, or does not fit another one.
    """

    tokens: str = "words"
    num_heads: int = 4
    d_model: int = 64
    d_k: int | None = None
    d_v: int | None = None
    num_kv_heads: int | None = None
    num_layers: int = 1
    scale: float | Literal["default", "off"] = "default"
    mask: MaskChoice = MaskChoice()
    position: str = "none"
    seed: int = 0
    dtype: str = "float32"
    max_tokens: int = 256

    def __post_init__(self) -> None:
        _check_choice("tokens", self.tokens, TOKEN_RULES)
        _check_choice("position", self.position, POSITIONS)
        _check_choice("dtype", self.dtype, DTYPES)
        for name in ("num_heads", "d_model", "d_k", "d_v", "num_kv_heads", "num_layers", "max_tokens"):
            value = getattr(self, name)
            if value is not None:
                _check_count(name, name, value, 1)
        if isinstance(self.seed, bool) or not isinstance(self.seed, int):
            raise ControlError("seed", f"seed must be a whole number: got {self.seed!r}")
        self._check_scale()
        self._check_heads()
        if self.position == "rotary" and self.key_width % 2:
            raise ControlError(
                "position",
                f"rotary positions turn features in pairs, d_k must be even: got {self.key_width}; "
                f"take d_k {self.key_width + 1} or another position encoding",
            )
        if self.num_layers > _MOST_LAYERS:
            raise ControlError("num_layers", f"num_layers must be at most {_MOST_LAYERS}: got {self.num_layers}")
        if self.mask.kind in ("padding", "causal+padding") and self.mask.number("count") > self.max_tokens:
            raise ControlError(
                "mask.count",
                f"mask count must be at most max_tokens {self.max_tokens}: got {self.mask.number('count')}",
            )

    def _check_scale(self) -> None:
        if self.scale in ("default", "off"):
            return
        number = isinstance(self.scale, (int, float)) and not isinstance(self.scale, bool)
        if not number or not math.isfinite(float(self.scale)):
            raise ControlError("scale", f'scale must be "default", "off" or a finite number: got {self.scale!r}')

    def _check_heads(self) -> None:
        if self.d_k is None and self.d_model % self.num_heads:
            divisors = [n for n in range(1, self.d_model + 1) if self.d_model % n == 0]
            near = min(divisors, key=lambda n: abs(n - self.num_heads))
            raise ControlError(
                "num_heads",
                f"num_heads must divide d_model where d_k is not given: got {self.num_heads} and {self.d_model}; "
                f"set d_k, or take {near} heads",
            )
        if self.num_kv_heads is not None and self.num_heads % self.num_kv_heads:
            divisors = [str(n) for n in range(1, self.num_heads + 1) if self.num_heads % n == 0]
            raise ControlError(
                "num_kv_heads",
                f"num_kv_heads must divide num_heads: got {self.num_kv_heads} and {self.num_heads}; "
                f"take {' or '.join(divisors)}",
            )
        width = self.num_heads * max(self.key_width, self.value_width)
        if width * self.d_model > LARGEST_PROJECTION:
            raise ControlError(
                "num_heads",
                f"num_heads x head width x d_model must be at most {LARGEST_PROJECTION}: "
                f"got {width} x {self.d_model}; make one of them smaller",
            )

    @property
    def key_width(self) -> int:
        """d_k as it is used."""
        return self.d_model // self.num_heads if self.d_k is None else self.d_k

    @property
    def value_width(self) -> int:
        """d_v as it is used."""
        return self.key_width if self.d_v is None else self.d_v

    @property
    def own_scale(self) -> float:
        """1 / sqrt(d_k)."""
        return 1.0 / math.sqrt(self.key_width)

    @property
    def factor(self) -> float:
        """What the scores are multiplied by."""
        if self.scale == "default":
            return self.own_scale
        return 1.0 if self.scale == "off" else float(self.scale)


def _check_choice(control: str, value: object, known: Mapping[str, object] | tuple[str, ...]) -> None:
    if value not in known:
        raise ControlError(control, f"{control} must be one of {', '.join(known)}: got {value!r}")
