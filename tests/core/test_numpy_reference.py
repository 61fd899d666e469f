"""The NumPy twin against hand-worked numbers, then the torch side against the twin over shapes and options."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_core import masks, numpy_reference, scaled_dot_product_attention

STAGES = ("scores", "scaled", "capped", "logits", "weights", "output")
few = settings(max_examples=60, deadline=None)


def test_twin_reproduces_a_case_worked_by_hand() -> None:
    # q.k = [2, 0] for both queries, scale 1/2 -> [1, 0]; query 0 may read key 0 only
    result = numpy_reference.attention(
        [[[1.0, 1.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0]]],
        [[[1.0, 1.0, 5.0, 5.0], [0.0, 0.0, 7.0, 7.0]]],
        [[[10.0], [20.0]]],
        allowed=[[True, False], [True, True]],
    )
    e = np.e
    np.testing.assert_allclose(result.scores, [[[2, 0], [2, 0]]], rtol=0, atol=0)
    np.testing.assert_allclose(result.scaled, [[[1, 0], [1, 0]]], rtol=0, atol=0)
    np.testing.assert_array_equal(result.logits, [[[1, -np.inf], [1, 0]]])
    np.testing.assert_allclose(result.weights, [[[1, 0], [e / (e + 1), 1 / (e + 1)]]], rtol=1e-15)
    np.testing.assert_allclose(result.output, [[[10], [(10 * e + 20) / (e + 1)]]], rtol=1e-15)


def test_twin_of_multi_head_cuts_features_into_heads() -> None:
    # identity projections, one key per head apart: head 0 sees features 0-1, head 1 features 2-3
    x = np.array([[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]])
    eye = np.eye(4)
    output, heads = numpy_reference.multi_head_attention(
        x,
        x,
        x,
        num_heads=2,
        w_query=eye,
        w_key=eye,
        w_value=eye,
        w_output=2 * eye,
        b_output=[1, 1, 1, 1],
        allowed=[[True, False], [False, True]],
    )
    np.testing.assert_array_equal(heads.output, [[[[1, 2], [5, 6]], [[3, 4], [7, 8]]]])
    np.testing.assert_array_equal(output, [[[3, 5, 7, 9], [11, 13, 15, 17]]])


def test_twin_of_grouped_heads_reads_a_a_b_b() -> None:
    key = np.stack([np.zeros((3, 2)), np.ones((3, 2))])[None]
    value = np.stack([np.full((3, 1), 7.0), np.full((3, 1), 9.0)])[None]
    result = numpy_reference.attention(np.ones((1, 4, 1, 2)), key, value, enable_gqa=True)
    np.testing.assert_allclose(result.output[0, :, 0, 0], [7, 7, 9, 9], rtol=1e-15)  # three thirds add up to 1 - eps


sizes = st.integers(1, 5)


@st.composite
def calls(draw: st.DrawFn) -> tuple[dict[str, torch.Tensor], dict[str, object]]:
    """Random float64 tensors and options; some rows empty, some keys unread, some biases -inf."""
    batch, kv_heads, group, q_len, k_len = (draw(sizes) for _ in range(5))
    d_k, d_v, heads = draw(st.sampled_from([1, 3, 8])), draw(sizes), kv_heads * group
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**31)))

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    tensors = {
        "query": normal(batch, heads, q_len, d_k),
        "key": normal(batch, kv_heads, k_len, d_k),
        "value": normal(batch, kv_heads, k_len, d_v),
    }
    mask_shape = draw(
        st.sampled_from(
            [
                None,
                (q_len, k_len),
                (batch, 1, 1, k_len),
                (batch, 1, q_len, k_len),
                (batch, heads, q_len, k_len),
                (q_len, 1),
            ]
        )
    )
    if mask_shape is not None:
        tensors["allowed"] = torch.rand(mask_shape, generator=generator) < draw(st.sampled_from([0.2, 0.7]))
    if draw(st.booleans()):
        bias = normal(1, heads, q_len, k_len)
        tensors["bias"] = bias.masked_fill(bias > draw(st.sampled_from([0.5, 99.0])), -torch.inf)
    if draw(st.booleans()):
        tensors["sinks"] = normal(heads)
    options: dict[str, object] = {"enable_gqa": True}
    if draw(st.booleans()):
        options["scale"] = draw(st.sampled_from([1.0, 0.3, 4.0]))
    if draw(st.booleans()):
        options["softcap"] = draw(st.sampled_from([0.5, 30.0]))
    return tensors, options


@few
@given(calls())
def test_every_stage_equals_the_twin(call: tuple[dict[str, torch.Tensor], dict[str, object]]) -> None:
    tensors, options = call
    trace = scaled_dot_product_attention(**tensors, **options)  # pyright: ignore[reportArgumentType]
    twin = numpy_reference.attention(**{n: t.numpy() for n, t in tensors.items()}, **options)  # pyright: ignore[reportArgumentType]
    for stage in STAGES:
        # float64 on both sides; sums of at most 8 terms in another order
        np.testing.assert_allclose(
            getattr(trace, stage).numpy(), getattr(twin, stage), rtol=1e-12, atol=1e-13, err_msg=stage
        )
    if "sinks" in tensors:
        assert trace.sink_weight is not None and twin.sink_weight is not None
        np.testing.assert_allclose(trace.sink_weight.numpy(), twin.sink_weight, rtol=1e-12, atol=1e-13)
    else:
        assert trace.sink_weight is None and twin.sink_weight is None


@few
@given(calls(), st.sampled_from([torch.nan, torch.inf, -torch.inf]))
def test_broken_values_at_unread_keys_reach_neither_side(
    call: tuple[dict[str, torch.Tensor], dict[str, object]], broken: float
) -> None:
    tensors, options = call
    k_len = tensors["key"].shape[-2]
    tensors["allowed"] = torch.arange(k_len) > 0  # key 0 is read by nobody
    tensors["allowed"] = tensors["allowed"].expand(tensors["query"].shape[-2], k_len)
    for name in ("key", "value"):
        tensors[name] = tensors[name].clone()
        tensors[name][..., 0, :] = broken
    trace = scaled_dot_product_attention(**tensors, **options)  # pyright: ignore[reportArgumentType]
    twin = numpy_reference.attention(**{n: t.numpy() for n, t in tensors.items()}, **options)  # pyright: ignore[reportArgumentType]
    assert trace.weights is not None and torch.isfinite(trace.output).all() and np.isfinite(twin.output).all()
    np.testing.assert_allclose(trace.weights, twin.weights, rtol=1e-12, atol=1e-13)  # float64, as above
    np.testing.assert_allclose(trace.output, twin.output, rtol=1e-12, atol=1e-13)


lengths = st.integers(0, 9)
offsets = st.one_of(st.none(), st.integers(-4, 6))
positive = st.integers(1, 6)


@few
@given(lengths, st.one_of(st.none(), lengths), offsets, positive, positive, st.data())
def test_every_mask_of_positions_equals_the_twin(
    q_len: int, k_len: int | None, offset: int | None, first: int, second: int, data: st.DataObject
) -> None:
    keys = q_len if k_len is None else k_len
    global_keys = data.draw(st.lists(st.integers(0, keys - 1), max_size=3)) if keys else []
    optional = st.one_of(st.none(), st.integers(0, 6))
    builders: dict[str, dict[str, object]] = {
        "causal": {},
        "sliding_window": {"left": data.draw(optional), "right": data.draw(optional)},
        "chunked": {"size": first},
        "dilated": {"window": first, "step": second},
        "strided": {"stride": first},
        "global_local": {"window": first, "global_keys": global_keys},
    }
    for name, options in builders.items():
        ours = getattr(masks, name)(q_len, k_len, offset=offset, **options)
        theirs = getattr(numpy_reference, name)(q_len, k_len, offset=offset, **options)
        assert ours.dtype == torch.bool and tuple(ours.shape) == theirs.shape == (q_len, keys), name
        np.testing.assert_array_equal(ours.numpy(), theirs, err_msg=name)


@few
@given(st.data())
def test_every_other_mask_equals_the_twin(data: st.DataObject) -> None:
    k_len = data.draw(st.integers(1, 8))
    batch_lengths = data.draw(st.lists(st.integers(0, k_len), min_size=1, max_size=4))
    for side in ("left", "right"):
        np.testing.assert_array_equal(
            masks.padding(batch_lengths, k_len, side=side), numpy_reference.padding(batch_lengths, k_len, side=side)
        )
    q_len = data.draw(st.integers(1, k_len))
    valid = data.draw(st.lists(st.integers(q_len, k_len), min_size=1, max_size=4))
    np.testing.assert_array_equal(
        masks.causal_in_cache(q_len, k_len, valid_lengths=valid),
        numpy_reference.causal_in_cache(q_len, k_len, valid_lengths=valid),
    )
    prefix = data.draw(st.integers(0, k_len))
    np.testing.assert_array_equal(
        masks.prefix_lm(k_len, prefix=prefix), numpy_reference.prefix_lm(k_len, prefix=prefix)
    )
    ids = data.draw(st.lists(st.lists(st.integers(0, 2), min_size=k_len, max_size=k_len), min_size=1, max_size=3))
    np.testing.assert_array_equal(masks.packed(torch.tensor(ids)), numpy_reference.packed(ids))
    blocks = data.draw(st.lists(st.lists(st.booleans(), min_size=3, max_size=3), min_size=1, max_size=4))
    block_size = data.draw(st.integers(1, 3))
    np.testing.assert_array_equal(
        masks.block_sparse(torch.tensor(blocks), block_size=block_size),
        numpy_reference.block_sparse(blocks, block_size=block_size),
    )


def test_twin_does_not_import_the_torch_side() -> None:
    with open(numpy_reference.__file__, encoding="utf-8") as file:
        imports = [line for line in file if line.startswith(("import ", "from "))]
    assert not [line for line in imports if "torch" in line or "attention_core" in line]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_lower_precisions_stay_close_to_the_twin(dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(3)
    query, key, value = (torch.randn(2, 3, n, d, generator=generator).to(dtype) for n, d in ((5, 11), (7, 11), (7, 13)))
    trace = scaled_dot_product_attention(query, key, value, allowed=masks.causal(5, 7))
    twin = numpy_reference.attention(query.double(), key.double(), value.double(), allowed=masks.causal(5, 7))
    step = torch.finfo(dtype).eps  # one rounding of the result; stages before it are float32
    tolerance = 8 * step if dtype == torch.float32 else step
    assert trace.weights is not None and trace.weights.dtype == trace.output.dtype == dtype
    np.testing.assert_allclose(trace.weights.double(), twin.weights, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(trace.output.double(), twin.output, rtol=tolerance, atol=2 * tolerance)
