"""The hand-out of a lesson: its words, its figures with the settings of the page, its questions, their solutions."""

from collections.abc import Sequence
from contextvars import copy_context
from html import escape
from pathlib import Path

from viz.figures.standalone import figure_block, plotly_script
from viz.handout.prose import to_html, to_line
from viz.lessons.lesson import (
    Beside,
    Chart,
    Choice,
    Flag,
    Lesson,
    LessonError,
    Part,
    Pick,
    Question,
    Quiz,
    Say,
    Shown,
    Sum,
    Switch,
    Table,
    Values,
)
from viz.lessons.words import words
from viz.text import language, t, use_language

WIDTH = 680  # pixels between the margins of A4
_GAP = 16
_NARROWEST = 300  # columns that would be narrower stand below each other
_LETTERS = "ABCDEFGH"
_POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"
_STYLE = Path(__file__).resolve().parents[2] / "assets" / "styles" / "handout.css"


def handout_html(lesson: Lesson, values: Values, *, code: str, solutions: bool, address: str = "") -> str:
    """The text of an HTML file with everything inside (about 5 MB, of which plotly.js is 4.8).

    Args:
        lesson: to be handed out.
        values: its settings by name, as the figures are to show them.
        code: of the language.
        solutions: True puts the right answers with the reasons on a page of their own at the end.
        address: of the live lesson with these settings, printed at the end; "" for none.
    """
    return copy_context().run(_document, lesson, values, code, solutions, address)


def _document(lesson: Lesson, values: Values, code: str, solutions: bool, address: str) -> str:
    use_language(code)  # of the copied context alone
    made = words(lesson, language())
    title = f"{lesson.number}. {made.title}"
    numbers = {slot.name: number for number, slot in enumerate((s for s in made.slots if s.kind == "question"), 1)}
    body = [
        f'<div class="names"><span>{escape(t("handout.name"))}</span><span>{escape(t("handout.date"))}</span></div>',
        f"<h1>{to_line(title)}</h1>",
    ]
    for block in made.blocks:
        if isinstance(block, str):
            body.append(to_html(block))
        elif block.kind == "part":
            body.append(_part(lesson, lesson.part(block.name), values))
        else:
            body.append(_question(lesson, lesson.question(block.name), numbers[block.name]))
    if solutions:
        solved = [_solution(lesson, lesson.question(name), number) for name, number in numbers.items()]
        solved += [_solved_quiz(one) for part in lesson.parts for one in _drawn(part, values) if isinstance(one, Quiz)]
        body.append(f'<section class="solutions"><h2>{escape(t("handout.solutions"))}</h2>{"".join(solved)}</section>')
    live = f"<br>{escape(t('handout.live'))} {escape(address)}" if address else ""
    body.append(f"<footer>{escape(t('handout.made'))}{live}</footer>")
    return (
        f'<!doctype html><html lang="{escape(code)}"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f'<meta name="viewport" content="width={WIDTH + 40}"><title>{escape(title)}</title>'
        f"<style>{_STYLE.read_text('utf-8')}</style>"
        f"{plotly_script()}</head><body>{''.join(body)}</body></html>"
    )


def _part(lesson: Lesson, part: Part, values: Values) -> str:
    told = " · ".join(_setting(lesson, switch, values) for switch in part.switches)
    line = f'<p class="settings">{escape(t("handout.settings", settings=told))}</p>' if told else ""
    try:
        shown = _all(part.draw(values), WIDTH)
    except LessonError as error:
        shown = f'<p class="note">{escape(error.text)}</p>'
    return f'<section class="part" data-part="{part.name}">{line}{shown}</section>'


def _drawn(part: Part, values: Values) -> Sequence[Shown]:
    try:
        return part.draw(values)
    except LessonError:
        return ()


def _solved_quiz(quiz: Quiz) -> str:
    letter = _LETTERS[list(quiz.answers).index(quiz.solutions[quiz.name])]
    reasons = "".join(
        f"<li>{to_line(answer)}<br>{to_line(quiz.whys[code])}</li>" for code, answer in quiz.answers.items()
    )
    return (
        f'<section class="solution"><div>{to_line(quiz.ask)} '
        f"<strong>{escape(t('handout.right', letter=letter))}</strong></div><ol>{reasons}</ol></section>"
    )


def _setting(lesson: Lesson, switch: Switch, values: Values) -> str:
    """Name and value of a setting in words."""
    stem, value = f"lesson.{lesson.name}.{switch.name}", values[switch.name]
    if isinstance(switch, Flag):
        told = t("handout.on" if value else "handout.off")
    elif isinstance(switch, Pick):
        told = switch.labels(values)[: value + 1][-1]  # a place that is no longer there is the last one
    elif isinstance(switch, Choice) and isinstance(value, str):
        told = t(f"{stem}.{value}")
    else:
        told = f"{value:g}" if isinstance(value, float) else str(value)
    return t("handout.setting", name=t(stem), value=told)


def _all(shown: Sequence[Shown], width: int) -> str:
    return "".join(_one(one, width) for one in shown)


def _one(one: Shown, width: int) -> str:
    if isinstance(one, Beside):
        return _beside(one, width)
    if isinstance(one, Chart):
        return f'<figure role="img" aria-label="{escape(one.alt)}">{figure_block(one.figure, width=width)}</figure>'
    if isinstance(one, Say):
        style = {"text": "", "caption": "caption"}.get(one.kind, "note")
        return f'<div class="{style}">{to_html(one.text)}</div>'
    if isinstance(one, Sum):
        return f"<pre>{escape(one.text)}</pre>"
    if isinstance(one, Quiz):
        answers = "".join(f"<li>{to_line(answer)}</li>" for answer in one.answers.values())
        return f'<section class="question"><div>{to_line(one.ask)}</div><ol>{answers}</ol></section>'
    return _table(one)


def _beside(one: Beside, width: int) -> str:
    shares = one.widths or (1,) * len(one.columns)
    room = width - _GAP * (len(shares) - 1)
    widths = [room * share // sum(shares) for share in shares]
    if min(widths) < _NARROWEST:
        return f'<div class="beside stacked">{"".join(_all(inside, width) for inside in one.columns)}</div>'
    columns = (
        f'<div style="width:{wide}px">{_all(inside, wide)}</div>'
        for inside, wide in zip(one.columns, widths, strict=True)
    )
    return f'<div class="beside">{"".join(columns)}</div>'


def _table(table: Table) -> str:
    head = "".join(f"<th>{to_line(name)}</th>" for name in table.columns)
    rows = zip(*table.columns.values(), strict=True)
    cells = "".join(f"<tr>{''.join(f'<td>{to_line(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{cells}</tbody></table>"


def _question(lesson: Lesson, question: Question, number: int) -> str:
    asked = question.ask()
    stem = f"lesson.{lesson.name}.{question.name}"
    answers = "".join(f"<li>{to_line(t(f'{stem}.{code}', **asked.values))}</li>" for code in asked.codes)
    return (
        f'<section class="question"><div><strong>{number}.</strong> {to_line(t(f"{stem}.ask", **asked.values))}</div>'
        f'<ol>{answers}</ol><div class="line">{escape(t("handout.why"))}</div><div class="line"></div></section>'
    )


def _solution(lesson: Lesson, question: Question, number: int) -> str:
    asked = question.ask()
    stem = f"lesson.{lesson.name}.{question.name}"
    letter = _LETTERS[asked.codes.index(asked.answer)]
    reasons = "".join(
        f"<li>{to_line(t(f'{stem}.{code}', **asked.values))}<br>{to_line(t(f'{stem}.{code}.why', **asked.values))}</li>"
        for code in asked.codes
    )
    return (
        f'<section class="solution"><div><strong>{number}.</strong> {to_line(t(f"{stem}.ask", **asked.values))} '
        f"<strong>{escape(t('handout.right', letter=letter))}</strong></div><ol>{reasons}</ol></section>"
    )
