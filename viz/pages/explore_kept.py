"""A state of the explore page kept as one text, so that it can stand in a link and be compared with later."""

import json

from viz.pages.explore_state import SETTINGS, Value, get, put, to_link

_OF_THE_COMPARISON = ("kept", "against", "other_text", "other_layer", "other_head", "other_source", "view")


def keep() -> None:
    """Keeps the present state."""
    put("kept", packed({name: get(name) for name in SETTINGS}))


def forget() -> None:
    """Keeps nothing any more."""
    put("kept", "")


def packed(values: dict[str, Value]) -> str:
    """What differs from the defaults, as JSON; text and source in any case."""
    wanted = {
        name: to_link(values[name])
        for name, setting in SETTINGS.items()
        if name not in _OF_THE_COMPARISON and (values[name] != setting.default or name in ("text", "source"))
    }
    return json.dumps(wanted, ensure_ascii=False)


def unpacked(text: str) -> dict[str, Value]:
    """Every setting of a kept state.

    Raises:
        ValueError: if the text is none.
    """
    found = json.loads(text)
    if not isinstance(found, dict) or not {"text", "source"} <= set(found) <= set(SETTINGS):
        raise ValueError(f"a kept state holds settings with text and source: got {text[:40]!r}")
    values = {name: setting.default for name, setting in SETTINGS.items()}
    try:
        return values | {name: SETTINGS[name].parse(str(value)) for name, value in found.items()}
    except (KeyError, OverflowError) as error:
        raise ValueError(f"a kept state holds values that the settings take: got {error}") from error
