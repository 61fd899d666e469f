"""Which processor models run on, and what travels there and back.

The weights and one pass at a time are on the device; everything that a run hands out is on the CPU. Only the CPU is
tried by the tests, which have no other hardware: the choice is tested with devices said to be there, the way there and
back on torch's "meta" device, which has shapes and no numbers.
"""

import os
from dataclasses import fields, replace
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from attention_core.pretrained.backend import Recording
from attention_core.runs import CallInputs

DEVICES = ("cuda", "mps", "cpu")
VARIABLE = "HEADSCOPE_DEVICE"
HOME = torch.device("cpu")

_OUTPUTS = ("last_hidden_state", "encoder_last_hidden_state", "logits")


def choose_device() -> torch.device:
    """The device that models are loaded to: cuda where there is one, else mps, else cpu.

    The environment variable ``HEADSCOPE_DEVICE`` names another.

    Raises:
        ValueError: if it names one that is not known or not here.
    """
    here = {"cuda": torch.cuda.is_available, "mps": torch.backends.mps.is_available, "cpu": lambda: True}
    wanted = os.environ.get(VARIABLE, "").strip().lower()
    if not wanted:
        return torch.device(next(name for name in DEVICES if here[name]()))
    if wanted not in DEVICES or not here[wanted]():
        known = ", ".join(name for name in DEVICES if here[name]())
        raise ValueError(
            f"{VARIABLE} must name a device of this machine ({known}): got {wanted!r}; change it, or leave it out"
        )
    return torch.device(wanted)


def there(given: Any, device: torch.device) -> Any:
    """Tensors, alone or as the values of a mapping, on the device of a model; everything else as it is."""
    if isinstance(given, Tensor):
        return given.to(device)
    if isinstance(given, dict):
        return {name: there(value, device) for name, value in given.items()}
    return given


def home(outputs: Any, device: torch.device, record: Recording | None = None) -> Any:
    """What a pass gave and recorded, back on the CPU.

    Args:
        outputs: of a model on ``device``; unchanged where that is the CPU.
        device: the model's.
        record: whose inputs come back too.

    Returns:
        The hidden states, logits and attention maps under the names that transformers uses, those that there are.
    """
    if device == HOME:
        return outputs
    with torch.inference_mode(False):
        if record is not None:
            record.inputs.update({name: _home(given) for name, given in record.inputs.items()})
    found = {name: getattr(outputs, name, None) for name in _OUTPUTS}
    maps = getattr(outputs, "attentions", None)
    return SimpleNamespace(
        **{name: tensor.to(HOME) for name, tensor in found.items() if tensor is not None},
        attentions=None if maps is None else tuple(one if one is None else one.to(HOME) for one in maps),
    )


def _home(given: CallInputs) -> CallInputs:
    tensors = {one.name: getattr(given, one.name) for one in fields(given)}
    return replace(given, **{name: one.to(HOME) for name, one in tensors.items() if isinstance(one, Tensor)})
