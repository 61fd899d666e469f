"""The view of rollout and flow: rows that sum to 1, the list of origins, flow, words, batches, and two stacks."""

import re

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from attention_core import masks
from attention_core.diagnostics import attention_flow, cross_rollout, merge_words, rollout
from attention_core.pretrained import Model
from attention_core.runs import Call, CallInputs, Run, Token
from tests.pages.test_explore import SCRATCH, array, choose, figures, html, visit
from viz.services import flow as service

pytestmark = pytest.mark.usefixtures("minilm_folder")

SENTENCE = "the cat sat on the mat"


def drawn(app: AppTest, name: str = "flow") -> np.ndarray:
    return array(figures(app)[name]["data"][0]["z"])


def listed(app: AppTest) -> list[list[str]]:
    table = re.search(r'<table class="numbers origins">(.*?)</table>', html(app))
    assert table is not None
    return [re.findall(r"<bdi>(.*?)</bdi>", line) for line in re.findall(r"<tr>(.*?)</tr>", table[1])[1:]]


def layer_means(model: Model, text: str) -> list[torch.Tensor]:
    run = model.run(text)
    return [run.trace(call).weights[0].mean(0) for call in run.calls]


def test_rollout_is_the_cores_and_its_rows_sum_to_one(minilm: Model):
    app = visit(view="flow", text=SENTENCE, flow_token="3")
    assert not app.exception and not app.warning
    means = layer_means(minilm, SENTENCE)
    expected = rollout(means).numpy()
    np.testing.assert_allclose(drawn(app), expected, atol=1e-6)  # the same products, layer by layer
    np.testing.assert_allclose(drawn(app).sum(axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(drawn(app, "flow_mean"), means[-1].numpy(), atol=1e-6)
    assert any("every row of the rollout sums to 1" in caption.value for caption in app.caption)
    order = np.argsort(-expected[3], kind="stable")
    rows = listed(app)
    labels = ["[CLS]", *SENTENCE.split(), "[SEP]"]
    assert [row[0] for row in rows] == [f"{j} {labels[j]}" for j in order]
    assert [float(row[1]) for row in rows] == pytest.approx(expected[3][order].tolist(), rel=1e-3)  # four digits
    assert [float(row[2]) for row in rows] == pytest.approx(means[-1][3].numpy()[order].tolist(), rel=1e-3)


def test_layers_and_residual_and_the_link_restores_both(minilm: Model):
    app = choose(visit(view="flow", text=SENTENCE), flow_layers=2, flow_residual=0.2)
    means = layer_means(minilm, SENTENCE)[:2]
    np.testing.assert_allclose(drawn(app), rollout(means, residual=0.2).numpy(), atol=1e-6)
    np.testing.assert_allclose(drawn(app, "flow_mean"), means[1].numpy(), atol=1e-6)
    again = visit(**{name: str(value) for name, value in app.query_params.items()})
    np.testing.assert_array_equal(drawn(again), drawn(app))


def test_flow_stands_beside_the_shares(minilm: Model):
    app = visit(view="flow", text=SENTENCE, flow_token="5", max_flow="1", flow_layers="3")
    expected = attention_flow(layer_means(minilm, SENTENCE)[:3], 5)
    for name, *_, flow in listed(app):
        assert float(flow) == pytest.approx(expected[int(name.split()[0])], rel=1e-3)
    assert any("flows do not sum to 1" in caption.value for caption in app.caption)


def test_flow_says_its_limit():
    app = visit(view="flow", text="cat " * 60, max_flow="1")
    assert any("up to 16000 edges" in caption.value for caption in app.caption)
    assert all(len(row) == 3 for row in listed(app))


def test_c131_c132_whole_words_keep_row_sums(minilm: Model):
    text = "unbelievably transformative cats"
    app = visit(view="flow", text=text, merge="1")
    run = minilm.run(text)
    words = {"[CLS]": 0, "[SEP]": 4}
    groups = [words.get(token.label) if token.special else text[: token.span[0]].count(" ") + 1
              for token in run.tokens["self"][0]]  # fmt: skip
    assert len(groups) > 5
    expected = merge_words(rollout(layer_means(minilm, text)), groups).numpy()
    np.testing.assert_allclose(drawn(app), expected, atol=1e-6)
    np.testing.assert_allclose(drawn(app).sum(axis=1), 1, atol=1e-5)
    assert {row[0] for row in listed(app)} == {"0 [CLS]", "1 unbelievably", "2 transformative", "3 cats", "4 [SEP]"}


def test_of_a_batch_one_sample_is_shown(minilm: Model):
    app = visit(view="flow", lines="1", text="short\na much longer line of text", sample="0")
    run = minilm.run(["short", "a much longer line of text"])
    means = [run.trace(call).weights[0].mean(0) for call in run.calls]
    np.testing.assert_allclose(drawn(app), rollout(means).numpy(), atol=1e-6)
    assert any("sample 0 alone" in caption.value for caption in app.caption)
    assert "[PAD]" not in {row[0].split()[1] for row in listed(app)[:3]}


def test_a_row_that_reads_nothing_is_told():
    app = visit(**SCRATCH, view="flow", text="a b c", mask="causal+padding", mask_side="left", mask_count="2",
                flow_residual="0")  # fmt: skip
    assert any("2 rows hold nothing" in caption.value for caption in app.caption)
    assert not app.warning


def two_stacks(**changes) -> Run:
    """7 source tokens, 5 target tokens; two layers of each kind, random."""
    generator = torch.Generator().manual_seed(5)
    calls, inputs = [], {}
    for kind, q_len, k_len in (("encoder", 7, 7), ("decoder", 5, 5), ("cross", 5, 7)):
        for layer in range(2):
            q, k, v = (torch.randn(1, 3, n, 11, generator=generator) for n in (q_len, k_len, k_len))
            allowed = masks.causal(5) if kind == "decoder" else torch.ones(q_len, k_len, dtype=torch.bool)
            call = Call(f"{kind}.{layer}", kind, layer)
            calls.append(call)
            inputs[call.name] = CallInputs(q, k, v, allowed, scale=0.3, own_scale=0.3)
    source, target = "a b c d e f g", "v w x y z"
    tokens = {
        name: (tuple(Token(text[i], span=(i, i + 1)) for i in range(0, len(text), 2)),)
        for name, text in (("source", source), ("self", target))
    }
    parts = {"calls": tuple(calls), "inputs": inputs, "tokens": tokens, "targets": (target,)} | changes
    return Run("made up", (source,), output=torch.zeros(1, 5, 33), **parts)


def test_two_stacks_give_three_rollouts(monkeypatch):
    made = two_stacks()
    monkeypatch.setattr(service, "run", lambda request: made)
    assert service.flow_kinds(made) == ("encoder", "decoder", "cross")

    def means(kind: str) -> list[torch.Tensor]:
        return [made.trace(call).weights[0].mean(0) for call in made.calls if call.kind == kind]

    request = object()
    found = {
        kind: service.flow(request, kind, sample=0, layers=2, residual=0.4, words=False)
        for kind in ("encoder", "decoder", "cross")
    }
    np.testing.assert_allclose(found["encoder"].rollout, rollout(means("encoder"), residual=0.4), atol=1e-6)
    np.testing.assert_allclose(found["decoder"].rollout, rollout(means("decoder"), residual=0.4), atol=1e-6)
    encoder = rollout(means("encoder"), residual=0.4)
    *_, (target, source) = cross_rollout(means("decoder"), means("cross"), encoder, residual=0.4)
    cross = found["cross"]
    np.testing.assert_allclose(cross.rollout, torch.cat([source, target], 1), atol=1e-6)
    np.testing.assert_allclose(cross.rollout.sum(axis=1), 1, atol=1e-5)
    assert cross.source == 7 and cross.sums_to_one and not service.flow_fits(cross)
    assert "".join(piece.text for piece in cross.columns) == "abcdefgvwxyz"
    assert "".join(piece.text for piece in cross.rows) == "vwxyz"
    assert [piece.text for piece in found["encoder"].rows] == list("abcdefg")
    words = service.flow(request, "cross", sample=0, layers=1, residual=0.4, words=True)
    np.testing.assert_allclose(words.rollout.sum(axis=1), 1, atol=1e-5)


def test_steps_of_a_generation_are_no_layers():
    made = two_stacks()
    later = tuple(Call(f"decoder.{layer}@1", "decoder", layer, 1) for layer in range(2))
    inputs = {**made.inputs, **{call.name: made.inputs[f"cross.{call.layer}"] for call in later}}
    with_steps = two_stacks(calls=(*made.calls, *later), inputs=inputs)
    assert [call.name for call in service.stack(with_steps, "decoder")] == ["decoder.0", "decoder.1"]


def test_a_number_that_is_none_is_told(monkeypatch):
    made = two_stacks()
    broken = made.inputs["encoder.0"].query.clone()
    broken[0, 0, 3, 0] = torch.nan
    inputs = {**made.inputs, "encoder.0": CallInputs(
        broken, made.inputs["encoder.0"].key, made.inputs["encoder.0"].value, made.inputs["encoder.0"].allowed, 0.3, 0.3
    )}  # fmt: skip
    made = two_stacks(inputs=inputs)
    monkeypatch.setattr(service, "run", lambda request: made)
    found = service.flow(object(), "encoder", sample=0, layers=2, residual=0.5, words=False)
    assert not found.sums_to_one
    assert [origin.column for origin in service.origins(found, 3)] == list(range(7))
