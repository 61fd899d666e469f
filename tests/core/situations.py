"""Random situations in which a fault changes what comes out: sizes, dtypes, masks, bias, caches, from one generator."""

from collections.abc import Iterator

import torch
from torch import Generator, Tensor

from attention_core import AttentionTrace, masks
from attention_core.faults import CATALOGUE, Outcome, Situation, commit, correct

# What a difference must exceed to count as one: far above rounding of the dtype, so that a fault can be told at all.
CHANGES = {torch.float64: 1e-3, torch.float32: 1e-3, torch.float16: 1e-2, torch.bfloat16: 3e-2}

_NEEDS: dict[str, str] = {
    "no-scaling": "default-scale",
    "scaled-by-d-k": "default-scale",
    "scaled-by-d-model": "default-scale heads",
    "divided-by-inverse": "default-scale",
    "bias-scaled-too": "default-scale bias",
    "query-key-swapped": "square",
    "heads-split-without-transpose": "heads",
    "kv-heads-tiled": "tiles",
    "head-masks-in-wrong-order": "heads batch padding",
    "batch-axis-swapped": "batch",
    "softmax-over-queries": "no-sinks",
    "softmax-over-heads": "no-sinks",
    "no-max-subtraction": "steep",
    "mask-inverted": "mask",
    "causal-mask-missing": "causal",
    "padding-mask-missing": "padding",
    "mask-ignored": "mask",
    "mask-after-softmax": "mask",
    "mask-added-as-zero-one": "mask",
    "scores-multiplied-by-mask": "mask",
    "fill-too-weak": "mask",
    "finite-fill-on-empty-row": "causal left no-sinks square",
    "masks-summed-overflow": "causal left no-sinks square",
    "half-precision-overflow": "float16",
    "padding-on-query-axis": "padding square",
    "padding-side-swapped": "padding",
    "padding-border-off-by-one": "padding",
    "padding-or-causal": "causal padding",
    "causal-strict": "causal",
    "causal-one-late": "causal square",
    "causal-transposed": "causal square",
    "causal-top-left": "causal longer",
    "window-off-by-one": "causal window",
    "window-on-wrong-layers": "causal window",
    "chunk-as-window": "causal window-or-chunk",
    "packing-leak": "documents",
    "cache-slots-unmasked": "cache",
    "heads-averaged": "heads",
    "heads-merged-without-transpose": "heads",
    "zero-times-nan": "padding nan",
}


def whole(generator: Generator, low: int, high: int) -> int:
    """A whole number from low to high, both included."""
    return int(torch.randint(low, high + 1, (), generator=generator))


def chance(generator: Generator, share: float) -> bool:
    """True in this share of draws."""
    return float(torch.rand((), generator=generator)) < share


def choice(generator: Generator, *options):
    """One of the options."""
    return options[whole(generator, 0, len(options) - 1)]


def random_situation(generator: Generator, fault_id: str | None = None, *, needs_too: str = "") -> Situation:
    """A situation of random sizes, dtype and masks, in which the fault has something to go wrong in.

    The draw follows what the fault needs, and the words of ``needs_too``; that the result differs is not checked here,
    see ``random_case``.
    """
    needs = {*_NEEDS.get(fault_id or "", "").split(), *needs_too.split()}
    if "mask" in needs:
        needs.add(choice(generator, "causal", "padding", "documents", "window", "chunk", "cache"))
    if "window-or-chunk" in needs:
        needs.add(choice(generator, "window", "chunk"))
    if "window" in needs and "causal" not in needs and chance(generator, 0.5):
        needs.add("causal")

    dtype = choice(generator, *[torch.float32] * 6, torch.float64, torch.float16, torch.float16, torch.bfloat16)
    if "float16" in needs:
        dtype = choice(generator, torch.float16, torch.float16, torch.float32)
    batch = whole(generator, 2 if needs & {"batch", "padding", "left"} else 1, 4)
    heads = choice(generator, 4, 6) if "tiles" in needs else whole(generator, 2 if "heads" in needs else 1, 5)
    kv_heads = choice(generator, *[n for n in range(1, heads + 1) if heads % n == 0])
    if "tiles" in needs:
        kv_heads = 2
    q_len = whole(generator, 5, 11)
    k_len = q_len
    if "longer" in needs or ("square" not in needs and "documents" not in needs and chance(generator, 0.3)):
        k_len += whole(generator, 1, 5)
    if "cache" in needs:
        q_len, k_len = whole(generator, 1, 4), whole(generator, 7, 13)
    d_k, d_v = choice(generator, 5, 8, 11, 16, 32), whole(generator, 2, 9)

    spread = _spread(generator, needs, dtype)
    query = torch.randn(batch, heads, q_len, d_k, generator=generator) * spread
    key = torch.randn(batch, kv_heads, k_len, d_k, generator=generator) * spread
    value = torch.randn(batch, kv_heads, k_len, d_v, generator=generator)
    parts, extra = _parts(generator, needs, batch, q_len, k_len)
    if "cache" in needs:
        key = key * parts["cache"].any(dim=-2).any(dim=1)[:, None, :, None]  # unused slots hold zeros
    allowed = torch.ones(q_len, k_len, dtype=torch.bool)
    for part in parts.values():
        allowed = allowed & part
    if int(allowed.sum(dim=-1).max()) < 2:  # no query has a choice, so nothing but an empty row could go wrong
        return random_situation(generator, fault_id, needs_too=needs_too)
    if "nan" in needs:
        unread = ~allowed.expand(batch, 1, q_len, k_len).any(dim=-2)[..., None]  # (batch, 1, k_len, 1)
        value = value.masked_fill(unread, float("nan"))

    calm = not needs & {"steep", "float16"}
    bias = None
    if "bias" in needs or (calm and chance(generator, 0.2)):
        bias = 2.0 * torch.randn(choice(generator, 1, heads), q_len, k_len, generator=generator)
    sinks = torch.randn(heads, generator=generator) if calm and chance(generator, 0.1) else None
    return Situation(
        query=query.to(dtype),
        key=key.to(dtype),
        value=value.to(dtype),
        allowed=allowed,
        parts=parts,
        bias=bias,
        sinks=None if "no-sinks" in needs else sinks,
        scale=0.5 if calm and "default-scale" not in needs and chance(generator, 0.15) else None,
        softcap=20.0 if calm and chance(generator, 0.15) else None,
        **extra,
    )


def _spread(generator: Generator, needs: set[str], dtype: torch.dtype) -> float:
    """Standard deviation of Q and K: about 1, or as much as makes exp or float16 overflow."""
    if "steep" in needs:
        return {torch.float16: 4.0, torch.float64: 27.0}.get(dtype, 10.0)
    if "float16" in needs:
        return 250.0
    return choice(generator, 0.8, 1.0, 1.5)


def _parts(generator: Generator, needs: set[str], batch: int, q_len: int, k_len: int) -> tuple[dict[str, Tensor], dict]:
    """Named parts of the mask, and the fields that go with them."""
    parts: dict[str, Tensor] = {}
    extra: dict = {}
    if "cache" in needs:
        lengths = torch.tensor([whole(generator, q_len, k_len - 2) for _ in range(batch)])
        extra["lengths"] = lengths
        if q_len == 1 and chance(generator, 0.5):
            parts["cache"] = masks.padding(lengths, k_len)
        else:
            parts["cache"] = masks.causal_in_cache(q_len, k_len, valid_lengths=lengths)
        return parts, extra
    free = not needs & {"chunk", "window"}
    if "causal" in needs or (free and chance(generator, 0.4)):
        parts["causal"] = masks.causal(q_len, k_len)
    if "window" in needs:
        extra["window"] = whole(generator, 2, 3)
        right = 0 if "causal" in parts else extra["window"] - 1
        parts["window"] = masks.sliding_window(q_len, k_len, left=extra["window"] - 1, right=right)
    if "chunk" in needs:
        extra["chunk"] = whole(generator, 2, 3)
        parts["chunk"] = masks.chunked(q_len, k_len, size=extra["chunk"])
    if needs & {"padding", "left"} or chance(generator, 0.3):
        side = "left" if "left" in needs else choice(generator, "left", "right")
        lengths = torch.tensor([whole(generator, 2, k_len) for _ in range(batch)])
        lengths[whole(generator, 0, batch - 1)] = whole(generator, 2, k_len - 2)
        if batch > 1 and bool((lengths == lengths[0]).all()):
            lengths[0] += 1  # so that samples differ
        extra |= {"lengths": lengths, "side": side}
        parts["padding"] = masks.padding(lengths, k_len, side=side)
    if "documents" in needs:
        steps = torch.rand(batch, q_len, generator=generator) < 0.3
        steps[:, whole(generator, 1, q_len - 2)] = True
        extra["document_ids"] = steps.long().cumsum(dim=1)
        parts["documents"] = masks.packed(extra["document_ids"])
    return parts, extra


def differs(situation: Situation, outcome: Outcome, judged_on: str, trace: AttentionTrace | None = None) -> bool:
    """Whether the outcome differs from the right computation (``trace``, where it is at hand) by more than rounding."""
    trace = correct(situation) if trace is None else trace
    right, wrong = (trace.weights, outcome.weights) if judged_on == "weights" else (trace.output, outcome.output)
    assert right is not None and wrong is not None
    if right.shape != wrong.shape:
        return True
    if bool((torch.isfinite(right) != torch.isfinite(wrong)).any()):
        return True
    gap = (right.double() - wrong.double()).nan_to_num().abs().max()
    return float(gap) > CHANGES[situation.query.dtype]


def changed_outcomes(situation: Situation, fault_id: str) -> Iterator[Outcome]:
    """Each way to commit the fault that changes what comes out."""
    fault, trace = CATALOGUE[fault_id], correct(situation)
    return (o for o in fault.variants(situation) if differs(situation, o, fault.judged_on, trace))


def random_case(generator: Generator, fault_id: str) -> tuple[Situation, Outcome]:
    """A situation and one random way to commit the fault in it that changes what comes out.

    Free parameters are drawn: the fill of "fill-too-weak", the share of "dropout-left-on".
    """
    for _ in range(50):
        situation = random_situation(generator, fault_id)
        if fault_id == "fill-too-weak":
            c = -8.0 * float(torch.rand((), generator=generator))
            outcomes = [commit(fault_id, situation, c=c, how=choice(generator, "replaced", "added"))]
        elif fault_id == "dropout-left-on":
            p = 0.05 + 0.45 * float(torch.rand((), generator=generator))
            outcomes = [commit(fault_id, situation, p=p, seed=whole(generator, 0, 10**6))]
        else:
            outcomes = list(CATALOGUE[fault_id].variants(situation))
        trace = correct(situation)
        outcomes = [o for o in outcomes if differs(situation, o, CATALOGUE[fault_id].judged_on, trace)]
        if outcomes:
            return situation, choice(generator, *outcomes)
    raise AssertionError(f"no situation found in which {fault_id} changes anything")
