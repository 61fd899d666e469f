"""The mask lab, read out of what it draws and writes: what is composed and painted is what is shown."""

import json
from typing import Any

import pytest
import torch
from streamlit.testing.v1 import AppTest

from attention_core import masks
from attention_core.mask_code import mask_code
from attention_core.mask_parts import Causal, MaskRecipe, Padding, Window
from tests.figures.spec import array

SCRIPT = """
from viz.pages import frame, mask_lab, mask_lab_state
frame.show([frame.Page("mask_lab", mask_lab.render, mask_lab_state.KEPT)])
"""


DEFAULT = MaskRecipe(8, 8, (Causal(), Window(2, 0)))
PADDED = MaskRecipe(8, 8, (Causal(), Padding((5, 8))))


def visit(**link: str) -> AppTest:
    app = AppTest.from_string(SCRIPT, default_timeout=60)
    for name, value in {"lang": "en", **link}.items():
        app.query_params[name] = value
    app.run()
    assert not app.exception
    return app


def control(app: AppTest, name: str) -> Any:
    for kind in ("button", "number_input", "text_input", "text_area", "button_group", "slider"):
        for widget in app.get(kind):
            if widget.key == f"mask_lab_{name}":
                return widget
    raise AssertionError(f"no control mask_lab_{name} on the page")


def choose(app: AppTest, **settings: Any) -> AppTest:
    for name, value in settings.items():
        control(app, name).set_value(value)
    app.run()
    assert not app.exception
    return app


def press(app: AppTest, name: str) -> AppTest:
    control(app, name).click()
    app.run()
    return app


def flip(app: AppTest, query: int, key: int) -> AppTest:
    control(app, "by_query").set_value(query)
    control(app, "by_key").set_value(key)
    return press(app, "flip")


def form(app: AppTest) -> str:
    return app.code[0].value


def code(app: AppTest) -> str:
    return app.code[1].value


def figure(app: AppTest, name: str = "chart") -> dict:
    charts = {chart.proto.id.rpartition("-mask_lab_")[2]: chart.proto.spec for chart in app.get("plotly_chart")}
    return json.loads(charts[name])


def link(app: AppTest) -> dict[str, str]:
    found = {name: value if isinstance(value, str) else value[0] for name, value in app.query_params.items()}
    found.pop("lang", None)
    return found


def chips(app: AppTest) -> str:
    return "\n".join(element.proto.body for element in app.get("html"))


def assert_shows(app: AppTest, recipe: MaskRecipe, sample: int = 0) -> None:
    allowed = recipe.allowed()[sample, 0]
    assert form(app) == masks.draw(allowed)
    drawn = array(figure(app)["data"][0]["z"])
    assert torch.equal(torch.tensor(drawn.tolist()).bool(), allowed)
    assert code(app) == mask_code(recipe, "sdpa").code


def test_a_newcomer_sees_a_mask_without_a_click():
    app = visit()
    assert_shows(app, DEFAULT)
    assert "21 of 64 cells allowed (33%)" in chips(app)
    assert "1 to 3 keys per query" in chips(app) and "no empty row" in chips(app)
    assert link(app) == {}


def test_parts_and_their_parameters_make_the_mask():
    app = choose(visit(), parts=["causal", "padding", "window"], q_len=5, k_len=7)
    choose(app, lengths="7, 3，5", left=3, right=None, side="left")
    recipe = MaskRecipe(5, 7, (Causal(), Padding((7, 3, 5), "left"), Window(3, None)))
    assert_shows(app, recipe)
    choose(app, sample=2)
    assert_shows(app, recipe, sample=2)
    expected = {"q_len": "5", "k_len": "7", "parts": "causal padding window", "lengths": "7, 3，5", "side": "left"}
    assert link(app) == expected | {"left": "3", "right": "all", "sample": "2"}
    again = visit(**link(app))
    assert_shows(again, recipe, sample=2)


@pytest.mark.parametrize("place", ["start", "custom"])
def test_the_place_of_the_queries(place: str):
    app = choose(visit(), q_len=3, k_len=5, parts=["causal"], place=place)
    if place == "custom":
        choose(app, offset=1)
        assert_shows(app, MaskRecipe(3, 5, (Causal(),), offset=1))
    else:
        assert_shows(app, MaskRecipe(3, 5, (Causal(),), offset=0))
        assert "got 3 queries for 5 keys" in app.warning[0].value


@pytest.mark.parametrize(
    ("part", "settings", "rows"),
    [
        ("chunked", {"chunk": 3}, ["■■■⬚⬚", "■■■⬚⬚", "■■■⬚⬚", "⬚⬚⬚■■", "⬚⬚⬚■■"]),
        ("dilated", {"dilated_window": 2, "step": 3}, ["■⬚⬚■⬚", "⬚■⬚⬚■", "⬚⬚■⬚⬚", "■⬚⬚■⬚", "⬚■⬚⬚■"]),
        ("strided", {"stride": 4}, ["■⬚⬚⬚■", "⬚■⬚⬚⬚", "⬚⬚■⬚⬚", "⬚⬚⬚■⬚", "■⬚⬚⬚■"]),
        ("global_local", {"local_window": 1, "global_keys": "1"}, ["■■⬚⬚⬚", "⬚■⬚⬚⬚", "⬚■■⬚⬚", "⬚■⬚■⬚", "⬚■⬚⬚■"]),
        ("block_sparse", {"block_size": 3}, ["■■■⬚⬚", "■■■⬚⬚", "■■■⬚⬚", "⬚⬚⬚■■", "⬚⬚⬚■■"]),
        ("block_sparse", {"block_size": 3, "block_map": "01; 1 0"}, ["⬚⬚⬚■■"] * 3 + ["■■■⬚⬚"] * 2),
        ("prefix", {"prefix": 2}, ["■■⬚⬚⬚", "■■⬚⬚⬚", "■■■⬚⬚", "■■■■⬚", "■■■■■"]),
        ("packed", {"documents": "0,0,0,1,1"}, ["■■■⬚⬚", "■■■⬚⬚", "■■■⬚⬚", "⬚⬚⬚■■", "⬚⬚⬚■■"]),
    ],
)
def test_each_part_has_its_controls(part: str, settings: dict, rows: list[str]):
    app = choose(visit(q_len="5", k_len="5", documents="7 7 7 7 7", parts=part), **settings)
    assert form(app) == "\n".join(rows)
    assert not app.error


def test_painting_flips_cells_and_can_be_undone():
    app = flip(flip(visit(parts="causal", q_len="3", k_len="3"), 0, 2), 2, 0)
    recipe = MaskRecipe(3, 3, (Causal(),), painted=((0, 0, 2), (0, 2, 0)))
    assert_shows(app, recipe)
    assert link(app)["cells"] == "0.0.2_0.2.0"
    assert_shows(visit(**link(app)), recipe)
    assert "query 0 → key 2 (Causal)" in app.warning[0].value and "key 0" not in app.warning[0].value
    assert form(flip(app, 2, 0)) == "■⬚■\n■■⬚\n■■■"
    press(app, "clear")
    assert form(app) == "■⬚⬚\n■■⬚\n■■■" and "cells" not in link(app)
    assert form(press(app, "undo")) == "■⬚■\n■■⬚\n■■■"
    press(press(app, "undo"), "undo")
    assert form(app) == "■⬚■\n■■⬚\n■■■"
    assert form(press(app, "undo")) == "■⬚⬚\n■■⬚\n■■■"
    assert control(app, "undo").disabled


def test_no_two_pictures_of_painting_share_a_revision():
    app = visit(parts="causal")
    seen = [figure(app)["layout"]["meta"]]
    for _ in range(3):
        flip(app, 0, 3)
        seen.append(figure(app)["layout"]["meta"])
    assert len(set(seen)) == 4


def test_paint_outside_the_sizes_is_kept_and_said():
    app = choose(visit(parts="causal", cells="0.6.7_0.0.1"), q_len=3, k_len=3)
    assert_shows(app, MaskRecipe(3, 3, (Causal(),), painted=((0, 0, 1),)))
    assert any("kept but not counted: 1" in caption.value for caption in app.caption)
    choose(app, q_len=8, k_len=8)
    assert_shows(app, MaskRecipe(8, 8, (Causal(),), painted=((0, 6, 7), (0, 0, 1))))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"lengths": "5, x*y"}, r"got “x\*y”"),
        ({"lengths": ""}, "Padding needs a length per sample"),
        ({"lengths": "5, 9"}, "between 0 and the 8 keys: got 9 for sample 1"),
        ({"lengths": "1,2,3,4,5,6,7,8,8"}, "At most 8 samples fit here: got 9"),
        ({"lengths": "99999999999999999999"}, "Whole numbers"),
    ],
)
def test_bad_input_is_said_and_the_picture_stays(settings: dict, message: str):
    app = choose(visit(parts="causal padding"), **settings)
    [error] = [error.value.replace("\\", "") for error in app.error]
    assert message.replace("\\", "") in error and "last mask that fitted" in error
    assert form(app) == masks.draw(PADDED.allowed()[0, 0])
    assert control(app, "lengths").value == settings["lengths"]
    assert link(app).get("lengths", "") == settings["lengths"]


@pytest.mark.parametrize(
    ("part", "settings", "message"),
    [
        ("packed", {"documents": "0 0 1"}, "8 of them: got 3 in sample 0"),
        ("packed", {"documents": " "}, "one document id per key, such as"),
        ("packed", {"documents": "0 0 0 0 1 1 1 1", "q_len": 9}, "0 to 7: got -1 to 7"),
        ("global_local", {"global_keys": "0, 8"}, "positions 0 to 8 − 1: got 8"),
        ("block_sparse", {"block_map": "12"}, "only 0 and 1: got “12”"),
        ("block_sparse", {"block_map": "11;11"}, "at least 4 × 4, rows of equal length: got 2 x 2"),
        ("prefix", {"prefix": 9}, "between 0 and the 8 keys: got 9"),
        ("padding packed", {"documents": "0 0 0 0 0 0 0 0\n" * 3}, "got 2 lengths and 3 lines of ids"),
    ],
)
def test_each_part_says_what_it_cannot_take(part: str, settings: dict, message: str):
    app = choose(visit(parts=part), **settings)
    assert [message in error.value for error in app.error] == [True]


def test_one_line_of_documents_stands_for_every_sample():
    app = choose(visit(parts="padding packed", q_len="4", k_len="4", lengths="3, 4", documents="0 0 1 1"), sample=1)
    assert form(app) == "■■⬚⬚\n■■⬚⬚\n⬚⬚■■\n⬚⬚■■"


def test_empty_rows_are_named_and_told_from_padding():
    app = visit(parts="padding window", lengths="2", side="left", left="0", right="0", q_len="4", k_len="4")
    assert "empty rows of padding: 0, 1" in chips(app)
    assert not app.warning and "query 0, query 1" in app.info[0].value
    app = visit(parts="causal", q_len="5", k_len="3")
    assert "empty rows: 0, 1" in chips(app)
    assert "query 0, query 1 may read none" in app.warning[0].value
    assert "at no key: query 0, query 1 (offset -2)" in app.info[0].value


def test_keys_that_nobody_reads_are_named():
    app = visit(parts="causal", q_len="2", k_len="4", place="start")
    assert any("no query may read: 2, 3." in info.value for info in app.info)


def test_numbers_and_rows():
    app = choose(visit(parts="causal padding", lengths="1, 3", q_len="3", k_len="3"), shown="numbers")
    assert form(app) == "1 0 0\n1 0 0\n1 0 0"
    choose(app, shown="rows", sample=1)
    table = app.dataframe[0].value
    assert table["keys it may read"].tolist() == [1, 2, 3]
    choose(app, sample=0)
    assert app.dataframe[0].value["state"].tolist() == ["–", "padding", "padding"]


@pytest.mark.parametrize("convention", ["sdpa", "multihead", "additive", "mask_mod"])
def test_code_in_each_convention(convention: str):
    app = choose(visit(parts="causal padding"), convention=convention)
    assert code(app) == mask_code(PADDED, convention).code


def test_a_convention_that_cannot_say_the_mask_says_so():
    app = choose(visit(parts="causal padding"), convention="attention_mask")
    assert len(app.code) == 1 and "A decoder model adds causality by itself" in app.info[0].value
    choose(app, parts=["window"])
    assert len(app.code) == 1 and "queries differ in what they may read" in app.info[0].value
    choose(app, parts=["padding"])
    assert "attention_mask = allowed[:, 0, 0, :].long()" in code(app)


def test_reach_through_layers():
    app = choose(visit(parts="window", left="1", right="0", q_len="5", k_len="5"), layers=3)
    text = "\n".join(str(element.value) for element in app.markdown)
    assert "in 14 of 25 pairs (56%). This mask can reach 15 at most; nothing new is reached after layer 4" in text
    z = array(figure(app, "reach_chart")["data"][0]["z"])
    assert z[4, 1] == 3 and z[2, 2] == 0 and not (z[4, 0] >= 0) and not (z[0, 1] >= 0)
    assert link(app)["layers"] == "3"
    choose(app, q_len=4)
    assert "only be stacked" in app.info[-1].value


def test_hover_says_which_parts_block_a_cell():
    [points] = [
        trace
        for trace in figure(visit(parts="causal padding"))["data"]
        if (trace.get("meta") or {}).get("layer") == "cells"
    ]
    hover = dict(zip(map(tuple, points["customdata"]), points["hovertext"], strict=True))
    assert hover[4, 4] == "may attend"
    assert hover[6, 5] == "blocked by: Padding"
    assert hover[3, 4] == "blocked by: Causal"
    assert hover[0, 7] == "blocked by: Causal, Padding"


def test_a_faulty_link_is_named_and_the_rest_is_used():
    app = visit(q_len="99", parts="causal swirl", k_len="6", cells="0.1", left="-1")
    assert app.warning[0].value.endswith("q_len, parts, left, cells")
    assert_shows(app, MaskRecipe(8, 6, (Causal(), Window(2, 0))))


def test_chinese_and_back_keeps_everything():
    app = flip(visit(parts="causal window", q_len="4", k_len="4"), 0, 1)
    before = form(app)
    app.button_group(key="frame_language").set_value("zh").run()
    assert not app.exception and form(app) == before
    assert "16 格中允许 10 格" in chips(app)
    assert "涂改放开了" in app.warning[0].value


def test_start_over():
    app = flip(choose(visit(), parts=["prefix"], q_len=5), 0, 4)
    press(app, "reset")
    assert_shows(app, DEFAULT)
    assert link(app) == {}


def test_the_largest_mask():
    app = visit(q_len="64", k_len="64", parts="causal window global_local", left="9", right="0")
    assert len(form(app)) == 64 * 65 - 1
