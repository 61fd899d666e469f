"""The view of writing, read from its page: steps, the map that grows, switches that start anew, what cannot write."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from attention_core.pretrained import Chat, Model, Switches, load
from tests.pages.test_explore import array, choose, control, figures, html, visit
from viz.services import generation as service
from viz.services.generation import WritingRequest

SIZES: dict[str, Any] = {
    "hidden_size": 24, "intermediate_size": 17, "num_hidden_layers": 2, "num_attention_heads": 3,
    "num_key_value_heads": 1, "max_position_embeddings": 37, "eos_token_id": None,
}  # fmt: skip
TEXT = "the cat sat on"


@pytest.fixture(scope="module")
def llama(tiny_folder: Callable[..., Path]) -> Path:
    return tiny_folder("LlamaForCausalLM", **SIZES)


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    service._kept.clear()
    yield
    service._kept.clear()


def opened(folder: Path, **link: str) -> AppTest:
    load(folder)
    app = visit(**{"source": str(folder), "text": TEXT, "view": "generation", **link})
    assert not app.exception
    return app


def press(app: AppTest, name: str) -> AppTest:
    app.button(key=f"explore_writing_{name}").click().run()
    assert not app.exception
    return app


def rows(app: AppTest) -> np.ndarray:
    return array(figures(app)["writing"]["data"][0]["z"])


def test_each_step_adds_a_row_labelled_by_who_asked(llama: Path) -> None:
    app = opened(llama)
    assert "writing" not in figures(app) and "Nothing is written yet" in "".join(one.value for one in app.info)
    model = load(llama)
    made = model.generate(TEXT, max_new_tokens=20)
    steps = [next(made) for _ in range(3)]
    for count in (1, 2, 3):
        press(app, "step")
        want = made.run(count)
        weights = want.trace(want.calls[0]).weights
        assert weights is not None
        np.testing.assert_array_equal(rows(app), weights[0, 0].numpy())  # the same numbers
    page = html(app)
    for step in steps:
        assert f"{100 * step.probability:.0f}%" in page
    assert page.count('class="word') == 3 and page.count('<tr class="taken">') == 1 and page.count('<tr class="') == 5
    assert app.query_params["written"] in ("3", ["3"])
    press(app, "again")
    assert "writing" not in figures(app) and "written" not in app.query_params


def test_a_link_brings_what_was_written(llama: Path) -> None:
    app = opened(llama, written="4", layer="1", head="2")
    run = load(llama).generate(TEXT, max_new_tokens=20)
    for _ in range(4):
        next(run)
    weights = run.run().trace(run.run().calls[1]).weights
    assert weights is not None
    np.testing.assert_array_equal(rows(app), weights[0, 2].numpy())


def test_play_goes_on_until_it_is_stopped(llama: Path) -> None:
    app = press(opened(llama), "play")
    assert "explore_writing_stop" in [one.key for one in app.button]
    assert rows(app).shape[0] >= 4
    count = app.session_state["explore_written"]
    press(app, "stop")
    assert app.session_state["explore_written"] == count and "explore_writing_play" in [b.key for b in app.button]


def test_it_ends_after_as_many_as_asked_for(llama: Path) -> None:
    app = opened(llama, new_tokens="2", written="1")
    press(app, "step")
    assert "As many tokens as asked for." in html(app)
    assert app.button(key="explore_writing_step").disabled and app.button(key="explore_writing_play").disabled


def test_switches_start_anew_and_the_old_text_stays_beside(llama: Path) -> None:
    app = opened(llama, written="3")
    own = load(llama).generate(TEXT)
    words = [next(own).token.label for _ in range(3)]
    choose(app, scaling="off")
    assert app.session_state["explore_written"] == 0
    assert html(app).count('class="word') == 3 and "As the model is" in html(app)
    press(app, "step")
    assert "With the switches: " in html(app)
    changed = load(llama).generate(TEXT, switches=Switches(scaling=False))
    first = next(changed)
    places = [place for place, word in enumerate(words[:1]) if word != first.token.label]
    assert html(app).count("word other") == (4 if places else 0)
    np.testing.assert_array_equal(  # the map is that of the switched run
        rows(app),
        changed.run().trace(changed.run().calls[0]).weights[0, 0].numpy(),  # type: ignore[index]
    )


def test_who_cannot_write_says_so(minilm: Model, llama: Path) -> None:
    assert "does not foretell the next token" in visit(view="generation").info[0].value
    app = visit(view="generation", source="from-scratch")
    assert "needs a pretrained model" in app.info[0].value
    load(llama)
    app = opened(llama, model_mask="custom", mask_rows="4.8cef", text="the cat sat on")
    assert not app.exception


def test_drawing_goes_by_its_seed(llama: Path) -> None:
    texts = set()
    for seed in ("1", "1", "2"):
        app = opened(llama, written="8", draw_temperature="2", draw_seed=seed)
        texts.add("".join(one.split("</bdi>")[0] for one in html(app).split('class="word')[1:]))
    assert len(texts) == 2


@pytest.mark.model
def test_a_chat_is_answered_on_the_page(smollm2: Model) -> None:
    link = {"source": smollm2.name, "form": "chat", "text": "What is the capital of France?", "view": "generation"}
    app = visit(**link, written="8", new_tokens="40")
    assert not app.exception
    assert control(app, "input").value == "chat"
    assert "The model ended its text." in html(app)
    prompt = len(smollm2.read(Chat(link["text"])).tokens[0])
    assert rows(app).shape == (prompt + 7, prompt + 7)


# ---------------------------------------------------------------------------------------------------------------------
# the service


def test_steps_are_shared_and_kept_by_the_whole_request(llama: Path) -> None:
    load(llama)
    asked = WritingRequest(str(llama), TEXT, most=5)
    made = service.writing(asked)
    assert service.writing(WritingRequest(str(llama), TEXT, most=5)) is made
    assert service.writing(WritingRequest(str(llama), TEXT, most=6)) is not made
    assert (made.advance(3), made.count, made.advance(9), made.count) == (3, 3, 5, 5)
    assert [len(made.written(count).words) for count in (1, 3, 9)] == [1, 3, 5]
    assert made.written(3).end == "" and made.written(5).end == "length"
    assert service.steps_made(asked) == 5 and service.steps_made(WritingRequest(str(llama), "a", most=5)) == 0
    grown = made.map_of(load(llama).calls[1], 2, 4)
    assert grown.weights.shape == (7, 7) and grown.first_new == 4 and len(grown.query_tokens) == 7
    assert [token.label for token in grown.query_tokens[4:]] == [word.label for word in made.written(3).words]
    assert made.expected_bytes >= made._made.held * 0.5
