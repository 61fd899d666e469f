"""Lesson 11: generating with a KV cache."""

from collections.abc import Sequence

from viz.figures.curves import Curve, curves
from viz.figures.matrix import matrix_heatmap
from viz.lessons.figure_words import figure_words
from viz.lessons.lesson import (
    Asked,
    Chart,
    Choice,
    Destination,
    Flag,
    Lesson,
    LessonError,
    Part,
    Pick,
    Question,
    Say,
    Sentence,
    Shown,
    Table,
    Values,
    nearest,
)
from viz.services.lessons_cache import WIDTHS, Decoded, bill, decoded, needed, step
from viz.text import t


def _decoded(text: str) -> Decoded:
    found = decoded(text)
    if found is None:
        raise LessonError(t("lesson.cache.no_token"))
    return found


def _places(values: Values) -> Sequence[str]:
    found = decoded(values["text"])
    return ["–"] if found is None else [f"{place} {token}" for place, token in enumerate(found.tokens)]


def _rows(values: Values) -> Sequence[Shown]:
    made, last, with_cache = _decoded(values["text"]), int(values["token"]), bool(values["cached"])
    here = step(made, last, with_cache=with_cache)
    figure = matrix_heatmap(
        here.weights, rows=made.tokens, columns=made.tokens, kind="weights", row_title=t("lesson.cache.rows"),
        column_title=t("lesson.cache.columns"), title=t("lesson.cache.weights"), words=figure_words(),
        allowed=here.allowed, picked=here.computed,
    )  # fmt: skip
    told = t(
        "lesson.cache.step_cached" if with_cache else "lesson.cache.step_uncached",
        token=made.tokens[last], cells=len(here.computed), kept=last + 1,
    )  # fmt: skip
    return (
        Chart("rows", figure, t("lesson.cache.rows_alt")),
        Say(told),
        Say(t("lesson.cache.apart", apart=f"{made.apart[last]:.0e}"), "caption"),
    )


def _bill(values: Values) -> Sequence[Shown]:
    found = bill(int(values["d_model"]))
    lines = [
        Curve(t("lesson.cache.uncached"), found.lengths, found.uncached),
        Curve(t("lesson.cache.cached"), found.lengths, found.cached),
        Curve(t("lesson.cache.uncached_formula"), found.lengths, found.uncached_formula, theory=True),
        Curve(t("lesson.cache.cached_formula"), found.lengths, found.cached_formula, theory=True),
    ]
    figure = curves(
        lines, x_title=t("lesson.cache.tokens"), y_title=t("lesson.cache.multiplications"), ticks=found.lengths,
        log_x=bool(values["log"]), log_y=bool(values["log"]),
    )  # fmt: skip
    names = ("cached", "cached_formula", "uncached", "uncached_formula")
    table = {t("lesson.cache.tokens"): [str(length) for length in found.lengths]}
    table |= {t(f"lesson.cache.{name}"): [f"{count:,}" for count in getattr(found, name)] for name in names}
    return (Chart("bill", figure, t("lesson.cache.bill_alt")), Table(table))


def _ask_rows() -> Asked:
    made = _decoded(t("lesson.cache.text.default"))
    return Asked(("one", "all"), "one" if made.asked == 1 else "all", {"kept": made.kept, "asked": made.asked})


def _ask_keep() -> Asked:
    moved = needed()
    matters = {name for name, distance in moved.items() if distance > 1e-6}
    answer = {
        frozenset({"key", "value"}): "keys_values",
        frozenset({"query", "key", "value"}): "all_three",
        frozenset({"query"}): "queries",
    }.get(frozenset(matters), "all_three")
    return Asked(
        ("all_three", "keys_values", "queries"), answer, {name: f"{distance:.2f}" for name, distance in moved.items()}
    )


def _ask_saved() -> Asked:
    found = bill(64)
    ratio = found.uncached[-1] / found.cached[-1]
    answer = nearest(ratio, {"twice": 2, "half": found.lengths[-1] / 2, "square": found.lengths[-1] ** 2})
    return Asked(
        ("twice", "half", "square"), answer,
        {"ratio": f"{ratio:.1f}", "cached": f"{found.cached[-1]:,}", "uncached": f"{found.uncached[-1]:,}"},
    )  # fmt: skip


LESSON = Lesson(
    number=11,
    name="cache",
    parts=(
        Part("rows", _rows, (Sentence("text"), Pick("token", _places, 3), Flag("cached", True)), after="fresh"),
        Part("bill", _bill, (Choice("d_model", WIDTHS, 64), Flag("log", True)), after="saved"),
    ),
    questions=(Question("fresh", _ask_rows), Question("keep", _ask_keep), Question("saved", _ask_saved)),
    leads_to=Destination(
        "mask_lab", {"parts": "causal", "q_len": "1", "k_len": "6", "convention": "sdpa"}
    ),
)  # fmt: skip
