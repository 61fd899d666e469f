"""Encoders with our attention inside are what they are on transformers' own eager path."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.core.families import ENCODERS, check_family


@pytest.mark.parametrize("name", ENCODERS)
def test_the_model_is_the_model(tiny_folder: Callable[..., Path], name: str) -> None:
    check_family(tiny_folder(name, specials=True, **ENCODERS[name]), name)
