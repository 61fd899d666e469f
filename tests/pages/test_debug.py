"""The Debug page: what is brought, what is said about it, and where the reader is sent."""

import base64
import io
import json
import re
from typing import Any

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from attention_core import masks, scaled_dot_product_attention
from attention_core.capture import record
from attention_core.doctor import CODES, MESSAGES
from attention_core.exchange import Arrays, FileRefused
from viz.figures import head_heatmap
from viz.figures.focus import framed
from viz.services import debug as service
from viz.services.debug import DebugError, Wish, cell_rows, cell_view, examine
from viz.services.debug_examples import EXAMPLES, example
from viz.services.debug_files import cases, named_file, read_file, read_paste
from viz.services.debug_report import as_html, as_json
from viz.text import TEXTS

SCRIPT = """
from viz.pages import debug, debug_state, frame
frame.show([frame.Page("debug", debug.render, debug_state.KEPT)])
"""
FAULTS = {
    "causal": "causal-mask-missing",
    "window": "window-off-by-one",
    "scale": "no-scaling",
    "double": "double-softmax",
}


def visit(language: str = "en") -> AppTest:
    app = AppTest.from_string(SCRIPT, default_timeout=120)
    app.query_params["lang"] = language
    app.run()
    assert not app.exception and not app.error
    return app


def html_of(app: AppTest) -> str:
    return "\n".join(block.proto.body for block in app.get("html"))


def map_of(app: AppTest) -> dict[str, Any]:
    [chart] = [c for c in app.get("plotly_chart") if c.proto.id.endswith("debug_chart")]
    return json.loads(chart.proto.spec)


def cells_of(spec: dict[str, Any]) -> np.ndarray:
    z = spec["data"][0]["z"]
    array = np.frombuffer(base64.b64decode(z["bdata"]), z["dtype"])
    return array.reshape([int(n) for n in z["shape"].split(",")])


def frame_of(spec: dict[str, Any]) -> tuple[float, ...]:
    shape = spec["layout"]["shapes"][-1]
    return shape["y0"], shape["y1"], shape["x0"], shape["x1"]


def examined(arrays: dict[str, torch.Tensor], wish: Wish | None = None, **metadata: Any) -> service.Examined:
    [case] = cases(Arrays(arrays, metadata), {}, {}).cases
    return examine(case, wish or Wish())


# ---------------------------------------------------------------------------------------------------------------------
# the page


def test_a_newcomer_sees_a_verdict_without_a_click():
    app = visit()
    said = html_of(app)
    assert "Errors: 2" in said and "causal-mask-missing" in said and "Future keys visible" in said
    spec = map_of(app)
    arrays, _ = example("causal")
    np.testing.assert_array_equal(cells_of(spec), arrays.arrays["weights"][0, 0].numpy())
    assert frame_of(spec) == (-0.5, 0.5, 0.5, 1.5)  # the first leak: query 0, key 1
    assert "query 0 the, key 1 cat" in said and '<b class="debug-leak">leak</b>' in said
    assert "leaks: 28" in said and "ok: 36" in said


def test_a_finding_jumps_from_cell_to_cell():
    app = visit()
    [jump] = [b for b in app.button if b.key == "debug_jump_1"]
    assert jump.label == "Show the first of 114 cells"
    jump.click().run()
    assert frame_of(map_of(app)) == (-0.5, 0.5, 0.5, 1.5)
    [jump] = [b for b in app.button if b.key == "debug_jump_1"]
    jump.click().run()
    assert frame_of(map_of(app)) == (-0.5, 0.5, 1.5, 2.5)
    assert "query 0 the, key 2 sat" in html_of(app)
    [rows] = [b for b in app.button if b.key == "debug_jump_2"]  # padding queries: a whole row of another sample
    rows.click().run()
    assert app.selectbox(key="debug_sample").value == 1
    assert frame_of(map_of(app)) == (4.5, 5.5, -0.5, 7.5)
    app.selectbox(key="debug_key").set_value(3).run()  # by hand again: one cell
    assert frame_of(map_of(app)) == (4.5, 5.5, 2.5, 3.5)


def test_both_languages_say_the_title_and_keep_the_evidence():
    said = html_of(visit("zh"))
    assert "能看到未来的键" in said and "错误：2" in said
    assert "能看到未来的键 1-7：涉及行 0-6" in said and "future keys" not in said


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_is_solved(name):
    app = visit()
    app.selectbox(key="debug_example").set_value(name).run()
    assert not app.exception and not app.error
    said = html_of(app)
    if name in FAULTS:
        assert f"<code>{FAULTS[name]}</code>" in said
    elif name == "right":
        assert "Nothing wrong found" in said
    else:
        assert "Float mask of 0 and 1" in said and "wrongly blocked" not in said


def test_a_pasted_drawing_is_judged_and_bad_text_keeps_the_picture():
    app = visit()
    app.button_group(key="debug_source").set_value("paste").run()
    app.text_area(key="debug_pasted").set_value("■⬚⬚\n■■⬚\n■■■").run()
    app.selectbox(key="debug_expect").set_value("causal").run()
    assert "Nothing wrong found" in html_of(app)
    app.text_area(key="debug_pasted").set_value("■⬚⬚\n■■■\n■■■").run()
    assert "Errors: 1" in html_of(app) and '<b class="debug-leak">leak</b>' in html_of(app)
    before = map_of(app)
    app.text_area(key="debug_pasted").set_value("■⬚⬚\n■x■").run()
    assert [e.value for e in app.error] == [r"a drawing must be made of ■ and ⬚\: got \'x\'."]
    assert [i.value for i in app.info] == ["Shown below is the last thing that could be examined."]
    assert map_of(app)["data"] == before["data"]
    assert app.text_area(key="debug_pasted").value == "■⬚⬚\n■x■"


def test_what_is_typed_wrongly_is_told_beside_it():
    app = visit()
    app.text_input(key="debug_lengths").set_value("8, five").run()
    assert "got five" in app.error[0].value
    app.text_input(key="debug_lengths").set_value("9, 5").run()
    assert "lengths must lie within k" in app.error[0].value.replace("\\", "")
    app.text_input(key="debug_lengths").set_value("8, 5").run()
    assert not app.error
    app.selectbox(key="debug_expect").set_value("packed").run()
    assert "Type them here" in app.error[0].value
    app.text_area(key="debug_documents").set_value("0 0 0 1 1 1 1 1").run()
    assert not app.error and "Errors:" in html_of(app)
    app.selectbox(key="debug_expect").set_value("mask").run()
    assert app.error
    app.text_area(key="debug_drawing").set_value("\n".join(["11111111"] * 8)).run()
    assert not app.error


def test_cells_checks_and_reports_are_there():
    app = visit()
    app.toggle(key="debug_cells_open").set_value(True).run()
    app.toggle(key="debug_checks_open").set_value(True).run()
    cells, checks = (frame.value for frame in app.dataframe)
    assert len(cells) == 28 and set(cells["verdict"]) == {"leak"}
    assert list(cells.columns) == ["query", "key", "intended", "applied", "weight", "verdict"]
    assert {"passed", "failed", "not possible"} >= set(checks["outcome"]) and len(checks) > 5
    labels = [b.proto.label for b in app.get("download_button")]
    assert labels == ["Markdown", "JSON", "HTML"]


def test_a_file_may_stand_on_the_command_line(tmp_path, monkeypatch):
    path = tmp_path / "a.npy"
    np.save(path, np.triu(np.ones((5, 5), bool), 1))
    monkeypatch.setattr("sys.argv", ["app.py", str(path)])
    app = AppTest.from_string(SCRIPT, default_timeout=120)
    app.query_params["lang"] = "en"
    app.run()
    assert not app.exception and not app.error
    assert app.session_state["debug_source"] == "named"
    assert cells_of(map_of(app)).shape == (5, 5)
    monkeypatch.setattr("sys.argv", ["pytest", str(path)])
    assert named_file() is None
    monkeypatch.setattr("sys.argv", ["app.py", str(tmp_path / "gone.npy")])
    app = AppTest.from_string(SCRIPT, default_timeout=120)
    app.run()
    assert not app.exception and "a file must be there" in app.error[0].value


# ---------------------------------------------------------------------------------------------------------------------
# what lies behind it


def test_every_code_of_the_doctor_has_a_title_in_both_languages():
    assert [code for code in CODES if f"finding.{code}" not in TEXTS] == []
    assert [key for key in TEXTS if key.startswith("finding.") and key[8:] not in MESSAGES] == []


def test_verdicts_of_cells():
    intended = torch.tensor([[1, 0, 0], [1, 1, 0], [1, 1, 1]]).bool()
    handed = torch.tensor([[1, 0, 0], [1, 1, 1], [0, 1, 1]]).bool()
    weights = scaled_dot_product_attention(
        *(torch.randn(3, 5, generator=torch.Generator().manual_seed(1)) for _ in range(3)), allowed=handed
    ).weights
    assert weights is not None
    found = examined({"weights": weights, "mask": handed, "allowed": intended})
    view = cell_view(found, 0, 0)
    assert view.applied_known and view.kind == "observed" and view.verdicts is not None
    assert view.verdicts.tolist() == [[0, 0, 0], [0, 0, 1], [2, 0, 0]]
    assert view.counts == {"ok": 7, "leak": 1, "blocked": 1, "nan": 0}
    wrong = cell_rows(view, only_wrong=True)
    assert (wrong["query"], wrong["key"], wrong["verdict"]) == ([1, 2], [2, 0], ["leak", "blocked"])
    assert len(cell_rows(view, only_wrong=False)["query"]) == 9
    assert (wrong["intended"], wrong["applied"]) == ([False, True], [True, False])


def test_a_weight_that_rounds_to_0_is_not_called_blocked():
    query = torch.tensor([[0.0], [200.0]])
    weights = scaled_dot_product_attention(query, query, query, allowed=masks.causal(2)).weights
    assert weights is not None and weights[1, 0] == 0
    view = cell_view(examined({"weights": weights, "q": query, "k": query}, Wish("causal")), 0, 0)
    assert view.counts["ok"] == 4


def test_weights_are_recomputed_where_only_q_and_k_came():
    generator = torch.Generator().manual_seed(2)
    query, key = (torch.randn(1, 2, 5, 7, generator=generator) for _ in range(2))
    view = cell_view(examined({"q": query, "k": key}, Wish("causal")), 0, 1)
    right = scaled_dot_product_attention(query, key, key, allowed=masks.causal(5)).weights
    assert right is not None and view.kind == "recomputed"
    np.testing.assert_array_equal(view.values, right[0, 1].numpy())
    assert view.counts == {"ok": 25, "leak": 0, "blocked": 0, "nan": 0}


def test_axes_may_be_said():
    generator = torch.Generator().manual_seed(3)
    query, key = (torch.randn(2, 5, 3, 7, generator=generator) for _ in range(2))  # (batch, len, heads, d)
    axes = {"q": "blhd", "k": "blhd"}
    [case] = cases(Arrays({"q": query, "k": key}), {}, axes).cases
    assert examine(case, Wish("causal")).masks.shape == (2, 3, 5, 5)
    [case] = cases(Arrays({"attn": torch.eye(4).expand(3, 4, 4)}), {}, {"attn": "bld"}).cases
    assert examine(case, Wish("causal")).masks.shape == (3, 1, 4, 4)


def test_a_recording_gives_one_case_per_call():
    generator = torch.Generator().manual_seed(4)
    query, key, value = (torch.randn(1, 2, 5, 8, generator=generator) for _ in range(3))
    with record() as recording:
        torch.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        torch.nn.functional.scaled_dot_product_attention(query, key, value)
    found = [examine(case, Wish("causal")) for case in cases(saved(recording), {}, {}).cases]
    assert [f.report.ok for f in found] == [True, False]
    assert cell_view(found[1], 0, 0).counts["leak"] == 10
    assert all(re.search(r"test_debug\.py:\d+$", f.case.place) for f in found)


def saved(recording: Any) -> Arrays:
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        recording.save(Path(folder) / "a.safetensors")
        return read_file((Path(folder) / "a.safetensors").read_bytes(), "a.safetensors")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.pkl", b"cos\nsystem\n", "must end in one of"),
        ("a.npy", b"\x93NUMPY\x01\x00v\x00{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", "object array"),
        ("a.npz", b"PK\x03\x04broken", "must be whole"),
        ("a.json", b'{"weights": [[1, "x"]]}', "cells must be numbers"),
    ],
)
def test_hostile_files_are_refused_in_a_sentence(name, content, words):
    if name == "a.npy":
        content = content.replace(b"v\x00", bytes([len(content) - 10, 0]), 1)
    with pytest.raises(FileRefused, match=words):
        read_file(content, name)


def test_a_bomb_is_refused_before_it_unpacks():
    packed = io.BytesIO()
    np.savez_compressed(packed, weights=np.zeros((1, 1, 9000, 9000), np.float32))
    assert len(packed.getvalue()) < 2**20
    with pytest.raises(FileRefused, match="may unpack to at most 256 MB"):
        read_file(packed.getvalue(), "bomb.npz")


def test_what_would_take_too_long_is_refused_before_it_is_formed():
    long = torch.zeros(1, 1, 1, 1).expand(1, 8, 60_000, 1)
    with pytest.raises(DebugError) as refused:
        examined({"q": long, "k": long})
    assert refused.value.code == "too_many_cells" and refused.value.values_of_text["got"] == 8 * 60_000**2
    row = torch.ones(2, 100_000, dtype=torch.bool)  # one row per sample stands for a square
    with pytest.raises(DebugError) as refused:
        examined({"mask": row, "lengths": torch.tensor([5, 7])})
    assert refused.value.values_of_text["got"] == 2 * 100_000**2


def test_reports_hold_what_the_page_shows():
    arrays, wish = example("causal")
    [case] = cases(arrays, {}, {}).cases
    found = examine(case, wish)
    read = json.loads(as_json(found))
    assert read["ok"] is False and "causal-mask-missing" in read["explained_by"]
    names = "error warning info passed failed title verdict explained_by intended findings checks map".split()
    words = {name: f"<{name}>" for name in [*names, "not possible", *service.VERDICTS]}
    page = as_html(found, cell_view(found, 0, 0), words, language="en")
    assert page.count("class=' leak'") + page.count("class='off leak'") == 28
    assert "future keys 1-7 visible" in page and "&lt;findings&gt;" in page and "<findings>" not in page
    assert "http" not in page and "<script" not in page


def test_names_from_a_file_do_not_become_markup():
    found = examined({"weights": torch.eye(2)}, Wish("causal"), tokens=["<b>x", "<script>"])
    words = dict.fromkeys(
        ["error", "warning", "info", "passed", "failed", "not possible", "title", "verdict", "explained_by", "intended",
         "findings", "checks", "map", *service.VERDICTS], "word",
    )  # fmt: skip
    page = as_html(found, cell_view(found, 0, 0), words, language="en")
    assert "<script>" not in page and "&lt;script&gt;" in page


def test_pasted_text_may_say_what_it_is():
    loaded = read_paste("1 0\n1 1", "allowed")
    [case] = cases(loaded, {}, {}).cases
    assert torch.equal(case.arguments()["allowed"], masks.causal(2))


def test_a_frame_goes_around_what_is_meant():
    drawn = head_heatmap(np.eye(3, 4), query_tokens=[""] * 3, key_tokens=[""] * 4)
    framed(drawn, query=2, key=None, shape=(3, 4))
    shape = drawn.layout.shapes[-1]
    assert (shape.y0, shape.y1, shape.x0, shape.x1) == (1.5, 2.5, -0.5, 3.5)
    pooled = head_heatmap(np.zeros((2, 600)), query_tokens=[""] * 2, key_tokens=[""] * 600)
    framed(pooled, query=None, key=599, shape=(2, 600))  # three columns to a block
    shape = pooled.layout.shapes[-1]
    assert (shape.y0, shape.y1, shape.x0, shape.x1) == (-0.5, 1.5, 198.5, 199.5)
    with pytest.raises(IndexError, match="query must be one of 3: got 3"):
        framed(drawn, query=3, key=0, shape=(3, 4))


def test_all_calls_of_a_recording_stand_beside_each_other(tmp_path, monkeypatch):
    generator = torch.Generator().manual_seed(6)
    query, key, value = (torch.randn(1, 2, 5, 8, generator=generator) for _ in range(3))
    with record() as recording:
        for late in (1, 2):
            blocked = torch.ones(5, 5, dtype=torch.bool).triu(late)
            torch.nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=~blocked)
    recording.save(tmp_path / "run.safetensors")
    monkeypatch.setattr("sys.argv", ["app.py", str(tmp_path / "run.safetensors")])
    app = AppTest.from_string(SCRIPT, default_timeout=120)
    app.query_params["lang"] = "en"
    app.run()
    app.selectbox(key="debug_expect").set_value("causal").run()
    app.toggle(key="debug_calls_open").set_value(True).run()
    assert not app.exception and not app.error
    table = app.dataframe[0].value
    assert table["verdict"].tolist() == ["ok", "wrong: The next token is visible"]
    assert table["mask that was applied"][0] == "causal"
    app.selectbox(key="debug_call").set_value(1).run()
    assert "causal-one-late" in html_of(app) and cell_count(app, "leaks") == 4


def cell_count(app: AppTest, word: str) -> int:
    found = re.search(rf"{word}: (\d+)", html_of(app))
    return int(found.group(1)) if found else 0
