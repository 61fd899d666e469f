"""Head patterns: a perfect head scores 1, its opposite 0, an even one what can be counted by hand."""

import math

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from attention_core import masks
from attention_core.diagnostics import PATTERNS, head_patterns, pattern_cells, token_roles
from attention_core.runs import Token

# [CLS] un ##do it , un ##do [SEP] [PAD]
WORDS = ("[CLS]", "un", "do", "it", ",", "un", "do", "[SEP]", "[PAD]")
SPANS = (None, (0, 2), (2, 4), (5, 7), (7, 8), (9, 11), (11, 13), None, None)
IDS = (101, 7, 8, 9, 10, 7, 8, 102, 0)
TOKENS = tuple(
    Token(label=word, id=number, span=span, special=span is None, padding=word == "[PAD]")
    for word, number, span in zip(WORDS, IDS, SPANS, strict=True)
)
ROLES = token_roles(TOKENS)
NOT_PADDING = torch.tensor([[[[word != "[PAD]" for word in WORDS]]]])
# the cells of each pattern, by hand: query -> keys
CELLS: dict[str, dict[int, list[int]]] = {
    "previous": {q: [q - 1] for q in range(1, 7)},
    "next": {q: [q + 1] for q in range(1, 7)},
    "self": {q: [q] for q in range(1, 7)},
    "first": {q: [0] for q in range(1, 7)},
    "separator": {q: [7] for q in range(1, 7)},
    "punctuation": {q: [4] for q in (1, 2, 3, 5, 6)},
    "same-word": {1: [2, 5], 2: [1, 6], 5: [6, 1], 6: [5, 2]},
    "induction": {5: [2], 6: [3]},
    "local": {q: list(range(max(0, q - 2), min(7, q + 2) + 1)) for q in range(1, 7)},
}


def one_hot(keys: dict[int, int], default: int) -> Tensor:
    """(1, 1, 9, 9) weights: each query on one key."""
    weights = torch.zeros(1, 1, 9, 9)
    for query in range(9):
        weights[0, 0, query, keys.get(query, default)] = 1.0
    return weights


def score(weights: Tensor, name: str, allowed: Tensor | None = NOT_PADDING) -> float:
    return float(head_patterns(weights, pattern_cells([ROLES], allowed=allowed)).scores[name][0, 0])


def test_roles_are_read_off_labels_and_offsets():
    assert ROLES.words.tolist() == [-1, 0, 0, 1, 2, 3, 3, -1, -1]
    assert ROLES.separator.tolist() == [False] * 7 + [True, False]
    assert ROLES.punctuation.tolist() == [False] * 4 + [True] + [False] * 4
    assert ROLES.special.tolist() == [True] + [False] * 6 + [True, True]
    assert (ROLES.ids[1], ROLES.ids[2]) == (ROLES.ids[5], ROLES.ids[6])


@pytest.mark.parametrize(
    ("text", "spans", "words"),
    [
        ("我打你", [(0, 1), (1, 2), (2, 3)], [0, 1, 2]),
        ("你", [(0, 1), (0, 1)], [0, 0]),
        (" can't", [(0, 4), (4, 5), (5, 6)], [0, 1, 2]),
        ("the cat", [(0, 3), (3, 7)], [0, 1]),
        ("2020", [(0, 1), (1, 2), (2, 4)], [0, 0, 0]),
    ],
    ids=["each Chinese character", "parts of one character", "apostrophe", "space inside the token", "digits"],
)
def test_words_end_at_spaces_and_punctuation(text: str, spans: list[tuple[int, int]], words: list[int]):
    tokens = [Token(label=text[start:end], span=(start, end), id=i) for i, (start, end) in enumerate(spans)]
    assert token_roles(tokens).words.tolist() == words


def test_a_typed_special_token_is_a_separator_and_the_first_token_is_none():
    tokens = [Token("<|im_start|>", typed_special=True), Token("hi"), Token("<|im_end|>", typed_special=True)]
    assert token_roles(tokens).separator.tolist() == [False, False, True]


@pytest.mark.parametrize("name", CELLS)
def test_a_perfect_head_scores_one_and_one_that_avoids_the_pattern_zero(name: str):
    assert score(one_hot({q: keys[0] for q, keys in CELLS[name].items()}, 0), name) == 1.0
    avoid = {q: next(k for k in range(7, -1, -1) if k not in keys) for q, keys in CELLS[name].items()}
    assert score(one_hot(avoid, 0), name) == 0.0


@pytest.mark.parametrize("name", CELLS)
def test_an_even_head_has_the_share_of_its_cells_which_is_the_chance(name: str):
    even = NOT_PADDING.float().expand(1, 1, 9, 9) / 8
    found = head_patterns(even, pattern_cells([ROLES], allowed=NOT_PADDING))
    by_hand = sum(len(keys) / 8 for keys in CELLS[name].values()) / len(CELLS[name])
    assert math.isclose(found.scores[name][0, 0], by_hand, rel_tol=1e-6)  # float32
    assert math.isclose(found.chance[name][0, 0], by_hand, rel_tol=1e-6)


def test_the_score_is_the_mean_weight_on_the_cells():
    weights = torch.rand(1, 3, 9, 9, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    weights = (weights * NOT_PADDING).softmax(-1)
    found = head_patterns(weights, pattern_cells([ROLES], allowed=NOT_PADDING))
    for name, cells in CELLS.items():
        rows = [weights[0, :, query, keys].sum(-1) for query, keys in cells.items()]
        assert_close(found.scores[name][0], torch.stack(rows).mean(0))


def test_uniform_is_entropy_over_its_most():
    even = NOT_PADDING.float().expand(1, 1, 9, 9) / 8
    assert math.isclose(score(even, "uniform"), 1.0, rel_tol=1e-6)
    assert score(one_hot({}, 3), "uniform") == 0.0
    halves = torch.zeros(1, 1, 9, 9)
    halves[..., :2] = 0.5
    assert math.isclose(score(halves, "uniform"), 1 / 3, rel_tol=1e-6)  # log 2 / log 8


def test_dense_and_picked_cells_give_the_same(monkeypatch: pytest.MonkeyPatch):
    weights = torch.rand(1, 3, 9, 9, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    picked = head_patterns(weights, pattern_cells([ROLES], allowed=NOT_PADDING))
    monkeypatch.setattr("attention_core.diagnostics.patterns._SPARSE", 0)
    dense = head_patterns(weights, pattern_cells([ROLES], allowed=NOT_PADDING))
    for name in PATTERNS:
        assert_close(picked.scores[name], dense.scores[name])


def test_a_query_without_a_choice_does_not_count():
    tokens = [Token(label, id=i) for i, label in enumerate(("a", "b", "c"))]
    cells = pattern_cells([token_roles(tokens)], allowed=masks.causal(3))
    weights = torch.tensor([[[[1.0, 0, 0], [0.25, 0.75, 0], [0.5, 0.25, 0.25]]]])
    found = head_patterns(weights, cells)
    assert float(found.scores["self"]) == (0.75 + 0.25) / 2  # the first row can only look at itself
    assert float(found.scores["first"]) == (0.25 + 0.5) / 2
    assert float(found.scores["previous"]) == (0.25 + 0.25) / 2
    assert math.isnan(found.scores["next"])  # a causal mask leaves no next token
    assert math.isnan(found.scores["local"])  # nothing lies further away than 2
    assert float(found.chance["self"]) == pytest.approx((1 / 2 + 1 / 3) / 2)


def test_what_is_not_there_is_not_possible():
    tokens = [Token(label, id=i) for i, label in enumerate(("a", "b", "c", "d"))]
    found = head_patterns(torch.full((1, 2, 4, 4), 0.25), pattern_cells([token_roles(tokens)]))
    for name in ("separator", "punctuation", "same-word", "induction"):
        assert found.scores[name].isnan().all() and found.chance[name].isnan().all()


def test_nan_in_a_counted_row_makes_the_score_nan_and_in_a_padded_row_does_not():
    weights = one_hot({q: q - 1 for q in range(1, 9)}, 0).repeat(1, 2, 1, 1)
    weights[0, 1, 8] = torch.nan
    found = head_patterns(weights, pattern_cells([ROLES], allowed=NOT_PADDING))
    assert found.scores["previous"].tolist() == [[1.0, 1.0]]
    weights[0, 1, 3] = torch.nan
    found = head_patterns(weights, pattern_cells([ROLES], allowed=NOT_PADDING))
    assert found.scores["previous"][0, 0] == 1.0
    for name in ("previous", "local", "uniform"):
        assert found.scores[name][0, 1].isnan()


def test_left_padding_moves_the_first_token():
    tokens = (TOKENS[-1], *TOKENS[:-1])
    seen = torch.tensor([not token.padding for token in tokens])
    cells = pattern_cells([token_roles(tokens)], allowed=seen)
    on_padding, on_cls = torch.zeros(1, 1, 9, 9), torch.zeros(1, 1, 9, 9)
    on_padding[..., 0], on_cls[..., 1] = 1, 1
    assert float(head_patterns(on_padding, cells).scores["first"]) == 0
    assert float(head_patterns(on_cls, cells).scores["first"]) == 1


def test_samples_and_masks_per_head_are_kept_apart():
    a = [Token(label, id=i) for i, label in enumerate("abcde")]
    b = [Token(label, id=ord(label)) for label in "ababa"]
    allowed = torch.stack([masks.causal(5), torch.ones(5, 5, dtype=torch.bool)])[None].expand(2, 2, 5, 5)
    weights = torch.rand(2, 2, 5, 5, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    both = head_patterns(weights, pattern_cells([token_roles(a), token_roles(b)], allowed=allowed))
    for sample, tokens in enumerate((a, b)):
        for head in range(2):
            cells = pattern_cells([token_roles(tokens)], allowed=allowed[sample, head])
            alone = head_patterns(weights[sample : sample + 1, head : head + 1], cells)
            for name in PATTERNS:
                assert_close(both.scores[name][sample, head], alone.scores[name][0, 0], equal_nan=True)
                assert_close(both.chance[name][sample, head], alone.chance[name][0, 0], equal_nan=True)


def test_with_a_cache_the_queries_are_the_last_of_the_keys():
    weights = torch.rand(1, 2, 5, 5, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    tokens = [Token(label, id=ord(label)) for label in "ababa"]
    cells = pattern_cells([token_roles(tokens)], q_len=1)
    last = head_patterns(weights[:, :, 4:], cells)
    assert_close(last.scores["previous"][0], weights[0, :, 4, 3])
    assert_close(last.scores["induction"][0], weights[0, :, 4, [1, 3]].sum(-1))
    assert_close(last.scores["same-word"][0], weights[0, :, 4, [0, 2]].sum(-1))


def test_cross_attention_knows_columns_but_no_positions():
    queries = token_roles([Token(label, id=i) for i, label in enumerate("xyz")])
    weights = torch.rand(1, 2, 3, 9, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    found = head_patterns(weights, pattern_cells([ROLES], query_roles=[queries], allowed=NOT_PADDING))
    assert_close(found.scores["punctuation"], weights[..., 4].mean(-1))
    assert_close(found.scores["first"], weights[..., 0].mean(-1))
    assert_close(found.scores["separator"], weights[..., 7].mean(-1))  # for every query, the nearest too
    for name in ("previous", "next", "self", "same-word", "induction", "local"):
        assert found.scores[name].isnan().all()


def test_refusals():
    with pytest.raises(ValueError, match=r"\(1, heads, 9, 9\) for these tokens: got \(1, 1, 9, 8\)"):
        head_patterns(torch.zeros(1, 1, 9, 8), pattern_cells([ROLES]))
    with pytest.raises(ValueError, match="local is a distance in tokens, at least 1: got 0"):
        pattern_cells([ROLES], local=0)
    with pytest.raises(ValueError, match=r"all of one length: got lengths \[9, 2\]"):
        pattern_cells([ROLES, token_roles(TOKENS[:2])])
    with pytest.raises(ValueError, match="the queries are the last of the 9 keys: got 10"):
        pattern_cells([ROLES], q_len=10)
    with pytest.raises(ValueError, match=r"query_roles must be one per sample \(1\)"):
        pattern_cells([ROLES], query_roles=[])
    with pytest.raises(TypeError, match="allowed must be bool"):
        pattern_cells([ROLES], allowed=torch.ones(9, 9))
