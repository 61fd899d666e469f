"""Public bug reports about running pretrained models, each reduced to a small input with the right answer."""

import copy
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from torch.testing import assert_close

from attention_core.pretrained import LoadError, Model, Switches, load, loading
from attention_core.pretrained.agreement import attentions_of
from attention_core.pretrained.backend import IMPLEMENTATION, register
from attention_core.pretrained.tokens import TextReader

TINY_GPT2: dict[str, Any] = {"n_embd": 33, "n_head": 3, "n_layer": 1, "n_positions": 19}


def tiny_llama(implementation: str) -> Any:
    from transformers import LlamaConfig, LlamaModel

    register()
    config = LlamaConfig(
        vocab_size=23, hidden_size=16, intermediate_size=19, num_hidden_layers=1, num_attention_heads=2, use_cache=False
    )
    model = LlamaModel(config).eval()
    model.set_attn_implementation(implementation)
    return model


def test_c07_boolean_4d_mask_is_applied_not_added() -> None:
    eager, ours = tiny_llama("eager"), tiny_llama(IMPLEMENTATION)
    ours.load_state_dict(eager.state_dict())
    ids = torch.tensor([[1, 2, 3, 4, 5]])
    keep = torch.ones(1, 1, 5, 5).tril().bool()
    future = ~keep.expand(1, 2, 5, 5)
    additive = torch.zeros(1, 1, 5, 5).masked_fill(~keep, torch.finfo(torch.float32).min)
    with torch.inference_mode():
        added = eager(input_ids=ids, attention_mask=keep, output_attentions=True).attentions[0]
        right = eager(input_ids=ids, attention_mask=additive, output_attentions=True).attentions[0]
        have = ours(input_ids=ids, attention_mask=keep, output_attentions=True).attentions[0]
        have_additive = ours(input_ids=ids, attention_mask=additive, output_attentions=True).attentions[0]
    assert (added[future] > 0.08).all()  # the trap, so that the rest says something
    assert (have[future] == 0).all()
    assert_close(have, right, atol=1e-6, rtol=0)  # float32 roundings
    assert torch.equal(have_additive, have)


def test_c07_float_masks_are_added_and_integer_masks_refused() -> None:
    eager, ours = tiny_llama("eager"), tiny_llama(IMPLEMENTATION)
    ours.load_state_dict(eager.state_dict())
    ids = torch.tensor([[1, 2, 3, 4, 5]])
    bonus = torch.ones(1, 1, 5, 5).tril()  # 0 and 1, merely added
    with torch.inference_mode():
        theirs = eager(input_ids=ids, attention_mask=bonus, output_attentions=True).attentions[0]
        have = ours(input_ids=ids, attention_mask=bonus, output_attentions=True).attentions[0]
        assert_close(have, theirs, atol=1e-6, rtol=0)  # float32 roundings
        with pytest.raises(
            TypeError, match=r"must be bool .* got torch.int64; convert it with masks.from_attention_mask"
        ):
            ours(input_ids=ids, attention_mask=bonus.long())


def numbered(pad_id: int) -> TextReader:
    """Words "5", "6", ... are ids 5, 6, ...; 2 and 9 are ends of sequence."""
    backend: Any = Tokenizer(models.WordLevel({str(i): i for i in range(13)}, unk_token="1"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return TextReader(backend, special_ids=frozenset({2, 9}), unknown_id=1, pad_id=pad_id)


def test_c84_pad_id_zero_on_both_sides() -> None:
    right = numbered(0).read(["5 6 2", "5 6 5 6 2"], padding_side="right")
    left = numbered(0).read(["5 6 2", "5 6 5 6 2"], padding_side="left")
    assert right.ids[0].tolist() == [5, 6, 2, 0, 0]
    assert right.real[0].tolist() == [True, True, True, False, False]
    assert left.ids[0].tolist() == [0, 0, 5, 6, 2]
    assert left.real[0].tolist() == [False, False, True, True, True]
    assert [t.padding for t in left.tokens[0]] == [True, True, False, False, False]


def test_c85_pad_equals_end_of_sequence() -> None:
    alone = numbered(9).read(["7 9 8"])
    assert alone.ids.tolist() == [[7, 9, 8]]
    assert alone.real.all()
    padded = numbered(9).read(["7 9 8", "7 8 7 8 7"])
    assert padded.ids[0].tolist() == [7, 9, 8, 9, 9]
    assert padded.real[0].tolist() == [True, True, True, False, False]
    assert [(t.padding, t.typed_special) for t in padded.tokens[0]] == [
        (False, False), (False, True), (False, False), (True, False), (True, False),
    ]  # fmt: skip


def test_c84_c85_a_model_whose_filler_is_a_real_word(tiny_folder: Callable[..., Path]) -> None:
    """The filler has id 0, and id 0 also stands in the text: only the tokens that were filled in are hidden."""
    model = load(tiny_folder("GPT2", **TINY_GPT2))
    run = model.run(["the [PAD] cat", "the cat sat on a mat"])
    assert run.inputs["decoder.0"].allowed[0, 0, -1].tolist() == [True] * 3 + [False] * 3
    assert [t.padding for t in run.tokens["self"][0]] == [False] * 3 + [True] * 3
    assert run.agreement is not None and run.agreement.passed


def test_c87_padding_without_a_mask_takes_its_share(minilm: Model) -> None:
    texts = ["word " * 20, "word " * 22]  # 22 and 24 tokens with [CLS] and [SEP]
    none = minilm.run(texts, switches=Switches(scale_factor=0.0, mask="none"), agreement=False)  # scores 0, no mask
    weights = none.trace(none.calls[0]).weights
    assert weights is not None
    assert_close(weights[0], torch.full((12, 24, 24), 1 / 24), atol=1e-7, rtol=0)  # float32 rounding of 1/24
    assert_close(weights[0, :, :, 22:].sum(-1), torch.full((12, 24), 2 / 24), atol=1e-7, rtol=0)  # likewise
    masked = minilm.run(texts, switches=Switches(scale_factor=0.0), agreement=False)
    weights = masked.trace(masked.calls[0]).weights
    assert weights is not None
    assert_close(weights[0, :, :, :22], torch.full((12, 24, 22), 1 / 22), atol=1e-7, rtol=0)  # likewise
    assert (weights[0, :, :, 22:] == 0).all()


def test_c88_the_pad_id_comes_from_the_tokenizer(minilm: Model) -> None:
    texts = ["hello world", "hello world and more"]
    run = minilm.run(texts, switches=Switches(scale_factor=0.0))
    assert [t.id for t in run.tokens["self"][0]] == [101, 7592, 2088, 102, 0, 0]
    weights = run.trace(run.calls[0]).weights
    assert weights is not None
    expected = torch.tensor([0.25, 0.25, 0.25, 0.25, 0, 0]).expand(12, 6, 6)
    assert torch.equal(weights[0], expected)


def test_c122_fused_attention_leaves_no_maps() -> None:
    from transformers import GPT2Config, GPT2LMHeadModel

    model = GPT2LMHeadModel(GPT2Config(vocab_size=23, bos_token_id=1, eos_token_id=1, **TINY_GPT2)).eval()
    assert model.config._attn_implementation == "sdpa"
    outputs: Any = model(torch.tensor([[1, 2, 3]]), output_attentions=True)
    assert outputs.attentions == ()
    for maps in (outputs.attentions, None, (torch.zeros(1, 3, 3, 3), None)):
        outputs.attentions = maps
        with pytest.raises(ValueError, match=r'fused implementation \(sdpa or flash\).*attn_implementation="eager"'):
            attentions_of(outputs)


def test_c152_typed_padding_is_text(minilm: Model) -> None:
    run = minilm.run("artery disease [PAD] is common")
    tokens = run.tokens["self"][0]
    assert [t.label for t in tokens] == ["[CLS]", "artery", "disease", "[PAD]", "is", "common", "[SEP]"]
    assert tokens[3].id == 0
    assert (tokens[3].padding, tokens[3].special, tokens[3].typed_special) == (False, False, True)
    assert run.inputs["encoder.0"].allowed.all()
    assert [(n.code, n.values["index"], n.values["label"]) for n in run.notes] == [("typed_special", 3, "[PAD]")]
    weights = run.trace(run.calls[0]).weights
    assert weights is not None
    assert (weights[0, :, :, 3] > 0).all()


def test_c169_two_recorders_at_once(minilm: Model) -> None:
    texts = {5: "one two three", 9: "one two three four five six seven"}
    alone = {n: minilm.run(text, agreement=False) for n, text in texts.items()}
    barrier = threading.Barrier(2)
    wrong: list[str] = []

    def visit(length: int) -> None:
        barrier.wait()
        for _ in range(20):
            run = minilm.run(texts[length], agreement=False)
            if [c.name for c in run.calls] != [f"encoder.{i}" for i in range(6)]:
                wrong.append(f"{length}: calls {run.calls}")
            for name, given in run.inputs.items():
                weights, expected = given.trace().weights, alone[length].inputs[name].trace().weights
                assert weights is not None and expected is not None
                if weights.shape[-2:] != (length, length) or not torch.equal(weights, expected):
                    wrong.append(f"{length}: {name} {tuple(weights.shape)}")
            if not torch.equal(run.output, alone[length].output):
                wrong.append(f"{length}: output")

    visitors = [threading.Thread(target=visit, args=(n,)) for n in texts]
    for visitor in visitors:
        visitor.start()
    for visitor in visitors:
        visitor.join()
    assert wrong == []
    for part in minilm._module.modules():
        assert not part._forward_hooks and not part._forward_pre_hooks


def test_c170_nobody_is_reseeded(tiny_folder: Callable[..., Path]) -> None:
    folder = tiny_folder("Bert", specials=True, hidden_size=33, num_attention_heads=3, num_hidden_layers=1)
    before = torch.get_rng_state()
    load(folder).run("the cat sat", switches=Switches(scaling=False))
    assert torch.equal(torch.get_rng_state(), before)


def test_c173_the_back_end_of_one_model_is_its_own(tiny_folder: Callable[..., Path]) -> None:
    from transformers import AutoModel

    folder = tiny_folder("GPT2", **TINY_GPT2)
    model = load(folder)
    neutral = model.run("the cat sat")
    other = AutoModel.from_pretrained(folder, attn_implementation="eager", config=copy.copy(model._module.config))
    other.set_attn_implementation("sdpa")
    assert model._module.config._attn_implementation == IMPLEMENTATION
    assert model._twin.config._attn_implementation == "eager"
    assert model._module.config is not model._twin.config
    assert all(part.config is model._twin.config for part in model._twin.modules() if hasattr(part, "config"))
    model._agreements.clear()
    again = model.run("the cat sat")
    assert again.agreement == neutral.agreement
    assert len(again.calls) == 1


def test_c177_first_visitors_at_once_share_one_model(
    tiny_folder: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tiny_folder("GPT2", **TINY_GPT2)
    built = loading._build
    calls: list[str] = []
    slow = threading.Event()

    def build(*arguments: Any) -> Model:
        calls.append(arguments[1])
        slow.wait(0.2)
        if len(calls) == 1:
            raise LoadError("no-network", arguments[1], "the first try fails")
        return built(*arguments)

    monkeypatch.setattr(loading, "_build", build)
    with pytest.raises(LoadError, match="the first try fails"):
        load(folder)
    barrier = threading.Barrier(4)
    got: list[Model] = []

    def visit() -> None:
        barrier.wait()
        got.append(load(folder))

    visitors = [threading.Thread(target=visit) for _ in range(4)]
    for visitor in visitors:
        visitor.start()
    for visitor in visitors:
        visitor.join()
    assert len(calls) == 2  # the failed one, then one for all four
    assert len(got) == 4 and all(model is got[0] for model in got)
