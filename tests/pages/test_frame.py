"""The page frame: which language a visitor meets, that the link keeps it, and that faults end in a sentence."""

import logging

import pytest
from streamlit.testing.v1 import AppTest

SCRIPT = """
import streamlit as st
from viz.pages import frame
from viz.text import language

def render():
    st.caption("language " + language())
    st.slider("value", 0, 10, 3, key="value")
    if st.session_state["value"] == 7:
        raise RuntimeError("seven is secret")

frame.show([frame.Page("explore", render)])
"""


def visit(locale: str | None = None, monkeypatch: pytest.MonkeyPatch | None = None, **parameters: str) -> AppTest:
    if monkeypatch is not None:
        monkeypatch.setattr("streamlit.runtime.context.ContextProxy.locale", property(lambda _: locale))
    app = AppTest.from_string(SCRIPT, default_timeout=60)
    for name, value in parameters.items():
        app.query_params[name] = value
    return app.run()


def spoken(app: AppTest) -> str:
    return app.caption[0].value.removeprefix("language ")


def parameters_of(app: AppTest) -> dict[str, list[str]]:
    return {name: [value] if isinstance(value, str) else list(value) for name, value in app.query_params.items()}


@pytest.mark.parametrize(
    ("locale", "parameters", "expected"),
    [
        (None, {}, "en"),
        ("fr-FR", {}, "en"),
        ("zh-CN", {}, "zh"),
        ("zh-Hant", {}, "zh"),
        ("en-GB", {}, "en"),
        ("zh-CN", {"lang": "en"}, "en"),  # the link goes before the browser
        ("en-GB", {"lang": "zh"}, "zh"),
        ("zh-CN", {"lang": "klingon"}, "zh"),
    ],
)
def test_language_of_a_new_visitor(monkeypatch, locale, parameters, expected):
    app = visit(locale, monkeypatch, **parameters)
    assert not app.exception
    assert spoken(app) == expected
    assert app.session_state["frame_language"] == expected


def test_a_browser_setting_does_not_go_into_the_link_but_a_choice_does(monkeypatch):
    app = visit("en-GB", monkeypatch)
    assert "lang" not in app.query_params
    app.button_group(key="frame_language").set_value("zh").run()
    assert spoken(app) == "zh"
    assert parameters_of(app)["lang"] == ["zh"]
    app.query_params.clear()  # as going to another page does
    app.run()
    assert parameters_of(app)["lang"] == ["zh"]


def test_switching_the_language_keeps_other_widgets_and_parameters(monkeypatch):
    app = visit("en-GB", monkeypatch, text="a b")
    app.slider(key="value").set_value(5).run()
    app.button_group(key="frame_language").set_value("zh").run()
    assert app.slider(key="value").value == 5
    assert parameters_of(app) == {"text": ["a b"], "lang": ["zh"]}


def test_two_visitors_speak_their_own_language(monkeypatch):
    first, second = visit("en-GB", monkeypatch, lang="zh"), visit("en-GB", monkeypatch, lang="en")
    first.run()
    second.run()
    first.run()
    assert (spoken(first), spoken(second)) == ("zh", "en")


def test_a_fault_ends_in_a_sentence_and_its_trace_in_the_log(monkeypatch, caplog):
    app = visit("en-GB", monkeypatch)
    with caplog.at_level(logging.ERROR, logger="headscope"):
        app.slider(key="value").set_value(7).run()
    assert not app.exception
    [message] = [error.value for error in app.error]
    assert message.startswith("This page could not be drawn.")
    assert "secret" not in message and "Traceback" not in message
    [record] = [r for r in caplog.records if r.name == "headscope"]
    assert record.args and str(record.args[0]) in message
    assert record.exc_info and "seven is secret" in str(record.exc_info[1])
    app.slider(key="value").set_value(4).run()  # and the way back is open
    assert not app.error and app.slider(key="value").value == 4
