"""Recipe of attention_frozen.json: attention in 50-digit decimals of the standard library, rounded to float64.

``python tests/references/make_attention_frozen.py`` writes the file again. Inputs are fractions that float32 holds
exactly; no random numbers, no torch, no NumPy, and no code of the project.
"""

import json
import math
from decimal import Decimal, getcontext
from pathlib import Path
from typing import Any

getcontext().prec = 50
Table = list[list[Decimal]]

BATCH, HEADS, KV_HEADS, Q_LEN, K_LEN, D_K, D_V = 2, 6, 3, 3, 5, 7, 2


def fraction(*index: int) -> Decimal:
    """A multiple of 1/8 between -1.25 and 1.25 that looks irregular along every axis."""
    mixed = sum((i + 1) * (7 + 4 * place) * (i + place + 2) for place, i in enumerate(index))
    return Decimal(mixed % 21 - 10) / 8


def table(rows: int, columns: int, *index: int) -> Table:
    return [[fraction(*index, row, column) for column in range(columns)] for row in range(rows)]


def attend(
    query: Table, key: Table, value: Table, allowed: list[list[bool]], options: dict[str, Any]
) -> dict[str, Any]:
    scale = Decimal(options["scale"]) if "scale" in options else 1 / Decimal(len(query[0])).sqrt()
    weights, output = [], []
    for i, q in enumerate(query):
        logits: list[Decimal | None] = []
        for j, k in enumerate(key):
            score = sum((a * b for a, b in zip(q, k, strict=True)), Decimal(0)) * scale
            if "softcap" in options:
                cap = Decimal(options["softcap"])
                up, down = (score / cap).exp(), (-score / cap).exp()
                score = cap * (up - down) / (up + down)
            if "bias" in options:
                score += Decimal(str(options["bias"][i][j]))
            logits.append(score if allowed[i][j] else None)
        parts = [Decimal(0) if x is None else x.exp() for x in logits]
        total = sum(parts, Decimal(0)) + (Decimal(str(options["sink"])).exp() if "sink" in options else 0)
        row = [part / total if total else Decimal(0) for part in parts]
        weights.append([float(w) for w in row])
        output.append([float(sum((w * v[c] for w, v in zip(row, value, strict=True)), Decimal(0))) for c in range(D_V)])
    return {"weights": weights, "output": output}


def main() -> None:
    bias = [[float(fraction(i, j, 3)) for j in range(K_LEN)] for i in range(Q_LEN)]
    sinks = [0.5, -1.0, 0.25, 2.0, 0.0, -0.75]
    everything = [[True] * K_LEN for _ in range(Q_LEN)]
    causal = [[j <= i + K_LEN - Q_LEN for j in range(K_LEN)] for i in range(Q_LEN)]
    ragged = [[j < 1 + i * 2 and j != 2 for j in range(K_LEN)] if i else [False] * K_LEN for i in range(Q_LEN)]
    cases: dict[str, tuple[list[list[bool]], dict[str, Any]]] = {
        "plain": (everything, {}),
        "causal": (causal, {}),
        "row 0 empty, key 2 unread": (ragged, {}),
        "given scale": (everything, {"scale": 1}),
        "softcap": (causal, {"softcap": 2, "scale": 1}),
        "bias": (causal, {"bias": bias}),
        "sinks, softcap and bias, row 0 empty": (ragged, {"bias": bias, "softcap": 3, "sinks": sinks}),
    }
    sizes = {
        "batch": BATCH,
        "heads": HEADS,
        "kv_heads": KV_HEADS,
        "q_len": Q_LEN,
        "k_len": K_LEN,
        "d_k": D_K,
        "d_v": D_V,
    }
    query = [[table(Q_LEN, D_K, b, h) for h in range(HEADS)] for b in range(BATCH)]
    key = [[table(K_LEN, D_K, b + 2, h) for h in range(KV_HEADS)] for b in range(BATCH)]
    value = [[table(K_LEN, D_V, b + 4, h) for h in range(KV_HEADS)] for b in range(BATCH)]
    results = []
    for name, (allowed, options) in cases.items():
        weights, output = [], []
        for b in range(BATCH):
            per_head = []
            for h in range(HEADS):
                given = {**options, **({"sink": sinks[h]} if "sinks" in options else {})}
                group = math.floor(h * KV_HEADS / HEADS)
                per_head.append(attend(query[b][h], key[b][group], value[b][group], allowed, given))
            weights.append([head["weights"] for head in per_head])
            output.append([head["output"] for head in per_head])
        results.append({"name": name, "allowed": allowed, "options": options, "weights": weights, "output": output})
    inputs = {"query": query, "key": key, "value": value}
    target = Path(__file__).with_name("attention_frozen.json")
    target.write_text(json.dumps({"sizes": sizes, **inputs, "cases": results}, default=float) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
