"""One attention call as NumPy arrays: the door from tensors to figures."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from attention_core.attention import AttentionTrace
from attention_core.diagnostics import (
    RowCheck,
    gradient_norms,
    row_checks,
    summarize,
)
from attention_core.runs import Call, CallInputs, Run, Token
from viz.services.attention import Request, run
from viz.services.kept import Kept

GRADIENT_TOKENS = 128  # gradients cost a backward pass, so longer texts go without
KEPT_VIEWS = 6
KEPT_VIEW_BYTES = 384 * 2**20  # six layers of MiniLM at its longest text; one of SmolLM2 at 2,048 tokens
ROUNDING = 1e-9  # of the variance itself: parts below it are differences of float64 sums
SOFTMAX_NUMBERS = ("entropy", "normalized_entropy", "top_weight", "effective_keys", "saturation", "jacobian_norm")


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
    """

    numbers: Mapping[str, np.ndarray]
    gap: VarianceGap
    raw_scores: np.ndarray
    scaled_scores: np.ndarray
    scaling_on: bool


@dataclass(frozen=True, eq=False)
class CallView:
    """One call, one sample, as arrays that nobody writes to.

    Attributes:
        call: the call; ``sample`` its index in the batch.
        scores, scaled, logits, weights: (heads, q_len, k_len) float32.
        allowed: (heads, q_len, k_len) bool, the mask that was applied.
        intended: likewise, the mask that was meant (the model's own, whatever the switches did to it).
        query_tokens, key_tokens: of the rows and columns.
        checks: the verdict of the rows of this sample.
        d_k, d_v, kv_heads: sizes.
        first_query, first_key: numbers of the first row and column, where it is a part of a longer text.
    """

    call: Call
    sample: int
    scores: np.ndarray
    scaled: np.ndarray
    logits: np.ndarray
    weights: np.ndarray
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
        return self.weights.shape[0]

    @property
    def last_query(self) -> int:
        return self.first_query + len(self.query_tokens) - 1

    @property
    def last_key(self) -> int:
        return self.first_key + len(self.key_tokens) - 1

    def kv_head(self, head: int) -> int:
        """The key/value head that a query head reads."""
        return head // (self.heads // self.kv_heads)


def view(request: Request, call_name: str, sample: int) -> CallView:
    """One call and sample of a run, recomputed stage by stage by the core.

    At most ``KEPT_VIEWS`` views and ``KEPT_VIEW_BYTES`` bytes are kept, for all visitors together.

    Raises:
        KeyError: if the run has no such call.
        IndexError: if it has no such sample.
    """
    return _views.get((request, call_name, sample), lambda: _view(request, call_name, sample))


def _view(request: Request, call_name: str, sample: int) -> CallView:
    made, call, inputs = _inputs(request, call_name, sample)
    query_tokens, key_tokens = made.query_tokens(call)[sample], made.key_tokens(call)[sample]
    trace = inputs.trace()
    scores, scaled, logits, weights = _stages(trace)
    shape = weights.shape  # (1, heads, q_len, k_len)
    intended = inputs.intended.expand(shape)
    checks = row_checks(
        trace, intended=intended, padded_keys=_padding(key_tokens), padded_queries=_padding(query_tokens)
    )
    return CallView(
        call=call,
        sample=sample,
        scores=_array(scores),
        scaled=_array(scaled),
        logits=_array(logits),
        weights=_array(weights),
        allowed=_mask_array(trace.allowed.expand(shape)),
        intended=_mask_array(intended),
        query_tokens=query_tokens,
        key_tokens=key_tokens,
        checks=checks,
        d_k=inputs.query.shape[-1],
        d_v=inputs.value.shape[-1],
        kv_heads=inputs.key.shape[-3],
    )


def part_of(shown: CallView, start: int, size: int) -> CallView:
    """Queries and keys of a view from a token on, at most ``size`` of each; the checks stay those of the whole."""
    first_query = max(0, min(start, len(shown.query_tokens) - size))
    first_key = max(0, min(start, len(shown.key_tokens) - size))
    rows, columns = slice(first_query, first_query + size), slice(first_key, first_key + size)
    cut = {
        name: getattr(shown, name)[:, rows, columns]
        for name in ("scores", "scaled", "logits", "weights", "allowed", "intended")
    }
    return replace(
        shown,
        query_tokens=shown.query_tokens[rows],
        key_tokens=shown.key_tokens[columns],
        first_query=first_query,
        first_key=first_key,
        **cut,
    )


@lru_cache(maxsize=6)
def statistics(request: Request, call_name: str, sample: int) -> Statistics:
    """The numbers of the heads of one call and sample; apart from the view, whose pictures need not wait for them.

    Raises:
        KeyError, IndexError: as ``view``.
    """
    made, call, inputs = _inputs(request, call_name, sample)
    trace = inputs.trace()
    scores, _, logits, _ = _stages(trace)
    valid = ~_padding(made.query_tokens(call)[sample])
    factor = trace.scale if request.scaling else inputs.own_scale
    numbers, gap = _numbers(trace, inputs, factor, valid)
    counted = torch.isfinite(logits) & valid[:, None, :, None]
    return Statistics(
        numbers=numbers,
        gap=gap,
        raw_scores=_frozen(scores[counted].float().numpy()),
        scaled_scores=_frozen((scores[counted] * factor).float().numpy()),
        scaling_on=request.scaling,
    )


def _inputs(request: Request, call_name: str, sample: int) -> tuple[Run, Call, CallInputs]:
    made = run(request)
    call = made.call(call_name)
    return made, call, one_sample(made.inputs[call_name], sample)


def one_sample(inputs: CallInputs, sample: int) -> CallInputs:
    """What one sample of a batch was computed from; the batch axis stays, with size 1."""

    def cut(tensor: Tensor) -> Tensor:
        return tensor[sample : sample + 1] if tensor.dim() == 4 and tensor.shape[0] > 1 else tensor

    return replace(
        inputs,
        query=inputs.query[sample : sample + 1],
        key=inputs.key[sample : sample + 1],
        value=inputs.value[sample : sample + 1],
        allowed=cut(inputs.allowed),
        bias=None if inputs.bias is None else cut(inputs.bias),
        own_allowed=None if inputs.own_allowed is None else cut(inputs.own_allowed),
    )


def _stages(trace: AttentionTrace) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    assert trace.scores is not None and trace.scaled is not None  # all stages were kept
    assert trace.logits is not None and trace.weights is not None
    return trace.scores, trace.scaled, trace.logits, trace.weights


def _numbers(
    trace: AttentionTrace, inputs: CallInputs, factor: float, valid: Tensor
) -> tuple[dict[str, np.ndarray], VarianceGap]:
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
    }
    if max(trace.output.shape[-2], inputs.key.shape[-2]) <= GRADIENT_TOKENS:
        gradients = gradient_norms(
            inputs.query, inputs.key, inputs.value, allowed=inputs.allowed, bias=inputs.bias, sinks=inputs.sinks,
            scale=inputs.scale, softcap=inputs.softcap, valid_queries=valid,
        )  # fmt: skip
        found["query_gradient"], found["key_gradient"] = gradients.query, gradients.key
    gap = VarianceGap(
        raw=_median(variance.raw_measured),
        scaled=_median(found["scaled_variance"]),
        gap=_mean(variance.raw_measured - variance.raw_theory),
        means=_part(variance.mean_contribution, variance.raw_measured),
        covariance=_part(variance.covariance_contribution, variance.raw_measured),
        pairing=_part(variance.pairing_contribution, variance.raw_measured),
        top_weight=_mean(summary.top_weight),
        saturation=_mean(summary.saturation),
    )
    return {name: _frozen(tensor[0].double().numpy()) for name, tensor in found.items()}, gap


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


def _bytes_of(made: CallView) -> int:
    return sum(stage.nbytes for stage in (made.scores, made.scaled, made.logits, made.weights))


_views: Kept[CallView] = Kept(most=KEPT_VIEWS, most_bytes=KEPT_VIEW_BYTES, size=_bytes_of)
