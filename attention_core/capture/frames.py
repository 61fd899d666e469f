"""Who called: the user's line and the module, read from the stack, so that no hook is needed."""

import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType

import torch
from torch import nn

_TORCH = str(Path(torch.__file__).parent)
_HERE = str(Path(__file__).parent)
_LIBRARIES = tuple(
    {sysconfig.get_paths()[kind] for kind in ("stdlib", "platstdlib", "purelib", "platlib")} | {_TORCH, _HERE}
)
_MACHINERY = str(Path(_TORCH, "nn", "modules", "module.py"))  # Module.__call__ and its kin: same self as forward
_NO_FAST_PATH = "some Tensor argument has_torch_function"  # torch's own word for: a TorchFunctionMode is on
_FAST_PATH_MODULES = tuple(str(Path(_TORCH, "nn", "modules", name)) for name in ("activation.py", "transformer.py"))


@dataclass(frozen=True)
class Place:
    """Where a call came from.

    Attributes:
        file, line: innermost frame of the user's own code (neither torch nor an installed package); the innermost
            frame outside torch where there is none.
        via: "file:line" of the innermost frame outside torch, the line that called the attention.
        module: path of the innermost ``nn.Module`` on the stack below the outermost one, "" for the outermost itself.
        module_class: its class; "" where no module is on the stack.
        fast_path_lost: a fused kernel of torch would have run, had nobody recorded.
        padding_lost: the same, where that kernel sets padded rows to zero.
    """

    file: str
    line: int
    via: str
    module: str
    module_class: str
    fast_path_lost: bool
    padding_lost: bool


@dataclass(frozen=True)
class _Told:
    """What a code object says about its frames."""

    in_torch: bool
    in_library: bool
    has_self: bool
    may_be_fast: bool


class Places:
    """Looks up the stack; remembers the paths of modules below each outermost module."""

    def __init__(self) -> None:
        self._paths: dict[int, tuple[nn.Module, dict[int, str]]] = {}
        self._known: dict[int, tuple[CodeType, _Told]] = {}  # by id: the hash of code is slow

    def here(self) -> Place:
        """The place of the call being recorded."""
        inner: FrameType | None = None
        user: FrameType | None = None
        chain: list[nn.Module] = []  # innermost first
        fast = padded = False
        for frame in _outwards():
            code = self._told(frame.f_code)
            if not code.in_torch:
                inner = inner or frame
                if user is None and not code.in_library:
                    user = frame
            if code.has_self:
                local = frame.f_locals
                owner = local.get("self")
                if isinstance(owner, nn.Module) and (not chain or chain[-1] is not owner):
                    chain.append(owner)
                if code.may_be_fast:
                    if local.get("why_not_fast_path") == _NO_FAST_PATH:
                        fast = True
                    if local.get("why_not_sparsity_fast_path") == _NO_FAST_PATH:
                        fast = True
                        padded = padded or local.get("src_key_padding_mask") is not None
        user = user or inner
        path, name = self._path(chain)
        return Place(
            file=user.f_code.co_filename if user else "",
            line=user.f_lineno if user else 0,
            via=f"{inner.f_code.co_filename}:{inner.f_lineno}" if inner else "",
            module=path,
            module_class=name,
            fast_path_lost=fast,
            padding_lost=padded,
        )

    def _told(self, code: CodeType) -> _Told:
        known = self._known.get(id(code))
        if known is None:
            file = code.co_filename
            told = _Told(
                in_torch=file.startswith(("<", _TORCH, _HERE)),
                in_library=file.startswith(("<", *_LIBRARIES)),
                has_self="self" in code.co_varnames[:1] and file != _MACHINERY,
                may_be_fast=file in _FAST_PATH_MODULES,
            )
            known = self._known[id(code)] = (code, told)
        return known[1]

    def _path(self, chain: list[nn.Module]) -> tuple[str, str]:
        """Path of the innermost module below the outermost one that contains it."""
        if not chain:
            return "", ""
        for root in reversed(chain):
            known = self._paths.get(id(root))
            if known is None or id(chain[0]) not in known[1]:  # a module may have been added since
                known = (root, {id(module): name for name, module in root.named_modules()})
                self._paths[id(root)] = known
            if id(chain[0]) in known[1]:
                return known[1][id(chain[0])], type(chain[0]).__name__
        return "", type(chain[0]).__name__


def _outwards() -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        yield frame
        frame = frame.f_back
