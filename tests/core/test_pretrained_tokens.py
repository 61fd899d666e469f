"""Tokens come with labels and offsets into the text as it was typed, and padding is known, never guessed from an id."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from attention_core.pretrained import Model
from attention_core.pretrained.tokens import TextReader
from attention_core.runs import Note, Token


def reader(backend: Any, **options: Any) -> TextReader:
    return TextReader(backend, **{"special_ids": frozenset(), "unknown_id": None, "pad_id": 0, **options})


def words(vocabulary: dict[str, int], unknown: str = "[UNK]") -> Any:
    backend: Any = Tokenizer(models.WordLevel(vocabulary, unk_token=unknown))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return backend


def byte_level(merges: Sequence[tuple[str, str]] = (), *, trim: bool) -> Any:
    """GPT-2's alphabet of bytes, with a few merges."""
    pieces = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {piece: i for i, piece in enumerate([*pieces, *("".join(pair) for pair in merges)])}
    backend: Any = Tokenizer(models.BPE(vocabulary, list(merges)))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.post_processor = processors.ByteLevel(trim_offsets=trim)
    backend.decoder = decoders.ByteLevel()
    return backend


def labels(tokens: Sequence[Token]) -> list[str]:
    return [token.label for token in tokens]


# ---------------------------------------------------------------------------------------------------------------------
# labels


def test_bytes_of_one_character_are_numbered() -> None:
    (tokens,) = reader(byte_level(trim=False)).read(["a你é!"]).tokens
    assert labels(tokens) == ["a", "你·1/3", "你·2/3", "你·3/3", "é·1/2", "é·2/2", "!"]
    assert [token.span for token in tokens] == [(0, 1), (1, 2), (1, 2), (1, 2), (2, 3), (2, 3), (3, 4)]


def test_two_characters_side_by_side_are_two_groups() -> None:
    (tokens,) = reader(byte_level(trim=False)).read(["你你"]).tokens
    assert labels(tokens) == ["你·1/3", "你·2/3", "你·3/3"] * 2


@pytest.mark.parametrize(("trim", "second"), [(False, (1, 3)), (True, (2, 3))])
def test_spaces_before_a_piece_are_cut_once_at_most(trim: bool, second: tuple[int, int]) -> None:
    (tokens,) = reader(byte_level([("Ġ", "b"), ("Ġb", "c")], trim=trim)).read(["a bcd"]).tokens
    assert [token.piece for token in tokens] == ["a", "Ġbc", "d"]
    assert tokens[1].span == (second[0], 4)
    assert tokens[1].label == "a bcd"[second[0] : 4]


def test_a_lone_word_start_mark_stands_for_itself() -> None:
    backend: Any = Tokenizer(models.Unigram([("<unk>", 0.0), ("▁", -1.0), ("ab", -2.0), ("▁c", -2.0)], 0, False))
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    (tokens,) = reader(backend, unknown_id=0).read(["ab c"]).tokens
    assert [token.piece for token in tokens] == ["▁", "ab", "▁c"]
    assert labels(tokens) == ["▁", "ab", " c"]
    assert [token.span for token in tokens] == [None, (0, 2), (2, 4)]


def test_one_character_made_several_by_normalisation() -> None:
    backend: Any = Tokenizer(models.BPE({"f": 0, "i": 1, "n": 2}, []))
    backend.normalizer = normalizers.NFKC()
    (tokens,) = reader(backend).read(["ﬁn"]).tokens
    assert labels(tokens) == ["ﬁ·1/2", "ﬁ·2/2", "n"]


def test_labels_are_the_text_as_typed(minilm: Model) -> None:
    text = "Café  İs 12,345 <b>&amp;"
    (tokens,) = minilm.read(text).tokens
    for token in tokens[1:-1]:
        assert token.span is not None
        assert token.label == text[slice(*token.span)]
    assert labels(tokens)[:6] == ["[CLS]", "Café", "İs", "12", ",", "345"]
    assert tokens[1].piece == "cafe"
    assert [t.special for t in tokens] == [True, *[False] * (len(tokens) - 2), True]
    assert [tokens[i].span for i in (0, -1)] == [None, None]


def test_unknown_text_is_named(minilm: Model) -> None:
    run = minilm.run("I like 👩‍👩‍👧 and 㐀㐁")
    tokens = run.tokens["self"][0]
    assert [(t.label, t.piece) for t in tokens if t.unknown] == [("👩‍👩‍👧", "[UNK]"), ("㐀", "[UNK]"), ("㐁", "[UNK]")]
    assert run.notes == (Note("unknown_tokens", {"count": 3, "total": 6, "sample": 0}),)


def test_typed_unknown_marker_is_typed_not_unknown(minilm: Model) -> None:
    tokens = minilm.read("a [UNK] b").tokens[0]
    assert (tokens[2].label, tokens[2].typed_special, tokens[2].unknown) == ("[UNK]", True, False)


def test_typed_special_is_told_apart_from_the_added_one(minilm: Model) -> None:
    tokens = minilm.read("[CLS] hi [SEP]").tokens[0]
    assert labels(tokens) == ["[CLS]", "[CLS]", "hi", "[SEP]", "[SEP]"]
    assert [t.special for t in tokens] == [True, False, False, False, True]
    assert [t.typed_special for t in tokens] == [False, True, False, True, False]


# ---------------------------------------------------------------------------------------------------------------------
# length


def test_an_empty_text_runs_with_the_added_tokens(minilm: Model) -> None:
    run = minilm.run("")
    assert run.query_labels(run.calls[0]) == [["[CLS]", "[SEP]"]]
    assert run.agreement is not None and run.agreement.passed


def test_nothing_to_read_is_refused(minilm: Model) -> None:
    with pytest.raises(ValueError, match="need at least one text: got none"):
        minilm.run([])
    with pytest.raises(ValueError, match="need at least one token: got none for sample 0, ''; type a word"):
        reader(words({"[UNK]": 0})).read([""])
    wrong: Any = [3]
    with pytest.raises(TypeError, match="a text must be a string: got int for sample 0"):
        minilm.run(wrong)
    with pytest.raises(ValueError, match=r"half a character \(U\+D800\) at 1; delete it"):
        minilm.run("a\ud800")


@pytest.mark.parametrize("side", ["left", "right"])
def test_truncation_keeps_the_closing_token_and_says_so(minilm: Model, side: Any) -> None:
    run = minilm.run(["one two three four five", "six"], max_tokens=5, padding_side=side)
    first, second = run.query_labels(run.calls[0])
    assert first == ["[CLS]", "one", "two", "three", "[SEP]"]
    assert second == (["[PAD]"] * 2 if side == "left" else []) + ["[CLS]", "six", "[SEP]"] + (
        ["[PAD]"] * 2 if side == "right" else []
    )
    assert run.notes == (Note("truncated", {"kept": 5, "total": 7, "limit": 5, "sample": 0}),)


def test_texts_longer_than_the_model_are_cut_to_it(minilm: Model) -> None:
    run = minilm.run("word " * 700, agreement=False)
    assert run.output.shape == (1, 512, 384)
    assert run.notes == (Note("truncated", {"kept": 512, "total": 702, "limit": 512, "sample": 0}),)
    assert run.tokens["self"][0][-1] == Token(label="[SEP]", piece="[SEP]", id=102, special=True)


def test_max_tokens_must_leave_room(minilm: Model) -> None:
    with pytest.raises(ValueError, match="leave room for the text beside 2 added tokens: got 2"):
        minilm.run("a", max_tokens=2)
    with pytest.raises(ValueError, match="whole number from 1: got 0; None for the model's own limit"):
        minilm.run("a", max_tokens=0)


def test_padding_side_is_checked(minilm: Model) -> None:
    wrong: Any = "middle"
    with pytest.raises(ValueError, match='padding_side must be "left" or "right": got \'middle\''):
        minilm.run("a", padding_side=wrong)


def test_settings_inside_the_tokenizer_file_do_not_leak_in(minilm_folder: Path, minilm: Model) -> None:
    assert '"padding":{' in (minilm_folder / "tokenizer.json").read_text(encoding="utf-8").replace(" ", "")
    assert minilm.read("hi").ids.shape == (1, 3)
    assert minilm.read("hi " * 200).ids.shape == (1, 202)
