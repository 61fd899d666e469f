"""What the lessons say, held against arithmetic of our own: each claim of their words is a test here."""

import math

import numpy as np
import pytest
import torch

from attention_core import masks as core_masks
from attention_core import numpy_reference
from attention_core.mask_conventions import from_key_padding_mask
from viz.services import lessons_cross, lessons_heads, lessons_masks, lessons_order, lessons_scaling, lessons_steps
from viz.services.lessons_lookup import KEYS, VALUES, lookup, towards
from viz.services.lessons_paths import DISTANCES, NETS, paths, steps_between

SENTENCES = ("The cat sat on the mat.", "我打你，你打我。")


def softmax(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


# ---------------------------------------------------------------------------------------------------------------------
# 1 why attention


@pytest.mark.parametrize("kernel", [3, 5, 9])
def test_steps_are_n_and_n_over_k_and_1(kernel: int):
    for distance in DISTANCES:
        assert steps_between("recurrent", distance, kernel) == distance
        assert steps_between("convolution", distance, kernel) == math.ceil(distance / (kernel - 1))
        assert steps_between("attention", distance, kernel) == 1


def test_gradients_vanish_through_recurrence_and_not_through_attention():
    found = paths("rnn", 3)
    at = {net: dict(zip(DISTANCES, found.gradient[net], strict=True)) for net in NETS}
    assert at["recurrent"][32] < 1e-6 * at["recurrent"][1]
    assert at["attention"][32] > at["attention"][1] / 33  # not less than an even share of the weight
    assert at["attention"][64] > 1e3 * at["convolution"][64] > 1e3 * at["recurrent"][64]


# ---------------------------------------------------------------------------------------------------------------------
# 2 query, key, value


@pytest.mark.parametrize(("angle", "length"), [(10, 2.0), (-130, 0.5), (90, 16.0), (0, 0.0)])
def test_the_lookup_is_the_formula(angle: float, length: float):
    found = lookup(angle, length)
    query = length * np.array([math.cos(math.radians(angle)), math.sin(math.radians(angle))])
    scores = np.array(KEYS) @ query
    # float64 sums of two products: the order of rounding is all that differs
    np.testing.assert_allclose(found.scores, scores, atol=1e-12)
    np.testing.assert_allclose(found.weights, softmax(scores / math.sqrt(2)), atol=1e-12)
    np.testing.assert_allclose(found.output, softmax(scores / math.sqrt(2)) @ np.array(VALUES), atol=1e-12)


def test_the_longer_key_wins_in_the_same_direction():
    np.testing.assert_allclose(np.array(KEYS[0]), 2 * np.array(KEYS[1]))
    winner, found = towards(1, 2.0)
    assert winner == 0 and found.weights[0] > found.weights[1]


# ---------------------------------------------------------------------------------------------------------------------
# 3 step by step


@pytest.mark.parametrize("text", SENTENCES)
@pytest.mark.parametrize(("width", "mask", "scaled"), [(3, "causal", True), (2, "none", False), (4, "causal", False)])
def test_all_stages_are_those_of_the_independent_twin(text: str, width: int, mask: str, scaled: bool):
    made = lessons_steps.steps(text, width, mask, scaled)
    assert made is not None
    m = made.matrices
    for name in ("q", "k", "v"):
        np.testing.assert_allclose(m[name], m["x"] @ m[f"w_{name}"], atol=1e-12)
    allowed = np.tril(np.ones((len(made.tokens),) * 2, bool)) if mask == "causal" else None
    twin = numpy_reference.attention(m["q"], m["k"], m["v"], allowed=allowed, scale=None if scaled else 1.0)
    for stage in ("scores", "scaled", "logits", "weights", "output"):
        np.testing.assert_allclose(m[stage], getattr(twin, stage), atol=1e-12)  # float64 on both sides


@pytest.mark.parametrize("text", SENTENCES)
def test_every_cell_is_the_arithmetic_that_is_written_out(text: str):
    made = lessons_steps.steps(text, 3, "causal", True)
    assert made is not None
    for stage in lessons_steps.STAGES:
        matrix = made.matrices[stage]
        for row in range(matrix.shape[0]):
            for column in range(matrix.shape[1]):
                told = lessons_steps.cell(made, stage, row, column)
                assert told.value == matrix[row, column]
                if told.row_of:
                    powers = np.exp(np.array(told.row_of))
                    assert told.value == pytest.approx(powers[column] / powers.sum(), abs=1e-12)
                elif told.pairs:
                    assert told.value == pytest.approx(sum(left * right for left, right in told.pairs), abs=1e-12)
                else:
                    assert stage in ("x", "logits")


def test_embeddings_and_weights_have_one_decimal():
    made = lessons_steps.steps(SENTENCES[0], 4, "none", True)
    assert made is not None
    for name in ("x", "w_q", "w_k", "w_v"):
        np.testing.assert_allclose(made.matrices[name] * 10, np.round(made.matrices[name] * 10), atol=1e-9)


# ---------------------------------------------------------------------------------------------------------------------
# 4 scaling


@pytest.mark.parametrize("variance", [1.0, 2.0])
def test_the_variance_of_the_raw_score_is_d_k(variance: float):
    d_k = lessons_scaling.D_K
    assert (d_k[0], d_k[-1]) == (4, 1024)
    scores = lessons_scaling.raw_scores(d_k, 10_000, seed=0, variance=variance).double()
    measured = scores.var(dim=-1, correction=0)
    theory = torch.tensor(d_k, dtype=torch.float64) * variance**2
    # the standard deviation of a variance over 10,000 pairs is about 1.5 % of it: 5 % is more than three of them
    torch.testing.assert_close(measured, theory, rtol=0.05, atol=0)


def test_the_sweep_has_error_bars_around_theory():
    found = lessons_scaling.variance_sweep(1.0)
    assert found.seeds == 5 and (found.spread > 0).all()
    np.testing.assert_allclose(found.ratio, 1.0, atol=4 * math.sqrt(2 / (found.seeds * found.pairs)) * 1.3)


@pytest.mark.parametrize("d_k", [4, 64, 1024])
def test_every_divisor_divides_the_same_scores(d_k: int):
    here = lessons_scaling.softmaxed(d_k, 1.0)
    raw = here["one"].variance
    expected = {"one": 1, "sqrt_d_k": d_k, "d_k": d_k**2, "sqrt_d_model": lessons_scaling.HEADS * d_k}
    for name, squared in expected.items():
        assert here[name].variance == pytest.approx(raw / squared, rel=1e-4)  # float32


def test_without_scaling_softmax_saturates_and_stops_gradients():
    wide = lessons_scaling.softmaxed(512, 1.0)
    assert wide["one"].top_weight > 0.9 and wide["sqrt_d_k"].top_weight < 0.4
    assert wide["one"].jacobian < 0.2 * wide["sqrt_d_k"].jacobian
    assert wide["one"].saturation > 0.5 and wide["sqrt_d_k"].saturation == 0
    even = 1 / lessons_scaling.LENGTH
    assert lessons_scaling.softmaxed(1024, 1.0)["d_k"].top_weight < 1.2 * even


# ---------------------------------------------------------------------------------------------------------------------
# 5 masks


@pytest.mark.parametrize("text", SENTENCES)
def test_rows_masked_after_softmax_sum_to_what_the_past_had_got(text: str):
    whole, after, before = (lessons_masks.placed(text, where) for where in ("none", "after", "before"))
    assert whole is not None and after is not None and before is not None
    past = np.tril(np.ones(whole.weights.shape, bool))
    # float64 row sums of weights shown as float32
    np.testing.assert_allclose(after.row_sums, np.where(past, whole.weights, 0).sum(axis=-1), atol=1e-6)
    assert (after.row_sums[:-1] < 1 - 1e-3).all() and after.row_sums[-1] == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(before.row_sums, 1, atol=1e-12)
    assert before.leaks == after.leaks == 0 and whole.leaks == (~past).sum()
    np.testing.assert_allclose(after.weights / after.row_sums[:, None], before.weights, atol=1e-6)


def test_both_is_right_and_either_leaks_more_than_one_alone():
    found = {how: lessons_masks.combined("我打你了", 2, how) for how in ("both", "either", "causal", "padding")}
    leaks = {how: one.leaks for how, one in found.items() if one is not None}
    assert leaks == {"both": 0, "either": 9, "causal": 3, "padding": 6}
    future, filler = core_masks.causal(6), core_masks.padding([4], 6)[0, 0]
    assert leaks["either"] == int(((future | filler) & ~(future & filler)).sum())


@pytest.mark.parametrize("flags", [(True, True, False, False), (False, True, False, True), (True,) * 4, (False,) * 4])
def test_true_means_the_opposite_in_the_other_function(flags: tuple[bool, ...]):
    found = lessons_masks.meanings(flags)
    read = from_key_padding_mask(torch.tensor([flags]))[0, 0, 0].numpy()
    np.testing.assert_array_equal(found.sdpa > 0, np.array(flags))
    if read.any():
        np.testing.assert_array_equal(found.mha > 0, read)
    else:
        assert np.isnan(found.mha).all()


def test_an_empty_row_in_each_library():
    found = {name: row.verdict for name, row in lessons_masks.empty_rows().items()}
    assert found == {"core": "zero", "sdpa": "zero", "mha": "nan", "finite": "uniform"}


# ---------------------------------------------------------------------------------------------------------------------
# 6 heads


@pytest.mark.parametrize("heads", [1, 2, 4, 8])
def test_heads_are_blocks_of_columns_and_only_add(heads: int):
    made = lessons_heads.split(SENTENCES[0], heads)
    assert made is not None
    width = lessons_heads.D_MODEL // heads
    assert [list(block) for block in made.columns] == [list(range(h * width, (h + 1) * width)) for h in range(heads)]
    assert made.shapes["q"] == (heads, 7, width) and made.shapes["weights"] == (heads, 7, 7)
    assert made.apart < 1e-12


def test_heads_cost_no_parameters_and_shared_ones_less_cache():
    bills, grouped = lessons_heads.bills(), lessons_heads.grouped_bills()
    assert [bill.parameters for bill in bills] == [4 * 64 * 64] * 5
    assert [bill.heads * bill.d_k for bill in bills] == [64] * 5
    assert [bill.cached for bill in grouped] == [2 * kv * 8 for kv in (8, 4, 2, 1)]
    assert [bill.parameters for bill in grouped] == [2 * 64 * 64 + 2 * 64 * kv * 8 for kv in (8, 4, 2, 1)]


@pytest.mark.usefixtures("minilm_folder")
def test_a_head_of_the_model_looks_at_the_previous_token():
    found = lessons_heads.looks("The animal did not cross the street because it was too tired.", "previous")
    assert found is not None and found.share.shape == (6, 12)
    assert found.best[2] > 0.9 and found.mean < 0.3


# ---------------------------------------------------------------------------------------------------------------------
# 7 cross


def test_cross_attention_has_a_row_per_query_and_a_column_per_key():
    made = lessons_cross.crossed("a b c", "one two three four five", "cross")
    assert made is not None
    assert made.shapes == {
        "asks": (3, 16), "answers": (5, 16), "q": (1, 3, 16), "k": (1, 5, 16), "v": (1, 5, 16), "weights": (1, 3, 5),
        "output": (3, 16),
    }  # fmt: skip
    np.testing.assert_allclose(made.weights.sum(axis=-1), 1, atol=1e-12)
    alone = lessons_cross.crossed("a b c", "x", "causal")
    assert alone is not None and alone.keys == ("a", "b", "c") and not np.triu(alone.weights, 1).any()


def test_turning_the_source_around_changes_nothing():
    assert lessons_cross.reordered_source("it fell asleep", "the tired cat lay down") < 1e-12


@pytest.mark.parametrize(
    ("order", "wanted"), [("copy", (3, 1, 5, 2)), ("reverse", (2, 5, 1, 3)), ("sorted", (1, 2, 3, 5))]
)
def test_the_translator_made_by_hand_reads_what_it_asks_for(order: str, wanted: tuple[int, ...]):
    for sharpness in lessons_cross.SHARPNESS[1:]:
        made = lessons_cross.translation(order, sharpness)
        assert made.wanted == made.read == wanted
        share = math.exp(sharpness) / (math.exp(sharpness) + 3)
        np.testing.assert_allclose(made.votes, share, atol=1e-12)


# ---------------------------------------------------------------------------------------------------------------------
# 8 order


@pytest.mark.parametrize("text", ["我打你", "dog bites man", "a b c d e f g"])
@pytest.mark.parametrize("turn", ["reverse", "rotate"])
def test_without_positions_permuted_words_give_permuted_outputs(text: str, turn: str):
    made = lessons_order.permuted(text, "none", turn)
    assert made is not None and made.difference <= 1e-6 and made.equal
    order = [made.tokens.index(token) for token in made.turned]
    np.testing.assert_allclose(made.turned_weights, made.weights[np.ix_(order, order)], atol=1e-12)


@pytest.mark.parametrize("encoding", ["sinusoidal", "learned", "rotary"])
def test_positions_break_the_tie(encoding: str):
    for turn in ("reverse", "rotate"):
        made = lessons_order.permuted("我打你", encoding, turn)
        assert made is not None and not made.equal and made.difference > 1e-2


def test_alibi_sees_distances_but_not_sides():
    found = [lessons_order.permuted("我打你", "alibi", *how) for how in (("reverse",), ("rotate",), ("reverse", True))]
    assert [one.equal for one in found if one is not None] == [True, False, False]


def test_a_causal_mask_alone_breaks_the_tie():
    made = lessons_order.permuted("我打你", "none", "reverse", True)
    assert made is not None and not made.equal and not np.triu(made.turned_weights, 1).any()


def test_rotary_scores_depend_on_distance_alone():
    rotary, sinusoidal = lessons_order.shifted()
    assert rotary < 1e-9 and sinusoidal > 0.1
    scores = lessons_order.picture("rotary")
    for offset in range(1, 5):  # each diagonal holds one number
        np.testing.assert_allclose(np.diag(scores, offset), scores[0, offset], atol=1e-9)
