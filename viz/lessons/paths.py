"""Lesson 1: why attention; the path between two far tokens."""

from collections.abc import Sequence

from viz.figures.curves import Curve, curves
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
    Shown,
    Values,
    nearest,
)
from viz.services.lessons_paths import CELLS, DISTANCES, KERNELS, NETS, SEEDS, WIDTH, paths, steps_between
from viz.text import t

_FAR = 32
_FLOOR = 1e-9


def _measured(values: Values) -> Sequence[Shown]:
    found = paths(str(values["cell"]), int(values["kernel"]))
    names = {"recurrent": t(f"lesson.paths.cell.{values['cell']}")}
    names |= {net: t(f"lesson.paths.net_{net}") for net in NETS if net not in names}
    steps = curves(
        [Curve(names[net], found.distances, found.steps[net]) for net in NETS],
        x_title=t("lesson.paths.distance"), y_title=t("lesson.paths.steps"), log_x=True, ticks=DISTANCES,
        title=t("lesson.paths.steps_title"), width=500,
    )  # fmt: skip
    gradient = curves(
        [Curve(names[net], found.distances, found.gradient[net], spread=found.spread[net]) for net in NETS],
        x_title=t("lesson.paths.distance"), y_title=t("lesson.paths.gradient"), log_x=True, log_y=True,
        ticks=DISTANCES, y_range=(_FLOOR, 10.0), title=t("lesson.paths.gradient_title"), width=500,
    )  # fmt: skip
    return (
        Beside(
            (
                (Chart("steps", steps, t("lesson.paths.steps_alt")),),
                (Chart("gradient", gradient, t("lesson.paths.gradient_alt")),),
            )
        ),
        Say(t("lesson.paths.note", width=WIDTH, seeds=SEEDS, floor=f"{_FLOOR:g}"), "caption"),
    )


def _ask_layers() -> Asked:
    layers = steps_between("convolution", _FAR, 3)
    answer = nearest(layers, {"one": 1, "half": _FAR / 2, "all": _FAR})
    return Asked(("one", "half", "all"), answer, {"distance": _FAR, "layers": layers, "half": _FAR // 2})


def _ask_reach() -> Asked:
    found = paths("rnn", 3)
    near, far = (found.gradient["recurrent"][place] for place in (0, DISTANCES.index(_FAR)))
    answer = nearest(max(far / near, 1e-12), {"same": 1, "share": 1 / _FAR, "lost": 1e-8})
    return Asked(("same", "share", "lost"), answer, {"distance": _FAR, "near": f"{near:.2g}", "far": f"{far:.1g}"})


def _ask_attention() -> Asked:
    found = paths("rnn", 3)
    near, far = (found.gradient["attention"][place] for place in (0, DISTANCES.index(_FAR)))
    answer = nearest(max(far / near, 1e-12), {"same": 1, "share": 1.5 / _FAR, "lost": 1e-8})
    return Asked(
        ("same", "share", "lost"), answer,
        {"distance": _FAR, "near": f"{near:.2g}", "far": f"{far:.2g}", "keys": _FAR + 1},
    )  # fmt: skip


LESSON = Lesson(
    number=1,
    name="paths",
    parts=(Part("measured", _measured, (Choice("cell", CELLS, "rnn"), Choice("kernel", KERNELS, 3)), after="reach"),),
    questions=(
        Question("layers", _ask_layers),
        Question("reach", _ask_reach),
        Question("attention", _ask_attention),
    ),
    leads_to=Destination(
        "mask_lab",
        {
            "q_len": "12",
            "k_len": "12",
            "parts": " ".join(("causal", "window")),
            "left": "2",
            "right": "0",
            "layers": "3",
        },
    ),
)
