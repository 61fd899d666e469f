"""What the train page remembers: one value per control, kept over reruns and in the link; the run, in the session."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st

from attention_core.training import TASKS
from viz.pages.explore_state import Setting, choice, flag, to_link, whole
from viz.services.head_map import visitor_is_here
from viz.services.training import Busy, Training
from viz.services.training_views import POSITIONS, config_of, pair

PREFIX = "train_"
D_K = (0, 4, 8, 16, 32, 64, 128, 256)  # 0: d_model / heads
RATES = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 1.0, 100.0)
_RESTORED = PREFIX + "restored"
_IGNORED = PREFIX + "ignored"
_SHOWN = PREFIX + "run"
_BUSY = PREFIX + "busy"


def _width(text: str) -> int:
    if int(text) not in D_K:
        raise ValueError(text)
    return int(text)


def _rate(text: str) -> float:
    if float(text) not in RATES:
        raise ValueError(text)
    return float(text)


SETTINGS: Mapping[str, Setting] = {
    "task": Setting("copy", choice(*TASKS)),
    "layers": Setting(2, whole(1, 4)),
    "heads": Setting(4, whole(1, 8)),
    "d_k": Setting(0, _width),
    "position": Setting("learned", choice(*POSITIONS)),
    "scaling": Setting(True, flag),
    "seed": Setting(0, whole(0, 2**31 - 1)),
    "rate": Setting(0.003, _rate),
    "forgotten": Setting(False, flag),
}


@dataclass(frozen=True, eq=False)
class Shown:
    """The run on the page; ``preset`` is the code of a comparison, "" for a run of one model."""

    run: Training
    preset: str


def key(name: str) -> str:
    """Widget key of a setting."""
    return PREFIX + name


KEPT = tuple(key(name) for name in SETTINGS)  # keys that outlive a visit to another page


def get(name: str) -> Any:
    """Value of a setting."""
    return st.session_state[key(name)]


def restore() -> None:
    """Fills in what is missing: from the link on the first run, from the defaults otherwise."""
    if not st.session_state.get(_RESTORED):
        st.session_state[_RESTORED] = True
        st.session_state[_IGNORED] = _from_link()
    for name, setting in SETTINGS.items():
        value = st.session_state.get(key(name), setting.default)
        st.session_state[key(name)] = setting.default if value is None else value


def ignored() -> list[str]:
    """Names of settings in the link that could not be used."""
    return st.session_state.get(_IGNORED, [])


def publish() -> None:
    """Writes what differs from the defaults into the address bar."""
    for name, setting in SETTINGS.items():
        if get(name) != setting.default:
            st.query_params[name] = to_link(get(name))
        elif name in st.query_params:
            del st.query_params[name]


def shown() -> Shown:
    """The run on the page. At first and when settings change where none was started, a model before its training."""
    found: Shown | None = st.session_state.get(_SHOWN)
    if found is None or (found.run.step == 0 and not found.preset and found.run.state == "paused"):
        config = _config()
        if found is None or found.run.lanes[0].config != config:
            found = st.session_state[_SHOWN] = Shown(Training(config, wanted=visitor_is_here()), "")
    return found


def begin(preset: str) -> None:
    """Starts a new run, with the settings of the page or of a comparison, in the place of the one that is shown."""
    earlier: Shown | None = st.session_state.get(_SHOWN)
    if earlier is not None:
        earlier.run.stop()
        earlier.run.join()
    configs = pair(preset, get("seed")) if preset else (_config(),)
    made = Shown(Training(*configs, wanted=visitor_is_here()), preset)
    st.session_state[_SHOWN] = made
    if preset:
        st.session_state[key("task")] = configs[0].task
    go_on()


def go_on() -> None:
    """Starts the run that is shown, or goes on with it; where all places are taken, the page says so."""
    try:
        st.session_state[_SHOWN].run.start()
        st.session_state[_BUSY] = False
    except Busy:
        st.session_state[_BUSY] = True


def is_busy() -> bool:
    """True where the last start found all places taken."""
    return st.session_state.get(_BUSY, False)


def _config():
    return config_of(
        get("task"), layers=get("layers"), heads=get("heads"), d_k=get("d_k"), position=get("position"),
        scaling=get("scaling"), seed=get("seed"), rate=get("rate"), forgotten=get("forgotten"),
    )  # fmt: skip


def _from_link() -> list[str]:
    bad = []
    for name, setting in SETTINGS.items():
        if name in st.query_params:
            try:
                st.session_state[key(name)] = setting.parse(st.query_params[name])
            except (ValueError, KeyError, OverflowError):
                bad.append(name)
    return bad
