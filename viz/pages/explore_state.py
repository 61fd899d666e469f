"""What the explore page remembers: one value per control, kept over reruns, restored from the address bar."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from attention_core.diagnostics import PATTERNS
from viz.services.generation import MOST_NEW
from viz.services.head_map import MEASURES
from viz.services.overview import CHOICES
from viz.services.sent_masks import packed_mask

PREFIX = "explore_"
LONGEST_LINK_TEXT = 1500
LONG_TEXTS = ("text", "second", "target", "other_text", "kept")
_RESTORED = PREFIX + "restored"
_IGNORED = PREFIX + "ignored"  # names of settings in the link that could not be used
_ARRIVED = PREFIX + "arrived"  # all settings as the first run left them
_NEXT = PREFIX + "next"  # values for the next run, from where their widgets already stand

Value = str | int | float | bool | list[str]


@dataclass(frozen=True)
class Setting:
    """One setting: its default, and how its text in a link becomes a value (ValueError if it cannot).

    ``group`` says which switches a reset takes back: "model", "scratch", or "" for none.
    """

    default: Value
    parse: Callable[[str], Value]
    group: str = ""


def choice(*codes: str) -> Callable[[str], Value]:
    """One of these codes."""

    def parse(text: str) -> Value:
        if text not in codes:
            raise ValueError(text)
        return text

    return parse


def whole(low: int, high: int) -> Callable[[str], Value]:
    """A whole number between these, both included."""

    def parse(text: str) -> Value:
        if not low <= int(text) <= high:
            raise ValueError(text)
        return int(text)

    return parse


def real(low: float, high: float) -> Callable[[str], Value]:
    """A number between these, both included."""

    def parse(text: str) -> Value:
        number = float(text)
        if math.isnan(number) or not low <= number <= high:
            raise ValueError(text)
        return number

    return parse


def flag(text: str) -> Value:
    """1 or 0."""
    return {"1": True, "0": False}[text]


def head_list(text: str) -> Value:
    """Call name and head of each, as ``encoder.0:3``, with spaces between."""
    names = [name for name in text.split(" ") if name]
    for name in names:
        call, _, head = name.rpartition(":")
        if not call or not head.isdecimal():
            raise ValueError(text)
    return names


def number_list(text: str) -> Value:
    """Whole numbers from 0, as strings, with spaces between."""
    numbers = [one for one in text.split(" ") if one]
    if any(not one.isdecimal() or str(int(one)) != one for one in numbers):
        raise ValueError(text)
    return list(numbers)


def any_text(text: str) -> Value:
    """The text itself."""
    return text


STAGES = ("scores", "scaled", "logits", "weights")
COLOURS = ("fixed", "row-max", "log")
SCALINGS = ("default", "off", "custom")
VIEWS = ("heads", "overview", "text", "lines", "stages", "compare", "flow", "generation", "head_map")
FORMS = ("text", "pair", "chat")  # of a single text; "lines" makes several
TEXT_MAPS = ("head", "mean", "rollout")
OVERVIEW_COLOURS = ("weights", *CHOICES)
KINDS = ("encoder", "decoder", "cross")
MODEL_MASKS = ("model", "none", "causal", "padding-ignored")
ABLATIONS = ("zero", "mean")
SCRATCH_MASKS = (
    "none",
    "causal",
    "padding",
    "causal+padding",
    "window",
    "causal+window",
    "chunked",
    "dilated",
    "strided",
    "global_local",
    "block_sparse",
    "prefix",
    "packed",
    "packed+causal",
)
CUSTOM_MASK = "custom"  # offered only while there is one
POSITIONS = ("none", "sinusoidal", "learned", "rotary", "alibi", "t5")
TOKEN_RULES = ("words", "characters", "spaces")
DTYPES = ("float64", "float32", "bfloat16", "float16")
SIDES = ("right", "left")

D_K = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
D_MODEL = (16, 32, 64, 128, 256, 512)
MOST_HEADS = 16
LONGEST = 512


def _one_of(numbers: tuple[int, ...]) -> Callable[[str], Value]:
    def parse(text: str) -> Value:
        if int(text) not in numbers:
            raise ValueError(text)
        return int(text)

    return parse


SETTINGS: Mapping[str, Setting] = {
    "text": Setting("", any_text),
    "source": Setting("", any_text),
    "target": Setting("", any_text),
    "lines": Setting(False, flag),
    "form": Setting("text", choice(*FORMS)),
    "second": Setting("", any_text),
    "padding_effect": Setting(False, flag),
    "side": Setting("right", choice(*SIDES)),
    "sample": Setting(0, whole(0, 63)),
    "layer": Setting(0, whole(0, 127)),
    "head": Setting(0, whole(0, 127)),
    "stage": Setting("weights", choice(*STAGES)),
    "colour": Setting("fixed", choice(*COLOURS)),
    "view": Setting("heads", choice(*VIEWS)),
    "map_measure": Setting("", choice("", *MEASURES)),
    "text_map": Setting("head", choice(*TEXT_MAPS)),
    "merge": Setting(False, flag),
    "from_token": Setting(0, whole(0, 100_000)),
    "flow_kind": Setting("auto", choice("auto", "encoder", "decoder", "cross")),
    "flow_layers": Setting(0, whole(0, 128)),
    "flow_residual": Setting(0.5, real(0.0, 1.0)),
    "flow_token": Setting(1, whole(0, 100_000)),
    "max_flow": Setting(False, flag),
    "against": Setting("neutral", choice("neutral", "kept", "text", "head", "model")),
    "kept": Setting("", any_text),
    "other_text": Setting("", any_text),
    "other_layer": Setting(0, whole(0, 127)),
    "other_head": Setting(0, whole(0, 127)),
    "other_source": Setting("", any_text),
    "new_tokens": Setting(20, whole(1, MOST_NEW)),
    "draw_temperature": Setting(0.0, real(0.0, 2.0)),
    "draw_seed": Setting(0, whole(0, 2**31 - 1)),
    "written": Setting(0, whole(0, MOST_NEW)),
    "cell_query": Setting(2, whole(0, 100_000)),
    "cell_key": Setting(1, whole(0, 100_000)),
    "overview_colour": Setting("weights", choice(*OVERVIEW_COLOURS)),
    "overview_kind": Setting("encoder", choice(*KINDS)),
    "pattern": Setting("previous", choice(*PATTERNS)),
    "pattern_least": Setting(0.0, real(0.0, 1.0)),
    "exact": Setting(False, flag),
    "scaling": Setting("default", choice(*SCALINGS), "both"),
    "factor": Setting(1.0, real(0.0, 64.0), "both"),
    "model_mask": Setting("model", choice(*MODEL_MASKS, CUSTOM_MASK), "model"),
    "window": Setting(0, whole(0, LONGEST), "model"),
    "temperature": Setting(1.0, real(0.05, 10.0), "model"),
    "softcap": Setting(0.0, real(0.0, 100.0), "model"),
    "heads_off": Setting([], head_list, "model"),
    "ablation": Setting("zero", choice(*ABLATIONS), "model"),
    "switch_layers": Setting([], number_list, "model"),
    "heads": Setting(4, whole(1, MOST_HEADS), "scratch"),
    "d_k": Setting(16, _one_of(D_K), "scratch"),
    "d_model": Setting(64, _one_of(D_MODEL), "scratch"),
    "d_v": Setting(0, whole(0, LONGEST), "scratch"),
    "kv_heads": Setting(0, whole(0, MOST_HEADS), "scratch"),
    "mask": Setting("none", choice(*SCRATCH_MASKS, CUSTOM_MASK), "scratch"),
    "mask_rows": Setting("", packed_mask),
    "mask_window": Setting(3, whole(1, LONGEST), "scratch"),
    "mask_size": Setting(4, whole(1, LONGEST), "scratch"),
    "mask_step": Setting(2, whole(1, LONGEST), "scratch"),
    "mask_stride": Setting(3, whole(1, LONGEST), "scratch"),
    "mask_global_keys": Setting(1, whole(0, LONGEST), "scratch"),
    "mask_block_size": Setting(2, whole(1, LONGEST), "scratch"),
    "mask_prefix": Setting(3, whole(0, LONGEST), "scratch"),
    "mask_count": Setting(3, whole(0, 32), "scratch"),
    "mask_side": Setting("right", choice(*SIDES), "scratch"),
    "position": Setting("none", choice(*POSITIONS), "scratch"),
    "seed": Setting(0, whole(0, 2**31 - 1), "scratch"),
    "dtype": Setting("float32", choice(*DTYPES), "scratch"),
    "tokens": Setting("words", choice(*TOKEN_RULES), "scratch"),
}


def key(name: str) -> str:
    """Widget key of a setting."""
    return PREFIX + name


def get(name: str) -> Value:
    """Value of a setting."""
    return st.session_state[key(name)]


def put(name: str, value: Value) -> None:
    """Sets a setting; before its widget is drawn, or in a callback."""
    st.session_state[key(name)] = value


def put_next(name: str, value: Value) -> None:
    """Sets a setting from the next run on, where its widget is drawn already."""
    st.session_state.setdefault(_NEXT, {})[name] = value


def restore(*, text: str, source: str, sources: Sequence[str]) -> None:
    """Fills in what is missing: from the link on the first run, from the defaults otherwise.

    Settings whose widget is not drawn this time would be forgotten by Streamlit; writing them keeps them.
    """
    if not st.session_state.get(_RESTORED):
        st.session_state[_RESTORED] = True
        st.session_state[_IGNORED] = _from_link()
        st.session_state.setdefault(key("text"), text)
        if st.session_state.setdefault(key("source"), source) not in sources:
            put("source", source)
            st.session_state[_IGNORED].append("source")
    for name, value in st.session_state.pop(_NEXT, {}).items():
        put(name, value)
    for name, setting in SETTINGS.items():
        value = st.session_state.get(key(name), setting.default)
        st.session_state[key(name)] = setting.default if value is None else value


def scratch_masks() -> tuple[str, ...]:
    """The masks to choose from; the one from the mask lab only while there is one."""
    return (*SCRATCH_MASKS, CUSTOM_MASK) if get("mask_rows") else SCRATCH_MASKS


def model_masks() -> tuple[str, ...]:
    """The masks of a pretrained model; the one from the mask lab only while there is one."""
    return (*MODEL_MASKS, CUSTOM_MASK) if get("mask_rows") else MODEL_MASKS


def ignored() -> list[str]:
    """Names of settings in the link that could not be used, until the visitor changes something."""
    return st.session_state.get(_IGNORED, [])


def keep_known(name: str, known: Sequence[str]) -> None:
    """Drops from a list what there is no such thing of; what the link brought is named among the ignored."""
    value = get(name)
    chosen = value if isinstance(value, list) else []
    put(name, [one for one in chosen if one in known])
    if get(name) != chosen and not st.session_state.get(_ARRIVED):
        st.session_state[_IGNORED].append(name)


def clamp(name: str, low: int, high: int) -> None:
    """Keeps a number inside what its widget offers now."""
    inside = min(max(int(str(get(name))), low), high)
    if inside != get(name) and not st.session_state.get(_ARRIVED):
        st.session_state[_IGNORED].append(name)
    put(name, inside)


def bounded(name: str, high: int) -> int:
    """A number, no larger than what there is to show: the picture may be of an earlier request."""
    return min(int(str(get(name))), high)


def reset(source_group: str) -> None:
    """Takes back every switch of a group."""
    for name, setting in SETTINGS.items():
        if setting.group in {"both", source_group}:
            put(name, setting.default)


def publish(*, default_text: str, default_source: str) -> bool:
    """Writes what differs from the defaults into the address bar; False when the text is too long for it."""
    defaults: dict[str, Value] = {name: setting.default for name, setting in SETTINGS.items()}
    defaults |= {"text": default_text, "source": default_source}
    too_long = {name for name in LONG_TEXTS if len(str(get(name))) > LONGEST_LINK_TEXT}
    wanted = {name: to_link(get(name)) for name in SETTINGS if get(name) != defaults[name] and name not in too_long}
    if st.session_state.get(_ARRIVED, _all()) != _all():
        st.session_state[_IGNORED] = []
    for name in SETTINGS:
        if name in wanted:
            if st.query_params.get(name) != wanted[name]:
                st.query_params[name] = wanted[name]
        elif name in st.query_params:
            del st.query_params[name]
    return not too_long


def arrived() -> None:
    """Ends the first run: what is out of range from now on did not come with the link."""
    st.session_state.setdefault(_ARRIVED, _all())


def _all() -> dict[str, Value]:
    return {name: get(name) for name in SETTINGS}


def _from_link() -> list[str]:
    bad = []
    for name, setting in SETTINGS.items():
        if name in st.query_params:
            try:
                put(name, setting.parse(st.query_params[name]))
            except (ValueError, KeyError, OverflowError):
                bad.append(name)
    for name in ("mask", "model_mask"):
        if st.session_state.get(key(name)) == CUSTOM_MASK and not st.session_state.get(key("mask_rows")):
            put(name, SETTINGS[name].default)
            bad.append(name)
    return bad


def to_link(value: Value) -> str:
    """A value as a link holds it; what ``Setting.parse`` reads."""
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, list):
        return " ".join(value)
    return f"{value:.12g}" if isinstance(value, float) else str(value)
