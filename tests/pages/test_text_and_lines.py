"""The text view and the lines view of the explore page: what is sent to the browser is what the core computed."""

import json
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from attention_core.diagnostics import rollout
from attention_core.from_scratch import MaskChoice, ScratchConfig, run_from_scratch
from attention_core.pretrained import Model, Switches
from viz.components.packing import UNITS, unpack

TEXT = "the cat sat on the unbelievable mat"
SCRATCH = {"source": "from-scratch", "text": "one two three four two"}


def visit(**link: str) -> AppTest:
    app = AppTest.from_file("../../app.py", default_timeout=120)
    for name, value in {"lang": "en", **link}.items():
        app.query_params[name] = value
    app.run()
    assert not app.exception
    return app


def sent(app: AppTest) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Header and arrays of the one component on the page."""
    (found,) = app.get("bidi_component")
    return unpack(found.proto.bytes)


def choose(app: AppTest, name: str, value: Any) -> AppTest:
    for kind in ("selectbox", "number_input", "toggle", "button_group"):
        for widget in app.get(kind):
            if widget.key == f"explore_{name}":
                widget.set_value(value)
                return app.run()
    raise AssertionError(f"no control explore_{name} on the page")


def captions(app: AppTest) -> str:
    return "\n".join(caption.value for caption in app.caption)


def names(entries: list[dict[str, str]]) -> list[str]:
    return [entry["l"].partition(" ")[2] for entry in entries]


@pytest.mark.usefixtures("minilm_folder")
def test_the_text_view_sends_the_chosen_map(minilm: Model):
    run = minilm.run(TEXT)
    weights = [run.trace(call).weights for call in run.calls]
    app = visit(view="text", text=TEXT, layer="2", head="7")
    header, arrays = sent(app)
    np.testing.assert_array_equal(arrays["weights"][0], weights[2][0, 7].numpy())
    assert names(header["queries"]) == [token.label for token in run.tokens["self"][0]] and header["keys"] is None
    assert "Layer 2, head 7" in captions(app) and not app.get("plotly_chart")

    app = choose(app, "text_map", "mean")
    np.testing.assert_allclose(sent(app)[1]["weights"][0], weights[2][0].mean(dim=0).numpy(), atol=1e-6)
    assert "mean over its 12 heads" in captions(app)

    app = choose(app, "text_map", "rollout")
    np.testing.assert_allclose(sent(app)[1]["weights"][0], rollout(weights)[0].numpy(), atol=1e-6)
    assert "from layer 0 to layer 5" in captions(app)

    app = choose(app, "merge", True)
    header, arrays = sent(app)
    assert "unbelievable" in names(header["queries"])
    np.testing.assert_allclose(arrays["weights"][0].sum(axis=-1), 1, atol=1e-5)
    for name, value in {"view": "text", "text_map": "rollout", "merge": "1", "layer": "2", "head": "7"}.items():
        assert app.query_params[name] in (value, [value])


@pytest.mark.usefixtures("minilm_folder")
def test_the_lines_view_sends_all_heads_of_the_layer(minilm: Model):
    run = minilm.run(TEXT, switches=Switches(mask="causal"))
    app = visit(view="lines", text=TEXT, layer="1", head="4", model_mask="causal")
    header, arrays = sent(app)
    np.testing.assert_array_equal(arrays["weights"], run.trace(run.calls[1]).weights[0].numpy())
    assert header["head"] == 4 and header["threshold"] == 0.01
    assert names(header["queries"]) == names(header["keys"]) == [token.label for token in run.tokens["self"][0]]
    assert "Queries (who looks) on the left, keys (who is looked at) on the right" in captions(app)


@pytest.mark.usefixtures("minilm_folder")
def test_padding_that_may_be_read_is_sent_as_a_leak(minilm: Model):
    app = visit(view="text", text=f"{TEXT}\nshort", lines="1", sample="1", model_mask="padding-ignored")
    header, arrays = sent(app)
    count = len(header["queries"])
    assert [entry.get("k") for entry in header["queries"]] == ["special", None, "special"] + ["padding"] * (count - 3)
    packed = arrays["states"]
    states = np.array([(packed[cell >> 2] >> (2 * (cell & 3))) & 3 for cell in range(count**2)]).reshape(count, count)
    assert (states[:3, 3:] == 2).all() and (states[:3, :3] == 1).all()


@pytest.mark.usefixtures("minilm_folder")
def test_heads_that_are_off_are_named(minilm: Model):
    app = visit(view="lines", text=TEXT, heads_off="encoder.0:3 encoder.0:5 encoder.1:2")
    assert "2 of 12 in this layer" in captions(app)
    assert "of 12 in this layer" not in captions(visit(view="text", text=TEXT))


@pytest.mark.parametrize("view", ["text", "lines"])
def test_both_views_of_the_core_from_scratch(view):
    app = visit(view=view, mask="causal", **SCRATCH)
    run = run_from_scratch(SCRATCH["text"], ScratchConfig(d_k=16, mask=MaskChoice("causal")))
    weights = run.trace(run.calls[0]).weights[0].numpy()
    _, arrays = sent(app)
    np.testing.assert_array_equal(arrays["weights"], weights[:1] if view == "text" else weights)
    packed = arrays["states"]
    assert [(packed[cell >> 2] >> (2 * (cell & 3))) & 3 for cell in range(6)] == [1, 0, 0, 0, 0, 1]


@pytest.mark.usefixtures("minilm_folder")
def test_a_long_text_comes_through_a_window_and_in_few_bytes(minilm: Model):
    text = "one two three four five six seven eight " * 60  # 480 words
    app = visit(view="lines", text=text.strip(), from_token="100")
    header, arrays = sent(app)
    assert arrays["weights"].shape == (12, 256, 256) and arrays["weights"].dtype == np.uint16
    assert len(app.get("bidi_component")[0].proto.bytes) < 1_700_000
    trace = minilm.run(text.strip())
    weights = trace.trace(trace.calls[0]).weights[0].numpy()
    sent_weights = arrays["weights"] / UNITS
    # half a step of rounding; a weight that is not 0 is at least one step
    np.testing.assert_allclose(sent_weights, weights[:, 100:356, 100:356], atol=1.01 / UNITS)
    np.testing.assert_allclose(arrays["outside"] + weights[:, 100:356, 100:356].sum(-1), 1, atol=1e-5)
    assert header["queries"][0]["l"].startswith("100 ")
    assert "Queries 100 to 355 of 482" in captions(app) and "rounded to 1/65000" in captions(app)
    app = choose(app, "from_token", 226)
    assert sent(app)[0]["queries"][0]["l"].startswith("226 ")


@pytest.mark.usefixtures("minilm_folder")
def test_another_language_changes_the_words_and_nothing_else():
    english, chinese = (sent(visit(view="text", text=TEXT, lang=lang)) for lang in ("en", "zh"))
    np.testing.assert_array_equal(english[1]["weights"], chinese[1]["weights"])
    assert english[0]["queries"] == chinese[0]["queries"]
    assert english[0]["words"]["looks_at"] == "{token} looks at"
    assert chinese[0]["words"]["looks_at"] == "{token} 注意到"
    assert english[0]["revision"] != chinese[0]["revision"]
    assert json.dumps(chinese[0]["words"], ensure_ascii=False).count("padding") == 1  # the name alone is English
