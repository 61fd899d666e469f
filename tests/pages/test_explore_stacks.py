"""Explore on an encoder-decoder, and on a model in which nothing can be switched."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

TEXT = "my old dog looked at the red hat"


@pytest.fixture(scope="module")
def bart(tiny_folder: Callable[..., Path]) -> Path:
    return tiny_folder(
        "BartForConditionalGeneration", specials=True, d_model=24, encoder_layers=1, decoder_layers=1,
        encoder_attention_heads=3, decoder_attention_heads=3, encoder_ffn_dim=17, decoder_ffn_dim=19,
        max_position_embeddings=37, bos_token_id=2, eos_token_id=3, decoder_start_token_id=3,
    )  # fmt: skip


@pytest.fixture(scope="module")
def bloom(tiny_folder: Callable[..., Path]) -> Path:
    return tiny_folder("BloomForCausalLM", hidden_size=36, n_head=3, n_layer=2, bos_token_id=2, eos_token_id=3)


def visit(**link: str) -> AppTest:
    app = AppTest.from_file("../../app.py", default_timeout=120)
    for name, value in {"lang": "en", "text": TEXT, **link}.items():
        app.query_params[name] = value
    app.run()
    assert not app.exception
    return app


def control(app: AppTest, name: str) -> Any:
    kinds = ("text_area", "selectbox", "number_input", "slider", "multiselect", "button_group", "toggle")
    found = [w for kind in kinds for w in app.get(kind) if w.key == f"explore_{name}"]
    assert len(found) == 1, name
    return found[0]


def said(app: AppTest) -> str:
    return " ".join(str(getattr(e, "body", getattr(e, "value", ""))) for e in [*app.get("html"), *app.error, *app.info])


def test_each_call_of_two_stacks_can_be_chosen(bart: Path) -> None:
    app = visit(source=str(bart), target="a dog")
    layers = control(app, "layer")
    assert layers.options == ["encoder 0", "decoder 0", "cross 0"]
    assert "encoder 0 of 0–0 · 3 heads · 10 × 10 tokens" in said(app)
    layers.set_value(2).run()
    assert "cross 0 of 0–0 · 3 heads · 4 × 10 tokens" in said(app)
    control(app, "target").set_value("").run()  # the model writes its own
    assert "cross 0 of 0–0" in said(app) and "4 × 10 tokens" not in said(app)
    assert control(app, "target").value == ""
    assert not app.exception and not app.error


def test_a_target_for_every_line(bart: Path) -> None:
    app = visit(source=str(bart), text="the cat\nmy dog", lines="1", target="a dog")
    assert "Every line of the text needs one line of the target: there are 2 and 1." in said(app)
    control(app, "target").set_value("a dog\na cat").run()
    assert not app.error and "3 heads" in said(app)


def test_one_stack_has_no_target_box(bloom: Path) -> None:
    app = visit(source=str(bloom), target="a dog")
    assert not [w for w in app.text_area if w.key == "explore_target"]
    assert not app.error


def test_switches_that_cannot_act_say_why(bloom: Path) -> None:
    app = visit(source=str(bloom), scaling="off", model_mask="none")
    assert "Switches are unavailable: BloomForCausalLM computes its attention in code of its own" in said(app)
    for name in ("scaling", "model_mask", "window", "temperature", "heads_off", "softcap", "ablation", "switch_layers"):
        assert control(app, name).disabled, name
    assert control(app, "model_mask").value == "model"  # what stands there is what was run
    assert not control(app, "layer").disabled
    assert "layer 0 of 0–1 · 3 heads · 8 tokens" in said(app)


def test_a_model_without_scaling_is_not_said_to_divide_by_the_root(tiny_folder: Callable[..., Path]) -> None:
    sizes = {"d_model": 24, "d_kv": 8, "d_ff": 17, "num_heads": 3, "num_layers": 1, "num_decoder_layers": 1}
    t5 = tiny_folder("T5ForConditionalGeneration", specials=True, decoder_start_token_id=0, eos_token_id=3, **sizes)
    app = visit(source=str(t5), target="a dog", scaling="custom")
    assert control(app, "scaling").options == ["Model’s own", "Off", "Custom"]
    assert control(app, "factor").label == "Factor on the model’s own scaling"
    app = visit(source="all-MiniLM-L6-v2", scaling="custom")
    assert control(app, "scaling").options == ["1/√d_k", "Off", "Custom"]
    assert control(app, "factor").label == "Factor on 1/√d_k"
