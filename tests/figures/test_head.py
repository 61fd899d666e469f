"""One head: the drawn values, marks and hover texts of every stage."""

import numpy as np
import pytest

from tests.figures.spec import array, notes, overlay, spec
from viz.figures import FigureWords, head_heatmap, theme

STAGES = ("scores", "scaled", "capped", "logits", "weights")


def names(count: int) -> list[str]:
    return [f"tok{i}" for i in range(count)]


@pytest.fixture
def stages() -> dict[str, np.ndarray]:
    """All stages of one head, 5 queries, 7 keys, d_k 11, causal with the last query seeing all."""
    allowed = np.tril(np.ones((5, 7), bool), k=2)
    scores = np.random.default_rng(11).normal(size=(5, 7)).astype(np.float32) * 4
    scaled = (scores / np.sqrt(np.float32(11))).astype(np.float32)
    logits = np.where(allowed, scaled, -np.inf).astype(np.float32)
    raised = np.exp(logits)
    weights = (raised / raised.sum(-1, keepdims=True)).astype(np.float32)
    return {
        "scores": scores,
        "scaled": scaled,
        "capped": scaled,
        "logits": logits,
        "weights": weights,
        "allowed": allowed,
    }


def draw(stages: dict, stage: str, **options) -> dict:
    others = {name: values for name, values in stages.items() if name not in (stage, "allowed")}
    figure = head_heatmap(
        stages[stage],
        stage=stage,
        query_tokens=names(5),
        key_tokens=names(7),
        allowed=stages["allowed"],
        **others,
        **options,
    )
    return spec(figure)


@pytest.mark.parametrize("stage", STAGES)
def test_the_map_is_the_stage_and_hover_has_the_others(stages: dict, stage: str) -> None:
    main = draw(stages, stage)["data"][0]
    z = array(main["z"])
    assert z.dtype == np.float32
    finite = np.isfinite(stages[stage])
    np.testing.assert_array_equal(z[finite], stages[stage][finite])
    assert np.isnan(z[~finite]).all()
    others = [name for name in STAGES if name != stage]
    customdata = array(main["customdata"])
    assert customdata.dtype == np.float32
    words = FigureWords()
    for i, name in enumerate(others):
        np.testing.assert_array_equal(customdata[..., i], stages[name])
        word = words.weight if name == "weights" else getattr(words, name)
        assert f"<br>{word}: %{{customdata[{i}]:.9~g}}" in main["hovertemplate"]
    np.testing.assert_array_equal(array(main["hovertext"]), np.where(stages["allowed"], "yes", "no"))


@pytest.mark.parametrize("stage", ["scores", "scaled", "capped", "logits"])
def test_signed_stages_are_centred_on_0(stages: dict, stage: str) -> None:
    drawn = draw(stages, stage)
    axis = drawn["layout"]["coloraxis"]
    finite = stages[stage][np.isfinite(stages[stage])]
    assert axis["cmax"] == -axis["cmin"] == float(np.abs(finite).max())
    assert axis["colorscale"][4][1] == theme.DIVERGING[4] and len(axis["colorscale"]) == 9
    assert "centred on 0" in notes(drawn)


def test_blocked_logits_are_grey_and_hatched_and_hover_says_minus_infinity(stages: dict) -> None:
    drawn = draw(stages, "logits")
    (layer,) = [trace for trace in drawn["data"] if (trace.get("meta") or {}).get("value") == "-inf"]
    np.testing.assert_array_equal(np.isnan(array(layer["z"])), stages["allowed"])
    assert "logit: -inf" in layer["hovertemplate"]
    svg = overlay(drawn)
    assert "url(#forbidden)" in svg and "url(#neg_inf)" not in svg


def test_minus_infinity_where_attention_is_allowed_has_a_glyph(stages: dict) -> None:
    stages["logits"][4, 1] = -np.inf  # by a bias, not by the mask
    svg = overlay(draw(stages, "logits"))
    assert "url(#neg_inf)" in svg


def test_leaks_show_at_every_stage(stages: dict) -> None:
    stages["weights"][0, 6] = 1e-20
    for stage in STAGES:
        drawn = draw(stages, stage)
        assert theme.LEAK in overlay(drawn)
        assert array(drawn["data"][0]["hovertext"])[0, 6] == "leak"


def test_numbers_in_cells_never_say_0_for_what_is_not_0(stages: dict) -> None:
    stages["weights"][4] = [1e-4, 0, 1e-9, np.nan, 0.006, 0.25, 0.9999]
    stages["weights"][0, 6] = 3e-3
    main = draw(stages, "weights")["data"][0]
    text = array(main["text"])
    assert main["texttemplate"] == "%{text}"
    assert text[4].tolist() == ["<.01", "", "", "", "0.01", "0.25", "1.00"]
    assert text[0, 6] == "<.01"
    assert text[0, 3] == ""  # forbidden and 0: the hatch says it
    assert "0.00" not in text


def test_no_numbers_above_12_tokens_or_where_not_wanted(stages: dict) -> None:
    assert "texttemplate" not in draw(stages, "weights", numbers_in_cells=False)["data"][0]
    weights = np.full((13, 13), 1 / 13)
    drawn = spec(head_heatmap(weights, query_tokens=names(13), key_tokens=names(13)))
    assert "texttemplate" not in drawn["data"][0]


def test_five_kinds_of_nothing_have_five_marks() -> None:
    """C150: masked, NaN, infinite, exactly 0 and tiny."""
    weights = np.array([[0.0, np.nan, np.inf, 0.0, 1e-7]], np.float32)
    allowed = np.array([[False, True, True, True, True]])
    drawn = spec(head_heatmap(weights, query_tokens=["q"], key_tokens=names(5), allowed=allowed))
    svg = overlay(drawn)
    found = {mark: svg.index(f"fill='url(#{mark})'") for mark in ("forbidden", "nan", "pos_inf", "zero", "tiny")}
    paths = {mark: svg[start:].split("href='#")[1][:2] for mark, start in found.items()}
    definitions = {mark: svg.split(f"id='{path}' d='")[1].split("'")[0] for mark, path in paths.items()}
    assert definitions == {
        "forbidden": "M0 0h1v1h-1z", "nan": "M1 0h1v1h-1z", "pos_inf": "M2 0h1v1h-1z", "zero": "M3 0h1v1h-1z",
        "tiny": "M4 0h1v1h-1z",
    }  # fmt: skip


def test_log_scale_gives_zero_no_colour() -> None:
    weights = np.array([[1.0, 0.0, 1e-3, 1e-9]], np.float32)
    drawn = spec(head_heatmap(weights, query_tokens=["q"], key_tokens=names(4), scale="log"))
    np.testing.assert_allclose(array(drawn["data"][0]["z"]), [[0, np.nan, -3, -6]], atol=1e-6)  # float32 log10
    (layer,) = [trace for trace in drawn["data"] if (trace.get("meta") or {}).get("value") == "0"]
    assert "weight: 0" in layer["hovertemplate"]
    np.testing.assert_array_equal(array(drawn["data"][0]["customdata"])[..., 0], weights)
    assert "log10" in notes(drawn)


def test_up_to_256_tokens_values_are_exact_above_they_are_pooled_and_said() -> None:
    weights = np.random.default_rng(2).random((256, 256)).astype(np.float32)
    drawn = spec(head_heatmap(weights, query_tokens=names(256), key_tokens=names(256)))
    np.testing.assert_array_equal(array(drawn["data"][0]["z"]), weights)
    assert (
        len(head_heatmap(weights, query_tokens=names(256), key_tokens=names(256)).to_json()) < 480_000
    )  # 256 x 256 float32 in base64 are 350 kB, the slashes in it are escaped
    scores = np.random.default_rng(2).normal(size=(257, 521)).astype(np.float32)
    drawn = spec(head_heatmap(scores, stage="scores", query_tokens=names(257), key_tokens=names(521)))
    z = array(drawn["data"][0]["z"])
    assert z.shape == (129, 174)
    for i in range(5):
        for j in range(7):
            block = scores[2 * i : 2 * i + 2, 3 * j : 3 * j + 3].ravel()
            assert z[i, j] == block[np.abs(block).argmax()]
    assert (z < 0).any()
    assert "each cell: the largest of 2 x 3 tokens" in notes(drawn)


def test_sixty_tokens_all_have_a_label() -> None:
    """C145."""
    weights = np.full((60, 60), 1 / 60)
    drawn = spec(head_heatmap(weights, query_tokens=names(60), key_tokens=names(60), width=900))
    assert drawn["layout"]["xaxis"]["dtick"] == drawn["layout"]["yaxis"]["dtick"] == 1
    assert "every label shown" in notes(drawn)
    drawn = spec(head_heatmap(weights, query_tokens=names(60), key_tokens=names(60), width=390))
    assert drawn["layout"]["xaxis"]["dtick"] > 1
    assert "every label shown" not in notes(drawn)


def test_uniform_maps_differ_by_their_value() -> None:
    """C149."""
    for value in (0.25, 0.9):
        drawn = spec(head_heatmap(np.full((2, 2), value), query_tokens=["a", "b"], key_tokens=["a", "b"]))
        assert (drawn["layout"]["coloraxis"]["cmin"], drawn["layout"]["coloraxis"]["cmax"]) == (0, 1)
        assert array(drawn["data"][0]["z"])[0, 0] == np.float32(value)


def test_row_0_is_at_the_top() -> None:
    """C144."""
    drawn = spec(head_heatmap(np.tril(np.ones((3, 3))), query_tokens=["q0", "q1", "q2"], key_tokens=["k0", "k1", "k2"]))
    assert drawn["layout"]["yaxis"]["range"] == [2.5, -0.5]
    assert drawn["layout"]["yaxis"]["categoryarray"] == ["0 q0", "1 q1", "2 q2"]
    assert drawn["layout"]["xaxis"]["categoryarray"] == ["0 k0", "1 k1", "2 k2"]
    assert array(drawn["data"][0]["z"]).tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]


def test_background_is_the_page_and_font_colour_is_not_set(stages: dict) -> None:
    layout = draw(stages, "weights")["layout"]
    assert layout["paper_bgcolor"] == layout["plot_bgcolor"] == "rgba(0,0,0,0)"
    assert "color" not in layout["font"]


@pytest.mark.parametrize(
    "change,error,message",
    [
        ({"values": np.zeros((2, 3, 3))}, ValueError, "choose one head"),
        ({"stage": "attention"}, ValueError, "stage must be one of scores, scaled, capped, logits, weights"),
        ({"scale": "max"}, ValueError, "scale must be one of"),
        ({"scale": "max", "stage": "scores"}, ValueError, "scale must be one of"),
        ({"scores": np.zeros((3, 2))}, ValueError, "scores must have the shape of values"),
        ({"allowed": np.ones((3, 3), int)}, TypeError, "allowed must be bool"),
        ({"key_tokens": ["a"]}, ValueError, "need one key token per column"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_in_a_sentence(change: dict, error: type, message: str) -> None:
    good = {"values": np.full((3, 3), 1 / 3), "query_tokens": names(3), "key_tokens": names(3)}
    with pytest.raises(error, match=message):
        head_heatmap(**(good | change))
