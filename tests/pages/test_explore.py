"""The explore page, read out of the figures that it draws: what is typed and switched is what is shown."""

import base64
import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from attention_core.from_scratch import ScratchConfig, run_from_scratch
from attention_core.pretrained import Model, Switches

pytestmark = pytest.mark.usefixtures("minilm_folder")

SCRATCH = {"source": "from-scratch"}


def visit(**link: str) -> AppTest:
    app = AppTest.from_file("../../app.py", default_timeout=120)
    for name, value in {"lang": "en", **link}.items():
        app.query_params[name] = value
    return app.run()


def choose(app: AppTest, **settings: Any) -> AppTest:
    """Sets controls by the name of their setting, all at once, and runs the page."""
    for name, value in settings.items():
        control(app, name).set_value(value)
    return app.run()


def control(app: AppTest, name: str) -> Any:
    kinds = (
        "text_area",
        "selectbox",
        "number_input",
        "slider",
        "select_slider",
        "button_group",
        "toggle",
        "multiselect",
    )
    for kind in kinds:
        for widget in getattr(app, kind) if hasattr(app, kind) else app.get(kind):
            if widget.key == f"explore_{name}":
                return widget
    raise AssertionError(f"no control explore_{name} on the page")


def figures(app: AppTest) -> dict[str, dict]:
    """Specification of every figure by the name in its key."""
    found = {}
    for chart in app.get("plotly_chart"):
        name = chart.proto.id.rpartition("-explore_")[2].removesuffix("_chart")
        found[name] = json.loads(chart.proto.spec, parse_constant=lambda text: pytest.fail(f"{text} is not JSON"))
    return found


def array(value: Any) -> np.ndarray:
    if isinstance(value, Mapping):
        flat = np.frombuffer(base64.b64decode(value["bdata"]), "<" + value["dtype"])
        shape = [int(n) for n in str(value.get("shape", flat.size)).split(",")]
        return flat.reshape(shape)
    return np.array(value)


def grid_weights(app: AppTest) -> np.ndarray:
    """(heads, q_len, k_len) as drawn."""
    tiles = [trace for trace in figures(app)["grid"]["data"] if "head" in (trace.get("meta") or {})]
    tiles = [trace for trace in tiles if trace.get("coloraxis")]
    return np.stack([array(trace["z"]) for trace in tiles])


def html(app: AppTest) -> str:
    return "\n".join(element.proto.body for element in app.get("html"))


def test_a_newcomer_sees_a_model_without_a_click(minilm: Model):
    app = visit()
    assert not app.exception
    text = control(app, "text").value
    expected = minilm.run(text)
    drawn = grid_weights(app)
    trace = expected.trace(expected.calls[0])
    # The figure holds float32; the page ran the same call, so nothing but the cast lies between.
    np.testing.assert_array_equal(drawn, trace.weights[0].numpy())
    assert "agrees with" in html(app) and "pass" in html(app)
    assert {"grid", "head", "scores", "softmax"} <= set(figures(app))


def test_scaling_off_is_what_the_core_computes_without_scaling(minilm: Model):
    app = choose(visit(text="the cat sat on the mat"), scaling="off")
    run = minilm.run("the cat sat on the mat", switches=Switches(scaling=False))
    np.testing.assert_array_equal(grid_weights(app), run.trace(run.calls[0]).weights[0].numpy())
    assert "scaling off" in html(app)
    assert any("Scaling off" in warning.value for warning in app.warning)


@pytest.mark.parametrize(
    ("settings", "switches"),
    [
        ({"model_mask": "causal"}, Switches(mask="causal")),
        ({"window": 2}, Switches(window=2)),
        ({"temperature": 2.0}, Switches(temperature=2.0)),
        ({"softcap": 3.0}, Switches(softcap=3.0)),
        ({"heads_off": ["encoder.0:3"], "layer": 1}, Switches(heads_off=frozenset({("encoder.0", 3)}))),
    ],
    ids=["causal", "window", "temperature", "softcap", "heads off"],
)
def test_each_switch_reaches_the_picture(minilm: Model, settings, switches):
    app = choose(visit(text="the cat sat on the mat"), **settings)
    run = minilm.run("the cat sat on the mat", switches=switches)
    shown = run.calls[settings.get("layer", 0)]
    np.testing.assert_array_equal(grid_weights(app), run.trace(shown).weights[0].numpy())
    neutral = minilm.run("the cat sat on the mat")
    assert np.abs(grid_weights(app) - neutral.trace(shown).weights[0].numpy()).max() > 1e-3
    assert "Differs from the model" in html(app)


def test_head_count_and_d_k_are_independent(minilm_folder):
    app = choose(visit(**SCRATCH, text="a b a c"), heads=3, d_k=8, mask="causal")
    run = run_from_scratch("a b a c", _config(num_heads=3, d_k=8, mask="causal"))
    drawn = grid_weights(app)
    assert drawn.shape == (3, 4, 4)
    np.testing.assert_array_equal(drawn, run.trace(run.calls[0]).weights[0].numpy())
    assert (np.triu(np.ones((4, 4)), 1)[None] * drawn == 0).all()
    assert "Random weights" in html(app)


def _config(mask: str = "none", **changes: Any) -> ScratchConfig:
    from attention_core.from_scratch import MaskChoice

    return ScratchConfig(**{"num_heads": 4, "d_model": 64, "d_k": 16, "mask": MaskChoice(mask), **changes})


def test_variance_of_the_scores_follows_d_k():
    text = " ".join(f"w{i}" for i in range(60))
    for d_k in (4, 64):
        app = choose(visit(**SCRATCH, text=text), d_k=d_k, heads=8)
        run = run_from_scratch(text, _config(num_heads=8, d_k=d_k))
        scores = run.trace(run.calls[0]).scores[0]
        measured = scores.flatten(1).var(dim=1, correction=0).numpy()
        drawn = figures(app)["scores"]["data"]
        values = {trace["name"]: array(trace["y"]) for trace in drawn if trace.get("name")}
        raw = next(value for name, value in values.items() if name.startswith("raw, measured"))
        np.testing.assert_allclose(
            raw, measured, rtol=0.02
        )  # population or sample variance: 1 part in 3600, and rounding
        # 480 rows of random vectors: the mean over heads lies within a quarter of d_k in all seeds tried
        assert math.isclose(raw.mean(), d_k, rel_tol=0.25)


@pytest.mark.parametrize("mask", ["none", "causal", "padding", "causal+padding", "window", "causal+window", "chunked",
    "dilated", "strided", "global_local", "block_sparse", "prefix", "packed", "packed+causal"])  # fmt: skip
def test_every_mask_draws_and_passes_its_checks(mask):
    app = choose(visit(**SCRATCH, text="One two three. Four five six seven. Eight."), mask=mask)
    assert not app.exception and not app.error
    page = html(app)
    assert "verdict failed" not in page
    drawn = grid_weights(app)
    sums = drawn.sum(axis=-1)
    assert (np.isclose(sums, 1, atol=1e-5) | (sums == 0)).all()


def test_a_leak_is_named_and_outlined():
    link = {"lines": "1", "text": "short\na much longer line of text"}
    app = choose(visit(**link), model_mask="padding-ignored")
    page = html(app)
    assert "cells leak" in page and "verdict failed" in page
    assert "[PAD]" in page
    layout = json.dumps(figures(app)["grid"]["layout"])
    from viz.figures import theme

    assert theme.LEAK.lower() in json.dumps(figures(app)["grid"]).lower() or "leak" in layout


def test_padded_batches_agree_on_both_sides():
    for side in ("left", "right"):
        app = visit(lines="1", side=side, text="short\na much longer line of text")
        assert "agrees with" in html(app), side
        assert "padded" not in "".join(error.value for error in app.error)
        app = choose(app, sample=1)
        assert not app.exception


def test_a_refused_setting_keeps_the_last_picture_and_the_text():
    app = choose(visit(**SCRATCH, text="a b c"), heads=3)
    before = grid_weights(app)
    app = choose(app, kv_heads=2)
    assert any("2 does not divide 3" in error.value and "last good picture" in error.value for error in app.error)
    np.testing.assert_array_equal(grid_weights(app), before)
    assert control(app, "text").value == "a b c" and control(app, "kv_heads").value == 2
    app = choose(app, kv_heads=1)
    assert not app.error
    assert grid_weights(app).shape == (3, 3, 3)


@pytest.mark.parametrize("source", ["from-scratch", "all-MiniLM-L6-v2"])
@pytest.mark.parametrize("text", ["", "   ", "\n\n"])
def test_an_empty_text_ends_in_a_sentence(source, text):
    app = choose(visit(source=source, text="a b c"), text=text)
    assert not app.exception
    assert "frame" not in "".join(error.value for error in app.error)
    assert "grid" in figures(app)  # the last picture stays, or the tokens that the model adds are drawn


def test_a_text_longer_than_the_model_says_how_much_was_kept():
    app = visit(text="word " * 700)
    assert not app.exception
    assert any("702 tokens" in warning.value and "512" in warning.value for warning in app.warning)
    app = choose(visit(**SCRATCH), text="word " * 300)
    assert any("300 tokens" in warning.value and "256" in warning.value for warning in app.warning)


def test_a_text_that_the_model_cannot_read_offers_a_source_that_can():
    app = visit(text="小猫追小狗")
    assert any("unknown to this model" in warning.value for warning in app.warning)
    next(button for button in app.button if button.key == "explore_use_scratch").click().run()
    assert control(app, "source").value == "from-scratch"
    assert grid_weights(app).shape[1:] == (5, 5)


def test_examples_name_their_readers_and_choose_one_that_can_read():
    app = visit()
    options = control(app, "example").options
    assert any("from scratch" in option and "我打你" in option for option in options)
    app = choose(app, example=next(option for option in options if "我打你 / 你打我" in option))
    assert control(app, "text").value == "我打你 你打我"
    assert control(app, "source").value == "from-scratch"
    assert grid_weights(app).shape[1:] == (6, 6)


def test_the_link_restores_the_page():
    app = choose(visit(**SCRATCH, text="a b c d"), heads=2, d_k=4, scaling="off", mask="window", seed=7)
    app = choose(app, mask_window=2)
    link = {name: value if isinstance(value, str) else value[0] for name, value in app.query_params.items()}
    assert link["mask"] == "window" and link["scaling"] == "off" and "tokens" not in link
    again = visit(**link)
    np.testing.assert_array_equal(grid_weights(again), grid_weights(app))
    for name in ("heads", "d_k", "mask", "mask_window", "seed", "text"):
        assert control(again, name).value == control(app, name).value


def test_nonsense_in_the_link_is_left_out_and_said():
    app = visit(layer="99999", mask="sideways", heads="-3", temperature="nan", heads_off="x", text="fine")
    assert not app.exception
    said = "".join(warning.value for warning in app.warning)
    for name in ("layer", "mask", "heads", "temperature", "heads_off"):
        assert name in said
    assert control(app, "text").value == "fine"


def test_switching_the_language_keeps_every_setting():
    app = choose(visit(**SCRATCH, text="a b c d"), heads=2, d_k=4, mask="causal")
    before = grid_weights(app)
    app.button_group(key="frame_language").set_value("zh").run()
    assert not app.exception
    np.testing.assert_array_equal(grid_weights(app), before)
    assert control(app, "mask").value == "causal"
    assert "列：键" in json.dumps(figures(app)["grid"], ensure_ascii=False)


def test_c154_a_table_of_repeated_words_opens():
    app = choose(visit(**SCRATCH, text="the cat the"), table_open=True, numbers_open=True)
    tables = [frame.value for frame in app.dataframe]
    assert all(len(set(table.columns)) == len(table.columns) for table in tables)
    head = tables[0]
    assert [str(value) for value in head.iloc[:, 0]] == ["0 the", "1 cat", "2 the"]


def test_c155_identical_heads_and_layers_render():
    app = choose(visit(**SCRATCH, text="a"), heads=16)  # one token: every head is the same 1 x 1 map
    assert not app.exception
    assert (grid_weights(app) == 1).all()
    ids = [chart.proto.id for chart in app.get("plotly_chart")]
    assert len(set(ids)) == len(ids)


def test_c171_no_visitor_changes_what_another_sees():
    first, second = visit(text="the cat sat"), visit(text="the cat sat")
    before = grid_weights(second)
    choose(first, scaling="off", temperature=0.5, colour="row-max")
    np.testing.assert_array_equal(grid_weights(second.run()), before)


def test_c176_two_inputs_never_share_a_result():
    weights = [grid_weights(visit(**SCRATCH, text=text)) for text in ("a b c", "a b d", "c b a")]
    assert not np.array_equal(weights[0], weights[1]) and not np.array_equal(weights[0], weights[2])


def test_c174_what_is_kept_for_visitors_is_bounded(minilm: Model):
    from viz.services import attention

    for number in range(30):
        attention.run(attention.ModelRequest(minilm.name, (f"number {number} " + "word " * 126,)))
    assert attention.kept_bytes() <= attention.KEPT_BYTES
    assert len(attention._runs) <= attention.KEPT_RUNS


def test_c170_the_page_leaves_the_global_generator_alone():
    torch.manual_seed(1)
    state = torch.get_rng_state()
    choose(visit(**SCRATCH, text="a b c"), seed=99, position="learned")
    assert torch.equal(torch.get_rng_state(), state)


NASTY = ["<s>", "<b>", "&amp;", "$x$", "[PAD]", "10", "2024-01-02", "*a*", ":red[r]", "`c`", "__init__", "~~s~~", "---",
    "שלום", "你", "👩‍👩‍👧", "%{x}", "#000001"]  # fmt: skip


def test_c156_every_chooser_and_message_shows_the_token_itself():
    app = choose(visit(**SCRATCH, text=" ".join(NASTY)), tokens="spaces", table_open=True)
    assert not app.exception
    table = next(frame.value for frame in app.dataframe)
    assert [str(value) for value in table.iloc[:, 0]] == [f"{i} {token}" for i, token in enumerate(NASTY)]
