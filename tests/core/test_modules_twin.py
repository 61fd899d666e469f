"""MultiHeadAttention against the NumPy twin over shapes and options."""

from typing import Any

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from attention_core import numpy_reference
from attention_core.modules import MultiHeadAttention

STAGES = ("scores", "scaled", "capped", "logits", "weights", "output")


def seeded(*shape: int, seed: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def array(tensor: Tensor) -> Any:
    return tensor.detach().numpy()


@settings(max_examples=40, deadline=None, derandomize=True, database=None)
@given(
    grouping=st.sampled_from([(1, 1), (3, 3), (3, 1), (4, 2), (6, 2)]),
    sizes=st.tuples(*(st.integers(1, 7) for _ in range(5))),
    cross=st.booleans(),
    biased=st.booleans(),
    masked=st.booleans(),
    scale=st.sampled_from([None, 1.0, 0.3]),
    softcap=st.sampled_from([None, 2.0]),
    extras=st.sets(st.sampled_from(["bias", "sinks"])),
)
def test_multi_head_attention(
    grouping: tuple[int, int],
    sizes: tuple[int, int, int, int, int],
    cross: bool,
    biased: bool,
    masked: bool,
    scale: float | None,
    softcap: float | None,
    extras: set[str],
):
    (heads, kv_heads), (batch, q_len, k_len, d_k, d_v), d_model = grouping, sizes, 5
    k_len = k_len if cross else q_len
    module = MultiHeadAttention(
        d_model, heads, d_k=d_k, d_v=d_v, num_kv_heads=kv_heads, bias=biased, dtype=torch.float64
    )
    with torch.no_grad():
        for seed, parameter in enumerate(module.parameters()):
            parameter.copy_(3 * seeded(*parameter.shape, seed=seed) / d_model**0.5)
    query_input = seeded(batch, q_len, d_model, seed=100)
    key_input = seeded(batch, k_len, d_model, seed=101) if cross else query_input
    value_input = seeded(batch, k_len, d_model, seed=102) if cross else query_input
    options: dict[str, Any] = {"scale": scale, "softcap": softcap}
    if masked:  # about every third cell, so that empty rows occur
        options["allowed"] = seeded(batch, heads, q_len, k_len, seed=103) > 0.4
    if "bias" in extras:
        options["bias"] = seeded(heads, q_len, k_len, seed=104)
    if "sinks" in extras:
        options["sinks"] = seeded(heads, seed=105)

    output, trace = module(query_input, key_input, value_input, **options)
    linears = {"query": module.q_proj, "key": module.k_proj, "value": module.v_proj, "output": module.out_proj}
    expected, reference = numpy_reference.multi_head_attention(
        array(query_input),
        array(key_input),
        array(value_input),
        num_heads=heads,
        num_kv_heads=kv_heads,
        **{f"w_{name}": array(linear.weight) for name, linear in linears.items()},
        **{f"b_{name}": array(linear.bias) for name, linear in linears.items() if biased},
        **{name: array(value) if isinstance(value, Tensor) else value for name, value in options.items()},
    )
    # float64 on both sides; sums of fewer than a hundred terms, whose order differs.
    assert_close(array(output), expected, rtol=1e-10, atol=1e-10)
    for stage in STAGES:
        ours, theirs = array(getattr(trace, stage)), getattr(reference, stage)
        assert_close(ours, theirs, rtol=1e-10, atol=1e-10, msg=lambda text, stage=stage: f"{stage}: {text}")
    if "sinks" in extras:
        assert trace.sink_weight is not None
        assert_close(array(trace.sink_weight), reference.sink_weight, rtol=1e-10, atol=1e-10)
