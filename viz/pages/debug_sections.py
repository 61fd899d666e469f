"""The parts of the Debug page below the input: verdict, findings, cells, masks, checks, report."""

from collections.abc import Mapping, Sequence
from html import escape

import streamlit as st

from attention_core.doctor import Finding, RecordingReport, Report
from attention_core.intake import Case
from viz.components.cell_clicks import cell_clicks
from viz.figures import head_heatmap
from viz.figures.focus import framed
from viz.figures.mask import mask_figure
from viz.pages import debug_state as state
from viz.pages import finding_words
from viz.pages.charts import chart
from viz.pages.debug_state import clamp, get, key
from viz.pages.explore_sections import figure_words
from viz.pages.mask_lab import mask_words
from viz.services.debug import (
    MOST_ROWS,
    VERDICTS,
    CellView,
    Examined,
    cell_of,
    cell_rows,
    cell_view,
    fault_title,
    finding_title,
    verdict_counts,
)
from viz.services.debug_report import as_html, as_json
from viz.text import TEXTS, language, t
from viz.text.markdown import literal

_SIGNS = {"error": "✕", "warning": "!", "info": "i", "ok": "✓"}
NO_TOKEN = "·"  # where nobody said which tokens they are
_FOLDED = 3  # infos beyond errors and warnings are folded from here on


def verdict(found: Examined) -> None:
    """One line: how many errors, what explains them, what was taken as meant."""
    report, counts = found.report, verdict_counts(found.report)
    chips = []
    if counts["error"]:
        chips.append(_chip("error", t("debug.errors", count=counts["error"])))
    if counts["warning"]:
        chips.append(_chip("warning", t("debug.warnings", count=counts["warning"])))
    if not counts["error"] and not counts["warning"]:
        chips.append(_chip("ok", t("debug.nothing_wrong")))
    if report.intent:
        kind = "debug.meant_inferred" if report.inferred else "debug.meant"
        chips.append(_chip("info", t(kind, intent=finding_words.phrase(report.intent))))
    lines = "".join(
        f"<li><b>{escape(_fault(name))}</b> <code>{escape(name)}</code></li>" for name in report.explained_by
    )
    heading = ""
    if report.explained_by:
        kind = "debug.explained_one" if len(report.explained_by) == 1 else "debug.explained_class"
        heading = f"<p>{escape(t(kind))}</p><ol>{lines}</ol>"
    st.html(
        f'<div class="debug-verdict" role="status"><div class="debug-chips">{"".join(chips)}</div>'
        f'<div class="debug-explained">{heading}</div></div>'
    )
    for note in found.case.notes:
        st.caption(literal(note))


def calls(reports: RecordingReport, cases: Sequence[Case]) -> None:
    """All calls of a recording: the mask that each applied, and what is wrong with it."""
    told = [
        t("debug.call_wrong", faults=t("debug.join").join(map(_fault, report.explained_by)) or _titles(report))
        if not report.ok
        else t("debug.verdict_ok")
        for report in reports.reports
    ]
    st.dataframe(
        {
            t("debug.column_call"): [case.name for case in cases],
            t("debug.column_mask"): [finding_words.phrase(mask.mask) for mask in reports.strip],
            t("debug.column_verdict"): told,
            t("debug.column_place"): [case.place for case in cases],
        },
        hide_index=True,
        key=key("calls"),
    )


def _titles(report: Report) -> str:
    return t("debug.join").join(_title(finding.code) for finding in report.errors)


def findings_and_map(found: Examined) -> None:
    """The findings, each with its cells, beside the map that they point into."""
    left, right = st.columns([5, 7], gap="large")
    with left:
        _findings(found)
    with right:
        _map(found)


def _findings(found: Examined) -> None:
    st.subheader(t("debug.findings"))
    report = found.report
    if not report.findings:
        st.write(t("debug.no_findings"))
    loud = [(i, f) for i, f in enumerate(report.findings) if f.severity != "info"]
    quiet = [(i, f) for i, f in enumerate(report.findings) if f.severity == "info"]
    for index, finding in loud:
        _finding(index, finding, found)
    if len(quiet) < _FOLDED:
        for index, finding in quiet:
            _finding(index, finding, found)
    elif quiet:
        with st.expander(t("debug.infos", count=len(quiet))):
            for index, finding in quiet:
                _finding(index, finding, found)


def _finding(index: int, finding: Finding, found: Examined) -> None:
    with st.container(key=f"{key('finding')}_{finding.severity}_{index}", border=True, gap="small"):
        sign = f'<span class="debug-sign" aria-hidden="true">{_SIGNS[finding.severity]}</span>'
        fix = ""
        if finding.remedy:
            fix = f"<b>{escape(t('debug.fix'))}</b> {escape(finding_words.remedy(finding))}"
            fix = f'<p class="debug-fix">{fix}</p>'
        st.html(
            f'<div class="debug-finding {finding.severity}"><h4>{sign} {escape(_title(finding.code))} '
            f"<small>{escape(t(f'debug.severity_{finding.severity}'))}</small></h4>"
            f"<p><bdi>{escape(finding_words.sentence(finding))}</bdi></p>{fix}</div>"
        )
        if finding.where:
            step = state.steps(index)
            place = cell_of(finding, step, found.masks, int(get("sample")), int(get("head")))
            count = len(finding.where)
            if not step:
                label = t("debug.show", count=count)
            else:
                label = t("debug.show_next", at=(step - 1) % count, last=count - 1)
            st.button(
                label, key=f"{key('jump')}_{index}", on_click=state.jump, args=(index, place), type="tertiary",
                icon=":material/my_location:", help=t("debug.show_help"),
            )  # fmt: skip


def _map(found: Examined) -> None:
    batch, heads, q_len, k_len = found.masks.shape
    sample, head = clamp("sample", batch - 1), clamp("head", heads - 1)
    clamp("query", q_len - 1)
    clamp("key", k_len - 1)
    shown = cell_view(found, sample, head)
    st.subheader(t(f"debug.map_{shown.kind}"))
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key=key("place")):
        if batch > 1:
            _index("sample", batch)
        if heads > 1:
            _index("head", heads)
        _index("query", q_len)
        _index("key", k_len)
    query, key_ = state.focus()
    figure = head_heatmap(
        shown.values,
        query_tokens=[token or NO_TOKEN for token in shown.query_tokens],
        key_tokens=[token or NO_TOKEN for token in shown.key_tokens],
        allowed=shown.shown_applied,
        intended=shown.intended,
        padded_queries=shown.padded_queries,
        padded_keys=shown.padded_keys,
        words=figure_words(),
        width=680,
        revision=f"{sample}-{head}-{query}-{key_}",
    )
    framed(figure, query=query, key=key_, shape=shown.values.shape)
    with st.container(key=key("map")):
        alt = t("debug.map_alt", sample=sample, head=head)
        chart(figure, key=key("chart"), title=t(f"debug.map_{shown.kind}"), alt=alt)
    cell_clicks(key("chart"), key=key("clicks"), on_click=state.choose)
    _cell(shown)


def _index(name: str, size: int) -> None:
    st.selectbox(
        t(f"debug.{name}"), range(size), key=key(name), help=t(f"debug.{name}_help"), width=110, on_change=state.point
    )


def _cell(shown: CellView) -> None:
    """The chosen cell in words, and how many cells of this map are right."""
    query, key_ = int(get("query")), int(get("key"))
    parts = [t("debug.cell", query=named(query, shown.query_tokens), key=named(key_, shown.key_tokens))]
    if shown.verdicts is not None:
        code = VERDICTS[int(shown.verdicts[query, key_])]
        parts.append(f'<b class="debug-{code}">{escape(t(f"debug.verdict_{code}"))}</b>')
    if shown.intended is not None:
        parts.append(t("debug.cell_intended", answer=_yes(bool(shown.intended[query, key_]))))
    if shown.applied is not None:
        kind = "debug.cell_applied" if shown.applied_known else "debug.cell_applied_seen"
        parts.append(t(kind, answer=_yes(bool(shown.applied[query, key_]))))
    if shown.kind in ("observed", "recomputed"):
        parts.append(t(f"debug.cell_{shown.kind}", weight=float(shown.values[query, key_])))
    cell = " · ".join(part if part.startswith("<b") else escape(part) for part in parts)
    counts = ""
    if shown.verdicts is not None:
        counts = " · ".join(
            escape(t(f"debug.count_{name}", count=count))
            for name, count in shown.counts.items()
            if count or name == "ok"
        )
    st.html(f'<div class="debug-cell"><p><bdi>{cell}</bdi></p><p>{counts}</p></div>')


def masks(found: Examined) -> None:
    """Intended and applied mask beside each other, where they are known and small enough to be drawn."""
    shown = cell_view(found, int(get("sample")), int(get("head")))
    drawn = [
        (name, mask) for name, mask in (("intended", shown.intended), ("applied", shown.applied)) if mask is not None
    ]
    if not shown.drawable or len(drawn) < 2:
        return
    st.subheader(t("debug.masks"))
    words = mask_words()
    for column, (name, mask) in zip(st.columns(2, gap="large"), drawn, strict=True):
        with column:
            seen = name == "applied" and not shown.applied_known
            title = t("debug.mask_seen" if seen else f"debug.mask_{name}")
            st.markdown(f"**{title}**")
            figure = mask_figure(
                mask, padded_queries=shown.padded_queries, padded_keys=shown.padded_keys, words=words, width=460
            )
            chart(figure, width="content", key=key(f"mask_{name}"), title=title, alt=t(f"debug.mask_{name}_alt"))


def tables(found: Examined) -> None:
    """All cells with their verdicts, and all checks; drawn only while they are open."""
    with st.container(horizontal=True, key=key("folds"), gap="medium"):
        st.toggle(t("debug.cells"), key=key("cells_open"), help=t("debug.cells_help"))
        if get("cells_open"):
            st.toggle(t("debug.only_wrong"), key=key("only_wrong"), help=t("debug.only_wrong_help"))
        st.toggle(
            t("debug.checks", count=len(found.report.checks)), key=key("checks_open"), help=t("debug.checks_help")
        )
    if get("cells_open"):
        rows = cell_rows(cell_view(found, int(get("sample")), int(get("head"))), only_wrong=bool(get("only_wrong")))
        if not rows:
            st.caption(t("debug.no_intent"))
        elif not rows["query"]:
            st.caption(t("debug.no_wrong_cells"))
        else:
            codes = rows.pop("verdict")
            table = {t(f"debug.column_{name}"): values for name, values in rows.items()}
            table[t("debug.column_verdict")] = [t(f"debug.verdict_{code}") for code in codes]
            st.dataframe(table, hide_index=True, key=key("cells"))
            if len(codes) == MOST_ROWS:
                st.caption(t("debug.cells_cut", most=MOST_ROWS))
    if get("checks_open"):
        checks = found.report.checks
        st.dataframe(
            {
                t("debug.column_check"): [finding_words.phrase(check.name) for check in checks],
                t("debug.column_outcome"): [t(f"debug.outcome_{check.status.replace(' ', '_')}") for check in checks],
                t("debug.column_why"): [finding_words.phrase(check.reason) for check in checks],
            },
            hide_index=True,
            key=key("checks"),
        )


def downloads(found: Examined) -> None:
    """The report as a file."""
    st.subheader(t("debug.report"))
    with st.container(horizontal=True, key=key("downloads"), gap="small"):
        shown = cell_view(found, int(get("sample")), int(get("head")))
        files = {
            "md": (found.report.to_markdown(), "text/markdown"),
            "json": (as_json(found), "application/json"),
            "html": (as_html(found, shown, _report_words(found), language=language()), "text/html"),
        }
        for ending, (content, kind) in files.items():
            st.download_button(
                t(f"debug.download_{ending}"), content, file_name=f"attention-report.{ending}", mime=kind,
                key=key(f"download_{ending}"), on_click="ignore", icon=":material/download:",
            )  # fmt: skip


def _report_words(found: Examined) -> Mapping[str, str]:
    counts = verdict_counts(found.report)
    words = {severity: t(f"debug.severity_{severity}") for severity in ("error", "warning", "info")}
    words |= {c.status: t(f"debug.outcome_{c.status.replace(' ', '_')}") for c in found.report.checks}
    words |= {code: t(f"debug.verdict_{code}") for code in VERDICTS}
    counted = t("debug.report_counts", errors=counts["error"], warnings=counts["warning"])
    return words | {
        "title": t("debug.report_title"),
        "verdict": counted,
        "explained_by": t("debug.report_explained"),
        "intended": t("debug.report_intended"),
        "findings": t("debug.findings"),
        "checks": t("debug.report_checks"),
        "map": t("debug.report_map", sample=get("sample"), head=get("head")),
    }


def _chip(kind: str, text: str) -> str:
    return (
        f'<span class="debug-chip {kind}"><span class="debug-sign" aria-hidden="true">{_SIGNS[kind]}</span> '
        f"{escape(text)}</span>"
    )


def _title(code: str) -> str:
    known = f"finding.{code}"
    return t(known) if known in TEXTS else finding_title(code)


def _fault(name: str) -> str:
    """Title of a fault, or of two at once."""
    keys = [f"fault.{part}.title" for part in name.split("+")]
    return t("debug.both").join(map(t, keys)) if all(k in TEXTS for k in keys) else fault_title(name)


def named(index: int, tokens: tuple[str, ...]) -> str:
    """A position with its token."""
    return f"{index} {tokens[index]}".strip()


def _yes(answer: bool) -> str:
    return t("debug.yes") if answer else t("debug.no")
