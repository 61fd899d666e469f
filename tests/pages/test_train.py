"""The train page: what stands there at first, a run to its end, a comparison, what is told and what is taken away."""

import json
import math
from typing import Any

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from attention_core.training import TASKS, Trainer, TrainingConfig
from tests.figures.spec import array
from viz.pages.train_state import Shown
from viz.services import trained, training
from viz.text import TEXTS, use_language

SCRIPT = """
from viz.pages import explore, explore_state, frame, train, train_state
frame.show([
    frame.Page("train", train.render, train_state.KEPT),
    frame.Page("explore", explore.render, tuple(map(explore_state.key, explore_state.SETTINGS))),
])
"""
QUICK = {"layers": "1", "heads": "2"}


@pytest.fixture(autouse=True)
def _short(monkeypatch):
    monkeypatch.setattr(training, "MOST_STEPS", 10)
    yield
    use_language(None)


def visit(**link: str) -> AppTest:
    app = AppTest.from_string(SCRIPT, default_timeout=60)
    for name, value in {"lang": "en", **QUICK, **link}.items():
        app.query_params[name] = value
    return clean(app.run())


def clean(app: AppTest) -> AppTest:
    assert not app.exception
    assert not [error.value for error in app.error if "could not be drawn" in error.value]
    return app


def run_of(app: AppTest) -> training.Training:
    shown: Shown = app.session_state["train_run"]
    return shown.run


def press(app: AppTest, name: str) -> AppTest:
    [button] = [b for b in app.button if b.key == f"train_{name}"]
    button.click().run()
    return clean(app)


def trained_page(name: str = "start", **link: str) -> AppTest:
    """The page after a run has ended."""
    app = press(visit(**link), name)
    run_of(app).join(120)
    return clean(app.run())


def figures(app: AppTest) -> dict[str, dict]:
    found = {}
    for chart in app.get("plotly_chart"):
        found[chart.proto.id.rpartition("-train_")[2]] = json.loads(chart.proto.spec)
    return found


def drawn(figure: dict) -> np.ndarray:
    tiles = [one for one in figure["data"] if "head" in (one.get("meta") or {}) and one.get("coloraxis")]
    return np.stack([array(one["z"]) for one in tiles])


def said(app: AppTest) -> str:
    boxes: list[Any] = [*app.markdown, *app.info, *app.success, *app.warning, *app.error, *app.caption]
    return "\n".join(str(one.value) for one in boxes)


def widget(app: AppTest, kind: str, name: str) -> Any:
    [found] = [one for one in app.get(kind) if one.key == f"train_{name}"]
    return found


def test_a_newcomer_sees_the_model_before_its_training() -> None:
    app = visit()
    trainer = Trainer(TrainingConfig(task="copy", num_layers=1, num_heads=2))
    found = trainer.look()
    np.testing.assert_array_equal(drawn(figures(app)["maps_0"]), found.weights[0].numpy())
    assert f"After 0 steps: {found.accuracy:.0%} right, loss {found.loss:.3g}." in said(app)
    assert run_of(app).state == "paused"


def test_outlines_are_where_the_answers_stand() -> None:
    figure = figures(visit())["maps_0"]
    [shape] = figure["layout"]["shapes"]
    assert figure["data"][0]["y0"] == 1  # below the line of names
    assert shape["path"].startswith("M-0.5,8.5L0.5,8.5L0.5,9.5L-0.5,9.5Z")  # the bar at 8 asks for the letter at 0
    assert shape["path"].count("M") == 2 * 8  # heads x answers


def test_settings_make_another_model_and_stand_in_the_link() -> None:
    app = visit()
    widget(app, "slider", "heads").set_value(3).run()
    assert drawn(figures(clean(app))["maps_0"]).shape[0] == 3
    assert app.query_params["heads"] == "3"
    app = visit(task="lookup", scaling="0", rate="0.01", d_k="8", seed="4", position="none", forgotten="1")
    assert run_of(app).lanes[0].config == TrainingConfig(
        task="lookup", num_layers=1, num_heads=2, d_k=8, position="none", scaling=False, causal_mask=False,
        learning_rate=0.01, seed=4,
    )  # fmt: skip
    assert "Not usable in the link, and left out: rate, task" not in said(app)
    assert "left out: task, rate" in said(visit(task="chess", rate="7"))


def test_a_run_to_its_limit_and_its_checkpoints() -> None:
    app = trained_page()
    lane = run_of(app).lanes[0]
    assert (lane.state, lane.trainer.steps) == ("limit", 10)
    assert f"Ended at the limit of 10 steps with {lane.seen[-1].accuracy:.0%} right" in said(app)
    np.testing.assert_array_equal(drawn(figures(app)["maps_0"]), lane.maps[10][0])
    widget(app, "select_slider", "checkpoint").set_value(5).run()
    np.testing.assert_array_equal(drawn(figures(clean(app))["maps_0"]), lane.maps[5][0])
    assert f"After 5 steps: {lane.at(5)[0].accuracy:.0%} right" in said(app)
    charts = figures(app)
    assert {"accuracy", "loss", "on_source_0", "entropy_0", "similarity"} <= set(charts)
    np.testing.assert_array_equal(array(charts["loss"]["data"][0]["y"]), [one.loss for one in lane.seen])
    np.testing.assert_array_equal(
        array(charts["on_source_0"]["data"][0]["z"])[1], np.float32([one.on_source[0, 1] for one in lane.seen])
    )
    app = press(app, "go_on")
    run_of(app).join(60)
    assert run_of(app).step == 20


def test_the_goal_is_told(monkeypatch) -> None:
    monkeypatch.setattr(TASKS["copy"], "goal", 0.01)
    assert "Learned: 1% right answers or more after 5 steps." in said(trained_page())


def test_pause_stop_and_a_new_start() -> None:
    training.MOST_STEPS = 100_000  # the fixture puts it back
    app = press(visit(), "start")
    app = press(app, "pause")
    run_of(app).join(60)
    assert run_of(app).state == "paused"
    app = press(clean(app.run()), "go_on")
    assert run_of(app).state == "running"
    earlier = run_of(app)
    app = press(app, "start")
    assert earlier.state == "stopped" and run_of(app) is not earlier
    press(app, "stop")
    run_of(app).join(60)
    assert run_of(app).state == "stopped"
    assert not [one for one in clean(app.run()).button if one.key == "train_go_on"]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_two_side_by_side_say_what_differs(language: str) -> None:
    use_language(language)  # AppTest reads the widgets' options outside of the script
    app = trained_page("preset_mask", lang=language)
    column = {"en": 0, "zh": 1}[language]
    first, second = run_of(app).lanes
    assert second.config.causal_mask is False and first.config.causal_mask
    names = [TEXTS[f"train.mask_{which}"][column] for which in ("one", "two")]
    told = TEXTS["train.differ_neither"][column].format(
        one=names[0], two=names[1], goal=0.95, one_step=10, two_step=10, one_right=first.seen[-1].accuracy,
        two_right=second.seen[-1].accuracy,
    )  # fmt: skip
    assert told in said(app)
    assert TEXTS["train.alone"][column] in said(app)
    charts = figures(app)
    assert [len(charts[name]["data"]) for name in ("accuracy", "loss")] == [2, 2]
    assert {"maps_0", "maps_1", "entropy_1"} <= set(charts)
    ranges = [charts[f"on_source_{place}"]["layout"]["xaxis"]["range"] for place in (0, 1)]
    assert ranges[0] == ranges[1]


def test_beyond_the_places_the_page_says_busy(monkeypatch) -> None:
    monkeypatch.setattr(training, "_PLACES", type("None left", (), {"acquire": lambda self, blocking: False})())
    assert "At most 3 runs train at once on this machine" in said(press(visit(), "start"))


@pytest.mark.parametrize(("scaling", "remedy"), [("1", "Too large steps"), ("0", "switch the scaling on")])
def test_a_loss_that_is_no_number_is_explained(scaling: str, remedy: str, monkeypatch) -> None:
    look = training.Lane.look

    def broken(lane: training.Lane) -> None:
        look(lane)
        with torch.no_grad():
            lane.trainer.model.embedding.fill_(math.nan)

    monkeypatch.setattr(training.Lane, "look", broken)
    app = trained_page(scaling=scaling)
    assert "the loss is no longer a number since step 1" in said(app)
    assert remedy in said(app)


@pytest.mark.parametrize(
    ("link", "why"),
    [({"d_k": "256"}, "d_k = d_model / heads"), ({"position": "rotary"}, "these are rotary")],
)
def test_what_cannot_be_saved_says_why(link: dict, why: str) -> None:
    app = trained_page(**link)
    assert why in said(app)
    assert not [one for one in app.button if one.key == "train_explore_0"]


def test_a_trained_model_opens_in_explore_with_the_same_attention(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(trained, "cache_folder", lambda: tmp_path)
    app = trained_page()
    lane = run_of(app).lanes[0]
    app = press(app, "explore_0")
    assert app.session_state["explore_source"] == str(tmp_path / "trained" / trained.file_name(lane))
    [chart] = [one for one in app.get("plotly_chart") if "explore_grid" in one.proto.id]
    # the same weights through transformers' own layers: sums in another order
    np.testing.assert_allclose(drawn(json.loads(chart.proto.spec)), lane.maps[10][0], atol=2e-6)
