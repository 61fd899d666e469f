"""Encoder-decoders: two token lists, three kinds of calls, the target given or written, and what the switches do."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.testing import assert_close

from attention_core.pretrained import Model, Switches, load
from attention_core.pretrained.stacks import MOST_WRITTEN

SOURCES = ["the cat sat", "my old dog looked at the red hat"]  # 5 and 10 tokens with [CLS] and [SEP]
TARGETS = ["a dog", "the mat and my cat was there"]  # behind the start token: 4 and 9, the end token not read
SIZES: dict[str, dict[str, Any]] = {
    "BartForConditionalGeneration": {
        "d_model": 24, "encoder_layers": 1, "decoder_layers": 2, "encoder_attention_heads": 3,
        "decoder_attention_heads": 3, "encoder_ffn_dim": 17, "decoder_ffn_dim": 19, "max_position_embeddings": 37,
        "bos_token_id": 2, "eos_token_id": 3, "decoder_start_token_id": 3, "forced_eos_token_id": 3,
    },
    "T5ForConditionalGeneration": {
        "d_model": 24, "d_kv": 8, "d_ff": 17, "num_heads": 3, "num_layers": 1, "num_decoder_layers": 2,
        "decoder_start_token_id": 0, "eos_token_id": 3,
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def model_of(tiny_folder: Callable[..., Path]) -> Callable[[str], Model]:
    folders = {name: tiny_folder(name, specials=True, **sizes) for name, sizes in SIZES.items()}
    return lambda name: load(folders[name])


@pytest.fixture(scope="module")
def bart(model_of: Callable[[str], Model]) -> Model:
    return model_of("BartForConditionalGeneration")


@pytest.mark.parametrize("name", SIZES)
def test_three_kinds_each_counted_for_itself(model_of: Callable[[str], Model], name: str) -> None:
    model = model_of(name)
    names = ["encoder.0", "decoder.0", "cross.0", "decoder.1", "cross.1"]
    assert [call.name for call in model.calls] == names
    assert (model.kind, model.task) == ("encoder-decoder", "seq2seq")
    # a target as long as the source: only the order of the calls can tell the two apart
    run = model.run("the cat sat", target="the cat sat")
    assert [call.name for call in run.calls] == names
    sizes = {call.name: tuple(run.inputs[call.name].allowed.shape[-2:]) for call in run.calls}
    assert set(sizes.values()) == {(5, 5)}
    assert run.inputs["cross.1"].allowed.all() and not run.inputs["decoder.1"].allowed.all()


@pytest.mark.parametrize("name", SIZES)
def test_c115_two_token_lists(model_of: Callable[[str], Model], name: str) -> None:
    model = model_of(name)
    run = model.run("the cat sat on a mat", target="my dog")
    start = model._reader.spelled([SIZES[name]["decoder_start_token_id"]])[1][0].label
    source = ["[CLS]", "the", "cat", "sat", "on", "a", "mat", "[SEP]"]
    target = [start, "[CLS]", "my", "dog"]
    for call in run.calls:
        weights = run.trace(call).weights
        assert weights is not None
        rows, columns = run.query_labels(call)[0], run.key_labels(call)[0]
        assert weights.shape[-2:] == (len(rows), len(columns))
        assert rows == (source if call.kind == "encoder" else target)
        assert columns == (target if call.kind == "decoder" else source)
        assert [s and run.texts[0][slice(*s)] for s in run.key_spans(call)[0]][2] == columns[
            2
        ] or call.kind == "decoder"
    assert run.targets == ("my dog",)
    assert run.query_spans(run.call("cross.0"))[0] == [None, None, (0, 2), (3, 6)]
    assert run.output.shape == (1, 4, 24)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("name", SIZES)
def test_c113_padding_of_source_and_target(model_of: Callable[[str], Model], name: str, side: Any) -> None:
    """Cross-attention hides the padding of the source; rows of padded targets are there, and nobody reads them."""
    model = model_of(name)
    uniform = model.run(SOURCES, target=TARGETS, padding_side=side, switches=Switches(scale_factor=0.0))
    cross = uniform.trace(uniform.call("cross.0")).weights
    assert cross is not None and cross.shape == (2, 3, 9, 10)
    keys = torch.tensor([0.2] * 5 + [0.0] * 5)
    if name.startswith("Bart"):  # T5 adds its bias to the encoder and the decoder, not here
        assert_close(cross[0], (keys.flip(0) if side == "left" else keys).expand(3, 9, 10), atol=1e-6, rtol=0)
    assert [t.padding for t in uniform.tokens["self"][0]] == [False] * 4 + [True] * 5  # targets are padded on the right
    assert [t.padding for t in uniform.tokens["source"][0]] == [side == "left"] * 5 + [side != "left"] * 5
    encoder = uniform.inputs["encoder.0"].allowed.expand(2, 1, 10, 10)[0, 0]
    assert torch.equal(encoder[0 if side == "right" else -1], (keys.flip(0) if side == "left" else keys) > 0)
    agreed = uniform.agreement
    assert agreed is not None and agreed.passed and list(agreed.weights) == [call.name for call in uniform.calls]


@pytest.mark.parametrize("name", SIZES)
def test_a_sample_is_the_same_alone(model_of: Callable[[str], Model], name: str) -> None:
    model = model_of(name)
    for side in ("right", "left"):
        both = model.run(SOURCES, target=TARGETS, padding_side=side, agreement=False)
        alone = model.run(SOURCES[0], target=TARGETS[0], agreement=False)
        moved = [note.code for note in both.notes] == ["positions_shifted"]
        assert moved is (side == "left" and name.startswith("Bart"))  # T5 looks at distances alone
        difference = (both.output[0, :4] - alone.output[0]).abs().max()
        assert difference > 1e-2 if moved else difference < 1e-4  # a note exactly where something is to be told


def test_c114_each_side_has_its_own_mask(bart: Model) -> None:
    """The end of sequence is the start of a target, and the filler a word of the source: neither is told by its id."""
    run = bart.run(["cat [PAD] dog", "my old dog looked at the red hat"], target=["a [PAD] dog", "the mat and my cat"])
    assert [t.padding for t in run.tokens["source"][0]] == [False] * 5 + [True] * 5
    assert [t.padding for t in run.tokens["self"][0]] == [False] * 5 + [True] * 2
    assert run.inputs["cross.0"].allowed[0, 0, 0].tolist() == [True] * 5 + [False] * 5
    assert run.inputs["decoder.0"].allowed[0, 0, -1].tolist() == [True] * 5 + [False] * 2


def test_without_a_target_the_model_writes_one(bart: Model) -> None:
    run = bart.run(SOURCES)
    steps = [sum(not t.padding for t in sample) for sample in run.tokens["self"]]
    assert all(1 < n <= MOST_WRITTEN + 1 for n in steps) and len(run.targets) == 2
    # greedy: each token that was written is the likeliest behind the ones before it, by the head over this very run
    logits = bart.head(run.output)
    for sample, n in enumerate(steps):
        ids = [t.id for t in run.tokens["self"][sample]][:n]
        assert logits[sample, : n - 1].argmax(-1).tolist() == ids[1:]
        words = [t for t in run.tokens["self"][sample] if t.span is not None]
        assert words and all(run.targets[sample][slice(*t.span)].strip() == t.piece for t in words if t.span)
    # the target stays while a switch moves, so that rows can be compared
    off = bart.run(SOURCES, switches=Switches(scaling=False, mask="none"))
    assert off.targets == run.targets and off.tokens == run.tokens
    assert (off.output - run.output).abs().max() > 1e-3
    assert bart.run(SOURCES[0]).targets == run.targets[:1]  # whatever else is in the batch
    short = bart.run(SOURCES[0], max_tokens=4)
    assert len(short.tokens["self"][0]) == 4


def test_switches_act_on_each_kind(bart: Model) -> None:
    def allowed(**switches: Any) -> dict[str, torch.Tensor]:
        run = bart.run(SOURCES, target=TARGETS, switches=Switches(**switches), agreement=False)
        return {name: given.allowed.expand(2, 1, *given.allowed.shape[-2:])[:, 0] for name, given in run.inputs.items()}

    own = allowed()
    causal = allowed(mask="causal")
    assert torch.equal(causal["encoder.0"], own["encoder.0"] & torch.ones(10, 10).tril().bool())
    assert torch.equal(causal["decoder.0"], own["decoder.0"])
    assert torch.equal(causal["cross.0"], own["cross.0"])  # the source is no future of the target
    window = allowed(window=2)
    near = (torch.arange(10)[:, None] - torch.arange(10)[None]).abs() < 2
    assert torch.equal(window["encoder.0"], own["encoder.0"] & near)
    assert torch.equal(window["decoder.1"], own["decoder.1"] & near[:9, :9])
    assert torch.equal(window["cross.1"], own["cross.1"])
    assert all(mask.all() for mask in allowed(mask="none").values())
    unpadded = allowed(mask="padding-ignored")
    assert unpadded["encoder.0"].all() and unpadded["cross.0"].all()
    assert torch.equal(unpadded["decoder.0"], torch.ones(9, 9).tril().bool().expand(2, 9, 9))
    run = bart.run(SOURCES, target=TARGETS, switches=Switches(scaling=False, layers=frozenset({1})), agreement=False)
    assert {name for name, given in run.inputs.items() if given.scale == 1.0} == {"decoder.1", "cross.1"}
    with pytest.raises(ValueError, match=r"layers takes layers 0 to 1 of .*: got \[2\]"):
        bart.run(SOURCES, switches=Switches(scaling=False, layers=frozenset({2})))
    for name in ("encoder.0", "decoder.1", "cross.1"):
        heads = Switches(heads_off=frozenset({(name, 0)}))
        changed = bart.run(SOURCES, target=TARGETS, switches=heads, agreement=False)
        assert (changed.output - bart.run(SOURCES, target=TARGETS, agreement=False).output).abs().max() > 1e-4


def test_targets_that_do_not_fit(bart: Model, minilm: Model) -> None:
    with pytest.raises(ValueError, match="need one target per text: got 1 for 2"):
        bart.run(SOURCES, target="a dog")
    with pytest.raises(ValueError, match=r"a target goes with an encoder-decoder: all-MiniLM-L6-v2 is one stack"):
        minilm.run("the cat", target="a dog")
    with pytest.raises(ValueError, match=r"it reads a source and a target; use run\(\)"):
        bart.outputs(torch.tensor([[1, 2]]))


def test_a_model_saved_without_its_tied_head_speaks_all_the_same(tiny_folder: Callable[..., Path]) -> None:
    sizes = SIZES["BartForConditionalGeneration"]
    model = load(tiny_folder("BartModel", specials=True, **sizes))  # as the best known checkpoint is
    run = model.run("the cat", target="a dog")
    assert model.task == "seq2seq"
    embedding = model._whole.model.shared.weight
    assert_close(model.head(run.output), run.output @ embedding.T, atol=1e-5, rtol=1e-5)  # sums of 24 terms


def test_half_characters_wait_for_their_other_half() -> None:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    from attention_core.pretrained.tokens import TextReader

    alphabet = {c: i for i, c in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    backend: Any = Tokenizer(models.BPE(alphabet, []))
    backend.pre_tokenizer, backend.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    reader = TextReader(backend, special_ids=frozenset(), unknown_id=None, pad_id=0)
    ids = backend.encode("a你b").ids
    text, tokens = reader.spelled(ids)
    assert text == "a你b"
    assert [t.label for t in tokens] == ["a", "你·1/3", "你·2/3", "你·3/3", "b"]
    assert [t.span for t in tokens] == [(0, 1), (1, 2), (1, 2), (1, 2), (2, 3)]
    cut, tokens = reader.spelled(ids[:3])  # a text that ends in the middle of a character
    assert cut == "a\ufffd" and [t.span for t in tokens] == [(0, 1), (1, 2), (1, 2)]
