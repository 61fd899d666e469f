"""The parts of the explore page below the text, from what was run to what it changed."""

from dataclasses import replace
from html import escape

import streamlit as st

from attention_core.diagnostics import RowCheck
from attention_core.pretrained import Switches
from attention_core.runs import Agreement, Run, Token
from viz.figures import (
    Figure,
    FigureWords,
    entropy_and_top_weight,
    head_grid,
    head_heatmap,
    head_table,
    saturation_per_head,
    score_histogram,
    stacked,
    variance_per_head,
)
from viz.figures.grid import EXACT_TOKENS
from viz.figures.tables import label
from viz.lessons.figure_words import figure_words as figure_words
from viz.pages import explore_facts
from viz.pages import explore_state as state
from viz.pages.charts import chart
from viz.pages.explore_stacks import call_title, head_title
from viz.pages.explore_state import clamp, get, key, put
from viz.services.attention import MOST_COMPARED, ModelRequest, Request, compared_megabytes, revision
from viz.services.models import device_name
from viz.services.views import CallView, Statistics
from viz.text import t

_SIGNS = {"passed": "✓", "failed": "✕", "info": "i", "not possible": "–", "not-possible": "–"}


def what_was_run(request: Request, made: Run, shown: CallView) -> None:
    """One line: source, layer, sizes; how it differs from the model; how far it is from a reference."""
    line = _run_line(request, made, shown)
    parts = [f'<span class="run-line">{escape(line)}</span>']
    if any(note.code == "random_weights" for note in made.notes):
        parts.append(f'<span class="run-tag">{escape(t("explore.random_weights"))}</span>')
    if isinstance(request, ModelRequest) and not request.switches.neutral:
        parts.append(f'<span class="run-differs">{escape(differences(request.switches))}</span>')
    with st.container(key=key("run"), horizontal=True, vertical_alignment="center", gap="small"):
        st.html(f'<div class="run">{"".join(parts)}</div>')
        if isinstance(request, ModelRequest) and not request.switches.neutral:
            st.button(t("explore.reset"), key=key("reset_here"), on_click=state.reset, args=("model",), type="tertiary")
    if made.agreement is None and isinstance(request, ModelRequest):
        size = compared_megabytes(request)
        if size > MOST_COMPARED:
            text = t("explore.not_compared", size=size, most=MOST_COMPARED)
            st.html(f'<div class="run">{_chip("not-possible", t("explore.not_compared_name"), text)}</div>')
    if made.agreement is not None:
        other = "explore.agreement_model" if isinstance(request, ModelRequest) else "explore.agreement_scratch"
        _agreement(made.agreement, other)
    if isinstance(request, ModelRequest):
        explore_facts.line(request, made)


def run_lines(request: Request, made: Run, shown: CallView) -> tuple[str, ...]:
    """What was run, and how it differs from the model, as plain lines."""
    lines = [_run_line(request, made, shown)]
    if isinstance(request, ModelRequest) and not request.switches.neutral:
        lines.append(differences(request.switches))
    return (*lines, made.texts[shown.sample], *made.targets[shown.sample : shown.sample + 1])


def _run_line(request: Request, made: Run, shown: CallView) -> str:
    if isinstance(request, ModelRequest) and "source" in made.tokens:
        return t(
            "stacks.run",
            source=made.source,
            call=call_title(shown.call),
            last=max(call.layer for call in made.calls if call.kind == shown.call.kind),
            heads=shown.heads,
            rows=len(shown.query_tokens),
            columns=len(shown.key_tokens),
            device=device_name(request.model),
        )
    if isinstance(request, ModelRequest):
        return t(
            "explore.run_model",
            source=made.source,
            layer=shown.call.layer,
            last=len(made.calls) - 1,
            heads=shown.heads,
            tokens=len(shown.query_tokens),
            device=device_name(request.model),
        )
    return t(
        "explore.run_scratch",
        heads=shown.heads,
        d_model=request.config.d_model,
        d_k=shown.d_k,
        d_v=shown.d_v,
        tokens=len(shown.query_tokens),
        seed=request.config.seed,
        dtype=request.config.dtype,
    )


def _agreement(agreement: Agreement, key_of_text: str) -> None:
    text = t(
        key_of_text,
        verdict=t("explore.agrees") if agreement.passed else t("explore.disagrees"),
        weights=_size(agreement.largest_weight_difference),
        weights_limit=agreement.weights_tolerance,
        output=_size(agreement.output),
        output_limit=agreement.output_tolerance,
    )
    if agreement.default is not None:
        known = "" if agreement.default_output is None else _size(agreement.default_output)
        code = "eager" if agreement.default == "eager" else "fused" if known else "unmeasured"
        text += t(f"agreement.default_{code}", default=agreement.default, output=known)
    status, word = ("passed", "explore.pass") if agreement.passed else ("failed", "explore.fail")
    st.html(f'<div class="run">{_chip(status, t(word), text)}</div>')


def _size(difference: float) -> str:
    return f"{difference:.1e}" if difference else "0"


def verdicts(shown: CallView) -> None:
    """The strip of checks over the pictures, and where the failed ones are."""
    chips = [_chip(check.status, t(f"verdict.{check.code}"), _verdict(check)) for check in shown.checks]
    label = escape(t("verdict.label", layer=shown.call.layer, sample=shown.sample))
    places = "".join(_places(check, shown) for check in shown.checks if check.status == "failed" and check.where)
    st.html(f'<div class="verdicts" role="status" aria-label="{label}">{"".join(chips)}</div>{places}')


def all_heads(request: Request, made: Run, shown: CallView) -> None:
    """All heads of the layer in one figure."""
    st.header(t("explore.grid"))
    figure = head_grid(
        shown.weights,
        query_tokens=labels_of(shown.query_tokens),
        key_tokens=labels_of(shown.key_tokens),
        allowed=shown.allowed,
        intended=shown.intended,
        scores=shown.scores if max(shown.weights.shape[1:]) <= EXACT_TOKENS else None,
        heads_off=heads_off_of(made, shown),
        padded_queries=[token.padding for token in shown.query_tokens],
        padded_keys=[token.padding for token in shown.key_tokens],
        words=words_of_maps(),
        clickable=True,
        revision=revision(request, shown.call.name, shown.sample),
    )
    sideways()
    with st.container(key=key("grid")):
        chart(
            figure,
            key=key("grid_chart"),
            title=t("explore.grid"),
            alt=t("explore.grid_alt", heads=shown.heads),
            on_select=_open_clicked_head,
            selection_mode="points",
        )
    st.caption(t("explore.not_explanations"))


def sideways() -> None:
    """On a narrow screen alone: the picture below is wider than the page."""
    st.html(f'<p class="sideways">{escape(t("explore.sideways"))}</p>')


def head_figure(shown: CallView) -> Figure:
    """The chosen head at the chosen stage."""
    clamp("head", 0, shown.heads - 1)
    head, stage = int(str(get("head"))), str(get("stage"))
    stages = shown.stages_of(head)
    return head_heatmap(
        stages[stage],
        stage=stage,
        scale=str(get("colour")),
        query_tokens=labels_of(shown.query_tokens),
        key_tokens=labels_of(shown.key_tokens),
        allowed=shown.allowed[head],
        intended=shown.intended[head],
        scores=stages["scores"],
        scaled=stages["scaled"],
        logits=stages["logits"],
        weights=stages["weights"],
        padded_queries=[token.padding for token in shown.query_tokens],
        padded_keys=[token.padding for token in shown.key_tokens],
        first_query=shown.first_query,
        first_key=shown.first_key,
        words=words_of_maps(),
    )


def one_head(made: Run, shown: CallView, enlarged: Figure, *, title: str = "") -> None:
    """One head enlarged, with a choice of stage and of colour scale, and as a table."""
    head = int(str(get("head")))
    st.header(title or t("explore.one_head", head=head))
    left, middle, right = st.columns([1, 2, 2])
    left.selectbox(t("explore.head"), range(shown.heads), key=key("head"), help=t("explore.head_help"))
    middle.segmented_control(
        t("explore.stage"), state.STAGES, key=key("stage"), help=t("explore.stage_help"), required=True,
        format_func=lambda code: t(f"stage.{code}"),
    )  # fmt: skip
    right.segmented_control(
        t("explore.colour"), state.COLOURS, key=key("colour"), help=t("explore.colour_help"), required=True,
        format_func=lambda code: t(f"colour.{code}"), disabled=get("stage") != "weights",
    )  # fmt: skip
    remarks = []
    if head in heads_off_of(made, shown):
        remarks.append(t("explore.head_off"))
    if shown.kv_heads != shown.heads:
        remarks.append(t("explore.kv_group", group=shown.kv_head(head)))
    if remarks:
        st.caption(" · ".join(remarks))
    stage = str(get("stage"))
    chart(
        enlarged, key=key("head_chart"), title=t("explore.one_head", head=head) + ": " + t(f"stage.{stage}"),
        alt=t("explore.head_alt", head=head, stage=t(f"stage.{stage}")),
    )  # fmt: skip
    if _opened("table"):
        rows = head_table(
            shown.stages_of(head)["weights"],
            query_tokens=labels_of(shown.query_tokens),
            key_tokens=labels_of(shown.key_tokens),
            allowed=shown.allowed[head],
            words=figure_words(),
        )
        st.dataframe(rows, hide_index=True)


def diagnostic_figures(shown: Statistics) -> dict[str, Figure]:
    """The scores before softmax, and what softmax makes of them."""
    numbers, words = shown.numbers, figure_words()
    variances = (numbers[name] for name in ("raw_variance", "raw_theory", "scaled_variance", "scaled_theory"))
    before = (
        variance_per_head(*variances, scaled_on=shown.scaling_on, words=words),
        score_histogram(shown.raw_scores, shown.scaled_scores, scaled_on=shown.scaling_on, words=words),
    )
    after = (
        entropy_and_top_weight(
            numbers["normalized_entropy"], numbers["top_weight"], entropy_nats=numbers["entropy"], words=words
        ),
        saturation_per_head(numbers["saturation"], words=words),
    )
    return {"scores": stacked(before), "softmax": stacked(after)}


def diagnostics(shown: Statistics, panels: dict[str, Figure]) -> None:
    """Variance of the scores against theory, what it does to softmax, and the numbers of each head."""
    st.header(t("explore.diagnostics"))
    gap, numbers = shown.gap, shown.numbers
    if gap.known:
        lesson = "explore.lesson_on" if shown.scaling_on else "explore.lesson_off"
        text = t(lesson, raw=gap.raw, scaled=gap.scaled, top=gap.top_weight, saturated=gap.saturation)
        (st.info if shown.scaling_on else st.warning)(text)
    else:
        st.info(t("explore.lesson_none"))
    left, right = st.columns(2)
    for column, (name, figure) in zip((left, right), panels.items(), strict=True):
        chart(
            figure,
            place=column,
            key=key(f"{name}_chart"),
            title=t(f"explore.{name}_title"),
            alt=t(f"explore.{name}_alt"),
        )
    if gap.known:
        st.caption(t("explore.theory", gap=gap.gap, means=gap.means, covariance=gap.covariance, pairing=gap.pairing))
    if shown.every > 1:
        st.caption(t("explore.every_score", every=shown.every))
    if _opened("numbers"):
        columns = {t("column.head"): list(range(len(numbers["raw_variance"])))}
        columns |= {t(f"column.{name}"): values for name, values in numbers.items()}
        st.dataframe(columns, hide_index=True)


def words_of_maps() -> FigureWords:
    """Here a switch blocks, not a mistake."""
    return replace(figure_words(), legend_blocked=t("explore.legend_blocked"))


def _opened(name: str) -> bool:
    """A fold of that name; what is inside is drawn below it, and only while it is open: tables cost every rerun."""
    return bool(st.toggle(t(f"explore.{name}"), key=key(f"{name}_open")))


def differences(switches: Switches) -> str:
    """How switches differ from the model, in words."""
    words = []
    for code, value in switches.describe():
        if code == "mask_rows":
            continue  # the mask is named already
        if code == "mask":
            code = f"mask_{value}"
        elif code == "layers":
            value = ", ".join(map(str, value if isinstance(value, tuple) else ()))
        elif code == "heads_off":
            pairs = value if isinstance(value, tuple) else ()
            value = t("explore.differs_join").join(head_title(f"{call}:{head}") for call, head in pairs)
        words.append(t(f"switch.{code}", value=value))
    return t("explore.differs", switches=t("explore.differs_join").join(words))


def _verdict(check: RowCheck) -> str:
    if check.status == "not possible":
        return t("verdict.not_possible")
    return t(f"verdict.{check.code}_{check.status}", count=check.count, largest=check.largest, **check.parts)


def _chip(status: str, name: str, text: str) -> str:
    sign = _SIGNS[status]
    kind = status.replace(" ", "-")
    return (
        f'<span class="verdict {kind}"><span class="sign" aria-hidden="true">{sign}</span> '
        f"<b>{escape(name)}</b> {escape(text)}</span>"
    )


def _places(check: RowCheck, shown: CallView) -> str:
    lines = []
    for _, head, query, cell_key in check.where[:5]:
        query_name = _named(shown.query_tokens, query)
        if cell_key is None:
            lines.append(t("verdict.row_place", head=head, query=query_name))
        else:
            lines.append(t("verdict.place", head=head, query=query_name, key=_named(shown.key_tokens, cell_key)))
    title = escape(t("verdict.where", check=t(f"verdict.{check.code}")))
    items = "".join(f"<li><bdi>{escape(line)}</bdi></li>" for line in lines)
    return f'<details class="verdict-places"><summary>{title}</summary><ul>{items}</ul></details>'


def _named(tokens: tuple[Token, ...], index: int) -> str:
    return label(index, tokens[index].label)


def labels_of(tokens: tuple[Token, ...]) -> list[str]:
    """What the axes say of each token."""
    return [token.label for token in tokens]


def heads_off_of(made: Run, shown: CallView) -> list[int]:
    """The heads of the shown layer that are switched off."""
    return sorted(head for call, head in made.heads_off if call == shown.call.name)


def _open_clicked_head() -> None:
    chart = st.session_state.get(key("grid_chart"))
    points = chart["selection"]["points"] if chart else []
    for point in points:
        chosen = point.get("customdata")
        if chosen is not None:
            put("head", int(chosen[0] if isinstance(chosen, list) else chosen))
