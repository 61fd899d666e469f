"""The answer and the head map of an encoder-decoder on the page."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from attention_core.pretrained import Switches, answers, load
from attention_core.pretrained.head_map import head_map
from tests.pages.test_explore import control, figures
from viz.services import head_map as service
from viz.services.answers import predictions, text_numbers
from viz.services.attention import ModelRequest, run
from viz.services.head_map import MapJob, MapRequest

TEXT, TARGET = "my old dog looked at the red hat", "the cat was on my old mat"


@pytest.fixture(scope="module")
def t5(tiny_folder: Callable[..., Path]) -> str:
    return str(
        tiny_folder(
            "T5ForConditionalGeneration", specials=True, d_model=24, d_kv=8, d_ff=17, num_heads=3, num_layers=2,
            num_decoder_layers=1, decoder_start_token_id=0, eos_token_id=3,
        )
    )  # fmt: skip


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    service._kept.clear()
    yield
    service._kept.clear()


def visit(**link: str) -> AppTest:
    app = AppTest.from_file("../../app.py", default_timeout=120)
    for name, value in {"lang": "en", "text": TEXT, **link}.items():
        app.query_params[name] = value
    app.run()
    assert not app.exception
    return app


def said(app: AppTest) -> str:
    parts = [*app.get("html"), *app.caption, *app.info, *app.header, *app.markdown]
    return " ".join(str(getattr(e, "body", getattr(e, "value", ""))) for e in parts)


def by_transformers(folder: str, sample: int, made: Any) -> Any:
    """Log-probabilities behind each token of one target, from the whole model by itself."""
    import transformers

    whole = transformers.T5ForConditionalGeneration.from_pretrained(folder, dtype=torch.float32).eval()
    ids = {side: torch.tensor([[t.id for t in rows[sample] if not t.padding]]) for side, rows in made.tokens.items()}
    with torch.inference_mode():
        logits = whole(input_ids=ids["source"], decoder_input_ids=ids["self"]).logits
    return logits[0].double().log_softmax(-1), ids["self"][0]


def test_the_answer_is_of_the_target(t5: str) -> None:
    request = ModelRequest(t5, (TEXT, "a cat"), targets=(TARGET, "a dog"), switches=Switches(scaling=False))
    for sample in (0, 1):  # the second target is padded behind its last token
        log_probs, ids = by_transformers(t5, sample, run(request.neutral))
        (one,) = predictions(request, sample)
        assert one.place is None and one.kl == 0  # this family has no factor to leave out
        best = answers.top_tokens(log_probs[-1]).tolist()
        assert [word.text for word in one.before] == [load(t5).written(id_) for id_ in best]
        # float32 logits of sizes up to 10, then exp
        assert [word.before for word in one.before] == pytest.approx(log_probs[-1].exp()[best].tolist(), rel=1e-4)
        numbers = text_numbers(request, sample)
        assert numbers is not None and numbers.predicted == len(ids) - 1
        want = -log_probs[:-1].gather(-1, ids[1:, None]).mean()
        assert numbers.nll_before == pytest.approx(float(want), rel=1e-4)
    cut = ModelRequest(t5, (TEXT,), targets=(TARGET,), switches=Switches(scale_factor=3.0))
    assert predictions(cut, 0)[0].kl > 1e-3


def test_the_page_shows_the_answer(t5: str) -> None:
    app = visit(source=t5, target=TARGET)
    assert "Next token behind the target" in said(app) and "The whole target" in said(app)
    assert "Over the 8 tokens behind the start token" in said(app)  # [CLS] and seven words; [SEP] ends it
    control(app, "model_mask").set_value("none").run()
    assert not app.exception
    assert "KL(as it is ‖ with these switches)" in said(app) and "answers with hidden states alone" not in said(app)


def test_the_map_of_three_kinds_of_calls(t5: str) -> None:
    app = visit(source=t5, target=TARGET, view="head_map")
    assert "Every head of the three kinds of calls" in said(app)
    start = next(one for one in app.button if one.key == "explore_head_map_start")
    start.click().run()
    asked = MapRequest(t5, TEXT, Switches(), "kl-last", TARGET)
    job: MapJob = app.session_state["explore_head_map_job"]
    job.join(60)
    assert job.request == asked and job.state == "done", job.error
    app.run()
    found = service.finished(asked)
    assert found is not None
    want = head_map(load(t5), TEXT, target=TARGET)
    np.testing.assert_allclose(found.values, want.values.numpy(), rtol=0, atol=1e-12)
    figure = next(one for one in figures(app).values() if "Layer" not in str(one) and "cross 0, head 1" in str(one))
    assert figure["layout"]["yaxis"]["ticktext"] == ["encoder 0", "encoder 1", "decoder 0", "cross 0"]
    tops = [one.label for one in app.button if str(one.key).startswith("explore_head_map_top_")]
    assert tops and all(re.match(r"(encoder|decoder|cross) \d, head \d: ", label) for label in tops)
    row, head, _ = found.strongest(1)[0]
    next(one for one in app.button if one.key == "explore_head_map_top_0").click().run()
    next(one for one in app.button if one.key == "explore_head_map_off").click().run()
    assert app.session_state["explore_heads_off"] == [f"{found.calls[row].name}:{head}"]
    assert not app.exception


def test_without_a_target_the_map_is_of_what_the_model_writes(t5: str) -> None:
    app = visit(source=t5, view="head_map")
    next(one for one in app.button if one.key == "explore_head_map_start").click().run()
    job: MapJob = app.session_state["explore_head_map_job"]
    job.join(60)
    assert job.request.target is None and job.state == "done", job.error
