"""The machinery of the leak test: run a model on changed copies of its inputs without leaving a trace on it."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from attention_core.leak_report import LeakFinding, said_number, said_places

_TOKENS_PER_PASS = 8192
_NUMBERS_PER_PASS = 2**24  # of output
_UNEQUAL = 1e-3  # of the largest output: equal runs that differ by more are not noise

Job = tuple[int | None, int | None]  # (position, sample) to change; None = all of them


@contextmanager
def at_rest(model: object, device: torch.device) -> Iterator[None]:
    """Evaluation mode, and every random state as before; the training flags of all submodules come back."""
    owner = getattr(model, "__self__", model)  # a bound method speaks for its module
    modules = list(owner.modules()) if isinstance(owner, nn.Module) else []
    flags = [module.training for module in modules]
    states = random.getstate(), np.random.get_state()
    try:
        if isinstance(owner, nn.Module) and any(flags):
            owner.eval()
        with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
            yield
    finally:
        for module, flag in zip(modules, flags, strict=True):
            module.training = flag
        random.setstate(states[0])
        np.random.set_state(states[1])


@dataclass(eq=False)
class Probe:
    """A model, called the way the user calls it, on any number of stacked copies of the batch."""

    model: Callable[..., Any]
    inputs: Tensor  # (batch, len, ...)
    argument: str | None
    keywords: Mapping[str, Any]
    read: Callable[[Any], Tensor] | None
    passes: int = 0

    @property
    def batch(self) -> int:
        return self.inputs.shape[0]

    def run(self, inputs: Tensor, copies: int = 1, keywords: Mapping[str, Any] | None = None) -> Tensor:
        """(copies * batch, len, ...) -> (copies * batch, q_len, features)."""
        keywords = self.keywords if keywords is None else keywords
        if copies > 1:
            keywords = {name: _stacked(value, self.batch, copies) for name, value in keywords.items()}
        self.passes += 1
        if self.argument is None:
            result = self.model(inputs, **keywords)
        else:
            result = self.model(**{self.argument: inputs}, **keywords)
        output = _read(result) if self.read is None else self.read(result)
        if not isinstance(output, Tensor):
            raise TypeError(f"the output must be a tensor: got {type(output).__name__}; say which part with read=")
        if output.dim() < 2 or output.shape[0] != inputs.shape[0]:
            raise ValueError(
                f"the output must be (batch, q_len, ...) with batch {inputs.shape[0]}: got shape "
                f"{tuple(output.shape)}; wrap the model, or pick and turn its output with read="
            )
        if not output.dtype.is_floating_point:
            output = output.double()
        return output.reshape(*output.shape[:2], -1)


@dataclass(frozen=True, eq=False)
class Untouched:
    """Outputs of the unchanged inputs, and how well equal runs agree.

    ``output`` (batch, q_len, features); ``noise`` (batch, q_len); ``stacked`` (copies, batch, q_len, features).
    """

    output: Tensor
    noise: Tensor
    stacked: Tensor
    copies: int
    vocabulary: int | None


def untouched(probe: Probe, jobs: int) -> Untouched:
    """Runs the unchanged inputs, alone and stacked, twice each; refuses a model that gives two answers."""
    with _embedded(probe) as embeddings:
        output = probe.run(probe.inputs)
    vocabulary = min((module.num_embeddings for module, _ in embeddings), default=None)
    noise = distance(probe.run(probe.inputs), output)  # (batch, q_len)
    scale = largest(output)
    if float(noise.max()) > loose(output.dtype) * scale:
        raise ValueError(
            f"two equal runs must give equal outputs: got a difference of {float(noise.max()):.2g}; is dropout on, "
            f"or does a cache grow? Call eval() on the model and make it deterministic"
        )
    rows = min(_TOKENS_PER_PASS // max(probe.inputs.shape[1], 1), _NUMBERS_PER_PASS * probe.batch // output.numel())
    copies = max(1, min(jobs, rows // probe.batch))
    if copies > 1:
        try:
            many = probe.inputs.repeat(copies, *[1] * (probe.inputs.dim() - 1))
            first, second = (probe.run(many, copies).reshape(copies, *output.shape) for _ in range(2))
            same = float(distance(first, output[None]).max()) <= loose(output.dtype) * scale
        except Exception:  # whatever a program raises that is written for its own batch size
            same = False
        if same:
            return Untouched(output, torch.maximum(noise, distance(first, second).amax(0)), first, copies, vocabulary)
    return Untouched(output, noise, output[None], 1, vocabulary)


def loose(dtype: torch.dtype) -> float:
    """Share of the largest output by which the same computation may differ when it is done in another order."""
    return max(_UNEQUAL, 16 * torch.finfo(dtype).eps)


def largest(output: Tensor) -> float:
    """Largest finite absolute value; the smallest normal number where there is none, so that it may divide."""
    finite = output[torch.isfinite(output)].abs()
    floor = torch.finfo(output.dtype).tiny
    return max(float(finite.max()), floor) if finite.numel() else floor


def changed_inputs(inputs: Tensor, vocabulary: int | None, avoid: Sequence[int], seed: int) -> Tensor:
    """Every position replaced: another id of the vocabulary, or the number plus seeded noise of the inputs' spread."""
    generator = torch.Generator().manual_seed(seed)
    if inputs.dtype.is_floating_point:
        spread = float(inputs.float().std()) if inputs.numel() > 1 else 0.0
        noise = torch.randn(inputs.shape, generator=generator) * (spread if spread > 0 else 1.0)
        return inputs + noise.to(inputs)
    ids = inputs.unique().cpu() if vocabulary is None else torch.arange(vocabulary)
    usual = ids[~torch.isin(ids, torch.tensor(list(avoid), dtype=ids.dtype))]
    ids = usual if len(usual) >= 2 else ids
    if len(ids) < 2:
        raise ValueError(
            f"changing an input needs another token id: got {len(ids)} usable; pass vocabulary=, the number of ids"
        )
    pick = torch.randint(0, len(ids), tuple(inputs.shape), generator=generator)
    changed = ids[pick]
    changed = torch.where(changed == inputs.cpu(), ids[(pick + 1) % len(ids)], changed)
    return changed.to(inputs)


def change_matrix(probe: Probe, base: Untouched, changed: Tensor, jobs: Sequence[Job]) -> Tensor:
    """(jobs, batch, q_len): how far each output moves at most under each job, many jobs per pass."""
    rows = []
    for start in range(0, len(jobs), base.copies):
        some = jobs[start : start + base.copies]
        variants = probe.inputs.repeat(base.copies, *[1] * probe.inputs.dim()).reshape(base.copies, *probe.inputs.shape)
        for variant, (position, sample) in zip(variants, some, strict=False):
            at = (slice(None) if sample is None else sample, slice(None) if position is None else position)
            variant[at] = changed[at]
        moved = probe.run(variants.flatten(0, 1), base.copies).reshape(base.stacked.shape)
        rows.append(distance(moved, base.stacked)[: len(some)])
    return torch.cat(rows)


def gradient_matrix(probe: Probe, *, seed: int) -> Callable[[int | None, int | None], Tensor]:
    """A function of (output position, sample), None = all, that gives the gradient's norm by each input, (batch, len).

    The output is read through a seeded random direction, so that no two features cancel.
    """
    if probe.inputs.dtype.is_floating_point:
        leaf = probe.inputs.detach().requires_grad_()
        leaves = [leaf]
        output = probe.run(leaf.clone())
    else:
        with _embedded(probe, differentiable=True) as embeddings:
            output = probe.run(probe.inputs)
        leaves = [leaf for _, leaf in embeddings]
        if not leaves:
            raise ValueError(
                'method="gradient" needs float inputs, or a module that embeds the ids with nn.Embedding: got neither; '
                'use method="change"'
            )
    if not output.requires_grad:
        raise ValueError('method="gradient" needs outputs with a gradient: got none by the inputs; use method="change"')
    generator = torch.Generator().manual_seed(seed)
    weighted = output * torch.randn(output.shape, generator=generator).to(output)

    def by_input(position: int | None, sample: int | None) -> Tensor:
        probe.passes += 1
        part = weighted[slice(None) if sample is None else sample, slice(None) if position is None else position].sum()
        gradients = torch.autograd.grad(part, leaves, retain_graph=True, allow_unused=True)
        norms = [g.reshape(*probe.inputs.shape[:2], -1).norm(dim=-1) for g in gradients if g is not None]
        if not norms:
            return torch.zeros(probe.inputs.shape[:2], device=probe.inputs.device)
        return torch.stack(norms).sum(0)

    return by_input


def distance(a: Tensor, b: Tensor) -> Tensor:
    """Largest difference over the features; equal infinities and NaN on both sides are no difference."""
    same = (a == b) | (a.isnan() & b.isnan())
    difference = torch.where(same, 0.0, (a - b).abs())
    return torch.nan_to_num(difference, nan=torch.inf, posinf=torch.inf).amax(dim=-1)


def _stacked(value: Any, batch: int, copies: int) -> Any:
    if isinstance(value, Tensor) and value.dim() and value.shape[0] == batch:
        return value.repeat(copies, *[1] * (value.dim() - 1))
    return value


def _read(result: Any) -> Any:
    """The tensor of a model's result: itself, its logits or last hidden state, or the first tensor of a tuple."""
    if isinstance(result, Tensor):
        return result
    for name in ("logits", "last_hidden_state"):
        found = result.get(name) if isinstance(result, Mapping) else getattr(result, name, None)
        if isinstance(found, Tensor):
            return found
    if isinstance(result, tuple | list) and result:
        return _read(result[0])
    return result


@contextmanager
def _embedded(probe: Probe, *, differentiable: bool = False) -> Iterator[list[tuple[nn.Embedding, Tensor]]]:
    """Collects the embeddings of the ids while the model runs; with ``differentiable`` as leaves of the graph."""
    found: list[tuple[nn.Embedding, Tensor]] = []
    owner = getattr(probe.model, "__self__", probe.model)
    ids = probe.inputs

    def hook(module: nn.Embedding, arguments: tuple[Any, ...], output: Tensor) -> Tensor | None:
        given = arguments[0] if arguments else None
        if not isinstance(given, Tensor) or given.numel() != ids.numel() or not torch.equal(given.view_as(ids), ids):
            return None
        leaf = output.detach()
        found.append((module, leaf))
        return leaf.requires_grad_().clone() if differentiable else None

    handles = []
    if isinstance(owner, nn.Module) and not ids.dtype.is_floating_point:
        handles = [m.register_forward_hook(hook) for m in owner.modules() if isinstance(m, nn.Embedding)]  # type: ignore[arg-type]
    try:
        yield found
    finally:
        for handle in handles:
            handle.remove()


def compared_alone(probe: Probe, base: Untouched, real: Tensor | None, aligned: bool) -> Iterator[LeakFinding]:
    """Real outputs of padded samples against those of each sample run alone, without its padding."""
    if real is None or bool(real.all()):
        return
    if not aligned:
        yield _not_compared("the outputs do not stand at the inputs one by one")
        return
    limit = loose(base.output.dtype) * largest(base.output)
    worst: tuple[float, int, list[int]] | None = None
    samples = []
    for sample in range(probe.batch):
        kept = real[sample].nonzero().flatten().to(probe.inputs.device)
        if len(kept) in (0, real.shape[1]):
            continue
        try:
            alone = probe.run(probe.inputs[sample : sample + 1, kept], keywords=_of_sample(probe, sample, kept))
        except Exception as error:  # whatever a program raises that is written for one length
            yield _not_compared(f"sample {sample} alone raised {type(error).__name__}: {_first_line(error)}")
            return
        apart = distance(alone[0], base.output[sample, kept])  # (length,)
        if float(apart.max()) > limit:
            samples.append(sample)
            if worst is None or float(apart.max()) > worst[0]:
                far = kept[apart > limit].tolist()
                worst = float(apart.max()), sample, far
    if worst is not None:
        size, sample, far = worst
        yield LeakFinding(
            "padding-shifts",
            "error",
            f"padding changes real outputs of {said_places('sample', samples)}: without padding sample {sample} "
            f"differs by up to {said_number(size)} at {said_places('output', far)}",
            "if no padded input is read, positions are counted from the padding: pass masks.position_ids",
            count=len(samples),
        )


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), "no message")


def _not_compared(why: str) -> LeakFinding:
    return LeakFinding("padding-not-compared", "info", f"padded and unpadded outputs were not compared: {why}")


def _of_sample(probe: Probe, sample: int, kept: Tensor) -> dict[str, Any]:
    """The keywords for one sample without its padding: (batch, len, ...) and (batch, heads, len, len) are cut."""
    batch, length = probe.inputs.shape[:2]
    cut: dict[str, Any] = {}
    for name, value in probe.keywords.items():
        if isinstance(value, Tensor) and value.dim() and value.shape[0] == batch:
            value = value[sample : sample + 1]
        if isinstance(value, Tensor) and value.dim() == 4 and value.shape[-2:] == (length, length):
            value = value[:, :, kept][..., kept]
        elif isinstance(value, Tensor) and value.dim() > 1 and value.shape[1] == length:
            value = value[:, kept]
        cut[name] = value
    return cut
