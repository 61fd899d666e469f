"""Probabilities, surprise and divergence of answers: by hand, against torch's own functions, at the borders."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional
from torch.testing import assert_close

from attention_core.pretrained import answers
from attention_core.runs import Token

BATCH, LENGTH, WIDTH, WORDS = 2, 5, 7, 11
REAL = torch.tensor([[True, True, True, False, False], [False, True, True, True, True]])  # padded right, padded left


def states(seed: int) -> Tensor:
    return torch.randn(BATCH, LENGTH, WIDTH, generator=torch.Generator().manual_seed(seed))


def head(hidden: Tensor) -> Tensor:
    matrix = torch.randn(WIDTH, WORDS, generator=torch.Generator().manual_seed(3))
    return hidden @ matrix


IDS = torch.randint(0, WORDS, (BATCH, LENGTH), generator=torch.Generator().manual_seed(5))


def test_kl_by_hand_has_a_direction() -> None:
    first, second = torch.tensor([0.5, 0.5]).log(), torch.tensor([0.25, 0.75]).log()
    # 0.5 log(0.5 / 0.25) + 0.5 log(0.5 / 0.75) = 0.5 log(4 / 3); the other way 0.25 log 0.5 + 0.75 log 1.5
    wants = (0.5 * math.log(4 / 3), 0.25 * math.log(0.5) + 0.75 * math.log(1.5))
    found = (answers.kl_divergence(first, second), answers.kl_divergence(second, first))
    assert [one.item() for one in found] == pytest.approx(wants, abs=1e-7)  # the logarithms came in float32


def test_kl_of_impossible_words() -> None:
    never = torch.tensor([0.0, 0.5, 0.5]).log()
    ever = torch.tensor([0.5, 0.25, 0.25]).log()
    assert answers.kl_divergence(never, never).item() == 0.0  # 0 log 0 = 0, not NaN
    assert answers.kl_divergence(never, ever).item() == pytest.approx(math.log(2), abs=1e-7)  # float32 logarithms
    assert answers.kl_divergence(ever, never).item() == math.inf


def test_kl_agrees_with_torch() -> None:
    before, after = (answers.log_probabilities(head(states(seed))) for seed in (1, 2))
    want = functional.kl_div(after, before, reduction="none", log_target=True).sum(-1)
    assert_close(answers.kl_divergence(before, after), want, atol=1e-12, rtol=0)  # float64 sums of 11 terms
    assert (want > 0.1).all()


def test_a_small_divergence_over_a_large_vocabulary_is_not_lost() -> None:
    """A logit of 1 word in 150 001 moved by d: KL = log(1 + p (e^d - 1)) - p d, here about 1e-9."""
    logits = 30 * torch.randn(150_001, generator=torch.Generator().manual_seed(1))
    place = int(logits.topk(2).indices[1])
    moved = logits.clone()
    moved[place] += 2**-10
    before, after = answers.log_probabilities(logits), answers.log_probabilities(moved)
    share, step = before[place].exp().item(), float(moved[place].double() - logits[place].double())
    want = math.log1p(share * math.expm1(step)) - share * step
    assert 1e-12 < want < 1e-6
    assert answers.kl_divergence(before, after).item() == pytest.approx(want, rel=1e-3)  # of sums in float64
    assert answers.kl_divergence(before, before).item() == 0.0


def test_log_probabilities_of_extreme_logits() -> None:
    logits = torch.tensor([[3e38, -3e38, 0.0], [-torch.inf, 0.0, 0.0], [88.0, 89.0, 1000.0]])
    found = answers.log_probabilities(logits)
    assert found.dtype == torch.float64
    assert not found.isnan().any()
    assert_close(found.exp().sum(-1), torch.ones(3, dtype=torch.float64), atol=1e-15, rtol=0)
    assert found[1, 0] == -torch.inf
    assert found[1, 1].item() == pytest.approx(-math.log(2), abs=1e-15)


def test_top_tokens_in_order_and_ties_by_id() -> None:
    values = torch.tensor([0.1, 0.4, 0.1, 0.4, -torch.inf])
    assert answers.top_tokens(values, 3).tolist() == [1, 3, 0]
    assert answers.top_tokens(values, 9).tolist() == [1, 3, 0, 2, 4]  # no more than there are
    with pytest.raises(ValueError, match="count must be at least 1: got 0"):
        answers.top_tokens(values, 0)


def test_which_tokens_are_predicted() -> None:
    want = torch.tensor([[False, True, True, False, False], [False, False, True, True, True]])
    assert torch.equal(answers.predicted(REAL), want)
    assert answers.last_positions(REAL).tolist() == [2, 4]
    assert not answers.predicted(torch.tensor([[True]])).any()


@pytest.mark.parametrize("chunk", [1, 2 * WORDS, 2**22])
def test_nll_agrees_with_cross_entropy_in_chunks_of_any_size(monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    monkeypatch.setattr(answers, "CHUNK_ELEMENTS", chunk)
    hidden = states(1)
    found = answers.token_nll(head, hidden, IDS, REAL)
    want = torch.full((BATCH, LENGTH), torch.nan, dtype=torch.float64)
    each = functional.cross_entropy(head(hidden)[:, :-1].transpose(1, 2), IDS[:, 1:], reduction="none").double()
    kept = answers.predicted(REAL)
    want[kept] = torch.nn.functional.pad(each, (1, 0))[kept]
    assert_close(found, want, atol=1e-5, rtol=0, equal_nan=True)  # torch's is float32, logits up to about 10
    expected = torch.stack([row[~row.isnan()].mean().exp() for row in want])
    assert_close(answers.perplexity(found), expected, atol=0, rtol=1e-4)  # exp of a mean that is off by 1e-5


def test_perplexity_by_hand() -> None:
    nll = torch.tensor([[math.nan, math.log(2.0), math.log(8.0)], [math.nan, math.nan, math.nan]])
    found = answers.perplexity(nll)
    assert found[0].item() == pytest.approx(4.0, rel=1e-6)  # float32 logarithms of 2 and 8
    assert found[1].isnan()  # nothing was predicted: no perplexity, not 1
    uniform = answers.token_nll(lambda hidden: torch.zeros(*hidden.shape[:2], WORDS), states(1), IDS, REAL)
    assert_close(answers.perplexity(uniform), torch.full((2,), 11.0, dtype=torch.float64), atol=0, rtol=1e-12)


def test_nothing_of_a_whole_text_is_formed_at_once() -> None:
    sizes: list[int] = []

    def wide(hidden: Tensor) -> Tensor:
        sizes.append(hidden.shape[0] * hidden.shape[1])
        return torch.zeros(*hidden.shape[:2], 49_152)

    hidden = torch.zeros(1, 200, WIDTH)
    ids, real = torch.zeros(1, 200, dtype=torch.int64), torch.ones(1, 200, dtype=torch.bool)
    answers.token_nll(wide, hidden, ids, real)
    assert sum(sizes) == 199
    assert max(sizes) <= answers.CHUNK_ELEMENTS / 49_152


def test_kl_by_position_skips_padding() -> None:
    before, after = states(1), states(2)
    found = answers.position_kl(head, before, after, REAL)
    assert torch.equal(found.isnan(), ~REAL)
    want = answers.kl_divergence(answers.log_probabilities(head(before)), answers.log_probabilities(head(after)))
    # the same products in matrices of another height: float32 roundings of logits of size 10
    assert_close(found[REAL], want[REAL], atol=1e-5, rtol=1e-5)
    before[~REAL] = torch.nan  # what stands at padding is never read
    assert torch.equal(answers.position_kl(head, before, after, REAL)[REAL], found[REAL])
    with pytest.raises(ValueError, match=r"of one shape: got \(2, 5, 7\) and \(2, 4, 7\)"):
        answers.position_kl(head, before, after[:, :4], REAL)


@pytest.mark.parametrize("chunk", [1, 3 * WORDS, 2**22])
def test_the_change_of_a_text_is_made_of_its_parts(monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    monkeypatch.setattr(answers, "CHUNK_ELEMENTS", chunk)
    before, after = states(1), states(2)
    found = answers.text_change(head, before, after, IDS, REAL)
    close: Any = {"atol": 1e-5, "rtol": 1e-5, "equal_nan": True}  # float32 roundings in matrices of another height
    assert_close(found.nll_before, answers.token_nll(head, before, IDS, REAL), **close)
    assert_close(found.nll_after, answers.token_nll(head, after, IDS, REAL), **close)
    assert_close(found.kl, answers.position_kl(head, before, after, REAL), **close)
    with pytest.raises(ValueError, match="of one shape"):
        answers.text_change(head, before[:1], after, IDS, REAL)


def test_cosines_by_hand() -> None:
    first = torch.tensor([[3.0, 4.0], [1.0, 0.0], [0.0, 0.0]])
    second = torch.tensor([[4.0, 3.0], [0.0, 2.0], [1.0, 1.0]])
    want = torch.tensor([0.96, 0.0, math.nan], dtype=torch.float64)
    assert_close(answers.cosines(first, second), want, atol=1e-15, rtol=0, equal_nan=True)


def test_mask_tokens_are_found_by_their_id() -> None:
    tokens = [Token("a", id=4), Token("[MASK]", id=3), Token("[MASK]"), Token("[MASK]", id=3)]
    assert answers.masked_positions(tokens, 3) == [1, 3]
    assert answers.masked_positions(tokens, None) == []
