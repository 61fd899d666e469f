"""What several test files share: the fetched model, and tiny random models of real families in a folder."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from attention_core.pretrained import DEFAULT_MODEL, FetchError, Model, fetch, load

SMOLLM2 = "SmolLM2-135M-Instruct"
WORDS = "the cat sat on a mat and looked at my dog who was there in old red hat".split()


@pytest.fixture(scope="session")
def minilm_folder() -> Path:
    """Folder of the default pretrained model, fetched the way users fetch it; a test that needs it fails without it."""
    try:
        return fetch(DEFAULT_MODEL)
    except FetchError as error:
        return pytest.fail(f"this test needs {DEFAULT_MODEL}: {error}; python -m attention_core.pretrained fetch")


@pytest.fixture(scope="session")
def minilm(minilm_folder: Path) -> Model:
    """The default pretrained model, loaded once."""
    return load(DEFAULT_MODEL)


@pytest.fixture(scope="session")
def smollm2_folder() -> Path:
    """Folder of the small decoder, fetched and converted the way users do it; a test that needs it fails without."""
    try:
        return fetch(SMOLLM2)
    except FetchError as error:
        return pytest.fail(f"this test needs {SMOLLM2}: {error}; python -m attention_core.pretrained fetch {SMOLLM2}")


@pytest.fixture(scope="session")
def smollm2(smollm2_folder: Path) -> Model:
    """The small decoder (30 layers, 9 heads, 3 key/value heads), loaded once."""
    return load(SMOLLM2)


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Makes a folder with a tiny random model and a tokenizer of whole words beside it.

    ``family`` is one of transformers ("GPT2": the model without a head) or a class of it ("GPT2LMHeadModel").
    """

    def make(family: str, *, specials: bool = False, **sizes: Any) -> Path:
        import transformers

        kind = getattr(transformers, family, None)
        config_kind = getattr(transformers, f"{family}Config") if kind is None else kind.config_class
        config = config_kind(vocab_size=len(WORDS) + 5, pad_token_id=0, **sizes)
        model = (transformers.AutoModel.from_config(config) if kind is None else kind(config)).eval()
        generator = torch.Generator().manual_seed(7)
        with torch.no_grad():
            for parameter in model.parameters():
                noise = torch.randn(parameter.shape, generator=generator)
                # matrices wide enough to make attention far from uniform; vectors (norms, offsets) near what they were
                parameter.copy_(0.4 * noise if parameter.dim() > 1 else parameter + 0.1 * noise)
        folder = tmp_path_factory.mktemp(family.lower())
        model.save_pretrained(folder)
        word_tokenizer(specials=specials).save_pretrained(folder)
        return folder

    return make


def word_tokenizer(*, specials: bool) -> Any:
    """One token per word of ``WORDS``; with ``specials`` also [CLS] before and [SEP] after the text. [PAD] has id 0."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    backend = Tokenizer(models.WordLevel({w: i for i, w in enumerate([*names, *WORDS])}, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()  # pyright: ignore[reportAttributeAccessIssue]
    if specials:
        backend.post_processor = processors.TemplateProcessing(  # pyright: ignore[reportAttributeAccessIssue]
            single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
        )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]",
        mask_token="[MASK]",
    )  # fmt: skip


os.environ.setdefault("HF_HUB_OFFLINE", "1")  # no test may reach for a model hub
torch.set_num_threads(1)  # as the app does: threads of one operation wait for each other, badly so on a busy machine
