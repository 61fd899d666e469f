"""Long texts: cut where the page says so, and compared with the model's own attention only where its maps fit."""

import pytest

from attention_core.pretrained import Model
from viz.services import attention
from viz.services.attention import ModelRequest, compared_megabytes, run

TEXT = "the cat sat on the mat and the dog ran after it " * 4


def test_a_batch_shares_its_tokens(minilm: Model, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(attention, "MOST_TOKENS", 23)
    monkeypatch.setattr(attention, "MOST_BATCH_TOKENS", 29)
    alone, pair = (ModelRequest(minilm.name, (TEXT + "x",) * count) for count in (1, 2))
    for request, most in ((alone, 23), (pair, 14)):
        made = run(request)
        assert [len(sample) for sample in made.query_tokens(made.calls[0])] == [most] * len(request.texts)
        cut = [note.values for note in made.notes if note.code == "truncated"]
        assert [(note["kept"], note["limit"]) for note in cut] == [(most, most)] * len(request.texts)


def test_what_does_not_fit_is_not_compared(minilm: Model, monkeypatch: pytest.MonkeyPatch):
    request = ModelRequest(minilm.name, (TEXT + "y",))
    tokens = minilm.read(TEXT + "y").ids.shape[1]
    assert compared_megabytes(request) == pytest.approx(72 * tokens**2 * 4 / 2**20)
    assert run(request).agreement is not None
    monkeypatch.setattr(attention, "MOST_COMPARED", compared_megabytes(request) * 0.99)
    assert run(ModelRequest(minilm.name, (TEXT + "y",), padding_side="left")).agreement is None


def test_the_longest_text_of_minilm_is_compared_and_2048_tokens_of_a_decoder_are_not(minilm: Model):
    longest = ModelRequest(minilm.name, ("a " * 700,))
    assert compared_megabytes(longest) == 72 <= attention.MOST_COMPARED
    assert attention.MOST_COMPARED < 270 * 2048**2 * 4 / 2**20
