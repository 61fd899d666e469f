"""The bug zoo: every fault shows, what is drawn is what the core computes, names stay hidden until guessed."""

import json
from typing import Any

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from attention_core import masks
from attention_core.faults import CATALOGUE
from attention_core.from_scratch import MaskChoice, ScratchConfig, run_from_scratch
from tests.figures.spec import array
from viz.services import bug_zoo, bug_zoo_scenes
from viz.text import TEXTS, t, use_language

ANIMAL = "The animal did not cross the street because it was too tired."  # 13 tokens, the page's own text
TEXTS_TRIED = (ANIMAL, "The cat sat on the mat. It fell asleep at once.", "我打你 你打我", "a b c d e f")

SCRIPT = """
from viz.pages import bug_zoo, bug_zoo_state, frame
frame.show([frame.Page("bug_zoo", bug_zoo.render, bug_zoo_state.KEPT)])
"""


def visit(**link: str) -> AppTest:
    app = AppTest.from_string(SCRIPT, default_timeout=60)
    for name, value in {"lang": "en", **link}.items():
        app.query_params[name] = value
    app.run()
    return clean(app)


def clean(app: AppTest) -> AppTest:
    assert not app.exception
    assert not [error.value for error in app.error if "could not be drawn" in error.value]
    return app


def press(app: AppTest, name: str) -> AppTest:
    [button] = [b for b in app.button if b.key == f"bug_zoo_{name}"]
    button.click().run()
    return clean(app)


def choose(app: AppTest, kind: str, name: str, value: Any) -> AppTest:
    widget: Any
    [widget] = [w for w in app.get(kind) if w.key == f"bug_zoo_{name}"]
    widget.set_value(value).run()
    return clean(app)


def figures(app: AppTest) -> dict[str, dict]:
    found = {}
    for chart in app.get("plotly_chart"):
        name = chart.proto.id.rpartition("-bug_zoo_")[2].removesuffix("_chart")
        found[name] = json.loads(chart.proto.spec, parse_constant=lambda text: pytest.fail(f"{text} is not JSON"))
    return found


def drawn(app: AppTest, name: str) -> np.ndarray:
    return array(figures(app)[name]["data"][0]["z"])


def everything_said(app: AppTest) -> str:
    kinds = ("markdown", "caption", "success", "warning", "info", "error", "subheader", "code", "button")
    said = [getattr(e, "label", "") or getattr(e, "value", "") for kind in kinds for e in app.get(kind)]
    said += [str(getattr(e, "value", "")) for kind in kinds for e in app.get(kind)]
    return "\n".join([*said, *(element.proto.body for element in app.get("html"))])


# ---------------------------------------------------------------------------------------------------------------------
# texts


def test_the_texts_are_those_of_the_catalogue():
    stem = {key.split(".")[1] for key in TEXTS if key.startswith("fault.")}
    assert stem == set(CATALOGUE)
    for fault in CATALOGUE.values():
        for field in ("title", "explanation", "fix", "symptom"):
            assert TEXTS[f"fault.{fault.id}.{field}"][0] == getattr(fault, field), (fault.id, field)


def test_every_fault_has_a_title_of_its_own_in_chinese():
    titles = [TEXTS[f"fault.{name}.title"][1] for name in CATALOGUE]
    assert len(set(titles)) == len(titles)


# ---------------------------------------------------------------------------------------------------------------------
# every fault


@pytest.mark.parametrize("fault", CATALOGUE)
def test_the_fault_shows_and_the_doctor_solves_it(fault):
    shown = bug_zoo.exhibit(fault, ANIMAL, 0)
    report = bug_zoo.verdict(fault, ANIMAL, 0)
    assert shown.changed[shown.head] + shown.lost[shown.head] > 0
    assert fault in report.explained_by, report.to_text()
    assert report.findings and all(finding.message for finding in report.findings)


@pytest.mark.parametrize("text", TEXTS_TRIED[1:])
def test_every_fault_shows_on_other_texts_and_seeds(text):
    for fault in CATALOGUE:
        shown = bug_zoo.exhibit(fault, text, 3)
        assert (shown.changed + shown.lost).max() > 0, fault
        assert shown.right.shape == shown.wrong.shape == shown.difference.shape
        assert shown.on_output == (CATALOGUE[fault].judged_on == "output")
        wide = shown.wrong.astype(np.float64) - shown.right
        np.testing.assert_array_equal(shown.difference, wide.astype(np.float32))


@pytest.mark.parametrize("fault", CATALOGUE)
def test_the_right_side_is_right(fault):
    shown = bug_zoo.exhibit(fault, ANIMAL, 0)
    assert np.isfinite(shown.right).all()
    if not shown.on_output:
        np.testing.assert_array_equal(shown.right[~shown.intended], 0.0)
        rows = shown.intended.any(axis=-1)
        np.testing.assert_allclose(shown.right.sum(-1)[rows], 1.0, atol=2e-3)  # float16 rounds each weight by 2**-11


def test_pictures_are_of_the_from_scratch_core():
    run = run_from_scratch(ANIMAL, ScratchConfig(seed=5, mask=MaskChoice("causal")))
    weights = run.trace(run.calls[0]).weights
    inputs = run.inputs[run.calls[0].name]
    shown = bug_zoo.exhibit("mask-inverted", ANIMAL, 5)
    assert weights is not None
    np.testing.assert_array_equal(shown.right, weights[0].numpy())  # the same function
    future = ~masks.causal(13)
    logits = inputs.query @ inputs.key.transpose(-2, -1) / 4  # d_k 16
    by_hand = torch.softmax(logits[0].masked_fill(~future, -torch.inf), -1).nan_to_num(0.0)
    torch.testing.assert_close(torch.tensor(shown.wrong), by_hand, atol=1e-6, rtol=0)  # float32, another order
    np.testing.assert_array_equal(shown.applied, np.broadcast_to(future.numpy(), (4, 13, 13)))
    assert [token.label for token in shown.key_tokens[:3]] == ["The", "animal", "did"]


def test_a_second_sample_is_the_first_half():
    shown = bug_zoo.exhibit("padding-mask-missing", ANIMAL, 0)
    labels = [token.label for token in shown.key_tokens]
    assert labels == ["[PAD]"] * 7 + ["The", "animal", "did", "not", "cross", "the"]
    assert (shown.sample, shown.samples) == (1, 2)
    failed = {check.code for check in shown.checks if check.status == "failed"}
    assert {"forbidden_weight", "padded_columns"} <= failed
    assert bug_zoo.exhibit("padding-or-causal", ANIMAL, 0).sample == 1  # the first one differs too, without padding


def test_empty_slots_of_a_cache_stand_behind_the_text():
    shown = bug_zoo.exhibit("cache-slots-unmasked", "a b c d e", 0)
    assert [token.label for token in shown.key_tokens] == ["a", "b", "c", "d", "e", "∅", "∅", "∅", "∅"]
    assert [token.label for token in shown.query_tokens] == ["d", "e"]
    assert not shown.intended[..., 5:].any() and (shown.wrong[..., 5:] > 0).all()


def test_documents_are_sentences_or_halves():
    two = bug_zoo.exhibit("packing-leak", "a b. c d", 0)
    np.testing.assert_array_equal(two.intended[0, 4], [False, False, False, True, True])
    one = bug_zoo.exhibit("packing-leak", "a b c d e", 0)
    np.testing.assert_array_equal(one.intended[0, 4], [False, False, False, True, True])


def test_a_long_text_is_cut_and_says_so():
    shown = bug_zoo.exhibit("no-scaling", " ".join(f"w{i}" for i in range(50)), 0)
    assert (shown.kept, shown.total, shown.right.shape) == (32, 50, (4, 32, 32))


def test_texts_of_strangers_are_taken_as_they_are():
    half = bug_zoo.exhibit("no-scaling", "a \ud800 b c", 0)  # half a surrogate pair, which no encoding can carry
    assert [token.label for token in half.key_tokens] == ["a", "\ufffd", "b", "c"]
    endless = bug_zoo.exhibit("no-scaling", "ab cd ef " * 30_000, 0)
    assert endless.kept == 32
    app = visit(fault="no-scaling", text="<b>x</b> $y$ **z** [PAD] {0} #000001")
    assert len(figures(app)) == 3


def test_words_that_are_all_the_same_are_refused():
    with pytest.raises(bug_zoo.ZooError, match="no-scaling changes nothing") as refused:
        bug_zoo.exhibit("no-scaling", "word " * 7, 0)
    assert refused.value.code == "no_change"


@pytest.mark.parametrize(("text", "code"), [("", "no_tokens"), ("  ", "no_tokens"), ("one", "no_change")])
def test_texts_that_cannot_show_it_are_refused(text, code):
    with pytest.raises(bug_zoo.ZooError, match="token") as refused:
        bug_zoo.exhibit("padding-mask-missing", text, 0)
    assert refused.value.code == code


# ---------------------------------------------------------------------------------------------------------------------
# questions


def test_every_fault_comes_once_in_a_turn_of_questions():
    assert sorted(map(bug_zoo.hidden, range(42))) == sorted(CATALOGUE)
    assert sorted(map(bug_zoo.hidden, range(42, 84))) == sorted(CATALOGUE)
    assert list(map(bug_zoo.hidden, range(42))) != list(map(bug_zoo.hidden, range(42, 84)))


def test_four_answers_of_which_one_is_right():
    places = set()
    for question in range(42):
        truth, answers = bug_zoo.hidden(question), bug_zoo.choices(question, ANIMAL, 0)
        assert len(set(answers)) == 4 and truth in answers
        places.add(answers.index(truth))
        staged = bug_zoo_scenes.stage(truth, ANIMAL, 0)
        shown = staged.outcome.output if CATALOGUE[truth].judged_on == "output" else staged.outcome.weights
        assert shown is not None
        for name in set(answers) - {truth}:
            for outcome in bug_zoo_scenes.outcomes(name, staged.situation):
                other = outcome.output if CATALOGUE[truth].judged_on == "output" else outcome.weights
                if other is not None and other.shape == shown.shape:
                    same = torch.allclose(other, shown, atol=1e-3, rtol=0, equal_nan=True)
                    assert not same, f"{name} is as right as {truth}"
    assert places == {0, 1, 2, 3}


def test_no_wrong_answer_is_right_by_chance():
    """On four tokens a window of 3 that is one key too wide is no window at all."""
    questions = [q for q in range(42 * 12) if bug_zoo.hidden(q) == "window-off-by-one"]
    offered = {name for question in questions for name in bug_zoo.choices(question, "a b c d", 0)}
    assert "window-on-wrong-layers" not in offered and "chunk-as-window" in offered


def test_wrong_answers_are_of_the_same_kind_while_there_are_any():
    question = next(q for q in range(42) if bug_zoo.hidden(q) == "causal-strict")
    assert {bug_zoo.family(name) for name in bug_zoo.choices(question, ANIMAL, 0)} == {"sequence"}


def test_the_first_guess_counts():
    first, second, third = map(bug_zoo.hidden, range(3))
    other = next(name for name in CATALOGUE if name not in (first, second, third))
    assert bug_zoo.score({}) == (0, 0)
    assert bug_zoo.score({0: (first,), 1: (other, second), 2: ()}) == (1, 2)


# ---------------------------------------------------------------------------------------------------------------------
# the page


def test_the_page_draws_what_the_service_holds():
    app = visit()
    shown = bug_zoo.exhibit("causal-mask-missing", ANIMAL, 0)
    np.testing.assert_array_equal(drawn(app, "right"), shown.right[shown.head])
    np.testing.assert_array_equal(drawn(app, "wrong"), shown.wrong[shown.head])
    np.testing.assert_array_equal(drawn(app, "difference"), shown.difference[shown.head])
    axis = figures(app)["difference"]["layout"]["coloraxis"]
    assert axis["cmin"] == -axis["cmax"]
    said = everything_said(app)
    for field in ("title", "fix"):
        assert t(f"fault.causal-mask-missing.{field}") in said
    assert "Explained by" in said and "future keys" in said


def test_text_seed_and_head_change_the_pictures():
    app = visit(fault="no-scaling")
    choose(app, "text_input", "text", "a b c d e")
    choose(app, "number_input", "seed", 4)
    choose(app, "button_group", "head", 0)
    shown = bug_zoo.exhibit("no-scaling", "a b c d e", 4)
    assert shown.head != 0
    np.testing.assert_array_equal(drawn(app, "wrong"), shown.wrong[0])
    found = {name: value for name, value in app.query_params.items() if name != "lang"}
    assert {n: v if isinstance(v, str) else v[0] for n, v in found.items()} == {
        "fault": "no-scaling", "text": "a b c d e", "seed": "4", "head": "0",
    }  # fmt: skip
    again = visit(fault="no-scaling", text="a b c d e", seed="4", head="0")
    np.testing.assert_array_equal(drawn(again, "wrong"), shown.wrong[0])


def test_outputs_are_shown_where_the_weights_are_right():
    app = visit(fault="heads-merged-without-transpose")
    shown = bug_zoo.exhibit("heads-merged-without-transpose", ANIMAL, 0)
    assert shown.right.shape == (4, 13, 16)
    np.testing.assert_array_equal(drawn(app, "wrong"), shown.wrong[shown.head])
    assert "features" in figures(app)["wrong"]["layout"]["xaxis"]["title"]["text"]


@pytest.mark.parametrize("fault", [*(ids[0] for ids in bug_zoo.FAMILIES.values()), "zero-times-nan"])
def test_every_kind_can_be_visited_in_chinese(fault):
    app = visit(fault=fault, lang="zh")
    assert len(figures(app)) == 3
    use_language("zh")
    try:
        assert t(f"fault.{fault}.title") in everything_said(app)
    finally:
        use_language(None)


def test_a_link_that_cannot_be_used_is_named():
    app = visit(fault="no-such-fault", seed="x")
    assert [w.value for w in app.warning if "fault, seed" in w.value]
    assert len(figures(app)) == 3


def test_a_text_that_cannot_show_it_keeps_the_pictures():
    app = visit(fault="padding-mask-missing")
    before = drawn(app, "wrong")
    choose(app, "text_input", "text", "one")
    assert "changes nothing" in app.error[0].value and "before" in app.error[0].value
    np.testing.assert_array_equal(drawn(app, "wrong"), before)
    assert [w.value for w in app.text_input] == ["one"]
    choose(app, "text_input", "text", "one two three")
    assert not app.error


def test_a_question_hides_the_name_until_it_is_solved():
    app = visit(mode="exercise", question="7")
    truth = bug_zoo.hidden(7)
    answers = bug_zoo.choices(7, ANIMAL, 0)
    labels = {b.key: b.label for b in app.button if b.key and "_answer_" in b.key}
    assert [labels[f"bug_zoo_answer_{index}"] for index in range(4)] == [t(f"fault.{name}.title") for name in answers]
    said = everything_said(app)
    assert t(f"fault.{truth}.fix") not in said and "Explained by" not in said and truth not in said
    assert truth not in str(dict(app.query_params.items()))

    wrong = next(name for name in answers if name != truth)
    press(app, f"answer_{answers.index(wrong)}")
    assert t(f"fault.{wrong}.symptom") in app.warning[0].value
    assert t(f"fault.{truth}.fix") not in everything_said(app)
    assert "Score: 0 of 1" in everything_said(app)

    press(app, f"answer_{answers.index(truth)}")
    said = everything_said(app)
    assert t(f"fault.{truth}.fix") in said and "Explained by" in said and "Score: 0 of 1" in said

    press(app, "next")
    assert app.session_state["bug_zoo_question"] == 8
    assert t(f"fault.{bug_zoo.hidden(8)}.fix") not in everything_said(app)
    press(app, f"answer_{bug_zoo.choices(8, ANIMAL, 0).index(bug_zoo.hidden(8))}")
    assert "Score: 1 of 2" in everything_said(app)


def test_surprise_me_asks_and_giving_up_tells():
    app = press(visit(), "surprise")
    assert app.session_state["bug_zoo_mode"] == "exercise"
    question = app.session_state["bug_zoo_question"]
    truth = bug_zoo.hidden(question)
    assert t(f"fault.{truth}.fix") not in everything_said(app)
    press(app, "give_up")
    said = everything_said(app)
    assert t(f"fault.{truth}.fix") in said and "Score: " not in said
