"""Pretrained models with our attention inside; the only room that imports transformers, and only to load a model."""

from attention_core.pretrained.catalog import CATALOG, DEFAULT_MODEL, CatalogEntry, find_entry
from attention_core.pretrained.errors import LoadError
from attention_core.pretrained.fetching import FetchError, cache_folder, fetch
from attention_core.pretrained.generation import Generation, Step
from attention_core.pretrained.loading import load, loaded
from attention_core.pretrained.padding import PaddingEffect, padding_effect
from attention_core.pretrained.running import BusyError, Model
from attention_core.pretrained.samples import Chat, Pair, Sample
from attention_core.pretrained.sources import bring, is_available
from attention_core.pretrained.switches import ABLATIONS, MASK_SWITCHES, Switches

__all__ = [
    "ABLATIONS",
    "CATALOG",
    "DEFAULT_MODEL",
    "MASK_SWITCHES",
    "BusyError",
    "Chat",
    "Generation",
    "Pair",
    "PaddingEffect",
    "Sample",
    "Step",
    "CatalogEntry",
    "FetchError",
    "LoadError",
    "Model",
    "Switches",
    "bring",
    "cache_folder",
    "fetch",
    "find_entry",
    "is_available",
    "load",
    "loaded",
    "padding_effect",
]
