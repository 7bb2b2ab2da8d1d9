"""Recording a part of a program from its own code."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import sys
from typing import Iterable

from . import _installation
from ._errors import Error

_MESSAGE_BYTES = 4096

_recorders = None


def _recorder_library():
    """Opened for all: what is loaded after it, as LibTorch, calls its jumps."""
    global _recorders
    if _recorders is None:
        library = ctypes.CDLL(_installation.recorder_library(), mode=ctypes.RTLD_GLOBAL)
        library.ulpscope_recorder_begin.restype = ctypes.c_void_p
        library.ulpscope_recorder_begin.argtypes = [
            ctypes.c_char_p,
            ctypes.POINTER(ctypes.c_char_p),
            ctypes.c_size_t,
            ctypes.c_char_p,
            ctypes.c_size_t,
        ]
        library.ulpscope_recorder_directory.restype = ctypes.c_char_p
        library.ulpscope_recorder_directory.argtypes = [ctypes.c_void_p]
        library.ulpscope_recorder_library.restype = ctypes.c_void_p
        library.ulpscope_recorder_end.restype = None
        library.ulpscope_recorder_end.argtypes = [ctypes.c_void_p]
        _recorders = library
    return _recorders


def _hooks():
    """The hooks, which are loaded once."""
    if "_ulpscope" not in sys.modules:
        folder = _installation.hooks()
        spec = importlib.util.spec_from_file_location(
            "_ulpscope", os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
        )
        hooks = importlib.util.module_from_spec(spec)
        sys.modules["_ulpscope"] = hooks
        spec.loader.exec_module(hooks)
    return sys.modules["_ulpscope"]


class record:
    """Records this process, on all its threads, while the context lasts:

        with ulpscope.record("runs/a", level="full"):
            train()

    One at a time; others may follow, each with its own dump. In a process that `ulpscope record`
    records it has no effect. Threads that were created, and CUDA graphs and collectives that were
    used, before the first `record` of a process are seen in part, and what torch.compile has
    compiled by then may be compiled again: where that matters, use the command, or make the first
    one before torch is imported.

    Args:
        directory: of the dump; empty: runs/PROGRAM-N.
        level: what is kept of a value: "digest", "stats", or "full", which keeps its bytes.
        capture: "ops", or "layers": what goes in and out of modules.
        steps: only these: "0-19", both included.
        modules, ops: globs of names; empty: all.
        ignore: globs of names of ops and modules that are left out.
        redact: globs of settings whose values are masked.
        verify: "full", or "off": inputs are not digested again.
        stacks: record the calls of native code, too.
        kernels: record which kernels an op launches on a GPU.
        max_bytes: the size of the dump at which the bytes of values end; 0: none.
        keep_last: steps that the dump keeps at least; 0: all.
        force: replace a dump that is in the directory.

    Raises:
        Error: at the begin of the context, if nothing can be recorded.
    """

    def __init__(
        self,
        directory: str | os.PathLike = "",
        *,
        level: str = "digest",
        capture: str = "ops",
        steps: str = "",
        modules: Iterable[str] = (),
        ops: Iterable[str] = (),
        ignore: Iterable[str] = (),
        redact: Iterable[str] = (),
        verify: str = "full",
        stacks: bool = False,
        kernels: bool = False,
        max_bytes: int = 0,
        keep_last: int = 0,
        force: bool = False,
    ) -> None:
        self._wanted = os.fsencode(directory)
        single = {
            "level": level,
            "capture": capture,
            "verify": verify,
            "steps": steps,
            "max_bytes": max_bytes,
            "keep_last": keep_last,
        }
        lists = {"modules": modules, "ops": ops, "ignore": ignore, "redact": redact}
        flags = {"stacks": stacks, "kernels": kernels, "force": force}
        self._options = [
            *(f"{name}={value}" for name, value in single.items() if value),
            *(f"{name}={value}" for name, values in lists.items() for value in values),
            *(f"{name}=on" for name, value in flags.items() if value),
        ]
        self._recorder = None
        self.directory = ""  #: of the dump while it is recorded and after that; empty if there is none

    def __enter__(self) -> record:
        if self._is_recorded_already():
            return self
        recorders = _recorder_library()
        import torch  # noqa: F401  (it brings in LibTorch, which is needed to begin)

        hooks = _hooks()
        options = (ctypes.c_char_p * len(self._options))(*map(os.fsencode, self._options))
        message = ctypes.create_string_buffer(_MESSAGE_BYTES)
        recorder = recorders.ulpscope_recorder_begin(
            self._wanted, options, len(options), message, len(message)
        )
        if not recorder:
            raise Error(message.value.decode(errors="replace"))
        self._recorder = recorder
        self.directory = os.fsdecode(recorders.ulpscope_recorder_directory(recorder))
        hooks.capture.begin(recorders.ulpscope_recorder_library())
        return self

    @staticmethod
    def _is_recorded_already() -> bool:
        hooks = sys.modules.get("_ulpscope")
        return hooks is not None and hooks.capture.is_preloaded()

    def __exit__(self, *_) -> None:
        if self._recorder is None:
            return
        _hooks().capture.end()
        recorder, self._recorder = self._recorder, None
        _recorder_library().ulpscope_recorder_end(recorder)
