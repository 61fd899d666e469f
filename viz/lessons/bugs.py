"""Lesson 14: find the bug."""

from collections.abc import Sequence

from viz.figures.matrix import matrix_heatmap
from viz.lessons.figure_words import figure_words
from viz.lessons.lesson import (
    Asked,
    Beside,
    Chart,
    Destination,
    Lesson,
    Part,
    Question,
    Quiz,
    Say,
    Scale,
    Sentence,
    Shown,
    Table,
    Values,
    Walk,
    nearest,
)
from viz.services.bug_zoo import SLOTS, WINDOW
from viz.services.lessons_bugs import GAMES, ROUNDS, Exhibit, ZooError, answers, named, shown, solution, unseen
from viz.text import t
from viz.text.markdown import literal

_PLACES = tuple(str(place + 1) for place in range(ROUNDS))


def _round(values: Values) -> Sequence[Shown]:
    game, place, text = int(values["game"]), _PLACES.index(str(values["round"])), values["text"]
    notes: list[Shown] = []
    try:
        made, codes = shown(game, place, text), answers(game, place, text)
    except ZooError as error:
        notes.append(Say(t("lesson.bugs.instead", why=t(f"bug_zoo.error_{error.code}")), "warning"))
        text = t("lesson.bugs.text.default")
        made, codes = shown(game, place, text), answers(game, place, text)
    scene = t(f"bug_zoo.scene_{made.scene.code}", window=WINDOW, slots=SLOTS, factor=made.factor)
    checks = [check for check in made.checks if check.status in ("passed", "failed")]
    table = Table(
        {
            t("lesson.bugs.column_check"): [t(f"verdict.{check.code}") for check in checks],
            t("lesson.bugs.column_result"): [t(f"lesson.bugs.check_{check.status}") for check in checks],
        }
    )
    head = made.head
    return (
        *notes,
        Say(t("lesson.bugs.scene", scene=scene, head=head)),
        Beside(((_map(made, "right", head),), (_map(made, "wrong", head),))),
        _quiz(game, place, made.fault, codes),
        table,
    )


def _map(made: Exhibit, side: str, head: int) -> Chart:
    name = t(f"lesson.bugs.{side}")
    figure = matrix_heatmap(
        (made.right if side == "right" else made.wrong)[head],
        rows=[token.label for token in made.query_tokens],
        columns=None if made.on_output else [token.label for token in made.key_tokens],
        kind="signed" if made.on_output else "weights",
        allowed=None if made.on_output else made.intended[head],
        row_title=t("lesson.bugs.rows"),
        column_title=t("lesson.bugs.features" if made.on_output else "lesson.bugs.columns"),
        title=name, decimals=1, row_height=24, width=480, words=figure_words(),
    )  # fmt: skip
    return Chart(side, figure, t("lesson.bugs.map_alt", name=name))


def _quiz(game: int, place: int, fault: str, codes: Sequence[str]) -> Quiz:
    whys = {code: t("lesson.bugs.not_this", symptom=literal(t(f"fault.{code}.symptom"))) for code in codes}
    whys[fault] = literal(t(f"fault.{fault}.explanation"))
    return Quiz(
        name=_name(game, place),
        ask=t("lesson.bugs.ask"),
        answers={code: literal(t(f"fault.{code}.title")) for code in codes},
        whys=whys,
        solutions={_name(game, one): code for one, code in enumerate(solution(game))},
        rest=t("lesson.bugs.fix", fix=literal(t(f"fault.{fault}.fix"))),
    )


def _name(game: int, place: int) -> str:
    return f"game{game}round{place + 1}"


def _ask_sums() -> Asked:
    count, all_of_them = unseen(t("lesson.bugs.text.default"))
    answer = nearest(max(count, 0.5), {"none": 0.5, "third": all_of_them / 3, "most": all_of_them})
    return Asked(("none", "third", "most"), answer, {"count": count, "all": all_of_them})


def _ask_evidence() -> Asked:
    alone, more = named(t("lesson.bugs.text.default"))
    answer = "weights" if alone else "inputs" if more else "never"
    return Asked(("weights", "inputs", "never"), answer)


LESSON = Lesson(
    number=14,
    name="bugs",
    parts=(Part("rounds", _round, (Walk("round", _PLACES, "1"), Scale("game", GAMES, 0), Sentence("text"))),),
    questions=(Question("sums", _ask_sums), Question("evidence", _ask_evidence)),
    leads_to=Destination(
        "explore", {"source": "from-scratch", "mask": "causal", "scaling": "off"}, "lesson.bugs.text.default"
    ),
)
