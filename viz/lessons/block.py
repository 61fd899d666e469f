"""Lesson 10: a whole block."""

from collections.abc import Sequence

from viz.figures.curves import Curve, curves
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
    Span,
    Table,
    Values,
    nearest,
)
from viz.services.lessons_block import ARRANGEMENTS, D_MODEL, HEADS, LAYERS, LENGTH, MEASURES, trajectory
from viz.text import t


def _stack(values: Values) -> Sequence[Shown]:
    measure = str(values["measure"])
    places = range(LAYERS + 1)
    lines = [
        Curve(t(f"lesson.block.arrangement.{name}"), places, getattr(trajectory(name), measure))
        for name in ARRANGEMENTS
    ]
    similar = measure == "similarity"
    figure = curves(
        lines, x_title=t("lesson.block.layer"), y_title=t(f"lesson.block.measure.{measure}"), log_y=not similar,
        y_range=(-0.1, 1.05) if similar else None,
    )  # fmt: skip
    alt = t("lesson.block.stack_alt", name=t(f"lesson.block.measure.{measure}"))
    return (
        Chart("stack", figure, alt),
        Say(t("lesson.block.stack_note", layers=LAYERS, length=LENGTH, d_model=D_MODEL, heads=HEADS), "caption"),
    )


def _steps(values: Values) -> Sequence[Shown]:
    name, layer = str(values["arrangement"]), int(values["layer"])
    steps = trajectory(name).steps[layer - 1]
    table = {
        t("lesson.block.column_step"): [t(f"lesson.block.step_{step}") for step in steps],
        t("lesson.block.column_variance"): [_number(value) for value in steps.values()],
    }
    figure = curves(
        [Curve(t(f"lesson.block.arrangement.{name}"), range(len(steps)), list(steps.values()))],
        x_title=t("lesson.block.step"), y_title=t("lesson.block.measure.variance"), ticks=list(range(len(steps))),
        log_y=max(steps.values()) > 100,
    )  # fmt: skip
    return (Chart("steps", figure, t("lesson.block.steps_alt", layer=layer)), Table(table))


def _number(value: float) -> str:
    return f"{value:.3f}" if value < 100 else f"{value:.2e}"


def _ask_growth() -> Asked:
    found = trajectory("pre").variance
    before, after = float(found[0]), float(found[-1])
    answer = nearest(after / before, {"same": 1, "twenty": 20, "huge": 1e8})
    return Asked(("same", "twenty", "huge"), answer, {"before": f"{before:.1f}", "after": f"{after:.1f}"})


def _ask_bare() -> Asked:
    found = trajectory("no_norm").variance
    answer = nearest(float(found[-1] / found[0]), {"same": 1, "twenty": 20, "huge": 1e8})
    return Asked(("same", "twenty", "huge"), answer, {"before": f"{found[0]:.1f}", "after": f"{found[-1]:.0e}"})


def _ask_alike() -> Asked:
    found, kept = trajectory("no_residual").similarity, trajectory("pre").similarity
    answer = "alike" if found[6] > 0.9 else "apart" if found[6] < 0.5 else "some"
    return Asked(
        ("apart", "some", "alike"), answer,
        {"start": f"{abs(found[0]):.2f}", "end": f"{found[6]:.3f}", "kept": f"{kept[6]:.2f}"},
    )  # fmt: skip


LESSON = Lesson(
    number=10,
    name="block",
    parts=(
        Part("steps", _steps, (Choice("arrangement", ARRANGEMENTS, "pre"), Span("layer", 1, LAYERS, 1))),
        Part("stack", _stack, (Choice("measure", MEASURES, "variance"),), after="growth"),
    ),
    questions=(Question("growth", _ask_growth), Question("bare", _ask_bare), Question("alike", _ask_alike)),
    leads_to=Destination(
        "explore", {"source": "all-MiniLM-L6-v2", "view": "flow", "flow_residual": "0.5"}, "lesson.block.go.text"
    ),
)
