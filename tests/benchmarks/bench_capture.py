"""What recording costs: SmolLM2, MiniLM, and an encoder of torch that loses its fused fast path.

Run: ``python tests/benchmarks/bench_capture.py``. Plain and recorded rounds are interleaved; the figures are medians of
processor time with one torch thread. For SmolLM2 recording may cost 15%, for the lost fast path twice the time;
what it costs a call is the same for a small model, and so a larger share.
"""

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from attention_core.capture import record  # noqa: E402
from attention_core.pretrained import DEFAULT_MODEL, fetch  # noqa: E402

ROUNDS = 31
DECODER = "SmolLM2-135M-Instruct"
LIMIT, LIMIT_FAST_PATH = 1.15, 2.0


def compare(plain: Callable[[], object], rounds: int = ROUNDS) -> tuple[float, float, float, int]:
    """(plain ms, recorded ms, median ratio of neighbours, calls recorded)."""
    times: tuple[list[float], list[float]] = ([], [])
    calls = 0
    for _ in range(rounds + 2):
        for recorded in (False, True):
            start = time.process_time()
            if recorded:
                with record() as recording:
                    plain()
                calls = len(recording)
            else:
                plain()
            times[recorded].append(1000 * (time.process_time() - start))
    a, b = (t[2:] for t in times)  # the first rounds warm up
    return (
        statistics.median(a),
        statistics.median(b),
        statistics.median(y / x for x, y in zip(a, b, strict=True)),
        calls,
    )


def main() -> int:
    """Prints the figures; returns how many are beyond their limit."""
    import transformers

    torch.set_num_threads(1)
    folder = fetch(DEFAULT_MODEL)
    generator = torch.Generator().manual_seed(0)
    models = {
        name: transformers.AutoModel.from_pretrained(folder, attn_implementation=name).eval()
        for name in ("sdpa", "eager")
    }
    layer = nn.TransformerEncoderLayer(384, 12, 1536, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 6, enable_nested_tensor=False).eval()
    decoder = transformers.AutoModelForCausalLM.from_pretrained(
        fetch(DECODER), attn_implementation="sdpa", dtype=torch.float32
    ).eval()
    beyond = 0
    print(f"processor time of one thread, median of {ROUNDS} interleaved rounds (SmolLM2: 11):")
    for tokens in (64, 128, 256):
        ids = torch.randint(1000, 20_000, (1, tokens), generator=generator)
        x = torch.randn(1, tokens, 384, generator=generator)
        for what, act, limit in (
            ("SmolLM2 on sdpa", lambda ids=ids: decoder(ids, use_cache=False), LIMIT),
            ("MiniLM on sdpa", lambda ids=ids: models["sdpa"](ids), None),
            ("MiniLM on eager, best effort", lambda ids=ids: models["eager"](ids), None),
            ("nn.TransformerEncoder, fast path lost", lambda x=x: encoder(x), LIMIT_FAST_PATH),
        ):
            with torch.inference_mode():
                plain, recorded, ratio, calls = compare(act, 11 if limit == LIMIT else ROUNDS)
            verdict = f"x {ratio:.2f}" + ("" if limit is None else f", limit {limit:g}")
            beyond += limit is not None and ratio > limit
            print(f"  {what:<40}{tokens:4} tokens{plain:8.1f} ms{recorded:8.1f} ms  {verdict} ({calls} calls)")
    return beyond


if __name__ == "__main__":
    sys.exit(min(main(), 1))
