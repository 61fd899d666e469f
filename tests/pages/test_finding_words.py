"""The doctor in two languages: the English sentences are its own, the Chinese ones leave no English behind."""

import re
from collections.abc import Iterator

import pytest
import torch

from attention_core import masks, scaled_dot_product_attention
from attention_core.doctor import MESSAGES, Finding, diagnose
from attention_core.doctor.report import Report
from attention_core.faults import CATALOGUE
from viz.pages import finding_words
from viz.services import bug_zoo
from viz.services.debug import Wish, examine
from viz.services.debug_examples import EXAMPLES, example
from viz.services.debug_files import cases
from viz.text import TEXTS, use_language

ENGLISH = re.compile(r"[A-Za-z][a-z'’]+(?: [a-z'’]+){2,}")  # three words in a row
ANIMAL = "The animal did not cross the street because it was too tired."


@pytest.fixture
def chinese() -> Iterator[None]:
    use_language("zh")
    yield
    use_language(None)


def weights_of(allowed: torch.Tensor, **more: object) -> torch.Tensor:
    generator = torch.Generator().manual_seed(3)
    query, key = (torch.randn(2, 3, 7, 8, generator=generator) for _ in range(2))
    weights = scaled_dot_product_attention(query, key, key, allowed=allowed).weights
    assert weights is not None
    return weights


def reports() -> Iterator[Report]:
    for fault in CATALOGUE:
        yield bug_zoo.verdict(fault, ANIMAL, 0)
    for name in EXAMPLES:
        arrays, wish = example(name)
        yield examine(cases(arrays, {}, {}).cases[0], wish or Wish()).report
    causal, everything = masks.causal(7), torch.ones(7, 7, dtype=torch.bool)
    padded = masks.padding([7, 5], 7)
    full = weights_of(everything)
    for meant in ("causal", "window=3", "chunk=3", "prefix=2", "bidirectional"):
        yield diagnose(weights=full, expect=meant)
    yield diagnose(weights=weights_of(causal), expect="bidirectional")
    yield diagnose(weights=weights_of(~causal | torch.eye(7).bool()), expect="causal")
    yield diagnose(weights=full, lengths=torch.tensor([7, 5]), expect="causal padding=right")
    yield diagnose(weights=full, document_ids=torch.tensor([0, 0, 0, 1, 1, 1, 1]), expect="causal packed")
    yield diagnose(weights=full * 1.2)
    yield diagnose(weights=full.mean(1, keepdim=True).expand(2, 3, 7, 7))
    yield diagnose(weights=torch.ones(2, 3, 7, 7), expect="causal")
    yield diagnose(weights=full.masked_fill(~causal, 0.0), expect="causal")
    yield diagnose(weights=torch.softmax(weights_of(causal), -1), expect="causal")
    yield diagnose(weights=weights_of(padded), raw_mask=padded, allowed=padded)
    yield diagnose(weights=weights_of(causal), raw_mask=causal.float(), expect="causal")
    yield diagnose(weights=weights_of(causal), raw_mask=causal.long(), expect="causal")
    yield diagnose(weights=weights_of(causal), raw_mask=~causal, expect="causal")
    yield diagnose(weights=full, raw_mask=(~causal).float() * -5, expect="causal")
    yield diagnose(weights=full, raw_mask=torch.zeros(7, 7).masked_fill(~causal, float("nan")), expect="causal")
    mixed = torch.zeros(7, 7).masked_fill(~causal, -torch.inf)
    mixed[3] = torch.finfo(torch.float32).min
    yield diagnose(weights=weights_of(causal), raw_mask=mixed, expect="causal")
    broken = full.clone()
    broken[0, 0, 2] = torch.nan
    broken[0, 1, 3, 1] = -0.5
    yield diagnose(weights=broken, expect="causal")
    yield diagnose(weights=full, tokens=["a"] * 5)
    yield diagnose(weights=full, tokens=["a", "[MASK]", "c", "d", "e", "f", "g"])
    yield diagnose(weights=full, dropout_p=0.1, expect="bidirectional")
    empty = causal.clone()
    empty[2] = False
    yield diagnose(weights=torch.full((1, 1, 7, 7), 1 / 7), allowed=empty)


def findings() -> list[Finding]:
    return [finding for report in reports() for finding in report.findings]


def test_every_code_has_a_sentence_and_the_remedy_of_the_core_in_both_languages():
    for code, message in MESSAGES.items():
        english, chinese = TEXTS[f"sentence.{code}"]
        assert english == message.text and (chinese != english or code == "explained"), code
        assert (f"remedy.{code}" in TEXTS) == bool(message.remedy), code
        if message.remedy:
            assert TEXTS[f"remedy.{code}"][0] == message.remedy
    stems = {name.split(".", 1)[1] for name in TEXTS if name.startswith(("sentence.", "remedy."))}
    assert stems == set(MESSAGES)


def test_in_english_a_finding_reads_as_the_core_says_it():
    seen = findings()
    assert len({finding.code for finding in seen}) >= 30
    for finding in seen:
        assert finding_words.sentence(finding) == finding.message
        assert finding_words.remedy(finding) == finding.remedy


def test_in_chinese_no_english_sentence_is_left(chinese):
    for finding in findings():
        fix = finding_words.remedy(finding)
        if finding.code == "explained":  # what the catalogue writes, often code alone
            parts = finding.evidence["faults"][0].split("+")
            assert fix == "；然后 ".join(TEXTS[f"fault.{part}.fix"][1] for part in parts)
            fix = ""
        for said in (finding_words.sentence(finding), fix):
            assert not ENGLISH.search(said), f"{finding.code}: {said}"
        assert re.search("[一-鿿]", finding_words.sentence(finding)), finding.code  # a remedy may be code alone


def test_numbers_of_the_evidence_stand_in_the_chinese_sentence(chinese):
    [finding] = [f for f in diagnose(weights=weights_of(torch.ones(7, 7).bool()), expect="causal").findings
                 if f.code == "future-visible"]  # fmt: skip
    said = finding_words.sentence(finding)
    assert "未来的键 1-6" in said and "行 0-5" in said and f"{finding.evidence['cells']} 个单元格" in said


def test_intents_checks_and_reasons_are_words_of_the_reader(chinese):
    assert finding_words.phrase("causal, window=3, right padding") == "因果、窗口=3、右侧填充"
    assert (
        finding_words.phrase("rows 0-2 read document 1; documents [0-2],[3-6]") == "行 0-2 读取文档 1；文档 [0-2],[3-6]"
    )
    left = set()
    for report in reports():
        for text in (report.intent, *(c.name for c in report.checks), *(c.reason for c in report.checks)):
            if ENGLISH.search(finding_words.phrase(text)):
                left.add(text)
    assert left == set()
