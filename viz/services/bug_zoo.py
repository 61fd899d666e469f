"""The bug zoo for its page: right beside wrong on a text, the doctor's verdict, and questions with four answers."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from attention_core.attention import AttentionTrace
from attention_core.diagnostics import RowCheck, row_checks
from attention_core.doctor import Report, diagnose
from attention_core.faults import CATALOGUE, correct, heads, masking, numerics, padding, scaling, sequence, softmax
from attention_core.runs import Token
from viz.services.attention import typed
from viz.services.bug_zoo_scenes import (
    CHANGES,
    D_K,
    HEADS,
    MOST_TOKENS,
    SLOTS,
    WINDOW,
    Scene,
    Staged,
    ZooError,
    alike,
    scene_of,
    stage,
)

__all__ = ["D_K", "HEADS", "MOST_TOKENS", "SLOTS", "WINDOW", "Scene", "ZooError"]

FAULTS: tuple[str, ...] = tuple(CATALOGUE)
CHOICES = 4
_ADDRESS = "https://github.com/{}/issues/{}"
_ROOMS = {
    "scaling": scaling, "heads": heads, "softmax": softmax, "masking": masking, "numerics": numerics,
    "padding": padding, "sequence": sequence,
}  # fmt: skip
FAMILIES: Mapping[str, tuple[str, ...]] = {
    name: tuple(fault.id for fault in room.FAULTS) for name, room in _ROOMS.items()
}
"""Faults by kind, named as the rooms of the catalogue."""


@dataclass(frozen=True, eq=False)
class Exhibit:
    """One sample of a fault committed on a text, as arrays that nobody writes to.

    Attributes:
        fault: its id.
        scene: what it was committed in.
        on_output: True where it shows in the output, not in the weights.
        right, wrong, difference: (heads, q_len, k_len) float32 weights and wrong - right; (heads, q_len, d_v) outputs
            where ``on_output``.
        intended, applied: (heads, q_len, k_len) bool, True = may attend: the mask that was meant, and the one that the
            program with the fault has in effect.
        query_tokens, key_tokens: of rows and columns.
        checks: of the wrong weights of this sample.
        sample, samples: index of the last sample with a difference, and how many there are.
        head: index of the head with the largest difference.
        largest: (heads,) the largest finite difference.
        lost: (heads,) cells that are no finite number though they should be.
        changed: (heads,) cells whose finite difference can be seen.
        factor, total: see ``Staged``; ``kept`` of the ``total`` tokens of the text are used.
        sources: "owner/repo#number" -> its address.
    """

    fault: str
    scene: Scene
    on_output: bool
    right: np.ndarray
    wrong: np.ndarray
    difference: np.ndarray
    intended: np.ndarray
    applied: np.ndarray
    query_tokens: tuple[Token, ...]
    key_tokens: tuple[Token, ...]
    checks: tuple[RowCheck, ...]
    sample: int
    samples: int
    head: int
    largest: np.ndarray
    lost: np.ndarray
    changed: np.ndarray
    factor: float
    kept: int
    total: int
    sources: Mapping[str, str]


@lru_cache(maxsize=64)
def exhibit(fault_id: str, text: str, seed: int) -> Exhibit:
    """Commits a fault on a text, and keeps the last sample in which it shows.

    Args:
        fault_id: a key of the catalogue.
        text: any text; its first tokens are used.
        seed: of the random weights.

    Raises:
        ZooError: if the fault cannot be shown on this text.
        KeyError: if there is no such fault.
    """
    fault = CATALOGUE[fault_id]
    staged = _staged(fault_id, text, seed)
    situation, outcome = staged.situation, staged.outcome
    trace = correct(situation)
    right, wrong = trace.weights, outcome.weights
    assert right is not None and wrong is not None and outcome.output is not None  # all of them have Q, K and V
    wrong_weights = wrong
    if fault.judged_on == "output":
        right, wrong = trace.output, outcome.output
    difference = wrong.double() - right.double()
    lost = torch.isfinite(right) & ~torch.isfinite(wrong)
    sizes = difference.abs().masked_fill(lost, torch.inf).nan_to_num(nan=0.0, posinf=2.0).amax(dim=(-2, -1))
    sample = int((sizes > CHANGES).any(dim=1).nonzero()[-1])  # a later sample is a shorter one, with padding to be seen
    shape = situation.sizes
    intended = situation.allowed.expand(shape)
    applied = intended if outcome.changed is None else outcome.changed.allowed.expand(shape)
    one = slice(sample, sample + 1)
    keys, queries = staged.tokens[sample], staged.query_tokens[sample]
    checks = row_checks(
        AttentionTrace(outcome.output[one], intended[one], trace.scale, weights=wrong_weights[one]),
        padded_keys=_padding(keys),
        padded_queries=_padding(queries),
    )
    finite = difference[sample].abs().masked_fill(~torch.isfinite(difference[sample]), 0.0)
    return Exhibit(
        fault=fault_id,
        scene=scene_of(fault_id),
        on_output=fault.judged_on == "output",
        right=_array(right[sample].float()),
        wrong=_array(wrong[sample].float()),
        difference=_array(difference[sample].float()),
        intended=_array(intended[sample]),
        applied=_array(applied[sample]),
        query_tokens=queries,
        key_tokens=keys,
        checks=checks,
        sample=sample,
        samples=shape[0],
        head=int(sizes[sample].argmax()),
        largest=_array(finite.amax(dim=(-2, -1))),
        lost=_array(lost[sample].sum(dim=(-2, -1))),
        changed=_array((finite > CHANGES).sum(dim=(-2, -1))),
        factor=staged.factor,
        kept=staged.used,
        total=staged.total,
        sources={source: _ADDRESS.format(*source.split("#")) for source in fault.sources},
    )


@lru_cache(maxsize=64)
def verdict(fault_id: str, text: str, seed: int) -> Report:
    """What the doctor says of the wrong weights (or output), with Q, K and the intended mask at hand.

    Raises:
        ZooError, KeyError: as ``exhibit``.
    """
    staged = _staged(fault_id, text, seed)
    situation, outcome = staged.situation, staged.outcome
    on_output = CATALOGUE[fault_id].judged_on == "output"
    return diagnose(
        weights=outcome.weights,
        query=situation.query,
        key=situation.key,
        value=situation.value,
        output=outcome.output if on_output else None,
        allowed=situation.allowed,
        bias=situation.bias,
        lengths=None if "cache" in situation.parts else situation.lengths,
        document_ids=situation.document_ids,
    )


def family(fault_id: str) -> str:
    """The kind of a fault: a key of ``FAMILIES``."""
    return next(name for name, ids in FAMILIES.items() if fault_id in ids)


def hidden(question: int) -> str:
    """The fault behind a question: as many questions in a row as there are faults ask for each once."""
    ids = list(CATALOGUE)
    turn, place = divmod(question, len(ids))
    random.Random(f"turn {turn}").shuffle(ids)
    return ids[place]


@lru_cache(maxsize=64)
def choices(question: int, text: str, seed: int) -> tuple[str, ...]:
    """Four faults, one of them the hidden one; the others are of its kind first, and none gives the same result here.

    Raises:
        ZooError: as ``exhibit``.
    """
    truth = hidden(question)
    staged = _staged(truth, text, seed)
    draw = random.Random(f"question {question}")
    own = FAMILIES[family(truth)]
    neighbours = [name for name in own if name != truth]
    strangers = [name for name in CATALOGUE if name not in own]
    draw.shuffle(neighbours)
    draw.shuffle(strangers)
    wrong: list[str] = []
    for name in [*neighbours, *strangers]:
        if len(wrong) == CHOICES - 1:
            break
        if not _same(name, truth, staged):
            wrong.append(name)
    answers = [truth, *wrong]
    draw.shuffle(answers)
    return tuple(answers)


def score(guesses: Mapping[int, Sequence[str]]) -> tuple[int, int]:
    """(questions whose first guess was right, questions with a guess)."""
    asked = {question: names for question, names in guesses.items() if names}
    return sum(names[0] == hidden(question) for question, names in asked.items()), len(asked)


def _same(name: str, truth: str, staged: Staged) -> bool:
    """Whether another fault, committed in any way, would show just what is shown."""
    on_output = CATALOGUE[truth].judged_on == "output"
    shown = staged.outcome.output if on_output else staged.outcome.weights
    assert shown is not None
    ways = [*CATALOGUE[name].variants(staged.situation), CATALOGUE[name].fit(staged.situation, shown)]
    for outcome in filter(None, ways):
        other = outcome.output if on_output else outcome.weights
        if other is not None and alike(shown, other):
            return True
    return False


@lru_cache(maxsize=64)
def _staged(fault_id: str, text: str, seed: int) -> Staged:
    return stage(fault_id, typed(text, lines=False).text, seed)


def _padding(tokens: tuple[Token, ...]) -> Tensor:
    return torch.tensor([[token.padding for token in tokens]])  # (1, len)


def _array(tensor: Tensor) -> np.ndarray:
    array = tensor.numpy()
    array.flags.writeable = False
    return array
