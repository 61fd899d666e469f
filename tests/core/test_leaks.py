"""The leak test on small models written here, whose leaks are known cell by cell."""

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attention_core import masks
from attention_core.diagnostics import reach
from attention_core.leaks import LeakReport, leak_test

BATCH, LENGTH, WIDTH, VOCABULARY = 2, 7, 11, 23
METHODS = pytest.mark.parametrize("method", ["change", "gradient"])
Mask = Callable[[Tensor], Tensor]  # (batch, len, width) -> allowed


def seeded(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def token_ids(batch: int = BATCH, length: int = LENGTH) -> Tensor:
    return torch.randint(0, VOCABULARY, (batch, length), generator=torch.Generator().manual_seed(1))


class Layer(nn.Module):
    """One head with a residual connection; ``mask`` says what it may read."""

    def __init__(self, mask: Mask, *, seed: int = 2):
        super().__init__()
        self.mask = mask
        self.qkv = nn.Parameter(seeded(WIDTH, 3 * WIDTH, seed=seed) / WIDTH**0.5)

    def forward(self, x: Tensor) -> Tensor:
        query, key, value = (x @ self.qkv).chunk(3, dim=-1)
        return x + F.scaled_dot_product_attention(query, key, value, attn_mask=self.mask(x))


class Tiny(nn.Module):
    """Embedding, layers, and dropout that must be off."""

    def __init__(self, *layers: nn.Module, dropout: float = 0.0):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        with torch.no_grad():
            self.embedding.weight.copy_(seeded(VOCABULARY, WIDTH, seed=3))
        self.layers = nn.Sequential(*layers)
        self.dropout = nn.Dropout(dropout)

    def forward(self, ids: Tensor) -> Tensor:
        return self.dropout(self.layers(self.embedding(ids)))


def fixed(allowed: Tensor) -> Mask:
    return lambda x: allowed


CAUSAL = masks.causal(LENGTH)
ONE_LATE = masks.causal(LENGTH, offset=1)


def codes(report: LeakReport) -> list[str]:
    return [finding.code for finding in report.findings]


# ---------------------------------------------------------------------------------------------------------------------
# which outputs move


@METHODS
def test_a_causal_model_moves_exactly_the_allowed_cells(method):
    report = leak_test(Tiny(Layer(fixed(CAUSAL)), Layer(fixed(CAUSAL), seed=4)), token_ids(), method=method)
    assert report.passed and report.findings == ()
    assert report.moved.equal(CAUSAL.expand(BATCH, -1, -1))
    assert report.change[:, ~CAUSAL].equal(torch.zeros(BATCH, int((~CAUSAL).sum())))
    assert report.message.startswith("no leak: 7 inputs") and "56 cells moved" in report.message
    assert report.matrix.shape == (LENGTH, LENGTH) and report.matrix.equal(report.change.amax(0))


@METHODS
def test_one_key_too_late_is_found_cell_by_cell(method):
    report = leak_test(Tiny(Layer(fixed(ONE_LATE))), token_ids(), method=method)
    assert not report.passed and codes(report) == ["future-visible"]
    assert report.leaks.equal((ONE_LATE & ~CAUSAL).expand(BATCH, -1, -1))
    finding = report.findings[0]
    assert finding.count == 2 * 6
    assert finding.cells == tuple((b, i, i + 1) for b in range(2) for i in range(6))


def test_the_sentence_for_one_input():
    def forward(x: Tensor) -> Tensor:
        allowed = CAUSAL.clone()
        allowed[:3, 3] = True
        return allowed.float() @ x  # a plain sum of what is read

    x = torch.zeros(1, LENGTH, 1)
    report = leak_test(forward, x)
    moved = float(report.change[0, 1, 3])
    said = f"changing input 3 moved outputs 0-2 (largest {moved:.2g} at 0): future tokens are visible"
    assert report.findings[0].message == said
    assert report.change[0, :3, 3].equal(torch.full((3,), moved)) and moved > 0


def test_the_sentence_for_many_inputs_and_by_gradient():
    full = Tiny(Layer(fixed(torch.ones(LENGTH, LENGTH, dtype=torch.bool))))
    report = leak_test(full, token_ids())
    output, source = divmod(int(torch.where(CAUSAL, -1.0, report.matrix).argmax()), LENGTH)
    message = report.message
    assert "changing input 1 moved output 0 (largest" in message
    assert "input 3 moved outputs 0-2 (largest" in message and "input 4 moved" not in message
    assert "and 3 more inputs likewise (21 cells in all" in message and "in samples 0-1" in message
    assert f"input {source} on output {output})" in message
    message = leak_test(full, token_ids(1), method="gradient").message
    assert "output 0 depends on input 1 by gradient (largest" in message
    assert "outputs 0-2 depend on input 3 by gradient" in message and "samples" not in message


def test_both_methods_agree_on_a_random_mask():
    generator = torch.Generator().manual_seed(5)
    allowed = (torch.rand(LENGTH, LENGTH, generator=generator) < 0.4) | torch.eye(LENGTH).bool()
    model = Tiny(Layer(fixed(allowed)))
    changed, derived = (leak_test(model, token_ids(), allowed=allowed, method=m) for m in ("change", "gradient"))
    assert changed.passed and derived.passed
    assert changed.moved.equal(allowed.expand(BATCH, -1, -1)) and derived.moved.equal(changed.moved)
    assert not leak_test(model, token_ids()).passed


@METHODS
def test_floats_need_no_embedding(method):
    x = seeded(BATCH, LENGTH, WIDTH, seed=6)
    good = leak_test(Layer(fixed(CAUSAL)), x, method=method)
    assert good.passed and good.moved.equal(CAUSAL.expand(BATCH, -1, -1))
    bad = leak_test(Layer(fixed(ONE_LATE)), x, method=method)
    assert bad.leaks.equal((ONE_LATE & ~CAUSAL).expand(BATCH, -1, -1))


def test_the_change_is_the_difference_of_two_runs():
    model = Layer(fixed(CAUSAL))
    x = torch.zeros(1, LENGTH, WIDTH)
    seen = []

    def forward(given: Tensor) -> Tensor:
        seen.append(given)
        return model(given)

    report = leak_test(forward, x, positions=[4])
    changed = seen[-1]  # one position, one copy
    assert changed.shape == (1, LENGTH, WIDTH) and changed[0, [0, 1, 2, 3, 5, 6]].count_nonzero() == 0
    with torch.no_grad():
        expected = (model(changed) - model(x)).abs().amax(-1)
    torch.testing.assert_close(report.change[..., 4], expected)  # the same float32 sums
    assert report.tested.tolist() == [j == 4 for j in range(LENGTH)]
    untested = [0, 1, 2, 3, 5, 6]
    assert report.change[..., untested].isnan().all() and not report.moved[..., untested].any()


# ---------------------------------------------------------------------------------------------------------------------
# documents, padding, samples


DOCUMENTS = torch.tensor([[0, 0, 0, 1, 1, 1, 1], [0, 0, 0, 0, 0, 2, 2]])


@METHODS
def test_packed_documents(method):
    packed = masks.packed(DOCUMENTS)[:, 0] & CAUSAL

    def mask_of_batch(x: Tensor) -> Tensor:  # works for stacked copies of the batch
        return packed.repeat(x.shape[0] // BATCH, 1, 1)

    model = Tiny(Layer(mask_of_batch))
    good = leak_test(model, token_ids(), document_ids=DOCUMENTS, method=method)
    assert good.passed and good.moved.equal(packed)
    bad = leak_test(Tiny(Layer(fixed(CAUSAL))), token_ids(), document_ids=DOCUMENTS, method=method)
    assert codes(bad) == ["document-visible"] and bad.leaks.equal(CAUSAL & ~packed)
    assert "packed documents read each other; add a block-diagonal mask" in bad.message
    both = leak_test(Tiny(Layer(fixed(ONE_LATE))), token_ids(), document_ids=DOCUMENTS, method=method)
    assert codes(both) == ["future-visible", "document-visible"]
    assert [f.count for f in both.findings] == [12, int((CAUSAL & ~packed).sum())]


class Padded(nn.Module):
    """Tiny with an attention mask; positions count from the first real token, or from the left end."""

    def __init__(self, *, hides: bool = True, counts_padding: bool = False):
        super().__init__()
        self.tiny = Tiny(Layer(self.allowed))
        self.hides, self.counts_padding = hides, counts_padding

    def allowed(self, x: Tensor) -> Tensor:
        allowed = masks.causal(x.shape[1]).expand(x.shape[0], -1, -1)
        if self.hides:
            allowed = allowed & self.real[:, None, :] | torch.eye(x.shape[1]).bool()
        return allowed

    def forward(self, ids: Tensor, attention_mask: Tensor) -> Tensor:
        self.real = attention_mask.bool()
        places = torch.arange(ids.shape[1]) if self.counts_padding else masks.position_ids(attention_mask)
        x = self.tiny.embedding(ids) + torch.sin(places[..., None] * torch.arange(WIDTH))
        return self.tiny.layers(x)


@METHODS
@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_that_is_hidden_moves_nothing(method, side):
    report = leak_test(Padded(), token_ids(), lengths=[4, 7], side=side, method=method)
    assert report.passed and report.findings == ()
    real = masks.padding([4, 7], LENGTH, side=side)[:, 0, 0]
    assert report.judged.equal(real)
    assert (report.moved & real[:, :, None]).equal(CAUSAL & real[:, None, :] & real[:, :, None])


@METHODS
def test_left_padding_that_is_read(method):
    report = leak_test(Padded(hides=False), token_ids(), lengths=[4, 7], side="left", method=method)
    assert codes(report) == ["padding-visible", "padding-shifts"]
    expected = torch.zeros(BATCH, LENGTH, LENGTH, dtype=torch.bool)
    expected[0, 3:, :3] = True
    assert report.leaks.equal(expected) and report.findings[0].count == 12
    assert "in sample 0: padding is read" in report.message


def test_right_padding_is_out_of_sight_of_a_causal_model_but_not_of_a_full_one():
    assert leak_test(Padded(hides=False), token_ids(), lengths=[4, 7]).passed
    full = leak_test(Tiny(Layer(lambda x: None)), token_ids(), lengths=[4, 7], expect="full")  # type: ignore[arg-type, return-value]
    assert codes(full) == ["padding-visible", "padding-shifts"]
    assert full.leaks[0, :4, 4:].all() and int(full.leaks.sum()) == 12


def test_positions_counted_from_the_padding_show_beside_the_sample_alone():
    mask = torch.tensor([[0, 0, 0, 1, 1, 1, 1], [1] * 7])
    report = leak_test(Padded(counts_padding=True), token_ids(), attention_mask=mask)
    assert codes(report) == ["padding-shifts"] and not report.leaks.any()
    assert "real outputs of sample 0: without padding sample 0 differs by up to" in report.message
    assert "at outputs 3-6; if no padded input is read, positions" in report.message
    assert leak_test(Padded(), token_ids(), attention_mask=mask).passed


def test_padding_that_cannot_be_compared_says_so_and_is_no_error():
    model = Tiny(Layer(fixed(CAUSAL)))  # knows length 7 only
    report = leak_test(model, token_ids(), lengths=[4, 7])
    assert report.passed and codes(report) == ["padding-not-compared"]
    assert "sample 0 alone raised RuntimeError" in report.message


@METHODS
def test_samples_that_read_each_other_are_told_from_the_future(method):
    def forward(x: Tensor) -> Tensor:
        y = CAUSAL.float() @ x
        return torch.stack([y[0], y[1] + y[0]])  # two samples, no more: runs one copy at a time

    report = leak_test(forward, seeded(BATCH, LENGTH, 3), method=method)
    assert codes(report) == ["samples-mixed"]
    assert report.crossed.tolist() == [[False, True], [False, False]]
    assert report.message.startswith("changing sample 0 moved sample 1: samples of one batch read each other")
    assert report.moved.equal(CAUSAL.expand(BATCH, -1, -1))


def test_a_function_written_for_its_own_batch_runs_one_copy_at_a_time():
    x = seeded(BATCH, LENGTH, 3)
    stacked = leak_test(lambda x: CAUSAL.float() @ x, x)
    single = leak_test(lambda x: (CAUSAL.float() @ x).reshape(BATCH, LENGTH, 3), x)
    assert single.change.equal(stacked.change) and single.passed
    assert stacked.passes == 6 and single.passes > LENGTH + BATCH


def test_a_batch_axis_that_folds_wrongly_under_stacking_is_not_blamed_on_the_model():
    def forward(x: Tensor) -> Tensor:  # right for two samples; more of them change the answer
        return CAUSAL.float() @ x * x.shape[0]

    assert leak_test(forward, seeded(BATCH, LENGTH, 3)).passed


# ---------------------------------------------------------------------------------------------------------------------
# what it leaves behind, and what it refuses


@METHODS
def test_flags_random_states_gradients_and_hooks_are_as_before(method):
    model = Tiny(Layer(fixed(CAUSAL)), dropout=0.5)
    model.train()
    model.layers[0].eval()
    before = torch.get_rng_state(), random.getstate(), str(np.random.get_state())
    assert leak_test(model, token_ids(), method=method).passed
    assert model.training and model.dropout.training and not model.layers[0].training
    after = torch.get_rng_state(), random.getstate(), str(np.random.get_state())
    assert before[0].equal(after[0]) and before[1:] == after[1:]
    assert all(p.grad is None for p in model.parameters()) and not model.embedding._forward_hooks


def test_a_bound_method_speaks_for_its_module():
    model = Tiny(Layer(fixed(CAUSAL)), dropout=0.5)
    assert leak_test(model.forward, token_ids()).passed and model.training


def test_dropout_that_stays_on_is_an_error_and_leaves_the_random_state():
    model = Tiny(Layer(fixed(CAUSAL)), dropout=0.5)
    before = torch.get_rng_state()
    with pytest.raises(ValueError, match=r"two equal runs must give equal outputs: got a difference of .*dropout"):
        leak_test(lambda ids: model(ids), token_ids(), vocabulary=VOCABULARY)
    assert before.equal(torch.get_rng_state())


def test_noise_is_measured_and_is_not_a_leak():
    generator = torch.Generator().manual_seed(7)

    def forward(x: Tensor) -> Tensor:
        y = CAUSAL.float() @ x
        return y + 1e-5 * torch.rand(y.shape, generator=generator)

    report = leak_test(forward, 1 + seeded(BATCH, LENGTH, 5))
    assert report.passed and 1e-6 < report.noise < 2e-5
    assert float(report.tolerance.min()) > 4e-6


def test_a_weak_leak_is_no_noise():
    weak = torch.where(CAUSAL, 1.0, 1e-4)
    report = leak_test(lambda x: weak @ x, seeded(BATCH, LENGTH, 5))
    assert report.leaks.equal((~CAUSAL).expand(BATCH, -1, -1))
    assert leak_test(lambda x: weak @ x, seeded(BATCH, LENGTH, 5), tolerance=1e-2).passed


def test_nan_outputs_are_named():
    def forward(x: Tensor) -> Tensor:
        y = CAUSAL.float() @ x
        return y.index_fill(1, torch.tensor([0, 1]), torch.nan)

    report = leak_test(forward, seeded(BATCH, LENGTH, 5))
    assert codes(report) == ["not-finite"] and not report.moved[:, :2].any()
    assert "outputs 0-1 of samples 0-1 hold NaN before anything is changed" in report.message
    assert report.moved[:, 2:].equal(CAUSAL[2:].expand(BATCH, -1, -1))


def test_a_gradient_of_nan_is_no_leak():
    def forward(x: Tensor) -> Tensor:  # padding that reads nothing is NaN, and spoils every gradient
        allowed = CAUSAL & (torch.arange(LENGTH) >= 2)
        y = (x @ x.mT).masked_fill(~allowed, -torch.inf).softmax(-1) @ x
        return torch.cat([x[:, :2], y[:, 2:]], dim=1)

    options = {"lengths": [5, 5], "side": "left"}
    assert leak_test(forward, seeded(BATCH, LENGTH, 5), **options).findings[-1].code == "padding-not-compared"
    report = leak_test(forward, seeded(BATCH, LENGTH, 5), method="gradient", **options)
    assert codes(report) == ["not-finite", "padding-not-compared"] and not report.moved.any()
    assert "the gradient of outputs 2-6 holds NaN" in report.message and 'use method="change"' in report.message


@METHODS
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_weak_leak_in_half_precision_is_found(method, dtype):
    weak = torch.where(CAUSAL, 1.0, 0.02).to(dtype)
    x = torch.rand(BATCH, LENGTH, 5, generator=torch.Generator().manual_seed(9)).to(dtype)
    report = leak_test(lambda x: weak @ x, x, method=method)
    assert report.leaks[:, :2, -1].all() and not report.noise  # 2 % of an input, far below 16 roundings of bfloat16


@METHODS
def test_ids_may_be_flattened_on_the_way(method):
    class Flat(Tiny):
        def forward(self, ids: Tensor) -> Tensor:
            return self.layers(self.embedding(ids.flatten()).view(*ids.shape, WIDTH))

    report = leak_test(Flat(Layer(fixed(ONE_LATE))), token_ids(), method=method)
    assert report.leaks.equal((ONE_LATE & ~CAUSAL).expand(BATCH, -1, -1))
    assert int(report.moved.sum()) == BATCH * (28 + 6)


def test_an_output_that_turns_nan_has_moved():
    x = torch.ones(1, LENGTH, 1)

    def forward(x: Tensor) -> Tensor:  # the last input reaches output 0 as NaN alone
        y = CAUSAL.float() @ x
        y[:, 0] = torch.where(x[:, -1] == 1, y[:, 0], torch.nan)
        return y

    report = leak_test(forward, x)
    assert report.leaks.nonzero().tolist() == [[0, 0, 6]] and report.change[0, 0, 6] == torch.inf
    assert "(largest NaN or infinite at 0)" in report.message


@METHODS
def test_nothing_moved_proves_nothing(method):
    report = leak_test(lambda x: 0 * x, seeded(BATCH, LENGTH, 5), method=method)
    assert codes(report) == ["nothing-moved"] and not report.passed
    assert "no output moved under any of 7 changed inputs: the test proves nothing" in report.message


def test_replacement_ids_are_others_and_spare_the_special_ones():
    class Config:
        pad_token_id, bos_token_id, eos_token_id = 0, 1, [2, 3]

    seen: list[Tensor] = []
    model = Tiny(Layer(lambda x: masks.causal(x.shape[1])))
    model.config = Config()  # type: ignore[assignment]
    model.register_forward_hook(lambda module, given, output: seen.append(given[0]))
    ids = token_ids(1, 43)
    assert leak_test(model, ids).passed
    copies = seen[-1]
    different = copies != ids
    assert different.equal(torch.eye(43).bool())
    assert not torch.isin(copies[different], torch.tensor([0, 1, 2, 3])).any() and int(copies.max()) < VOCABULARY


@pytest.mark.parametrize(
    ("result", "shape"),
    [
        (lambda y: [y, "more"], None),
        (lambda y: {"logits": y}, None),
        (lambda y: type("Output", (), {"last_hidden_state": y, "other": 1})(), None),
        (lambda y: type("Output", (), {"logits": None, "last_hidden_state": y})(), None),
        (lambda y: y[..., 0], (BATCH, LENGTH, 1)),
    ],
)
def test_many_kinds_of_results_are_read(result, shape):
    report = leak_test(lambda x: result(CAUSAL.float() @ x), seeded(BATCH, LENGTH, 5))
    assert report.passed and report.output.shape == (shape or (BATCH, LENGTH, 5))


def test_a_part_of_the_result_can_be_picked():
    def forward(x: Tensor) -> dict[str, Tensor]:
        return {"a": CAUSAL.float() @ x, "b": ONE_LATE.float() @ x}

    assert leak_test(forward, seeded(BATCH, LENGTH, 5), read=lambda r: r["a"]).passed
    assert not leak_test(forward, seeded(BATCH, LENGTH, 5), read=lambda r: r["b"]).passed


def test_fewer_outputs_than_inputs_are_the_last_ones():
    report = leak_test(lambda x: (CAUSAL.float() @ x)[:, -3:], seeded(BATCH, LENGTH, 5))
    assert report.passed and report.moved.equal(CAUSAL[-3:].expand(BATCH, -1, -1))
    report = leak_test(lambda x: (ONE_LATE.float() @ x)[:, -3:], seeded(BATCH, LENGTH, 5))
    assert report.leaks.nonzero().tolist() == [[b, i, i + 5] for b in range(2) for i in range(2)]


def test_masks_of_four_axes_and_of_each_sample():
    generator = torch.Generator().manual_seed(8)
    heads = torch.rand(BATCH, 3, LENGTH, LENGTH, generator=generator) < 0.2
    union = heads.any(1)
    report = leak_test(
        lambda x: (union.float() @ x.view(-1, *x.shape[-3:])).view_as(x), seeded(BATCH, LENGTH, 5), allowed=heads
    )
    assert report.allowed.equal(union) and report.passed and report.moved.equal(union)


def test_windows_widen_with_each_layer():
    window = masks.sliding_window(LENGTH, left=1, right=0)
    model = Tiny(*(Layer(fixed(window), seed=seed) for seed in (4, 5)))
    two = reach(window, 2)
    report = leak_test(model, token_ids(), allowed=two)
    assert report.passed and report.moved.equal(two.expand(BATCH, -1, -1))
    narrow = leak_test(model, token_ids(), allowed=window)
    assert codes(narrow) == ["forbidden-visible"] and narrow.leaks.equal((two & ~window).expand(BATCH, -1, -1))


X = seeded(BATCH, LENGTH, 5)


@pytest.mark.parametrize(
    ("inputs", "options", "error", "match"),
    [
        ([[1, 2]], {}, TypeError, "inputs must be a tensor: got list"),
        (torch.ones(5).long(), {}, ValueError, r"inputs must be \(batch, len\) ids .* got shape \(5,\)"),
        (torch.ones(0, 5), {}, ValueError, r"not empty: got shape \(0, 5\)"),
        (torch.ones(2, 3, 4).long(), {}, ValueError, r"token ids must be \(batch, len\): got shape \(2, 3, 4\)"),
        (X > 0, {}, TypeError, "token ids or floats: got torch.bool"),
        (X, {"expect": "casual"}, ValueError, r"expect must be \"causal\" or \"full\": got 'casual'"),
        (X, {"method": "nan"}, ValueError, r"method must be \"change\" or \"gradient\": got 'nan'"),
        (X, {"expect": "full", "allowed": CAUSAL}, ValueError, "the intent must be stated once"),
        (X, {"allowed": CAUSAL.float()}, TypeError, "allowed"),
        (X, {"allowed": CAUSAL[:5]}, ValueError, r"allowed must broadcast to .* \(2, 7, 7\).*got \(5, 7\)"),
        (X, {"positions": [7]}, ValueError, r"positions must be inputs from 0 to 6, at least one: got \[7\]"),
        (X, {"positions": []}, ValueError, "at least one"),
        (X, {"lengths": [3]}, ValueError, "need one length per sample: got 1 lengths for a batch of 2"),
        (X, {"attention_mask": torch.ones(2, 5)}, ValueError, r"attention_mask must be \(batch, len\) = \(2, 7\)"),
        (X, {"document_ids": torch.zeros(2, 5).long()}, ValueError, r"document_ids must be .* \(2, 7\): got \(2, 5\)"),
        (
            X,
            {"lengths": [4, 7], "attention_mask": torch.ones(2, 7).long()},
            ValueError,
            "padding must be stated once: got lengths and an attention_mask that differ",
        ),
        (
            X,
            {"attention_mask": torch.ones(2, 7).long(), "keywords": {"attention_mask": 1}},
            ValueError,
            "attention_mask must be given once",
        ),
        (torch.ones(2, 7).long(), {}, ValueError, "another token id: got 1 usable; pass vocabulary="),
        (token_ids(), {"method": "gradient"}, ValueError, "needs float inputs, or a module that embeds"),
        (X, {"read": lambda r: r.detach(), "method": "gradient"}, ValueError, "needs outputs with a gradient"),
        (X, {"read": lambda r: "text"}, TypeError, "the output must be a tensor: got str"),
        (X, {"read": lambda r: r.transpose(0, 1)}, ValueError, r"batch 2: got shape \(7, 2, 5\)"),
        (X, {"read": lambda r: torch.cat([r, r], 1)}, ValueError, "got 14 outputs for 7 inputs; state allowed="),
    ],
)
def test_wrong_questions(inputs: Any, options: dict[str, Any], error: type[Exception], match: str):
    with pytest.raises(error, match=match):
        leak_test(lambda x: x + 0.0, inputs, **options)
