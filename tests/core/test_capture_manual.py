"""record() around attention written by hand, in several threads, with nothing in it, and around what it cannot see."""

import gc
import math
import sys
import threading
import weakref
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.testing import assert_close

from attention_core import masks
from attention_core.capture import record
from attention_core.exchange import load_recording

REBUILT = {"rtol": 0.0, "atol": 1e-5}  # two orders of the same float32 sums
B, H, L, D = 2, 3, 5, 7
CAUSAL = torch.ones(L, L, dtype=torch.bool).tril()


def draw(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def operator(q, k, v):
    scores = q @ k.transpose(-2, -1) * 0.3
    return torch.softmax(scores.masked_fill(~CAUSAL, -math.inf), -1) @ v


def functions(q, k, v):
    scores = torch.matmul(q, k.mT).div(1 / 0.3)
    scores = torch.where(CAUSAL, scores, torch.full_like(scores, -1e9))
    return torch.matmul(F.dropout(F.softmax(scores, dim=-1), 0.2, training=False), v)


def einsum(q, k, v):
    scores = torch.einsum("bhqd,bhkd->bhqk", q, k) * 0.3 + torch.zeros(L, L).masked_fill(~CAUSAL, -math.inf)
    return torch.einsum("bhqk,bkhd->bqhd", nn.Softmax(-1)(scores), v.transpose(1, 2)).transpose(1, 2)


def folded(q, k, v):
    scores = torch.bmm(q.flatten(0, 1), k.flatten(0, 1).transpose(1, 2)) / (1 / 0.3)
    scores = scores.view(B, H, L, L) + torch.zeros(B, 1, L, L).masked_fill(~CAUSAL, torch.finfo(torch.float32).min)
    weights = scores.softmax(dim=-1, dtype=torch.float32).view(B * H, L, L)
    return torch.bmm(weights, v.flatten(0, 1)).view(B, H, L, D)


def baddbmm(q, k, v):
    added = torch.zeros(B * H, L, L).masked_fill(~CAUSAL, -math.inf)
    scores = torch.baddbmm(added, q.flatten(0, 1), k.flatten(0, 1).mT, beta=1.0, alpha=0.3).view(B, H, L, L)
    return scores.softmax(-1) @ v


def in_place(q, k, v):
    scores = q.matmul(k.mT)
    scores *= 0.6
    scores.div_(2.0)
    scores[..., ~CAUSAL] = -math.inf
    return scores.softmax(-1).matmul(v)


@pytest.mark.parametrize("mode", [torch.enable_grad, torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("attend", [operator, functions, einsum, folded, baddbmm, in_place])
def test_ways_to_write_it(attend, mode):
    q, k, v = (draw(B, H, L, D, seed=s) for s in (1, 2, 3))
    with mode():
        plain = attend(q, k, v)
        with record() as recording:
            out = attend(q, k, v)
    assert torch.equal(out, plain)
    (found,) = recording
    assert found.kind == "manual" and found.best_effort and "best effort" in str(found)
    assert found.reproduces, str(found.reproduces)
    assert_close(found.output, plain, rtol=0.0, atol=0.0)
    assert found.scale == pytest.approx(0.3) and found.bias is None
    assert torch.equal(found.allowed.expand(B, H, L, L), CAUSAL.expand(B, H, L, L))
    expected = (q @ k.mT * 0.3).masked_fill(~CAUSAL, -math.inf).softmax(-1)
    assert found.weights.shape == (B, H, L, L)
    assert_close(found.weights, expected, **REBUILT)
    assert_close(found.observed, expected, **REBUILT)
    lines = {line for *_, line in attend.__code__.co_lines() if line}
    assert Path(found.file) == Path(__file__) and found.line in lines and found.via == f"{found.file}:{found.line}"


def test_a_position_bias_and_a_softmax_of_softmax():
    q, k, v = (draw(B, H, L, D, seed=s) for s in (1, 2, 3))
    bias = draw(H, L, L, seed=4)
    with record() as recording:
        torch.softmax(q @ k.mT / D**0.5 + bias, -1) @ v
        torch.softmax(torch.softmax(q @ k.mT, -1), -1) @ v
        torch.softmax(q @ k.mT, -2) @ v
    first, second, third = recording
    assert first.reproduces and first.allowed is None
    assert_close(first.bias, bias.expand(B, H, L, L), **REBUILT)
    for wrong in (second, third):  # our core computes attention as it should be, and says that this is another thing
        assert wrong.reproduces.passed is False
    assert second.flags["softmaxes"] == 2 and third.flags["softmax_dim"] == -2
    assert_close(third.observed.sum(-2), torch.ones(B, H, L), **REBUILT)


def test_dropout_and_a_mask_after_softmax_show_in_what_was_observed():
    q, k, v = (draw(B, H, L, D, seed=s) for s in (1, 2, 3))
    with record() as recording:
        F.dropout(torch.softmax(q @ k.mT, -1), 0.5) @ v
        (torch.softmax(q @ k.mT, -1) * CAUSAL) @ v
    dropped, masked = recording
    assert dropped.cannot_rebuild is not None and "dropout_p 0.5" in dropped.cannot_rebuild
    assert masked.reproduces.passed is False
    assert (masked.observed[..., ~CAUSAL] == 0).all() and (masked.observed.sum(-1)[..., :-1] < 1).all()


def test_products_that_are_no_attention_are_not_recorded():
    x, weight = draw(B, L, D), nn.Parameter(draw(D, L, seed=1))
    with record() as recording:
        gates = torch.softmax(x @ weight, -1)  # a router, a classifier
        gates @ draw(L, D, seed=2)
        (x @ x.mT) @ x  # linear attention has no softmax
        torch.softmax(x, -1) @ x.mT
    assert recording.nothing_captured


class Head(nn.Module):
    """Attention as teaching code writes it."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.register_buffer("tril", torch.ones(1, 1, 16, 16).tril())

    def forward(self, x: Tensor) -> Tensor:
        b, n, c = x.shape
        q, k, v = (t.view(b, n, self.heads, c // self.heads).transpose(1, 2) for t in self.qkv(x).split(c, dim=2))
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.tril[:, :, :n, :n] == 0, float("-inf"))
        y = F.softmax(att, dim=-1) @ v
        return self.out(y.transpose(1, 2).contiguous().view(b, n, c))


class TeachingModel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        blocks = [nn.ModuleDict({"norm": nn.LayerNorm(12), "attn": Head(12, 3)}) for _ in range(3)]
        self.embed, self.blocks, self.head = nn.Embedding(31, 12), nn.ModuleList(blocks), nn.Linear(12, 31)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.embed(ids)
        for block in self.blocks:
            x = x + block["attn"](block["norm"](x))
        return self.head(x)


def teaching_model() -> TeachingModel:
    model = TeachingModel()
    generator = torch.Generator().manual_seed(4)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(0.4 * torch.randn(parameter.shape, generator=generator))
    return model


def test_a_hand_written_model_with_the_names_of_its_modules():
    model, ids = teaching_model(), torch.tensor([[3, 1, 4, 1, 5, 9, 2]])
    plain = model(ids)
    with record() as recording:
        out = model(ids)
    assert torch.equal(out, plain)
    assert [found.module for found in recording] == ["blocks.0.attn", "blocks.1.attn", "blocks.2.attn"]
    assert [found.module_class for found in recording] == ["Head"] * 3
    for found in recording:
        assert found.reproduces and torch.equal(found.allowed.expand(1, 3, 7, 7)[0, 0], masks.causal(7))
        assert found.scale == pytest.approx(0.5) and found.bias is None
    out.sum().backward()  # what was recorded holds nothing of the graph, and the graph is whole
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_calls_of_three_kinds_stand_in_the_order_in_which_they_ran():
    q, k, v = (draw(B, H, L, D, seed=s) for s in (1, 2, 3))
    module = nn.MultiheadAttention(12, 2, batch_first=True)
    with record() as recording:
        operator(q, k, v)
        x = draw(B, L, 12)
        module(x, x, x)
        F.scaled_dot_product_attention(q, k, v)
    assert [found.kind for found in recording.calls] == ["manual", "mha", "sdpa"] and len(recording) == 3
    assert repr(recording) == "Recording(3 calls: 1 manual, 1 mha, 1 sdpa)"
    assert (
        recording[-1] is recording.calls[2] and [found.module_class for found in recording][1] == "MultiheadAttention"
    )
    assert recording[0].module_class == "" and "no module" in str(recording[0])


def test_nothing_stays_behind_and_intermediates_do_not_live_longer():
    q, k, v = (draw(B, H, L, D, seed=s) for s in (1, 2, 3))
    before = (torch.overrides._get_current_function_mode_stack(), torch.get_rng_state(), torch.is_grad_enabled())
    sdpa, forward = F.scaled_dot_product_attention, F.multi_head_attention_forward
    with record() as recording:
        scores = q @ k.mT
        seen = weakref.ref(scores)
        operator(q, k, v)
        del scores
        assert seen() is None  # also while recording
    after = (torch.overrides._get_current_function_mode_stack(), torch.get_rng_state(), torch.is_grad_enabled())
    assert before[0] == after[0] == [] and torch.equal(before[1], after[1]) and before[2] == after[2]
    assert F.scaled_dot_product_attention is sdpa and F.multi_head_attention_forward is forward
    operator(q, k, v)
    assert len(recording) == 1
    gone = weakref.ref(q)
    del q
    gc.collect()
    assert gone() is None  # records hold copies


def test_an_error_of_the_program_passes_and_what_ran_is_kept():
    q, k, v = (draw(B, H, L, D, seed=s) for s in (1, 2, 3))
    held = []

    def program() -> None:
        with record() as recording:
            held.append(recording)
            F.scaled_dot_product_attention(q, k, v)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        program()
    assert len(held[0]) == 1 and torch.overrides._get_current_function_mode_stack() == []


def test_nothing_captured_is_said_loudly(tmp_path):
    q = draw(B, H, L, D)
    with record() as recording:
        scores = (q @ q.mT).exp()
        (scores / scores.sum(-1, keepdim=True)) @ q  # a softmax of its own: known not to be seen
        torch.ops.aten.scaled_dot_product_attention(q, q, q)
    assert recording.nothing_captured and len(recording) == 0
    assert "NOTHING CAPTURED" in repr(recording) and recording.notes[0].startswith("Nothing was captured")
    with pytest.raises(ValueError, match=r"must hold a call to be saved: got none.*allow_empty=True"):
        recording.save(tmp_path / "a.safetensors")
    assert list(tmp_path.iterdir()) == []
    recording.save(tmp_path / "a.safetensors", allow_empty=True)
    assert load_recording(tmp_path / "a.safetensors").nothing_captured


def test_tensors_of_a_transform_are_passed_by_with_a_note():
    q = draw(B, H, L, D)
    plain = torch.vmap(lambda t: F.scaled_dot_product_attention(t, t, t))(q)
    with record() as recording:
        out = torch.vmap(lambda t: F.scaled_dot_product_attention(t, t, t))(q)
        torch.vmap(lambda t: torch.softmax(t @ t.mT, -1) @ t)(q)
    assert torch.equal(out, plain) and recording.nothing_captured
    assert any("seen and not kept" in note for note in recording.notes)


def test_what_cannot_be_followed_never_stops_the_program():
    q = torch.empty(B, H, L, D, device="meta")  # shapes without numbers
    with record() as recording:
        scores = q @ q.mT / torch.empty((), device="meta")  # a factor that cannot be read
        out = torch.softmax(scores, -1) @ q
        torch.einsum("bhqd,bhkd->bhqk", q, q)
        torch.einsum("...qd,...kd", q, q)
        torch.einsum(q, [0, 1, 2, 3], q, [0, 1, 4, 3], [0, 1, 2, 4])
        F.scaled_dot_product_attention(q, q, q)
    assert out.shape == (B, H, L, D) and recording.nothing_captured
    assert any("was not followed" in note for note in recording.notes)
    assert any("seen and not kept" in note for note in recording.notes)


def test_eight_threads_recording_at_once_do_not_mix():
    model = teaching_model().eval()
    texts = [torch.arange(n)[None] % 31 for n in range(3, 11)]

    def weights_of(ids: Tensor) -> list[Tensor]:
        with torch.no_grad(), record() as recording:
            model(ids)
        return [found.weights for found in recording]

    alone = [weights_of(ids) for ids in texts]
    start, wrong, pause = threading.Barrier(8), [], sys.getswitchinterval()

    def visitor(index: int) -> None:
        start.wait()
        for _ in range(20):
            found = weights_of(texts[index])
            if len(found) != 3 or any(not torch.equal(a, b) for a, b in zip(found, alone[index], strict=True)):
                wrong.append(index)

    threads = [threading.Thread(target=visitor, args=(index,)) for index in range(8)]
    try:
        sys.setswitchinterval(1e-5)  # threads take turns in the middle of a forward pass
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(pause)
    assert wrong == []
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())


def test_recordings_inside_each_other_both_see_the_call():
    q = draw(B, H, L, D)
    with record() as outer:
        F.scaled_dot_product_attention(q, q, q)
        with record() as inner:
            F.scaled_dot_product_attention(q, q, q)
            operator(q, q, q)
    assert [found.kind for found in inner] == ["sdpa", "manual"]
    assert [found.kind for found in outer] == ["sdpa", "sdpa", "manual"]


@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
def test_flex_attention_outside_compile():
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    q, k, v = draw(1, 4, L, 8, seed=1), draw(1, 2, L, 8, seed=2), draw(1, 2, L, 8, seed=3)
    slope = draw(4, seed=4)
    block_mask = create_block_mask(lambda b, h, i, j: i >= j, None, None, L, L, device="cpu")

    def biased(score, b, h, i, j):
        return score + slope[h] * (j - i)

    plain = flex_attention(q, k, v, score_mod=biased, block_mask=block_mask, enable_gqa=True)
    with record() as recording:
        out = flex_attention(q, k, v, score_mod=biased, block_mask=block_mask, enable_gqa=True)
    assert torch.equal(out, plain)
    (found,) = recording
    assert found.kind == "flex" and found.mask_convention == "mask_mod" and found.reproduces, str(found.reproduces)
    assert torch.equal(found.allowed[0, 0], masks.causal(L))
    places = torch.arange(L)
    bias = slope[:, None, None] * (places[None, :] - places[:, None])
    expected = (q @ k.repeat_interleave(2, 1).mT / 8**0.5 + bias).masked_fill(~masks.causal(L), -math.inf)
    assert_close(found.weights, expected.softmax(-1), **REBUILT)
