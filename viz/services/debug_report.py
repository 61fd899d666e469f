"""The doctor's report as files: JSON for machines, one HTML page for people."""

import json
import math
from collections.abc import Mapping
from html import escape

from viz.services.debug import OK, VERDICTS, CellView, Examined, fault_title


def as_json(examined: Examined) -> str:
    """The report for machines."""
    case = examined.case
    about = {"call": case.name, "place": case.place, "notes": list(case.notes)}
    return json.dumps({**about, **examined.report.to_dict()}, ensure_ascii=False, indent=2)


def as_html(examined: Examined, view: CellView, words: Mapping[str, str], *, language: str) -> str:
    """The report as one page that needs nothing else: findings, the shown map with its marks, checks.

    Args:
        examined: the call.
        view: the map that is shown.
        words: the words of the page, by name.
        language: its code.
    """
    report, w = examined.report, {name: escape(text) for name, text in words.items()}
    findings = "".join(
        f"<li class='{f.severity}'><b>{w[f.severity]}</b> <code>{escape(f.code)}</code>"
        f"<p lang='en'>{escape(f.message)}</p>"
        + (f"<p lang='en' class='fix'>{escape(f.remedy)}</p>" if f.remedy else "") + "</li>"
        for f in report.findings
    )  # fmt: skip
    checks = "".join(
        f"<tr><td>{escape(c.name)}</td><td>{w[c.status]}</td><td>{escape(c.reason)}</td></tr>" for c in report.checks
    )
    explained = ", ".join(f"{fault_title(fault)} ({fault})" for fault in report.explained_by)
    said = f"<p><b>{w['explained_by']}</b> {escape(explained)}</p>" if explained else ""
    meant = f"<p><b>{w['intended']}</b> {escape(report.intent)}</p>" if report.intent else ""
    return (
        f"<!doctype html><html lang='{escape(language)}'><head><meta charset='utf-8'><title>{w['title']}</title><style>"
        f"{_STYLE}</style></head><body><h1>{w['title']}</h1><p>{w['verdict']}</p>{said}{meant}<h2>{w['findings']}</h2>"
        f"<ul>{findings}</ul>{_table(view, w)}<h2>{w['checks']}</h2><table>{checks}</table></body></html>"
    )


_STYLE = (
    ":root{color-scheme:light dark}"
    "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "li{margin:.6rem 0}li p{margin:.2rem 0}.fix{opacity:.8}li.error b{color:#c2410c}li.warning b{color:#b07400}"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums}"
    "td,th{padding:.15rem .5rem;border:1px solid #8884}"
    ".map td{font-size:11px;text-align:right;min-width:2.2rem}.leak{outline:2px solid #e2500a;outline-offset:-2px}"
    ".blocked{outline:2px solid #f0a30a;outline-offset:-2px}"
    ".off{background:repeating-linear-gradient(135deg,#8883 0 2px,transparent 2px 6px)}"
)
_LARGEST_TABLE = 40


def _table(view: CellView, w: Mapping[str, str]) -> str:
    if max(view.values.shape) > _LARGEST_TABLE:
        return ""
    names = [f"{i} {token}".strip() for i, token in enumerate(view.key_tokens)]
    rows = ["<tr><td></td>" + "".join(f"<th>{escape(name)}</th>" for name in names) + "</tr>"]
    for i, values in enumerate(view.values.tolist()):
        cells = "".join(_cell(view, i, j, value, w) for j, value in enumerate(values))
        rows.append(f"<tr><th>{escape(f'{i} {view.query_tokens[i]}'.strip())}</th>{cells}</tr>")
    return f"<h2>{w['map']}</h2><table class='map'>{''.join(rows)}</table>"


def _cell(view: CellView, i: int, j: int, value: float, w: Mapping[str, str]) -> str:
    code = OK if view.verdicts is None else int(view.verdicts[i, j])
    kind = "off" if view.intended is not None and not view.intended[i, j] else ""
    name = VERDICTS[code] if code != OK else ""
    share = value if 0 <= value <= 1 else 0.0
    said = "0" if value == 0 else f"{value:.2f}" if abs(value) >= 0.005 or math.isnan(value) else f"{value:.0e}"
    tint = "" if kind and not share else f" style='background-color:rgba(18,144,154,{0.75 * share:.2f})'"
    return f"<td class='{kind} {name}' title='{w[VERDICTS[code]]}'{tint}>{said}</td>"
