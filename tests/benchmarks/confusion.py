"""Which fault the doctor names for which: ``python tests/benchmarks/confusion.py``, or ``make confusion``.

Every fault of the catalogue is committed in random situations in which it changes the weights (or, for two, the
output), and the doctor is asked with Q and K and then without. Right computations of every kind follow. Each job has
one torch thread, and times are CPU times. The table is written as Markdown; exit status 1 where a share is below its
limit or a right computation is accused.
"""

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[2]))

from attention_core.faults import CATALOGUE
from tests.benchmarks.confusion_draws import (
    NEEDS_SCORES,
    Controls,
    Score,
    controls,
    percent,
    says_cannot_tell,
    with_scores,
    without_scores,
)

LIMIT = 0.98  # with Q and K, for each fault
LIMIT_WITHOUT = 0.90  # without, for each fault over the draws that leave a trace


def instead(score: Score, most: int = 3) -> str:
    """What was named where the fault was missed, the most frequent first."""
    listed = list(score.instead.items())
    text = "; ".join(f"{count} x {what}" for what, count in listed[:most])
    return text + (f"; {sum(c for _, c in listed[most:])} x other" if len(listed) > most else "")


def line(name: str, score: Score) -> str:
    """One row of the table with Q and K."""
    return (
        f"| `{name}` | {score.hits} of {score.draws} | {percent(score.share)} | {score.alone} | {instead(score)} "
        f"| {score.milliseconds:.0f} |"
    )


def line_without(name: str, score: Score) -> str:
    """One row of the table without."""
    share = percent(score.share) if score.draws else "-"
    return (
        f"| `{name}` | {score.hits} of {score.draws} | {share} | {score.alone} | {score.silent} | {instead(score)} "
        f"| {score.milliseconds:.0f} |"
    )


def page(
    known: dict[str, Score], seen: dict[str, Score], told: dict[str, tuple[int, int]], right: Controls, bare: Controls
) -> str:
    """The table as Markdown."""
    draws = max(score.draws for score in known.values())
    lines = [
        "# What the doctor names for each fault",
        "",
        f"Made by `make confusion`: {draws} random configurations per fault (sizes, heads, lengths, dtypes, masks, "
        "both sides of padding), each one in which the fault changes the weights, or the output for the last two. "
        'A hit has the true fault in `explained_by`; "alone" counts the hits in which nothing else fits as well.',
        "",
        f"Right computations: {right.draws} with Q and K, {len(right.errors)} with an error, {len(right.explained)} "
        f"with a fault named; {bare.draws} without Q and K, {len(bare.errors)} with an error, {len(bare.explained)} "
        f"with a fault named. Median CPU time of a call: {right.milliseconds:.0f} ms and {bare.milliseconds:.0f} ms.",
        "",
        "## With Q, K, the weights and the intended mask",
        "",
        "| fault | hits | share | alone | named instead | ms |",
        "|---|---|---|---|---|---|",
        *(line(name, score) for name, score in known.items()),
        "",
        "## With the weights and the intended mask only",
        "",
        "A fault can be named only where it leaves a trace: weight on a forbidden key, none on a key that surely "
        'counts, sums that are off, NaN, or heads that are copies. The other draws are in the column "no trace", with '
        "those of another shape: attention over the batch, which the mask does not fit and which is refused with a "
        "message, and one map without an axis of heads, which is a right thing to hand over.",
        "",
        "| fault | hits | share | alone | no trace | named instead | ms |",
        "|---|---|---|---|---|---|---|",
        *(line_without(name, score) for name, score in seen.items()),
        "",
        'These leave right-looking weights; the report must say "cannot tell without Q and K" and name nothing:',
        "",
        "| fault | said so |",
        "|---|---|",
        *(f"| `{name}` | {said} of {of} |" for name, (said, of) in told.items()),
        "",
    ]
    return "\n".join(lines)


def asked(name: str, draws: int) -> tuple[Score, Score | int | None]:
    """All that the tables hold about one fault: with Q and K, and without (a number where the report must say so)."""
    torch.set_num_threads(1)
    known = with_scores(name, draws)
    if name in NEEDS_SCORES:
        return known, says_cannot_tell(name, draws)
    return known, without_scores(name, draws) if CATALOGUE[name].judged_on == "weights" else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=200, help="per fault")
    parser.add_argument("--controls", type=int, default=2000, help="right computations")
    parser.add_argument("--faults", nargs="*", default=list(CATALOGUE), help="ids; all unless given")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--write", type=Path, help="Markdown file to write")
    arguments = parser.parse_args()
    start = time.perf_counter()
    known: dict[str, Score] = {}
    seen: dict[str, Score] = {}
    told: dict[str, tuple[int, int]] = {}
    failed: list[str] = []
    with ProcessPoolExecutor(arguments.jobs, initializer=torch.set_num_threads, initargs=(1,)) as pool:
        right = pool.submit(controls, arguments.controls)
        bare = pool.submit(controls, arguments.controls, scores=False)
        answers = pool.map(asked, arguments.faults, [arguments.draws] * len(arguments.faults))
        for name, (score, without) in zip(arguments.faults, answers, strict=True):
            known[name] = score
            print(line(name, score), *score.missed[:8], flush=True)
            if score.share < LIMIT:
                failed.append(name)
            if isinstance(without, Score):
                seen[name] = without
                print(" ", line_without(name, without), *without.missed[:8], flush=True)
                if without.share < LIMIT_WITHOUT:
                    failed.append(f"{name} (without Q and K)")
            elif without is not None:
                told[name] = (without, arguments.draws)
                print(f"  said that it cannot tell: {without} of {arguments.draws}", flush=True)
                if without < arguments.draws:
                    failed.append(f"{name} (without Q and K)")
        for words, found in (("with", right.result()), ("without", bare.result())):
            print(f"right computations, {words} Q and K:", found)
            if found.errors or found.explained:
                failed.append(f"right computations, {words} Q and K")
    if arguments.write:
        arguments.write.write_text(page(known, seen, told, right.result(), bare.result()), encoding="utf-8")
    print(f"{time.perf_counter() - start:.0f} s; below the limits: {', '.join(failed) or 'nothing'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
