"""Every string of the interface, in English and Chinese, behind ``t(key)``.

A key reads ``"<page>.<what>"`` and stands once, with both languages side by side, in the module of its page:

    TEXTS = {"explore.heads": ("{count} heads", "{count} 个头")}

A new page adds its module to ``_PAGES``. Option codes and state never hold a translated string, only codes and keys.
"""

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from types import MappingProxyType

from viz.text import (
    bug_zoo,
    debug,
    explore,
    explore_answer,
    explore_compare,
    explore_facts,
    explore_flow,
    explore_generation,
    explore_head,
    explore_head_map,
    explore_inputs,
    explore_messages,
    explore_overview,
    explore_stacks,
    explore_switches,
    explore_take_away,
    explore_text,
    explore_views,
    faults,
    figures,
    finding_sentences,
    findings,
    frame,
    handout,
    leaks,
    learn,
    lesson_bill,
    lesson_block,
    lesson_bugs,
    lesson_cache,
    lesson_checklist,
    lesson_cross,
    lesson_heads,
    lesson_lookup,
    lesson_masks,
    lesson_order,
    lesson_paths,
    lesson_reading,
    lesson_scaling,
    lesson_softmax,
    lesson_steps,
    mask_lab,
    train,
    worked,
)
from viz.text.catalog import filled, merged

LANGUAGES: Mapping[str, str] = MappingProxyType({"en": "English", "zh": "简体中文"})
DEFAULT_LANGUAGE = "en"

_PAGES = (
    frame,
    explore,
    explore_answer,
    explore_compare,
    explore_facts,
    explore_flow,
    explore_generation,
    explore_head,
    explore_head_map,
    explore_inputs,
    worked,
    explore_messages,
    explore_overview,
    explore_stacks,
    explore_take_away,
    explore_text,
    explore_switches,
    explore_views,
    figures,
    handout,
    mask_lab,
    bug_zoo,
    faults,
    debug,
    finding_sentences,
    findings,
    leaks,
    learn,
    lesson_checklist,
    lesson_bugs,
    lesson_bill,
    lesson_cache,
    lesson_block,
    lesson_cross,
    lesson_heads,
    lesson_order,
    lesson_paths,
    lesson_reading,
    lesson_lookup,
    lesson_masks,
    lesson_scaling,
    lesson_softmax,
    lesson_steps,
    train,
)
TEXTS: Mapping[str, tuple[str, str]] = MappingProxyType(merged({page.__name__: page.TEXTS for page in _PAGES}))

_COLUMN = {code: column for column, code in enumerate(LANGUAGES)}
_chosen: ContextVar[str | None] = ContextVar("headscope_language", default=None)
_source: Callable[[], str | None] = lambda: None


def t(key: str, /, **values: object) -> str:
    """The text of ``key`` in the current language, with its placeholders filled in.

    Args:
        key: a key of TEXTS.
        **values: one for each ``{placeholder}`` of the text; format specifications are allowed in the text, and
            ``{tokens:token|tokens}`` is the first word for 1, the second for any other number.

    Raises:
        KeyError: if there is no such key, or a placeholder got no value.
    """
    return filled(template(key), values)


def template(key: str, /) -> str:
    """The text of ``key`` in the current language with its placeholders as they stand, for who fills them in later.

    Raises:
        KeyError: if there is no such key.
    """
    try:
        return TEXTS[key][_COLUMN[language()]]
    except KeyError:
        raise KeyError(f"text keys stand in viz/text: got {key!r}; add it there in both languages") from None


def language() -> str:
    """Code of the current language: the one given to ``use_language``, else what the source says, else English."""
    code = _chosen.get() or _source()
    return code if code is not None and code in LANGUAGES else DEFAULT_LANGUAGE


def use_language(code: str | None) -> None:
    """Sets the language of this context (thread or task) alone; None leaves it to the source again.

    Raises:
        ValueError: if there is no such language.
    """
    if code is not None and code not in LANGUAGES:
        raise ValueError(f"language must be one of {list(LANGUAGES)}: got {code!r}")
    _chosen.set(code)


def follow_language(source: Callable[[], str | None]) -> None:
    """Asks ``source`` for the language wherever none was set.

    The page frame names the visitor's session here, once, so that callbacks and fragments, which run without the
    frame, speak the language of their own visitor.
    """
    global _source
    _source = source


def language_of_locale(locale: str | None) -> str | None:
    """Code of the language for a browser locale such as ``zh-CN`` or ``en_GB``; None where there is none.

    >>> [language_of_locale(locale) for locale in ("zh-Hant-TW", "en_GB", "fr", None)]
    ['zh', 'en', None, None]
    """
    code = (locale or "").replace("_", "-").split("-")[0].lower()
    return code if code in LANGUAGES else None
