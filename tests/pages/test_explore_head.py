"""The view of one head: every stage drawn, one cell marked in all, its arithmetic equal to the core's."""

import math
import re

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from attention_core.diagnostics import weighted_norms
from attention_core.from_scratch import run_from_scratch
from attention_core.pretrained import Model, Switches
from tests.pages.test_explore import SCRATCH, _config, array, choose, control, figures, html, visit

pytestmark = pytest.mark.usefixtures("minilm_folder")

SENTENCE = "the cat sat on the mat"


def drawn(app: AppTest) -> dict[str, np.ndarray]:
    """Stage -> (q_len, k_len) as it is coloured."""
    data = figures(app)["stages"]["data"]
    return {trace["meta"]["stage"]: array(trace["z"]) for trace in data if "stage" in (trace.get("meta") or {})}


def steps(app: AppTest) -> dict[str, tuple[str, str]]:
    """Step -> formula and result as they are written."""
    rows = re.findall(r'<tr class="step-(\w+)"><th>.*?</th><td>(.*?)</td><td>= (.*?)</td></tr>', html(app))
    return {step: (formula, result) for step, formula, result in rows}


def value(text: str) -> float:
    text = text.replace("−", "-").replace("∞", "inf")
    return math.nan if text == "NaN" else float(text)


def results(app: AppTest) -> dict[str, float]:
    return {step: value(result) for step, (_, result) in steps(app).items()}


def test_all_stages_are_those_of_the_core_and_the_cell_is_marked_in_each(minilm: Model):
    app = visit(view="stages", text=SENTENCE, layer="2", head="5", cell_query="3", cell_key="6")
    assert not app.exception and not app.warning
    run = minilm.run(SENTENCE)
    call = run.calls[2]
    trace, inputs = run.trace(call), run.inputs[call.name]
    expected = {name: getattr(trace, name)[0, 5].numpy() for name in ("scores", "scaled", "logits", "weights")}
    expected["weighted"] = weighted_norms(trace.weights, inputs.value)[0, 5].numpy()
    found = drawn(app)
    assert list(found) == list(expected)
    for name, stage in expected.items():
        # one head alone may be summed in another order than twelve at once
        np.testing.assert_allclose(found[name], stage, rtol=1e-5, atol=1e-6)
    frames = [shape for shape in figures(app)["stages"]["layout"]["shapes"] if shape["name"] == "selected"]
    assert {(f["x0"], f["y0"], f["x1"], f["y1"]) for f in frames} == {(5.5, 2.5, 6.5, 3.5)}
    assert len({(f["xref"], f["yref"]) for f in frames}) == 5

    written = results(app)
    assert list(written) == ["score", "scaled", "mask", "exp", "softmax", "weighted"]
    logits = trace.logits[0, 5, 3]
    wanted = {
        "score": expected["scores"][3, 6], "scaled": expected["scaled"][3, 6], "mask": expected["logits"][3, 6],
        "exp": torch.exp(logits - logits.max())[6].item(), "softmax": expected["weights"][3, 6],
        "weighted": expected["weighted"][3, 6],
    }  # fmt: skip
    for name, number in wanted.items():
        assert written[name] == pytest.approx(float(number), rel=1e-5), name  # seven digits are written
    query, key = inputs.query[0, 5, 3], inputs.key[0, 5, 6]
    largest = (query * key).abs().argmax()
    cells = re.findall(r'<td class="right">(.*?)</td>', html(app))
    assert [value(cell) for cell in cells[:4]] == pytest.approx(
        [float(largest), float(query[largest]), float(key[largest]), float(query[largest] * key[largest])], rel=1e-6
    )


def test_another_cell_by_the_choosers(minilm: Model):
    app = choose(visit(view="stages", text=SENTENCE), cell_query=7, cell_key=0, head=11)
    run = minilm.run(SENTENCE)
    assert results(app)["softmax"] == pytest.approx(run.trace(run.calls[0]).weights[0, 11, 7, 0].item(), rel=1e-5)
    assert app.query_params["cell_query"] == "7" and app.query_params["cell_key"] == "0"
    assert "query 7 [SEP] → key 0 [CLS]" in html(app)


def test_every_switch_is_a_step(minilm: Model):
    switches = {"scaling": "off", "softcap": "3", "temperature": "2"}
    app = visit(view="stages", text=SENTENCE, cell_query="1", cell_key="4", **switches)
    run = minilm.run(SENTENCE, switches=Switches(scaling=False, softcap=3.0, temperature=2.0))
    trace = run.trace(run.calls[0])
    assert list(drawn(app)) == ["scores", "scaled", "capped", "logits", "weights", "weighted"]
    formula, result = steps(app)["capped"]
    assert formula.startswith("1.5 × tanh(")  # cap and scale over the temperature
    assert value(result) == pytest.approx(trace.capped[0, 0, 1, 4].item(), rel=1e-5)
    assert steps(app)["scaled"][0].endswith("× 0.5")


def test_a_bias_is_a_step():
    app = visit(**SCRATCH, view="stages", text="a b c d e", position="alibi", cell_query="3", cell_key="1")
    run = run_from_scratch("a b c d e", _config(position="alibi"))
    bias = run.inputs[run.calls[0].name].bias.expand(1, 4, 5, 5)[0, 0, 3, 1].item()
    formula, result = steps(app)["bias"]
    assert value(formula.split(" + ")[1]) == pytest.approx(bias, rel=1e-6)
    assert value(result) == pytest.approx(run.trace(run.calls[0]).logits[0, 0, 3, 1].item(), rel=1e-5)


def test_a_masked_cell_is_told_as_one():
    app = visit(**SCRATCH, view="stages", text="a b c d e", mask="causal", cell_query="1", cell_key="3")
    written = steps(app)
    assert written["mask"] == ("not allowed: −∞", "−∞")
    assert written["exp"][1] == "0" and written["softmax"][1] == "0" and written["weighted"][1] == "0"
    assert any("2 of 5 keys" in caption.value for caption in app.caption)


def test_a_cell_that_a_switch_blocks_says_so(minilm: Model):
    app = visit(view="stages", text=SENTENCE, model_mask="causal", cell_query="1", cell_key="3")
    assert any("a switch blocks it" in caption.value for caption in app.caption)


def test_an_empty_row_is_zero_by_rule():
    app = visit(**SCRATCH, view="stages", text="a b c d e", mask="padding", mask_count="2", mask_side="left",
                cell_query="0", cell_key="0")  # fmt: skip
    app = choose(app, mask="causal+padding")
    written = steps(app)
    assert "exp" not in written
    assert written["softmax"] == ("none of 7 keys may be read: 0 by rule", "0")


def test_a_place_from_a_link_that_is_not_there_is_named_and_the_default_moves_quietly():
    app = visit(**SCRATCH, view="stages", text="a")
    assert not app.warning and control(app, "cell_query").value == 0
    app = visit(**SCRATCH, view="stages", text="a b c", cell_key="77")
    assert any("cell_key" in warning.value for warning in app.warning)
    assert control(app, "cell_key").value == 2


def test_c156_the_choosers_show_the_token_itself():
    app = visit(**SCRATCH, view="stages", text="*a* $x$ :smile: `c` <s>", tokens="spaces")
    assert list(control(app, "cell_query").options) == ["0 *a*", "1 $x$", "2 :smile:", "3 `c`", "4 <s>"]


def test_c165_a_long_text_sends_colours_and_says_so():
    app = visit(**SCRATCH, view="stages", text=" ".join(f"w{i}" for i in range(200)), cell_query="150", cell_key="33")
    spec = figures(app)["stages"]
    assert all(part.shape == (100, 100) and part.dtype == np.uint8 for part in drawn(app).values())
    assert "2 x 2 tokens" in spec["layout"]["title"]["text"] and "255 steps" in spec["layout"]["title"]["text"]
    run = run_from_scratch(" ".join(f"w{i}" for i in range(200)), _config())
    assert results(app)["softmax"] == pytest.approx(run.trace(run.calls[0]).weights[0, 0, 150, 33].item(), rel=1e-5)
