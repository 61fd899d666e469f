"""What each view of the explore page gives to take along: files equal to the tensors, code that gives the same."""

import csv
import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from plotly.graph_objects import Figure
from streamlit.testing.v1 import AppTest

from attention_core.diagnostics import head_patterns, one_head, pattern_cells, rollout, token_roles, weighted_norms
from attention_core.from_scratch import MaskChoice, ScratchConfig
from attention_core.pretrained import Chat, Pair, Switches
from attention_core.pretrained.head_map import head_map
from attention_core.runs import Call
from viz.services.attention import ModelRequest, Request, ScratchRequest, run
from viz.services.explore_compare import pair, side
from viz.services.export_tables import Axis, Numbers, Table, table_csv, tables_json, tables_npz
from viz.services.flow import flow
from viz.services.generation import WritingRequest, writing
from viz.services.head_map import MapJob, MapRequest, finished
from viz.services.head_stages import head_stages
from viz.services.models import loaded_model
from viz.services.overview import CHOICES, kinds, overview
from viz.services.python_code import Script, as_python, written
from viz.services.python_views import (
    compare_code,
    flow_code,
    head_map_code,
    overview_code,
    stages_code,
    text_code,
    writing_code,
)
from viz.services.text_maps import text_map
from viz.services.view_numbers import (
    flow_numbers,
    head_map_numbers,
    overview_numbers,
    pair_numbers,
    stages_numbers,
    text_numbers,
    writing_numbers,
)
from viz.services.views import view

SCRATCH = ScratchRequest(
    'one "two", two 你好\nthree', ScratchConfig(num_heads=3, d_k=5, d_model=24, mask=MaskChoice("causal"), seed=7)
)
DRAWN = ScratchRequest(
    "a b c", ScratchConfig(num_heads=2, d_k=5, d_model=16, mask=MaskChoice("custom", rows="110/011/101"))
)
PADDED = ModelRequest(
    "all-MiniLM-L6-v2",
    ("unbelievably short", "a longer line\twith 'quotes', unbelievably"),
    "left",
    Switches(scaling=False, window=3, heads_off=frozenset({("encoder.2", 5)}), layers=frozenset({2}), ablation="mean"),
)
MASKED = ModelRequest(
    "all-MiniLM-L6-v2", ("the cat",), switches=Switches(mask="custom", mask_rows="1100/0110/1011/0001", softcap=5.0)
)
BART = {
    "d_model": 24, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 3, "decoder_attention_heads": 3,
    "encoder_ffn_dim": 17, "decoder_ffn_dim": 19, "max_position_embeddings": 37, "bos_token_id": 2, "eos_token_id": 3,
    "decoder_start_token_id": 3,
}  # fmt: skip
PAIRED = ModelRequest("all-MiniLM-L6-v2", (Pair("the cat", "sat on it's mat"),))
ONE_STACK = pytest.mark.parametrize(
    "request_", [SCRATCH, DRAWN, PADDED, MASKED, PAIRED], ids=["scratch", "drawn", "padded", "masked", "paired"]
)
pytestmark = pytest.mark.usefixtures("minilm_folder")


@pytest.fixture(scope="module")
def bart(tiny_folder: Callable[..., Path]) -> ModelRequest:
    folder = tiny_folder("BartForConditionalGeneration", specials=True, **BART)
    texts, targets = ("the cat sat", "my old dog looked at it"), ("a dog", "the red hat was")
    return ModelRequest(str(folder), texts, switches=Switches(temperature=0.5), targets=targets)


@pytest.fixture
def executed(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], tuple[dict[str, Any], list[Figure]]]:
    def run_code(code: str) -> tuple[dict[str, Any], list[Figure]]:
        drawn: list[Figure] = []
        monkeypatch.setattr(Figure, "show", lambda figure: drawn.append(figure))
        names: dict[str, Any] = {}
        exec(compile(code, "copied", "exec"), names)
        return names, drawn

    return run_code


def opened(numbers: Numbers) -> dict[str, np.ndarray]:
    """Every array of the NPZ by ``table.array``, after the other two formats were found to hold the same."""
    with np.load(io.BytesIO(tables_npz(numbers)), allow_pickle=False) as file:
        arrays = dict(file)
    told = json.loads(tables_json(numbers), parse_constant=lambda text: pytest.fail(f"{text} is not JSON"))
    assert json.loads(str(arrays["about"])) == {name: told[name] for name in told if name != "tables"}
    found = {}
    for table in numbers.tables:
        lines = list(csv.DictReader(io.StringIO(table_csv(table).decode("utf-8-sig"))))
        shape = tuple(axis.size for axis in table.axes)
        assert len(lines) == np.prod(shape)
        before = f"{table.code}." if len(numbers.tables) > 1 else ""
        for name in table.arrays:
            array = arrays[before + name]
            found[f"{table.code}.{name}"] = array
            assert array.shape == shape
            if array.dtype.kind == "U":
                assert [line[name] for line in lines] == array.ravel().tolist()
                assert told["tables"][table.code]["arrays"][name] == array.tolist()
                continue
            kind = array.dtype if array.dtype.kind == "f" else np.float64
            read = np.array([float(line[name]) for line in lines], dtype=kind).reshape(shape)
            np.testing.assert_array_equal(read, array)
            flat = np.array(told["tables"][table.code]["arrays"][name]).ravel()
            np.testing.assert_array_equal(np.array([float(x) for x in flat], dtype=kind).reshape(shape), array)
        for number, axis in enumerate(table.axes):
            stride = int(np.prod(shape[number + 1 :]))
            of_axis = lines[::stride][: axis.size]
            assert [int(line[axis.name]) for line in of_axis] == [axis.first + i for i in range(axis.size)]
            for column, labels in axis.labels.items():
                assert arrays[before + column].tolist() == list(labels)
                assert told["tables"][table.code]["labels"][column] == list(labels)
                assert [line[column] for line in of_axis] == [str(int(x)) if isinstance(x, bool) else x for x in labels]
    return found


def weights_of(request: Request, call: str, sample: int) -> torch.Tensor:
    weights = run(request).trace(run(request).call(call)).weights
    assert weights is not None
    return weights[sample].float()


def last_sample(request: Request) -> int:
    return len(run(request).texts) - 1


def test_what_json_has_not_is_named_and_a_mask_is_told_from_a_zero():
    """c150: NaN in the first row, no key allowed in the second."""
    weights, allowed = np.array([[np.nan, 1], [0, 0]], np.float32), np.array([[True, True], [False, False]])
    axes = tuple(Axis(name, 2, {f"{name}_token": ("$x$", "=1+1")}) for name in ("query", "key"))
    numbers = Numbers("c150", (Table("map", axes, {"weights": weights, "allowed": allowed}),), {"scale": np.inf})
    found = opened(numbers)
    np.testing.assert_array_equal(found["map.weights"], weights)
    np.testing.assert_array_equal(found["map.allowed"], allowed)
    assert '[["NaN", 1.0], [0.0, 0.0]]' in tables_json(numbers).decode()
    assert json.loads(tables_json(numbers))["scale"] == "Infinity"


def test_a_table_of_another_shape_is_refused():
    with pytest.raises(ValueError, match="every array of a table is"):
        Table("map", (Axis("query", 2, {}),), {"weights": np.zeros(3)})
    with pytest.raises(ValueError, match="every label has its place"):
        Table("map", (Axis("query", 2, {"token": ("a",)}),), {"weights": np.zeros(2)})


@ONE_STACK
def test_overview(request_: Request, executed):
    sample = last_sample(request_)
    shown = overview(request_, kinds(run(request_))[0], sample)
    found = opened(overview_numbers(request_, shown, sample=sample))
    made = run(request_)
    for row, call in enumerate(shown.calls):
        cells = pattern_cells(
            [token_roles(made.key_tokens(call)[sample])], q_len=len(shown.query_tokens),
            allowed=made.inputs[call.name].allowed.expand(len(made.texts), -1, -1, -1)[sample : sample + 1]
            if made.inputs[call.name].allowed.dim() == 4 else made.inputs[call.name].allowed,
        )  # fmt: skip
        scores = head_patterns(weights_of(request_, call.name, sample)[None], cells).scores
        for name, score in scores.items():
            # one sample computed alone beside the same in its batch
            np.testing.assert_allclose(found[f"heads.{name}"][row], score[0].numpy(), rtol=0, atol=1e-6)
    for colour in ("weights", "previous", "entropy", "saturation", "distance", "effective_keys", "top_weight"):
        names, drawn = executed(overview_code(request_, shown, sample=sample, colour=colour))
        for name, score in names["scores"].items():
            np.testing.assert_allclose(score, found[f"heads.{name}"], rtol=0, atol=1e-6)
        if "numbers" in names:
            np.testing.assert_allclose(names["numbers"], found[f"heads.{colour}"], rtol=1e-5, atol=1e-6)
        assert len(drawn) == 1
    assert {name.partition(".")[2] for name in found} >= {*CHOICES, "leaks", "off", "previous by chance"}


@ONE_STACK
@pytest.mark.parametrize("words", [False, True])
def test_flow(request_: Request, words: bool, executed):
    sample, layers = last_sample(request_), min(3, len(run(request_).calls))
    kind = run(request_).calls[0].kind
    asked = {"kind": kind, "sample": sample, "residual": 0.3, "words": words}
    shown = flow(request_, layers=layers, **asked)
    found = opened(flow_numbers(request_, shown, **asked))
    if not words:
        maps = [weights_of(request_, call.name, sample).mean(0) for call in run(request_).calls[:layers]]
        np.testing.assert_allclose(found["flow.rollout"], rollout(maps, residual=0.3).numpy(), rtol=0, atol=1e-6)
        np.testing.assert_allclose(found["flow.mean"], maps[-1].numpy(), rtol=0, atol=1e-6)
    names, drawn = executed(flow_code(request_, shown, **asked))
    np.testing.assert_allclose(names["rolled"].numpy(), found["flow.rollout"], rtol=0, atol=1e-6)
    np.testing.assert_allclose(names["mean"].numpy(), found["flow.mean"], rtol=0, atol=1e-6)
    assert len(drawn) == 2


@ONE_STACK
def test_stages(request_: Request, executed):
    sample, call = last_sample(request_), run(request_).calls[-1].name
    shown, head, cell = view(request_, call, sample), 1, (2, 1)
    stages = head_stages(request_, call, sample, head)
    found = opened(stages_numbers(request_, shown, stages, head=head))
    inputs = one_head(run(request_).inputs[call], sample=sample, head=head)
    trace = inputs.trace()
    assert trace.weights is not None
    weighted = weighted_norms(trace.weights, inputs.value)[0, 0]
    np.testing.assert_array_equal(found["head.weighted"], weighted.numpy())
    np.testing.assert_array_equal(found["head.weights"], trace.weights[0, 0].numpy())
    np.testing.assert_array_equal(found["head.allowed"], shown.allowed[head])
    np.testing.assert_array_equal(found["head.intended"], shown.intended[head])
    names, drawn = executed(stages_code(request_, shown, head=head, cell=cell))
    assert set(names["stages"]) | {"allowed", "intended"} == {name.partition(".")[2] for name in found}
    for name, stage in names["stages"].items():
        np.testing.assert_array_equal(stage, found[f"head.{name}"])
    assert names["steps"].weight == pytest.approx(found["head.weights"][cell])
    assert len(drawn) == 1


@ONE_STACK
@pytest.mark.parametrize("words", [False, True])
@pytest.mark.parametrize("kind", ["head", "mean", "rollout"])
def test_text(request_: Request, kind: str, words: bool, executed):
    sample, made = last_sample(request_), run(request_)
    shown = view(request_, made.calls[-1].name, sample)
    asked = {"kind": kind, "head": 1, "words": words}
    maps = text_map(request_, made, shown, start=0, **asked)
    found = opened(text_numbers(request_, shown, maps, **asked))
    np.testing.assert_array_equal(found["map.weights"], maps.weights[0])
    if kind == "head" and not words:
        np.testing.assert_array_equal(found["map.weights"], shown.weights[1])
    names, drawn = executed(text_code(request_, shown, maps, **asked))
    np.testing.assert_allclose(names["shown"].numpy(), found["map.weights"], rtol=0, atol=1e-6)
    assert len(drawn) == 1


@pytest.mark.parametrize("words", [False, True])
def test_a_part_of_a_long_text(words: bool, executed, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("viz.services.text_maps.MOST_TEXT", 5)
    request = ModelRequest("all-MiniLM-L6-v2", ("unbelievably long texts, unbelievably",))
    shown, asked = view(request, "encoder.1", 0), {"kind": "head", "head": 1, "words": words}
    maps = text_map(request, run(request), shown, start=2, **asked)
    assert maps.last_start
    found = opened(text_numbers(request, shown, maps, **asked))
    rows = found["map.weights"].sum(axis=1) + found["outside.outside"]
    np.testing.assert_allclose(rows, 1, rtol=0, atol=1e-6)
    names, _ = executed(text_code(request, shown, maps, **asked))
    np.testing.assert_allclose(names["shown"].numpy(), found["map.weights"], rtol=0, atol=1e-6)
    assert names["labels"]["key_tokens"] == [piece.text for piece in maps.keys]


PAIRS = {
    "settings": (PADDED.neutral, PADDED),
    "tokens": (MASKED, replace(MASKED, texts=("my dog",))),
    "lengths": (SCRATCH, PADDED),
}


@pytest.mark.parametrize("name", PAIRS)
def test_compare(name: str, executed):
    first, second = PAIRS[name]
    shown = pair(side(first, 1, 1, 2), side(second, 2, 1, 1))
    found = opened(pair_numbers(shown))
    for code, one in (("a", shown.first), ("b", shown.second)):
        core = weights_of(one.request, one.call.name, one.sample)[one.head]
        np.testing.assert_allclose(found[f"{code}.weights"], core.numpy(), rtol=0, atol=1e-6)
    names, drawn = executed(compare_code(shown))
    np.testing.assert_allclose(names["a"].numpy(), found["a.weights"], rtol=0, atol=1e-6)
    np.testing.assert_allclose(names["b"].numpy(), found["b.weights"], rtol=0, atol=1e-6)
    assert ("difference" in names) == ("difference.difference" in found) == (name != "lengths")
    assert len(drawn) == (2 if name == "lengths" else 3)
    if name != "lengths":
        difference = found["difference.b"].astype(np.float64) - found["difference.a"]
        np.testing.assert_allclose(found["difference.difference"], difference, rtol=0, atol=1e-6)
        np.testing.assert_allclose(names["difference"], difference, rtol=0, atol=1e-6)


@pytest.mark.parametrize("switches", [Switches(), Switches(scaling=False, ablation="mean")])
def test_head_map(switches: Switches, executed, tiny_folder):
    folder = tiny_folder("GPT2LMHeadModel", n_embd=24, n_head=3, n_layer=2, n_positions=37, bos_token_id=2)
    asked = MapRequest(str(folder), "the cat sat on the mat", switches, "nll")
    MapJob(asked).join(60)
    shown = finished(asked)
    assert shown is not None
    request = ModelRequest(asked.model, (asked.text,), switches=switches)
    found = opened(head_map_numbers(request, shown, sample=0))
    core = head_map(loaded_model(asked.model), asked.text, measure="nll", switches=switches)
    np.testing.assert_allclose(found["heads.nll"], core.values.numpy(), rtol=0, atol=1e-9)
    names, drawn = executed(head_map_code(shown))
    np.testing.assert_allclose(names["effects"], found["heads.nll"], rtol=0, atol=1e-9)
    assert len(drawn) == 1


@pytest.mark.parametrize("family", ["GPT2LMHeadModel", "BartForConditionalGeneration"])
@pytest.mark.parametrize("temperature", [0.0, 0.7])
def test_writing(family: str, temperature: float, executed, tiny_folder):
    sizes = {"n_embd": 24, "n_head": 3, "n_layer": 2, "n_positions": 37, "bos_token_id": 2, "eos_token_id": 3}
    folder = tiny_folder(family, **sizes) if family.startswith("GPT2") else tiny_folder(family, specials=True, **BART)
    asked = WritingRequest(str(folder), "the cat sat", Switches(temperature=0.5), 7, temperature, seed=5)
    made = writing(asked)
    count = made.advance(4)
    call = Call("decoder.1", "decoder", 1)
    text, grown = made.written(count), made.map_of(call, 2, count)
    found = opened(writing_numbers(asked, text, grown, call=call.name, head=2))
    generator = torch.Generator().manual_seed(5)
    core = loaded_model(asked.model).generate(
        asked.sample, max_new_tokens=7, switches=asked.switches, temperature=temperature, generator=generator
    )
    steps = [next(core) for _ in range(count)]
    weights = core.run(count).trace(call).weights
    assert weights is not None
    np.testing.assert_array_equal(found["map.weights"], weights[0, 2].numpy())
    np.testing.assert_array_equal(found["steps.probability"], [step.probability for step in steps])
    assert found["candidates.word"].tolist()[0] == [core.model.written(id_) for id_, _ in steps[0].top]
    names, drawn = executed(writing_code(asked, text, call=call.name, head=2))
    np.testing.assert_array_equal(names["weights"], found["map.weights"])
    assert names["probabilities"] == found["steps.probability"].tolist()
    assert len(drawn) == 1


def test_two_stacks(bart: ModelRequest, executed):
    for kind in ("encoder", "decoder", "cross"):
        asked = {"kind": kind, "sample": 1, "residual": 0.3, "words": False}
        shown = flow(bart, layers=2, **asked)
        numbers = flow_numbers(bart, shown, **asked)
        found = opened(numbers)
        names, _ = executed(flow_code(bart, shown, **asked))
        np.testing.assert_allclose(names["rolled"].numpy(), found["flow.rollout"], rtol=0, atol=1e-6)
        np.testing.assert_allclose(names["mean"].numpy(), found["flow.mean"], rtol=0, atol=1e-6)
        assert json.loads(tables_json(numbers))["targets"] == list(bart.targets)
        heads = overview(bart, kind, 1)
        scores = opened(overview_numbers(bart, heads, sample=1))
        names, _ = executed(overview_code(bart, heads, sample=1, colour="previous"))
        for name, score in names["scores"].items():
            np.testing.assert_allclose(score, scores[f"heads.{name}"], rtol=0, atol=1e-6)
        layer = view(bart, f"{kind}.1", 1)
        names, _ = executed(as_python(bart, layer, head=2))
        np.testing.assert_allclose(names["weights"], layer.weights, rtol=0, atol=1e-6)
        maps = text_map(bart, run(bart), layer, kind="mean", head=0, words=True, start=0)
        names, _ = executed(text_code(bart, layer, maps, kind="mean", head=0, words=True))
        np.testing.assert_allclose(names["shown"].numpy(), maps.weights[0], rtol=0, atol=1e-6)
        names, _ = executed(stages_code(bart, layer, head=2, cell=(1, 2)))
        np.testing.assert_array_equal(
            names["stages"]["weights"], head_stages(bart, f"{kind}.1", 1, 2).stages["weights"]
        )


def test_a_chat_is_written_as_it_was_asked_for():
    asked, script = Chat("it's", system="a \\ b"), Script()
    script.add(f"asked = {written(script, asked)}")
    names: dict[str, Any] = {}
    exec(script.text, names)
    assert names["asked"] == asked
    assert "from attention_core.pretrained import Chat\n" in script.text


def test_a_cut_text_is_cut_alike(executed, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("viz.services.attention.MOST_TOKENS", 7)
    request = ModelRequest("all-MiniLM-L6-v2", ("a text of more than seven tokens that is cut",))
    shown = view(request, "encoder.3", 0)
    assert shown.weights.shape[1] == 7
    code = as_python(request, shown, head=2)
    names, _ = executed(code)
    np.testing.assert_allclose(names["weights"], shown.weights, rtol=0, atol=1e-6)
    assert "max_tokens=7" in code


FOLDS = {
    "overview": ("head_overview(", ["NPZ", "CSV, heads", "JSON"]),
    "text": ("shown = ", ["NPZ", "CSV, map", "JSON"]),
    "lines": ("head_grid(", ["NPZ, all heads", "CSV, head 1", "JSON, all heads"]),
    "stages": ("stage_panels(", ["NPZ", "CSV, all stages", "JSON"]),
    "compare": ("signed_difference(", ["NPZ", "CSV, A", "CSV, B", "CSV, difference", "JSON"]),
    "flow": ("rollout(", ["NPZ", "CSV, both maps", "JSON"]),
}


@pytest.mark.parametrize("name", FOLDS)
def test_the_fold_of_each_view(name: str, executed):
    app = AppTest.from_file("../../app.py", default_timeout=120)
    link = {"source": "from-scratch", "text": "one two three", "view": name, "mask": "causal", "head": "1"}
    for setting, value in {"lang": "en", **link}.items():
        app.query_params[setting] = value
    app.run()
    next(one for one in app.toggle if one.key == "explore_take_away_open").set_value(True).run()
    assert not app.exception and not app.error
    code, buttons = FOLDS[name]
    labels = [button.proto.label for button in app.get("download_button")]
    assert labels.count("HTML") == len(app.get("plotly_chart"))
    assert labels[-len(buttons) :] == buttons
    [block] = [block.value for block in app.code if "import" in block.value]
    assert code in block and "MaskChoice('causal')" in block
    _, drawn = executed(block)
    assert drawn
