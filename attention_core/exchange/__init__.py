"""Files in and out: recordings and arrays as .safetensors, foreign arrays, pasted text. Reading executes nothing."""

from attention_core.exchange.foreign import load_arrays
from attention_core.exchange.limits import DEFAULT_LIMITS, Arrays, FileRefused, Limits
from attention_core.exchange.paste import parse_paste
from attention_core.exchange.recordings import is_recording, load_recording, recording_of, save_recording
from attention_core.exchange.traces import load_trace, save_trace

__all__ = [
    "DEFAULT_LIMITS",
    "Arrays",
    "FileRefused",
    "Limits",
    "is_recording",
    "load_arrays",
    "load_recording",
    "load_trace",
    "parse_paste",
    "recording_of",
    "save_recording",
    "save_trace",
]
