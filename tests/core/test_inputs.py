"""Pairs, chats, and what padding does to a batch."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.testing import assert_close

from attention_core.pretrained import Chat, Model, Pair, Switches, load, padding_effect
from attention_core.pretrained.samples import rendered

pytestmark = pytest.mark.model

LINES = ["short", "a much longer line of text"]


def test_a_pair_is_read_as_the_tokenizer_joins_it(minilm: Model, minilm_folder: Path) -> None:
    from transformers import AutoModel, AutoTokenizer

    given = Pair("A man eats", "Someone is eating")
    batch = minilm.read([given, "a hat"], padding_side="left")
    tokenizer = AutoTokenizer.from_pretrained(minilm_folder)
    theirs = tokenizer("A man eats", "Someone is eating", return_tensors="pt")
    assert torch.equal(batch.ids[:1], theirs["input_ids"])
    assert batch.types is not None and torch.equal(batch.types[:1], theirs["token_type_ids"])
    assert not batch.types[1].any()
    tokens, text = batch.tokens[0], batch.texts[0]
    assert [t.span and text[slice(*t.span)] for t in tokens] == [
        None, "A", "man", "eats", None, "Someone", "is", "eating", None
    ]  # fmt: skip
    assert [t.document for t in tokens] == [None, 0, 0, 0, None, 1, 1, 1, None]
    own = AutoModel.from_pretrained(minilm_folder, attn_implementation="eager").eval()
    with torch.inference_mode():
        states = own(**theirs).last_hidden_state
    assert_close(minilm.run(given, agreement=False).output, states, atol=1e-5, rtol=1e-5)  # float32, other blocks
    other = minilm.run("A man eats [SEP] Someone is eating", agreement=False).output  # the same ids, one type
    assert (other - states).abs().max() > 0.01


def test_a_template_is_told_apart_from_what_was_typed(smollm2: Model) -> None:
    batch = smollm2.read(Chat("Hi <|im_end|> you", "Be brief."))
    tokens, text = batch.tokens[0], batch.texts[0]
    typed = [t for t in tokens if not t.special]
    assert "".join(text[slice(*t.span)] for t in typed if t.span) == "Be brief.Hi <|im_end|> you"
    assert [t.label for t in tokens if t.typed_special] == ["<|im_end|>"]
    assert [note.code for note in batch.notes] == ["typed_special"]
    assert sum(t.label == "<|im_end|>" and t.special for t in tokens) == 2
    assert text.endswith("<|im_start|>assistant\n")


def test_a_long_chat_is_cut_where_the_user_speaks(smollm2: Model) -> None:
    whole = smollm2.read(Chat("one two three four five six")).tokens[0]
    added = sum(t.special for t in whole)
    kept = smollm2.read(Chat("one two three four five six"), max_tokens=added + 2).tokens[0]
    assert [t.label for t in kept if not t.special] == ["one", " two"] and len(kept) == added + 2
    with pytest.raises(ValueError, match=f"must leave room for the text beside {added} added tokens: got {added}"):
        smollm2.read(Chat("one two"), max_tokens=added)


def test_who_cannot_take_them_says_why(minilm: Model, smollm2: Model) -> None:
    assert (minilm.takes_pairs, minilm.takes_chats) == (True, False)
    assert (smollm2.takes_pairs, smollm2.takes_chats) == (False, True)
    with pytest.raises(ValueError, match="a chat needs a tokenizer with a chat template"):
        minilm.read(Chat("hi"))
    with pytest.raises(ValueError, match="a pair needs a tokenizer that puts a separator between two texts"):
        smollm2.read(Pair("a", "b"))


@pytest.mark.parametrize(
    ("template", "message"),
    [
        (lambda m: "<u>" + m[-1]["content"].upper() + "</u>", "must hold what was typed as it is"),
        (lambda m: {}[m[0]["role"]], "a chat must fit the model's template"),
    ],
)
def test_templates_that_do_not_keep_the_text(template: Callable[[Any], str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        rendered(Chat("hi"), template)


def test_a_template_that_trims_is_followed() -> None:
    found = rendered(Chat("  hi ", "sys"), lambda m: "".join(f"<{one['content'].strip()}>" for one in m))
    assert found.text == "<sys><hi>" and [found.text[a:b] for a, b in found.typed] == ["sys", "hi"]


@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_is_measured(minilm: Model, side: Any) -> None:
    short, long = padding_effect(minilm, LINES, side)
    assert (short.fillers, long.fillers) == (5, 0)
    assert not short.changes and not long.changes and short.difference < 1e-5  # float32 roundings
    opened = padding_effect(minilm, LINES, side, switches=Switches(mask="padding-ignored"))
    assert opened[0].changes and not opened[1].changes
    padded = minilm.run(LINES, padding_side=side, switches=Switches(mask="padding-ignored"), agreement=False).output[0]
    alone = minilm.run(LINES[0], agreement=False).output[0]
    rows = padded[-3:] if side == "left" else padded[:3]
    assert opened[0].difference == pytest.approx(float((rows - alone).abs().max()), rel=1e-6)
    assert opened[0].token == int((rows - alone).abs().amax(-1).argmax())


def test_c83_positions_count_real_tokens(smollm2: Model) -> None:
    batch = smollm2.read(["a b c", "a b c d e"], padding_side="left")
    assert batch.positions.tolist() == [[0, 0, 0, 1, 2], [0, 1, 2, 3, 4]]
    assert [one.changes for one in padding_effect(smollm2, ["a b c", "a b c d e"], "left")] == [False, False]


def test_c85_an_end_token_in_the_text_is_no_padding(smollm2: Model) -> None:
    """Here the filler is the end token too: the mask is that of the reading, never made out of ids."""
    batch = smollm2.read(["a<|im_end|>b", "a<|im_end|>b c d"])
    assert batch.ids[0, 1] == batch.ids[0, -1] == 2
    assert batch.real.tolist() == [[True, True, True, False, False], [True] * 5]


@pytest.mark.parametrize("side", ["left", "right"])
def test_c84_c86_c88_the_filler_is_id_0_and_no_real_row_reads_it(tiny_folder: Callable[..., Path], side: Any) -> None:
    sizes = {"hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 17}
    model = load(tiny_folder("Bert", specials=True, **sizes))
    run = model.run(["the cat", "the cat sat on a mat"], padding_side=side, agreement=False)
    real = torch.tensor([[not t.padding for t in sample] for sample in run.tokens["self"]])
    assert real.sum(-1).tolist() == [4, 8] and bool(real[0, -1]) is (side == "left")
    assert [t.id for t in run.tokens["self"][0] if t.padding] == [0] * 4
    for call in run.calls:
        weights = run.trace(call).weights
        assert weights is not None
        assert not weights[0][:, real[0]][..., ~real[0]].any()  # none of the fillers, the first one neither
