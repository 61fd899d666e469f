"""Lesson 5: masks."""

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
    Table,
    Values,
)
from viz.services.lessons_masks import LIBRARIES, Masked, combined, empty_rows, meanings, placed
from viz.text import t

_KEYS = ("key_0", "key_1", "key_2", "key_3")


def _placed(values: Values) -> Sequence[Shown]:
    found = _given(placed(values["text"], str(values["where"])))
    return (
        Beside(((_map("placed_map", found),), (_sums(found),)), (3, 2)),
        Say(_leaks(found), "caption"),
    )


def _combined(values: Values) -> Sequence[Shown]:
    found = _given(combined(values["sentence"], int(values["padding"]), str(values["how"])))
    return (_map("combined_map", found), Say(_leaks(found), "warning" if found.leaks else "info"))


def _given(found: Masked | None) -> Masked:
    if found is None:
        raise LessonError(t("lesson.masks.no_token"))
    return found


def _map(name: str, found: Masked) -> Chart:
    leaking = [
        (row, column)
        for row, line in enumerate((found.weights > 0) & ~found.allowed)
        for column, leak in enumerate(line)
        if leak
    ]
    figure = matrix_heatmap(
        found.weights, rows=found.tokens, columns=found.tokens, kind="weights", allowed=found.allowed, picked=leaking,
        row_title=t("lesson.masks.rows"), column_title=t("lesson.masks.columns"), title=t("lesson.masks.weights"),
        words=figure_words(),
    )  # fmt: skip
    return Chart(name, figure, t("lesson.masks.map_alt"))


def _sums(found: Masked) -> Table:
    return Table(
        {
            t("lesson.masks.column_query"): [f"{place} {token}" for place, token in enumerate(found.tokens)],
            t("lesson.masks.column_sum"): [f"{total:.3f}" for total in found.row_sums],
        }
    )


def _leaks(found: Masked) -> str:
    if not found.leaks:
        return t("lesson.masks.no_leak")
    return t("lesson.masks.leak", count=found.leaks, largest=f"{found.largest_leak:.3f}")


def _meanings(values: Values) -> Sequence[Shown]:
    found = meanings(tuple(bool(values[name]) for name in _KEYS))
    keys = [t("lesson.masks.key", index=place) for place in range(len(_KEYS))]
    columns = {
        "flag": [str(bool(flag)) for flag in found.flags],
        "sdpa": [_weight(value) for value in found.sdpa],
        "mha": [_weight(value) for value in found.mha],
    }
    return (
        Table(
            {t("lesson.masks.column_key"): keys}
            | {t(f"lesson.masks.column_{name}"): cells for name, cells in columns.items()}
        ),
    )


def _weight(value: float) -> str:
    return "NaN" if value != value else f"{value:.3f}" if value else "0"


def _empty(values: Values) -> Sequence[Shown]:
    found = empty_rows()
    return (
        Table(
            {
                t("lesson.masks.column_library"): [t(f"lesson.masks.library_{name}") for name in LIBRARIES],
                t("lesson.masks.column_weights"): [
                    ", ".join(_weight(float(weight)) for weight in found[name].weights) for name in LIBRARIES
                ],
                t("lesson.masks.column_verdict"): [t(f"lesson.masks.verdict_{found[n].verdict}") for n in LIBRARIES],
            }
        ),
    )


def _ask_after() -> Asked:
    found = _given(placed(t("lesson.masks.text.default"), "after"))
    first = float(found.row_sums[0])
    answer = "one" if abs(first - 1) < 1e-6 else "less" if first < 1 else "more"
    return Asked(("one", "less", "more"), answer, {"first": f"{first:.3f}", "last": f"{found.row_sums[-1]:.3f}"})


def _ask_either() -> Asked:
    found = _given(combined(t("lesson.masks.sentence.default"), 2, "either"))
    answer = "leaks" if found.leaks else "fine"
    return Asked(("fine", "leaks", "empty"), answer, {"count": found.leaks, "largest": f"{found.largest_leak:.2f}"})


def _ask_true() -> Asked:
    found = meanings((True, True, False, False))
    read = float(found.mha[0]) > 0, float(found.mha[2]) > 0
    answer = {(True, False): "true_keys", (False, True): "false_keys"}.get(read, "neither")
    return Asked(
        ("true_keys", "false_keys", "neither"), answer,
        {"sdpa": f"{found.sdpa[:2].sum():.2f}", "mha": f"{found.mha[2:].sum():.2f}"},
    )  # fmt: skip


def _ask_empty() -> Asked:
    found = empty_rows()
    return Asked(("zero", "nan", "uniform"), found["finite"].verdict, {"weight": f"{found['finite'].weights[0]:.3f}"})


LESSON = Lesson(
    number=5,
    name="masks",
    parts=(
        Part(
            "placed", _placed, (Sentence("text"), Choice("where", ("before", "after", "none"), "before")), after="after"
        ),
        Part(
            "combined",
            _combined,
            (
                Sentence("sentence"),
                Choice("padding", (1, 2, 3), 2),
                Choice("how", ("both", "either", "causal", "padding"), "both"),
            ),
            after="either",
        ),
        Part("meanings", _meanings, tuple(Flag(name, place < 2) for place, name in enumerate(_KEYS)), after="true"),
        Part("empty", _empty, after="hollow"),
    ),
    questions=(
        Question("after", _ask_after),
        Question("either", _ask_either),
        Question("true", _ask_true),
        Question("hollow", _ask_empty),
    ),
    leads_to=Destination(
        "mask_lab",
        {
            "parts": " ".join(("causal", "padding")),
            "lengths": "4",
            "q_len": "6",
            "k_len": "6",
            "convention": "multihead",
        },
    ),
)
