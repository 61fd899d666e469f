"""What is shown, as files: arrays (.npz), a table (.csv), plain text for machines (.json)."""

import csv
import io
import json
from typing import Any

import numpy as np

from viz.services.attention import Request
from viz.services.export_tables import about_request, nested
from viz.services.views import STAGES, CallView

_COLUMNS = ("head", "query", "query_token", "key", "key_token", "allowed", "intended", *STAGES)


def about(request: Request, shown: CallView) -> dict[str, Any]:
    """What the numbers are of: source, texts, call, sample, tokens, settings, versions; for JSON."""
    return about_request(request) | {
        "call": shown.call.name,
        "sample": shown.sample,
        "query_tokens": [token.label for token in shown.query_tokens],
        "key_tokens": [token.label for token in shown.key_tokens],
        "padded_queries": [token.padding for token in shown.query_tokens],
        "padded_keys": [token.padding for token in shown.key_tokens],
        "axes": ["head", "query (who looks)", "key (who is looked at)"],
        "mask": "allowed: true = may attend",
    }


def as_npz(request: Request, shown: CallView) -> bytes:
    """All heads at every stage, (heads, q_len, k_len) float32, ``allowed`` and ``intended`` bool, ``about`` as JSON.

    Tokens are arrays of strings; nothing in the file needs pickle.
    """
    arrays: dict[str, np.ndarray] = {stage: getattr(shown, stage) for stage in STAGES}
    arrays |= {"allowed": shown.allowed, "intended": shown.intended}
    arrays["query_tokens"] = _strings(token.label for token in shown.query_tokens)
    arrays["key_tokens"] = _strings(token.label for token in shown.key_tokens)
    arrays["about"] = np.array(json.dumps(about(request, shown), ensure_ascii=False))
    file = io.BytesIO()
    np.savez_compressed(file, allow_pickle=False, **arrays)
    return file.getvalue()


def as_csv(shown: CallView, head: int) -> bytes:
    """One head, one line per cell, UTF-8 with a mark for spreadsheets; numbers in the shortest form that reads back.

    Raises:
        IndexError: if there is no such head.
    """
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(_COLUMNS)
    stages = list(shown.stages_of(head).values())
    for i, query in enumerate(shown.query_tokens):
        for j, key in enumerate(shown.key_tokens):
            masks = (int(shown.allowed[head, i, j]), int(shown.intended[head, i, j]))
            values = (str(stage[i, j]) for stage in stages)
            writer.writerow((head, i, query.label, j, key.label, *masks, *values))
    return file.getvalue().encode("utf-8-sig", "surrogatepass")


def as_json(request: Request, shown: CallView) -> bytes:
    """All heads at every stage as nested lists; NaN and infinities, which JSON has not, are strings."""
    told = about(request, shown)
    told |= {stage: nested(getattr(shown, stage)) for stage in STAGES}
    told |= {"allowed": shown.allowed.tolist(), "intended": shown.intended.tolist()}
    return json.dumps(told, ensure_ascii=False, allow_nan=False).encode("utf-8", "surrogatepass")


def _strings(labels: Any) -> np.ndarray:
    return np.array(list(labels), dtype=np.str_)
