"""Records the attention of any PyTorch program that runs inside ``record()``, without changing the program.

    with record() as recording:
        my_model(x)
    recording.calls[0].weights

What is seen:

- ``F.scaled_dot_product_attention`` under any name, with grad, no_grad and inference_mode;
- ``nn.MultiheadAttention``, ``nn.TransformerEncoder``, ``nn.TransformerDecoder``, ``nn.Transformer``, per head also
  where the program asked for no weights or for their mean;
- transformers models on sdpa and eager;
- ``flex_attention`` outside torch.compile;
- attention written by hand, a softmax (F, torch, Tensor, nn) between two products (@, matmul, bmm, baddbmm, einsum):
  best effort, and labelled so.

Query, key, value, masks and output are copied, so that caches and optimisers may overwrite theirs. The program
computes what it would compute anyway, with one exception that the notes name: torch leaves its fused fast path of
encoder layers as soon as anybody listens. Weights are rebuilt by our core when they are asked for, and ``reproduces``
says whether they give the program's own output.

What is not seen: torch.jit.script, exported modules, models under torch.compile (run them with
``torch.compiler.set_stance("force_eager")``), direct calls of ``torch.ops.aten``, a softmax written as exp over sum,
other threads than the one that entered ``record()`` (each may enter its own), tensors inside torch.func transforms.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from attention_core.capture.recorder import Recorder
from attention_core.capture.records import RebuildError, Record, Recording, Reproduction

__all__ = ["RebuildError", "Record", "Recording", "Reproduction", "record"]


@contextmanager
def record() -> Iterator[Recording]:
    """Records every attention that this thread runs inside the ``with``.

    Nothing is patched and nothing is left behind; recordings of several threads do not mix.

    Yields:
        Recording, which fills while the program runs; also after an exception it holds what ran before.
    """
    recording = Recording()
    recorder = Recorder(recording)
    try:
        with recorder:
            yield recording
    finally:
        recorder.close()
