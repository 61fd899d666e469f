"""The overview's numbers and thumbnails are those of each head alone, whatever the budget of memory."""

import threading
import time

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from attention_core.diagnostics import effective_keys, head_patterns, pattern_cells, saturation, token_roles, top_weight
from attention_core.from_scratch import MaskChoice, ScratchConfig
from attention_core.pretrained import Model, Switches
from viz.services import call_parts
from viz.services import overview as service
from viz.services.attention import ModelRequest, ScratchRequest, run
from viz.services.kept import Kept
from viz.services.views import part_of, view

TEXT = "un do it, un do it. the cat sat on the mat"
CAUSAL = ScratchRequest(TEXT, ScratchConfig(num_heads=6, num_kv_heads=2, d_model=48, d_k=8, mask=MaskChoice("causal")))


def test_numbers_are_those_of_the_whole_call(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(call_parts, "WORK_BYTES", 1)  # one head at a time
    made = run(CAUSAL)
    shown = service._make(CAUSAL, "decoder" if made.calls[0].kind == "decoder" else "encoder", 0, 0, None)
    for row, call in enumerate(shown.calls):
        trace = made.trace(call)
        weights, allowed = trace.weights, trace.allowed
        assert weights is not None
        np.testing.assert_array_equal(shown.weights[row], weights[0].numpy())
        cells = pattern_cells([token_roles(made.key_tokens(call)[0])], allowed=allowed)
        expected = head_patterns(weights, cells)
        for name in service.PATTERNS:
            found, chance = (torch.tensor(table[name][row]).float() for table in (shown.numbers, shown.chance))
            assert_close(found, expected.scores[name][0], equal_nan=True)
            assert_close(chance, expected.chance[name][0], equal_nan=True)
        numbers = {
            "top_weight": top_weight(weights, allowed=allowed).nanmean(-1),
            "saturation": saturation(weights, allowed=allowed),
            "effective_keys": effective_keys(weights, allowed=allowed).nanmean(-1),
        }
        places = torch.arange(weights.shape[-1])
        numbers["distance"] = (weights * (places - places[:, None]).abs()).sum(-1).mean(-1)
        for name, tensor in numbers.items():
            assert_close(torch.tensor(shown.numbers[name][row]).float(), tensor[0], equal_nan=True)
    assert shown.leaks.sum() == 0 and not shown.broken.any() and not shown.off.any()
    assert shown.forbidden[0].shape[1:] == weights.shape[-2:] and shown.forbidden[0][0, 0, 1]


def test_long_texts_are_pooled_to_the_largest_of_each_block(minilm: Model):
    request = ModelRequest(minilm.name, ("the cat sat on the mat and " * 20,))
    shown = service.overview(request, "encoder", 0)
    tokens = len(shown.query_tokens)
    block = -(-tokens // service.THUMBNAIL)
    assert tokens > 100 and shown.block == (block, block)
    weights = view(request, "encoder.3", 0).weights
    for row in (0, 1, shown.weights[3].shape[1] - 1):
        part = weights[:, row * block : (row + 1) * block, block : 2 * block]
        np.testing.assert_array_equal(shown.weights[3][:, row, 1], part.max(axis=(1, 2)))


def test_a_leak_is_counted_per_head_and_a_head_that_is_off_is_named(minilm: Model):
    switches = Switches(mask="padding-ignored", heads_off=frozenset({("encoder.1", 3)}))
    request = ModelRequest(minilm.name, ("the cat", "the cat sat on the old mat"), switches=switches)
    shown = service.overview(request, "encoder", 0)
    padded = sum(token.padding for token in shown.key_tokens)
    assert padded == 5  # the, cat against seven tokens of the other
    # every query, padded ones too, now reads the padded keys, in every head
    assert (shown.leaks == padded * len(shown.query_tokens)).all()
    assert np.argwhere(shown.off).tolist() == [[1, 3]]
    assert (service.overview(request, "encoder", 1).leaks == 0).all()
    assert service.padding(shown.key_tokens, 1).tolist() == [token.padding for token in shown.key_tokens]
    assert service.padding(shown.key_tokens, 3).tolist() == [False, False, True]


def test_ranked_heads_come_highest_first_and_without_those_that_have_no_number():
    shown = service.overview(CAUSAL, service.kinds(run(CAUSAL))[0], 0)
    found = service.ranked(shown, "previous")
    values = shown.numbers["previous"]
    assert [one.value for one in found] == sorted(values[~np.isnan(values)].tolist(), reverse=True)
    assert all(values[one.row, one.head] == one.value for one in found)
    least = float(np.nanmedian(values))
    assert len(service.ranked(shown, "previous", at_least=least)) == int((values >= least).sum())
    assert (service.below(shown, "previous", least) == ~(values >= least)).all()
    assert service.ranked(shown, "next") == []  # nothing lies ahead under a causal mask
    assert service.below(shown, "next", 0.1).all()
    assert len(service.ranked(shown, "previous", most=2)) == 2


def test_the_strongest_patterns_are_those_furthest_above_chance():
    shown = service.overview(CAUSAL, service.kinds(run(CAUSAL))[0], 0)
    for head in range(6):
        found = service.strongest(shown, 0, head)
        assert all(score > chance for _, score, chance in found)
        lifts = [score - chance for _, score, chance in found]
        assert lifts == sorted(lifts, reverse=True)
        every = {
            name: shown.numbers[name][0, head] - shown.chance[name][0, head]
            for name in service.PATTERNS
            if name != "uniform"
        }
        best = max((lift for lift in every.values() if lift > 0), default=None)
        assert (lifts[0] if lifts else None) == (None if best is None else pytest.approx(best))


def test_progress_counts_layers_and_a_second_visitor_computes_nothing(minilm: Model):
    request = ModelRequest(minilm.name, ("a text that nobody else reads",))
    seen: list[tuple[int, int]] = []
    first = service.overview(request, "encoder", 0, progress=lambda done, count: seen.append((done, count)))
    assert seen == [(i, 6) for i in range(6)]
    assert service.overview(request, "encoder", 0, progress=lambda *_: pytest.fail("computed again")) is first
    assert not first.weights[0].flags.writeable and not first.leaks.flags.writeable


def test_what_is_not_there_is_refused(minilm: Model):
    with pytest.raises(ValueError, match=r"kind 'cross' at step 0: this run has \('encoder',\)"):
        service.overview(ModelRequest(minilm.name, ("a",)), "cross", 0)
    with pytest.raises(ValueError, match="calls are of the kinds"):
        service.kind_of("sideways")


def test_a_part_of_a_view_keeps_its_numbers_and_places(minilm: Model):
    whole = view(ModelRequest(minilm.name, ("the cat sat on the mat and the dog",)), "encoder.2", 0)
    part = part_of(whole, 4, 5)
    assert (part.first_query, part.last_query, part.first_key, part.last_key) == (4, 8, 4, 8)
    np.testing.assert_array_equal(part.weights, whole.weights[:, 4:9, 4:9])
    np.testing.assert_array_equal(part.allowed, whole.allowed[:, 4:9, 4:9])
    assert part.query_tokens == whole.query_tokens[4:9]
    assert part_of(whole, 99, 5).first_query == len(whole.query_tokens) - 5  # never past the end
    assert part_of(whole, 99, 99).first_query == 0


def test_kept_forgets_the_longest_unused_first_and_holds_to_its_bytes():
    kept: Kept[bytes] = Kept(most=3, most_bytes=10, size=len)
    assert kept.get("a", lambda: b"1234") == b"1234"
    kept.get("b", lambda: b"1234")
    assert kept.get("a", lambda: pytest.fail("made again")) == b"1234"
    kept.get("c", lambda: b"1234")  # 12 bytes: "b" goes, "a" was used since
    assert ("a" in kept, "b" in kept, "c" in kept, kept.held) == (True, False, True, 8)
    kept.get("d", lambda: b"x" * 99)  # the newest is always kept
    assert len(kept) == 1 and kept.held == 99
    for name in "efgh":
        kept.get(name, lambda: b"")
    assert len(kept) == 3
    kept.clear()
    assert len(kept) == 0


def test_kept_makes_one_result_for_all_who_ask_at_once_and_another_try_after_a_failure():
    kept: Kept[list[int]] = Kept(most=3, most_bytes=10, size=len)
    made: list[int] = []

    def make() -> list[int]:
        made.append(1)
        time.sleep(0.05)
        return made

    found: list[object] = []
    threads = [threading.Thread(target=lambda: found.append(kept.get("a", make))) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1 and all(one is made for one in found)
    with pytest.raises(ZeroDivisionError):
        kept.get("b", lambda: [1 // 0])
    assert kept.get("b", lambda: [2]) == [2]
