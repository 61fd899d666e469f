"""The stages of one attention call as one .safetensors file."""

import json
import platform
from collections.abc import Sequence
from os import PathLike

import torch

from attention_core.attention import STAGES, AttentionTrace
from attention_core.exchange import safetensors_file
from attention_core.exchange.limits import DEFAULT_LIMITS, FileRefused, Limits, Source, read_bytes, short

FORMAT = "headscope.trace"
_CONVENTIONS = {
    "axes": "(batch, heads, q_len, k_len): rows are queries, columns are keys",
    "allowed": "bool, True = may attend",
}


def save_trace(
    trace: AttentionTrace, path: str | PathLike[str], *, tokens: Sequence[Sequence[str]] = (), name: str = "",
    half: bool = False,
) -> None:  # fmt: skip
    """Writes the stages that a trace holds.

    Args:
        trace: of ``scaled_dot_product_attention``.
        path: of the file, which should end in .safetensors.
        tokens: one list of labels per sample.
        name: what it is.
        half: weights, sink_weight and output as float16; the stages before softmax may be -inf or large and stay.
    """
    arrays = {stage: getattr(trace, stage) for stage in (*STAGES, "sink_weight", "output")}
    arrays = {stage: tensor.detach().cpu() for stage, tensor in arrays.items() if tensor is not None}
    for stage in ("weights", "sink_weight", "output"):
        tensor = arrays.get(stage)
        if half and tensor is not None and not (tensor.abs() > torch.finfo(torch.float16).max).any():
            arrays[stage] = tensor.half() if tensor.dtype in (torch.float32, torch.float64) else tensor
    arrays["allowed"] = trace.allowed.detach().cpu()
    about = {
        "name": name, "tokens": [list(sample) for sample in tokens], "scale": trace.scale, "conventions": _CONVENTIONS,
        "versions": {"python": platform.python_version(), "torch": torch.__version__},
    }  # fmt: skip
    metadata = {"format": FORMAT, "format_version": "1", "trace": json.dumps(about)}
    safetensors_file.write(path, {stage: tensor.contiguous().clone() for stage, tensor in arrays.items()}, metadata)


def load_trace(source: Source, *, limits: Limits = DEFAULT_LIMITS) -> AttentionTrace:
    """Reads what ``save_trace`` wrote; ``load_arrays`` also gives its tokens and name, as metadata.

    Args:
        source: path, or the bytes of a file.
        limits: what is taken at most.

    Returns:
        AttentionTrace; stages that were not saved are None.

    Raises:
        FileRefused: if the file is no such trace, or beyond the limits.
    """
    loaded = safetensors_file.read(read_bytes(source, limits), limits)
    if loaded.metadata.get("format") != FORMAT or loaded.metadata.get("format_version") != 1:
        raise FileRefused(
            "a trace must say that it is one, of version 1: got a file of another kind; load_arrays reads it"
        )
    about = loaded.metadata.get("trace")
    scale = about.get("scale") if isinstance(about, dict) else None
    if not isinstance(scale, float) or not {"output", "allowed"} <= loaded.arrays.keys():
        raise FileRefused(f"a trace must hold scale, output and allowed: got {short(str(list(loaded.arrays)))}")
    if loaded.arrays["allowed"].dtype != torch.bool:
        raise FileRefused(f"allowed must be bool: got {loaded.arrays['allowed'].dtype}")
    known = {stage: loaded.arrays[stage] for stage in (*STAGES, "sink_weight") if stage in loaded.arrays}
    shapes = {tuple(tensor.shape) for stage, tensor in known.items() if stage != "sink_weight"}
    if len(shapes) > 1:
        raise FileRefused("stages of a trace must have one shape: got several")
    for shape in shapes:
        padded = (1,) * (len(shape) - loaded.arrays["allowed"].dim()) + tuple(loaded.arrays["allowed"].shape)
        if len(padded) != len(shape) or any(a not in (1, b) for a, b in zip(padded, shape, strict=True)):
            raise FileRefused(f"allowed must broadcast to the stages {shape}: got {padded}")
    return AttentionTrace(output=loaded.arrays["output"], allowed=loaded.arrays["allowed"], scale=scale, **known)
