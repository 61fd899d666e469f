"""What MiniLM costs with our attention inside: cold start, one run with everything recorded, a run after a switch.

Run: ``python tests/benchmarks/bench_minilm.py``. Processor time can be trusted on a busy machine, wall time cannot.
"""

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from attention_core.pretrained import DEFAULT_MODEL, Switches, load  # noqa: E402
from attention_core.runs import Run  # noqa: E402

COLD = """
import time; wall, cpu = [time.perf_counter()], [time.process_time()]
def lap(): wall.append(time.perf_counter()); cpu.append(time.process_time())
import torch; torch.set_num_threads(1)
from attention_core.pretrained import load; lap()
model = load(%r); lap()
model.run("The cat sat on the mat."); lap()
print(*(times[i + 1] - times[i] for times in (wall, cpu) for i in range(3)))
"""
TEXT = "the animal did not cross the street because it was far too tired and it rained all day so it went home again "


def milliseconds(act: Callable[[], object], rounds: int = 31) -> float:
    """Median processor time of one call."""
    times = []
    for _ in range(rounds):
        start = time.process_time()
        act()
        times.append(1000 * (time.process_time() - start))
    return statistics.median(times)


def cold_start() -> None:
    """A process of its own: import, load, first run with its agreement."""
    command = [sys.executable, "-c", COLD % DEFAULT_MODEL]
    laps = []
    for _ in range(3):
        said = subprocess.check_output(command, text=True, cwd=ROOT, stderr=subprocess.DEVNULL)
        laps.append([float(word) for word in said.split()])
    for name, best in (
        ("wall", min((lap[:3] for lap in laps), key=sum)),
        ("cpu", min((lap[3:] for lap in laps), key=sum)),
    ):
        print(
            "cold start, {}: import {:.2f} s, load {:.2f} s, first run {:.2f} s, {:.2f} s in all".format(
                name, *best, sum(best)
            )
        )


def main() -> None:
    """Prints the figures."""
    cold_start()
    torch.set_num_threads(1)
    model = load(DEFAULT_MODEL)
    inputs = model._inputs(model.read(TEXT * 2, max_tokens=32))
    turns = iter(
        [Switches(scaling=False), Switches(mask="causal"), Switches(window=4), Switches(temperature=2.0)] * 100
    )

    def eager_alone() -> None:
        with torch.inference_mode():
            model._twin(**inputs)

    def switched() -> Run:
        return model.run(TEXT * 2, max_tokens=32, switches=next(turns))

    def every_stage() -> None:
        run = switched()
        for call in run.calls:
            run.trace(call)

    def new_text() -> None:
        model._agreements.clear()
        model.run(TEXT * 2, max_tokens=32)

    print(
        f"{inputs['input_ids'].shape[1]} tokens, {len(model.calls)} layers, processor time of one thread, median of 31:"
    )
    for what, act in (
        ("transformers eager alone", eager_alone),
        ("run on a new text, agreement computed", new_text),
        ("run after a switch, inputs of every call recorded", switched),
        ("the same and every stage of every layer", every_stage),
    ):
        print(f"  {what:<52}{milliseconds(act):7.1f} ms")


if __name__ == "__main__":
    main()
