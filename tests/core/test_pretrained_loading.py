"""What can go wrong while loading says so, with a code and a remedy; what is not asked for is not imported."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer, models

from attention_core.pretrained import CATALOG, LoadError, is_available, load
from attention_core.pretrained.loading import Once

TINY = {"specials": True, "hidden_size": 33, "num_attention_heads": 3, "num_hidden_layers": 1, "intermediate_size": 37}
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def folder(tiny_folder: Callable[..., Path]) -> Path:
    return tiny_folder("Bert", **TINY)


def refusal(name: str | Path) -> LoadError:
    with pytest.raises(LoadError) as caught:
        load(name)
    assert caught.value.name == str(name)
    return caught.value


def test_a_folder_loads_and_is_available(folder: Path) -> None:
    assert is_available(folder)
    model = load(folder)
    assert load(str(folder)) is model
    run = model.run("the cat sat")
    assert run.source == str(folder)
    assert run.answer is not None and run.answer.kind == "output"
    assert torch.equal(run.answer.values, run.output)


def test_a_folder_that_was_saved_anew_is_another_model(folder: Path) -> None:
    from transformers import BertModel

    before = load(folder)
    again = BertModel.from_pretrained(folder)
    with torch.no_grad():
        again.embeddings.word_embeddings.weight.mul_(2)
    again.save_pretrained(folder)
    after = load(folder)
    assert after is not before
    assert not torch.equal(after.run("the cat").output, before.run("the cat").output)


@pytest.mark.parametrize("name", ["/nowhere/at/all", "./nowhere", "a/b/c", "~nobody"])
def test_folders_that_do_not_exist(name: str) -> None:
    error = refusal(name)
    assert error.code == "not-found"
    assert f"a model folder must exist: got {name!r}; check the path" in str(error)
    assert not is_available(name)


def test_names_that_nobody_knows() -> None:
    assert "a model needs a name: got ''; the catalog has all-MiniLM-L6-v2" in str(refusal(""))
    assert not is_available("")
    error = refusal("minilm")
    assert error.code == "not-found"
    names = ", ".join(entry.name for entry in CATALOG)
    assert f"a model is a name of the catalog ({names}), a folder, or owner/name on the hub: got 'minilm'" in str(error)


def test_a_hub_model_without_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADSCOPE_CACHE", str(tmp_path))
    assert not is_available("owner/model")
    error = refusal("owner/model")  # tests run with the hub switched off
    assert error.code == "no-network"
    assert "the model hub cannot be reached; connect and try again, or use all-MiniLM-L6-v2, which needs no hub" in str(
        error
    )


def test_a_hub_model_in_the_cache(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADSCOPE_CACHE", str(tmp_path))
    home = tmp_path / "hub" / "models--owner--tiny"
    snapshot = home / "snapshots" / ("a" * 40)
    snapshot.mkdir(parents=True)
    for file in folder.iterdir():
        (snapshot / file.name).write_bytes(file.read_bytes())
    (home / "refs").mkdir()
    (home / "refs" / "main").write_text("a" * 40)
    assert is_available("owner/tiny")
    run = load("owner/tiny").run("the cat sat")
    assert run.source == "owner/tiny"
    assert torch.equal(run.output, load(folder).run("the cat sat").output)


def test_a_folder_without_config(tmp_path: Path) -> None:
    error = refusal(tmp_path)
    assert error.code == "not-found"
    assert "a model folder needs a config.json that transformers knows" in str(error)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "no-such-family"}))
    assert refusal(tmp_path).code == "not-found"


def test_weights_must_be_safetensors(folder: Path) -> None:
    weights = folder / "model.safetensors"
    torch.save({}, folder / "pytorch_model.bin")
    weights.unlink()
    assert not is_available(folder)
    error = refusal(folder)
    assert error.code == "no-weights"
    assert "weights must be safetensors, other formats can run code" in str(error)


def test_weights_that_are_not_whole(folder: Path) -> None:
    from safetensors.torch import load_file, save_file

    tensors = load_file(folder / "model.safetensors")
    del tensors["encoder.layer.0.attention.self.query.weight"]
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    error = refusal(folder)
    assert error.code == "incomplete"
    assert "1 are missing, first encoder.layer.0.attention.self.query.weight" in str(error)
    (folder / "model.safetensors").write_bytes(b"\x00" * 7)
    assert refusal(folder).code == "damaged"


def test_a_folder_without_tokenizer(folder: Path) -> None:
    for file in folder.glob("*token*"):
        file.unlink()
    error = refusal(folder)
    assert error.code == "no-tokenizer"
    assert "needs its tokenizer beside it, best as tokenizer.json" in str(error)


def test_a_tokenizer_of_another_model(folder: Path) -> None:
    file = folder / "tokenizer.json"
    words = json.loads(file.read_text())
    words["model"]["vocab"]["further"] = 99
    file.write_text(json.dumps(words))
    model = load(folder)
    assert model.run("the cat").calls
    with pytest.raises(
        ValueError, match=r"ids must be below the 23 that .* has: got 99; its tokenizer belongs to another"
    ):
        model.run("the further cat")


def test_two_stacks_that_do_not_write_are_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert", "is_encoder_decoder": True}))
    error = refusal(tmp_path)
    assert error.code == "unsupported"
    assert "a model of two stacks must write text" in str(error)


def test_models_that_do_not_read_text_are_refused(tmp_path: Path) -> None:
    from transformers import ViTConfig, ViTModel

    tiny = {"hidden_size": 12, "num_hidden_layers": 1, "num_attention_heads": 3, "image_size": 8, "patch_size": 4}
    ViTModel(ViTConfig(**tiny)).save_pretrained(tmp_path)  # pyright: ignore[reportArgumentType]
    error = refusal(tmp_path)
    assert error.code == "unsupported"
    assert "must read text" in str(error)


def test_models_that_need_more_than_text_are_refused(tmp_path: Path) -> None:
    from transformers import CLIPConfig, CLIPModel, PreTrainedTokenizerFast

    part = {"hidden_size": 12, "intermediate_size": 13, "num_hidden_layers": 1, "num_attention_heads": 3}
    vision = {**part, "image_size": 8, "patch_size": 4}
    CLIPModel(CLIPConfig(text_config={**part, "vocab_size": 23}, vision_config=vision)).save_pretrained(tmp_path)
    backend = Tokenizer(models.WordLevel({"a": 0, "?": 1}, unk_token="?"))
    PreTrainedTokenizerFast(tokenizer_object=backend).save_pretrained(tmp_path)
    error = refusal(tmp_path)
    assert error.code == "unsupported"
    assert "CLIPModel" in str(error)


def test_settings_saved_in_the_config_do_not_matter(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "output_attentions": True, "use_cache": True}))
    model = load(folder)
    run = model.run("the cat sat")
    assert run.agreement is not None and run.agreement.passed
    assert not any(part._forward_hooks for part in model._module.modules())  # what collecting attentions would leave


def test_once_makes_each_thing_once_and_forgets_failures() -> None:
    once: Once[object] = Once()
    tries: list[str] = []

    def fail() -> object:
        tries.append("fail")
        raise OSError("no")

    with pytest.raises(OSError, match="no"):
        once.get("a", fail)
    thing = once.get("a", object)
    assert once.get("a", fail) is thing
    assert once.get("b", object) is not thing
    assert tries == ["fail"]


def test_nothing_heavy_is_imported_before_a_model_is_loaded() -> None:
    heavy = ("transformers", "tokenizers", "huggingface_hub", "safetensors")
    program = (
        "import sys, attention_core.pretrained as room; room.is_available('all-MiniLM-L6-v2');"
        f"room.Switches(scaling=False); print([m for m in {heavy} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
