"""Switches: what a run changes in the attention of a model, as one frozen value."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

MaskSwitch = Literal["model", "none", "causal", "padding-ignored"]
MASK_SWITCHES: tuple[MaskSwitch, ...] = get_args(MaskSwitch)


@dataclass(frozen=True)
class Switches:
    """What to change in each attention call; the defaults change nothing.

    ``logits = (softcap(scores x scale) + bias) / temperature``, then the mask, then softmax.

    Attributes:
        scaling: False drops the model's own factor on the scores (1 / sqrt(d_k) in most models): scale is 1.
        scale_factor: one more factor on the scale, any finite number; works with ``scaling`` on and off.
        mask: "model" leaves the mask alone; "none" lets every query read every key, padding and future included;
            "causal" takes the future away from what the model allows; "padding-ignored" keeps the model's structure but
            lets padding be read.
        window: W keys including the query's own, on top of the mask: the last W in decoders, ``|i - j| < W`` in
            encoders.
        softcap: bound on the absolute scaled score, > 0; ``math.inf`` takes away a cap that the model has; None leaves
            the model's own.
        temperature: divides everything that softmax sees, > 0; below 1 sharpens, above 1 flattens.
        heads_off: (call name, head) pairs whose output is zero before the output projection; their weights are recorded
            all the same.
        layers: the layers in which the switches above act (``heads_off`` names its own); None means all.
    """

    scaling: bool = True
    scale_factor: float = 1.0
    mask: MaskSwitch = "model"
    window: int | None = None
    softcap: float | None = None
    temperature: float = 1.0
    heads_off: frozenset[tuple[str, int]] = frozenset()
    layers: frozenset[int] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "heads_off", _head_pairs(self.heads_off))
        if self.layers is not None:
            object.__setattr__(self, "layers", _layer_numbers(self.layers))
        if not isinstance(self.scaling, bool):
            raise TypeError(f"scaling is on (True) or off (False): got {self.scaling!r}; scale_factor takes a number")
        if self.mask not in MASK_SWITCHES:
            raise ValueError(f"mask must be one of {MASK_SWITCHES}: got {self.mask!r}")
        object.__setattr__(self, "scale_factor", _number("scale_factor", self.scale_factor))
        object.__setattr__(self, "temperature", _number("temperature", self.temperature))
        if self.temperature <= 0:
            raise ValueError(
                f"temperature must be above 0: got {self.temperature}; small values such as 0.01 come close to hard"
            )
        if self.window is not None and (
            isinstance(self.window, bool) or not isinstance(self.window, int) or self.window < 1
        ):
            raise ValueError(
                f"window counts keys including the query's own, at least 1: got {self.window!r}; None for no window"
            )
        if self.softcap is not None:
            object.__setattr__(self, "softcap", _number("softcap", self.softcap, infinite=True))
            if not self.softcap > 0:
                raise ValueError(
                    f"softcap must be above 0: got {self.softcap}; None leaves the model's own, inf takes it away"
                )

    @property
    def neutral(self) -> bool:
        """True when nothing would differ from the model."""
        return not self.describe()

    def describe(self) -> list[tuple[str, object]]:
        """(code, value) of every switch that differs from the model; empty when neutral.

        Codes are the names of the attributes, in their order; ``heads_off`` and ``layers`` come as sorted tuples, and
        ``layers`` only where a switch depends on it.
        """
        changed: list[tuple[str, object]] = []
        if self.layers is None or self.layers:
            for code in ("scaling", "scale_factor", "mask", "window", "softcap", "temperature"):
                if getattr(self, code) != getattr(_NEUTRAL, code):
                    changed.append((code, getattr(self, code)))
        layered = bool(changed)
        if self.heads_off:
            changed.append(("heads_off", tuple(sorted(self.heads_off))))
        if layered and self.layers is not None:
            changed.append(("layers", tuple(sorted(self.layers))))
        return changed

    def acts_on(self, layer: int) -> bool:
        """True when the switches other than ``heads_off`` act on this layer."""
        return self.layers is None or layer in self.layers


def _number(name: str, value: object, *, infinite: bool = False) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name} must be a number: got {value!r}")
    if math.isnan(value) or (math.isinf(value) and not infinite):
        raise ValueError(f"{name} must be finite: got {value}")
    return float(value)


def _head_pairs(pairs: Iterable[tuple[str, int]]) -> frozenset[tuple[str, int]]:
    checked = set()
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2 or not isinstance(pair[0], str) or not _is_index(pair[1]):
            raise ValueError(f'heads_off takes (call name, head) pairs such as ("encoder.0", 3): got {pair!r}')
        checked.add(pair)
    return frozenset(checked)


def _layer_numbers(layers: Iterable[int]) -> frozenset[int]:
    numbers = frozenset(layers)
    wrong = sorted((n for n in numbers if not _is_index(n)), key=repr)
    if wrong:
        raise ValueError(f"layers takes layer numbers from 0: got {wrong}")
    return numbers


def _is_index(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


_NEUTRAL = Switches()
