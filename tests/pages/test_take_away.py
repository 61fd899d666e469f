"""What is taken away from the explore page is opened again: numbers equal to the core's, code that gives the same."""

import csv
import io
import json
import re

import numpy as np
import pytest
import torch
from plotly.graph_objects import Figure
from streamlit.testing.v1 import AppTest

from attention_core.from_scratch import MaskChoice, ScratchConfig
from attention_core.pretrained import Switches
from viz.figures import head_heatmap, standalone_html
from viz.services.attention import ModelRequest, Request, ScratchRequest, run
from viz.services.exports import STAGES, as_csv, as_json, as_npz
from viz.services.python_code import as_python
from viz.services.views import view

NASTY = "a \"b\" 'c', 你好\n=1+1 <script> $x$ \U0001f600"
SCRATCH = ScratchRequest(
    NASTY, ScratchConfig(num_heads=3, d_k=5, d_model=24, scale=0.7, mask=MaskChoice("causal"), seed=7)
)
PADDED = ModelRequest(
    "all-MiniLM-L6-v2",
    ("a short one", "a longer line\twith 'quotes'"),
    "left",
    Switches(scaling=False, window=3, heads_off=frozenset({("encoder.2", 5), ("encoder.0", 1)}), layers=frozenset({2})),
)
REQUESTS = pytest.mark.parametrize(
    ("request_", "call", "sample"), [(SCRATCH, "decoder.0", 0), (PADDED, "encoder.2", 1)], ids=["scratch", "minilm"]
)
pytestmark = pytest.mark.usefixtures("minilm_folder")


def call_of(request: Request, name: str) -> str:
    names = [call.name for call in run(request).calls]
    assert name in names, names
    return name


@REQUESTS
def test_npz_holds_every_stage_and_both_masks(request_: Request, call: str, sample: int) -> None:
    shown = view(request_, call_of(request_, call), sample)
    trace = run(request_).trace(run(request_).call(call))
    with np.load(io.BytesIO(as_npz(request_, shown)), allow_pickle=False) as file:
        for stage in STAGES:
            torch.testing.assert_close(
                torch.from_numpy(file[stage]), getattr(trace, stage)[sample].float(), rtol=0, atol=1e-6
            )  # the view cuts one sample out of the batch: the order of sums may differ
        np.testing.assert_array_equal(file["allowed"], shown.allowed)
        np.testing.assert_array_equal(file["intended"], shown.intended)
        assert file["query_tokens"].tolist() == [token.label for token in shown.query_tokens]
        about = json.loads(str(file["about"]))
    assert about["call"] == call
    assert about["versions"]["torch"] == torch.__version__.partition("+")[0] or about["versions"]["torch"]


@REQUESTS
def test_csv_is_one_line_per_cell(request_: Request, call: str, sample: int) -> None:
    shown = view(request_, call_of(request_, call), sample)
    lines = list(csv.DictReader(io.StringIO(as_csv(shown, 2).decode("utf-8-sig"))))
    q_len, k_len = shown.weights.shape[1:]
    assert len(lines) == q_len * k_len
    for stage in STAGES:
        read = np.array([float(line[stage]) for line in lines], dtype=np.float32).reshape(q_len, k_len)
        np.testing.assert_array_equal(read, getattr(shown, stage)[2])
    allowed = np.array([line["allowed"] == "1" for line in lines]).reshape(q_len, k_len)
    np.testing.assert_array_equal(allowed, shown.allowed[2])
    assert [line["key_token"] for line in lines[:k_len]] == [token.label for token in shown.key_tokens]
    assert [line["query_token"] for line in lines[::k_len]] == [token.label for token in shown.query_tokens]


@REQUESTS
def test_json_is_strict_and_names_what_json_cannot_say(request_: Request, call: str, sample: int) -> None:
    shown = view(request_, call_of(request_, call), sample)

    def refuse(text: str) -> None:
        pytest.fail(f"{text} is not JSON")

    told = json.loads(as_json(request_, shown), parse_constant=refuse)
    for stage in STAGES:
        read = np.array([[[float(cell) for cell in row] for row in head] for head in told[stage]], dtype=np.float32)
        np.testing.assert_array_equal(read, getattr(shown, stage))
    assert np.isneginf(shown.logits).any()
    assert told["texts"] == list(run(request_).texts)
    assert told["settings"]["seed" if request_ is SCRATCH else "window"] == (7 if request_ is SCRATCH else 3)


@REQUESTS
@pytest.mark.parametrize("stage", ["weights", "logits"])
def test_the_code_runs_and_gives_the_same_numbers(
    request_: Request, call: str, sample: int, stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = view(request_, call_of(request_, call), sample)
    drawn: list[Figure] = []
    monkeypatch.setattr(Figure, "show", lambda figure: drawn.append(figure))
    names: dict = {}
    exec(as_python(request_, shown, head=2, stage=stage), names)
    np.testing.assert_allclose(names["weights"], shown.weights, rtol=0, atol=1e-6)  # a batch beside a sample of it
    np.testing.assert_array_equal(names["allowed"], shown.allowed)
    assert len(drawn) == 2
    np.testing.assert_allclose(
        np.where(shown.allowed[2], getattr(shown, stage)[2], 0),
        np.where(shown.allowed[2], names[stage][2], 0),
        rtol=1e-6,
        atol=1e-5,  # scores reach 30 where scaling is off
    )


def test_the_code_leaves_out_what_is_as_usual() -> None:
    request = ModelRequest("all-MiniLM-L6-v2", ("one",))
    text = as_python(request, view(request, "encoder.0", 0), head=0)
    assert "run = model.run(['one'])\n" in text
    assert "Switches" not in text


def test_a_page_of_its_own_needs_no_network() -> None:
    weights = np.array([[0.25, 0.75], [1.0, 0.0]], dtype=np.float32)
    figure = head_heatmap(weights, query_tokens=["$x$", "</script>"], key_tokens=["<b>", "你"])
    page = standalone_html(figure, title="a <b> & 你", lines=("text </p><script>alert(1)</script>",), language="zh")
    outside = page.split("<body>")[0] + page.split("<body>")[1][:400]
    assert '<html lang="zh">' in page
    assert "a &lt;b&gt; &amp; 你" in outside
    assert "<script>alert(1)" not in page
    assert not re.search(r"<(script|link|img|iframe)[^>]*(src|href)=", page)
    assert "sendChartToCloud" in page  # named among the buttons that are taken off


def test_the_fold_lists_each_chart_and_only_when_it_is_open() -> None:
    app = AppTest.from_file("../../app.py", default_timeout=120)
    for name, value in {"lang": "en", "source": "from-scratch", "text": "one two three"}.items():
        app.query_params[name] = value
    app.run()
    assert not app.exception
    assert not app.get("download_button")
    toggle = next(one for one in app.toggle if one.key == "explore_take_away_open")
    toggle.set_value(True).run()
    assert not app.exception
    labels = [button.proto.label for button in app.get("download_button")]
    assert labels.count("HTML") == len(app.get("plotly_chart")) == 4
    assert labels[-3:] == ["NPZ, all heads", "CSV, head 0", "JSON, all heads"]
    assert "run_from_scratch('one two three'" in "\n".join(block.value for block in app.code)


@pytest.mark.parametrize("page", ["mask_lab", "bug_zoo", "debug", "learn"])
def test_every_page_lists_its_charts_once_the_fold_is_open(page: str) -> None:
    app = AppTest.from_string(PAGE.format(page=page), default_timeout=120)
    app.query_params["lang"], app.query_params["lesson"] = "en", "scaling"
    app.run()
    assert not app.exception and not app.error
    assert "HTML" not in labels(app) or page == "debug"  # which has its report as a page
    report = labels(app).count("HTML")
    next(one for one in app.toggle if one.key == f"{page}_take_away_open").set_value(True).run()
    assert not app.exception and not app.error
    assert labels(app).count("HTML") - report == len(app.get("plotly_chart")) > 0


PAGE = """
from viz.pages import {page}, frame
frame.show([frame.Page("{page}", {page}.render)])
"""


def labels(app: AppTest) -> list[str]:
    return [button.proto.label for button in app.get("download_button")]


def test_the_code_says_on_which_side_a_batch_is_padded() -> None:
    """The numbers of one sample can be the same on both sides, so the words are looked at."""
    assert "padding_side='left'" in as_python(PADDED, view(PADDED, "encoder.2", 1), head=0)
