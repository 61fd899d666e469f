"""The command line: ``python -m attention_core diagnose FILE``, ``record SCRIPT [ARGS]``, ``compare A B``."""

import argparse
import json
import runpy
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from attention_core.capture import Recording, record
from attention_core.compare import compare_cases
from attention_core.doctor import Report, diagnose_recording
from attention_core.exchange import FileRefused, load_arrays
from attention_core.intake import Case, Intake, cases_of_recording, known_names, take_in

CLEAN, WRONG, UNUSABLE = 0, 1, 2
"""Exit codes: nothing wrong (or equal), an error was found (or a difference), usage or a file that cannot be read."""

_EXPECT = (
    'the intent in words: "causal", "causal+padding", "window=4", "prefix=3", "chunk=4", "packed", "bidirectional"'
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command.

    Args:
        arguments: without the program's name; None: those of the process.

    Returns:
        0 where nothing is wrong, 1 where the doctor found an error or two files differ, 2 where a file cannot be used.
        ``record`` returns what the script would have returned, and 1 too where ``--expect`` finds an error.

    Raises:
        SystemExit: with 2, for usage.
    """
    parsed = _parser().parse_args(arguments)
    try:
        return parsed.run(parsed)
    except (FileRefused, OSError, TypeError, ValueError) as error:
        print(f"attention_core: {error}", file=sys.stderr)
        return UNUSABLE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m attention_core", description="Tells whether attention weights are right, and what is wrong.",
        epilog="exit code: 0 nothing wrong, 1 errors or differences, 2 usage or unreadable file",
    )  # fmt: skip
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    command = commands.add_parser(
        "diagnose", help="name the fault in a recording or in arrays", epilog=known_names(),
        description="FILE is a recording, or arrays as .npy, .npz, .safetensors, .json, .csv or plain .pt; their names "
        "say what they are.",
    )  # fmt: skip
    command.add_argument("file", metavar="FILE")
    _add_intent(command)
    command.add_argument("--lengths", type=_numbers, metavar="N,N", help="valid keys per sample, as in 5,3")
    command.add_argument("--call", type=int, metavar="N", help="this call of the file alone, counted from 0")
    command.add_argument("--json", action="store_true", help="print JSON for machines")
    command.set_defaults(run=_diagnose)

    command = commands.add_parser(
        "record", help="run a script and save the attention that it computes",
        description="Runs SCRIPT as python would, with ARGS, and saves every attention call of its main thread.",
    )  # fmt: skip
    command.add_argument("--output", type=Path, metavar="FILE", help="default: SCRIPT.attention.safetensors beside it")
    command.add_argument("--half", action="store_true", help="save floats as float16")
    _add_intent(command)
    command.add_argument("script", metavar="SCRIPT")
    command.add_argument("args", nargs=argparse.REMAINDER, metavar="ARGS")
    command.set_defaults(run=_record)

    command = commands.add_parser(
        "compare", help="where two files differ", description="Compares arrays of one kind, call by call."
    )
    command.add_argument("first", metavar="A")
    command.add_argument("second", metavar="B")
    command.add_argument("--tolerance", type=float, help="absolute; default: by dtype and size of the numbers")
    command.add_argument("--json", action="store_true", help="print JSON for machines")
    command.set_defaults(run=_compare)
    return parser


def _add_intent(command: argparse.ArgumentParser) -> None:
    command.add_argument("--expect", metavar="WORDS", help=_EXPECT)
    command.add_argument("--scale", type=float, help="factor on the scores that is meant; default: 1/sqrt(d_k)")


def _numbers(text: str) -> list[int]:
    try:
        return [int(word) for word in text.replace(",", " ").split()]
    except ValueError:
        raise argparse.ArgumentTypeError(f"whole numbers with commas between them: got {text!r}") from None


# ---------------------------------------------------------------------------------------------------------------------
# diagnose


def _diagnose(parsed: argparse.Namespace) -> int:
    intake = _read(parsed.file)
    cases = intake.cases
    if not cases:
        raise ValueError(f"a recording must hold a call to be looked at: got none; {' '.join(intake.notes)}".strip())
    if parsed.call is not None:
        if not 0 <= parsed.call < len(cases):
            raise ValueError(f"--call must name one of {len(cases)} calls, from 0: got {parsed.call}")
        cases = cases[parsed.call : parsed.call + 1]
    found: dict[str, Any] = {"findings": []}
    if intake.recording is not None and parsed.call is None and parsed.scale is None:
        whole = diagnose_recording(intake.recording, expect=parsed.expect, lengths=parsed.lengths)
        reports = list(zip(cases, whole.reports, strict=True))
        found = {"findings": Report(whole.findings).to_dict()["findings"], "masks": [call.mask for call in whole.strip]}
    else:
        reports = [(case, _examined(case, parsed)) for case in cases]
    if parsed.json:
        calls = [_plain(*pair) for pair in reports]
        _print_json({**_about(parsed.file, intake), "ok": _ok(reports), **found, "calls": calls})
    else:
        _print_intake(intake)
        _print_reports(reports)
        for said in found["findings"]:
            print(f"{said['severity']}: {said['message']}")
    return CLEAN if _ok(reports) else WRONG


def _examined(case: Case, parsed: argparse.Namespace) -> Report:
    more: dict[str, Any] = {}
    if parsed.scale is not None:
        more["scale"] = parsed.scale
    if getattr(parsed, "lengths", None) is not None:
        more["lengths"] = parsed.lengths
    try:
        return case.diagnose(parsed.expect, **more)
    except (TypeError, ValueError) as error:
        raise ValueError(f"call {case.name}: {error}" if case.name else str(error)) from error


def _read(path: str) -> Intake:
    return take_in(load_arrays(path))


def _ok(reports: Sequence[tuple[Case, Report]]) -> bool:
    return all(report.ok for _, report in reports)


def _about(path: str, intake: Intake) -> dict[str, Any]:
    return {"file": path, "arrays": dict(intake.roles), "unknown": list(intake.unknown), "notes": list(intake.notes)}


def _plain(case: Case, report: Report) -> dict[str, Any]:
    return {"call": case.name, "place": case.place, "notes": list(case.notes), **report.to_dict()}


def _print_json(found: dict[str, Any]) -> None:
    print(json.dumps(found, ensure_ascii=False, indent=2, allow_nan=False))


def _print_intake(intake: Intake) -> None:
    named = ", ".join(f"{name} as {role}" for name, role in intake.roles.items() if role and role != name)
    if named:
        print(f"read {named}")
    if intake.unknown:
        print(f"not known and left out: {', '.join(intake.unknown)}; {known_names()}")
    for note in intake.notes:
        print(f"note: {note}")


def _print_reports(reports: Sequence[tuple[Case, Report]]) -> None:
    for case, report in reports:
        if case.name:
            print(f"\ncall {case.name}{f', {case.place}' if case.place else ''}")
        print(report.to_text())
        for note in case.notes:
            print(f"note: {note}")
    if len(reports) > 1:
        wrong = sum(not report.ok for _, report in reports)
        print(f"\n{len(reports)} calls, {wrong} with errors")


# ---------------------------------------------------------------------------------------------------------------------
# record


def _record(parsed: argparse.Namespace) -> int:
    script = Path(parsed.script)
    if not script.is_file():
        raise ValueError(f"SCRIPT must be a Python file: got {parsed.script}, which is not there")
    output: Path = parsed.output or script.with_suffix(".attention.safetensors")
    with record() as recording:
        status = _run(script, parsed.args)
    for note in recording.notes:
        print(f"note: {note}", file=sys.stderr)
    if recording.nothing_captured:
        print("attention_core: nothing to save: no attention call was recorded", file=sys.stderr)
        return status or UNUSABLE
    recording.name = script.name
    recording.save(output, half=parsed.half)
    print(f"{len(recording)} calls saved to {output}", file=sys.stderr)
    return status or _verdict_on(recording, parsed)


def _run(script: Path, arguments: Sequence[str]) -> int:
    """Runs the script as ``python SCRIPT ARGS`` would; what it prints goes where it always goes."""
    argv, path = sys.argv, sys.path[:]
    sys.argv, sys.path[0] = [str(script), *arguments], str(script.resolve().parent)
    try:
        runpy.run_path(str(script), run_name="__main__")
    except SystemExit as ended:
        if ended.code is None or isinstance(ended.code, int):
            return int(ended.code or 0)
        print(ended.code, file=sys.stderr)
        return 1
    except Exception:  # the script's own: shown as python shows it, and what was recorded before is kept
        traceback.print_exc()
        return 1
    finally:
        sys.argv, sys.path[:] = argv, path
    return 0


def _verdict_on(recording: Recording, parsed: argparse.Namespace) -> int:
    if parsed.expect is None:
        return CLEAN
    reports = [(case, _examined(case, parsed)) for case in cases_of_recording(recording)]
    _print_reports(reports)
    return CLEAN if _ok(reports) else WRONG


# ---------------------------------------------------------------------------------------------------------------------
# compare


def _compare(parsed: argparse.Namespace) -> int:
    files = [_read(path) for path in (parsed.first, parsed.second)]
    found = compare_cases(files[0].cases, files[1].cases, tolerance=parsed.tolerance)
    same = all(entry.same for entry in found)
    if parsed.json:
        compared = [entry.to_dict() for entry in found]
        _print_json({"files": [parsed.first, parsed.second], "same": same, "compared": compared})
    else:
        for entry in found:
            print(f"{'same' if entry.same else 'differs'}: {entry.what}: {entry.said}")
        print("the files agree" if same else f"{sum(not entry.same for entry in found)} of {len(found)} differ")
    return CLEAN if same else WRONG


if __name__ == "__main__":
    sys.exit(main())
