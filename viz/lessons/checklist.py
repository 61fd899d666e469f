"""Lesson 15: a checklist for your own implementation."""

from collections.abc import Sequence

from viz.figures.matrix import matrix_heatmap
from viz.lessons.figure_words import figure_words
from viz.lessons.lesson import (
    Asked,
    Chart,
    Choice,
    Destination,
    Lesson,
    Part,
    Question,
    Say,
    Shown,
    Sum,
    Table,
    Values,
)
from viz.services.lessons_checklist import (
    IMPLEMENTATIONS,
    RIGHT,
    TESTS,
    Verdict,
    caught,
    source,
    source_of_implementation,
    verdict,
)
from viz.text import t

_NAMES = tuple(TESTS)


def _lines(values: Values) -> Sequence[Shown]:
    return (
        Table(
            {
                t("lesson.checklist.column_line"): [t(f"lesson.checklist.line_{name}") for name in _NAMES],
                t("lesson.checklist.column_right"): [_mark(verdict(name, RIGHT)) for name in _NAMES],
                t("lesson.checklist.column_broken"): [_mark(verdict(name, name)) for name in _NAMES],
                t("lesson.checklist.column_what"): [t(f"lesson.checklist.broken_{name}") for name in _NAMES],
            }
        ),
    )


def _mark(found: Verdict) -> str:
    return t("lesson.checklist.passes" if found.passed else "lesson.checklist.fails")


def _one(values: Values) -> Sequence[Shown]:
    name, broken = str(values["line"]), str(values["on"]) == "broken"
    found = verdict(name, name if broken else RIGHT)
    mark = _mark(found)
    return (
        Say(t("lesson.checklist.said", line=t(f"lesson.checklist.line_{name}"), mark=mark)),
        Sum("\n\n".join((source(name), source_of_implementation(name if broken else RIGHT)))),
        Table({t("lesson.checklist.output"): [found.message or mark]}),
    )


def _matrix(values: Values) -> Sequence[Shown]:
    figure = matrix_heatmap(
        caught(), rows=[t(f"lesson.checklist.line.{name}") for name in _NAMES],
        columns=[t("lesson.checklist.sound"), *(t(f"lesson.checklist.line.{name}") for name in _NAMES)],
        kind="weights", decimals=0, row_title=t("lesson.checklist.tests"),
        column_title=t("lesson.checklist.implementations"), title=t("lesson.checklist.matrix"), width=700,
        words=figure_words(),
    )  # fmt: skip
    return (
        Chart("matrix", figure, t("lesson.checklist.matrix_alt")),
        Say(t("lesson.checklist.matrix_note", count=len(IMPLEMENTATIONS) - 1), "caption"),
    )


def _ask_scaling() -> Asked:
    """Which of four tests fails for the implementation without scaling."""
    codes = ("rows", "causal", "cache", "reference")
    failing = [code for code in codes if not verdict(code, "reference").passed]
    return Asked(codes, failing[0] if failing else codes[0], {"passed": len(codes) - len(failing), "all": len(codes)})


def _ask_gradient() -> Asked:
    forward, backward = verdict("reference", "gradient"), verdict("gradient", "gradient")
    answer = "none" if forward.passed and backward.passed else "backward" if forward.passed else "forward"
    others = sum(verdict(name, "gradient").passed for name in _NAMES)
    return Asked(("forward", "backward", "none"), answer, {"others": others, "all": len(_NAMES)})


LESSON = Lesson(
    number=15,
    name="checklist",
    parts=(
        Part("lines", _lines),
        Part("one", _one, (Choice("line", _NAMES, "rows"), Choice("on", ("broken", RIGHT), "broken"))),
        Part("matrix", _matrix, after="scaling"),
    ),
    questions=(Question("scaling", _ask_scaling), Question("gradient", _ask_gradient)),
    leads_to=Destination(
        "mask_lab",
        {"parts": " ".join(("causal", "padding")), "lengths": "4", "q_len": "6", "k_len": "6", "convention": "sdpa"},
    ),
)
