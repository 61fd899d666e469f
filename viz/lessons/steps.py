"""Lesson 3: one head, step by step, with every cell written out."""

import math
from collections.abc import Sequence

from viz.figures import Figure
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
    Pick,
    Question,
    Say,
    Sentence,
    Shown,
    Sum,
    Values,
    Walk,
)
from viz.services.lessons_steps import D_MODEL, STAGES, Cell, Steps, cell, inputs_of, row_facts, steps
from viz.text import t

_PICKS = ("row", "column")
_FORMULAS = {
    "x": r"X \in \mathbb{R}^{n \times d_{\mathrm{model}}}",
    "q": r"Q = X\, W_Q",
    "k": r"K = X\, W_K",
    "v": r"V = X\, W_V",
    "scores": r"S = Q K^\top",
    "scaled": r"S \,/ \sqrt{d_k}",
    "logits": r"L_{ij} \in \{\, S_{ij} / \sqrt{d_k},\ -\infty \,\}",
    "weights": r"A_{ij} = \frac{e^{L_{ij}}}{\sum_m e^{L_{im}}}",
    "output": r"O = A V",
}
_OVER_TOKENS = ("scores", "scaled", "logits", "weights")


def _made(values: Values) -> Steps:
    found = steps(values["text"], int(values["width"]), str(values["mask"]), bool(values["scaled"]))
    if found is None:
        raise LessonError(t("lesson.steps.no_token"))
    return found


def _rows(values: Values) -> Sequence[str]:
    found = steps(values["text"], int(values["width"]), str(values["mask"]), bool(values["scaled"]))
    return ["–"] if found is None else [f"{place} {token}" for place, token in enumerate(found.tokens)]


def _columns(values: Values) -> Sequence[str]:
    if values["stage"] in _OVER_TOKENS:
        return _rows(values)
    return [str(place) for place in range(D_MODEL if values["stage"] == "x" else int(values["width"]))]


def _stages(values: Values) -> Sequence[Shown]:
    made, stage = _made(values), str(values["stage"])
    row, column = int(values["row"]), int(values["column"])
    told = cell(made, stage, row, column)
    shown: list[Shown] = [Say(f"$${_FORMULAS[stage]}$$"), Say(t(f"lesson.steps.{stage}.what"))]
    if made.total > len(made.tokens):
        shown.append(Say(t("lesson.steps.cut", kept=len(made.tokens), total=made.total), "caption"))
    result = Chart(
        "result", _figure(made, stage, [(row, column)], clickable=True), t("lesson.steps.alt", name=_name(stage)),
        picks=_PICKS,
    )  # fmt: skip
    inputs = [
        Chart(f"from_{name}", _figure(made, name, _sources(made, stage, name, row, column)), _name(name))
        for name in inputs_of(stage)
    ]
    place = t("lesson.steps.cell", name=_name(stage), row=f"{row} {made.tokens[row]}", column=_columns(values)[column])
    written = (Say(place, "caption"), Sum(_arithmetic(told, made.scale, stage, allowed=bool(made.allowed[row, column])
               if stage == "logits" else True)))  # fmt: skip
    if inputs:
        shown.append(Beside(((result, *written), tuple(inputs)), (3, 2)))
    else:
        shown += [result, *written]
    return shown


def _name(matrix: str) -> str:
    return t(f"lesson.steps.matrix_{matrix}")


def _figure(made: Steps, name: str, picked: Sequence[tuple[int, int]], *, clickable: bool = False) -> Figure:
    matrix = made.matrices[name]
    over_tokens, weights = name in _OVER_TOKENS, name.startswith("w_")
    return matrix_heatmap(
        matrix,
        rows=[t("lesson.steps.feature", index=place) for place in range(len(matrix))] if weights else made.tokens,
        columns=made.tokens if over_tokens else None,
        row_title=t("lesson.steps.rows_queries") if over_tokens else "",
        column_title=t("lesson.steps.columns_keys") if over_tokens else t("lesson.steps.features"),
        kind="weights" if name == "weights" else "signed",
        allowed=made.allowed if name in ("logits", "weights") else None,
        picked=picked,
        clickable=clickable,
        decimals=1 if weights or name == "x" else 2,
        title=_name(name),
        words=figure_words(),
    )


def _sources(made: Steps, stage: str, name: str, row: int, column: int) -> list[tuple[int, int]]:
    """The cells of an input that go into a cell."""
    height, across = made.matrices[name].shape
    whole_row, whole_column = [(row, i) for i in range(across)], [(i, column) for i in range(height)]
    if stage in ("scaled", "logits"):
        return [(row, column)]
    if stage == "scores":
        return whole_row if name == "q" else [(column, i) for i in range(across)]
    return whole_column if name.startswith("w_") or (stage == "output" and name == "v") else whole_row


def _arithmetic(told: Cell, scale: float, stage: str, *, allowed: bool) -> str:
    value = _number(told.value, 3)
    if stage == "x":
        return value
    if stage == "logits":
        return t("lesson.steps.kept", value=value) if allowed else t("lesson.steps.forbidden")
    if stage == "scaled":
        ((score, _),) = told.pairs
        return f"{_number(score, 3)} × {_number(scale, 3)} = {value}"
    if told.row_of:
        below = " + ".join(f"exp({_number(logit, 2)})" for logit in told.row_of if math.isfinite(logit))
        return t("lesson.steps.softmax_of", above=value, below=below)
    products = " + ".join(f"{_number(left, 2)} × {_bracketed(right)}" for left, right in told.pairs)
    return f"{products}\n≈ {value}"


def _number(value: float, decimals: int) -> str:
    text = f"{value:.{decimals}f}".rstrip("0").rstrip(".")
    return ("0" if text in ("-0", "") else text).replace("-", "−")


def _bracketed(value: float) -> str:
    text = _number(value, 2)
    return f"({text})" if text.startswith("−") else text


def _example() -> Steps:
    found = steps(t("lesson.steps.text.default"), 3, "causal", True)
    assert found is not None
    return found


def _ask_shape() -> Asked:
    made = _example()
    n, d = made.matrices["q"].shape
    shape = made.matrices["scores"].shape
    choices = {"n_by_n": (n, n), "n_by_d": (n, d), "d_by_d": (d, d)}
    answer = next((code for code, sizes in choices.items() if sizes == shape), "n_by_d")
    return Asked(tuple(choices), answer, {"n": n, "d": d})


def _ask_first() -> Asked:
    weights = _example().matrices["weights"]
    first = float(weights[0, 0])
    answer = "one" if abs(first - 1) < 1e-9 else "share" if abs(first - 1 / len(weights)) < 1e-9 else "depends"
    return Asked(("one", "share", "depends"), answer, {"weight": f"{first:.2f}", "n": len(weights)})


def _ask_doubled() -> Asked:
    """What the sum of a row becomes without scaling: nothing."""
    plain = steps(t("lesson.steps.text.default"), 3, "none", False)
    scaled = steps(t("lesson.steps.text.default"), 3, "none", True)
    assert plain is not None and scaled is not None
    sharper = [row_facts(made)[1] for made in (plain, scaled)]
    answer = "same" if row_facts(plain)[0] < 1e-9 else "larger"
    return Asked(("larger", "smaller", "same"), answer, {"off": f"{sharper[0]:.2f}", "on": f"{sharper[1]:.2f}"})


LESSON = Lesson(
    number=3,
    name="steps",
    parts=(
        Part(
            "stages",
            _stages,
            (
                Walk("stage", STAGES, "x"),
                Sentence("text"),
                Choice("width", (2, 3, 4), 3),
                Choice("mask", ("none", "causal"), "causal"),
                Flag("scaled", True),
                Pick("row", _rows, 1),
                Pick("column", _columns),
            ),
        ),
    ),
    questions=(Question("shape", _ask_shape), Question("first", _ask_first), Question("sums", _ask_doubled)),
    leads_to=Destination(
        "explore",
        {"source": "from-scratch", "heads": "2", "d_k": "4", "d_model": "16", "mask": "causal", "stage": "scores"},
        "lesson.steps.text.default",
    ),
)
