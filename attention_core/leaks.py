"""The behavioural proof: change one input, see which outputs move, and compare with what may depend on what."""

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import torch
from torch import Tensor, nn

from attention_core import masks
from attention_core.leak_intent import (
    check_arguments,
    chosen_positions,
    handed_keywords,
    may_depend,
    real_tokens,
    special_ids,
)
from attention_core.leak_probe import (
    Job,
    Probe,
    Untouched,
    at_rest,
    change_matrix,
    changed_inputs,
    compared_alone,
    distance,
    gradient_matrix,
    largest,
    loose,
    untouched,
)
from attention_core.leak_report import (
    ImplementationsReport,
    LeakFinding,
    LeakReport,
    Method,
    leak_findings,
    mixed_findings,
    not_finite_findings,
    said_number,
    unseen_gradients,
)

__all__ = ["ImplementationsReport", "LeakFinding", "LeakReport", "leak_test", "leak_test_implementations"]

_EPS = 16  # roundings of the largest output that count as unmoved


def leak_test(
    model: Callable[..., Any],
    inputs: Tensor,
    *,
    expect: Literal["causal", "full"] | None = None,
    allowed: Tensor | None = None,
    document_ids: Tensor | None = None,
    lengths: Tensor | Sequence[int] | None = None,
    side: masks.Side = "right",
    attention_mask: Tensor | None = None,
    method: Method = "change",
    tolerance: float | None = None,
    positions: Sequence[int] | None = None,
    keywords: Mapping[str, Any] | None = None,
    argument: str | None = None,
    read: Callable[[Any], Tensor] | None = None,
    vocabulary: int | None = None,
    seed: int = 0,
) -> LeakReport:
    """Changes one input at a time and reports which outputs moved, against what is allowed to depend on what.

    The model runs in evaluation mode without gradients (with them for ``method="gradient"``); its training flags and
    the global random state come back as they were. Changed copies are stacked along the batch, many per pass, where the
    model gives the same answers so, else one by one. Not for a model that another thread uses at the same time.

    Args:
        model: a module or any function of ``inputs``; returns a tensor (batch, q_len, ...), an object or a mapping with
            ``logits`` or ``last_hidden_state``, or a tuple whose first entry is one of these.
        inputs: (batch, len) token ids, or (batch, len, ...) float.
        expect: "causal", or "full": every output may depend on every input. None: "causal" unless ``allowed`` is given.
        allowed: bool, (q_len, k_len), (batch, q_len, k_len) or (batch, heads, q_len, k_len); True = output i may depend
            on input j. This is about the whole model: windows widen with each layer, see ``diagnostics.reach``.
        document_ids: (batch, len) or (len,) integers; an output may depend on its own document only. What tells the
            model about documents goes into ``keywords``.
        lengths: (batch,) real tokens per sample, the rest is padding: it may move nothing real, and real outputs must
            equal those of the sample run alone. A model that names a parameter ``attention_mask`` is given it.
        side: "left" or "right", where the padding of ``lengths`` stands.
        attention_mask: (batch, len), 1 = real token: instead of ``lengths``; handed to the model under this name.
        method: "change" runs what inference runs. "gradient" needs one backward pass per output position, and runs
            what training runs; it needs float inputs or a module that embeds ids with nn.Embedding.
        tolerance: absolute; a larger change has moved. None: 16 roundings (of float32, for half precision too) of the
            largest output of that position, or 4 times the difference between equal runs where that is more.
        positions: the inputs to change; None: all. For a model that finds its padding by the id, leave padding out.
        keywords: further arguments of the model; tensors whose first axis is the batch are stacked with it.
        argument: the name by which ``inputs`` is passed, e.g. "decoder_input_ids"; None: first positional argument.
        read: picks the tensor from what the model returns.
        vocabulary: number of token ids; None: that of the embedding, else ids that occur in ``inputs``.
        seed: of the replacement tokens, the noise and the direction of the gradient.

    Returns:
        LeakReport; ``report.passed`` and ``report.message`` hold the verdict.

    Raises:
        TypeError: if the inputs or masks have a wrong dtype, or the output is not a tensor.
        ValueError: if shapes do not fit, intents contradict each other, or two equal runs differ (dropout).
    """
    check_arguments(inputs, expect, allowed, method)
    batch, k_len = int(inputs.shape[0]), int(inputs.shape[1])
    real = real_tokens(batch, k_len, lengths, side, attention_mask)
    handed = handed_keywords(model, keywords, attention_mask, real, inputs)
    where = list(range(k_len)) if positions is None else chosen_positions(positions, k_len)
    probe = Probe(model, inputs.detach(), argument, handed, read)
    with at_rest(model, inputs.device), torch.no_grad():
        base = untouched(probe, max(len(where), batch if batch > 1 else 0))
        q_len = int(base.output.shape[1])
        may, judged = may_depend((batch, q_len, k_len), expect, allowed, document_ids, real)
        if method == "change":
            size = vocabulary if vocabulary is not None else base.vocabulary
            changed = changed_inputs(probe.inputs, size, special_ids(model), seed)
            limits = _rounding(base.output.abs().nan_to_num(0.0, 0.0).amax(-1))
            limits = torch.maximum(limits, 4 * base.noise)
            limits = limits if tolerance is None else torch.full_like(limits, tolerance)
            crossed, change = _by_change(probe, base, changed, where, limits)
        else:
            crossed, change = _by_gradient(probe, q_len, where, seed)
            limits = _rounding(change.nan_to_num(0.0, 0.0, 0.0).amax(-1))
            limits = limits if tolerance is None else torch.full_like(limits, tolerance)
        alone = list(compared_alone(probe, base, real, q_len == k_len))
    change, limits, crossed = change.cpu(), limits.cpu(), crossed.cpu()
    moved = change > limits[..., None]  # NaN, not tested, has not moved
    findings = [
        *leak_findings(moved & ~may, change, method, may & judged[..., None], document_ids, real),
        *mixed_findings(crossed),
        *alone,
    ]
    findings += not_finite_findings(base.output.cpu(), judged)
    findings += unseen_gradients(change[:, :, where].isnan().any(-1) & judged)
    if not moved.any() and all(finding.code != "not-finite" for finding in findings):
        findings.append(
            LeakFinding(
                "nothing-moved",
                "error",
                f"no output moved under any of {len(where)} changed inputs: the test proves nothing",
                "does the model read these inputs, and is tolerance not too large?",
            )
        )
    findings.sort(key=lambda finding: finding.severity != "error")
    tested = torch.zeros(k_len, dtype=torch.bool)
    tested[where] = True
    return LeakReport(
        change=change,
        moved=moved,
        allowed=may,
        judged=judged,
        tested=tested,
        tolerance=limits,
        noise=float(base.noise.max()),
        crossed=crossed,
        output=base.output,
        method=method,
        passes=probe.passes,
        findings=tuple(findings),
    )


def leak_test_implementations(
    model: Callable[..., Any],
    inputs: Tensor,
    *,
    implementations: Sequence[str] | None = None,
    **options: Any,
) -> ImplementationsReport:
    """The leak test under several implementations of attention: some leaks exist on the fast path alone.

    Args:
        model: a module with ``set_attn_implementation`` and ``config``, as in transformers: it is copied per
            implementation, the parameters shared, and stays as it is. Or a function ``make(implementation)`` that
            returns a model for ``leak_test``.
        inputs: as for ``leak_test``.
        implementations: names, the reference first. None: "eager", "sdpa" and the one the module has now.
        options: of ``leak_test``.

    Returns:
        ImplementationsReport. An implementation that the model refuses is in ``skipped``.

    Raises:
        TypeError: if ``model`` is a module that cannot change its implementation.
        ValueError: as ``leak_test``, or if no implementation runs.
    """
    current = None
    if isinstance(model, nn.Module):
        if not hasattr(model, "set_attn_implementation"):
            raise TypeError(
                f"needs a module with set_attn_implementation, or a function make(implementation): got "
                f"{type(model).__name__}; write make so that it returns the model for each name"
            )
        current = getattr(getattr(model, "config", None), "_attn_implementation", None)
    names: list[str] = ["eager", "sdpa"] if implementations is None else list(implementations)
    if implementations is None and current is not None and current not in names:
        names.append(current)
    reports: dict[str, LeakReport] = {}
    skipped: dict[str, str] = {}
    for name in names:
        try:
            made = _switched(model, name, current) if isinstance(model, nn.Module) else model(name)
        except (ValueError, ImportError, NotImplementedError, KeyError) as error:
            skipped[name] = str(error).split("\n")[0].split(". ")[0] or type(error).__name__
            continue
        reports[name] = leak_test(made, inputs, **options)
    if not reports:
        raise ValueError(f"at least one implementation must run: got {skipped}; check the names")
    differences, findings = _compared(reports)
    return ImplementationsReport(reports, skipped, differences, tuple(findings))


def _by_change(
    probe: Probe, base: Untouched, changed: Tensor, where: list[int], limits: Tensor
) -> tuple[Tensor, Tensor]:
    """(batch, batch) bool crossed, and (batch, q_len, k_len) change; sample by sample where samples mix."""
    batch, k_len = probe.inputs.shape[:2]
    crossed = _nothing_crossed(batch, limits)
    if batch > 1:
        whole: list[Job] = [(None, sample) for sample in range(batch)]
        crossed = (change_matrix(probe, base, changed, whole) > limits).any(-1) & ~torch.eye(batch).bool().to(
            limits.device
        )
    change = torch.full((batch, base.output.shape[1], k_len), torch.nan, dtype=limits.dtype, device=limits.device)
    if crossed.any():
        jobs: list[Job] = [(j, sample) for sample in range(batch) for j in where]
        found = change_matrix(probe, base, changed, jobs).unflatten(0, (batch, len(where)))
        change[:, :, where] = torch.stack([found[b, :, b] for b in range(batch)]).transpose(1, 2)
    else:
        found = change_matrix(probe, base, changed, [(j, None) for j in where])  # (len(where), batch, q_len)
        change[:, :, where] = found.permute(1, 2, 0)
    return crossed, change


def _by_gradient(probe: Probe, q_len: int, where: list[int], seed: int) -> tuple[Tensor, Tensor]:
    batch = probe.batch
    with torch.enable_grad():
        by_input = gradient_matrix(probe, seed=seed)
        crossed = _nothing_crossed(batch, by_input(None, None))
        if batch > 1:
            size = torch.stack(
                [by_input(None, sample).amax(-1) for sample in range(batch)], dim=1
            )  # (input's, output's)
            crossed = (size > _rounding(size.amax(0))) & ~torch.eye(batch).bool().to(size.device)
        if crossed.any():
            rows = [torch.stack([by_input(i, sample)[sample] for sample in range(batch)]) for i in range(q_len)]
        else:
            rows = [by_input(i, None) for i in range(q_len)]
    every = torch.stack(rows, dim=1)  # (batch, q_len, k_len)
    change = torch.full_like(every, torch.nan)
    change[:, :, where] = every[:, :, where]
    return crossed, change


def _nothing_crossed(batch: int, like: Tensor) -> Tensor:
    return torch.zeros(batch, batch, dtype=torch.bool, device=like.device)


def _rounding(scale: Tensor) -> Tensor:
    """What does not count, in the unit of ``scale``.

    Changed and unchanged copies run in the same pass shape, and a masked key adds exactly 0: sound models do not
    move at all. Half precision gets no more room than float32; 16 of its own roundings would hide real leaks.
    """
    return _EPS * min(torch.finfo(scale.dtype).eps, torch.finfo(torch.float32).eps) * scale


def _switched(model: nn.Module, name: str, current: str | None) -> nn.Module:
    """The model itself where it runs ``name`` already, else a copy with the same parameters that does."""
    if name == current:
        return model
    can = getattr(type(model), "_can_set_attn_implementation", None)
    if can is not None and not can():
        raise ValueError(f"{type(model).__name__} has one implementation of attention, {current}")
    switched = copy.deepcopy(model, {id(parameter): parameter for parameter in model.parameters()})
    switched.set_attn_implementation(name)  # type: ignore[operator]
    if getattr(switched.config, "_attn_implementation", name) != name:
        raise ValueError(f"{type(model).__name__} keeps {switched.config._attn_implementation}")  # type: ignore[union-attr]
    return switched


def _compared(reports: Mapping[str, LeakReport]) -> tuple[dict[str, float], list[LeakFinding]]:
    reference, first = next(iter(reports.items()))
    differences: dict[str, float] = {}
    findings = []
    for name, report in reports.items():
        apart = distance(report.output, first.output).cpu().masked_fill(~first.judged, 0.0)
        differences[name] = float(apart.max())
        only = report.leaks & ~first.leaks
        if differences[name] > loose(first.output.dtype) * largest(first.output):
            sample, output = divmod(int(apart.argmax()), apart.shape[1])
            findings.append(
                LeakFinding(
                    "implementations-differ",
                    "error",
                    f"{name} and {reference} give different outputs: up to {said_number(differences[name])}, at output "
                    f"{output} of sample {sample}"
                    + (f"; {int(only.sum())} leaks exist under {name} alone" if only.any() else ""),
                    f"look at the mask that reaches attention under {name}",
                )
            )
    return differences, findings
