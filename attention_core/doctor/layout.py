"""Axes and tokens: whether the arrays are the shape that they are said to be."""

import torch

from attention_core.doctor.inputs import Given
from attention_core.doctor.report import Check, Finding, finding


def check_layout(given: Given) -> tuple[list[Finding], list[Check], bool]:
    """Swapped axes, banded weights, one map for several heads, token counts, typed special tokens.

    Returns:
        Findings, checks, and whether the weights can be read cell by cell.
    """
    found: list[Finding] = []
    readable = True
    weights, keys, queries = given.weights, given.keys, given.queries
    if weights is not None:
        q_len, columns = weights.shape[-2], weights.shape[-1]
        k_len = keys.count if keys is not None else given.shape[3]
        samples = len(keys.labels) if keys is not None else given.shape[0]
        tokens = keys.count if keys is not None else k_len
        maps = weights.shape[0] * weights.shape[1]
        swapped = (
            samples == q_len == columns and tokens == weights.shape[0] and (given.misfit or keys is not None)
        ) and samples != tokens
        if swapped:
            evidence = {
                "maps": maps, "q_len": q_len, "columns": columns, "samples": samples, "tokens": tokens,
            }  # fmt: skip
            found.append(finding("axes-swapped", "error", evidence))
            readable = False
        elif columns < k_len and q_len == (queries.count if queries is not None else given.shape[2]):
            evidence = {"q_len": q_len, "columns": columns, "k_len": k_len}
            found.append(finding("banded-layout", "error", evidence))
            readable = False
        elif given.misfit:
            evidence = {
                "columns": " x ".join(map(str, weights.shape)), "axis": "as shape",
                "tokens": " x ".join(map(str, given.shape)), "note": " by the shapes of query and key",
            }  # fmt: skip
            found.append(finding("weights-shape", "error", evidence))
            readable = False
        if given.averaged:
            heads = given.shape[1]
            evidence = {"said": f"weights hold one map per sample, the module has {heads} heads", "heads": heads}
            found.append(finding("heads-identical", "error", evidence))
        if given.decimals is not None:
            found.append(finding("rounded-numbers", "info", {"decimals": given.decimals}))
    if readable:
        found += _token_counts(given)
    for labels in (keys,) if keys is queries else (queries, keys):
        if labels is not None:
            for sample, index, label in labels.typed:
                evidence = {"label": label, "index": index, "sample": sample}
                found.append(finding("typed-special", "info", evidence, [(sample, None, None, index)]))
    failed = any(f.severity == "error" for f in found)
    return found, [Check("axes and tokens", "failed" if failed else "passed")], readable


def _token_counts(given: Given) -> list[Finding]:
    found = []
    for labels, axis, size in ((given.keys, "keys", given.shape[3]), (given.queries, "queries", given.shape[2])):
        if labels is None or labels.count == size or (found and given.queries is given.keys):
            continue
        note = ""
        if given.weights is not None and axis == "keys" and labels.count < size:
            mass = torch.nan_to_num(given.weights[..., labels.count :]).double().sum()
            extra = f"columns {labels.count}-{size - 1}"
            note = f"; {extra} hold no mass: crop to {labels.count}" if mass == 0 else f"; {extra} carry weight"
        evidence = {"columns": size, "axis": axis, "tokens": labels.count, "note": note}
        found.append(finding("token-count", "error", evidence))
    return found
