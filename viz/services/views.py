"""One attention call as NumPy arrays: the door from tensors to figures.

A view holds the verdict and the masks; the stages are made when they are asked for: all at once where they are small,
else one stage of the layer or one head at a time, so that a long text costs what is looked at.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from attention_core.attention import AttentionTrace
from attention_core.diagnostics import (
    RowCheck,
    gradient_norms,
    joined_checks,
    row_checks,
    summarize,
)
from attention_core.runs import Call, CallInputs, Run, Token
from viz.services.attention import Request, run
from viz.services.call_parts import is_small, one_sample, some_heads
from viz.services.kept import Kept

GRADIENT_TOKENS = 128  # gradients cost a backward pass, so longer texts go without
KEPT_VIEWS = 6
KEPT_STAGES = 12
KEPT_STAGE_BYTES = 384 * 2**20  # six layers of MiniLM at its longest text; weights of one of SmolLM2 at 2,048 tokens
MOST_SCORES = 2**20  # pairs whose scores go into the histograms; of more, every n-th
STAGES = ("scores", "scaled", "logits", "weights")
ROUNDING = 1e-9  # of the variance itself: parts below it are differences of float64 sums
SOFTMAX_NUMBERS = ("entropy", "normalized_entropy", "top_weight", "effective_keys", "saturation", "jacobian_norm")
_CONTRIBUTIONS = ("mean_contribution", "covariance_contribution", "pairing_contribution")


@dataclass(frozen=True, eq=False)
class VarianceGap:
    """Numbers over all heads; NaN where no head has one.

    Attributes:
        raw, scaled: median variance of the scores: raw, and with the computation's own scaling. One wild head among
            twelve would rule a mean.
        gap: mean of the raw variance measured minus theory, and its parts ``means``, ``covariance``, ``pairing``; a
            part that is only rounding is 0.
        top_weight, saturation: means of what came out of softmax.
    """

    raw: float
    scaled: float
    gap: float
    means: float
    covariance: float
    pairing: float
    top_weight: float
    saturation: float

    @property
    def known(self) -> bool:
        """False where no head has the two allowed pairs that a variance needs."""
        return not math.isnan(self.raw)


@dataclass(frozen=True, eq=False)
class Statistics:
    """Numbers of the heads of one call and sample.

    Attributes:
        numbers: name -> (heads,) float64; NaN where there is none. The gradients only on short texts.
        gap: over all heads.
        raw_scores, scaled_scores: the scores of allowed pairs of all heads, raw and times a factor: the one that was
            applied, or the model's own where scaling is off.
        scaling_on: False where the run left out the scaling.
        every: of the pairs in order, every how manyth is among the scores.
    """

    numbers: Mapping[str, np.ndarray]
    gap: VarianceGap
    raw_scores: np.ndarray
    scaled_scores: np.ndarray
    scaling_on: bool
    every: int = 1


@dataclass(frozen=True, eq=False)
class CallView:
    """One call, one sample, as arrays that nobody writes to.

    Attributes:
        request: what was asked for.
        call: the call; ``sample`` its index in the batch.
        inputs: what this sample was computed from.
        allowed: (heads, q_len, k_len) bool, the mask that was applied.
        intended: likewise, the mask that was meant (the model's own, whatever the switches did to it).
        query_tokens, key_tokens: of the rows and columns.
        checks: the verdict of the rows of this sample.
        d_k, d_v, kv_heads: sizes.
        first_query, first_key: numbers of the first row and column, where it is a part of a longer text.
    """

    request: Request
    call: Call
    sample: int
    inputs: CallInputs
    allowed: np.ndarray
    intended: np.ndarray
    query_tokens: tuple[Token, ...]
    key_tokens: tuple[Token, ...]
    checks: tuple[RowCheck, ...]
    d_k: int
    d_v: int
    kv_heads: int
    first_query: int = 0
    first_key: int = 0

    @property
    def heads(self) -> int:
        return self.allowed.shape[0]

    @property
    def scores(self) -> np.ndarray:
        """(heads, q_len, k_len) float32, raw."""
        return self._all_heads("scores")

    @property
    def scaled(self) -> np.ndarray:
        """(heads, q_len, k_len) float32, after scaling."""
        return self._all_heads("scaled")

    @property
    def logits(self) -> np.ndarray:
        """(heads, q_len, k_len) float32, -inf where a query may not look."""
        return self._all_heads("logits")

    @property
    def weights(self) -> np.ndarray:
        """(heads, q_len, k_len) float32."""
        return self._all_heads("weights")

    def stages_of(self, head: int) -> Mapping[str, np.ndarray]:
        """Name of ``STAGES`` -> (q_len, k_len) float32 of one head; on a long text the others are not computed.

        Raises:
            IndexError: if there is no such head.
        """
        if not 0 <= head < self.heads:
            raise IndexError(f"head must be from 0 to {self.heads - 1}: got {head}")
        if is_small(self.inputs):
            return {name: self._cut(stage[head]) for name, stage in _all_stages(self).items()}
        place = (self.request, self.call.name, self.sample, head)
        found = _stages.get(place, lambda: _arrays(next(some_heads(self.inputs, slice(head, head + 1)))[1], STAGES))
        return {name: self._cut(stage[0]) for name, stage in found.items()}

    @property
    def last_query(self) -> int:
        return self.first_query + len(self.query_tokens) - 1

    @property
    def last_key(self) -> int:
        return self.first_key + len(self.key_tokens) - 1

    def kv_head(self, head: int) -> int:
        """The key/value head that a query head reads."""
        return head // (self.heads // self.kv_heads)

    def _all_heads(self, name: str) -> np.ndarray:
        if is_small(self.inputs):
            return self._cut(_all_stages(self)[name])
        place = (self.request, self.call.name, self.sample, name)
        return self._cut(_stages.get(place, lambda: {name: _joined(self.inputs, name)})[name])

    def _cut(self, stage: np.ndarray) -> np.ndarray:
        rows = slice(self.first_query, self.first_query + len(self.query_tokens))
        return stage[..., rows, self.first_key : self.first_key + len(self.key_tokens)]


def view(request: Request, call_name: str, sample: int) -> CallView:
    """One call and sample of a run, recomputed stage by stage by the core.

    At most ``KEPT_VIEWS`` views and ``KEPT_STAGE_BYTES`` bytes of their stages are kept, for all visitors together.

    Raises:
        KeyError: if the run has no such call.
        IndexError: if it has no such sample.
    """
    return _views.get((request, call_name, sample), lambda: _view(request, call_name, sample))


def _view(request: Request, call_name: str, sample: int) -> CallView:
    made, call, inputs = _inputs(request, call_name, sample)
    query_tokens, key_tokens = made.query_tokens(call)[sample], made.key_tokens(call)[sample]
    shape = (1, inputs.query.shape[1], inputs.query.shape[-2], inputs.key.shape[-2])
    shown = CallView(
        request=request,
        call=call,
        sample=sample,
        inputs=inputs,
        allowed=_mask_array(inputs.allowed.expand(shape)),
        intended=_mask_array(inputs.intended.expand(shape)),
        query_tokens=query_tokens,
        key_tokens=key_tokens,
        checks=(),
        d_k=inputs.query.shape[-1],
        d_v=inputs.value.shape[-1],
        kv_heads=inputs.key.shape[-3],
    )
    padded_keys, padded_queries = _padding(key_tokens), _padding(query_tokens)
    found = []
    for heads, piece in some_heads(inputs):
        trace = piece.trace()
        if is_small(inputs):  # all of it, and the pictures want it next
            _stages.get((request, call_name, sample), lambda trace=trace: _named(trace, STAGES))
        checks = row_checks(trace, intended=piece.intended, padded_keys=padded_keys, padded_queries=padded_queries)
        found.append((heads.start, checks))
    return replace(shown, checks=joined_checks(found))


def _all_stages(shown: CallView) -> Mapping[str, np.ndarray]:
    place = (shown.request, shown.call.name, shown.sample)
    return _stages.get(place, lambda: _arrays(shown.inputs, STAGES))


def _joined(inputs: CallInputs, name: str) -> np.ndarray:
    """One stage of all heads, some of them at a time."""
    whole = np.empty((inputs.query.shape[1], inputs.query.shape[-2], inputs.key.shape[-2]), np.float32)
    for heads, piece in some_heads(inputs):
        whole[heads] = _arrays(piece, (name,))[name]
    return _frozen(whole)


def _arrays(inputs: CallInputs, names: Sequence[str]) -> dict[str, np.ndarray]:
    return _named(inputs.trace(keep=names), names)


def _named(trace: AttentionTrace, names: Sequence[str]) -> dict[str, np.ndarray]:
    return {name: _array(getattr(trace, name)) for name in names}


def part_of(shown: CallView, start: int, size: int) -> CallView:
    """Queries and keys of a view from a token on, at most ``size`` of each; the checks stay those of the whole."""
    first_query = max(0, min(start, len(shown.query_tokens) - size))
    first_key = max(0, min(start, len(shown.key_tokens) - size))
    rows, columns = slice(first_query, first_query + size), slice(first_key, first_key + size)
    return replace(
        shown,
        allowed=shown.allowed[:, rows, columns],
        intended=shown.intended[:, rows, columns],
        query_tokens=shown.query_tokens[rows],
        key_tokens=shown.key_tokens[columns],
        first_query=first_query,
        first_key=first_key,
    )


@lru_cache(maxsize=6)
def statistics(request: Request, call_name: str, sample: int) -> Statistics:
    """The numbers of the heads of one call and sample; apart from the view, whose pictures need not wait for them.

    Raises:
        KeyError, IndexError: as ``view``.
    """
    made, call, inputs = _inputs(request, call_name, sample)
    valid = ~_padding(made.query_tokens(call)[sample])
    heads = inputs.query.shape[1]
    parts = [
        _part_of_numbers(request, piece, valid, (part.stop - part.start) / heads) for part, piece in some_heads(inputs)
    ]
    found = {name: torch.cat([part.found[name] for part in parts], dim=-1) for name in parts[0].found}
    every = max(part.every for part in parts)
    return Statistics(
        numbers={
            name: _frozen(values[0].double().numpy()) for name, values in found.items() if name not in _CONTRIBUTIONS
        },
        gap=_gap(found),
        raw_scores=_frozen(np.concatenate([part.raw_scores for part in parts])),
        scaled_scores=_frozen(np.concatenate([part.scaled_scores for part in parts])),
        scaling_on=request.scaling,
        every=every,
    )


@dataclass(frozen=True, eq=False)
class _Numbers:
    """Of some heads of a call: name -> (1, heads), and scores of their allowed pairs."""

    found: Mapping[str, Tensor]
    raw_scores: np.ndarray
    scaled_scores: np.ndarray
    every: int


def _inputs(request: Request, call_name: str, sample: int) -> tuple[Run, Call, CallInputs]:
    made = run(request)
    call = made.call(call_name)
    return made, call, one_sample(made.inputs[call_name], sample)


def _part_of_numbers(request: Request, inputs: CallInputs, valid: Tensor, share: float) -> _Numbers:
    """``share``: of the scores of all heads that these may keep."""
    trace = inputs.trace()
    assert trace.scores is not None and trace.logits is not None  # all stages were kept
    factor = trace.scale if request.scaling else inputs.own_scale
    found = _numbers(trace, inputs, factor, valid)
    counted = torch.isfinite(trace.logits) & valid[:, None, :, None]
    scores = trace.scores[counted]
    every = max(1, math.ceil(scores.numel() / (share * MOST_SCORES)))
    scores = scores[::every]
    return _Numbers(found, scores.float().numpy(), (scores * factor).float().numpy(), every)


def _numbers(trace: AttentionTrace, inputs: CallInputs, factor: float, valid: Tensor) -> dict[str, Tensor]:
    summary = summarize(trace, inputs, valid_queries=valid)
    variance = summary.variance
    found: dict[str, Tensor] = {
        "raw_variance": variance.raw_measured,
        "raw_theory": variance.raw_theory,
        "scaled_variance": variance.raw_measured * factor**2,
        "scaled_theory": variance.raw_theory * factor**2,
        "correlation": variance.correlation,
        "raw_mean": variance.raw_mean,
        **{name: getattr(summary, name) for name in SOFTMAX_NUMBERS},
        **{name: getattr(variance, name) for name in _CONTRIBUTIONS},
    }
    if max(trace.output.shape[-2], inputs.key.shape[-2]) <= GRADIENT_TOKENS:
        gradients = gradient_norms(
            inputs.query, inputs.key, inputs.value, allowed=inputs.allowed, bias=inputs.bias, sinks=inputs.sinks,
            scale=inputs.scale, softcap=inputs.softcap, valid_queries=valid,
        )  # fmt: skip
        found["query_gradient"], found["key_gradient"] = gradients.query, gradients.key
    return found


def _gap(found: Mapping[str, Tensor]) -> VarianceGap:
    means, covariance, pairing = (_part(found[name], found["raw_variance"]) for name in _CONTRIBUTIONS)
    return VarianceGap(
        raw=_median(found["raw_variance"]),
        scaled=_median(found["scaled_variance"]),
        gap=_mean(found["raw_variance"] - found["raw_theory"]),
        means=means,
        covariance=covariance,
        pairing=pairing,
        top_weight=_mean(found["top_weight"]),
        saturation=_mean(found["saturation"]),
    )


def _padding(tokens: tuple[Token, ...]) -> Tensor:
    return torch.tensor([[token.padding for token in tokens]])  # (1, len)


def _mean(values: Tensor) -> float:
    return float(values.double().nanmean())


def _median(values: Tensor) -> float:
    known = values.double()
    known = known[~known.isnan()]
    return float(known.quantile(0.5)) if known.numel() else math.nan


def _part(values: Tensor, whole: Tensor) -> float:
    """Mean of a part of the variance; what float64 leaves of two equal numbers is told as 0."""
    part = _mean(values)
    return 0.0 if abs(part) <= ROUNDING * _mean(whole) else part


def _array(stage: Tensor) -> np.ndarray:
    return _frozen(stage[0].float().numpy())


def _mask_array(mask: Tensor) -> np.ndarray:
    return _frozen(mask[0].numpy())


def _frozen(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


def _bytes_of(made: Mapping[str, np.ndarray]) -> int:
    return sum(stage.nbytes for stage in made.values())


_views: Kept[CallView] = Kept(most=KEPT_VIEWS, most_bytes=KEPT_STAGE_BYTES, size=lambda made: made.intended.nbytes)
_stages: Kept[Mapping[str, np.ndarray]] = Kept(most=KEPT_STAGES, most_bytes=KEPT_STAGE_BYTES, size=_bytes_of)
