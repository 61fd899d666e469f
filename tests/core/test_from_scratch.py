"""Runs without a model: seeded vectors, the masks as drawings, agreement, and errors that name the control."""

import dataclasses
import pickle
import subprocess
import sys

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from attention_core import masks
from attention_core.diagnostics import row_checks, score_variance, summarize
from attention_core.from_scratch import (
    DTYPES,
    MASK_PARAMETERS,
    POSITIONS,
    ControlError,
    MaskChoice,
    ScratchConfig,
    embed,
    run_from_scratch,
)
from attention_core.from_scratch import _attention_module as attention_module
from attention_core.from_scratch import _tolerances as tolerances
from attention_core.runs import Run

FIVE = "one two three four five"
ANY_LENGTH = [kind for kind in MASK_PARAMETERS if kind != "custom"]  # test_drawn_masks.py


def drawing(run: Run) -> str:
    """The mask of the first call, filled out to (len, len) per sample."""
    inputs = run.inputs[run.calls[0].name]
    batch, _, length, _ = inputs.query.shape
    return masks.draw(inputs.allowed.expand(batch, 1, length, length))


def allowed_cells(text: str, mask: MaskChoice) -> Tensor:
    run = run_from_scratch(text, ScratchConfig(mask=mask))
    length = len(run.tokens["self"][0])
    return run.inputs[run.calls[0].name].allowed.expand(1, 1, length, length)[0, 0]


# Embeddings and seeds


def test_the_same_word_has_the_same_vector_in_any_sentence():
    one, other = embed(["the", "cat", "the"], 13), embed(["a", "cat"], 13)
    assert torch.equal(one[0], one[2])
    assert torch.equal(one[1], other[1])
    assert not torch.equal(one[0], one[1])
    assert not torch.equal(embed(["cat"], 13, seed=1), embed(["cat"], 13))


def test_vectors_are_the_same_in_another_process():
    code = "from attention_core.from_scratch import embed; print(embed(['cat', '你'], 5, seed=3).tolist())"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == str(embed(["cat", "你"], 5, seed=3).tolist())


def test_vectors_have_zero_mean_and_unit_variance():
    x = embed([f"w{i}" for i in range(499)], 64)
    n = x.numel()
    assert abs(x.mean().item()) < 4 / n**0.5  # 4 standard errors
    assert abs(x.var().item() - 1) < 4 * (2 / n) ** 0.5


def test_the_global_generator_is_left_alone():
    torch.manual_seed(1)
    state = torch.get_rng_state()
    for position in POSITIONS:
        run_from_scratch(FIVE, ScratchConfig(seed=99, position=position))
    assert torch.equal(torch.get_rng_state(), state)
    assert_close(torch.rand(1), torch.tensor([0.7576]), atol=5e-5, rtol=0)  # the value printed to 4 digits


def test_a_run_is_repeatable_and_moves_with_the_seed():
    one, same = run_from_scratch(FIVE, ScratchConfig(seed=3)), run_from_scratch(FIVE, ScratchConfig(seed=3))
    assert torch.equal(one.output, same.output)
    assert not torch.equal(one.output, run_from_scratch(FIVE, ScratchConfig(seed=4)).output)
    first, second = attention_module(ScratchConfig(), 0), attention_module(ScratchConfig(), 1)
    other = attention_module(ScratchConfig(seed=1), 0)
    for name, weight in first.named_parameters():
        assert not torch.equal(weight, second.get_parameter(name)), name
        assert not torch.equal(weight, other.get_parameter(name)), name


def test_a_typed_pad_token_is_a_word_like_any_other():
    run = run_from_scratch("[PAD] x", ScratchConfig(tokens="spaces", mask=MaskChoice("padding", count=1)))
    typed, _, filler = run.tokens["self"][0]
    assert (typed.label, typed.padding, typed.special, typed.span) == ("[PAD]", False, False, (0, 5))
    assert (filler.label, filler.padding, filler.special, filler.span) == ("[PAD]", True, True, None)
    key = run.inputs["encoder.0"].key
    assert not torch.allclose(key[0, :, 0], key[0, :, 2])


# The lesson


@pytest.mark.parametrize("d_k", [4, 16, 64, 256])
def test_score_variance_is_d_k_before_scaling_and_one_after(d_k: int):
    text = " ".join(f"w{i}" for i in range(127))
    config = ScratchConfig(tokens="spaces", num_heads=8, d_model=256, d_k=d_k)
    run = run_from_scratch(text, config)
    inputs = run.inputs["encoder.0"]
    found = score_variance(inputs.query, inputs.key, scale=inputs.scale)
    # Variances of queries and keys are uncertain by sqrt(2 / 127) each, of weights by sqrt(2 / 256): about 0.2 for the
    # product in one head, less for the mean of 8; the bound is about 3 of those.
    assert found.raw_measured.mean().item() == pytest.approx(d_k, rel=0.25)
    assert found.raw_theory.mean().item() == pytest.approx(d_k, rel=0.25)
    assert found.scaled_measured.mean().item() == pytest.approx(1, rel=0.25)


def test_without_scaling_wide_heads_saturate():
    text = " ".join(f"w{i}" for i in range(61))
    numbers = {}
    for scale in ("default", "off"):
        run = run_from_scratch(text, ScratchConfig(num_heads=2, d_model=128, d_k=256, scale=scale))
        inputs = run.inputs["encoder.0"]
        numbers[scale] = summarize(inputs.trace(), inputs)
        assert inputs.own_scale == pytest.approx(1 / 16)
    assert (numbers["default"].saturation < 0.05).all()
    assert (numbers["off"].saturation > 0.3).all()  # 0.64 and 0.43 with this seed
    assert (numbers["off"].jacobian_norm < numbers["default"].jacobian_norm).all()
    assert_close(numbers["off"].scaled_variance, 256 * numbers["default"].scaled_variance)


def test_word_order_is_invisible_without_positions():
    one, other = run_from_scratch("我打你"), run_from_scratch("你打我")
    assert_close(one.output[0, [2, 1, 0]], other.output[0], atol=1e-6, rtol=0)  # float32 sums in another order


@pytest.mark.parametrize("position", [p for p in POSITIONS if p not in ("none", "alibi", "t5")])
def test_positions_make_word_order_visible(position: str):
    config = ScratchConfig(position=position)
    one, other = run_from_scratch("我打你", config), run_from_scratch("你打我", config)
    assert (one.output[0, [2, 1, 0]] - other.output[0]).abs().max() > 0.01


def test_distance_alone_does_not_tell_left_from_right():
    """A mirrored sentence has the same distances; T5 tells before from after, ALiBi does only under a causal mask."""
    for position, mask, visible in (("alibi", "none", False), ("alibi", "causal", True), ("t5", "none", True)):
        config = ScratchConfig(position=position, mask=MaskChoice(mask))
        one, other = run_from_scratch("我打你", config), run_from_scratch("你打我", config)
        assert ((one.output[0, [2, 1, 0]] - other.output[0]).abs().max() > 1e-3).item() is visible, (position, mask)


def test_each_position_encoding_changes_the_run_in_its_place():
    runs = {p: run_from_scratch(FIVE, ScratchConfig(position=p)).inputs["encoder.0"] for p in POSITIONS}
    assert {p for p in POSITIONS if runs[p].bias is not None} == {"alibi", "t5"}
    assert {p for p in POSITIONS if torch.equal(runs[p].query, runs["none"].query)} == {"none", "alibi", "t5"}
    assert {p for p in POSITIONS if torch.equal(runs[p].value, runs["none"].value)} == {"none", "rotary", "alibi", "t5"}
    encoder = runs["t5"].bias
    decoder = run_from_scratch(FIVE, ScratchConfig(position="t5", mask=MaskChoice("causal"))).inputs["decoder.0"].bias
    assert encoder is not None and decoder is not None
    assert not torch.equal(encoder[..., 0, 1], encoder[..., 0, 2])  # an encoder tells later keys apart
    assert torch.equal(decoder[..., 0, 1], decoder[..., 0, 2])  # a decoder never sees them
    distance = (torch.arange(5)[:, None] - torch.arange(5)).abs()
    slopes = torch.tensor([2**-2, 2**-4, 2**-6, 2**-8]).reshape(1, 4, 1, 1)
    alibi = runs["alibi"].bias
    assert alibi is not None
    assert_close(alibi, -slopes * distance)
    # a rotation leaves lengths alone
    assert_close(runs["rotary"].query.norm(dim=-1), runs["none"].query.norm(dim=-1))


# Sizes


def test_heads_and_widths_are_independent():
    config = ScratchConfig(num_heads=6, d_model=17, d_k=11, d_v=13, num_kv_heads=2)
    run = run_from_scratch(FIVE, config)
    inputs = run.inputs["encoder.0"]
    assert inputs.query.shape == (1, 6, 5, 11)
    assert inputs.key.shape == (1, 2, 5, 11)
    assert inputs.value.shape == (1, 2, 5, 13)
    assert run.output.shape == (1, 5, 17)
    weights = run.trace(run.call("encoder.0")).weights
    assert weights is not None and weights.shape == (1, 6, 5, 5)
    assert run.answer is not None and run.answer.kind == "output" and torch.equal(run.answer.values, run.output)
    assert [note.code for note in run.notes] == ["random_weights"]
    assert run.source == "from-scratch" and run.texts == (FIVE,)


def test_scale_default_off_and_custom():
    scales = {
        s: run_from_scratch("a b", ScratchConfig(d_k=9, scale=s)).inputs["encoder.0"] for s in ("default", "off", 0.7)
    }
    assert [inputs.scale for inputs in scales.values()] == [pytest.approx(1 / 3), 1.0, 0.7]
    assert all(inputs.own_scale == pytest.approx(1 / 3) for inputs in scales.values())


def test_layers_follow_each_other():
    run = run_from_scratch(FIVE, ScratchConfig(num_layers=3, mask=MaskChoice("causal")))
    assert [(c.name, c.kind, c.layer, c.step) for c in run.calls] == [
        ("decoder.0", "decoder", 0, 0),
        ("decoder.1", "decoder", 1, 0),
        ("decoder.2", "decoder", 2, 0),
    ]
    config = ScratchConfig(num_layers=3, mask=MaskChoice("causal"))
    x = embed(FIVE.split(), 64).float().unsqueeze(0)  # (1, len, d_model)
    output = x
    for layer in range(3):
        if layer:
            x = x + output
            x = (x - x.mean(-1, keepdim=True)) / (x.var(-1, correction=0, keepdim=True) + 1e-5).sqrt()
        with torch.no_grad():
            output, trace = attention_module(config, layer)(x, allowed=masks.causal(5))
        # float32, a few hundred operations on numbers of size 1
        assert_close(run.trace(run.calls[layer]).scores, trace.scores, atol=1e-4, rtol=0)
    assert_close(run.output, output, atol=1e-5, rtol=0)


def test_dtypes_are_one_draw_rounded():
    exact = run_from_scratch(FIVE, ScratchConfig(dtype="float64")).inputs["encoder.0"]
    for name, dtype in DTYPES.items():
        run = run_from_scratch(FIVE, ScratchConfig(dtype=name))
        inputs = run.inputs["encoder.0"]
        assert inputs.query.dtype == run.output.dtype == dtype
        # inputs and weights are rounded, then 64 products summed: some units in the last place
        assert_close(inputs.query.double(), exact.query, atol=16 * torch.finfo(dtype).eps, rtol=0)


# Masks


DRAWINGS = {
    MaskChoice("none"): "■■■■■\n■■■■■\n■■■■■\n■■■■■\n■■■■■",
    MaskChoice("causal"): "■⬚⬚⬚⬚\n■■⬚⬚⬚\n■■■⬚⬚\n■■■■⬚\n■■■■■",
    MaskChoice("window", size=2): "■■⬚⬚⬚\n■■■⬚⬚\n⬚■■■⬚\n⬚⬚■■■\n⬚⬚⬚■■",
    MaskChoice("window", size=2, causal=True): "■⬚⬚⬚⬚\n■■⬚⬚⬚\n⬚■■⬚⬚\n⬚⬚■■⬚\n⬚⬚⬚■■",
    MaskChoice("window", size=99): "■■■■■\n■■■■■\n■■■■■\n■■■■■\n■■■■■",
    MaskChoice("chunked", size=3): "■■■⬚⬚\n■■■⬚⬚\n■■■⬚⬚\n⬚⬚⬚■■\n⬚⬚⬚■■",
    MaskChoice("chunked", size=3, causal=True): "■⬚⬚⬚⬚\n■■⬚⬚⬚\n■■■⬚⬚\n⬚⬚⬚■⬚\n⬚⬚⬚■■",
    MaskChoice("dilated", window=2, step=3): "■⬚⬚■⬚\n⬚■⬚⬚■\n⬚⬚■⬚⬚\n■⬚⬚■⬚\n⬚■⬚⬚■",
    MaskChoice("strided", stride=2): "■⬚■⬚■\n⬚■⬚■⬚\n■⬚■⬚■\n⬚■⬚■⬚\n■⬚■⬚■",
    MaskChoice("global_local", window=1, global_keys=1): "■■■■■\n■■⬚⬚⬚\n■⬚■⬚⬚\n■⬚⬚■⬚\n■⬚⬚⬚■",
    MaskChoice("global_local", window=1, global_keys=99): "■■■■■\n■■■■■\n■■■■■\n■■■■■\n■■■■■",
    MaskChoice("block_sparse", block_size=2): "■■⬚⬚⬚\n■■⬚⬚⬚\n■■■■⬚\n■■■■⬚\n■■⬚⬚■",
    MaskChoice("block_sparse", block_size=99): "■■■■■\n■■■■■\n■■■■■\n■■■■■\n■■■■■",
    MaskChoice("prefix", prefix=3): "■■■⬚⬚\n■■■⬚⬚\n■■■⬚⬚\n■■■■⬚\n■■■■■",
    MaskChoice("prefix", prefix=99): "■■■■■\n■■■■■\n■■■■■\n■■■■■\n■■■■■",
    MaskChoice("prefix", prefix=0): "■⬚⬚⬚⬚\n■■⬚⬚⬚\n■■■⬚⬚\n■■■■⬚\n■■■■■",
}


@pytest.mark.parametrize("mask", DRAWINGS, ids=lambda m: f"{m.kind}-{m.parameters}")
def test_masks_as_drawings(mask: MaskChoice):
    run = run_from_scratch(FIVE, ScratchConfig(mask=mask))
    assert drawing(run) == DRAWINGS[mask]
    decoder = mask.kind in ("causal", "prefix") or ("causal", True) in mask.parameters
    assert run.calls[0].kind == ("decoder" if decoder else "encoder")


PADDED = {
    ("padding", "right"): "■■⬚⬚\n■■⬚⬚\n■■⬚⬚\n■■⬚⬚",
    ("padding", "left"): "⬚⬚■■\n⬚⬚■■\n⬚⬚■■\n⬚⬚■■",
    ("causal+padding", "right"): "■⬚⬚⬚\n■■⬚⬚\n■■⬚⬚\n■■⬚⬚",
    ("causal+padding", "left"): "⬚⬚⬚⬚\n⬚⬚⬚⬚\n⬚⬚■⬚\n⬚⬚■■",
}


@pytest.mark.parametrize("kind, side", PADDED)
def test_padding_adds_filler_that_nobody_reads(kind: str, side: str):
    plain = run_from_scratch(
        "go on", ScratchConfig(mask=MaskChoice("causal" if "causal" in kind else "none"), dtype="float64")
    )
    for position in POSITIONS:
        config = ScratchConfig(mask=MaskChoice(kind, count=2, side=side), position=position, dtype="float64")
        run = run_from_scratch("go on", config)
        assert drawing(run) == PADDED[kind, side]
        padding = [token.padding for token in run.tokens["self"][0]]
        assert padding == ([False, False, True, True] if side == "right" else [True, True, False, False])
        checks = row_checks(
            run.trace(run.calls[0]), padded_keys=torch.tensor([padding]), padded_queries=torch.tensor([padding])
        )
        assert {check.status for check in checks} <= {"passed", "info"}
        if position == "none":
            real = ~torch.tensor(padding)
            assert_close(run.output[0, real], plain.output[0], atol=1e-12, rtol=0)  # sums of another length


@pytest.mark.parametrize("position", POSITIONS)
def test_left_padding_moves_no_position(position: str):
    plain = run_from_scratch("go on", ScratchConfig(position=position, mask=MaskChoice("causal"), dtype="float64"))
    left = MaskChoice("causal+padding", count=3, side="left")
    padded = run_from_scratch("go on", ScratchConfig(position=position, mask=left, dtype="float64"))
    assert_close(padded.output[0, 3:], plain.output[0], atol=1e-12, rtol=0)  # sums of another length


def test_no_filler_is_no_padding():
    run = run_from_scratch(FIVE, ScratchConfig(mask=MaskChoice("padding", count=0)))
    assert len(run.tokens["self"][0]) == 5
    assert drawing(run) == DRAWINGS[MaskChoice("none")]


def test_packed_sentences_see_themselves_only():
    text = "Go on. 你好。"
    run = run_from_scratch(text, ScratchConfig(mask=MaskChoice("packed")))
    assert drawing(run) == "■■■⬚⬚⬚\n■■■⬚⬚⬚\n■■■⬚⬚⬚\n⬚⬚⬚■■■\n⬚⬚⬚■■■\n⬚⬚⬚■■■"
    run = run_from_scratch(text, ScratchConfig(mask=MaskChoice("packed+causal")))
    assert drawing(run) == "■⬚⬚⬚⬚⬚\n■■⬚⬚⬚⬚\n■■■⬚⬚⬚\n⬚⬚⬚■⬚⬚\n⬚⬚⬚■■⬚\n⬚⬚⬚■■■"
    assert run.calls[0].name == "decoder.0"


@pytest.mark.parametrize("position", POSITIONS)
def test_a_packed_sentence_computes_what_it_computes_alone(position: str):
    config = ScratchConfig(mask=MaskChoice("packed+causal"), position=position, dtype="float64")
    packed, alone = run_from_scratch("Go on. Stop now!", config), run_from_scratch("Stop now!", config)
    assert_close(packed.output[0, 3:], alone.output[0], atol=1e-12, rtol=0)  # sums of another length


def test_no_mask_is_reused_for_another_length():
    four, six = "a b c d", "a b c d e f"
    for mask, text, cells in (
        (MaskChoice("causal"), four, 10),
        (MaskChoice("causal"), six, 21),
        (MaskChoice("window", size=2, causal=True), four, 7),
        (MaskChoice("causal"), four, 10),
    ):
        allowed = allowed_cells(text, mask)
        assert allowed.shape == (len(text.split()),) * 2
        assert int(allowed.sum()) == cells


# Batches and limits


@pytest.mark.parametrize("kind", ANY_LENGTH)
@pytest.mark.parametrize("position", POSITIONS)
def test_texts_of_different_length_share_a_run_without_touching(kind: str, position: str):
    config = ScratchConfig(mask=MaskChoice(kind), position=position, dtype="float64")
    texts = ["Go on. Stop now and here!", "Hi you."]
    run = run_from_scratch(texts, config)
    assert run.texts == tuple(texts)
    for sample, text in enumerate(texts):
        alone = run_from_scratch(text, config)
        together = torch.tensor([not t.padding for t in run.tokens["self"][sample]])
        single = torch.tensor([not t.padding for t in alone.tokens["self"][0]])
        # float32, sums of another length
        assert_close(run.output[sample, together], alone.output[0, single], atol=1e-6, rtol=0)
        labels = [label for label, real in zip(run.query_labels(run.calls[0])[sample], together, strict=True) if real]
        assert labels == [
            label for label, real in zip(alone.query_labels(alone.calls[0])[0], single, strict=True) if real
        ]
    assert run.agreement is not None and run.agreement.passed


def test_a_long_text_is_cut_and_says_so():
    text = " ".join(f"w{i}" for i in range(12))
    run = run_from_scratch([text, "short"], ScratchConfig(max_tokens=7))
    assert [(note.code, dict(note.values)) for note in run.notes] == [
        ("random_weights", {}),
        ("truncated", {"kept": 7, "total": 12, "limit": 7, "sample": 0}),
    ]
    assert [t.label for t in run.tokens["self"][0]] == [f"w{i}" for i in range(7)]
    assert [note.code for note in run_from_scratch(text, ScratchConfig(max_tokens=12)).notes] == ["random_weights"]


@pytest.mark.parametrize("text", ["", "  \n\t", ["fine", " "]])
def test_a_text_without_tokens_is_refused(text: str | list[str]):
    with pytest.raises(
        ControlError, match=r"need at least one token: .* has none by the rule words; type a word"
    ) as caught:
        run_from_scratch(text)
    assert caught.value.control == "text"


def test_white_space_is_text_where_characters_are_tokens():
    run = run_from_scratch(" \n", ScratchConfig(tokens="characters"))
    assert run.query_labels(run.calls[0]) == [[" ", "\n"]]
    assert run.key_spans(run.calls[0]) == [[(0, 1), (1, 2)]]


def test_other_things_than_texts_are_refused():
    with pytest.raises(ControlError, match="need at least one text: got none"):
        run_from_scratch([])
    with pytest.raises(TypeError, match="a text must be a string: got int"):
        run_from_scratch(["a", 3])  # type: ignore[list-item]


# Agreement


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", ANY_LENGTH)
def test_every_mask_agrees_with_torch(kind: str, dtype: str):
    for position, scale in zip(POSITIONS, ("off", "default") * 3, strict=True):
        config = ScratchConfig(
            mask=MaskChoice(kind), position=position, dtype=dtype, scale=scale, num_kv_heads=2, d_k=32, d_v=5
        )
        agreement = run_from_scratch(["One two. Three four!", "Hi."], config).agreement
        assert agreement is not None
        assert agreement.passed, (position, scale, agreement)
        assert agreement.reference == "torch scaled_dot_product_attention"


def test_agreement_sees_a_difference(monkeypatch: pytest.MonkeyPatch):
    from attention_core import from_scratch

    real = from_scratch.functional.scaled_dot_product_attention
    monkeypatch.setattr(
        from_scratch.functional,
        "scaled_dot_product_attention",
        lambda *a, scale, **k: real(*a, scale=1.01 * scale, **k),
    )
    agreement = run_from_scratch(FIVE, ScratchConfig(num_layers=2)).agreement
    assert agreement is not None
    assert not agreement.passed
    assert set(agreement.weights) == {"encoder.0", "encoder.1"}
    assert min(agreement.weights.values()) > agreement.weights_tolerance
    assert agreement.output > agreement.output_tolerance


def test_tolerances_stay_tight():
    assert tolerances(torch.float32, 5.0) == (1e-5, 1e-4)
    assert tolerances(torch.float64, 5.0) == (1e-12, 1e-11)
    assert tolerances(torch.float16, 5.0)[0] < 1e-3
    assert tolerances(torch.float32, 160.0) == pytest.approx((1e-4, 1e-3))


# Choices


def test_choices_are_keys_of_a_cache():
    spelt, plain = MaskChoice("window", causal=False, size=3), MaskChoice("window")
    assert spelt == plain and hash(spelt) == hash(plain)
    assert plain != MaskChoice("window", size=4)
    assert ScratchConfig(mask=spelt) == ScratchConfig(mask=plain)
    assert len({ScratchConfig(), ScratchConfig(seed=0), ScratchConfig(seed=1)}) == 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        plain.kind = "causal"  # type: ignore[misc]
    assert pickle.loads(pickle.dumps(ScratchConfig(mask=spelt))) == ScratchConfig(mask=plain)
    assert dataclasses.replace(ScratchConfig(), mask=spelt).mask["size"] == 3


WRONG = [
    (
        {"num_heads": 4, "num_kv_heads": 3},
        "num_kv_heads",
        "num_kv_heads must divide num_heads: got 3 and 4; take 1 or 2 or 4",
    ),
    (
        {"num_heads": 5, "d_model": 64},
        "num_heads",
        "num_heads must divide d_model where d_k is not given: got 5 and 64",
    ),
    ({"d_k": 7, "position": "rotary"}, "position", "d_k must be even: got 7; take d_k 8 or another position encoding"),
    ({"num_heads": 0}, "num_heads", "num_heads must be a whole number of at least 1: got 0"),
    ({"d_k": 2.5}, "d_k", "d_k must be a whole number of at least 1: got 2.5"),
    ({"d_model": True}, "d_model", "d_model must be a whole number of at least 1: got True"),
    ({"d_v": -1}, "d_v", "d_v must be a whole number"),
    ({"max_tokens": 0}, "max_tokens", "max_tokens must be a whole number of at least 1: got 0"),
    ({"num_layers": 25}, "num_layers", "num_layers must be at most 24: got 25"),
    ({"scale": float("nan")}, "scale", 'scale must be "default", "off" or a finite number: got nan'),
    ({"scale": "none"}, "scale", 'scale must be "default", "off" or a finite number: got \'none\''),
    ({"scale": True}, "scale", "or a finite number: got True"),
    ({"tokens": "bytes"}, "tokens", "tokens must be one of words, characters, spaces: got 'bytes'"),
    ({"position": "xpos"}, "position", "position must be one of none, sinusoidal, learned, rotary, alibi, t5"),
    ({"dtype": "int8"}, "dtype", "dtype must be one of float32, float64, bfloat16, float16"),
    ({"seed": "x"}, "seed", "seed must be a whole number: got 'x'"),
    (
        {"num_heads": 4096, "d_k": 4096, "d_model": 4096},
        "num_heads",
        "num_heads x head width x d_model must be at most",
    ),
    (
        {"mask": MaskChoice("padding", count=8), "max_tokens": 7},
        "mask.count",
        "mask count must be at most max_tokens 7",
    ),
]


@pytest.mark.parametrize("options, control, message", WRONG)
def test_errors_name_the_control_and_the_remedy(options: dict, control: str, message: str):
    with pytest.raises(ControlError) as caught:
        ScratchConfig(**options)
    assert message in str(caught.value)
    assert caught.value.control == control


WRONG_MASKS = [
    ("diagonal", {}, "mask", "mask must be one of none, causal, padding"),
    ("causal", {"size": 3}, "mask.size", "a causal mask takes no parameters: got size=3"),
    ("window", {"width": 3}, "mask.width", "a window mask takes size, causal: got width=3"),
    ("window", {"size": 0}, "mask.size", "mask size must be a whole number of at least 1: got 0"),
    ("window", {"causal": 1}, "mask.causal", "mask causal must be True or False: got 1"),
    ("padding", {"count": -1}, "mask.count", "mask count must be a whole number of at least 0: got -1"),
    ("padding", {"side": "top"}, "mask.side", 'mask side must be "left" or "right": got \'top\''),
    ("strided", {"stride": True}, "mask.stride", "mask stride must be a whole number"),
]


@pytest.mark.parametrize("kind, parameters, control, message", WRONG_MASKS)
def test_masks_refuse_what_makes_no_sense(kind: str, parameters: dict, control: str, message: str):
    with pytest.raises(ControlError) as caught:
        MaskChoice(kind, **parameters)
    assert message in str(caught.value)
    assert caught.value.control == control
