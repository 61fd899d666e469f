"""One line that names what a model's attention has of its own, and a word beside the switch that it concerns."""

from collections.abc import Sequence

import streamlit as st

from attention_core.pretrained import Model
from attention_core.pretrained.facts import Fact
from attention_core.runs import Call, Run
from viz.pages.explore_state import get
from viz.services.attention import ModelRequest
from viz.services.facts import facts
from viz.text import t


def line(request: ModelRequest, made: Run) -> None:
    """What this model has of its own on this input; nothing where it is plain."""
    found = facts(request.neutral)
    if not found:
        return
    named = t("fact.join").join(_named(fact, made.calls) for fact in found)
    help_ = "\n\n".join(f"**{_name(fact)}**: {t(f'fact.{fact.code}_help', value=fact.value)}" for fact in found)
    st.caption(t("fact.line", facts=named), help=help_)


def about_scaling(model: Model) -> None:
    """What "off" means in a model that puts its factor elsewhere, or has none."""
    if model.scaling in ("queries", "none") and get("scaling") == "off":
        st.caption(t(f"fact.scaling_{model.scaling}"))


def _name(fact: Fact) -> str:
    return t(f"fact.{fact.code}", value=fact.value)


def _named(fact: Fact, calls: Sequence[Call]) -> str:
    """A fact, with its layers where it is not in all calls."""
    if len(fact.calls) == len(calls):
        return _name(fact)
    kinds = dict.fromkeys(call.kind for call in calls)
    where = []
    for kind in kinds:
        layers = [call.layer for call in calls if call.kind == kind and call.name in fact.calls]
        if layers:
            where.append(t("fact.layers" if len(kinds) == 1 else f"fact.{kind}", layers=_ranges(layers)))
    return t("fact.in", fact=_name(fact), where=t("fact.in_join").join(where))


def _ranges(layers: Sequence[int]) -> str:
    """0, 1, 2, 5 as ``0–2, 5``."""
    runs: list[list[int]] = []
    for layer in sorted(layers):
        if runs and runs[-1][1] == layer - 1:
            runs[-1][1] = layer
        else:
            runs.append([layer, layer])
    return t("fact.in_join").join(str(first) if first == last else f"{first}–{last}" for first, last in runs)
