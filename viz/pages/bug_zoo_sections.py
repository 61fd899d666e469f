"""The parts of the bug zoo below its controls: pictures, checks, explanation, the doctor's verdict."""

from dataclasses import replace
from html import escape
from typing import Any

import streamlit as st

from attention_core.diagnostics import RowCheck
from attention_core.doctor import Finding
from viz.figures import FigureWords, head_heatmap
from viz.figures.level import levelled
from viz.pages import finding_words
from viz.pages.bug_zoo_state import key
from viz.pages.charts import chart
from viz.pages.explore_sections import figure_words
from viz.services.bug_zoo import D_K, HEADS, MOST_TOKENS, SLOTS, WINDOW, Exhibit, family, verdict
from viz.text import TEXTS, t
from viz.text.markdown import literal

_SIGNS = {"passed": "✓", "failed": "✕", "info": "i", "not possible": "–", "error": "✕", "warning": "!"}
_WIDTH = 640  # pixels of a picture that stands beside another


def name_plate(fault: str) -> None:
    """Family and name of the fault."""
    st.html(
        f'<div class="zoo-plate"><span class="zoo-family">{escape(t(f"bug_zoo.family_{family(fault)}"))}</span>'
        f"<h2>{escape(t(f'fault.{fault}.title'))}</h2></div>"
    )


def what_was_run(shown: Exhibit, head: int, seed: int) -> None:
    """One line: what was computed, under which mask, and which part of it is on screen."""
    scene = t(f"bug_zoo.scene_{shown.scene.code}", window=WINDOW, slots=SLOTS, factor=shown.factor)
    line = t("bug_zoo.run", heads=HEADS, d_k=D_K, seed=seed, dtype=shown.scene.dtype)
    where = t("bug_zoo.where", head=head)
    if shown.samples > 1:
        where = t("bug_zoo.where_sample", head=head, sample=shown.sample, last=shown.samples - 1)
    st.html(
        f'<div class="zoo-run"><b>{escape(scene)}</b> <span>{escape(line)}</span> <span>{escape(where)}</span> '
        f'<span class="zoo-tag">{escape(t("bug_zoo.synthetic"))}</span></div>'
    )
    if shown.total > shown.kept:
        st.caption(t("bug_zoo.cut", most=MOST_TOKENS, total=shown.total))


def pictures(shown: Exhibit, head: int) -> None:
    """Right and wrong side by side, on the same tokens."""
    left, right = st.columns(2, gap="large")
    what = "output" if shown.on_output else "weights"
    good, bad = levelled([_map(shown, shown.right, head), _map(shown, shown.wrong, head, applied=shown.applied[head])])
    with left:
        st.subheader(t("bug_zoo.right_side"))
        alt = t(f"bug_zoo.alt_right_{what}", head=head)
        chart(good, key=key("right_chart"), title=t("bug_zoo.right_side"), alt=alt)
    with right:
        st.subheader(t("bug_zoo.wrong_side"))
        alt = t(f"bug_zoo.alt_wrong_{what}", head=head)
        chart(bad, key=key("wrong_chart"), title=t("bug_zoo.wrong_side"), alt=alt)


def difference(shown: Exhibit, head: int) -> None:
    """Wrong minus right, centred on 0, and its size in words."""
    st.subheader(t("bug_zoo.difference"))
    figure = _map(shown, shown.difference, head, word=t("bug_zoo.difference_word"))
    alt = t("bug_zoo.alt_difference", head=head)
    chart(figure, key=key("difference_chart"), title=t("bug_zoo.difference"), alt=alt)
    changed, lost, total = int(shown.changed[head]), int(shown.lost[head]), shown.right[head].size
    parts = []
    if changed:
        parts.append(t("bug_zoo.changed", changed=changed, total=total, largest=float(shown.largest[head])))
    if lost:
        parts.append(t("bug_zoo.lost", lost=lost, total=total))
    st.caption(" · ".join(parts) or t("bug_zoo.same_here"))


def checks(shown: Exhibit, head: int) -> None:
    """The strip of checks of the wrong weights, all heads of the sample."""
    chips = [
        _chip(check.status, t(f"verdict.{check.code}"), _verdict(check))
        for check in shown.checks
        if check.status != "not possible"
    ]
    label = t("bug_zoo.checks")
    st.html(
        f'<div class="zoo-verdicts" role="status" aria-label="{escape(label)}">'
        f'<span class="zoo-label">{escape(label)}</span>{"".join(chips)}</div>'
    )
    if all(check.status != "failed" for check in shown.checks):
        st.caption(t("bug_zoo.checks_blind"))


def explanation(shown: Exhibit) -> None:
    """What to look for, what went wrong, how to write it, and who met it."""
    fault = shown.fault
    st.subheader(t("bug_zoo.explanation"))
    st.markdown(f"**{t('bug_zoo.symptom')}** {literal(t(f'fault.{fault}.symptom'))}")
    st.markdown(literal(t(f"fault.{fault}.explanation")))
    st.markdown(f"**{t('bug_zoo.fix')}**")
    with st.container(key=key("fix")):
        st.code(t(f"fault.{fault}.fix"), language=None, wrap_lines=True)
    links = [f"[{literal(name)}]({address})" for name, address in shown.sources.items()]
    st.caption(t("bug_zoo.sources", links=" · ".join(links)))


def doctor(fault: str, text: str, seed: int) -> None:
    """What the doctor says when it gets the wrong weights, Q, K and the intended mask."""
    report = verdict(fault, text, seed)
    st.subheader(t("bug_zoo.doctor"))
    st.caption(t("bug_zoo.doctor_given"))
    names = [_name(one) for one in report.explained_by]
    if not names:
        st.warning(t("bug_zoo.doctor_silent"))
    elif len(names) == 1:
        st.success(t("bug_zoo.doctor_names", name=names[0]))
    else:
        st.success(t("bug_zoo.doctor_class", names=t("bug_zoo.join").join(names)))
    rows = "".join(_finding(found) for found in report.findings)
    st.html(f'<ul class="zoo-findings">{rows}</ul>')


def _map(shown: Exhibit, values: Any, head: int, *, applied: Any = None, word: str | None = None) -> Any:
    """One picture: weights on the fixed scale; an output or a difference (``word``) centred on 0.

    Args:
        shown: the exhibit.
        values: one of its arrays.
        head: which head of it.
        applied: the mask that was applied, where it is not the one that was meant.
        word: what the values are, where they are a difference.
    """
    padded_queries = [token.padding for token in shown.query_tokens]
    queries = [token.label for token in shown.query_tokens]
    if shown.on_output:
        return head_heatmap(
            values[head],
            stage="scores",
            query_tokens=queries,
            key_tokens=[t("bug_zoo.feature_short")] * values.shape[-1],
            padded_queries=padded_queries,
            words=_words_of_output(word or t("bug_zoo.output_word")),
            width=_WIDTH,
        )
    return head_heatmap(
        values[head],
        stage="weights" if word is None else "scores",
        query_tokens=queries,
        key_tokens=[token.label for token in shown.key_tokens],
        allowed=shown.intended[head] if applied is None else applied,
        intended=shown.intended[head],
        padded_queries=padded_queries,
        padded_keys=[token.padding for token in shown.key_tokens],
        words=_words() if word is None else replace(_words(), scores=word),
        width=_WIDTH,
    )


def _words() -> FigureWords:
    """Short enough for a legend in one row, so that the two maps stand level."""
    return replace(figure_words(), legend_leak=t("bug_zoo.legend_leak"))


def _words_of_output(word: str) -> FigureWords:
    return replace(_words(), scores=word, key=t("bug_zoo.feature"), columns=t("bug_zoo.features"))


def _verdict(check: RowCheck) -> str:
    return t(f"verdict.{check.code}_{check.status}", count=check.count, largest=check.largest, **check.parts)


def _chip(status: str, name: str, text: str) -> str:
    return (
        f'<span class="zoo-verdict {status}"><span class="sign" aria-hidden="true">{_SIGNS[status]}</span> '
        f"<b>{escape(name)}</b> {escape(text)}</span>"
    )


def _finding(found: Finding) -> str:
    severity = escape(t(f"bug_zoo.severity_{found.severity}"))
    known = f"finding.{found.code}"
    title = f"<b>{escape(t(known))}</b> " if known in TEXTS else ""
    return (
        f'<li class="{found.severity}"><span class="sign" aria-hidden="true">{_SIGNS[found.severity]}</span> '
        f'<span class="severity">{severity}</span> {title}<span>{escape(finding_words.sentence(found))}</span></li>'
    )


def _name(names: str) -> str:
    """A fault, or two at once, in words."""
    return " + ".join(literal(t(f"fault.{name}.title")) for name in names.split("+"))
