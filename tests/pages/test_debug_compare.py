"""A second file on the Debug page: what differs, in words, in a table and as a map, and what cannot be compared."""

import io
import json
from typing import Any

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from attention_core.capture import Recording, record
from attention_core.exchange import Arrays
from tests.pages.test_debug import cells_of, html_of, map_of, saved, visit
from viz.services import debug_compare as service
from viz.services.debug import DebugError, Wish, examine
from viz.services.debug_compare import compare, examine_second, map_pair
from viz.services.debug_examples import example
from viz.services.debug_files import cases
from viz.text import use_language


def packed(arrays: dict[str, torch.Tensor]) -> bytes:
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **{name: array.numpy() for name, array in arrays.items()})
    return file.getvalue()


def beside(app: AppTest, arrays: dict[str, torch.Tensor] | bytes, name: str = "second.npz") -> AppTest:
    content = arrays if isinstance(arrays, bytes) else packed(arrays)
    app.file_uploader(key="debug_compare_upload").set_value((name, content, "application/octet-stream")).run()
    assert not app.exception
    return app


def charts_of(app: AppTest) -> dict[str, dict[str, Any]]:
    found = {c.proto.id.rsplit("debug_compare_", 1)[-1]: c for c in app.get("plotly_chart") if "compare" in c.proto.id}
    return {name.removesuffix("_chart"): json.loads(chart.proto.spec) for name, chart in found.items()}


def changed() -> dict[str, torch.Tensor]:
    """The arrays of the first example with two weights of sample 0, head 0 changed."""
    arrays = {name: array.clone() for name, array in example("causal")[0].arrays.items()}
    arrays["weights"][0, 0, 2, 1] += 0.25
    arrays["weights"][0, 0, 5, 3] -= 0.5
    return arrays


def intake_of(**arrays: torch.Tensor):
    return cases(Arrays(arrays, {"tokens": ["a", "b", "c"]}), {}, {})


def test_a_second_file_is_held_against_the_first():
    app = beside(visit(), changed())
    [said] = [w.value.replace("\\", "") for w in app.warning]
    assert said.startswith(
        "The files differ in 1 of 4 comparisons. Largest difference: weights, 0.5 at (0, 0, 5 mat, 3 on)"
    )
    maps = charts_of(app)
    one, other = (arrays["weights"][0, 0].numpy() for arrays in (example("causal")[0].arrays, changed()))
    np.testing.assert_array_equal(cells_of(maps["first"]), one)
    np.testing.assert_array_equal(cells_of(maps["second"]), other)
    np.testing.assert_allclose(cells_of(maps["difference"]), other - one, atol=1e-7)  # one rounding to float32
    axis = maps["difference"]["layout"]["coloraxis"]
    assert axis["cmin"] == -axis["cmax"]
    assert "Sample 0, head 0: 2 of 64 cells differ, by up to 0.5 at query 5 mat, key 3 on" in html_of(app)
    table = app.dataframe[-1].value.set_index("array")
    assert table["verdict"]["query"] == "same" and table["verdict"]["weights"] == "2 of 384 cells differ"
    assert table["first places that differ"]["weights"] == "0, 0, 2 sat, 1 cat | 0, 0, 5 mat, 3 on"


def test_the_maps_follow_the_shown_sample_and_head():
    app = beside(visit(), changed())
    app.selectbox(key="debug_head").set_value(2).run()
    assert "Sample 0, head 2: no cell differs by more than rounding" in html_of(app)
    assert not cells_of(charts_of(app)["difference"]).any()


def test_equal_files_agree():
    app = beside(visit(), dict(example("causal")[0].arrays))
    assert [s.value for s in app.success] == ["The two files agree. Arrays compared: 4."] and not app.warning


def test_shapes_nan_and_what_is_missing_stand_in_the_table():
    arrays = changed()
    arrays["weights"][0, 0, 1, 1] = torch.nan
    del arrays["lengths"]
    app = beside(visit(), {**arrays, "key": arrays["key"][:, :, :5], "value": arrays["key"], "banana": torch.ones(2)})
    table = app.dataframe[-1].value.set_index("array")
    assert table["verdict"].to_dict() == {
        "query": "same",
        "key": "shapes differ: 2 × 3 × 8 × 16 and 2 × 3 × 5 × 16",
        "weights": "3 of 384 cells differ · not a number: 1",
        "valid keys per sample": "in the first file alone",
        "value": "in the second file alone",
    }
    assert table["largest difference"]["weights"] == "∞"
    assert any("left out: banana" in c.value for c in app.caption)
    assert len(app.info) == 1 and app.info[0].value.startswith("No difference map here.")  # its arrays do not fit


def test_a_bad_second_file_is_told_and_the_first_picture_stays():
    app = visit()
    before = map_of(app)
    beside(app, b"PK\x03\x04broken")
    assert len(app.error) == 1 and "must be whole" in app.error[0].value
    assert map_of(app)["data"] == before["data"] and charts_of(app) == {}
    beside(app, {"bias": torch.zeros(3)})
    assert len(app.error) == 1 and "none in common" in app.error[0].value
    beside(app, changed())
    assert not app.error and set(charts_of(app)) == {"first", "second", "difference"}


def test_chinese_says_it_in_chinese():
    use_language("zh")  # this thread formats options too
    try:
        app = beside(visit("zh"), changed())
    finally:
        use_language(None)
    assert app.warning[0].value.startswith("两个文件在 4 项比较中有 1 项不同。")
    assert "64 个单元格中有 2 个不同" in html_of(app)


# ---------------------------------------------------------------------------------------------------------------------
# what lies behind it


def test_nan_and_infinity_count_as_differences_only_where_they_stand_alone():
    one = torch.tensor([[1.0, torch.nan, torch.inf], [0.0, 0.5, 0.5], [0.2, 0.3, 0.5]])
    other = torch.tensor([[1.0, torch.nan, torch.inf], [0.0, 0.5, 0.5], [0.2, torch.nan, 0.5]])
    first, second = (examine(intake_of(weights=w).cases[0], Wish()) for w in (one, other))
    pair = map_pair(first, second, 0, 0)
    assert (pair.cells, pair.total, pair.query, pair.key, pair.largest) == (1, 9, 2, 1, float("inf"))
    assert np.isnan(pair.difference[2, 1]) and np.nansum(np.abs(pair.difference)) == 0


def test_what_has_no_difference_map_says_why():
    first, second = intake_of(weights=torch.eye(3)), intake_of(mask=torch.eye(3).bool())
    found = examine(first.cases[0], Wish())
    for other, call, code in (
        (second, 0, "kinds"),
        (intake_of(weights=torch.eye(4)), 0, "sizes"),
        (first, 1, "no_call"),
    ):
        with pytest.raises(DebugError) as refused:
            map_pair(found, examine_second(other, call, Wish()), 0, 0)
        assert refused.value.code == f"compare_{code}"


def recorded() -> Recording:
    query, key, value = (torch.randn(1, 2, 5, 8, generator=torch.Generator().manual_seed(n)) for n in (1, 2, 3))
    with record() as recording:
        for _ in range(2):
            torch.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
    return recording


def test_recordings_are_compared_call_by_call_unless_they_are_too_large(monkeypatch):
    intake = cases(saved(recorded()), {}, {})
    found = compare(intake, intake)
    assert found.wrong == 0 and {line.found.call for line in found.lines} == {0, 1}
    assert all(line.call for line in found.lines)
    monkeypatch.setattr(service, "MOST_CELLS_OF_BOTH", 4 * 2 * 25 - 1)
    with pytest.raises(DebugError) as refused:
        compare(intake, intake)
    assert refused.value.code == "compare_too_many" and refused.value.values_of_text["got"] == 200
