"""Lesson 6: many heads."""

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
    Pick,
    Question,
    Say,
    Sentence,
    Shown,
    Table,
    Values,
    nearest,
)
from viz.services.lessons_heads import HEADS, LOOKS, Bill, Looks, Split, bills, grouped_bills, looks, model_name, split
from viz.text import t


def _split(values: Values) -> Split:
    found = split(values["text"], int(values["heads"]))
    if found is None:
        raise LessonError(t("lesson.heads.no_token"))
    return found


def _head_names(values: Values) -> Sequence[str]:
    return [str(head) for head in range(int(values["heads"]))]


def _pipeline(values: Values) -> Sequence[Shown]:
    made, head = _split(values), int(values["head"])
    own = [(row, column) for row in range(len(made.tokens)) for column in made.columns[head]]
    queries, joined, output = (
        Chart(
            name,
            matrix_heatmap(
                matrix, rows=made.tokens, row_title="", column_title=t("lesson.heads.features"),
                title=t(f"lesson.heads.matrix_{name}"), picked=marked, decimals=1, words=figure_words(),
            ),
            t("lesson.heads.matrix_alt", name=t(f"lesson.heads.matrix_{name}")),
        )
        for name, matrix, marked in (
            ("queries", made.queries, own),
            ("joined", made.joined, own),
            ("output", made.output, []),
        )
    )  # fmt: skip
    weights = Chart(
        "weights",
        matrix_heatmap(
            made.weights[head], rows=made.tokens, columns=made.tokens, kind="weights", words=figure_words(),
            row_title=t("lesson.heads.rows"), column_title=t("lesson.heads.columns"),
            title=t("lesson.heads.weights_of", head=head),
        ),
        t("lesson.heads.weights_alt", head=head),
    )  # fmt: skip
    return (
        Beside(((queries, joined), (weights, output)), (1, 1)),
        Table(
            {
                t("lesson.heads.column_what"): [t(f"lesson.heads.shape_{name}") for name in made.shapes],
                t("lesson.heads.column_shape"): [" × ".join(map(str, sizes)) for sizes in made.shapes.values()],
            }
        ),
        Say(t("lesson.heads.sum_note", apart=f"{made.apart:.0e}"), "caption"),
    )


def _bills(values: Values) -> Sequence[Shown]:
    return (_bill_table(bills() if values["what"] == "heads" else grouped_bills()),)


def _bill_table(rows: Sequence[Bill]) -> Table:
    columns = {
        "heads": [str(row.heads) for row in rows],
        "kv_heads": [str(row.kv_heads) for row in rows],
        "d_k": [str(row.d_k) for row in rows],
        "parameters": [f"{row.parameters:,}" for row in rows],
        "cached": [str(row.cached) for row in rows],
    }
    return Table({t(f"lesson.heads.column_{name}"): cells for name, cells in columns.items()})


def _looks(values: Values) -> Sequence[Shown]:
    found = _measured(values["sentence"], str(values["look"]))
    figure = matrix_heatmap(
        found.share, rows=None, columns=None, kind="weights", row_title=t("lesson.heads.layer"),
        column_title=t("lesson.heads.head_axis"), title=t(f"lesson.heads.look.{values['look']}"), words=figure_words(),
        picked=[found.best[:2]],
    )  # fmt: skip
    layer, head, share = found.best
    return (
        Chart("looks", figure, t("lesson.heads.looks_alt")),
        Say(
            t(
                "lesson.heads.best", model=found.model, layer=layer, head=head, share=f"{share:.2f}",
                mean=f"{found.mean:.2f}",
            )
        ),
    )  # fmt: skip


def _measured(text: str, look: str) -> Looks:
    found = looks(text, look)
    if found is None:
        raise LessonError(t("lesson.heads.no_model", model=model_name()))
    return found


def _ask_parameters() -> Asked:
    one, eight = (next(bill for bill in bills() if bill.heads == heads) for heads in (1, 8))
    answer = nearest(eight.parameters / one.parameters, {"same": 1, "more": 8, "fewer": 1 / 8})
    return Asked(
        ("more", "same", "fewer"), answer,
        {"one": f"{one.parameters:,}", "eight": f"{eight.parameters:,}", "d_k": eight.d_k},
    )  # fmt: skip


def _ask_cache() -> Asked:
    full, single = grouped_bills()[0], grouped_bills()[-1]
    answer = nearest(full.cached / single.cached, {"same": 1, "twice": 2, "eight": 8})
    return Asked(("same", "twice", "eight"), answer, {"full": full.cached, "single": single.cached})


def _ask_alone() -> Asked:
    """Whether W_O on all heads is the sum of the heads alone."""
    made = split(t("lesson.heads.text.default"), 4)
    assert made is not None
    answer = "sum" if made.apart < 1e-9 else "product"
    return Asked(("sum", "product", "largest"), answer, {"apart": f"{made.apart:.0e}"})


LESSON = Lesson(
    number=6,
    name="heads",
    parts=(
        Part("pipeline", _pipeline, (Sentence("text"), Choice("heads", HEADS[:-1], 4), Pick("head", _head_names))),
        Part("bills", _bills, (Choice("what", ("heads", "kv_heads"), "heads"),), after="parameters"),
        Part("looks", _looks, (Sentence("sentence"), Choice("look", LOOKS, "previous"))),
    ),
    questions=(Question("alone", _ask_alone), Question("parameters", _ask_parameters), Question("cache", _ask_cache)),
    leads_to=Destination(
        "explore", {"source": "all-MiniLM-L6-v2", "view": "overview"}, "lesson.heads.sentence.default"
    ),
)
