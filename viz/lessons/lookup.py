"""Lesson 2: query, key and value; a lookup by hand."""

from collections.abc import Sequence

from viz.figures.matrix import matrix_heatmap
from viz.figures.plane import plane
from viz.lessons.figure_words import figure_words
from viz.lessons.lesson import (
    Asked,
    Beside,
    Chart,
    Destination,
    Lesson,
    Part,
    Question,
    Say,
    Scale,
    Shown,
    Span,
    Table,
    Values,
)
from viz.services.lessons_lookup import Lookup, alike, lookup, towards, with_another_value
from viz.text import t

_LENGTHS = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
_SECOND = 1  # the token whose key points the same way as a longer one


def _names() -> list[str]:
    return [t(f"lesson.lookup.token_{place}") for place in range(4)]


def _plane(values: Values) -> Sequence[Shown]:
    found = lookup(float(values["angle"]), float(values["length"]))
    names = _names()
    figure = plane(
        found.keys, names=names, arrow=found.query, arrow_name=t("lesson.lookup.query"),
        sizes=found.weights, x_title=t("lesson.lookup.being"), y_title=t("lesson.lookup.place"),
    )  # fmt: skip
    weights = matrix_heatmap(
        found.weights[None], rows=[t("lesson.lookup.query")], columns=names, kind="weights", decimals=3,
        row_title="", column_title=t("lesson.lookup.keys"), title=t("lesson.lookup.weights"), words=figure_words(),
    )  # fmt: skip
    return (
        Beside(
            (
                (Chart("plane", figure, t("lesson.lookup.plane_alt")),),
                (Chart("weights", weights, t("lesson.lookup.weights_alt")), _table(found, names), _read(found)),
            ),
            (4, 5),
        ),
    )


def _table(found: Lookup, names: Sequence[str]) -> Table:
    columns = {
        "token": list(names),
        "key": [_pair(pair) for pair in found.keys.tolist()],
        "score": [f"{value:.2f}" for value in found.scores],
        "scaled": [f"{value:.2f}" for value in found.scaled],
        "weight": [f"{value:.3f}" for value in found.weights],
        "value": [_pair(pair) for pair in found.values.tolist()],
    }
    return Table({t(f"lesson.lookup.column_{name}"): cells for name, cells in columns.items()})


def _read(found: Lookup) -> Say:
    return Say(t("lesson.lookup.read", query=_pair(found.query.tolist()), output=_pair(found.output.tolist())))


def _pair(pair: Sequence[float]) -> str:
    return f"({pair[0]:.2f}, {pair[1]:.2f})"


def _ask_longer() -> Asked:
    winner, found = towards(_SECOND, 2.0)
    names = _names()
    return Asked(
        ("first", "second", "third"),
        ("first", "second", "third", "fourth")[winner],
        {
            "first": names[0], "second": names[1], "third": names[2],
            **{f"w{place}": f"{weight:.2f}" for place, weight in enumerate(found.weights[:3])},
            **{f"s{place}": f"{score:.2f}" for place, score in enumerate(found.scores[:3])},
        },
    )  # fmt: skip


def _ask_alike() -> Asked:
    found = alike()
    same = float(found.weights.max() - found.weights.min()) < 1e-9
    return Asked(
        ("average", "first", "nothing"),
        "average" if same else "first",
        {"weight": f"{found.weights[0]:.2f}", "output": _pair(found.output.tolist())},
    )


def _ask_value() -> Asked:
    weights, output = with_another_value(30.0, 2.0)
    answer = {(False, True): "output", (True, True): "both", (True, False): "weights"}.get((weights > 0, output > 0))
    return Asked(
        ("weights", "output", "both"), answer or "weights", {"weights": f"{weights:.2f}", "output": f"{output:.2f}"}
    )


LESSON = Lesson(
    number=2,
    name="lookup",
    parts=(Part("plane", _plane, (Span("angle", -180, 180, 10, 10), Scale("length", _LENGTHS, 2.0))),),
    questions=(Question("longer", _ask_longer), Question("alike", _ask_alike), Question("moved", _ask_value)),
    leads_to=Destination(
        "explore", {"source": "from-scratch", "heads": "1", "d_k": "2", "d_model": "16"}, "lesson.lookup.go.text"
    ),
)
