"""Lesson 4: why the scores are divided by sqrt(d_k)."""

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
    Part,
    Question,
    Say,
    Scale,
    Shown,
    Table,
    Values,
    nearest,
)
from viz.services.lessons_scaling import (
    D_K,
    DIVISORS,
    HEADS,
    LENGTH,
    VARIANCES,
    softmax_sweep,
    softmaxed,
    variance_sweep,
)
from viz.text import t

_MEASURES = ("top_weight", "jacobian", "entropy", "saturation")


def _variance(values: Values) -> Sequence[Shown]:
    found = variance_sweep(float(values["feature_variance"]))
    lines = [
        Curve(t("lesson.scaling.measured"), found.d_k, found.mean, spread=found.spread),
        Curve(t("lesson.scaling.theory"), found.d_k, found.theory, theory=True),
    ]
    figure = curves(
        lines, x_title="d_k", y_title=t("lesson.scaling.variance_axis"), log_x=True, log_y=True, ticks=D_K, width=500
    )  # fmt: skip
    ratios = [
        Curve(t("lesson.scaling.measured"), found.d_k, found.ratio, spread=found.ratio_spread),
        Curve(t("lesson.scaling.theory"), found.d_k, [1.0] * len(found.d_k), theory=True),
    ]
    ratio = curves(
        ratios, x_title="d_k", y_title=t("lesson.scaling.ratio_axis"), log_x=True, y_range=(0.7, 1.3), ticks=D_K,
        width=500,
    )  # fmt: skip
    return (
        Beside(
            (
                (Chart("variance", figure, t("lesson.scaling.variance_alt")),),
                (Chart("ratio", ratio, t("lesson.scaling.ratio_alt")),),
            )
        ),
        Say(t("lesson.scaling.variance_note", pairs=found.pairs, seeds=found.seeds), "caption"),
    )


def _softmax(values: Values) -> Sequence[Shown]:
    d_k, variance, divisor = int(values["d_k"]), float(values["variance"]), str(values["divisor"])
    here = softmaxed(d_k, variance)
    maps = tuple(
        (
            Chart(
                name,
                matrix_heatmap(
                    here[code].weights, rows=None, kind="weights", row_title="",
                    column_title=t("lesson.scaling.keys"), title=t(f"lesson.scaling.by_{code}"), words=figure_words(),
                    row_height=11, width=360,
                ),
                t("lesson.scaling.map_alt", name=t(f"lesson.scaling.by_{code}")),
            ),
        )
        for name, code in (("unscaled_map", "one"), ("chosen_map", divisor))
    )  # fmt: skip
    rows = [here[code] for code in DIVISORS]
    table = {
        "divided": [t(f"lesson.scaling.by_{code}") for code in DIVISORS],
        "variance": [f"{row.variance:.3g}" for row in rows],
        "top": [f"{row.top_weight:.3f}" for row in rows],
        "entropy": [f"{row.entropy:.3f}" for row in rows],
        "saturation": [f"{row.saturation:.0%}" for row in rows],
        "jacobian": [f"{row.jacobian:.4f}" for row in rows],
        "gradient": [f"{row.gradient:.3g}" for row in rows],
    }
    return (
        Beside(maps),
        Table({t(f"lesson.scaling.column_{name}"): cells for name, cells in table.items()}),
        Say(t("lesson.scaling.same_note", length=LENGTH, heads=HEADS, d_model=HEADS * d_k), "caption"),
    )


def _sweep(values: Values) -> Sequence[Shown]:
    measure = str(values["measure"])
    found = softmax_sweep(float(values["sweep_variance"]))
    lines = [
        Curve(t(f"lesson.scaling.by_{code}"), D_K, [getattr(one, measure) for one in found[code]]) for code in DIVISORS
    ]
    top = (0.0, 1.02) if measure in ("top_weight", "saturation") else None
    figure = curves(
        lines, x_title="d_k", y_title=t(f"lesson.scaling.measure.{measure}"), log_x=True, ticks=D_K, y_range=top
    )  # fmt: skip
    return (Chart("sweep", figure, t("lesson.scaling.sweep_alt", name=t(f"lesson.scaling.measure.{measure}"))),)


def _ask_grows() -> Asked:
    found = variance_sweep(1.0)
    before, after = (float(found.mean[D_K.index(d)]) for d in (16, 64))
    answer = nearest(after / before, {"same": 1, "twice": 2, "four": 4, "sixteen": 16})
    return Asked(("same", "twice", "four", "sixteen"), answer, {"before": f"{before:.1f}", "after": f"{after:.1f}"})


def _ask_top() -> Asked:
    here = softmaxed(256, 1.0)
    measured = here["one"].top_weight
    answer = nearest(measured, {"spread": 0.05, "some": 0.3, "all": 1.0})
    return Asked(
        ("spread", "some", "all"), answer,
        {"off": f"{measured:.2f}", "on": f"{here['sqrt_d_k'].top_weight:.2f}", "even": f"{1 / LENGTH:.2f}"},
    )  # fmt: skip


def _ask_gradient() -> Asked:
    here = softmaxed(512, 1.0)
    off, on = here["one"].jacobian, here["sqrt_d_k"].jacobian
    answer = nearest(off / on, {"more": 5.0, "alike": 1.0, "less": 0.2})
    return Asked(("more", "alike", "less"), answer, {"off": f"{off:.4f}", "on": f"{on:.4f}"})


def _ask_too_much() -> Asked:
    here = softmaxed(1024, 1.0)["d_k"]
    answer = nearest(here.top_weight, {"even": 1 / LENGTH, "peaked": 1.0})
    return Asked(("peaked", "even"), answer, {"top": f"{here.top_weight:.3f}", "share": f"{1 / LENGTH:.3f}"})


LESSON = Lesson(
    number=4,
    name="scaling",
    parts=(
        Part("variance", _variance, (Scale("feature_variance", VARIANCES, 1.0),), after="grows"),
        Part(
            "softmax",
            _softmax,
            (Scale("d_k", D_K, 64), Scale("variance", VARIANCES, 1.0), Choice("divisor", DIVISORS[1:], "sqrt_d_k")),
            after="top",
        ),
        Part("sweep", _sweep, (Choice("measure", _MEASURES, "jacobian"), Scale("sweep_variance", VARIANCES, 1.0))),
    ),
    questions=(
        Question("grows", _ask_grows),
        Question("top", _ask_top),
        Question("gradient", _ask_gradient),
        Question("too_much", _ask_too_much),
    ),
    leads_to=Destination(
        "explore", {"source": "from-scratch", "heads": "4", "d_k": "256", "scaling": "off"}, "lesson.scaling.go.text"
    ),
)
