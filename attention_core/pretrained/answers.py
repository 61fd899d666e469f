"""What a model says, in numbers that can be compared: probabilities, surprise, and how far two answers lie apart.

Log-probabilities and everything made of them are float64, from logits as the model gave them: a divergence is a small
difference of large terms, and float32 leaves nothing of it over a vocabulary of 150 000 words. Logits of a whole text
(2048 tokens x 49152 words are 400 MB) are never formed at once: ``head`` is called on as many positions as
``CHUNK_ELEMENTS`` allows.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from attention_core.runs import Token

Head = Callable[[Tensor], Tensor]
"""Final hidden states (batch, len, d_model) to logits (batch, len, vocabulary), as ``Model.head``."""

CHUNK_ELEMENTS = 2**22  # logits formed at once: 16 MB in float32, 34 MB once they are float64
_PROBE = 1  # positions of the first call of a head, which tells how large its vocabulary is


def log_probabilities(logits: Tensor) -> Tensor:
    """Logarithms of the probabilities that logits stand for.

    Args:
        logits: (..., vocabulary), any float dtype; -inf where a word is impossible.

    Returns:
        (..., vocabulary) float64, nats.
    """
    return torch.log_softmax(logits.double(), dim=-1)


def kl_divergence(before: Tensor, after: Tensor) -> Tensor:
    """KL(before || after): what it costs to expect ``after`` where ``before`` is right.

    Args:
        before: (..., vocabulary) float, log-probabilities in nats, of ``log_probabilities``.
        after: likewise.

    Returns:
        (...) float64, nats, never below 0; inf where something possible before is impossible after. It is not
        symmetric: the order of the arguments is the direction.

    Source:
        Kullback and Leibler 1951, with 0 log 0 = 0.
    """
    before, after = before.double(), after.double()
    terms = torch.where(before == -torch.inf, 0.0, before.exp() * (before - after))
    return terms.sum(dim=-1).clamp(min=0.0)


def top_tokens(log_probs: Tensor, count: int = 10) -> Tensor:
    """Ids of the likeliest words, the likeliest first; equal ones in the order of their ids.

    Args:
        log_probs: (..., vocabulary) float.
        count: how many, at most the whole vocabulary.

    Returns:
        (..., count) int64.
    """
    if count < 1:
        raise ValueError(f"count must be at least 1: got {count}")
    ordered = log_probs.sort(dim=-1, descending=True, stable=True).indices
    return ordered[..., :count]


def predicted(real: Tensor) -> Tensor:
    """Which tokens a decoder predicts: the real ones that follow a real one.

    Args:
        real: (batch, len) bool, False = padding on either side.

    Returns:
        (batch, len) bool; the first real token of a sample is never predicted.
    """
    follows = torch.zeros_like(real)
    follows[:, 1:] = real[:, 1:] & real[:, :-1]
    return follows


def token_nll(head: Head, hidden: Tensor, ids: Tensor, real: Tensor) -> Tensor:
    """Negative log-likelihood of each token of a text, given those before it.

    Args:
        head: hidden states to logits.
        hidden: (batch, len, d_model) final hidden states of a decoder; the state at i predicts the token at i + 1.
        ids: (batch, len) int64.
        real: (batch, len) bool, False = padding.

    Returns:
        (batch, len) float64, nats; NaN where no token is predicted: padding, and the first real token of a sample.
    """
    target = predicted(real)
    source = target.roll(-1, dims=1)  # position 0 is never a target, so nothing wraps round
    found = torch.full(ids.shape, torch.nan, dtype=torch.float64)
    parts = [
        -log_probabilities(logits).gather(-1, wanted[:, None])[:, 0]
        for logits, (wanted,) in _chunks(head, hidden[source], (ids[target],))
    ]
    if parts:
        found[target] = torch.cat(parts).to(found.device)
    return found


def perplexity(nll: Tensor) -> Tensor:
    """exp of the mean negative log-likelihood per predicted token: as many equally likely words would surprise as much.

    Args:
        nll: (batch, len) float, nats, NaN where nothing is predicted, of ``token_nll``.

    Returns:
        (batch,) float64, from 1; NaN for a sample in which nothing is predicted.

    Source:
        Jelinek, Mercer, Bahl and Baker 1977.
    """
    return nll.double().nanmean(dim=-1).exp()


def position_kl(head: Head, before: Tensor, after: Tensor, real: Tensor) -> Tensor:
    """KL(before || after) between what two runs predict, position by position.

    Args:
        head: hidden states to logits.
        before: (batch, len, d_model) final hidden states of one run.
        after: those of another run on the same tokens.
        real: (batch, len) bool, False = padding.

    Returns:
        (batch, len) float64, nats; NaN at padding.
    """
    _same_shape(before, after)
    found = torch.full(real.shape, torch.nan, dtype=torch.float64)
    parts = []
    for logits, (states,) in _chunks(head, before[real], (after[real],)):
        theirs = head(states[None])[0]
        parts.append(kl_divergence(log_probabilities(logits), log_probabilities(theirs)))
    if parts:
        found[real] = torch.cat(parts).to(found.device)
    return found


def last_positions(real: Tensor) -> Tensor:
    """Index of the last real token of each sample: (batch,) int64 of (batch, len) bool."""
    places = torch.arange(real.shape[1], device=real.device)
    return torch.where(real, places, -1).amax(dim=1)


def cosines(first: Tensor, second: Tensor) -> Tensor:
    """Cosine between vectors of the last axis, float64, NaN where one of them is 0.

    Args:
        first: (..., d) float.
        second: (..., d) float.
    """
    first, second = first.double(), second.double()
    return (first * second).sum(-1) / (first.norm(dim=-1) * second.norm(dim=-1))


def masked_positions(tokens: Sequence[Token], mask_id: int | None) -> list[int]:
    """Places of the mask token that stand in the typed text; none where the model has no such token."""
    return [place for place, token in enumerate(tokens) if mask_id is not None and token.id == mask_id]


@dataclass(frozen=True, eq=False)
class TextChange:
    """What became of the words of a text between two runs; each (batch, len) float64, nats.

    Attributes:
        nll_before: as ``token_nll``, of the first run.
        nll_after: of the second.
        kl: KL(before || after) of what each token foretells, NaN at padding.
    """

    nll_before: Tensor
    nll_after: Tensor
    kl: Tensor


def text_change(head: Head, before: Tensor, after: Tensor, ids: Tensor, real: Tensor) -> TextChange:
    """``token_nll`` of two runs on the same tokens and ``position_kl`` between them, with the logits formed once each.

    Args:
        head: hidden states to logits.
        before: (batch, len, d_model) final hidden states of one run.
        after: those of another run on the same tokens.
        ids: (batch, len) int64.
        real: (batch, len) bool, False = padding.
    """
    _same_shape(before, after)
    target = predicted(real)
    follows, wanted = target.roll(-1, dims=1)[real], ids.roll(-1, dims=1)[real]  # of each real token: the next one
    first, second, apart = [], [], []
    for logits, (states, next_) in _chunks(head, before[real], (after[real], wanted)):
        own, theirs = log_probabilities(logits), log_probabilities(head(states[None])[0])
        first.append(-own.gather(-1, next_[:, None])[:, 0])
        second.append(-theirs.gather(-1, next_[:, None])[:, 0])
        apart.append(kl_divergence(own, theirs))
    changed = [torch.full(real.shape, torch.nan, dtype=torch.float64) for _ in range(3)]
    if apart:
        changed[0][target], changed[1][target] = torch.cat(first)[follows], torch.cat(second)[follows]
        changed[2][real] = torch.cat(apart)
    return TextChange(*changed)


def _same_shape(before: Tensor, after: Tensor) -> None:
    if before.shape != after.shape:
        raise ValueError(
            f"two runs on the same tokens have hidden states of one shape: got {tuple(before.shape)} and "
            f"{tuple(after.shape)}"
        )


def _chunks(head: Head, states: Tensor, beside: tuple[Tensor, ...]) -> Iterator[tuple[Tensor, tuple[Tensor, ...]]]:
    """Logits of (n, d_model) states, a few positions at a time, each with its part of what stands beside (n, ...)."""
    start, step = 0, _PROBE
    while start < len(states):
        end = start + step
        logits = head(states[None, start:end])[0]  # (step, vocabulary)
        yield logits, tuple(tensor[start:end] for tensor in beside)
        start, step = end, max(1, CHUNK_ELEMENTS // logits.shape[-1])
