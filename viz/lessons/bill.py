"""Lesson 12: the bill."""

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
    Sentence,
    Shown,
    Table,
    Values,
    Walk,
    nearest,
)
from viz.services.lessons_bill import (
    CONTENTS,
    LENGTHS,
    PATTERN_LENGTH,
    PATTERNS,
    STEPS,
    TILE,
    TILES,
    WAYS,
    doubled,
    measured,
    patterns,
    tiled,
    tiles_apart,
)
from viz.text import t


def _measured(values: Values) -> Sequence[Shown]:
    found = measured(int(values["turn"]))
    figures = []
    for name, numbers, square in (
        ("time", found.milliseconds, found.square),
        ("memory", found.largest, found.square_largest),
    ):
        lines = [Curve(t(f"lesson.bill.way_{way}"), LENGTHS, numbers[way]) for way in WAYS]
        lines.append(Curve("n²", LENGTHS, square, theory=True))
        figure = curves(
            lines, x_title=t("lesson.bill.length"), y_title=t(f"lesson.bill.{name}"), log_x=True, log_y=True,
            ticks=LENGTHS, width=500,
        )  # fmt: skip
        figures.append((Chart(name, figure, t(f"lesson.bill.{name}_alt")),))
    return (Beside(tuple(figures)), Say(t("lesson.bill.measured_note", tile=TILE), "caption"))


def _tiles(values: Values) -> Sequence[Shown]:
    made = tiled(values["text"], int(values["tile"]), int(values["step"]))
    if made is None:
        raise LessonError(t("lesson.bill.no_token"))
    figure = matrix_heatmap(
        made.logits, rows=made.tokens, columns=made.tokens[: made.seen], row_title=t("lesson.bill.rows"),
        column_title=t("lesson.bill.columns"), title=t("lesson.bill.logits"), picked=made.tile,
        decimals=1, words=figure_words(),
    )  # fmt: skip
    table = Table(
        {
            t("lesson.bill.query"): [f"{place} {token}" for place, token in enumerate(made.tokens)],
            t("lesson.bill.largest"): [_number(one) for one in made.top],
            t("lesson.bill.factor"): [_number(one) for one in made.correction],
            t("lesson.bill.sum"): [_number(one) for one in made.total],
        }
    )
    told = t(
        "lesson.bill.tile_done", step=made.step, count=made.count, held=made.held, full=made.full,
        apart=f"{made.apart:.1e}",
    )  # fmt: skip
    return (
        Say(told, "info" if made.step == made.count else "text"),
        Beside(((Chart("tiles", figure, t("lesson.bill.tiles_alt")),), (table,)), (3, 2)),
    )


def _number(value: float) -> str:
    return f"{value:.3f}".replace("-", "−")


def _patterns(values: Values) -> Sequence[Shown]:
    found, chosen = patterns(str(values["content"])), str(values["pattern"])
    picture = matrix_heatmap(
        found[chosen].weights, rows=None, kind="weights", allowed=found[chosen].allowed,
        row_title=t("lesson.bill.rows"), column_title=t("lesson.bill.columns"),
        title=t(f"lesson.bill.pattern.{chosen}"), row_height=13, width=430, words=figure_words(),
    )  # fmt: skip
    rows = [found[name] for name in PATTERNS]
    table = Table(
        {
            t("lesson.bill.column_pattern"): [t(f"lesson.bill.pattern.{name}") for name in PATTERNS],
            t("lesson.bill.column_pairs"): [str(row.pairs) if row.pairs else "–" for row in rows],
            t("lesson.bill.column_cost"): [f"{row.multiplications:,}" for row in rows],
            t("lesson.bill.column_error"): [f"{row.error:.2f}" for row in rows],
        }
    )
    return (
        Beside(((Chart("pattern", picture, t("lesson.bill.pattern_alt")),), (table,))),
        Say(t("lesson.bill.pattern_note", length=PATTERN_LENGTH), "caption"),
    )


def _ask_doubled() -> Asked:
    before, after = doubled()
    answer = nearest(after / before, {"same": 1, "twice": 2, "four": 4})
    return Asked(("same", "twice", "four"), answer, {"before": f"{before:,}", "after": f"{after:,}"})


def _ask_exact() -> Asked:
    apart = tiles_apart()
    return Asked(("estimate", "equal"), "equal" if apart < 1e-5 else "estimate", {"apart": f"{apart:.0e}"})


def _ask_fits() -> Asked:
    """Which of two patterns of about the same cost is nearer to full attention where keys nearby matter."""
    near, far = patterns("near"), patterns("anywhere")
    answer = "window" if near["window"].error < near["dilated"].error else "dilated"
    return Asked(
        ("window", "dilated"), answer,
        {
            "window": f"{near['window'].error:.2f}", "dilated": f"{near['dilated'].error:.2f}",
            "anywhere": f"{far['window'].error:.2f}",
        },
    )  # fmt: skip


LESSON = Lesson(
    number=12,
    name="bill",
    parts=(
        Part("measured", _measured, (Choice("turn", (1, 2, 3), 1),), after="doubled"),
        Part("tiles", _tiles, (Walk("step", STEPS, "1"), Sentence("text"), Choice("tile", TILES, 2)), after="exact"),
        Part(
            "patterns",
            _patterns,
            (Choice("pattern", PATTERNS, "window"), Choice("content", CONTENTS, "near")),
            after="fits",
        ),
    ),
    questions=(Question("doubled", _ask_doubled), Question("exact", _ask_exact), Question("fits", _ask_fits)),
    leads_to=Destination(
        "explore", {"source": "from-scratch", "mask": "global_local", "mask_window": "3"}, "lesson.bill.text.default"
    ),
)
