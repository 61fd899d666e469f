"""Lesson 8: order."""

from collections.abc import Sequence

from viz.figures.matrix import matrix_heatmap
from viz.lessons.figure_words import figure_words
from viz.lessons.lesson import (
    Asked,
    Beside,
    Chart,
    Choice,
    Destination,
    Flag,
    Lesson,
    LessonError,
    Part,
    Question,
    Say,
    Sentence,
    Shown,
    Values,
)
from viz.services.lessons_order import ENCODINGS, EQUAL, Permuted, permuted, picture, shifted
from viz.text import t

_OVER_PLACES = ("rotary", "alibi")


def _compared(values: Values) -> Sequence[Shown]:
    made = _given(permuted(values["text"], str(values["encoding"]), str(values["turn"]), bool(values["causal"])))
    maps = tuple(
        (
            Chart(
                name,
                matrix_heatmap(
                    matrix, rows=tokens, columns=tokens, kind="weights", row_title=t("lesson.order.rows"),
                    column_title=t("lesson.order.columns"), title=t(f"lesson.order.{name}"), words=figure_words(),
                    width=460, allowed=made.allowed,
                ),
                t("lesson.order.map_alt", name=t(f"lesson.order.{name}")),
            ),
        )
        for name, tokens, matrix in (
            ("as_typed", made.tokens, made.weights),
            ("reordered", made.turned, made.turned_weights),
        )
    )  # fmt: skip
    verdict = t(f"lesson.order.{'equal' if made.equal else 'differs'}", size=_size(made.difference), limit=f"{EQUAL:g}")
    return (Beside(maps), Say(verdict, "info" if made.equal else "warning"))


def _size(difference: float) -> str:
    return f"{difference:.1e}" if difference < 0.001 else f"{difference:.2f}"


def _given(found: Permuted | None) -> Permuted:
    if found is None:
        raise LessonError(t("lesson.order.no_token"))
    return found


def _pictures(values: Values) -> Sequence[Shown]:
    scheme = str(values["scheme"])
    over_places = scheme in _OVER_PLACES
    figure = matrix_heatmap(
        picture(scheme), rows=None, columns=None, kind="signed", row_height=11,
        row_title=t("lesson.order.query_place") if over_places else t("lesson.order.place"),
        column_title=t("lesson.order.key_place") if over_places else t("lesson.order.feature"),
        title=t(f"lesson.order.picture_{scheme}"), words=figure_words(),
    )  # fmt: skip
    return (
        Beside(
            ((Chart("scheme", figure, t("lesson.order.picture_alt")),), (Say(t(f"lesson.order.about_{scheme}")),)),
            (3, 2),
        ),
    )  # fmt: skip


def _answer(found: Permuted) -> str:
    return "equal" if found.equal else "differs"


def _ask(encoding: str, *, causal: bool = False) -> Asked:
    found = _given(permuted(t("lesson.order.text.default"), encoding, "reverse", causal))
    words = {"first": found.tokens[0], "last": found.tokens[-1]}
    return Asked(("equal", "differs"), _answer(found), {"size": _size(found.difference), **words})


def _ask_shift() -> Asked:
    rotary, sinusoidal = shifted()
    answer = {(True, True): "both", (True, False): "rotary", (False, True): "sinusoidal"}.get(
        (rotary < EQUAL, sinusoidal < EQUAL), "neither"
    )
    return Asked(("rotary", "sinusoidal", "both"), answer, {"rotary_size": _size(rotary), "added": _size(sinusoidal)})


LESSON = Lesson(
    number=8,
    name="order",
    parts=(
        Part(
            "compared",
            _compared,
            (
                Sentence("text"),
                Choice("encoding", ENCODINGS, "none"),
                Choice("turn", ("reverse", "rotate"), "reverse"),
                Flag("causal"),
            ),
            after="bare",
        ),
        Part("pictures", _pictures, (Choice("scheme", ENCODINGS[1:], "sinusoidal"),)),
    ),
    questions=(
        Question("bare", lambda: _ask("none")),
        Question("mirror", lambda: _ask("alibi")),
        Question("future", lambda: _ask("none", causal=True)),
        Question("shift", _ask_shift),
    ),
    leads_to=Destination(
        "explore",
        {"source": "from-scratch", "heads": "2", "position": "sinusoidal", "tokens": "words"},
        "lesson.order.text.default",
    ),
)
