"""Models of the hub: a hub of our own on this machine, asked through the real client, and what it may refuse."""

import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from attention_core.pretrained import CATALOG, LoadError, bring, hub, is_available, load, loaded, memory
from attention_core.pretrained.__main__ import main
from attention_core.pretrained.hub import _offered
from attention_core.pretrained.progress import ignore
from attention_core.pretrained.sources import resolve

TINY = {"specials": True, "hidden_size": 33, "num_attention_heads": 3, "num_hidden_layers": 1, "intermediate_size": 37}
COMMIT = "5" * 40


class Hub:
    """The part of the hub that a client needs: one model, its files; ``status`` other than 200 refuses everything."""

    def __init__(self, folder: Path) -> None:
        self.files = {file.name: file.read_bytes() for file in folder.iterdir()}
        self.asked: list[str] = []
        self.status, self.headers = 200, {}
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                hub.answer(self, body=True)

            def do_HEAD(self) -> None:
                hub.answer(self, body=False)

            def log_message(self, *_: Any) -> None:
                """Says nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"

    def answer(self, request: BaseHTTPRequestHandler, *, body: bool) -> None:
        path = request.path.partition("?")[0]
        headers: dict[str, str] = {"X-Repo-Commit": COMMIT, **self.headers}
        if self.status != 200:
            status, content = self.status, b"{}"
        elif path.startswith("/api/models/owner/tiny"):
            files = [{"rfilename": name, "size": len(content)} for name, content in self.files.items()]
            status, content = 200, json.dumps({"id": "owner/tiny", "sha": COMMIT, "siblings": files}).encode()
        else:
            name = path.rpartition("/")[2]
            self.asked.append(name)
            status, content = 200, self.files[name]
            headers["ETag"] = f'"{hashlib.sha256(content).hexdigest()}"'
        request.send_response(status)
        for key, value in {**headers, "Content-Length": str(len(content)), "Content-Type": "application/json"}.items():
            request.send_header(key, value)
        request.end_headers()
        if body:
            request.wfile.write(content)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HEADSCOPE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def folder(tiny_folder: Callable[..., Path]) -> Path:
    return tiny_folder("Bert", **TINY)


@pytest.fixture
def served(cache: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub that has owner/tiny."""
    import huggingface_hub.constants as constants
    from huggingface_hub import HfApi

    own = Hub(folder)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "ENDPOINT", own.address)
    monkeypatch.setattr(
        constants, "HUGGINGFACE_CO_URL_TEMPLATE", own.address + "/{repo_id}/resolve/{revision}/{filename}"
    )
    monkeypatch.setattr(HfApi.__init__, "__defaults__", (own.address, *(HfApi.__init__.__defaults__ or ())[1:]))
    yield own
    own.server.shutdown()
    own.server.server_close()


def refusal(name: str) -> LoadError:
    with pytest.raises(LoadError) as caught:
        bring(name)
    assert caught.value.name == name
    assert not is_available(name)
    return caught.value


def test_a_model_is_brought_once_and_loads(served: Hub, cache: Path, folder: Path) -> None:
    served.files |= {"pytorch_model.bin": b"code?", "README.md": b"words", "model.fp16.safetensors": b"half"}
    told: list[tuple[str, int, int]] = []
    assert not is_available("owner/tiny")
    place = bring("owner/tiny", progress=lambda *how_far: told.append(how_far))
    assert is_available("owner/tiny") and cache in place.parents
    brought = {file.name for file in place.iterdir()}
    assert brought == {file.name for file in folder.iterdir()}  # nothing of other formats
    total = sum(file.stat().st_size for file in folder.iterdir())
    assert told[0] == ("download", 0, total) and told[-1] == ("download", total, total)
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)
    assert served.asked[-1] == "model.safetensors"  # last: where it is, everything is
    asked = len(served.asked)
    bring("owner/tiny")
    assert torch.equal(load("owner/tiny").run("the cat").output, load(folder).run("the cat").output)
    assert len(served.asked) == asked
    assert loaded("owner/tiny") is load("owner/tiny")


def test_a_download_that_is_broken_off_leaves_no_model(served: Hub) -> None:
    def stop(_stage: str, done: int, total: int) -> None:
        if done > total // 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bring("owner/tiny", progress=stop)
    assert not is_available("owner/tiny")
    assert load("owner/tiny").run("the cat").calls  # and the next try mends it


@pytest.mark.parametrize(
    ("status", "headers", "code", "match"),
    [
        (403, {"X-Error-Code": "GatedRepo"}, "gated", r"accept its terms .* `hf auth login`, and try again"),
        (
            401,
            {"X-Error-Code": "RepoNotFound"},
            "not-found",
            r"the model hub must have owner/tiny: .*check the spelling",
        ),
        (
            404,
            {"X-Error-Code": "RepoNotFound"},
            "not-found",
            r"the model hub must have owner/tiny: .*check the spelling",
        ),
        (500, {}, "no-network", "the model hub cannot be reached; connect and try again"),
    ],
)
def test_what_the_hub_refuses_has_a_remedy(
    served: Hub, status: int, headers: dict[str, str], code: str, match: str
) -> None:
    served.status, served.headers = status, headers
    error = refusal("owner/tiny")
    assert error.code == code
    with pytest.raises(LoadError, match=match):
        load("owner/tiny")


def test_a_hub_that_is_not_there(served: Hub) -> None:
    served.server.shutdown()
    served.server.server_close()
    assert refusal("owner/tiny").code == "no-network"


@pytest.mark.parametrize(
    ("lost", "code"), [(["model.safetensors"], "no-weights"), (["tokenizer.json"], "no-tokenizer")]
)
def test_what_is_missing_is_said_before_anything_is_brought(
    served: Hub, monkeypatch: pytest.MonkeyPatch, lost: list[str], code: str
) -> None:
    from huggingface_hub import HfApi

    monkeypatch.setattr(HfApi, "get_repo_discussions", lambda *_, **__: iter(()))
    for name in lost:
        del served.files[name]
    served.files |= {"pytorch_model.bin": b"code?", "source.spm": b"", "vocab.json": b"{}"}
    assert refusal("owner/tiny").code == code
    assert served.asked == []


def test_too_large_is_said_before_anything_is_brought(served: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "free_bytes", lambda: 1000)
    error = refusal("owner/tiny")
    assert error.code == "too-large"
    assert served.asked == []


def test_a_loaded_folder_is_measured_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    weights = memory.weights_in([folder / "model.safetensors", folder / "config.json", folder / "none.safetensors"])
    assert weights == load(folder).parameters
    (folder / "extra.json").write_text("{}")  # another fingerprint: a model of its own
    needed = int(weights * 4 * 1.15)
    monkeypatch.setattr(memory, "free_bytes", lambda: needed - 1)
    with pytest.raises(
        LoadError, match=r"must fit into free memory: .* needs 0.0 GB in float32 .* smaller model"
    ) as caught:
        load(folder)
    assert caught.value.code == "too-large"
    assert caught.value.values == {"needed": needed / 1e9, "free": (needed - 1) / 1e9}
    monkeypatch.setattr(memory, "free_bytes", lambda: needed)
    assert load(folder).calls


def test_free_memory(tmp_path: Path) -> None:
    free = memory.free_bytes()
    assert free is None or 2**24 < free < 2**46
    assert memory._container_bytes(tmp_path) is None
    (tmp_path / "memory.max").write_text("1000\n")
    (tmp_path / "memory.stat").write_text("anon 300\nfile 650\n")
    assert memory._container_bytes(tmp_path) == 700  # what is held of files is given back
    (tmp_path / "memory.max").write_text("max\n")
    assert memory._container_bytes(tmp_path) is None


class Listing:
    """Answers like HfApi: sizes by revision, and the pull requests of the conversion bot."""

    def __init__(self, *, changes: tuple[str, ...] = (), counts: dict[str, int] | None = None, **sizes: Any) -> None:
        self.changes, self.counts, self.sizes = changes, counts, sizes

    def model_info(self, _hub_id: str, *, revision: str = "main", **_: Any) -> Any:
        files = [SimpleNamespace(rfilename=name, size=size) for name, size in self.sizes[revision].items()]
        counted = None if self.counts is None else SimpleNamespace(parameters=self.counts)
        return SimpleNamespace(siblings=files, sha=f"sha of {revision}", safetensors=counted)

    def get_repo_discussions(self, _hub_id: str, *, author: str, discussion_type: str) -> Any:
        assert (author, discussion_type) == ("SFconvertbot", "pull_request")
        return iter([SimpleNamespace(git_reference=change) for change in self.changes])


def test_shards_and_counts() -> None:
    sizes = {
        "config.json": 3, "tokenizer.json": 5, "model.safetensors.index.json": 7, "model-1-of-2.safetensors": 400,
        "model-2-of-2.safetensors": 44, "consolidated.safetensors": 444, "onnx/model.onnx": 9, "onnx/config.json": 2,
    }  # fmt: skip
    files, revision, weights = _offered(Listing(main=sizes), "a/b", "b")
    wanted = {"config.json", "tokenizer.json", "model.safetensors.index.json"}
    assert files.keys() == {*wanted, "model-1-of-2.safetensors", "model-2-of-2.safetensors"}
    assert (revision, weights) == ("sha of main", 111)
    assert _offered(Listing(main=sizes, counts={"BF16": 222}), "a/b", "b")[2] == 222


def test_safetensors_that_the_hubs_own_bot_left_in_a_change_are_taken() -> None:
    old = {"config.json": 3, "vocab.txt": 5, "pytorch_model.bin": 80}
    listing = Listing(
        changes=("refs/pr/2", "refs/pr/3"),
        main=old,
        **{"refs/pr/2": old, "refs/pr/3": {**old, "model.safetensors": 80}},
    )
    files, revision, weights = _offered(listing, "a/b", "b")
    assert files.keys() == {"config.json", "vocab.txt", "model.safetensors"}
    assert (revision, weights) == ("sha of refs/pr/3", 20)


@pytest.mark.parametrize("harm", ["shard", "index", "config"])
def test_half_of_a_model_is_none(cache: Path, harm: str) -> None:
    snapshot = hub.hub_cache() / "models--owner--parts" / "snapshots" / COMMIT
    snapshot.mkdir(parents=True)
    shards = ["model-1-of-2.safetensors", "model-2-of-2.safetensors"]
    (snapshot / hub.INDEX).write_text(json.dumps({"weight_map": {"a": shards[0], "b": shards[1]}}))
    for name in ("config.json", *shards):
        (snapshot / name).write_text("{}")
    assert hub.cached("owner/parts") == snapshot and is_available("owner/parts")
    if harm == "index":
        (snapshot / hub.INDEX).write_text("half")
    else:
        (snapshot / {"shard": shards[1], "config": "config.json"}[harm]).unlink()
    assert hub.cached("owner/parts") is None and not is_available("owner/parts")


def test_the_catalog_is_told_truthfully(capsys: pytest.CaptureFixture[str]) -> None:
    assert len({entry.name.casefold() for entry in CATALOG}) == len({entry.hub_id for entry in CATALOG}) == len(CATALOG)
    families = {entry.family for entry in CATALOG}
    assert families == {"encoder", "decoder", "encoder-decoder"}
    for entry in CATALOG:
        if entry.bundled is None:
            assert entry.hub_id is not None and entry.hub_id.count("/") == 1
            assert resolve(entry.hub_id).entry is entry
        else:
            assert (entry.bundled / "model.safetensors").stat().st_size == entry.size_bytes
            assert resolve(entry.name).entry is entry
        assert 1.9 < entry.size_bytes / entry.parameters < 4.5  # bytes of a weight: half precision, or float32 and more
    assert main(["list"]) == 0
    assert "gpt2: next-token, 12 layers x 12 heads, 124.4 M weights, 548 MB, MIT" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "kind", "sizes"),
    [
        ("gpt2", "GPT2LMHead", {}),
        ("distilgpt2", "GPT2LMHead", {"n_layer": 6}),
        ("bert-base-uncased", "BertForMaskedLM", {}),
        ("bert-base-chinese", "BertForMaskedLM", {"vocab_size": 21128}),
        ("distilbert-base-uncased", "DistilBertForMaskedLM", {}),
        ("t5-small", "T5ForConditionalGeneration", {}),
    ],
)
def test_sizes_of_the_catalog_are_those_of_the_architecture(name: str, kind: str, sizes: dict[str, int]) -> None:
    import transformers

    (entry,) = (entry for entry in CATALOG if entry.name == name)
    model = getattr(transformers, kind + "Model" * kind.endswith("Head"))
    with torch.device("meta"):  # sizes alone, no memory
        made = model(model.config_class(**sizes))
    made.tie_weights()
    assert sum(parameter.numel() for parameter in made.parameters()) == entry.parameters
    assert (made.config.num_hidden_layers, made.config.num_attention_heads) == (entry.layers, entry.heads)


def test_weights_are_counted_while_a_model_is_built(folder: Path) -> None:
    told: list[tuple[str, int, int]] = []
    (folder / "extra.json").write_text("{}")
    load(folder, progress=lambda *how_far: told.append(how_far))
    total = told[-1][2]
    assert told == [("weights", done, total) for done in range(total + 1)] and total > 10


def test_loading_that_is_ended_leaves_nothing_and_can_begin_anew(folder: Path) -> None:
    from transformers.utils import logging

    def stop(_stage: str, done: int, _total: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    before = logging._tqdm_hook
    with pytest.raises(KeyboardInterrupt):
        load(folder, progress=stop)
    assert logging._tqdm_hook is before
    assert loaded(folder) is None
    assert load(folder, progress=ignore).run("the cat").agreement is not None
    assert loaded(folder) is load(folder)
    assert loaded("no such thing") is None
