"""The leak test on the Debug page: which mask leaks under which intent, what is said, and what stays on screen."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest
from torch import nn

from attention_core.leaks import leak_test
from tests.pages.test_debug import cells_of, html_of
from viz.pages import debug_leaks
from viz.services import leak_models, leaks
from viz.services.leak_models import CORE, CORE_MASKS, CoreModel, prepare
from viz.services.leaks import INTENTS, LeakError, LeakWish, leak_matrix, own_code
from viz.text import TEXTS

TWO = "Rain fell on it. The old cat slept."  # 10 tokens
SCRIPT = """
from viz.pages import debug, debug_leaks, debug_state, frame
frame.show([frame.Page("debug", debug.render, (*debug_state.KEPT, *debug_leaks.KEPT))])
"""


def wish(model: str = CORE, mask: str = "causal", intent: str = "causal", text: str = TWO, method: str = "change"):
    return LeakWish(model, text, mask, intent, method)


def found(**asked: Any) -> leaks.LeakFound:
    return leak_matrix(wish(**asked), lambda share: None)


def visit(**link: str) -> AppTest:
    app = AppTest.from_string(SCRIPT, default_timeout=120)
    for name, value in {"lang": "en", **link}.items():
        app.query_params[name] = value
    app.run()
    assert not app.exception
    return app


def press(app: AppTest) -> AppTest:
    [button] = [b for b in app.button if b.key == "debug_leak_run"]
    button.click().run()
    assert not app.exception
    return app


def matrix_of(app: AppTest) -> dict[str, Any]:
    [chart] = [c for c in app.get("plotly_chart") if c.proto.id.endswith("debug_leak_chart")]
    return json.loads(chart.proto.spec)


@pytest.mark.parametrize("intent", INTENTS)
@pytest.mark.parametrize("mask", CORE_MASKS)
def test_a_mask_leaks_exactly_where_it_lets_through_what_was_not_meant(mask, intent):
    got = found(mask=mask, intent=intent)
    view = got.views["headscope"]
    length = len(got.labels)
    parts = intent.split("+")
    may = np.ones((length, length), bool)
    real = ~np.array(got.padded)
    if "causal" in parts:
        may &= np.tri(length, dtype=bool)
    if "documents" in parts:
        document = np.array([0] * 5 + [1] * 5)
        may &= document[:, None] == document
    if "padding" in parts:
        may = (may & real) | ~real[:, None]
    np.testing.assert_array_equal(view.allowed, may)
    subject = prepare(CORE, TWO, mask, padded="padding" in parts)
    network = subject.models["headscope"]
    assert isinstance(network, CoreModel)
    once = network.allowed(length, subject.real.long())[0, 0].expand(length, length).float()
    eye = torch.eye(length)
    reached = ((once + eye) @ (once + eye)) > 0  # two layers, each with a residual path
    np.testing.assert_array_equal(view.change > 0, reached.numpy())
    leaked = reached.numpy() & ~may
    np.testing.assert_array_equal(view.leaks, leaked)
    assert view.leaked == int(leaked.sum()) and view.moved == int(reached.sum())
    counted = sum(said.cells for said in view.said if said.code.endswith("visible"))
    assert counted == view.leaked
    assert got.passed == (not leaked.any())


def test_every_kind_of_leak_names_its_own_inputs_and_outputs():
    view = found(mask="none", intent="causal+padding").views["headscope"]
    by_code = {said.code: said for said in view.said}
    padding, future = by_code["padding-visible"], by_code["future-visible"]
    assert [one.input for one in padding.moved] == ["10 [PAD]", "11 [PAD]"]
    assert [one.outputs for one in padding.moved] == ["0-9", "0-9"] and padding.more == 0
    assert [one.input for one in future.moved] == ["1 fell", "2 on", "3 it"]
    assert [one.outputs for one in future.moved] == ["0", "0-1", "0-2"] and future.more == 6
    assert future.moved[2].largest == float(view.change[:3, 3].max())
    assert "padding-shifts" in by_code and by_code["padding-shifts"].moved == ()


def test_numbers_are_those_of_the_leak_test_and_gradients_find_the_same_leak():
    subject = prepare(CORE, TWO, "none", padded=False)
    direct = leak_test(subject.models["headscope"], subject.ids, expect="causal", vocabulary=subject.vocabulary)
    view = found(mask="none").views["headscope"]
    np.testing.assert_array_equal(view.change, direct.change[0].masked_fill(~direct.moved[0], 0).numpy())
    assert view.share.max() == 1 and view.largest == float(direct.change[direct.leaks].max())
    by_gradient = found(mask="none", method="gradient").views["headscope"]
    np.testing.assert_array_equal(by_gradient.leaks, view.leaks)


@pytest.mark.model
def test_a_pretrained_model_runs_as_it_is_under_both_kernels_and_switched_under_ours(minilm):
    own = found(model=minilm.name, mask="model")
    assert tuple(own.views) == ("eager", "sdpa") and not own.passed and not own.differ
    assert own.only == {"eager": 0, "sdpa": 0} and own.apart["sdpa"] < 1e-5
    length = len(own.labels)
    assert {v.leaked for v in own.views.values()} == {length * (length - 1) // 2}
    switched = found(model=minilm.name, mask="causal")
    assert tuple(switched.views) == ("headscope",) and switched.passed
    assert leak_models.masks_of(minilm.name) == leak_models.MODEL_MASKS
    assert found(model=minilm.name, mask="model", intent="padding").passed  # it hides its padding
    documents = found(model=minilm.name, mask="causal", intent="documents").views["headscope"].said
    assert [said.code for said in documents] == ["document-visible"]


def test_a_leak_that_the_fast_path_alone_has_is_named_there_alone(monkeypatch):
    def planted(text, mask, padded):
        subject = prepare_core(text, "causal", padded)
        leaky = prepare_core(text, "none", padded).models["headscope"]
        return replace(subject, models={"eager": subject.models["headscope"], "sdpa": leaky})

    prepare_core = leak_models._core
    monkeypatch.setattr(leak_models, "_core", planted)
    got = found()
    assert got.views["eager"].passed and got.views["sdpa"].leaked == 45
    assert got.differ and got.only == {"eager": 0, "sdpa": 45} and not got.passed
    app = press(visit(leak_text=TWO))
    said = html_of(app)
    assert "eager: No leak" in said and "sdpa: Leak, cells: 45" in said and "Leaks under sdpa alone: 45" in said
    assert (cells_of(matrix_of(app)) > -7).sum() == 100  # the matrix that is shown first is the leaking one


@pytest.mark.parametrize(
    ("asked", "code"),
    [({"text": "  "}, "no_tokens"), ({"text": "One sentence", "intent": "documents"}, "one_document")],
)
def test_what_would_prove_nothing_is_refused(asked, code):
    with pytest.raises(LeakError) as refused:
        found(**asked)
    assert refused.value.code == code


def test_long_texts_are_cut_and_progress_reaches_its_end_once():
    shares: list[float] = []
    got = leak_matrix(wish(text="word " * 90), shares.append)
    assert len(got.labels) == leak_models.MOST_TOKENS and got.total == 90
    assert shares == sorted(shares) and shares[0] > 0 and shares[-1] <= 0.95 and len(shares) >= 3


def test_the_page_says_no_leak_then_names_the_leak_and_keeps_the_result():
    app = visit(leak_text=TWO)
    assert "No leak" not in html_of(app)
    press(app)
    assert "No leak" in html_of(app) and "Inputs tested: 10. Cells that moved: 55" in html_of(app)
    [mask] = [s for s in app.selectbox if s.key == "debug_leak_core_mask"]
    mask.set_value("none").run()
    assert "No leak" in html_of(app)
    assert [i.value for i in app.info if "settings before" in i.value]
    assert (app.query_params["leak_core_mask"], app.query_params["leak_text"]) == ("none", TWO)
    press(app)
    said = html_of(app)
    assert "Leak, cells: 45" in said and "input 1 fell moved outputs 0 (by up to" in said
    spec = matrix_of(app)
    assert spec["layout"]["yaxis"]["title"]["text"] == TEXTS["leak.rows"][0]
    assert spec["layout"]["xaxis"]["title"]["text"] == TEXTS["leak.columns"][0]
    assert any("assert_causal(model, ids)" in code.value for code in app.code)
    [sample] = [s for s in app.selectbox if s.key == "debug_head"]
    sample.set_value(1).run()
    assert "Leak, cells: 45" in html_of(app)


def test_a_link_brings_the_settings_and_what_it_cannot_bring_is_said():
    app = visit(leak_text=TWO, leak_core_mask="none", leak_intent="causal+padding", leak_model="no-such-model")
    assert any("leak_model" in caption.value for caption in app.caption)
    said = html_of(press(app))
    assert "Leak, cells: " in said and "Padding is read (20 cells)" in said and "Future tokens are visible (45" in said


def test_refusals_stand_on_the_page():
    app = press(visit(leak_text="One sentence", leak_intent="documents"))
    assert [e.value for e in app.error] == [TEXTS["leak.error_one_document"][0]]


@pytest.mark.parametrize("intent", INTENTS)
def test_the_lines_for_ones_own_model_run_and_find_the_leak(intent):
    class Own(nn.Module):
        def forward(self, x, attention_mask=None):
            return x.flip(1).cumsum(1).flip(1)

    x = torch.randn(1, 7, 3, generator=torch.Generator().manual_seed(0))
    attention_mask = torch.tensor([[1, 1, 1, 1, 1, 0, 0]])
    names = {
        "model": Own(),
        "ids": x,
        "attention_mask": attention_mask,
        "documents": torch.tensor([0, 0, 0, 1, 1, 1, 1]),
    }
    if intent == "full":
        exec(own_code(intent), names)
        return
    with pytest.raises(AssertionError):
        exec(own_code(intent), names)


def test_settings_parse_their_own_defaults():
    for name, setting in debug_leaks.SETTINGS.items():
        assert setting.parse(str(setting.default)) == setting.default, name
