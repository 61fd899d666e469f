"""Layers, the mean of a head and a mask from the mask lab, on a pretrained model: from the page to the weights."""

import numpy as np
import pytest
import torch

from attention_core.drawn_masks import pack
from attention_core.pretrained import Model, Switches
from tests.pages.test_explore import choose, control, grid_weights, html, visit
from tests.pages.test_sent_mask import lab, link_of, press

pytestmark = pytest.mark.usefixtures("minilm_folder")

TEXT = "the cat sat on the mat"  # eight tokens with [CLS] and [SEP]
ROWS = "/".join(["11000000"] * 4 + ["00111111"] * 4)
CUSTOM = {"model_mask": "custom", "mask_rows": pack(ROWS)}


def answer_of(model: Model, switches: Switches) -> torch.Tensor:
    answer = model.run(TEXT, switches=switches, agreement=False).answer
    assert answer is not None
    return answer.values


def test_a_mask_from_the_lab_acts_on_the_model(minilm: Model) -> None:
    app = visit(text=TEXT, **CUSTOM)
    assert not app.exception and not app.error
    run = minilm.run(TEXT, switches=Switches(mask="custom", mask_rows=ROWS))
    np.testing.assert_array_equal(grid_weights(app), run.trace(run.calls[0]).weights[0].numpy())  # type: ignore[index]
    np.testing.assert_array_equal(grid_weights(app)[0] > 0, [[sign == "1" for sign in row] for row in ROWS.split("/")])
    assert "mask from the mask lab" in html(app)
    assert "From the mask lab" in control(app, "model_mask").options
    assert link_of(app)["model_mask"] == "custom"
    assert "n/a" in html(app)  # the example pairs have other lengths


def test_a_mask_that_does_not_fit_says_so_and_the_picture_stays(minilm: Model) -> None:
    good = visit(text=TEXT, **CUSTOM)
    drawn = grid_weights(good)
    app = choose(good, text="the cat sat")
    assert not app.exception
    messages = [error.value for error in app.error]
    assert len(messages) == 2  # below the text, and at the mask
    assert all("the mask is 8 × 8 and the text has 5 tokens" in message for message in messages)
    np.testing.assert_array_equal(grid_weights(app), drawn)


def test_without_a_drawing_there_is_no_such_mask() -> None:
    app = visit(text=TEXT, model_mask="custom")
    assert not app.exception
    assert control(app, "model_mask").value == "model"
    assert "From the mask lab" not in control(app, "model_mask").options
    assert any("model_mask" in warning.value for warning in app.warning)


def test_the_lab_sends_to_the_model_where_the_text_fits(minilm: Model) -> None:
    app = visit(text=TEXT)
    app = press(lab(app, parts="causal", q_len="8", k_len="8"), "mask_lab_send")
    assert control(app, "source").value == "all-MiniLM-L6-v2" and control(app, "text").value == TEXT
    np.testing.assert_array_equal(grid_weights(app) > 0, np.broadcast_to(np.tril(np.ones((8, 8), bool)), (12, 8, 8)))
    app = press(lab(visit(text=TEXT), parts="causal", q_len="7", k_len="7"), "mask_lab_send")
    assert control(app, "source").value == "from-scratch"


def test_the_switches_act_in_the_chosen_layers_alone(minilm: Model) -> None:
    app = visit(text=TEXT, scaling="off", switch_layers="2 4", layer="2")
    assert not app.exception
    run = minilm.run(TEXT, switches=Switches(scaling=False, layers=frozenset({2, 4})))
    np.testing.assert_array_equal(grid_weights(app), run.trace(run.calls[2]).weights[0].numpy())  # type: ignore[index]
    assert "scaling off, in layers 2, 4 only" in html(app)
    everywhere = minilm.run(TEXT, switches=Switches(scaling=False))
    assert np.abs(grid_weights(app) - everywhere.trace(run.calls[2]).weights[0].numpy()).max() > 0.01  # type: ignore[index]
    unknown = visit(text=TEXT, switch_layers="2 77")
    assert control(unknown, "switch_layers").value == ["2"]
    assert any("switch_layers" in warning.value for warning in unknown.warning)


def test_a_head_can_be_replaced_by_its_mean(minilm: Model) -> None:
    off = frozenset({("encoder.1", 3), ("encoder.4", 7)})
    app = visit(text=TEXT, heads_off="encoder.1:3 encoder.4:7", ablation="mean")
    assert not app.exception
    assert "heads off: layer 1, head 3, layer 4, head 7, by their mean" in html(app)
    own = answer_of(minilm, Switches())
    mean, zero = (answer_of(minilm, Switches(heads_off=off, ablation=kind)) for kind in ("mean", "zero"))
    cosine = float(torch.nn.functional.cosine_similarity(own, mean))
    assert f"{cosine:.4f}" in html(app)
    assert f"{cosine:.4f}" != f"{float(torch.nn.functional.cosine_similarity(own, zero)):.4f}"
    reset = press(app, "explore_reset_here")
    assert control(reset, "ablation").value == "zero" and control(reset, "heads_off").value == []
