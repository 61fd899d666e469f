"""Lesson 13: reading a real model."""

from collections.abc import Sequence
from typing import TypeVar

from viz.figures.curves import Curve, curves
from viz.figures.matrix import matrix_heatmap
from viz.lessons.figure_words import figure_words
from viz.lessons.lesson import (
    Asked,
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
)
from viz.services.lessons_reading import (
    SENTENCES,
    WORDS,
    Pronoun,
    Senses,
    Shares,
    model_name,
    pronoun,
    senses,
    shares,
    tokens,
)
from viz.text import t

_T = TypeVar("_T")
_IT, _ANIMAL, _STREET = 9, 2, 7  # in the default sentence


def _given(found: _T | None) -> _T:
    if found is None:
        raise LessonError(t("lesson.reading.no_model", model=model_name()))
    return found


def _tokens(values: Values) -> Sequence[str]:
    return [f"{place} {token}" for place, token in enumerate(tokens(values["text"]))] or ["–"]


def _pronoun(values: Values) -> Sequence[Shown]:
    places = [int(values[name]) for name in ("asks", "one", "other")]
    made: Pronoun = _given(pronoun(values["text"], *places))
    asks, one, other = (made.tokens[place] for place in places)
    figure = matrix_heatmap(
        made.lead, rows=None, row_title=t("lesson.reading.layer"), column_title=t("lesson.reading.head"),
        title=t("lesson.reading.lead", one=one, other=other), limit=1.0, picked=[made.most], words=figure_words(),
    )  # fmt: skip
    layer, head = made.most
    told = t(
        "lesson.reading.pronoun_said", asks=asks, one=one, other=other, first=f"{made.first.mean():.3f}",
        second=f"{made.second.mean():.3f}", layer=layer, head=head, to_one=f"{made.first[made.most]:.2f}",
        to_other=f"{made.second[made.most]:.2f}",
    )  # fmt: skip
    return (Chart("pronoun", figure, t("lesson.reading.pronoun_alt")), Say(told))


def _senses(values: Values) -> Sequence[Shown]:
    word = str(values["word"])
    found: Senses = _given(senses(word))
    layers = range(len(found.same))
    figure = curves(
        [Curve(t("lesson.reading.same"), layers, found.same), Curve(t("lesson.reading.differs"), layers, found.other)],
        x_title=t("lesson.reading.layer"), y_title=t("lesson.reading.cosine"), ticks=list(layers),
    )  # fmt: skip
    table = Table(
        {
            t("lesson.reading.column_sentence"): list(SENTENCES[word]),
            t("lesson.reading.column_cosine"): ["–", f"{found.same[-1]:.3f}", f"{found.other[-1]:.3f}"],
        }
    )
    return (Chart("senses", figure, t("lesson.reading.senses_alt", word=word)), table)


def _shares(values: Values) -> Sequence[Shown]:
    found: Shares = _given(shares(values["sentence"]))
    layers = range(len(found.weight))
    figure = curves(
        [Curve(t("lesson.reading.weight"), layers, found.weight), Curve(t("lesson.reading.norm"), layers, found.norm)],
        x_title=t("lesson.reading.layer"), y_title=t("lesson.reading.share"), ticks=list(layers), y_range=(0, 1),
    )  # fmt: skip
    return (
        Chart("shares", figure, t("lesson.reading.shares_alt")),
        Say(t("lesson.reading.shares_note", names=", ".join(found.separators)), "caption"),
    )


def _ask_turn() -> Asked:
    """Whether another last word turns the strongest head round."""
    tired = _given(pronoun(t("lesson.reading.text.default"), _IT, _ANIMAL, _STREET))
    wide = _given(pronoun(t("lesson.reading.wide"), _IT, _ANIMAL, _STREET))
    before, after = float(tired.lead[tired.most]), float(wide.lead[tired.most])
    answer = "turns" if before * after < 0 else "stays"
    return Asked(("turns", "stays"), answer, {"before": f"{before:.2f}", "after": f"{after:.2f}"})


def _ask_first() -> Asked:
    found = _given(senses("bank"))
    first, last = float(found.other[0]), float(found.other[-1])
    answer = "equal" if first > 0.9999 else "different"
    return Asked(("equal", "different"), answer, {"first": f"{first:.3f}", "last": f"{last:.3f}"})


def _ask_fetch() -> Asked:
    found = _given(shares(t("lesson.reading.sentence.default")))
    weight, norm = float(found.weight.mean()), float(found.norm.mean())
    answer = "less" if norm < 0.5 * weight else "more" if norm > 2 * weight else "as_much"
    return Asked(("as_much", "less", "more"), answer, {"weight": f"{weight:.2f}", "norm": f"{norm:.2f}"})


LESSON = Lesson(
    number=13,
    name="reading",
    parts=(
        Part(
            "pronoun",
            _pronoun,
            (
                Sentence("text"),
                Pick("asks", _tokens, _IT),
                Pick("one", _tokens, _ANIMAL),
                Pick("other", _tokens, _STREET),
            ),
        ),
        Part("senses", _senses, (Choice("word", WORDS, "bank"),), after="first"),
        Part("shares", _shares, (Sentence("sentence"),), after="fetch"),
    ),
    questions=(Question("turn", _ask_turn), Question("first", _ask_first), Question("fetch", _ask_fetch)),
    leads_to=Destination(
        "explore", {"source": "all-MiniLM-L6-v2", "layer": "5", "view": "lines"}, "lesson.reading.text.default"
    ),
)
