"""Lesson 7: self- and cross-attention."""

from collections.abc import Sequence

from viz.figures.matrix import matrix_heatmap
from viz.lessons.figure_words import figure_words
from viz.lessons.lesson import (
    Asked,
    Beside,
    Chart,
    Choice,
    Destination,
    Lesson,
    LessonError,
    Part,
    Question,
    Say,
    Sentence,
    Shown,
    Table,
    Values,
)
from viz.services.lessons_cross import DIGITS, ORDERS, SHARPNESS, Crossed, crossed, reordered_source, translation
from viz.text import t

_EQUAL = 1e-6


def _who(values: Values) -> Sequence[Shown]:
    made = _given(crossed(values["target"], values["source"], str(values["kind"])))
    figure = matrix_heatmap(
        made.weights, rows=made.queries, columns=made.keys, kind="weights", allowed=made.allowed,
        row_title=t("lesson.cross.rows"), column_title=t("lesson.cross.columns"), title=t("lesson.cross.weights"),
        words=figure_words(),
    )  # fmt: skip
    shapes = Table(
        {
            t("lesson.cross.column_what"): [t(f"lesson.cross.shape_{name}") for name in made.shapes],
            t("lesson.cross.column_shape"): [" × ".join(map(str, sizes)) for sizes in made.shapes.values()],
        }
    )
    return (Beside(((Chart("who_map", figure, t("lesson.cross.weights_alt")),), (shapes,)), (3, 2)),)


def _given(found: Crossed | None) -> Crossed:
    if found is None:
        raise LessonError(t("lesson.cross.no_token"))
    return found


def _word(digit: int) -> str:
    return t(f"lesson.cross.number_{digit}")


def _translated(values: Values) -> Sequence[Shown]:
    made = translation(str(values["order"]), float(values["sharpness"]))
    figure = matrix_heatmap(
        made.weights, rows=[t("lesson.cross.asks_for", word=_word(digit)) for digit in made.wanted],
        columns=[_word(digit) for digit in made.digits], kind="weights", row_title=t("lesson.cross.rows"),
        column_title=t("lesson.cross.columns"), title=t("lesson.cross.weights"), words=figure_words(),
    )  # fmt: skip
    read = Table(
        {
            t("lesson.cross.column_asked"): [_word(digit) for digit in made.wanted],
            t("lesson.cross.column_read"): [str(digit) for digit in made.read],
            t("lesson.cross.column_vote"): [f"{vote:.2f}" for vote in made.votes],
        }
    )
    right = sum(a == b for a, b in zip(made.wanted, made.read, strict=True))
    return (
        Beside(((Chart("translated_map", figure, t("lesson.cross.weights_alt")),), (read,)), (3, 2)),
        Say(t("lesson.cross.right_count", right=right, count=len(made.wanted)), "info"),
    )


def _example(kind: str) -> Crossed:
    return _given(crossed(t("lesson.cross.target.default"), t("lesson.cross.source.default"), kind))


def _ask_shape() -> Asked:
    made = _example("cross")
    asks, answers = len(made.queries), len(made.keys)
    choices = {"q_by_k": (asks, answers), "k_by_q": (answers, asks), "q_by_q": (asks, asks)}
    answer = next(code for code, sizes in choices.items() if made.weights.shape == sizes)
    return Asked(tuple(choices), answer, {"asks": asks, "answers": answers})


def _ask_reordered() -> Asked:
    moved = reordered_source(t("lesson.cross.target.default"), t("lesson.cross.source.default"))
    return Asked(("same", "turned", "other"), "same" if moved < _EQUAL else "other", {"moved": f"{moved:.0e}"})


def _ask_blunt() -> Asked:
    made = translation("copy", 0.0)
    vote = float(made.votes[0])
    even = 1 / len(DIGITS)
    answer = "mixture" if abs(vote - even) < 1e-9 else "right"
    return Asked(("right", "mixture", "nothing"), answer, {"vote": f"{vote:.2f}", "count": len(DIGITS)})


LESSON = Lesson(
    number=7,
    name="cross",
    parts=(
        Part(
            "who", _who,
            (Choice("kind", ("self", "causal", "cross"), "cross"), Sentence("target"), Sentence("source")),
        ),
        Part(
            "translated", _translated, (Choice("order", ORDERS, "reverse"), Choice("sharpness", SHARPNESS, 4.0)),
            after="blunt",
        ),
    ),
    questions=(Question("shape", _ask_shape), Question("reordered", _ask_reordered), Question("blunt", _ask_blunt)),
    leads_to=Destination(
        "mask_lab",
        {"q_len": "3", "k_len": "5", "parts": "padding", "lengths": "4", "convention": "sdpa"},
    ),
)  # fmt: skip
