"""Controls of the explore page: what is typed, and the switches in the sidebar."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attention_core.pretrained import Model
from viz.pages import explore_facts as facts
from viz.pages import explore_stacks as stacks
from viz.pages import explore_state as state
from viz.pages import explore_worked as worked
from viz.pages.explore_models import source_title
from viz.pages.explore_sent import offer_earlier_text
from viz.pages.explore_state import get, key, put
from viz.services.attention import SCRATCH, mask_settings
from viz.services.examples import Example, examples
from viz.services.models import model_is_here, model_names
from viz.text import t


@dataclass
class Places:
    """Where a message about a control goes: right below it, ``text`` below the text."""

    slots: dict[str, DeltaGenerator] = field(default_factory=dict)

    def mark(self, *controls: str) -> None:
        slot = st.empty()
        for control in controls:
            self.slots[control] = slot

    def refuse(self, control: str, message: str) -> None:
        """Shows a message below the text, and at the control too: that one may be in a folded or hidden part."""
        self.slots["text"].error(message)
        beside = self.slots.get(control)
        if beside is not None and beside is not self.slots["text"]:
            beside.error(message)


def values() -> Mapping[str, Any]:
    """All settings by name."""
    return {name: get(name) for name in state.SETTINGS}


def text_input(places: Places) -> None:
    """The text box, and the examples beside it."""
    left, right = st.columns([3, 1], vertical_alignment="top")
    with left:
        st.text_area(
            t("explore.text"),
            key=key("text"),
            height=68,
            help=t("explore.text_help"),
            placeholder=t("explore.text_placeholder"),
        )
        offer_earlier_text()
        worked.tell()
        places.mark("text", "tokens")
    with right:
        st.selectbox(
            t("explore.example"),
            [*(example.id for example in examples()), *worked.options()],
            index=None,
            key=key("example"),
            format_func=_example_title,
            placeholder=t("explore.example_pick"),
            help=t("explore.example_help"),
            on_change=_use_example,
        )


def model_controls(model: Model, places: Places) -> None:
    """Layer and switches of a pretrained model."""
    stacks.layer_choice(model)
    fixed = not stacks.settle_switches(model)
    _scaling(places, own="default" if model.scaling == "scores" else "own", disabled=fixed)
    facts.about_scaling(model)
    _select("model_mask", "explore.mask", state.model_masks(), "mask", disabled=fixed)
    places.mark("mask")
    st.number_input(
        t("explore.window"), 0, state.LONGEST, key=key("window"), help=t("explore.window_help"), step=1, disabled=fixed
    )
    st.slider(
        t("explore.temperature"), 0.05, 10.0, key=key("temperature"), help=t("explore.temperature_help"), step=0.05,
        disabled=fixed,
    )  # fmt: skip
    known = [f"{call.name}:{head}" for call in model.calls for head in range(model.heads[call.name])]
    state.keep_known("heads_off", known)
    st.multiselect(
        t("explore.heads_off"), known, key=key("heads_off"), help=t("explore.heads_off_help"), disabled=fixed,
        format_func=lambda name: stacks.head_title(name, kinds=model.kind == "encoder-decoder"),
    )  # fmt: skip
    _reset("model")
    with st.expander(t("explore.more")):
        st.number_input(
            t("explore.softcap"), 0.0, 100.0, key=key("softcap"), help=t("explore.softcap_help"), step=0.5,
            disabled=fixed,
        )  # fmt: skip
        st.segmented_control(
            t("explore.ablation"), state.ABLATIONS, key=key("ablation"), help=t("explore.ablation_help"), required=True,
            format_func=lambda code: t(f"ablation.{code}"), disabled=fixed,
        )  # fmt: skip
        layers = [str(layer) for layer in sorted({call.layer for call in model.calls})]
        state.keep_known("switch_layers", layers)
        st.multiselect(
            t("explore.switch_layers"), layers, key=key("switch_layers"), help=t("explore.switch_layers_help"),
            placeholder=t("explore.all_layers"), disabled=fixed,
        )  # fmt: skip


def scratch_controls(places: Places) -> None:
    """Sizes and switches of the from-scratch core."""
    st.slider(t("explore.heads"), 1, state.MOST_HEADS, key=key("heads"), help=t("explore.heads_help"))
    places.mark("num_heads")
    st.select_slider(t("explore.d_k"), state.D_K, key=key("d_k"), help=t("explore.d_k_help"))
    places.mark("d_k")
    _scaling(places)
    _select("mask", "explore.mask", state.scratch_masks(), "mask")
    for name in mask_settings(str(get("mask"))):
        _MASK_WIDGETS[name]()
    places.mark("mask")
    _select("position", "explore.position", state.POSITIONS, "position")
    places.mark("position")
    st.number_input(t("explore.seed"), 0, 2**31 - 1, key=key("seed"), help=t("explore.seed_help"), step=1)
    _reset("scratch")
    with st.expander(t("explore.more")):
        _select("tokens", "explore.tokens", state.TOKEN_RULES, "tokens")
        st.select_slider(t("explore.d_model"), state.D_MODEL, key=key("d_model"), help=t("explore.d_model_help"))
        st.number_input(t("explore.d_v"), 0, state.LONGEST, key=key("d_v"), help=t("explore.d_v_help"), step=1)
        st.number_input(
            t("explore.kv_heads"), 0, state.MOST_HEADS, key=key("kv_heads"), help=t("explore.kv_heads_help"), step=1
        )
        places.mark("num_kv_heads", "d_model", "d_v")
        _select("dtype", "explore.dtype", state.DTYPES, None)


def _scaling(places: Places, *, own: str = "default", disabled: bool = False) -> None:
    """``own`` names what the unchanged scaling is called: not every model multiplies its scores by 1/√d_k."""
    st.segmented_control(
        t("explore.scaling"),
        state.SCALINGS,
        key=key("scaling"),
        help=t("explore.scaling_help"),
        format_func=lambda code: t(f"explore.scaling_{own if code == 'default' else code}"),
        required=True,
        width="stretch",
        disabled=disabled,
    )
    if get("scaling") == "custom":
        st.number_input(
            t("explore.factor" if own == "default" else "explore.factor_own"), 0.0, 64.0, key=key("factor"),
            help=t("explore.factor_help" if own == "default" else "explore.factor_own_help"), step=0.1, format="%g",
        )  # fmt: skip
    places.mark("scale")


def _select(
    name: str, label: str, codes: tuple[str, ...], texts: str | None, *, disabled: bool = False, joint: str = "."
) -> None:
    st.selectbox(
        t(label),
        codes,
        key=key(name),
        help=t(f"{label}_help"),
        format_func=(lambda code: code) if texts is None else (lambda code: t(f"{texts}{joint}{code}")),
        disabled=disabled,
    )


def _number(name: str, low: int, high: int) -> Callable[[], None]:
    def draw() -> None:
        st.number_input(t(f"explore.{name}"), low, high, key=key(name), help=t("explore.mask_parameter_help"), step=1)

    return draw


_MASK_WIDGETS: Mapping[str, Callable[[], None]] = {
    "mask_window": _number("mask_window", 1, state.LONGEST),
    "mask_size": _number("mask_size", 1, state.LONGEST),
    "mask_step": _number("mask_step", 1, state.LONGEST),
    "mask_stride": _number("mask_stride", 1, state.LONGEST),
    "mask_global_keys": _number("mask_global_keys", 0, state.LONGEST),
    "mask_block_size": _number("mask_block_size", 1, state.LONGEST),
    "mask_prefix": _number("mask_prefix", 0, state.LONGEST),
    "mask_count": _number("mask_count", 0, 32),
    "mask_side": lambda: _select("mask_side", "explore.mask_side", state.SIDES, "explore.side", joint="_"),
}


def _reset(group: str) -> None:
    st.button(t("explore.reset"), key=key("reset"), on_click=state.reset, args=(group,), width="stretch")


def _example_title(example_id: str) -> str:
    if worked.is_worked(example_id):
        return worked.title(example_id)
    example = _example(example_id)
    here = [*filter(model_is_here, model_names()), SCRATCH]
    readers = [source for source in here if source not in example.unread_by]
    names = [source if source != SCRATCH else t("explore.source_scratch_short") for source in readers]
    sources = t("explore.source_all") if readers == here else ", ".join(names)
    return t("explore.example_option", title=t(f"example.{example.id}"), sources=sources)


def _example(example_id: str) -> Example:
    return next(example for example in examples() if example.id == example_id)


def _use_example() -> None:
    chosen = st.session_state.get(key("example"))
    if chosen is None:
        return
    if worked.is_worked(chosen):
        worked.use(chosen)
        return
    example = _example(chosen)
    put("text", example.text)
    put("lines", example.lines)
    put("form", "text")
    put("sample", 0)
    source = get("source")
    if source in example.unread_by:
        put("source", model_names()[0] if SCRATCH in example.unread_by else SCRATCH)
        st.toast(t("explore.example_switched", model=source_title(str(source)), now=source_title(str(get("source")))))
