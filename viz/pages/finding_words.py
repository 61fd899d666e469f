"""The doctor's findings in the reader's language, put together from code and evidence."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from attention_core.doctor import Finding
from viz.services.debug import value_said
from viz.text import DEFAULT_LANGUAGE, TEXTS, language, t, template

_PHRASE = "phrase."
_TAKEN_OVER = re.compile(r"\{(\w+)\}")


def sentence(finding: Finding) -> str:
    """What was found, with its numbers."""
    if finding.code == "explained" and language() != DEFAULT_LANGUAGE:
        return _explained(finding.evidence)
    return _filled(f"sentence.{finding.code}", finding.evidence, finding.message)


def remedy(finding: Finding) -> str:
    """What to do about it; empty where nothing is to be done."""
    if not finding.remedy:
        return ""
    if finding.code == "explained" and language() != DEFAULT_LANGUAGE:
        parts = str(finding.evidence["faults"][0]).split("+")
        return t("explained.then").join(t(f"fault.{part}.fix") for part in parts)
    return _filled(f"remedy.{finding.code}", finding.evidence, finding.remedy)


def phrase(text: str) -> str:
    """Words of the doctor in the reader's language; names, numbers and formulas stay."""
    if language() == DEFAULT_LANGUAGE:
        return text
    return t("explained.join").join(_part(part) for part in text.split("; "))


def _part(text: str) -> str:
    known = _known(text)
    if known is None and ", " in text:
        parts = [_known(part) for part in text.split(", ")]
        known = t("debug.join").join(map(str, parts)) if None not in parts else None
    return text if known is None else known


def _known(text: str) -> str | None:
    for pattern, name in _patterns():
        found = pattern.fullmatch(text)
        if found is not None:
            return template(f"phrase.{name}").format(
                **{group: _part(value) for group, value in found.groupdict().items()}
            )
    return None


@lru_cache(maxsize=1)
def _patterns() -> tuple[tuple[re.Pattern[str], str], ...]:
    """The English phrases as patterns with their names, those that say most first."""
    english = {key.removeprefix(_PHRASE): text for key, (text, _) in TEXTS.items() if key.startswith(_PHRASE)}
    names = sorted(english, key=lambda name: -len(_TAKEN_OVER.sub("", english[name])))
    return tuple((re.compile(_TAKEN_OVER.sub(r"(?P<\1>.+?)", _escaped(english[name]))), name) for name in names)


def _escaped(english: str) -> str:
    """Everything but the names in braces taken literally."""
    return "".join(part if _TAKEN_OVER.fullmatch(part) else re.escape(part) for part in re.split(r"(\{\w+\})", english))


def _filled(name: str, evidence: Mapping[str, Any], otherwise: str) -> str:
    if name not in TEXTS:
        return otherwise
    values = {key: phrase(said) if isinstance(said, str) else said for key, said in value_said(evidence).items()}
    return template(name).format_map(values)


def _explained(evidence: Mapping[str, Any]) -> str:
    faults = [str(name) for name in evidence["faults"]]
    if len(faults) > 1:
        return t("explained.class", faults=t("debug.join").join(map(_title, faults)))
    title = _title(faults[0])
    parameters = evidence["parameters"].get(faults[0], {})
    if parameters:
        said = ", ".join(f"{key}={value}" for key, value in value_said(parameters).items())
        title = t("explained.fault", title=title, parameters=said)
    return t("explained.one", fault=title, what=phrase(str(evidence["what"])))


def _title(name: str) -> str:
    return t("debug.both").join(t(f"fault.{part}.title") for part in name.split("+"))
