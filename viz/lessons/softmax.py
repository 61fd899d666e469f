"""Lesson 9: softmax for real."""

import math
from collections.abc import Sequence

from viz.figures.curves import Curve, curves
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
    Scale,
    Sentence,
    Shown,
    Table,
    Values,
    nearest,
)
from viz.services.lessons_softmax import (
    DTYPES,
    LARGEST,
    LENGTHS,
    TEMPERATURES,
    Tempered,
    limits,
    rows,
    shift_apart,
    tempered,
)
from viz.text import t

_WAYS = ("weights", "shifted_weights", "core")


def _rows(values: Values) -> Sequence[Shown]:
    made = rows(str(values["dtype"]), float(values["largest"]))
    places = range(len(made.logits))
    lines = [Curve(t(f"lesson.softmax.way_{way}"), places, getattr(made, way)) for way in _WAYS]
    lines.append(Curve(t("lesson.softmax.way_exact"), places, made.exact, theory=True))
    figure = curves(
        lines, x_title=t("lesson.softmax.key"), y_title=t("lesson.softmax.weight"), ticks=list(places),
        y_range=(-0.04, 1.04),
    )  # fmt: skip
    names = ("logits", "powers", "weights", "shifted_powers", "shifted_weights", "core")
    table = {t(f"lesson.softmax.column_{name}"): [_number(one) for one in getattr(made, name)] for name in names}
    shown: list[Shown] = [Chart("rows", figure, t("lesson.softmax.rows_alt")), Table(table)]
    if made.lost:
        shown.append(Say(t("lesson.softmax.lost", dtype=str(values["dtype"])), "warning"))
    return shown


def _number(value: float) -> str:
    return "NaN" if math.isnan(value) else "∞" if math.isinf(value) else f"{value:.4g}".replace("-", "−")


def _tempered(values: Values) -> Sequence[Shown]:
    made = _given(tempered(values["text"], float(values["temperature"])))
    weights = matrix_heatmap(
        made.weights, rows=made.tokens, columns=made.tokens, kind="weights", row_title=t("lesson.softmax.rows"),
        column_title=t("lesson.softmax.columns"), title=t("lesson.softmax.map"), words=figure_words(), width=430,
    )  # fmt: skip
    sweep = curves(
        [
            Curve(t("lesson.softmax.entropy"), TEMPERATURES, made.entropy),
            Curve(t("lesson.softmax.top"), TEMPERATURES, made.top),
        ],
        x_title=t("lesson.softmax.temperature"), y_title=t("lesson.softmax.mean"), log_x=True, ticks=TEMPERATURES,
        mark=float(values["temperature"]), width=430,
    )  # fmt: skip
    return (
        Beside(
            (
                (Chart("tempered", weights, t("lesson.softmax.map_alt")),),
                (Chart("sweep", sweep, t("lesson.softmax.sweep_alt")),),
            )
        ),
    )


def _given(found: Tempered | None) -> Tempered:
    if found is None:
        raise LessonError(t("lesson.softmax.no_token"))
    return found


def _limits(values: Values) -> Sequence[Shown]:
    found = limits(int(values["length"]))
    columns = {
        "dtype": [one.dtype for one in found],
        "overflow": [f"{one.overflow:g}" for one in found],
        "vanish": [f"{one.vanish:g}" for one in found],
        "spacing": [f"{one.spacing:.2g}" for one in found],
        "row_sum": [f"{one.row_sum:.1g}" for one in found],
    }
    return (Table({t(f"lesson.softmax.limit_{name}"): cells for name, cells in columns.items()}),)


def _ask_shift() -> Asked:
    apart, largest = shift_apart()
    answer = "same" if apart < 1e-9 else "largest"
    return Asked(("same", "largest", "even"), answer, {"apart": f"{apart:.0e}", "largest": f"{largest:.3f}"})


def _ask_half() -> Asked:
    made = rows("float16", 12)
    answer = "broken" if made.lost else "right"
    return Asked(
        ("right", "even", "broken"), answer,
        {"power": _number(made.powers[-1]), "weight": _number(made.weights[-1]), "core": f"{made.core[-1]:.3f}"},
    )  # fmt: skip


def _ask_cold() -> Asked:
    made = _given(tempered(t("lesson.softmax.text.default"), 0.05))
    cold, warm = float(made.top[0]), float(made.top[-1])
    answer = nearest(cold, {"even": 1 / len(made.tokens), "one": 1.0})
    return Asked(("even", "one"), answer, {"cold": f"{cold:.3f}", "warm": f"{warm:.3f}"})


LESSON = Lesson(
    number=9,
    name="softmax",
    parts=(
        Part("rows", _rows, (Choice("dtype", DTYPES, "float16"), Scale("largest", LARGEST, 5)), after="half"),
        Part("limits", _limits, (Choice("length", LENGTHS, 256),)),
        Part("tempered", _tempered, (Sentence("text"), Scale("temperature", TEMPERATURES, 1.0)), after="cold"),
    ),
    questions=(Question("shift", _ask_shift), Question("half", _ask_half), Question("cold", _ask_cold)),
    leads_to=Destination(
        "explore", {"source": "all-MiniLM-L6-v2", "temperature": "0.2"}, "lesson.softmax.text.default"
    ),
)
