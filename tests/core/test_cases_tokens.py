"""Byte-level tokenizers: every piece is shown as the text that it stands for."""

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from attention_core.pretrained.tokens import TextReader
from viz.figures.labels import visible


def byte_level_reader(*texts: str, size: int = 300) -> TextReader:
    """A byte-level BPE trained on these texts: all 256 bytes, then whatever merges the size allows."""
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)  # pyright: ignore[reportAttributeAccessIssue]
    backend.decoder = decoders.ByteLevel()  # pyright: ignore[reportAttributeAccessIssue]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=size, initial_alphabet=alphabet, show_progress=False)  # pyright: ignore[reportCallIssue]
    backend.train_from_iterator(texts, trainer)
    return TextReader(backend, special_ids=frozenset(), unknown_id=None, pad_id=0, limit=None)


def test_c147_byte_level_pieces_show_their_text():
    text = "Seán Murray,\n"
    batch = byte_level_reader(*[text] * 50).read((text,), padding_side="right", limit=None)
    tokens = batch.tokens[0]
    pieces = [token.piece for token in tokens]
    assert any("Ġ" in piece for piece in pieces) and any("Ċ" in piece for piece in pieces)  # what users took for damage
    labels = [token.label for token in tokens]
    assert not any("Ġ" in label or "Ċ" in label or "Ã" in label for label in labels)
    assert "".join(labels) == text
    shown = [visible(label) for label in labels]
    assert any(label.startswith("·") and label.endswith("y") for label in shown) and shown[-1] == "↵"


def test_c147_bytes_of_one_character_are_numbered():
    text = "a你b"
    tokens = byte_level_reader("nothing of it", size=257).read((text,), padding_side="right", limit=None).tokens[0]
    assert [token.label for token in tokens] == ["a", "你·1/3", "你·2/3", "你·3/3", "b"]
    assert [token.span for token in tokens] == [(0, 1), (1, 2), (1, 2), (1, 2), (2, 3)]
