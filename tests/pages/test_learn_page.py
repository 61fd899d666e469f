"""The learn page: link, language, the way from lesson to lesson and to the other pages; nothing typed is lost."""

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.test_lessons import charts, clean, press, said, visit, widget
from viz.lessons import LESSONS
from viz.text import t, use_language

pytestmark = pytest.mark.usefixtures("minilm_folder")


@pytest.fixture(autouse=True)
def _own_language():
    use_language("en")
    yield
    use_language(None)


def link_of(app: AppTest) -> dict[str, str]:
    return {name: value if isinstance(value, str) else value[0] for name, value in app.query_params.items()}


def drawn(app: AppTest, name: str) -> dict:
    return charts(app)[name]["data"]


def test_a_link_brings_lesson_and_settings_back():
    app = visit(lesson="steps", stage="weights", text="go on then", width="2", scaled="0", row="2", column="1")
    assert widget(app, "selectbox", "lesson").value == "steps"
    shown = drawn(app, "steps_result")
    again = visit(**link_of(app))
    assert link_of(again) == link_of(app)
    assert drawn(again, "steps_result") == shown
    assert "exp(" in said(app) and not app.warning


def test_settings_go_into_the_link_and_defaults_do_not():
    app = visit(lesson="scaling")
    assert link_of(app) == {"lang": "en", "lesson": "scaling"}
    press(app, "scaling", "softmax", "show")
    widget(app, "select_slider", "scaling", "d_k").set_value(256).run()
    assert link_of(app) == {"lang": "en", "lesson": "scaling", "d_k": "256"}
    assert link_of(press(app, "forward", "above")) == {"lang": "en", "lesson": "masks"}
    assert link_of(press(app, "back", "below"))["d_k"] == "256"


@pytest.mark.parametrize(
    ("link", "named"),
    [
        ({"lesson": "nowhere"}, "lesson"),
        ({"lesson": "scaling", "d_k": "5"}, "d_k"),
        ({"lesson": "steps", "mask": "x", "row": "-1", "scaled": "maybe"}, "mask, scaled, row"),
        ({"lesson": "lookup", "angle": "1e9", "length": "nan"}, "angle, length"),
    ],
)
def test_a_faulty_link_is_named_and_the_rest_is_used(link: dict[str, str], named: str):
    app = visit(**link)
    assert app.warning[0].value == t("learn.link_ignored", names=named)
    assert said(app).count("$")


def test_the_language_switch_keeps_the_place_and_what_was_typed():
    app = visit(lesson="steps", stage="scores", row="1")
    app.button_group(key="frame_language").set_value("zh").run()
    clean(app)
    assert app.session_state["learn_lesson"] == "steps"
    assert widget(app, "text_input", "steps", "text").value == "我打你，你打我。"  # nobody typed the English one
    assert app.session_state["learn_steps_stage"] == "scores"
    use_language("zh")  # the tool reads the options in the language of this thread
    widget(app, "text_input", "steps", "text").set_value("自己的词").run()
    app.button_group(key="frame_language").set_value("en").run()
    assert widget(app, "text_input", "steps", "text").value == "自己的词"
    assert link_of(app)["text"] == "自己的词"


def test_every_lesson_is_reached_by_next_and_back():
    app = visit()
    for lesson in LESSONS[1:]:
        press(app, "forward", "above")
        assert app.session_state["learn_lesson"] == lesson.name
    [last] = [button for button in app.button if button.key == "learn_forward_above"]
    assert last.disabled
    press(app, "back", "below")
    assert app.session_state["learn_lesson"] == LESSONS[-2].name


def test_the_walk_goes_stage_by_stage_and_ends():
    app = visit(lesson="steps")
    seen = []
    for _ in range(9):
        seen.append(app.session_state["learn_steps_stage"])
        [forward] = [button for button in app.button if button.key == "learn_steps_stage_step_forward"]
        if not forward.disabled:
            clean(forward.click().run())
    assert seen == ["x", "q", "k", "v", "scores", "scaled", "logits", "weights", "output"]
    press(app, "steps", "stage", "step_back")
    assert app.session_state["learn_steps_stage"] == "weights"


def test_a_shorter_sentence_keeps_the_picked_cell_inside():
    app = visit(lesson="steps", stage="weights", row="6", column="6")
    assert widget(app, "selectbox", "steps", "row").value == 6
    widget(app, "text_input", "steps", "text").set_value("two words").run()
    clean(app)
    assert (app.session_state["learn_steps_row"], app.session_state["learn_steps_column"]) == (1, 1)


def test_an_empty_sentence_is_said_beside_its_box_and_the_way_back_is_open():
    app = visit(lesson="steps")
    widget(app, "text_input", "steps", "text").set_value("   ").run()
    assert clean(app).error[0].value == t("lesson.steps.no_token")
    widget(app, "text_input", "steps", "text").set_value("word").run()
    assert not clean(app).error and "steps_result" in charts(app)


def test_a_part_waits_for_its_prediction_or_is_shown_at_once():
    app = visit(lesson="scaling")
    assert set(charts(app)) == {"scaling_sweep"}
    widget(app, "radio", "scaling", "grows").set_value("twice").run()
    press(app, "scaling", "grows", "check")
    assert "scaling_variance" in charts(app) and "scaling_chosen_map" not in charts(app)
    press(app, "scaling", "softmax", "show")
    assert "scaling_chosen_map" in charts(app)


def test_answers_and_settings_outlive_a_visit_to_another_lesson():
    app = visit(lesson="lookup")
    widget(app, "radio", "lookup", "longer").set_value("first").run()
    press(app, "lookup", "longer", "check")
    told = [box.value for box in app.success]
    assert told
    press(app, "forward", "above")
    assert not app.success
    press(app, "back", "above")
    assert [box.value for box in app.success] == told
    assert widget(app, "radio", "lookup", "longer").value == "first"


@pytest.mark.parametrize("lesson", LESSONS, ids=[lesson.name for lesson in LESSONS])
def test_the_last_button_opens_the_other_page_with_everything_set(lesson):
    app = press(visit(lesson=lesson.name), lesson.name, "go")
    there = lesson.leads_to
    prefix = f"{there.page}_"
    link = link_of(app)
    for name, value in there.settings.items():
        assert str(app.session_state[prefix + name]) in (value, str(value.split()))
    if there.text:
        assert app.session_state["explore_text"] == t(there.text)
    assert "lesson" not in link and link["lang"] == "en"
    assert not app.error
    assert [box.value for box in app.warning if "link" in box.value] == []
