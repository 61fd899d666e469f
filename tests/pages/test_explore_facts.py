"""What a model has of its own, and what it runs on by default, named on the page."""

from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.core.families import DECODERS, TWO_STACKS

TEXT = "my old dog looked at the red hat and a mat there"


def visit(**link: str) -> AppTest:
    app = AppTest.from_file("../../app.py", default_timeout=120)
    for name, value in {"lang": "en", "text": TEXT, **link}.items():
        app.query_params[name] = value
    app.run()
    assert not app.exception
    return app


def said(app: AppTest) -> str:
    return " ".join(str(getattr(e, "body", getattr(e, "value", ""))) for e in [*app.get("html"), *app.caption])


@pytest.fixture(scope="module")
def folders(tiny_folder: Callable[..., Path]) -> Callable[[str], str]:
    made: dict[str, str] = {}

    def get(name: str) -> str:
        sizes = {**DECODERS, **TWO_STACKS}[name]
        return made.setdefault(name, "") or made.update(
            {name: str(tiny_folder(name, specials=name in TWO_STACKS, **sizes))}
        ) or made[name]  # fmt: skip

    return get


def test_a_model_with_a_cap_and_windows(folders: Callable[[str], str]) -> None:
    app = visit(source=folders("Gemma2ForCausalLM"))
    assert "This model: softcap 3 · window of 4 (layers 0)" in said(app)
    assert "transformers runs this model on eager by default." in said(app)
    line = next(one for one in app.caption if "This model:" in one.value)
    assert "c tanh(score / c) with c = 3" in line.help and "at most 4 keys" in line.help
    app.session_state["explore_softcap"] = 9.0  # the model's own, whatever the switches say
    app.run()
    assert "This model: softcap 3 · window" in said(app)


def test_pre_scaled_queries(folders: Callable[[str], str]) -> None:
    app = visit(source=folders("OPTForCausalLM"), scaling="off")
    assert "This model: queries come pre-scaled" in said(app)
    assert "“off” removes the factor that it put on them" in said(app)
    assert "transformers runs this model on sdpa by default, which gives no weights: its outputs differ" in said(app)


def test_no_scaling_and_a_bias_in_some_calls(folders: Callable[[str], str]) -> None:
    source = folders("T5ForConditionalGeneration")
    app = visit(source=source, target="a dog", scaling="off")
    assert (
        "This model: no scaling · a relative position bias is added to the scores (encoder 0–1, decoder 0–1)"
    ) in said(app)
    assert "This model uses no scaling: “off” changes nothing." in said(app)
    chinese = said(visit(source=source, target="a dog", lang="zh"))
    assert "该模型：不缩放分数 · 分数加上相对位置偏置（编码器 0–1、解码器 0–1）" in chinese
    assert "“关闭”不会带来变化" not in chinese  # said where it is off
    assert "transformers 默认以 sdpa 运行该模型" in chinese


def test_sinks_are_no_failure(folders: Callable[[str], str]) -> None:
    app = visit(source=folders("GptOssForCausalLM"))
    assert "sinks: rows sum below 1" in said(app)
    assert 'class="verdict failed"' not in said(app)


def test_a_plain_model_has_no_such_line(folders: Callable[[str], str]) -> None:
    assert "This model:" not in said(visit(source=folders("BartForConditionalGeneration"), target="a dog"))
