"""record() around plain PyTorch: every call is seen and rebuilt, and the program computes what it computed before."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.testing import assert_close

from attention_core import masks
from attention_core.capture import RebuildError, record

SAME = {"rtol": 0.0, "atol": 1e-6}  # the program, recorded and not: another kernel at most
REBUILT = {"rtol": 0.0, "atol": 1e-5}  # two orders of the same float32 sums
B, H, Q, K, D, V = 2, 3, 5, 7, 11, 13


def draw(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def heads() -> tuple[Tensor, Tensor, Tensor]:
    return draw(B, H, Q, D, seed=1), draw(B, H, K, D, seed=2), draw(B, H, K, V, seed=3)


def still(module: nn.Module) -> nn.Module:
    """The module with its own seeded weights, large enough for attention that is far from uniform."""
    generator = torch.Generator().manual_seed(4)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(0.5 * torch.randn(parameter.shape, generator=generator))
    return module.eval()


def check_all(recording, kinds: list[str]) -> None:
    assert [record.kind for record in recording] == kinds
    assert [record.index for record in recording.calls] == list(range(len(kinds)))
    for found in recording:
        assert found.reproduces, str(found.reproduces)
        assert found.reproduces.passed is True and found.reproduces.difference <= found.reproduces.tolerance


# ---------------------------------------------------------------------------------------------------------------------
# F.scaled_dot_product_attention

BLOCKED = torch.tensor([[c > r + 2 for c in range(K)] for r in range(Q)])  # top left plus two: True = may not


@pytest.mark.parametrize("mode", [torch.enable_grad, torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize(
    ("options", "allowed", "bias"),
    [
        ({}, None, None),
        ({"is_causal": True}, masks.causal(Q, K, offset=0), None),
        ({"attn_mask": ~BLOCKED}, ~BLOCKED, None),
        ({"attn_mask": torch.zeros(Q, K).masked_fill(BLOCKED, -math.inf)}, ~BLOCKED, None),
        ({"attn_mask": torch.zeros(Q, K).masked_fill(BLOCKED, torch.finfo(torch.float32).min)}, ~BLOCKED, None),
        ({"attn_mask": draw(1, H, Q, K, seed=5)}, None, draw(1, H, Q, K, seed=5)),
        ({"attn_mask": draw(Q, K, seed=5).masked_fill(BLOCKED, -math.inf), "scale": 0.7}, ~BLOCKED,
         draw(Q, K, seed=5).masked_fill(BLOCKED, 0.0)),
    ],
)  # fmt: skip
def test_sdpa(mode, options, allowed, bias):
    query, key, value = heads()
    with mode():
        plain = F.scaled_dot_product_attention(query, key, value, **options)
        with record() as recording:
            out = F.scaled_dot_product_attention(query, key, value, **options)
    assert torch.equal(out, plain)
    check_all(recording, ["sdpa"])
    (found,) = recording
    for name, given in (("query", query), ("key", key), ("value", value), ("output", plain)):
        assert torch.equal(getattr(found, name), given), name
    for ours, expected in ((found.allowed, allowed), (found.bias, bias)):
        assert (ours is None) == (expected is None)
        if expected is not None:
            assert torch.equal(ours, expected)
    assert found.scale == pytest.approx(options.get("scale", D**-0.5))
    logits = query @ key.mT * found.scale + (0 if bias is None else bias)
    logits = logits if allowed is None else logits.masked_fill(~allowed, -math.inf)
    assert_close(found.weights, logits.softmax(-1), **REBUILT)
    given = options.get("attn_mask")
    assert (found.mask is None) == (given is None) and (given is None or torch.equal(found.mask, given))
    word = None if given is None else "allowed" if given.dtype == torch.bool else "additive"
    assert found.mask_convention == word and not found.best_effort and found.observed is None


def test_grouped_heads_and_another_name_for_sdpa():
    query, key, value = draw(B, 6, Q, D, seed=1), draw(B, 2, K, D, seed=2), draw(B, 2, K, V, seed=3)
    sdpa = torch._C._nn.scaled_dot_product_attention
    with record() as recording:
        sdpa(query, key, value, enable_gqa=True)
    check_all(recording, ["sdpa"])
    assert recording[0].flags["enable_gqa"] is True and recording[0].key.shape == (B, 2, K, D)
    repeated = key[:, [0, 0, 0, 1, 1, 1]]
    assert_close(recording[0].weights, (query @ repeated.mT / D**0.5).softmax(-1), **REBUILT)


def test_an_empty_row_is_no_row_to_compare_and_a_wrong_output_is_told():
    query, key, value = heads()
    allowed = torch.ones(Q, K, dtype=torch.bool)
    allowed[1] = False
    finite = torch.zeros(Q, K).masked_fill(~allowed, torch.finfo(torch.float32).min)  # torch makes that row uniform
    with record() as recording:
        F.scaled_dot_product_attention(query, key, value, attn_mask=finite)
    assert recording[0].reproduces
    assert (recording[0].weights[:, :, 1] == 0).all()
    recording[0].output[0, 0, 0, 0] += 1.0
    with record() as second:
        F.scaled_dot_product_attention(query, key, value)
    second[0].output[1, 2, 3, 4] += 0.5
    verdict = second[0].reproduces
    assert verdict.passed is False and not verdict and verdict.difference == pytest.approx(0.5, abs=1e-5)
    assert "do not reproduce the output" in verdict.reason


def test_dropout_says_that_it_cannot_be_rebuilt():
    query, key, value = heads()
    with record() as recording:
        F.scaled_dot_product_attention(query, key, value, dropout_p=0.2)
    (found,) = recording
    with pytest.raises(RebuildError, match=r"only without dropout: got dropout_p 0\.2.*record in eval"):
        _ = found.weights
    assert found.cannot_rebuild is not None and found.reproduces.passed is None
    assert math.isnan(found.reproduces.difference) and "dropout" in found.reproduces.reason
    assert found.trace(keep=("weights",)).weights is not None  # what they would be without


def test_what_the_program_overwrites_later_is_kept():
    query, key, value = heads()
    mask = torch.zeros(Q, K)
    with record() as recording:
        out = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        kept = [t.clone() for t in (query, key, value, out)]
        mask[:, 3:] = -math.inf  # one buffer for all steps
        second = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        third = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        assert torch.equal(second, third)
        for tensor in (query, key, value, out):
            tensor.zero_()
    check_all(recording, ["sdpa"] * 3)
    for name, expected in zip(("query", "key", "value", "output"), kept, strict=True):
        assert torch.equal(getattr(recording[0], name), expected), name
    assert recording[0].allowed is None
    assert recording[1].mask is recording[2].mask and (recording[1].weights[..., 3:] == 0).all()  # held once


def test_half_precision_reproduces_within_its_rounding():
    query, key, value = (t.bfloat16() for t in heads())
    with record() as recording:
        F.scaled_dot_product_attention(query, key, value)
    check_all(recording, ["sdpa"])
    assert recording[0].weights.dtype == torch.bfloat16


# ---------------------------------------------------------------------------------------------------------------------
# nn.MultiheadAttention and what is built on it


@pytest.mark.parametrize("need", [{"need_weights": False}, {}, {"average_attn_weights": False}])
@pytest.mark.parametrize("train", [True, False])
@pytest.mark.parametrize("mode", [torch.enable_grad, torch.no_grad, torch.inference_mode])
def test_multihead_attention(mode, train, need):
    module = still(nn.MultiheadAttention(12, 3, batch_first=True)).train(train)
    x, padding = draw(B, Q, 12), torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
    with mode():
        plain, plain_weights = module(x, x, x, key_padding_mask=padding, **need)
        with record() as recording:
            out, weights = module(x, x, x, key_padding_mask=padding, **need)
    assert_close(out, plain, **SAME)
    assert (weights is None) == (plain_weights is None) == (need == {"need_weights": False})
    if weights is not None:
        assert weights.shape == plain_weights.shape
        assert_close(weights, plain_weights, **SAME)
    check_all(recording, ["mha"])
    (found,) = recording
    assert found.weights.shape == (B, 3, Q, Q) and found.flags["need_weights"] is (need != {"need_weights": False})
    assert found.flags["training"] is train
    assert torch.equal(found.allowed.expand(B, 3, Q, Q), ~padding[:, None, None, :].expand(B, 3, Q, Q))
    with torch.no_grad():
        _, expected = module.train()(x, x, x, key_padding_mask=padding, average_attn_weights=False)
    assert_close(found.weights, expected, **REBUILT)
    if found.observed is not None:
        assert_close(found.observed, expected, **REBUILT)
    assert (found.observed is None) == (need == {"need_weights": False})


def test_a_row_without_keys_stays_what_the_module_made_of_it():
    """Asked for weights, torch makes NaN of it, not asked for them 0; recording must not turn one into the other."""
    module = still(nn.MultiheadAttention(12, 3, batch_first=True)).train()
    x, blocked = draw(B, Q, 12), torch.zeros(Q, Q, dtype=torch.bool)
    blocked[0] = True
    for need in (True, False):
        plain = module(x, x, x, attn_mask=blocked, need_weights=need)[0]
        with record() as recording:
            out = module(x, x, x, attn_mask=blocked, need_weights=need)[0]
        assert torch.equal(out.isnan(), plain.isnan()) and out[:, 0].isnan().all() == need
        check_all(recording, ["mha"])
        assert (recording[0].weights[:, :, 0] == 0).all()


def test_masks_of_multihead_attention_per_head_cross_and_appended_keys():
    module = still(nn.MultiheadAttention(12, 3, batch_first=True, kdim=8, vdim=9, add_bias_kv=True, add_zero_attn=True))
    x, key, value = draw(B, Q, 12), draw(B, K, 8, seed=1), draw(B, K, 9, seed=2)
    blocked = draw(B * 3, Q, K, seed=3) > 0.8
    blocked[..., 0] = False
    with record() as recording:
        out, weights = module(x, key, value, attn_mask=blocked, average_attn_weights=False)
    check_all(recording, ["mha"])
    assert weights.shape == (B, 3, Q, K + 2)
    assert_close(recording[0].weights, weights, **REBUILT)
    assert torch.equal(recording[0].allowed[..., :K], ~blocked.unflatten(0, (B, 3)))
    assert recording[0].allowed[..., K:].all() and out.shape == (B, Q, 12)
    assert recording[0].mask_convention == "additive"  # nn.MultiheadAttention itself turns bool into numbers


def test_functions_called_directly_keep_the_convention_of_their_masks():
    module = still(nn.MultiheadAttention(12, 3))
    x = draw(Q, 12)  # no batch axis
    arguments = (12, 3, module.in_proj_weight, module.in_proj_bias, None, None, False, 0.0, module.out_proj.weight,
                 module.out_proj.bias)  # fmt: skip
    blocked, padding = torch.ones(Q, Q, dtype=torch.bool).triu(1), torch.tensor([False] * 4 + [True])
    with record() as recording:
        F.multi_head_attention_forward(x, x, x, *arguments, attn_mask=blocked, key_padding_mask=padding)
        F.multi_head_attention_forward(x, x, x, *arguments, attn_mask=blocked, is_causal=True, need_weights=False)
    check_all(recording, ["mha", "mha"])
    first, second = recording
    assert (first.mask_convention, first.key_padding_convention) == ("blocked", "padding")
    assert torch.equal(first.allowed[0, 0], ~blocked & ~padding) and torch.equal(first.mask, blocked)
    assert torch.equal(second.allowed, ~blocked) and second.weights.shape == (1, 3, Q, Q)


def test_weights_of_training_sum_to_more_than_one_where_they_were_observed():
    module = still(nn.MultiheadAttention(12, 2, dropout=0.2, batch_first=True)).train()
    x = draw(1, Q, 12)
    with record() as recording:
        module(x, x, x, attn_mask=torch.ones(Q, Q, dtype=torch.bool).triu(1))
    (found,) = recording
    first = found.observed[0, :, 0, 0]  # one key: its weight is 1, kept as 1.25 or dropped
    assert all(abs(w) < 1e-6 or abs(w - 1.25) < 1e-6 for w in first.tolist())
    clean = found.trace(keep=("weights",)).weights
    kept = found.observed != 0
    assert kept.any()
    assert_close(found.observed[kept], 1.25 * clean[kept], **REBUILT)
    assert "record in eval()" in found.cannot_rebuild


def test_two_heads_with_opposite_patterns_are_not_averaged():
    module = nn.MultiheadAttention(4, 2, bias=False, batch_first=True)
    with torch.no_grad():
        far = 20.0 * torch.eye(2)
        swap = torch.tensor([[0.0, 1.0], [1.0, 0.0]])
        query, key = torch.block_diag(far, far), torch.block_diag(torch.eye(2), swap)
        module.in_proj_weight.copy_(torch.cat([query, key, torch.eye(4)]))
        module.out_proj.weight.copy_(torch.eye(4))
    x = torch.tensor([[[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]]])
    with record() as recording:
        _, mean = module(x, x, x)
    assert_close(mean, torch.full((1, 2, 2), 0.5), **REBUILT)
    assert_close(recording[0].weights, torch.stack([torch.eye(2), swap])[None], **REBUILT)  # e^-14 is left elsewhere
    check_all(recording, ["mha"])


def encoder(**options) -> nn.TransformerEncoder:
    layer = nn.TransformerEncoderLayer(12, 2, 16, batch_first=True, **options)
    return still(nn.TransformerEncoder(layer, 2, enable_nested_tensor=True))


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype")
def test_the_fused_fast_path_of_an_encoder_is_left_and_that_is_said(padded):
    model, x = encoder(), draw(B, Q, 12)
    padding = torch.tensor([[False] * 5, [False] * 3 + [True] * 2]) if padded else None
    real = slice(None) if padding is None else ~padding
    with torch.no_grad():
        plain = model(x, src_key_padding_mask=padding)
        with record() as recording:
            out = model(x, src_key_padding_mask=padding)
    assert_close(out[real], plain[real], **SAME)
    check_all(recording, ["mha", "mha"])
    assert [found.module for found in recording] == ["layers.0.self_attn", "layers.1.self_attn"]
    assert [found.module_class for found in recording] == ["MultiheadAttention"] * 2
    assert any("fused fast path off" in note for note in recording.notes)
    assert any("padded positions" in note for note in recording.notes) is padded
    if padded:
        assert (plain[padding] == 0).all() and not (out[padding] == 0).any()  # what the note says


def test_no_fast_path_no_note():
    model, x = encoder(dropout=0.0).train(), draw(B, Q, 12)
    plain = model(x)
    with record() as recording:
        out = model(x)
    assert torch.equal(out, plain) and recording.notes == []
    check_all(recording, ["mha", "mha"])


def test_a_hook_sees_no_weights_where_the_recording_has_them():
    layer = still(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True))
    x, seen = draw(1, 3, 8), []
    for train in (True, False):
        layer.train(train)
        layer.self_attn.dropout = 0.0
        handle = layer.self_attn.register_forward_hook(lambda module, given, out: seen.append(out))
        with torch.no_grad(), record() as recording:
            layer(x)
        handle.remove()
        assert len(seen) == 1 and seen.pop()[1] is None
        check_all(recording, ["mha"])
        assert recording[0].weights.shape == (1, 2, 3, 3)


def test_a_whole_transformer_self_masked_and_cross():
    model = still(nn.Transformer(12, 2, 2, 2, 16, batch_first=True))
    source, target = draw(B, K, 12), draw(B, Q, 12, seed=1)
    mask = nn.Transformer.generate_square_subsequent_mask(Q)
    plain = model(source, target, tgt_mask=mask)
    with record() as recording:
        out = model(source, target, tgt_mask=mask)
    assert_close(out, plain, **SAME)
    check_all(recording, ["mha"] * 6)
    assert [found.module for found in recording] == [
        "encoder.layers.0.self_attn", "encoder.layers.1.self_attn",
        "decoder.layers.0.self_attn", "decoder.layers.0.multihead_attn",
        "decoder.layers.1.self_attn", "decoder.layers.1.multihead_attn",
    ]  # fmt: skip
    shapes = [tuple(found.weights.shape) for found in recording]
    assert shapes == [(B, 2, K, K)] * 2 + [(B, 2, Q, Q), (B, 2, Q, K)] * 2
    assert torch.equal(recording[2].allowed, masks.causal(Q)) and recording[3].allowed is None


def test_one_module_called_three_times_gives_three_records():
    shared = still(nn.MultiheadAttention(12, 2, batch_first=True))
    x, outputs = draw(1, 4, 12), []
    with record() as recording:
        for _ in range(3):
            x = shared(x, x, x)[0]
            outputs.append(x)
    check_all(recording, ["mha"] * 3)
    weights = [found.weights for found in recording]
    assert not torch.allclose(weights[0], weights[1]) and not torch.allclose(weights[1], weights[2])
    for found, out in zip(recording, outputs, strict=True):
        assert torch.equal(found.output.transpose(0, 1), out)


def test_an_optimiser_step_inside_the_recording_changes_no_record():
    module = nn.MultiheadAttention(12, 2, batch_first=True)
    x = draw(1, 4, 12)
    optimiser = torch.optim.SGD(module.parameters(), lr=1.0)
    with record() as recording:
        for _ in range(2):
            optimiser.zero_grad()
            module(x, x, x)[0].square().mean().backward()
            optimiser.step()
    check_all(recording, ["mha", "mha"])
    assert not torch.allclose(recording[0].weights, recording[1].weights)
    assert not recording[0].query.requires_grad
