"""Tokens as pieces of their text, and the maps behind the text view and the lines."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from attention_core.diagnostics import merge_words, rollout
from attention_core.from_scratch import MaskChoice, ScratchConfig
from attention_core.pretrained import Model, Switches
from attention_core.runs import Token
from viz.services import text_maps
from viz.services.attention import ModelRequest, ScratchRequest, run
from viz.services.text_maps import line_maps, most_lines, rollout_layers, text_map
from viz.services.text_pieces import groups, token_pieces, word_pieces
from viz.services.views import CallView, view

TEXT = "Unbelievably tokenization, 你好!"


def tokens_of(text: str, *spans: tuple[int, int]) -> tuple[Token, ...]:
    return tuple(Token(label=text[a:b], span=(a, b)) for a, b in spans)


def scratch(text: str, **config):
    request = ScratchRequest(text, ScratchConfig(**{"num_heads": 3, "d_k": 11, **config}))
    made = run(request)
    return request, made, view(request, made.calls[0].name, 0)


def minilm(*texts: str, layer: int = 0, sample: int = 0, **switches):
    request = ModelRequest("all-MiniLM-L6-v2", texts, "right", Switches(**switches))
    made = run(request)
    return request, made, view(request, made.calls[layer].name, sample)


def test_gaps_and_pieces_give_back_the_text():
    text = "  a fox,\n\tjumps "
    found = token_pieces(tokens_of(text, (2, 3), (3, 7), (7, 8), (10, 15)), text)
    assert [(piece.gap, piece.text) for piece in found] == [("  ", "a"), ("", " fox"), ("", ","), ("\n\t", "jumps")]


def test_kinds_are_told_apart():
    tokens = (
        Token("[CLS]", special=True),
        Token("[SEP]", span=(0, 5), typed_special=True),
        Token("☃", span=(6, 7), unknown=True),
        Token("x", span=(8, 9)),
        Token("[PAD]", special=True, padding=True),
    )
    assert [piece.kind for piece in token_pieces(tokens, "[SEP] ☃ x")] == [
        "special", "typed_special", "unknown", "text", "padding",
    ]  # fmt: skip


def test_tokens_of_one_character_keep_their_labels_and_gaps_stay_empty():
    text = "我你"
    tokens = (Token("我", span=(0, 1)), Token("你·1/2", span=(1, 2)), Token("你·2/2", span=(1, 2)))
    assert [(p.gap, p.text) for p in token_pieces(tokens, text)] == [("", "我"), ("", "你·1/2"), ("", "你·2/2")]
    merged = word_pieces(tokens, text)
    assert [(p.text, p.tokens) for p in merged] == [("我", (0,)), ("你", (1, 2))]


def test_words_join_pieces_but_nothing_else():
    text = "undoing it's  3.5 你好"
    tokens = tokens_of(
        text, (0, 2), (2, 4), (4, 7), (7, 10), (10, 11), (11, 12), (12, 13), (13, 15), (15, 16),
        (16, 17), (18, 19), (19, 20),
    )  # fmt: skip
    merged = word_pieces((Token("[CLS]", special=True), *tokens), text)
    assert [(p.gap, p.text) for p in merged] == [
        ("", "[CLS]"), ("", "undoing"), ("", " it's"), ("", " "), ("", " 3.5"), (" ", "你"), ("", "好"),
    ]  # fmt: skip
    assert groups(merged) == [0, 1, 1, 1, 2, 2, 2, 3, 4, 4, 4, 5, 6]


def test_a_text_that_does_not_belong_to_the_tokens_gives_no_words_of_it():
    tokens = tokens_of("ab cd", (0, 2), (3, 5))
    found = token_pieces(tokens, "x")
    assert [(piece.gap, piece.text) for piece in found] == [("", "ab"), (" ", "cd")]
    assert [piece.text for piece in word_pieces(tokens, "x")] == ["ab", "cd"]


@pytest.mark.usefixtures("minilm_folder")
def test_head_mean_and_rollout_are_the_numbers_of_the_core():
    request, made, shown = minilm(TEXT, layer=2)
    traces = [made.trace(call).weights for call in made.calls]
    usual = {"head": 7, "words": False, "start": 0}
    one = text_map(request, made, shown, kind="head", **usual)
    np.testing.assert_array_equal(one.weights[0], traces[2][0, 7].numpy())
    mean = text_map(request, made, shown, kind="mean", **usual)
    # mean of 12 float32 numbers in another order
    np.testing.assert_allclose(mean.weights[0], traces[2][0].mean(dim=0).numpy(), atol=1e-6)
    rolled = text_map(request, made, shown, kind="rollout", **usual)
    np.testing.assert_allclose(rolled.weights[0], rollout(traces)[0].numpy(), atol=1e-6)
    np.testing.assert_allclose(rolled.weights[0].sum(axis=-1), 1, atol=1e-5)
    assert one.keys is one.queries and one.outside is None and one.last_start == 0
    assert [c.name for c in rollout_layers(made, shown.call)] == [f"encoder.{layer}" for layer in range(6)]


@pytest.mark.usefixtures("minilm_folder")
def test_merged_words_are_sums_over_keys_and_means_over_queries():
    request, made, shown = minilm(TEXT)
    whole = text_map(request, made, shown, kind="head", head=3, words=True, start=0)
    assert [piece.text for piece in whole.queries] == [
        "[CLS]", "Unbelievably", "tokenization", ",", "你", "好", "!", "[SEP]",
    ]  # fmt: skip
    expected = merge_words(torch.from_numpy(shown.weights[3].copy()), groups(whole.queries))
    np.testing.assert_array_equal(whole.weights[0], expected.numpy())
    np.testing.assert_allclose(whole.weights[0].sum(axis=-1), 1, atol=1e-5)
    assert whole.weights.shape == (1, 8, 8) < (1, len(shown.query_tokens), len(shown.query_tokens))


@pytest.mark.usefixtures("minilm_folder")
@pytest.mark.parametrize("kind", ["head", "mean", "rollout"])
@pytest.mark.parametrize("words", [False, True])
def test_a_leak_onto_padding_stays_a_leak_whatever_is_put_together(kind, words):
    request, made, shown = minilm("short", TEXT, mask="padding-ignored")
    found = text_map(request, made, shown, kind=kind, head=0, words=words, start=0)
    padded = [piece.kind == "padding" for piece in found.keys]
    assert sum(padded) == len(shown.key_tokens) - 3
    real = [not flag for flag in padded]
    leaks = ~found.intended[0] & (found.weights[0] > 0)
    assert leaks[np.ix_(real, padded)].all() and not leaks[np.ix_(real, real)].any()


def test_one_leaking_head_or_piece_makes_the_whole_cell_a_leak(monkeypatch: pytest.MonkeyPatch):
    request, made, shown = scratch("ab cd", tokens="characters")
    intended = np.ones((3, 5, 5), bool)
    intended[2, 0, 4] = False  # in one head only, and in one of the four cells between "ab" and "cd"
    leaking = replace(shown, intended=intended)

    def meant(kind: str, words: bool, head: int = 2) -> list[tuple[int, int]]:
        found = text_map(request, made, leaking, kind=kind, head=head, words=words, start=0)
        return [(int(i), int(j)) for i, j in np.argwhere(~found.intended[0])]

    assert meant("head", False) == meant("mean", False) == [(0, 4)]
    assert meant("head", True) == meant("mean", True) == [(0, 2)]  # words: ab, the space, cd
    assert meant("head", False, head=1) == meant("head", True, head=1) == []
    kept = np.where(intended, shown.weights, 0)
    monkeypatch.setattr(CallView, "weights", kept)
    monkeypatch.setattr(CallView, "stages_of", lambda _, head: {"weights": kept[head]})
    assert meant("mean", False) == meant("head", True) == []  # nothing went there, and others may


def test_a_mask_shows_in_what_is_put_together():
    request, made, shown = scratch("one two three four", mask=MaskChoice("causal"))
    mean = text_map(request, made, shown, kind="mean", head=0, words=False, start=0)
    rolled = text_map(request, made, shown, kind="rollout", head=0, words=False, start=0)
    for found in (mean, rolled):
        np.testing.assert_array_equal(found.intended[0], np.tril(np.ones((4, 4), bool)))
        np.testing.assert_array_equal(found.allowed[0], np.tril(np.ones((4, 4), bool)))
        assert not found.weights[0][~found.intended[0]].any()


def test_a_long_text_is_shown_through_a_window_that_says_what_it_leaves_out(monkeypatch):
    monkeypatch.setattr(text_maps, "MOST_TEXT", 5)
    monkeypatch.setattr(text_maps, "MOST_LINES", 7)
    request, made, shown = scratch("a b c d e f g h i j k")
    found = text_map(request, made, shown, kind="head", head=1, words=False, start=4)
    np.testing.assert_array_equal(found.weights[0], shown.weights[1, 4:9, 4:9])
    assert [piece.text for piece in found.queries] == list("efghi") and found.queries[0].gap == " "
    assert (found.first_query, found.last_query, found.all_queries, found.last_start) == (4, 8, 11, 6)
    np.testing.assert_allclose(found.outside[0] + found.weights[0].sum(axis=-1), 1, atol=1e-6)
    assert (found.outside > 0.1).all()
    late = line_maps(made, shown, start=99)
    np.testing.assert_array_equal(late.weights, shown.weights[:, 4:, 4:])
    assert late.first_query == late.first_key == 4
    np.testing.assert_allclose(late.outside + late.weights.sum(axis=-1), 1, atol=1e-6)


@pytest.mark.parametrize(("heads", "most"), [(1, 256), (12, 256), (13, 248), (32, 158)])
def test_lines_of_many_heads_are_of_fewer_tokens(heads, most):
    assert most_lines(heads) == most
    assert 2 * heads * most**2 <= text_maps.MOST_LINES_BYTES


@pytest.mark.usefixtures("minilm_folder")
def test_rollout_is_refused_across_two_texts(minilm: Model):
    made = minilm.run(TEXT)
    call = made.calls[0]
    cross = type(call)("cross.0", "cross", 0)
    step = type(call)("encoder.0@1", "encoder", 0, 1)
    assert rollout_layers(made, cross) == () and rollout_layers(made, step) == ()


@pytest.mark.parametrize("words", [False, True])
def test_source_and_target_are_pieces_of_their_own_texts(tiny_folder, words):
    folder = tiny_folder(
        "BartForConditionalGeneration", specials=True, d_model=24, encoder_layers=1, decoder_layers=2,
        encoder_attention_heads=3, decoder_attention_heads=3, encoder_ffn_dim=17, decoder_ffn_dim=19,
        max_position_embeddings=37, bos_token_id=2, eos_token_id=3, decoder_start_token_id=3,
    )  # fmt: skip
    request = ModelRequest(str(folder), ("my old  dog",), targets=("the\ncat was",))
    made = run(request)
    sides = {"source": [("", "my"), (" ", "old"), ("  ", "dog")], "target": [("", "the"), ("\n", "cat"), (" ", "was")]}
    wanted = {"encoder.0": ("source", "source"), "decoder.1": ("target", "target"), "cross.1": ("target", "source")}
    for name, (rows, columns) in wanted.items():
        shown = view(request, name, 0)
        found = text_map(request, made, shown, kind="head", head=1, words=words, start=0)
        np.testing.assert_allclose(found.weights[0], shown.weights[1], atol=1e-6)
        typed = [[(p.gap, p.text) for p in pieces if p.kind == "text"] for pieces in (found.queries, found.keys)]
        assert typed == [sides[rows], sides[columns]]
        assert (found.keys is found.queries) == (rows == columns)
        kinds = [call.name for call in rollout_layers(made, shown.call)]
        assert kinds == {"encoder.0": ["encoder.0"], "decoder.1": ["decoder.0", "decoder.1"], "cross.1": []}[name]
