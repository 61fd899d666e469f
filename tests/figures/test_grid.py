"""The grid of heads: what is drawn is what came in, cell by cell."""

import json
import time

import numpy as np
import pytest

from tests.figures.nasty import NASTY
from tests.figures.spec import array, maps, notes, overlay, spec
from viz.figures import FigureWords, head_grid, theme


def softmax(heads: int, q_len: int, k_len: int, allowed: np.ndarray, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    scores = np.random.default_rng(seed).normal(size=(heads, q_len, k_len)).astype(np.float32)
    raised = np.exp(scores) * allowed
    return (raised / raised.sum(-1, keepdims=True)).astype(np.float32), scores


def names(count: int) -> list[str]:
    return [f"tok{i}" for i in range(count)]


@pytest.fixture
def causal() -> dict:
    """3 heads, 5 queries, 7 keys: the last query sees all keys."""
    allowed = np.tril(np.ones((5, 7), bool), k=2)
    weights, scores = softmax(3, 5, 7, allowed)
    return {"weights": weights, "scores": scores, "allowed": allowed, "query_tokens": names(5), "key_tokens": names(7)}


def test_every_map_holds_the_float32_weights_and_scores(causal: dict) -> None:
    drawn = spec(head_grid(**causal, columns=2))
    traces = maps(drawn)
    assert [trace["meta"]["head"] for trace in traces] == [0, 1, 2]
    assert [trace["name"] for trace in traces] == ["Head 0", "Head 1", "Head 2"]
    for head, trace in enumerate(traces):
        z, customdata = array(trace["z"]), array(trace["customdata"])
        assert z.dtype == customdata.dtype == np.float32
        np.testing.assert_array_equal(z, causal["weights"][head])
        np.testing.assert_array_equal(customdata, causal["scores"][head])
        states = np.where(causal["allowed"], "yes", "no")
        np.testing.assert_array_equal(array(trace["hovertext"]), states)
        assert "query %{y}<br>key %{x}<br>weight: %{z:.9~g}<br>score: %{customdata:.9~g}" in trace["hovertemplate"]


def test_maps_lie_in_rows_of_the_given_number_with_their_tokens_beside_them(causal: dict) -> None:
    drawn = spec(head_grid(**causal, columns=2))
    traces = maps(drawn)
    across, down = drawn["layout"]["xaxis"]["categoryarray"], drawn["layout"]["yaxis"]["categoryarray"]
    assert traces[0]["y0"] == traces[1]["y0"] < traces[2]["y0"]
    assert traces[0]["x0"] == traces[2]["x0"] < traces[1]["x0"]
    assert traces[0]["x0"] + 7 < traces[1]["x0"]
    assert traces[0]["y0"] + 5 < traces[2]["y0"]
    for trace in traces:
        assert [across[trace["x0"] + j].rstrip("\u200b\u200c") for j in range(7)] == [f"{j} tok{j}" for j in range(7)]
        assert [down[trace["y0"] + i].rstrip("\u200b\u200c") for i in range(5)] == [f"{i} tok{i}" for i in range(5)]
    assert len(set(across)) == len(across) and len(set(down)) == len(down)


def test_one_fixed_scale_with_a_bar(causal: dict) -> None:
    """C149: 0.25 everywhere and 0.9 everywhere look different, whatever else there is."""
    for value in (0.25, 0.9):
        drawn = spec(head_grid(np.full((1, 2, 2), value), query_tokens="ab".split() * 2, key_tokens=["a", "b"]))
        axis = drawn["layout"]["coloraxis"]
        assert (axis["cmin"], axis["cmax"]) == (0, 1)
        assert axis["colorbar"]["tickvals"] == [0, 0.25, 0.5, 0.75, 1]
        np.testing.assert_array_equal(array(maps(drawn)[0]["z"]), np.full((2, 2), value, np.float32))
    assert "fixed 0 to 1" in notes(drawn)
    assert all(trace["coloraxis"] == "coloraxis" for trace in maps(spec(head_grid(**causal))))


def test_rows_are_queries_from_the_top(causal: dict) -> None:
    """C144: the axis runs downwards, and the figure says which is which."""
    drawn = spec(head_grid(**causal))
    low, high = drawn["layout"]["yaxis"]["range"]
    assert low > high
    assert drawn["layout"]["yaxis"]["title"]["text"] == "rows: queries"
    assert drawn["layout"]["xaxis"]["title"]["text"] == "columns: keys"


def test_repeated_and_spoilt_tokens_keep_their_columns() -> None:
    """C139, C143: positions, not labels, place the cells, and the axis is a category axis."""
    length = 31
    tokens = NASTY[:length]
    weights, _ = softmax(1, length, length, np.ones((length, length)))
    drawn = spec(head_grid(weights, query_tokens=tokens, key_tokens=tokens))
    assert drawn["layout"]["xaxis"]["type"] == drawn["layout"]["yaxis"]["type"] == "category"
    assert len(set(drawn["layout"]["xaxis"]["categoryarray"])) == len(drawn["layout"]["xaxis"]["categoryarray"])
    np.testing.assert_array_equal(array(maps(drawn)[0]["z"]), weights[0])


def test_thinned_labels_are_told_as_they_are() -> None:
    """C145: the note's number is the axis's own step, and each map shows the labels of the same tokens."""
    weights, _ = softmax(12, 32, 32, np.ones((32, 32)))
    drawn = spec(head_grid(weights, query_tokens=names(32), key_tokens=names(32), width=600))
    steps = drawn["layout"]["yaxis"]["dtick"], drawn["layout"]["xaxis"]["dtick"]
    assert steps[0] > 1 and steps[1] > 1
    assert FigureWords().thinning(*steps) in notes(drawn)
    for trace in maps(drawn):
        assert (trace["x0"] - drawn["layout"]["xaxis"]["tick0"]) % steps[1] == 0
        assert (trace["y0"] - drawn["layout"]["yaxis"]["tick0"]) % steps[0] == 0


@pytest.mark.parametrize(
    "rows,columns,said",
    [
        (1, 1, "every label shown"), (2, 2, "every 2nd label shown"), (3, 1, "every 3rd row label shown"),
        (11, 21, "every 11th row label shown, every 21st column label shown"), (1, 4, "every 4th column label shown"),
    ],
)  # fmt: skip
def test_the_note_on_thinning(rows: int, columns: int, said: str) -> None:
    assert FigureWords().thinning(rows, columns) == said


def test_a_leak_is_outlined_hatched_and_keeps_its_value(causal: dict) -> None:
    causal["weights"][1, 0, 5] = 1e-12
    drawn = spec(head_grid(**causal))
    assert array(maps(drawn)[1]["z"])[0, 5] == np.float32(1e-12)
    assert array(maps(drawn)[1]["hovertext"])[0, 5] == "leak"
    assert theme.LEAK in overlay(drawn) and "url(#forbidden)" in overlay(drawn)
    assert FigureWords().legend_leak in [trace.get("name") for trace in drawn["data"]]


def test_forbidden_cells_are_hatched_where_they_are(causal: dict) -> None:
    svg = overlay(spec(head_grid(**causal, columns=3)))
    # rows 0 to 3 see keys 0 to row + 2; the rest is hatched, once for all three heads
    assert "M3 0h4v1h-4zM4 1h3v1h-3zM5 2h2v1h-2zM6 3h1v1h-1z" in svg
    assert svg.count("<path id=") == 1 and svg.count("<use ") == 3


def test_no_mask_no_marks_and_no_word_of_it(causal: dict) -> None:
    del causal["allowed"]
    causal["weights"] = np.maximum(causal["weights"], np.float32(0.01))  # zeros have a mark of their own
    drawn = spec(head_grid(**causal))
    assert overlay(drawn) == ""
    assert all("may attend" not in trace["hovertemplate"] and "hovertext" not in trace for trace in maps(drawn))


def test_where_all_is_allowed_hover_says_so_without_a_word_per_cell(causal: dict) -> None:
    causal["allowed"] = np.ones((5, 7), bool)
    for trace in maps(spec(head_grid(**causal))):
        assert "may attend: yes" in trace["hovertemplate"] and "hovertext" not in trace


def test_intended_and_applied_masks_are_told_apart(causal: dict) -> None:
    intended = np.ones((5, 7), bool)
    intended[4, 0] = False  # allowed, not intended: a leak
    drawn = spec(head_grid(**causal, intended=intended))
    states = array(maps(drawn)[0]["hovertext"])
    assert states[4, 0] == "leak"
    np.testing.assert_array_equal(states == "lost", ~causal["allowed"])
    assert theme.BLOCKED in overlay(drawn) and theme.LEAK in overlay(drawn)


def test_nan_and_infinities_are_grey_with_glyphs_and_named() -> None:
    """C150: strict JSON, NaN is not 0, and a masked cell is not an allowed 0."""
    weights = np.array([[[np.nan, 1, 0], [0, 0, 0], [np.inf, -np.inf, 1e-9]]], np.float32)
    allowed = np.array([[True, True, True], [False, False, False], [True, True, True]])
    drawn = spec(head_grid(weights, query_tokens=names(3), key_tokens=names(3), allowed=allowed))
    z = array(maps(drawn)[0]["z"])
    np.testing.assert_array_equal(np.isnan(z), [[True, False, False], [False] * 3, [True, True, False]])
    layers = {t["meta"]["value"]: t for t in drawn["data"] if "value" in (t.get("meta") or {})}
    assert set(layers) == {"NaN", "+inf", "-inf"}
    assert "weight: NaN" in layers["NaN"]["hovertemplate"]
    for name, cell in {"NaN": (0, 0), "+inf": (2, 0), "-inf": (2, 1)}.items():
        drawn_cells = np.argwhere(~np.isnan(array(layers[name]["z"]))).tolist()
        assert drawn_cells == [list(cell)]
        assert {colour for _, colour in layers[name]["colorscale"]} == {theme.NEUTRAL}
        assert theme.NEUTRAL not in theme.SEQUENTIAL
    svg = overlay(drawn)
    for mark in ("forbidden", "zero", "tiny", "nan", "pos_inf", "neg_inf"):
        assert f"url(#{mark})" in svg
    legend = {trace["name"] for trace in drawn["data"] if trace.get("showlegend")}
    words = FigureWords()
    kinds = ("forbidden", "zero", "tiny", "nan", "pos_inf", "neg_inf")
    assert legend == {getattr(words, f"legend_{kind}") for kind in kinds}


def test_weights_outside_0_to_1_are_counted(causal: dict) -> None:
    causal["weights"][0, 4, 0] = 1.5
    causal["weights"][0, 4, 1] = -0.5
    assert "weights outside 0 to 1: 2" in notes(spec(head_grid(**causal)))


def test_padding_dims_labels_and_stripes_cells(causal: dict) -> None:
    drawn = spec(head_grid(**causal, padded_keys=np.arange(7) >= 5))
    labels = drawn["layout"]["xaxis"]["categoryarray"]
    assert [("opacity" in label) for label in labels[:7]] == [False] * 5 + [True] * 2
    assert "url(#padding)" in overlay(drawn)
    assert "padding" in [trace.get("name") for trace in drawn["data"]]


def test_heads_that_are_off_are_greyed_and_named(causal: dict) -> None:
    drawn = spec(head_grid(**causal, heads_off={1}))
    assert [trace["name"] for trace in maps(drawn)] == ["Head 0", "Head 1 (off)", "Head 2"]
    assert "rgba(128,128,128,0.55)" in overlay(drawn)


def test_clickable_names_carry_the_index(causal: dict) -> None:
    drawn = spec(head_grid(**causal, clickable=True))
    (trace,) = [t for t in drawn["data"] if t.get("name") == "heads"]
    assert array(trace["customdata"]).tolist() == [0, 1, 2]
    assert trace["text"] == ["<b>Head 0</b>", "<b>Head 1</b>", "<b>Head 2</b>"]


def test_words_and_names_are_text(causal: dict) -> None:
    drawn = spec(head_grid(**causal, heads=["<b>", "%{x}", "$1$"], title="<i>&amp;"))
    assert [trace["name"] for trace in maps(drawn)] == ["&lt;b&gt;", "&#37;{x}", "&#36;1&#36;"]
    assert notes(drawn).startswith("&lt;i&gt;&amp;amp;")
    assert "%{x}" not in maps(drawn)[1]["hovertemplate"].split("<br>")[0]


def test_the_words_can_be_chinese(causal: dict) -> None:
    words = FigureWords(rows="行：查询", yes="是", no="否", weight="权重")
    drawn = spec(head_grid(**causal, words=words))
    assert drawn["layout"]["yaxis"]["title"]["text"] == "行：查询"
    assert set(array(maps(drawn)[0]["hovertext"]).ravel()) == {"是", "否"}


@pytest.mark.parametrize("scale", ["row-max", "log"])
def test_other_scales_are_named_and_hover_keeps_the_weight(causal: dict, scale: str) -> None:
    drawn = spec(head_grid(**causal, scale=scale))
    for head, trace in enumerate(maps(drawn)):
        both = array(trace["customdata"])
        np.testing.assert_array_equal(both[..., 0], causal["weights"][head])
        np.testing.assert_array_equal(both[..., 1], causal["scores"][head])
        z = array(trace["z"])
        if scale == "row-max":
            np.testing.assert_allclose(z.max(-1), 1, rtol=1e-6)  # one float32 division
        else:
            seen = causal["weights"][head] > 0
            np.testing.assert_allclose(z[seen], np.log10(causal["weights"][head][seen]), rtol=1e-5)  # float32 log10
            assert np.isnan(z[~seen]).all()
    assert getattr(FigureWords(), f"scale_{scale.replace('-', '_')}") in notes(drawn)


def test_above_32_tokens_weights_are_rounded_but_never_to_0() -> None:
    allowed = np.tril(np.ones((37, 41), bool), k=4)
    weights, _ = softmax(2, 37, 41, allowed)
    weights[0, 0, 40] = 1e-9  # a leak too small for 1/10000
    drawn = spec(head_grid(weights, query_tokens=names(37), key_tokens=names(41), allowed=allowed))
    z = array(maps(drawn)[0]["z"])
    assert z.dtype == np.uint16
    np.testing.assert_allclose(z / 10_000, weights[0], atol=1e-4)  # one unit
    np.testing.assert_array_equal(z == 0, weights[0] == 0)
    assert drawn["layout"]["coloraxis"]["cmax"] == 10_000
    assert drawn["layout"]["coloraxis"]["colorbar"]["ticktext"] == ["0", "0.25", "0.5", "0.75", "1"]
    assert FigureWords().quantised in notes(drawn)
    assert "1/10000" in maps(drawn)[0]["hovertemplate"] and "score" not in maps(drawn)[0]["hovertemplate"]
    assert theme.LEAK in overlay(drawn)


def test_many_cells_use_digits_with_their_key() -> None:
    allowed = np.tril(np.ones((32, 32), bool))
    weights, _ = softmax(12, 32, 32, allowed)
    weights[0, 0, 1] = 0.5
    trace = maps(spec(head_grid(weights, query_tokens=names(32), key_tokens=names(32), allowed=allowed)))[0]
    states = array(trace["hovertext"])
    assert states.dtype == np.uint8 and states[0, 1] == 2
    np.testing.assert_array_equal(states == 1, allowed)
    assert "%{hovertext} (1 yes, 0 no, 2 leak)" in trace["hovertemplate"]


@pytest.mark.parametrize("kind", ["causal", "leaking", "sharp", "full", "spoilt"])
def test_twelve_heads_of_32_tokens_weigh_less_than_230_kb(kind: str) -> None:
    """C165."""
    allowed = np.ones((32, 32), bool) if kind == "full" else np.tril(np.ones((32, 32), bool))
    weights, scores = softmax(12, 32, 32, np.ones((32, 32)) if kind == "leaking" else allowed)
    if kind == "sharp":
        weights = np.where(weights == weights.max(-1, keepdims=True), np.float32(1), weights * np.float32(1e-7))
    tokens = [*NASTY[:12], *NASTY[50:70]] if kind == "spoilt" else names(32)
    figure = head_grid(weights, query_tokens=tokens, key_tokens=tokens, allowed=allowed, scores=scores)
    assert len(figure.to_json()) < 230_000


def test_twelve_heads_of_128_tokens_weigh_less_than_900_kb() -> None:
    """C165."""
    allowed = np.tril(np.ones((128, 128), bool))
    weights, scores = softmax(12, 128, 128, allowed)
    figure = head_grid(weights, query_tokens=names(128), key_tokens=names(128), allowed=allowed, scores=scores)
    assert len(figure.to_json()) < 900_000


@pytest.mark.parametrize(
    "heads,q_len,k_len,columns",
    [(1, 1, 1, 4), (1, 1, 7, 1), (5, 7, 1, 3), (96, 2, 3, 8), (63, 3, 3, 1), (72, 2, 2, 1), (12, 256, 256, 4),
     (3, 512, 512, 2)],
)  # fmt: skip
def test_any_size_draws_and_stays_bounded(heads: int, q_len: int, k_len: int, columns: int) -> None:
    """C165, C166, C167: from one cell to millions; above 200 000 cells the figure says that it pools."""
    weights = np.full((heads, q_len, k_len), 1 / k_len, np.float32)
    weights[0, q_len - 1, k_len - 1] = 0.75
    drawn = spec(head_grid(weights, query_tokens=names(q_len), key_tokens=names(k_len), columns=columns))
    assert len(maps(drawn)) == heads
    assert len(json.dumps(drawn)) < 1_500_000
    z = array(maps(drawn)[0]["z"]).astype(float)
    z /= 10_000 if drawn["layout"]["coloraxis"]["cmax"] == 10_000 else 1
    assert z[-1, -1] == 0.75
    if heads * q_len * k_len > 200_000:
        assert "each cell: the largest of" in notes(drawn)
        assert z.size * heads <= 200_000


def test_pooling_keeps_the_largest_and_every_leak() -> None:
    weights = np.random.default_rng(5).random((2, 401, 389)).astype(np.float32)
    allowed = np.ones((401, 389), bool)
    allowed[:, 301:] = False
    weights[:, :, 301:] = 0
    weights[1, 400, 388] = 1e-7
    drawn = spec(head_grid(weights, query_tokens=names(401), key_tokens=names(389), allowed=allowed))
    z = array(maps(drawn)[1]["z"])
    block = 2
    for i, j in [(0, 0), (57, 91), (200, 149)]:
        expected = weights[1, i * block : (i + 1) * block, j * block : (j + 1) * block].max()
        assert z[i, j] == round(float(expected) * 10_000)
    assert array(maps(drawn)[1]["hovertext"])[200, 194] == 2
    states = array(maps(drawn)[0]["hovertext"])
    assert states[200, 194] == 0
    assert states[57, 150] == 1  # keys 300 and 301: one of them is allowed
    assert states[57, 151] == 0


def test_building_twelve_heads_of_32_tokens_takes_milliseconds() -> None:
    allowed = np.tril(np.ones((32, 32), bool))
    weights, scores = softmax(12, 32, 32, allowed)
    best = float("inf")
    for _ in range(7):
        start = time.thread_time()
        head_grid(weights, query_tokens=names(32), key_tokens=names(32), allowed=allowed, scores=scores)
        best = min(best, time.thread_time() - start)
    assert best < 0.06  # 15 ms on a quiet core; CPU time, with room for a slower machine


def test_no_array_of_the_caller_is_changed(causal: dict) -> None:
    before = {name: np.copy(causal[name]) for name in ("weights", "scores", "allowed")}
    for name in before:
        causal[name].flags.writeable = False
    head_grid(**causal, scale="log")
    for name, values in before.items():
        np.testing.assert_array_equal(causal[name], values)


@pytest.mark.parametrize(
    "change,error,message",
    [
        ({"weights": np.zeros((5, 7))}, ValueError, r"weights must be \(heads, q_len, k_len\)"),
        ({"weights": np.zeros((3, 5, 0))}, ValueError, "none of them 0"),
        ({"query_tokens": ["a"] * 4}, ValueError, "need one query token per row: got 4 tokens for 5"),
        ({"key_tokens": "abcdefg"}, ValueError, "got one string of length 7"),
        ({"allowed": np.ones((5, 7))}, TypeError, "allowed must be bool, True = may attend: got float64"),
        ({"allowed": np.ones((7, 5), bool)}, ValueError, "allowed must broadcast"),
        ({"scores": np.zeros((5, 7))}, ValueError, "scores must have the shape of weights"),
        ({"scale": "auto"}, ValueError, "scale must be one of fixed, row-max, log: got 'auto'"),
        ({"columns": 0}, ValueError, "columns must be at least 1: got 0"),
        ({"heads": ["a"]}, ValueError, "need one name per head: got 1 for 3"),
        ({"padded_keys": [True]}, ValueError, "padded_keys must be one bool per token"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_in_a_sentence(causal: dict, change: dict, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        head_grid(**(causal | change))
