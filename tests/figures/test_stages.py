"""All stages of a head beside each other: what is sent, what is marked, what is said."""

import numpy as np
import pytest

from tests.figures.spec import array, notes, spec
from viz.figures.stages import EXACT_TOKENS, MOST_TOKENS, stage_panels

NAMES = ("scores", "scaled", "capped", "logits", "weights", "weighted")


def stages(q_len: int = 5, k_len: int = 7, seed: int = 0) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(seed)
    found = {name: generator.normal(size=(q_len, k_len)).astype(np.float32) for name in NAMES[:4]}
    weights = np.exp(found["logits"])
    found["weights"] = (weights / weights.sum(axis=-1, keepdims=True)).astype(np.float32)
    found["weighted"] = found["weights"] * np.float32(3)
    return found


def draw(values: dict[str, np.ndarray], **changes) -> dict:
    q_len, k_len = next(iter(values.values())).shape
    tokens = {"query_tokens": [f"q{i}" for i in range(q_len)], "key_tokens": [f"k{j}" for j in range(k_len)]}
    return spec(stage_panels(values, **(tokens | changes)))


def maps(drawn: dict) -> list[dict]:
    return [trace for trace in drawn["data"] if "stage" in (trace.get("meta") or {})]


def test_each_stage_is_a_map_of_its_own_scale_with_its_float32_values():
    values = stages()
    drawn = draw(values)
    assert [trace["meta"]["stage"] for trace in maps(drawn)] == list(NAMES)
    for trace, (name, stage) in zip(maps(drawn), values.items(), strict=True):
        np.testing.assert_array_equal(array(trace["z"]), stage)
        axis = drawn["layout"][trace["coloraxis"]]
        if name == "weights":
            assert (axis["cmin"], axis["cmax"]) == (0, 1)
        elif name == "weighted":
            assert (axis["cmin"], axis["cmax"]) == (0, float(stage.max()))
        else:
            assert -axis["cmin"] == axis["cmax"] == float(np.abs(stage).max())
    places = {(trace["xaxis"], trace["yaxis"]) for trace in maps(drawn)}
    assert places == {(x, y) for x in ("x", "x2", "x3") for y in ("y", "y2")}
    for _, y in places:
        low, high = drawn["layout"][f"yaxis{y[1:]}"]["range"]
        assert low > high  # row 0 at the top


@pytest.mark.parametrize("count", range(1, 7))
def test_any_number_of_stages_lies_inside_the_figure(count):
    drawn = draw(dict(list(stages().items())[:count]), selected=(0, 0))
    assert len(maps(drawn)) == count
    domains = [axis["domain"] for name, axis in drawn["layout"].items() if name[1:].startswith("axis")]
    assert domains and all(0 <= low < high <= 1 for low, high in domains)


def test_c139_repeated_tokens_keep_their_columns():
    drawn = draw(stages(), key_tokens=["the", "cat", "the", "dog", "the", "the", "10"])
    categories = drawn["layout"]["xaxis"]["categoryarray"]
    assert len(set(categories)) == 7 and drawn["layout"]["xaxis"]["type"] == "category"


def test_the_chosen_cell_is_framed_in_every_map_and_in_its_block():
    drawn = draw(stages(), selected=(3, 6))
    frames = [shape for shape in drawn["layout"]["shapes"] if shape["name"] == "selected"]
    assert len(frames) == 12  # a halo and a line each
    assert {(f["x0"], f["x1"], f["y0"], f["y1"]) for f in frames} == {(5.5, 6.5, 2.5, 3.5)}
    q_len, k_len = 131, 257
    drawn = draw(stages(q_len, k_len), selected=(130, 256))
    assert maps(drawn)[0]["meta"]["block"] == [2, 3]
    frames = [shape for shape in drawn["layout"]["shapes"] if shape["name"] == "selected"]
    assert {(f["x0"], f["y0"]) for f in frames} == {(84.5, 64.5)}


def test_above_some_tokens_a_cell_is_a_colour_and_the_figure_says_so():
    values = stages(EXACT_TOKENS + 1, 11)
    values["scores"][2, 3] = np.nan
    drawn = draw(values)
    for trace, (name, stage) in zip(maps(drawn), values.items(), strict=True):
        steps = array(trace["z"])
        assert steps.dtype == np.uint8
        low, high = (0, 1) if name == "weights" else (0, np.nanmax(stage))
        if name not in ("weights", "weighted"):
            low, high = -np.nanmax(np.abs(stage)), np.nanmax(np.abs(stage))
        known = ~np.isnan(stage)
        np.testing.assert_array_equal(steps[known], np.rint((stage[known] - low) / (high - low) * 254))
        axis = drawn["layout"][trace["coloraxis"]]
        assert (axis["cmin"], axis["cmax"]) == (0, 255)
    assert array(maps(drawn)[0]["z"])[2, 3] == 255
    assert "255 steps" in notes(drawn) and "255 steps" not in notes(draw(stages(EXACT_TOKENS, 11)))


def test_c165_a_long_text_is_pooled_named_and_light():
    values = stages(2 * MOST_TOKENS, 2 * MOST_TOKENS)
    figure = stage_panels(values, query_tokens=["a"] * 256, key_tokens=["b"] * 256)
    drawn = spec(figure)
    assert all(array(trace["z"]).shape == (MOST_TOKENS, MOST_TOKENS) for trace in maps(drawn))
    assert "2 x 2 tokens" in notes(drawn)
    assert len(figure.to_json()) < 250_000
    block = values["scores"][:2, :2].ravel()
    most = block[np.abs(block).argmax()]
    limit = np.abs(values["scores"]).max()
    assert array(maps(drawn)[0]["z"])[0, 0] == np.rint((most + limit) / (2 * limit) * 254)


def test_c150_forbidden_leaking_and_broken_cells_keep_their_marks():
    values = stages()
    allowed = np.tril(np.ones((5, 7), bool), 2)
    values["logits"] = np.where(allowed, values["logits"], -np.inf).astype(np.float32)
    values["weights"] = np.where(allowed, values["weights"], 0).astype(np.float32)
    values["weights"][0, 6] = 0.25
    values["weighted"][4, 0] = np.nan
    drawn = draw(values, allowed=allowed, selected=(0, 0))
    names = {trace.get("name") for trace in drawn["data"] if trace.get("showlegend")}
    assert {"not allowed", "leak: not allowed, yet weight is not 0", "not a number"} <= names
    assert "-infinity" not in names  # where a logit is not allowed, -inf is no news
    assert len(drawn["layout"]["images"]) == 6
    assert {(image["xref"], image["yref"]) for image in drawn["layout"]["images"]} == {
        (x, y) for x in ("x", "x2", "x3") for y in ("y", "y2")
    }


def test_what_does_not_fit_is_refused():
    values = stages()
    with pytest.raises(ValueError, match=r"stages must be among .*: got 'softmax'"):
        draw({"softmax": values["weights"]})
    with pytest.raises(ValueError, match=r"stages need one shape: got \(5, 7\) and \(7, 5\) \(weights\)"):
        draw({"scores": values["scores"], "weights": values["weights"].T})
    with pytest.raises(ValueError, match="at least one stage"):
        stage_panels({}, query_tokens=[], key_tokens=[])
    with pytest.raises(IndexError, match="key must be one of 7: got 7"):
        draw(values, selected=(0, 7))
    with pytest.raises(ValueError, match="choose one head"):
        stage_panels({"scores": np.zeros((2, 3, 3))}, query_tokens=["a"] * 3, key_tokens=["a"] * 3)
    with pytest.raises(TypeError, match="allowed must be bool"):
        draw(values, allowed=np.ones((5, 7)))
