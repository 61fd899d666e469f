"""What the traced core costs next to plain eager attention: ``python tests/benchmarks/bench_core.py``.

12 heads x 512 tokens x d 64 in float32, one torch thread, inference mode, process CPU time, medians of 31 interleaved
rounds. Both keep the weights; the core keeps every stage as well. Exit status 1 where the ratio is above the limit.
"""

import math
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

sys.path.insert(0, str(Path(__file__).parents[2]))

from attention_core import masks, scaled_dot_product_attention

BATCH, HEADS, LENGTH, WIDTH = 1, 12, 512, 64
ROUNDS = 31
LIMIT = 1.25


def plain(query: Tensor, key: Tensor, value: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
    """The usual four lines."""
    scores = query @ key.transpose(-2, -1) * (1 / math.sqrt(query.shape[-1]))
    weights = torch.softmax(scores.masked_fill(~allowed, -math.inf), dim=-1)
    return weights @ value, weights


def cpu_milliseconds(call: Callable[[], object]) -> float:
    start = time.process_time()
    result = call()
    elapsed = time.process_time() - start
    del result
    return elapsed * 1000


def main() -> int:
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(0)
    query, key, value = (torch.randn(BATCH, HEADS, LENGTH, WIDTH, generator=generator) for _ in range(3))
    causal = masks.causal(LENGTH)
    cases = {
        "causal (q_len, k_len)": causal,
        "padding (batch, 1, 1, k_len)": masks.padding([LENGTH - 37] * BATCH, LENGTH),
        "right padding & causal (batch, 1, q_len, k_len)": masks.padding([LENGTH - 37] * BATCH, LENGTH) & causal,
        "left padding & causal, 37 empty rows": masks.padding([LENGTH - 37] * BATCH, LENGTH, side="left") & causal,
    }
    print(f"{HEADS} heads x {LENGTH} tokens x d {WIDTH}, float32, 1 thread, CPU time, medians of {ROUNDS} interleaved")
    worst = 0.0
    with torch.inference_mode():
        for name, allowed in cases.items():
            ours: list[float] = []
            theirs: list[float] = []
            for round_ in range(ROUNDS + 3):
                mine = cpu_milliseconds(
                    lambda allowed=allowed: scaled_dot_product_attention(query, key, value, allowed=allowed)
                )
                other = cpu_milliseconds(lambda allowed=allowed: plain(query, key, value, allowed))
                if round_ >= 3:  # the first rounds warm caches and allocator
                    ours.append(mine)
                    theirs.append(other)
            traced, eager = statistics.median(ours), statistics.median(theirs)
            worst = max(worst, traced / eager)
            print(f"{name:50} traced {traced:7.2f} ms   plain {eager:7.2f} ms   ratio {traced / eager:.2f}")
    print(f"limit {LIMIT}: {'ok' if worst <= LIMIT else 'exceeded'}")
    return 0 if worst <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
