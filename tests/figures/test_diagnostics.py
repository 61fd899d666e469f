"""Diagnostics per head: each point is the number that came in, n/a where there is none."""

import json

import numpy as np
import pytest

from tests.figures.spec import array, notes, spec
from viz.figures import entropy_and_top_weight, saturation_per_head, score_histogram, theme, variance_per_head

RAW, RAW_THEORY = np.array([64.0, 32.0, 128.0]), np.array([60.0, 30.0, 100.0])


def points(drawn: dict) -> dict[str, tuple[list, list]]:
    return {
        trace["name"]: (trace["x"], array(trace["y"]).tolist())
        for trace in drawn["data"]
        if trace["type"] == "scatter" and trace.get("mode") == "markers"
    }


def test_variances_are_points_on_a_log_axis() -> None:
    drawn = spec(variance_per_head(RAW, RAW_THEORY, RAW / 64, RAW_THEORY / 64))
    heads = ["Head 0", "Head 1", "Head 2"]
    assert points(drawn) == {
        "raw, measured": (heads, [64, 32, 128]),
        "raw, theory": (heads, [60, 30, 100]),
        "scaled, measured": (heads, [1, 0.5, 2]),
        "scaled, theory": (heads, [0.9375, 0.46875, 1.5625]),
    }
    axis = drawn["layout"]["yaxis"]
    assert axis["type"] == "log"
    assert 10 ** axis["range"][0] < 0.46875 and 10 ** axis["range"][1] > 128
    assert drawn["layout"]["shapes"][0]["y0"] == 1
    assert theme.LEAK not in json.dumps(drawn)


def test_scaling_off_changes_colour_name_and_says_so() -> None:
    drawn = spec(variance_per_head(RAW, RAW_THEORY, RAW / 64, RAW_THEORY / 64, scaled_on=False))
    raw, _, scaled, _ = [trace for trace in drawn["data"] if trace.get("mode") == "markers"]
    assert raw["name"] == "what softmax gets: not scaled" and raw["marker"]["color"] == theme.LEAK
    assert scaled["opacity"] < 1
    assert "softmax gets variance 64" in notes(drawn) and "with scaling it would be 1 (medians" in notes(drawn)
    assert drawn["layout"]["title"]["yanchor"] == "bottom"  # the legend, several rows on a phone, owns the top


def test_a_variance_of_nan_or_0_is_na() -> None:
    drawn = spec(variance_per_head(np.array([np.nan, 32, 0]), RAW_THEORY, RAW / 64, RAW_THEORY / 64))
    assert points(drawn)["raw, measured"] == (["Head 1"], [32])
    (missing,) = [trace for trace in drawn["data"] if (trace.get("meta") or {}).get("layer") == "not available"]
    assert missing["x"] == ["Head 0", "Head 2"] and missing["text"] == ["n/a", "n/a"]


def test_all_nan_still_draws() -> None:
    nothing = np.full(3, np.nan)
    drawn = spec(variance_per_head(nothing, nothing, nothing, nothing, scaled_on=False))
    assert all(x == [] for x, _ in points(drawn).values())
    assert "scaling is off" not in notes(drawn)


def test_histogram_is_a_density_of_the_finite_scores() -> None:
    before = np.random.default_rng(5).normal(size=(7, 11)) * 8
    after = before / 8
    before[0, 0], after[0, 0] = np.nan, -np.inf
    drawn = spec(score_histogram(before, after))
    for trace, values, name in zip(drawn["data"], (before, after), ("before scaling", "after scaling"), strict=True):
        finite = values[np.isfinite(values)]
        density, edges = np.histogram(finite, bins=48, range=(finite.min(), finite.max()), density=True)
        np.testing.assert_allclose(array(trace["y"]), [0, *density, 0], rtol=1e-6)  # sent as float32
        np.testing.assert_allclose(array(trace["x"]), [edges[0], *edges], rtol=1e-6)
        assert trace["name"] == name
    assert "not finite, left out: 2" in notes(drawn)


@pytest.mark.parametrize("values", [np.array([]), np.array([np.nan, np.inf]), np.array([3.0, 3.0])])
def test_histogram_of_nothing_or_of_one_value(values: np.ndarray) -> None:
    drawn = spec(score_histogram(values, values))
    finite = np.isfinite(values).any()
    assert len(drawn["data"]) == (2 if finite else 0)
    assert ("no finite values" in notes(drawn)) == (not finite)


def test_histogram_with_scaling_off() -> None:
    drawn = spec(score_histogram(np.arange(7.0), np.arange(7.0) / 8, scaled_on=False))
    assert drawn["data"][0]["line"]["color"] == theme.LEAK
    assert drawn["data"][0]["name"] == "what softmax gets: not scaled"
    assert drawn["data"][1]["opacity"] < 1


def test_entropy_and_top_weight() -> None:
    entropy, top, nats = np.array([0.25, np.nan, 1.0]), np.array([0.75, 0.5, np.nan]), np.array([0.5, 1.0, 2.0])
    drawn = spec(entropy_and_top_weight(entropy, top, entropy_nats=nats))
    assert points(drawn) == {
        "entropy / its maximum": (["Head 0", "Head 2"], [0.25, 1.0]),
        "top weight, mean over queries": (["Head 0", "Head 1"], [0.75, 0.5]),
    }
    assert drawn["data"][0]["customdata"] == [0.5, 2.0]
    assert "entropy %{customdata:.4~g} nats" in drawn["data"][0]["hovertemplate"]
    (missing,) = [trace for trace in drawn["data"] if trace.get("mode") == "text"]
    assert missing["x"] == ["Head 1", "Head 2"]
    low, high = drawn["layout"]["yaxis"]["range"]
    assert low < 0 and high > 1


def test_saturation_turns_vermilion_from_one_half() -> None:
    drawn = spec(saturation_per_head(np.array([0.25, 0.5, np.nan]), heads=["a", "a", "<b>"]))
    bars = drawn["data"][0]
    assert bars["y"] == [0.25, 0.5]
    assert bars["marker"]["color"] == [theme.ACCENT, theme.LEAK]
    assert len(set(drawn["layout"]["xaxis"]["categoryarray"])) == 3
    assert drawn["layout"]["xaxis"]["categoryarray"][2].startswith("&lt;b&gt;")
    assert drawn["data"][1]["text"] == ["n/a"]


def test_a_missing_number_is_refused() -> None:
    with pytest.raises(ValueError, match=r"need one number per head in every series: got shapes \(3,\), \(2,\)"):
        entropy_and_top_weight(np.zeros(3), np.zeros(2))
    with pytest.raises(ValueError, match="need one name per head: got 1 for 3"):
        saturation_per_head(np.zeros(3), heads=["a"])


def test_lines_of_notes_count_wide_characters_twice() -> None:
    assert theme.wrap(["一二三四五", "六七八九十"], columns=13) == ["一二三四五", "六七八九十"]
    assert theme.wrap(["abcde", "fghij"], columns=13) == ["abcde · fghij"]
