"""The view of writing: a text goes on token by token, and the map of the chosen head grows by a row each time."""

from collections.abc import Sequence
from html import escape
from pathlib import Path

import streamlit as st

from attention_core.runs import Call, Run
from viz.figures import head_heatmap
from viz.figures.focus import framed
from viz.figures.labels import hover_text, visible
from viz.pages import explore_state as state
from viz.pages.charts import chart, offer
from viz.pages.explore_numbers import inside
from viz.pages.explore_sections import differences, labels_of, words_of_maps
from viz.pages.explore_stacks import call_title
from viz.pages.explore_state import get, key, put
from viz.services import generation as service
from viz.services.attention import ModelRequest, Request, revision
from viz.services.generation import WritingRequest, Written
from viz.services.models import ModelError
from viz.services.python_views import writing_code
from viz.services.view_numbers import writing_numbers
from viz.services.views import CallView
from viz.text import t
from viz.text.markdown import literal

EVERY = 0.3  # seconds between two tokens while it plays, at least
_STYLES = Path(__file__).resolve().parents[2] / "assets" / "styles" / "explore_generation.css"
_OF = state.PREFIX + "written_of"  # the request that the number of written tokens is of
_PLAYS = state.PREFIX + "writing_plays"
_PROMPT_SHOWN = 60  # tokens of the prompt before the written ones
_WORD = 24  # columns of a candidate


def draw(request: Request, made: Run, shown: CallView) -> None:
    """Settings, buttons, and what has been written so far."""
    st.header(t("writing.title"))
    if not isinstance(request, ModelRequest):
        st.info(t("writing.models_only"))
        return
    asked = service.asked_for(
        request, shown.sample, most=int(str(get("new_tokens"))), temperature=float(str(get("draw_temperature"))),
        seed=int(str(get("draw_seed"))),
    )  # fmt: skip
    obstacle = service.obstacle(asked)
    if obstacle:
        st.info(t(f"writing.no_{obstacle}"))
        return
    st.html(_STYLES)
    st.caption(t("writing.intro"))
    head = inside("head", shown.heads)
    _settings(shown.heads)
    _settle(asked)
    places = [place for place, call in enumerate(made.calls) if call == shown.call]
    count = _caught_up(asked, int(str(get("written"))))
    _buttons(asked, count)
    if request.switches.mask == "none":
        st.caption(t("writing.mask_note"))
    _board(asked, shown.call, head, several=bool(places) and len(made.texts) > 1)


def _settings(heads: int) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.selectbox(t("explore.head"), range(heads), key=key("head"), help=t("explore.head_help"), width=120)
        st.number_input(
            t("writing.most"), 1, service.MOST_NEW, key=key("new_tokens"), help=t("writing.most_help"), width=150
        )
        st.slider(
            t("writing.temperature"), 0.0, 2.0, key=key("draw_temperature"), help=t("writing.temperature_help"),
            step=0.1, width=260,
        )  # fmt: skip
        st.number_input(
            t("writing.seed"), 0, 2**31 - 1, key=key("draw_seed"), help=t("writing.seed_help"), width=150,
            disabled=not get("draw_temperature"),
        )  # fmt: skip


def _settle(asked: WritingRequest) -> None:
    """Another text, model, setting or switch starts anew; what a link brought stays."""
    if st.session_state.setdefault(_OF, asked) != asked:
        st.session_state[_OF] = asked
        st.session_state[_PLAYS] = False
        put("written", 0)
    if int(str(get("written"))) > asked.most:
        put("written", asked.most)


def _caught_up(asked: WritingRequest, count: int) -> int:
    """Makes the steps that are to be shown, so that the buttons know whether more can follow; errors are told below."""
    if count:
        try:
            with st.spinner(t("explore.running")):
                count = service.writing(asked).advance(count)
        except (ValueError, *ModelError):
            return count
        put("written", count)
    return count


def _buttons(asked: WritingRequest, count: int) -> None:
    plays, ended = bool(st.session_state.get(_PLAYS)), count > 0 and _ended(asked, count)
    with st.container(horizontal=True, gap="small", key=key("writing_buttons")):
        if plays:
            st.button(t("writing.stop"), key=key("writing_stop"), icon=":material/stop:", on_click=_play, args=(False,))
        else:
            st.button(
                t("writing.play"), key=key("writing_play"), icon=":material/play_arrow:", type="primary",
                on_click=_play, args=(True,), disabled=ended,
            )  # fmt: skip
        st.button(
            t("writing.step"), key=key("writing_step"), icon=":material/skip_next:", on_click=_step, args=(count,),
            disabled=plays or ended,
        )  # fmt: skip
        st.button(
            t("writing.again"), key=key("writing_again"), icon=":material/replay:", on_click=_again,
            disabled=plays or not count,
        )  # fmt: skip


def _ended(asked: WritingRequest, count: int) -> bool:
    try:
        return count <= service.steps_made(asked) and bool(service.writing(asked).written(count).end)
    except (ValueError, *ModelError):
        return False


def _play(plays: bool) -> None:
    st.session_state[_PLAYS] = plays


def _step(count: int) -> None:
    put("written", count + 1)


def _again() -> None:
    put("written", 0)


def _board(asked: WritingRequest, call: Call, head: int, *, several: bool) -> None:
    """What is written so far; while it plays it goes on by itself and draws itself anew, the page around it stays."""
    plays = bool(st.session_state.get(_PLAYS))

    @st.fragment(run_every=EVERY if plays else None)
    def board() -> None:
        count = int(str(get("written"))) + plays
        try:
            if count:
                writing = service.writing(asked)
                count = writing.advance(count)
                written = writing.written(count)
                put("written", count)
        except (ValueError, *ModelError) as error:
            st.session_state[_PLAYS] = False
            st.error(t("writing.failed", reason=literal(str(error))))
            return
        if not count:
            st.info(t("writing.start"))
            if not asked.switches.neutral:
                _kept(asked)
            return
        if several:
            st.caption(t("writing.one_sample"))
        if asked.switches.neutral:
            _text(t("writing.so_far"), written, None)
        else:
            own = _own(asked, count)
            apart = service.first_difference(own, written)
            _text(t("writing.as_it_is"), own, apart)
            _text(t("writing.switched", switches=differences(asked.switches)), written, apart)
        _candidates(written, count)
        _map(asked, call, head, count)
        offer(
            "writing",
            numbers=lambda: writing_numbers(
                asked, written, writing.map_of(call, head, count), call=call.name, head=head
            ),
            code=lambda: writing_code(asked, written, call=call.name, head=head),
        )
        if plays and written.end:
            st.session_state[_PLAYS] = False
            st.rerun()

    board()


def _own(asked: WritingRequest, count: int) -> Written:
    """What the model writes as it is: as far as it was written before, at least as far as the other."""
    writing = service.writing(asked.neutral)
    return writing.written(max(writing.advance(count), service.steps_made(asked.neutral)))


def _kept(asked: WritingRequest) -> None:
    """What was written as the model is, before the switches changed."""
    if service.steps_made(asked.neutral):
        _text(t("writing.as_it_is"), service.writing(asked.neutral).written(asked.most), None)


def _text(title: str, written: Written, apart: int | None) -> None:
    before = "".join(written.prompt[-_PROMPT_SHOWN:])
    if len(written.prompt) > _PROMPT_SHOWN:
        before = f"… {before}"
    words = "".join(
        f'<span class="word{" other" if apart is not None and place >= apart else ""}'
        f'{" special" if word.special else ""}" title="{escape(_told(place, word))}">'
        f'<bdi>{escape(visible(word.label, None))}</bdi><span class="share">{100 * word.probability:.0f}%</span></span>'
        for place, word in enumerate(written.words)
    )
    end = f'<span class="end">{escape(t(f"writing.end_{written.end}"))}</span>' if written.end else ""
    cut = f'<p class="end">{escape(t("writing.cut", count=written.cut))}</p>' if written.cut else ""
    st.html(
        f'<div class="writing"><b>{escape(title)}</b>{cut}'
        f'<p><span class="prompt"><bdi>{escape(before)}</bdi></span>{words}{end}</p></div>'
    )


def _told(place: int, word: service.Word) -> str:
    return t("writing.word", number=place + 1, word=hover_text(word.label), probability=word.probability)


def _candidates(written: Written, count: int) -> None:
    st.html(
        f'<div class="writing"><b>{escape(t("writing.candidates", number=len(written.words)))}</b>'
        f"{_table(written.words[-1].candidates)}</div>"
    )


def _table(candidates: Sequence[service.Candidate]) -> str:
    rows = "".join(
        f'<tr class="{"taken" if one.taken else ""}"><td><bdi>{escape(visible(one.word, _WORD))}</bdi></td>'
        f'<td class="bar"><span style="width:{100 * one.probability:.1f}%"></span></td>'
        f"<td>{one.probability:.3f}</td></tr>"
        for one in candidates
    )
    return f'<table class="candidates">{rows}</table>'


def _map(asked: WritingRequest, call: Call, head: int, count: int) -> None:
    grown = service.writing(asked).map_of(call, head, count)
    rows = len(grown.query_tokens)
    figure = head_heatmap(
        grown.weights,
        query_tokens=labels_of(grown.query_tokens),
        key_tokens=labels_of(grown.key_tokens),
        allowed=grown.allowed,
        intended=grown.intended,
        scale=str(get("colour")),
        words=words_of_maps(),
        revision=revision(asked, call.name, head, count),
    )
    if grown.first_new < rows:
        framed(figure, query=rows - 1, key=None, shape=grown.weights.shape)
    title = t("writing.map", call=call_title(call), head=head)
    st.markdown(f"**{title}**")
    with st.container(key=key("writing_map")):
        chart(
            figure,
            key=key("writing_chart"),
            title=title,
            alt=t("writing.map_alt", rows=rows, written=len(grown.key_tokens)),
        )
    st.caption(t("writing.map_note"))
