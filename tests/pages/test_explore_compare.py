"""The view of two beside each other: B - A cell by cell, the largest in words, or no map where cells do not match."""

import json
import math
import re

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from attention_core.compare import signed_difference
from attention_core.pretrained import Model, Switches
from tests.pages.test_explore import SCRATCH, array, choose, control, figures, html, visit
from viz.pages.explore_kept import unpacked

pytestmark = pytest.mark.usefixtures("minilm_folder")

SENTENCE = "the cat sat on the mat"


def drawn(app: AppTest) -> dict[str, np.ndarray]:
    """The maps of A, B and B - A, as far as they are drawn."""
    found = {name.removeprefix("compare_"): spec for name, spec in figures(app).items() if name.startswith("compare_")}
    for name in ("first", "second"):
        axis = found[name]["layout"]["coloraxis"]
        assert (axis["cmin"], axis["cmax"]) == (0, 1)
    return {name: array(spec["data"][0]["z"]) for name, spec in found.items()}


def changes(app: AppTest) -> list[str]:
    return re.findall(r"<li><bdi>(.*?)</bdi></li>", html(app))


def click(app: AppTest, name: str) -> AppTest:
    return next(button for button in app.button if button.key == f"explore_{name}").click().run()


def linked(app: AppTest) -> dict[str, str]:
    return {name: str(value) for name, value in app.query_params.items()}


def weights(model: Model, text: str, layer: int, head: int, **switches) -> np.ndarray:
    run = model.run(text, switches=Switches(**switches))
    return run.trace(run.calls[layer]).weights[0, head].numpy()


def test_switches_against_the_model_as_it_is(minilm: Model):
    app = visit(view="compare", text=SENTENCE, scaling="off", layer="1", head="4")
    assert not app.exception and not app.error and not app.warning
    maps = drawn(app)
    one, other = weights(minilm, SENTENCE, 1, 4), weights(minilm, SENTENCE, 1, 4, scaling=False)
    np.testing.assert_allclose(maps["first"], one, atol=1e-6)  # a head alone may be summed in another order
    np.testing.assert_allclose(maps["second"], other, atol=1e-6)
    np.testing.assert_allclose(maps["difference"], maps["second"] - maps["first"], atol=1e-7)
    axis = figures(app)["compare_difference"]["layout"]["coloraxis"]
    assert axis["cmin"] == -axis["cmax"] == -np.abs(maps["difference"]).max()
    tokens = ["[CLS]", *SENTENCE.split(), "[SEP]"]
    size = np.abs(other - one)
    query, key = np.unravel_index(size.argmax(), size.shape)
    line = changes(app)[0].replace("−", "-")
    assert line.startswith(f"row {query} {tokens[query]} → key {key} {tokens[key]}: ")
    first, second, change = (float(part) for part in re.split(" → |, ", line.split(": ")[1]))
    assert (first, second, change) == pytest.approx(
        (one[query, key], other[query, key], (other - one)[query, key]), rel=6e-3
    )  # three digits
    listed = [abs(float(text.replace("−", "-").rpartition(", ")[2])) for text in changes(app)]
    assert len(listed) == 8 and listed == sorted(listed, reverse=True)


def test_nothing_switched_is_said():
    app = visit(view="compare", text=SENTENCE)
    assert any("A and B are one" in info.value for info in app.info) and "compare_first" not in figures(app)


def test_a_kept_state_is_compared_with_and_travels_in_the_link(minilm: Model):
    app = click(visit(view="compare", against="kept", text=SENTENCE, model_mask="causal", head="2", layer="3"), "keep")
    assert any("same, up to rounding" in success.value for success in app.success)
    app = choose(app, head=7, temperature=0.5)
    maps = drawn(app)
    np.testing.assert_allclose(maps["first"], weights(minilm, SENTENCE, 3, 2, mask="causal"), atol=1e-6)
    expected = weights(minilm, SENTENCE, 3, 7, mask="causal", temperature=0.5)
    np.testing.assert_allclose(maps["second"], expected, atol=1e-6)
    again = visit(**linked(app))
    for name, values in drawn(again).items():
        np.testing.assert_array_equal(values, maps[name])
    app = click(app, "forget")
    assert any("Nothing is kept yet" in info.value for info in app.info) and "kept" not in app.query_params


@pytest.mark.parametrize(
    "kept", ["x", "{}", '{"text": "a", "source": "b", "layer": "x"}', '{"text": "a", "source": "b", "q": "1"}']
)
def test_nonsense_that_is_kept_ends_in_a_sentence(kept):
    app = visit(view="compare", against="kept", text=SENTENCE, kept=kept)
    assert not app.exception
    assert any("A could not be computed" in error.value for error in app.error)


def test_what_is_kept_is_every_setting():
    state = {
        "text": "a\nb",
        "source": "from-scratch",
        "heads_off": "encoder.0:1 encoder.1:2",
        "temperature": "0.5",
        "lines": "1",
    }
    values = unpacked(json.dumps(state))
    assert values["heads_off"] == ["encoder.0:1", "encoder.1:2"] and values["lines"] is True
    assert values["temperature"] == 0.5 and values["scaling"] == "default"
    with pytest.raises(ValueError, match="holds settings with text and source"):
        unpacked('["text", "source"]')


def test_another_text_of_as_many_tokens_is_compared_by_position(minilm: Model):
    app = visit(view="compare", against="text", text=SENTENCE, other_text="the dog sat on the rug")
    maps = drawn(app)
    np.testing.assert_allclose(maps["first"], weights(minilm, "the dog sat on the rug", 0, 0), atol=1e-6)
    np.testing.assert_allclose(maps["difference"], maps["second"] - maps["first"], atol=1e-7)
    assert any("2 tokens differ at their place" in caption.value for caption in app.caption)
    assert any("dog / cat" in line for line in changes(app))


def test_texts_of_unlike_length_have_numbers_and_no_map(minilm: Model):
    app = visit(view="compare", against="text", text=SENTENCE, other_text="the dog")
    assert set(drawn(app)) == {"first", "second"} and not changes(app)
    assert any("A has 4 tokens and B has 8" in info.value for info in app.info)
    table = re.search(r'numbers compared">(.*?)</table>', html(app))
    assert table is not None
    rows = [re.findall(r"<td.*?>(.*?)</td>", row) for row in table[1].split("<tr>")[2:]]
    for name, one, other, change in rows:
        values = [float(part.replace("−", "-")) for part in (one, other, change)]
        assert values[2] == pytest.approx(values[1] - values[0], rel=0.01, abs=2e-3), name


def test_another_head_of_another_layer(minilm: Model):
    app = visit(view="compare", against="head", text=SENTENCE, layer="2", head="1", other_layer="5", other_head="11")
    maps = drawn(app)
    np.testing.assert_allclose(maps["first"], weights(minilm, SENTENCE, 5, 11), atol=1e-6)
    np.testing.assert_allclose(maps["second"], weights(minilm, SENTENCE, 2, 1), atol=1e-6)


def test_another_model_reads_the_same_text():
    app = visit(view="compare", against="model", text=SENTENCE)
    assert not app.exception and not app.error
    sources = control(app, "other_source").options
    assert "From-scratch core" in sources
    app = choose(app, other_source="from-scratch")
    assert drawn(app)["first"].shape == (6, 6)  # MiniLM adds two tokens
    assert any("A has 6 tokens and B has 8" in info.value for info in app.info)


def test_masks_from_scratch_against_none():
    app = visit(**SCRATCH, view="compare", text="a b c d", mask="causal")
    assert "Mask: None" in html(app) and "Mask: Causal" in html(app)
    difference = drawn(app)["difference"]
    assert (difference[np.triu_indices(4, 1)] < 0).all()
    assert (difference[:3][np.tril_indices(3)] > 0).all() and not difference[3].any()  # the last may see all anyway


def test_a_number_in_one_alone_is_a_difference_and_in_both_is_none():
    nan, inf = math.nan, math.inf
    first, second = torch.tensor([nan, nan, 1.0, inf, -inf]), torch.tensor([nan, 1.0, nan, inf, 2.0])
    found = signed_difference(first, second)
    assert found.dtype == torch.float64
    torch.testing.assert_close(found, torch.tensor([0.0, nan, nan, 0.0, inf], dtype=torch.float64), equal_nan=True)
