"""What visitors bring by accident or in bad faith: long texts, odd characters, broken links, models that are gone."""

import pytest

from attention_core.pretrained import Model
from tests.pages.test_explore import SCRATCH, choose, control, figures, grid_weights, html, visit
from viz.services import attention
from viz.services.attention import MOST_CHARACTERS, MOST_SAMPLES, typed
from viz.text.markdown import literal

pytestmark = pytest.mark.usefixtures("minilm_folder")

REFUSED = {
    "no text": ({"text": " "}, "visible character", "可见字符"),
    "key/value heads": ({"heads": "3", "kv_heads": "2"}, "2 does not divide 3", "2 不能整除 3"),
    "rotary": ({"position": "rotary", "d_k": "1"}, "d_k is 1", "d_k 为 1"),
}


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("case", REFUSED)
def test_a_first_visit_that_is_refused_says_why_below_the_text_in_the_readers_language(case, lang):
    link, english, chinese = REFUSED[case]
    app = visit(**SCRATCH, lang=lang, **link)
    assert not app.exception
    (said,) = [error.value for error in app.main.error]  # a folded or hidden sidebar hides what stands in it
    assert (english if lang == "en" else chinese) in said
    assert "num_" not in said and "below" not in said and "下方" not in said  # there is no picture yet


def test_a_refusal_after_a_model_keeps_the_models_picture(minilm: Model):
    app = choose(visit(text="   "), source=attention.SCRATCH)
    assert not app.exception
    (said,) = [error.value for error in app.main.error]
    assert "visible character" in said and "last good picture" in said
    assert grid_weights(app).shape == (12, 2, 2)
    assert minilm.name in html(app)


@pytest.mark.parametrize("source", ["from-scratch", "all-MiniLM-L6-v2"])
def test_an_endless_text_is_cut_and_the_page_says_so(source):
    text = "\U0001f1e6" * 30_000  # one flag after another: the dearest letters to split
    app = choose(visit(source=source), text=text)
    assert not app.exception and not app.error
    assert any("30,000" in warning.value and "20,000" in warning.value for warning in app.warning)
    assert control(app, "text").value == text  # what was typed stays


def test_a_batch_of_too_many_lines_is_cut_and_the_page_says_so():
    app = visit(lines="1", text="\n".join(f"line {i}" for i in range(150)))
    assert not app.exception
    assert any("150 lines" in warning.value and f"first {MOST_SAMPLES}" in warning.value for warning in app.warning)
    assert len(control(app, "sample").options) == MOST_SAMPLES


def test_a_batch_whose_lines_share_a_note_says_it_once():
    app = visit(lines="1", text="小猫\n小狗\na cat")
    assert not app.exception and not app.error
    assert len([warning for warning in app.warning if "unknown to this model" in warning.value]) == 1
    assert [button.key for button in app.button].count("explore_use_scratch") == 1
    assert next(header.value for header in app.header) == "All heads"  # h2, right below the h1


def test_what_is_run_of_a_text_is_bounded_and_can_be_encoded():
    made = typed("a\ud800b\x00" + "x" * 2 * MOST_CHARACTERS, lines=False)
    assert len(made.text) == MOST_CHARACTERS and made.text.startswith("a\ufffdb\x00x")
    assert made.samples == (made.text,) and made.lines == 0 and made.characters == 2 * MOST_CHARACTERS + 4
    assert typed("\ud83d\ude00", lines=False).text == "\U0001f600"  # two halves that belong together
    assert typed("a\n \n\nb", lines=True).samples == ("a", "b")
    assert typed("\n\n", lines=True).samples == ("\n\n",)
    assert typed("", lines=True).samples == ("",)


@pytest.mark.parametrize("source", ["from-scratch", "all-MiniLM-L6-v2"])
@pytest.mark.parametrize("text", ["a\x00b", "\x01\x1b[31m", "a\u202eb", "\ufeff", "e" + "\u0301" * 500], ids=repr)
def test_odd_characters_draw(source, text):
    app = choose(visit(source=source), text=text)
    assert not app.exception and "grid" in figures(app)


def test_one_token_has_no_variance_and_the_page_says_so():
    app = visit(**SCRATCH, text="a")
    said = [element.value for element in (*app.info, *app.caption)]
    assert any("no variance to show" in text for text in said)
    assert not any("nan" in text.split() for text in said)


def test_rounding_is_not_told_as_a_part_of_the_variance():
    app = visit(text="The animal did not cross the street because it was too tired.")
    (theory,) = [caption.value for caption in app.caption if "measured − theory" in caption.value]
    assert "e-" not in theory and "0 from which query meets which key" in theory


def test_the_numbers_of_the_lesson_and_of_the_figure_are_the_same():
    app = choose(visit(text="the cat sat on the mat"), scaling="off")
    notes = [note["text"] for note in figures(app)["scores"]["layout"]["annotations"]]
    note = next(text for text in notes if "scaling is off" in text)
    (lesson,) = [warning.value for warning in app.warning if "Scaling off" in warning.value]
    variance = lesson.split("of variance ")[1].split(" ")[0]
    assert f"softmax gets variance {variance}<" in note


def test_every_setting_of_a_link_that_is_not_used_is_named_until_something_changes():
    app = visit(source="nonsense", heads_off="foo:1 encoder.0:2", layer="77", head="99", text="fine")
    (said,) = [warning.value for warning in app.warning if "link" in warning.value]
    for name in ("source", "heads_off", "layer", "head"):
        assert name in said
    assert control(app, "heads_off").value == ["encoder.0:2"]
    app = app.run()
    assert any("link" in warning.value for warning in app.warning)
    app = choose(app, temperature=2.0)
    assert not any("link" in warning.value for warning in app.warning)


def test_a_link_keeps_a_number_to_the_last_digit():
    app = choose(visit(text="fine"), scaling="custom")
    app = choose(app, factor=1.2345678)
    assert app.query_params["factor"] in ("1.2345678", ["1.2345678"])


def test_the_chooser_of_samples_shows_the_beginning_of_a_long_line():
    app = visit(lines="1", text="short\n" + "long " * 200)
    options = control(app, "sample").options
    assert options[0] == "0: short" and options[1].endswith("…") and len(options[1]) < 80


def test_the_text_of_others_inside_a_message_is_no_markdown():
    assert literal("*a* :red[x] $x$ <b> `c`\n- d") == r"\*a\* \:red\[x\] \$x\$ \<b\> \`c\` \- d"
    assert literal("权重 abc 12") == "权重 abc 12"
