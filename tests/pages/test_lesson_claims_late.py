"""What lessons 9 to 15 say, held against arithmetic of our own; the rounds of lesson 14 on the page."""

import numpy as np
import pytest
import torch

from tests.pages.test_learn_page import link_of
from tests.pages.test_lessons import charts, press, said, visit, widget
from viz.services import (
    lessons_bill,
    lessons_block,
    lessons_bugs,
    lessons_cache,
    lessons_checklist,
    lessons_reading,
    lessons_softmax,
)
from viz.text import t, use_language
from viz.text.markdown import literal

pytestmark = pytest.mark.usefixtures("minilm_folder")


@pytest.fixture(autouse=True)
def _own_language():
    use_language("en")
    yield
    use_language(None)


@pytest.mark.parametrize("dtype", lessons_softmax.DTYPES)
def test_exp_at_once_breaks_where_the_type_ends_and_the_maximum_saves_it(dtype: str):
    end = float(np.log(torch.finfo(getattr(torch, dtype)).max))
    for largest in lessons_softmax.LARGEST:
        made = lessons_softmax.rows(dtype, largest)
        assert made.lost is (largest > end)
        assert np.isfinite(made.shifted_weights).all() and np.isfinite(made.core).all()
    held = lessons_softmax.rows(dtype, 10)
    np.testing.assert_allclose(held.core, held.exact, atol=2e-3)  # two roundings of bfloat16 below 0.25


def test_each_arrangement_does_to_the_variance_what_is_said():
    found = {name: lessons_block.trajectory(name) for name in lessons_block.ARRANGEMENTS}
    assert 10 < found["pre"].variance[-1] / found["pre"].variance[0] < 40
    np.testing.assert_allclose(found["post"].variance[1:], 1, atol=1e-3)
    assert found["no_norm"].variance[-1] > 1e8 and found["no_norm"].gradient[0] > 1e8
    assert found["no_residual"].similarity[6] > 0.99 > 0.7 > found["pre"].similarity[6]


def test_the_steps_are_those_of_the_block():
    x = torch.randn(1, 5, lessons_block.D_MODEL, generator=torch.Generator().manual_seed(0))
    for block, arrangement in zip(lessons_block.stack()[:2], ("pre", "post"), strict=True):
        block.norm_first = arrangement == "pre"
        *_, made = lessons_block.one_block(block, x, arrangement).values()
        torch.testing.assert_close(made, block(x)[0], atol=1e-6, rtol=0)  # float32, the same operations


@pytest.mark.parametrize("text", ["The cat sat on the mat.", "小猫趴在垫子上。"])
def test_cached_decoding_equals_uncached(text: str):
    made = lessons_cache.decoded(text)
    assert made is not None and made.asked == 1 and made.kept == len(made.tokens)
    assert made.apart.max() < 1e-5
    np.testing.assert_allclose(made.rows, made.full, atol=1e-5)


def test_counted_multiplications_are_the_formula():
    found = lessons_cache.bill(64)
    assert found.cached == found.cached_formula and found.uncached == found.uncached_formula


@pytest.mark.parametrize("tile", lessons_bill.TILES)
def test_the_last_tile_gives_full_attention(tile: int):
    made = lessons_bill.tiled("The cat sat on the mat and looked at the moon.", tile, 6)
    assert made is not None and made.step == made.count == -(-len(made.tokens) // tile)
    assert made.apart < 1e-5 and lessons_bill.tiles_apart() < 1e-5
    assert made.logits.shape == (len(made.tokens), made.seen) == (12, 12)


def test_patterns_cost_what_they_read():
    for content in lessons_bill.CONTENTS:
        found = lessons_bill.patterns(content)
        for name in lessons_bill.PATTERNS[:-1]:
            assert found[name].multiplications == found[name].allowed.sum() * 64
        assert found["full"].error == 0


def test_memory_grows_with_the_square_or_with_the_length():
    found = lessons_bill.measured(1).largest
    assert found["full"][-1] / found["full"][-2] == 4
    assert found["tiled"][-1] / found["tiled"][-2] == found["linear"][-1] / found["linear"][-2] == 2


def test_what_is_said_of_the_model():
    found, fetched = lessons_reading.senses("bank"), lessons_reading.shares("The cat sat on the mat and slept.")
    assert found is not None and fetched is not None
    assert found.other[0] > 0.9999 and found.other[-1] < found.same[-1] - 0.1
    assert fetched.norm.mean() < 0.5 * fetched.weight.mean()


def test_every_line_of_the_checklist_passes_and_fails():
    made = lessons_checklist.caught()
    assert not made[:, 0].any(), "the right implementation passes all"
    assert np.diag(made[:, 1:]).all(), "each test catches the one it was made for"
    for name in lessons_checklist.TESTS:
        assert lessons_checklist.verdict(name, name).message
        assert lessons_checklist.source(name).startswith(f"def test_{name}(")


def test_a_game_has_ten_rounds_and_only_the_first_answer_counts():
    game, text = 7, t("lesson.bugs.text.default")
    hidden = lessons_bugs.solution(game)
    assert len(set(hidden)) == len(hidden) == 10
    app = visit(lesson="bugs", game=str(game), round="4")
    codes, right = lessons_bugs.answers(game, 3, text), hidden[3]
    made = lessons_bugs.shown(game, 3, text)
    assert charts(app)["bugs_wrong"]["data"]
    assert right in codes and made.fault == right
    wrong = next(code for code in codes if code != right)
    for code, score in ((wrong, 0), (right, 0)):
        widget(app, "radio", "bugs", "game7round4").set_value(code).run()
        press(app, "bugs", "game7round4", "check")
        assert t("learn.score", right=score, asked=1, count=10) in said(app)
    assert literal(t(f"fault.{wrong}.symptom")) not in said(app) and literal(t(f"fault.{right}.fix")) in said(app)
    widget(app, "button_group", "bugs", "round").set_value("5").run()
    widget(app, "radio", "bugs", "game7round5").set_value(hidden[4]).run()
    press(app, "bugs", "game7round5", "check")
    assert t("learn.score", right=1, asked=2, count=10) in said(app)
    assert link_of(app)["game"] == str(game)
