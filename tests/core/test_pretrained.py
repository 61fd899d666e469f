"""MiniLM with our attention inside: the model itself, and eight callers at once who never meet."""

import copy
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.testing import assert_close

from attention_core.pretrained import Model, Switches, comparing, load, processors
from attention_core.pretrained import running as running_module
from attention_core.pretrained.backend import IMPLEMENTATION, Recording, recording
from attention_core.runs import Run

SENTENCE = "The animal didn't cross the street because it was too tired."
PAIR = [SENTENCE, "Deposit it at the bank."]


@pytest.fixture(scope="module")
def eager(minilm_folder: Path) -> Any:
    """transformers' own model with its own tokenizer, loaded by a path that shares nothing with ours."""
    from transformers import AutoModel, AutoTokenizer

    model = AutoModel.from_pretrained(minilm_folder, attn_implementation="eager", dtype=torch.float32).eval()
    return model, AutoTokenizer.from_pretrained(minilm_folder)


@pytest.mark.model
@pytest.mark.parametrize(
    ("texts", "side"), [([SENTENCE], "right"), (PAIR, "right"), (PAIR, "left")], ids=["one", "right", "left"]
)
def test_neutral_minilm_is_transformers_eager(minilm: Model, eager: Any, texts: list[str], side: Any) -> None:
    reference, tokenizer = eager
    tokenizer.padding_side = side
    encoded = tokenizer(texts, padding=True, return_tensors="pt")
    real = encoded["attention_mask"].bool()
    # left padding: positions counted over real tokens, as in `test_padding_leaves_minilm_alone`
    positions = (encoded["attention_mask"].cumsum(-1) - 1).clamp(min=0)
    with torch.inference_mode():
        theirs = reference(
            input_ids=encoded["input_ids"], attention_mask=encoded["attention_mask"], position_ids=positions,
            output_attentions=True,
        )  # fmt: skip
    run = minilm.run(texts, padding_side=side)
    assert [[t.id for t in sample] for sample in run.tokens["self"]] == encoded["input_ids"].tolist()
    assert [[not t.padding for t in sample] for sample in run.tokens["self"]] == real.tolist()
    assert [c.name for c in run.calls] == [f"encoder.{i}" for i in range(6)]
    rows = ~real[:, None, :, None]
    for call, weights in zip(run.calls, theirs.attentions, strict=True):
        ours = run.trace(call).weights
        assert ours is not None
        assert ours.shape == (len(texts), 12, real.shape[1], real.shape[1])
        # the accepted bounds: float32 roundings through six layers
        assert_close(ours.masked_fill(rows, 0), weights.masked_fill(rows, 0), atol=1e-5, rtol=0)
    assert_close(run.output[real], theirs.last_hidden_state[real], atol=1e-4, rtol=0)
    assert run.agreement is not None
    assert run.agreement.reference == "transformers eager"
    assert (run.agreement.weights_tolerance, run.agreement.output_tolerance) == (1e-5, 1e-4)
    assert run.agreement.passed
    # sentence embedding: mean over real tokens, unit length
    mean = (theirs.last_hidden_state * real[..., None]).sum(1) / real.sum(1, keepdim=True)
    assert run.answer is not None and run.answer.kind == "embedding"
    expected = mean / mean.norm(dim=-1, keepdim=True)
    assert_close(run.answer.values, expected, atol=1e-5, rtol=0)  # 384 roundings of numbers near 0.05


@pytest.mark.model
@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_leaves_minilm_alone(minilm: Model, eager: Any, side: Any) -> None:
    """The short text of a batch comes out as the library computes it on its own, without padding and positions."""
    reference, tokenizer = eager
    with torch.inference_mode():
        alone = reference(**tokenizer(PAIR[1], return_tensors="pt")).last_hidden_state[0]
    run = minilm.run(PAIR, padding_side=side)
    real = torch.tensor([not t.padding for t in run.tokens["self"][1]])
    assert not real.all()
    assert_close(run.output[1][real], alone, atol=1e-4, rtol=0)  # the accepted bound for outputs


@pytest.mark.model
def test_what_is_shown_is_what_was_computed(minilm: Model) -> None:
    """Recomputed weights are bit for bit those that the forward pass used."""
    batch = minilm.read(PAIR)
    module = copy.deepcopy(minilm._module)  # asking for attentions makes transformers leave hooks on a module
    record = Recording(Switches(scaling=False, mask="causal", temperature=3.0), batch.real)
    with torch.inference_mode(), recording(record):
        seen = module(**minilm._inputs(batch), output_attentions=True).attentions
    for given, weights in zip(record.inputs.values(), seen, strict=True):
        recomputed = given.trace(keep=("weights",)).weights
        assert recomputed is not None
        assert torch.equal(recomputed, weights)
        assert not given.query.is_inference() and not given.query.requires_grad


@pytest.mark.model
def test_nearby_meanings_are_near(minilm: Model) -> None:
    answer = minilm.run(["A cat sleeps.", "A kitten is sleeping.", "The stock market fell."], agreement=False).answer
    assert answer is not None
    similar, different = (answer.values[0] @ answer.values[i] for i in (1, 2))
    assert similar > 0.6 > 0.3 > different
    assert_close(answer.values.norm(dim=-1), torch.ones(3), atol=1e-6, rtol=0)  # float32 rounding


@pytest.mark.model
def test_agreement_reports_a_difference(minilm: Model) -> None:
    """A check that cannot fail says nothing: with a temperature in the reference's place, it does fail."""
    batch = minilm.read(SENTENCE)
    reference = minilm._forward(minilm._twin, minilm._inputs(batch), None, output_attentions=True)
    wrong = minilm.run(SENTENCE, switches=Switches(temperature=1.001, layers=frozenset({3})), agreement=False)
    found = comparing.compare(wrong.inputs, wrong.output, reference.attentions, reference.last_hidden_state, batch.real)
    assert not found.passed
    assert found.weights["encoder.2"] <= 1e-5 < found.weights["encoder.3"]
    broken = torch.full_like(wrong.output, float("nan"))
    assert not comparing.compare(
        minilm.run(SENTENCE).inputs, broken, reference.attentions, reference.last_hidden_state, batch.real
    ).passed
    with pytest.raises(ValueError, match="one reference map per attention call: got 5 for 6 calls"):
        comparing.compare(wrong.inputs, wrong.output, reference.attentions[:5], wrong.output, batch.real)


@pytest.mark.model
def test_agreement_is_of_the_neutral_run_and_made_once(minilm: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    minilm._agreements.clear()
    made: list[int] = []
    compare = comparing.compare
    monkeypatch.setattr(comparing, "compare", lambda *a: made.append(1) or compare(*a))
    switched = minilm.run(SENTENCE, switches=Switches(scaling=False))
    neutral = minilm.run(SENTENCE)
    assert switched.agreement is not None and switched.agreement is neutral.agreement
    assert switched.agreement.passed
    assert made == [1]
    assert minilm.run(PAIR, padding_side="left").agreement is not minilm.run(PAIR).agreement
    assert made == [1, 1, 1]
    assert minilm.run(SENTENCE, agreement=False).agreement is None
    for i in range(70):
        minilm._agreement((i,), minilm.read("a"), minilm._inputs(minilm.read("a")), None)
    assert len(minilm._agreements) == 64


@pytest.mark.model
def test_the_twin_shares_every_weight_and_runs_eager(minilm: Model) -> None:
    ours, theirs = dict(minilm._module.named_parameters()), dict(minilm._twin.named_parameters())
    assert list(ours) == list(theirs)
    assert all(ours[name] is theirs[name] for name in ours)
    assert not any(p.requires_grad for p in ours.values())
    assert not minilm._module.training and not minilm._twin.training
    assert minilm._module.config._attn_implementation == IMPLEMENTATION
    assert minilm._twin.config._attn_implementation == "eager"


@pytest.mark.model
def test_without_a_recording_the_module_is_the_model(minilm: Model, eager: Any) -> None:
    reference, tokenizer = eager
    encoded = tokenizer(PAIR, padding=True, return_tensors="pt")
    real = encoded["attention_mask"].bool()
    with torch.inference_mode():
        have = minilm._module(**encoded).last_hidden_state
        want = reference(**encoded).last_hidden_state
    assert_close(have[real], want[real], atol=1e-4, rtol=0)  # the accepted bound for outputs


@pytest.mark.model
def test_load_gives_the_same_object(minilm: Model) -> None:
    assert load("all-MiniLM-L6-v2") is minilm
    assert load("ALL-minilm-l6-V2") is minilm
    assert load("sentence-transformers/all-MiniLM-L6-v2") is minilm
    assert (minilm.kind, minilm.limit, minilm.width, minilm.parameters) == ("encoder", 512, 384, 22_713_216)
    assert minilm.entry is not None
    assert minilm.entry.parameters == minilm.parameters
    assert (minilm.entry.layers, minilm.entry.heads) == (len(minilm.calls), minilm.heads["encoder.0"])


# ---------------------------------------------------------------------------------------------------------------------
# many callers, one model

SETTINGS = [
    Switches(),
    Switches(scaling=False),
    Switches(mask="causal"),
    Switches(mask="none", temperature=2.0),
    Switches(window=3),
    Switches(softcap=1.5),
    Switches(scale_factor=1.7, layers=frozenset({1, 4})),
    Switches(heads_off=frozenset({("encoder.0", 3), ("encoder.5", 11)})),
]


@pytest.fixture
def hurried_threads() -> Iterator[None]:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval)


def everything(run: Run) -> list[torch.Tensor]:
    assert run.answer is not None
    found = [run.output, run.answer.values]
    for call in run.calls:
        trace = run.trace(call)
        assert trace.weights is not None and trace.logits is not None
        found += [trace.weights, trace.logits, trace.output]
    return found


@pytest.mark.model
@pytest.mark.usefixtures("hurried_threads")
def test_eight_threads_with_eight_settings_on_one_model(minilm: Model) -> None:
    text = ["The cat sat on the mat because it was warm.", "Short one."]
    expected = [everything(minilm.run(text, switches=s)) for s in SETTINGS]
    for i in range(8):
        for j in range(i):
            assert not torch.equal(expected[i][0], expected[j][0]), (i, j)  # else mixing two would not show
    random_state = torch.get_rng_state()
    barrier = threading.Barrier(8)
    wrong: list[tuple[int, int, int]] = []
    done: list[int] = []

    def visit(which: int) -> None:
        barrier.wait()
        for turn in range(5):
            found = everything(minilm.run(text, switches=SETTINGS[which], agreement=turn % 2 == 0))
            wrong.extend(
                (which, turn, k)
                for k, (a, b) in enumerate(zip(found, expected[which], strict=True))
                if not torch.equal(a, b)
            )
            done.append(which)

    visitors = [threading.Thread(target=visit, args=(i,)) for i in range(8)]
    for visitor in visitors:
        visitor.start()
    for visitor in visitors:
        visitor.join()
    assert len(done) == 40
    assert wrong == []
    assert torch.equal(torch.get_rng_state(), random_state)
    assert minilm._module.config._attn_implementation == IMPLEMENTATION
    assert not any(m._forward_hooks or m._forward_pre_hooks or m._backward_hooks for m in minilm._module.modules())


@pytest.mark.model
def test_forwards_are_bounded_and_a_full_house_says_so(minilm: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    full = threading.BoundedSemaphore(1)
    monkeypatch.setattr(processors, "_free", full)
    monkeypatch.setattr(processors, "WAIT_SECONDS", 0.05)
    with full, pytest.raises(running_module.BusyError, match=r"needs a free processor: .* try again in a moment"):
        minilm.run("hello", agreement=False)
    wrong: Any = {"input_ids": "not ids"}
    with pytest.raises(AttributeError):
        minilm._forward(minilm._module, wrong, None)
    assert minilm.run("hello", agreement=False).calls  # a failed forward gives its place back


# ---------------------------------------------------------------------------------------------------------------------
# for tests that change its inputs


@pytest.mark.model
@pytest.mark.parametrize("implementation", ["eager", "sdpa"])
def test_a_network_is_a_copy_with_the_same_weights_under_the_implementation_asked_for(minilm, implementation):
    network, batch = minilm.network(implementation), minilm.read(["Rain fell on it.", "No"])
    assert network.config._attn_implementation == implementation and not network.training
    other = minilm.network("eager")
    assert network is not other and network.config is not other.config
    assert next(network.parameters()).data_ptr() == next(other.parameters()).data_ptr()
    with torch.no_grad():
        found = network(input_ids=batch.ids, attention_mask=batch.real.long()).last_hidden_state
    ours = minilm.outputs(batch.ids, batch.real)
    # another order of sums in the fast kernels
    assert_close(found[batch.real], ours[batch.real], atol=1e-5, rtol=1e-4)


@pytest.mark.model
def test_outputs_of_ids_are_those_of_a_run_on_the_text(minilm):
    texts = ["Rain fell on it.", "No"]
    switches = Switches(mask="causal", temperature=1.5)
    for side in ("left", "right"):
        batch = minilm.read(texts, padding_side=side)
        made = minilm.run(texts, padding_side=side, switches=switches, agreement=False)
        assert_close(minilm.outputs(batch.ids, batch.real, switches=switches), made.output, atol=0, rtol=0)
    alone = minilm.read(texts[0])
    run = minilm.run(texts[0], agreement=False)
    assert_close(minilm.outputs(alone.ids), run.output, atol=0, rtol=0)
    with pytest.raises(ValueError, match="heads_off takes heads 0 to 11"):
        minilm.outputs(alone.ids, switches=Switches(heads_off=frozenset({("encoder.0", 12)})))
