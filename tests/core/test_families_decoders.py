"""Decoders with our attention inside are what they are on transformers' own eager path."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.core.families import DECODERS, check_family


@pytest.mark.parametrize("name", DECODERS)
def test_the_model_is_the_model(tiny_folder: Callable[..., Path], name: str) -> None:
    check_family(tiny_folder(name, specials=False, **DECODERS[name]), name)
