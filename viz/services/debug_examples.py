"""Examples for the Debug page, computed by the core with one mistake each: a newcomer sees something without a file."""

from functools import lru_cache

import torch

from attention_core import masks
from attention_core.exchange import Arrays
from attention_core.faults import Situation, commit, correct
from viz.services.debug import Wish

EXAMPLES = ("causal", "window", "scale", "double", "mask", "right")
SAVING = """import numpy as np
np.savez("attention.npz", query=q, key=k, weights=w, mask=mask, lengths=lengths)"""
RECORDING = """from attention_core.capture import record
with record() as recording:
    model(x)
recording.save("run.safetensors")"""
_TOKENS = ("the", "cat", "sat", "on", "the", "mat", "and", "slept")
_SHORT = ("it", "was", "warm", "there", ".", "[PAD]", "[PAD]", "[PAD]")


@lru_cache(maxsize=len(EXAMPLES))
def example(name: str) -> tuple[Arrays, Wish]:
    """Arrays as a program would have saved them, and what was meant; "right" has nothing wrong."""
    generator = torch.Generator().manual_seed(11)
    query, key = (torch.randn(2, 3, 8, 16, generator=generator) for _ in range(2))
    lengths = torch.tensor([8, 5])
    parts = {"causal": masks.causal(8), "padding": masks.padding([8, 5], 8)}
    if name == "window":
        parts["window"] = masks.sliding_window(8, left=2)
    allowed = parts["causal"] & parts["padding"] & parts.get("window", torch.ones((), dtype=torch.bool))
    situation = Situation(
        query, key, None, allowed, parts, lengths=lengths, window=3 if name == "window" else None
    )  # fmt: skip
    scale = 0.25 if name == "scale" else None  # 1 / sqrt(16), stated
    wish = Wish("window" if name == "window" else "causal", size=3, padding=True, scale=scale)
    beside = {"tokens": [list(_TOKENS), list(_SHORT)]}
    if name == "mask":
        return Arrays({"attn_mask": parts["causal"].float()}, {"tokens": list(_TOKENS)}), Wish("causal")
    fault = {"causal": "causal-mask-missing", "window": "window-off-by-one", "scale": "no-scaling",
             "double": "double-softmax"}.get(name)  # fmt: skip
    weights = correct(situation).weights if fault is None else commit(fault, situation).weights
    assert weights is not None
    arrays = {"weights": weights, "lengths": lengths}
    if name != "double":
        arrays = {"query": query, "key": key, **arrays}
    return Arrays(arrays, beside), wish
