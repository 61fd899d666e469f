"""Switches: what a run changes in the attention of a model, as one frozen value."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from attention_core.drawn_masks import read_rows

MaskSwitch = Literal["model", "none", "causal", "padding-ignored", "custom"]
MASK_SWITCHES: tuple[MaskSwitch, ...] = get_args(MaskSwitch)
Ablation = Literal["zero", "mean"]
ABLATIONS: tuple[Ablation, ...] = get_args(Ablation)


@dataclass(frozen=True)
class Switches:
    """What to change in each attention call; the defaults change nothing.

    ``logits = (softcap(scores x scale) + bias) / temperature``, then the mask, then softmax.

    Attributes:
        scaling: False drops the model's own factor on the scores (1 / sqrt(d_k) in most models): scale is 1.
        scale_factor: one more factor on the scale, any finite number; works with ``scaling`` on and off.
        mask: "model" leaves the mask alone; "none" lets every query read every key, padding and future included;
            "causal" takes the future away from what the model allows; "padding-ignored" keeps the model's structure but
            lets padding be read; "custom" is ``mask_rows`` and nothing else, in every self-attention.
        mask_rows: the mask "custom", drawn cell by cell, such as "10/11" (see ``drawn_masks.read_rows``); each text
            must have as many tokens as it has rows.
        window: W keys including the query's own, on top of the mask: the last W in decoders, ``|i - j| < W`` in
            encoders.
        softcap: bound on the absolute scaled score, > 0; ``math.inf`` takes away a cap that the model has; None leaves
            the model's own.
        temperature: divides everything that softmax sees, > 0; below 1 sharpens, above 1 flattens.
        heads_off: (call name, head) pairs whose output is replaced before the output projection; their weights are
            recorded all the same.
        ablation: what replaces it: "zero", or "mean", the head's mean over the real tokens of the same text in the same
            pass. Zero also takes away what the head says at every token alike, which later layers count on; the mean
            leaves that and takes only what differs from token to token. In calls that look back the mean at a token is
            over the tokens up to it, so that nothing of the future comes in.
        layers: the layers in which the switches above act (``heads_off`` names its own); None means all.

    Source:
        Zero: Michel, Levy and Neubig 2019, "Are Sixteen Heads Really Better than One?", section 2.3. Mean: Wang et al.
        2022, "Interpretability in the Wild", section 2.2, there over a reference distribution of texts, here over the
        text itself, as there is no such distribution for a text of the user's own.
    """

    scaling: bool = True
    scale_factor: float = 1.0
    mask: MaskSwitch = "model"
    window: int | None = None
    softcap: float | None = None
    temperature: float = 1.0
    heads_off: frozenset[tuple[str, int]] = frozenset()
    layers: frozenset[int] | None = None
    mask_rows: str | None = None
    ablation: Ablation = "zero"

    def __post_init__(self) -> None:
        object.__setattr__(self, "heads_off", _head_pairs(self.heads_off))
        if self.layers is not None:
            object.__setattr__(self, "layers", _layer_numbers(self.layers))
        if not isinstance(self.scaling, bool):
            raise TypeError(f"scaling is on (True) or off (False): got {self.scaling!r}; scale_factor takes a number")
        if self.mask not in MASK_SWITCHES:
            raise ValueError(f"mask must be one of {MASK_SWITCHES}: got {self.mask!r}")
        if self.ablation not in ABLATIONS:
            raise ValueError(f"ablation must be one of {ABLATIONS}: got {self.ablation!r}")
        if (self.mask == "custom") != (self.mask_rows is not None):
            raise ValueError(
                f'mask "custom" and its mask_rows go together: got mask {self.mask!r} and mask_rows '
                f"{'None' if self.mask_rows is None else 'of its own'}; leave out both or give both"
            )
        if self.mask_rows is not None:
            object.__setattr__(self, "mask_rows", read_rows(self.mask_rows))
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

        Codes are the names of the attributes; ``heads_off`` and ``layers`` come as sorted tuples. ``layers`` is there
        only where a switch depends on it, ``mask_rows`` only behind the mask "custom", ``ablation`` only behind heads.
        """
        changed: list[tuple[str, object]] = []
        if self.layers is None or self.layers:
            for code in ("scaling", "scale_factor", "mask", "window", "softcap", "temperature"):
                if getattr(self, code) != getattr(_NEUTRAL, code):
                    changed.append((code, getattr(self, code)))
                if code == "mask" and self.mask_rows is not None:
                    changed.append(("mask_rows", self.mask_rows))
        layered = bool(changed)
        if self.heads_off:
            changed.append(("heads_off", tuple(sorted(self.heads_off))))
            if self.ablation != _NEUTRAL.ablation:
                changed.append(("ablation", self.ablation))
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
