"""Controls of the explore page for models of two stacks, and for those in which nothing can be switched."""

import streamlit as st

from attention_core.pretrained import Model
from attention_core.runs import Call
from viz.pages import explore_state as state
from viz.pages.explore_state import clamp, key
from viz.text import t


def target_input(model: Model | None) -> None:
    """The box for the target, where the model reads one."""
    if model is not None and model.kind == "encoder-decoder":
        st.text_area(
            t("stacks.target"), key=key("target"), height=68, help=t("stacks.target_help"),
            placeholder=t("stacks.target_empty"),
        )  # fmt: skip


def layer_choice(model: Model) -> None:
    """Which call is shown: a number where all are of one kind, else with the kind before it."""
    clamp("layer", 0, len(model.calls) - 1)
    places = range(len(model.calls))
    if model.kind == "encoder-decoder":
        st.selectbox(
            t("stacks.call"), places, key=key("layer"), help=t("stacks.call_help"),
            format_func=lambda place: call_title(model.calls[place]),
        )  # fmt: skip
    else:
        st.selectbox(t("explore.layer"), places, key=key("layer"), help=t("explore.layer_help"))


def call_title(call: Call) -> str:
    """``cross.0`` in words."""
    return t(f"stacks.{call.kind}", layer=call.layer)


def head_title(name: str, *, kinds: bool = False) -> str:
    """``encoder.0:3`` in words, with the kind of its call where there are several, or where it is a cross-attention."""
    call, _, head = name.rpartition(":")
    kind, _, layer = call.rpartition(".")
    if kinds or kind == "cross":
        return t("stacks.head", call=t(f"stacks.{kind}", layer=layer), head=head)
    return t("explore.call_head", layer=layer, head=head)


def settle_switches(model: Model) -> bool:
    """True where the switches can act; elsewhere says why not, and sets them as the model is."""
    if model.switchable:
        return True
    st.info(t("stacks.recorded", kind=model.architecture))
    state.reset("model")
    return False
