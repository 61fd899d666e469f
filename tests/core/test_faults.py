"""The catalogue of faults as a whole: names, texts, and that each fault really changes what comes out."""

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch

from attention_core import masks
from attention_core.faults import (
    CATALOGUE,
    CannotCommit,
    Fault,
    Situation,
    commit,
    correct,
    heads,
    masking,
    numerics,
    padding,
    scaling,
    sequence,
    softmax,
)
from attention_core.faults.plain import attend
from attention_core.faults.situation import PARTS
from tests.core.situations import CHANGES, changed_outcomes, random_case, random_situation

IDS: Sequence[str] = """
    no-scaling scaled-by-d-k scaled-by-d-model divided-by-inverse bias-scaled-too query-key-swapped
    heads-split-without-transpose kv-heads-tiled head-masks-in-wrong-order batch-axis-swapped softmax-over-queries
    softmax-over-heads double-softmax no-max-subtraction mask-inverted causal-mask-missing padding-mask-missing
    mask-ignored mask-after-softmax mask-added-as-zero-one scores-multiplied-by-mask fill-too-weak
    finite-fill-on-empty-row masks-summed-overflow half-precision-overflow padding-on-query-axis padding-side-swapped
    padding-border-off-by-one padding-or-causal causal-strict causal-one-late causal-transposed causal-top-left
    window-off-by-one window-on-wrong-layers chunk-as-window packing-leak cache-slots-unmasked dropout-left-on
    heads-averaged heads-merged-without-transpose zero-times-nan
""".split()
SOURCE = re.compile(r"[\w.-]+/[\w.-]+#\d+")
DRAWS = 40
# A float32 sum in another order; the right weights are compared with the same steps written by hand.
SAME = {"rtol": 0, "atol": 1e-6}


def plain_situation(**fields) -> Situation:
    """Two samples of five tokens, four heads over two key heads, no mask; fields may be replaced."""
    generator = torch.Generator().manual_seed(7)
    query = torch.randn(2, 4, 5, 3, generator=generator)
    key, value = (torch.randn(2, 2, 5, width, generator=generator) for width in (3, 7))
    return replace(Situation(query, key, value, torch.ones(5, 5, dtype=torch.bool)), **fields)


def test_ids_and_their_order() -> None:
    assert list(CATALOGUE) == list(IDS)
    assert [fault.id for fault in CATALOGUE.values()] == list(IDS)


def test_no_fault_of_a_module_is_left_out() -> None:
    rooms = (scaling, heads, softmax, masking, numerics, padding, sequence)
    assert sorted(fault.id for room in rooms for fault in room.FAULTS) == sorted(IDS)


def test_only_two_faults_are_judged_on_the_output() -> None:
    on_output = {name for name, fault in CATALOGUE.items() if fault.judged_on == "output"}
    assert on_output == {"heads-merged-without-transpose", "zero-times-nan"}


def test_the_catalogue_cannot_be_changed() -> None:
    with pytest.raises(TypeError, match="does not support item assignment"):
        CATALOGUE["another"] = CATALOGUE["no-scaling"]  # pyright: ignore[reportIndexIssue]


@pytest.mark.parametrize("fault", CATALOGUE.values(), ids=list(CATALOGUE))
def test_texts_and_sources_are_complete(fault: Fault) -> None:
    assert 5 <= len(fault.title) <= 60 and not fault.title.endswith(".")
    sentences = [part for part in re.split(r"[.!?] ", fault.explanation) if part]
    assert len(sentences) >= 2 and fault.explanation.endswith(".")
    assert "  " not in fault.explanation and "\n" not in fault.explanation
    assert len(fault.fix) > 10 and len(fault.symptom) > 20 and fault.symptom.endswith((".", ")"))
    assert fault.sources and all(SOURCE.fullmatch(source) for source in fault.sources)
    assert len(set(fault.sources)) == len(fault.sources)


def test_no_two_faults_say_the_same() -> None:
    for field in ("title", "explanation", "symptom"):
        assert len({getattr(fault, field) for fault in CATALOGUE.values()}) == len(CATALOGUE)


@pytest.mark.parametrize("fault_id", IDS)
def test_every_fault_changes_what_comes_out(fault_id: str) -> None:
    generator = torch.Generator().manual_seed(IDS.index(fault_id))
    situations = [random_situation(generator, fault_id) for _ in range(DRAWS)]
    hits = sum(any(True for _ in changed_outcomes(situation, fault_id)) for situation in situations)
    assert hits >= 0.95 * DRAWS


@pytest.mark.parametrize("fault_id", IDS)
def test_outcomes_have_the_dtype_and_the_note_of_the_situation(fault_id: str) -> None:
    generator = torch.Generator().manual_seed(100 + IDS.index(fault_id))
    for _ in range(5):
        situation, outcome = random_case(generator, fault_id)
        assert outcome.weights is not None and outcome.output is not None
        assert outcome.weights.dtype == outcome.output.dtype == situation.query.dtype
        assert all(isinstance(value, (int, float, str)) for value in outcome.note.values())
        if fault_id not in ("batch-axis-swapped", "heads-averaged"):
            assert outcome.weights.shape == situation.sizes


@pytest.mark.parametrize("fault_id", IDS)
def test_weights_do_not_need_a_value(fault_id: str) -> None:
    generator = torch.Generator().manual_seed(200 + IDS.index(fault_id))
    situation, _ = random_case(generator, fault_id)
    with_value = list(CATALOGUE[fault_id].variants(situation))
    without = list(CATALOGUE[fault_id].variants(replace(situation, value=None)))
    if CATALOGUE[fault_id].judged_on == "output":
        assert without == []
        return
    assert len(with_value) == len(without)
    for one, other in zip(with_value, without, strict=True):
        torch.testing.assert_close(one.weights, other.weights, rtol=0, atol=0, equal_nan=True)  # the same steps
        assert other.output is None


def test_a_changed_situation_is_right_in_itself() -> None:
    """Where a fault says which situation it amounts to, the core computes the same weights from it."""
    generator = torch.Generator().manual_seed(5)
    seen = set()
    for fault_id in IDS:
        for _ in range(4):
            situation = random_situation(generator, fault_id)
            for outcome in CATALOGUE[fault_id].variants(situation):
                if outcome.changed is None or outcome.note.get("empty", "zero") != "zero":
                    continue
                if outcome.note.get("what") == "fill":
                    continue  # its empty rows are NaN, which no mask makes
                seen.add(fault_id)
                again = correct(outcome.changed).weights
                assert outcome.weights is not None and again is not None
                torch.testing.assert_close(
                    outcome.weights, again, rtol=0, atol=CHANGES[situation.query.dtype] / 10
                )  # rounding of the dtype
    assert len(seen) >= 24


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_the_steps_written_by_hand_agree_with_the_core(dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(11)
    for _ in range(20):
        situation = random_situation(generator)
        value = situation.value
        assert value is not None
        situation = replace(
            situation, query=situation.query.to(dtype), key=situation.key.to(dtype), value=value.to(dtype)
        )
        trace, outcome = correct(situation), attend(situation, {})
        torch.testing.assert_close(outcome.weights, trace.weights, **SAME)
        torch.testing.assert_close(outcome.output, trace.output, rtol=0, atol=CHANGES[dtype] / 10)


def test_nothing_can_be_committed_where_there_is_nothing_to_go_wrong_in() -> None:
    """One head, one sample, one token: no mask part, no bias, no padding."""
    one = torch.ones(1, 1, 1, 1)
    bare = Situation(one, one, one, torch.ones(1, 1, dtype=torch.bool))
    possible = {name for name, fault in CATALOGUE.items() if any(True for _ in fault.variants(bare))}
    assert possible == {
        "no-scaling",
        "scaled-by-d-k",
        "scaled-by-d-model",
        "divided-by-inverse",
        "query-key-swapped",
        "softmax-over-queries",
        "softmax-over-heads",
        "double-softmax",
        "mask-inverted",
        "mask-after-softmax",
        "mask-added-as-zero-one",
        "scores-multiplied-by-mask",
        "dropout-left-on",
    }


@pytest.mark.parametrize(
    "fault_id, fields, rule",
    [
        ("bias-scaled-too", {}, "got no bias"),
        ("query-key-swapped", {"key": torch.ones(2, 2, 7, 3), "allowed": torch.ones(5, 7).bool()}, "got 5 and 7"),
        ("kv-heads-tiled", {"key": torch.ones(2, 4, 5, 3)}, "got 4 and 4"),
        ("kv-heads-tiled", {"key": torch.ones(2, 1, 5, 3)}, "got 1 and 4"),
        ("padding-side-swapped", {}, "cannot be committed here"),
        ("fill-too-weak", {}, "cannot be committed here"),
        ("window-on-wrong-layers", {}, "no window is known"),
        ("chunk-as-window", {}, "needs a chunk part"),
    ],
)
def test_what_cannot_be_committed_says_why(fault_id: str, fields: dict, rule: str) -> None:
    situation = plain_situation(**fields)
    assert list(CATALOGUE[fault_id].variants(situation)) == []
    with pytest.raises(CannotCommit, match=rule if "here" in rule else "cannot be committed here"):
        commit(fault_id, situation)
    if "here" not in rule:
        with pytest.raises(CannotCommit, match=rule):
            CATALOGUE[fault_id].act(situation)


def test_an_unknown_fault_is_refused() -> None:
    with pytest.raises(KeyError, match="got 'no-such'"):
        commit("no-such", plain_situation())


def test_a_parameter_picks_the_way() -> None:
    situation = plain_situation(allowed=masks.causal(5), parts={"causal": masks.causal(5)})
    assert commit("fill-too-weak", situation, c=-2.0).note["c"] == -2.0
    with pytest.raises(TypeError, match="unexpected keyword"):
        commit("no-scaling", situation, c=-2.0)


def test_a_part_must_be_known_and_hold_the_mask() -> None:
    causal = masks.causal(5)
    with pytest.raises(ValueError, match="got 'triangle'"):
        plain_situation(allowed=causal, parts={"triangle": causal})
    with pytest.raises(ValueError, match="forbids"):
        plain_situation(parts={"causal": causal})
    with pytest.raises(TypeError, match="bool"):
        plain_situation(allowed=causal, parts={"causal": causal.float()})
    with pytest.raises(TypeError, match="bool"):
        plain_situation(allowed=causal.float())
    assert len(PARTS) == 7


def test_taking_a_part_away_keeps_what_the_parts_do_not_say() -> None:
    """``allowed`` may be narrower than its parts together: the rest of it stays."""
    causal, padding = masks.causal(5), masks.padding([5, 3], 5)
    extra = torch.ones(5, 5, dtype=torch.bool)
    extra[4, 0] = False
    situation = plain_situation(
        allowed=causal & padding & extra, parts={"causal": causal, "padding": padding}, lengths=torch.tensor([5, 3])
    )
    without = situation.with_part("causal", None)
    assert torch.equal(without.allowed, (padding & extra).expand(2, 1, 5, 5))
    assert list(without.parts) == ["padding"]
    assert torch.equal(situation.rest[0, 0] | ~causal, extra | ~causal)
    back = without.with_part("causal", causal)
    assert torch.equal(back.allowed, situation.allowed)


def test_two_faults_at_once() -> None:
    """The second is committed on the situation that the first amounts to."""
    causal = masks.causal(5)
    situation = plain_situation(allowed=causal, parts={"causal": causal})
    first = commit("causal-one-late", situation)
    assert first.changed is not None
    both = commit("no-scaling", first.changed)
    by_hand = correct(replace(situation, scale=1.0, allowed=torch.ones(5, 5).tril(1).bool(), parts={})).weights
    torch.testing.assert_close(both.weights, by_hand, **SAME)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("how", ["replaced", "added"])
def test_the_fill_is_estimated_from_the_weights(how: str, dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(17)
    for c in (-0.5, -2.0, -5.0):
        situation = replace(random_situation(generator, "causal-strict"), value=None)
        situation = replace(situation, query=situation.query.to(dtype), key=situation.key.to(dtype))
        observed = commit("fill-too-weak", situation, c=c, how=how).weights
        assert observed is not None
        fitted = CATALOGUE["fill-too-weak"].fit(situation, observed)
        assert fitted is not None and (fitted.note["how"], fitted.note["part"]) == (how, "all")
        # half precision rounds a weight by up to 2^-9 of itself, which is that much in the logit
        assert fitted.note["c"] == pytest.approx(c, abs=1e-4 if dtype.itemsize > 2 else 2e-2)
        torch.testing.assert_close(fitted.weights, observed, rtol=0, atol=CHANGES[dtype] / 3)


def test_the_fill_of_one_part_is_estimated() -> None:
    causal, padding = masks.causal(5), masks.padding([5, 3], 5)
    situation = plain_situation(allowed=causal & padding, parts={"causal": causal, "padding": padding})
    observed = commit("fill-too-weak", situation, c=-3.0, part="padding").weights
    assert observed is not None
    fitted = CATALOGUE["fill-too-weak"].fit(situation, observed)
    assert fitted is not None and fitted.note["part"] == "padding"
    assert fitted.note["c"] == pytest.approx(-3.0, abs=1e-4)  # float32


def test_no_fill_is_estimated_from_right_weights() -> None:
    situation = plain_situation(allowed=masks.causal(5), parts={"causal": masks.causal(5)})
    right = correct(situation).weights
    assert right is not None
    assert CATALOGUE["fill-too-weak"].fit(situation, right) is None
    assert CATALOGUE["no-scaling"].fit(situation, right) is None  # it has no free parameter


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_the_share_of_dropout_is_estimated_from_the_weights(dtype: torch.dtype, p: float) -> None:
    situation = random_situation(torch.Generator().manual_seed(23), "dropout-left-on")
    situation = replace(situation, query=situation.query.to(dtype), key=situation.key.to(dtype), value=None)
    observed = commit("dropout-left-on", situation, p=p, seed=3).weights
    assert observed is not None
    fitted = CATALOGUE["dropout-left-on"].fit(situation, observed)
    assert fitted is not None
    assert fitted.note["p"] == pytest.approx(p, abs=1e-5 if dtype.itemsize > 2 else 5e-3)  # rounding of the dtype
    torch.testing.assert_close(fitted.weights, observed, rtol=0, atol=CHANGES[dtype] / 3)


def test_no_dropout_is_estimated_where_too_few_weights_are_missing() -> None:
    """Weights that are merely too large were not dropped; neither were right ones."""
    situation = plain_situation()
    right = correct(situation).weights
    assert right is not None
    for observed in (right, 2.0 * right, 0.5 * right):
        assert CATALOGUE["dropout-left-on"].fit(situation, observed) is None
