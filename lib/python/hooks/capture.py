"""The functions of the capture library (lib/capture/python_calls.cpp).

Called by ctypes with the GIL held: what they are given lives until they return. Calls of modules have functions of
the interpreter (python_module_calls.cpp).
"""

import ctypes
import functools
import os
import sys

# Of the preloaded object; a process that only records itself has none.
_preloaded = getattr(ctypes.PyDLL(None), "ulpscope_recording_library", None)
if _preloaded is not None:
    _preloaded.restype = ctypes.c_void_p

_library = None

_SIGNATURES = {
    "root": (ctypes.c_void_p, [ctypes.c_uint32, ctypes.c_char_p]),
    "add_module": (None, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t]),
    "add_tensor": (
        None,
        [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_size_t],
    ),
    "learn": (None, [ctypes.c_void_p, ctypes.c_void_p]),
    "forget_gradients": (None, []),
    "keep": (None, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_uint32]),
    "forget_root": (None, [ctypes.c_uint32]),
    "begin_swap": (None, [ctypes.c_void_p] * 2),
    "end_swap": (None, [ctypes.c_void_p] * 4),
    "tensors": (None, [ctypes.py_object, ctypes.py_object, ctypes.py_object]),
    "follow_modules": (None, [ctypes.py_object] * 4),
    "begin_module": (ctypes.py_object, []),
    "end_module": (ctypes.py_object, []),
    "begin_step": (
        ctypes.c_size_t,
        [
            ctypes.c_char_p,
            ctypes.c_uint64,
            ctypes.c_int,
            ctypes.c_char_p,
            ctypes.c_char_p,
            ctypes.c_size_t,
        ],
    ),
    "new_object": (ctypes.c_uint64, []),
    "begin_zero_grad": (ctypes.c_size_t, [ctypes.c_char_p, ctypes.c_uint64]),
    "end": (None, [ctypes.c_size_t, ctypes.c_int]),
    "setting": (None, [ctypes.c_char_p, ctypes.c_char_p]),
    "saved": (None, [ctypes.c_void_p]),
    "saves": (ctypes.c_uint64, []),
    "notice": (None, [ctypes.c_char_p]),
    "kernel": (
        ctypes.c_void_p,
        [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p],
    ),
    "begin_kernel": (
        ctypes.c_size_t,
        [ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p],
    ),
    "end_kernel": (None, [ctypes.c_size_t, ctypes.c_int]),
    "begin_graph": (ctypes.c_size_t, [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]),
    "end_graph": (None, [ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t]),
    "allocated": (None, [ctypes.py_object]),
    "in_compiled_code": (ctypes.c_int, []),
    "compiler": (None, [ctypes.c_int]),
    "generated": (None, [ctypes.c_char_p]),
    "step": (None, []),
    "begin_scope": (ctypes.c_void_p, [ctypes.c_char_p]),
    "end_scope": (None, [ctypes.c_void_p]),
    "note_rng": (None, [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t]),
    "leave_out_generators": (None, []),
    "note_batch": (None, [ctypes.c_char_p, ctypes.c_size_t]),
}


class _Library:
    """Its functions by their names, without the prefix `ulpscope_python_`."""

    def __init__(self, handle: int) -> None:
        library = ctypes.PyDLL("libulpscope_capture", handle=handle)
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(library, "ulpscope_python_" + name)
            function.restype = result
            function.argtypes = arguments
            setattr(self, name, function)
        # Other threads may have to take the lock for these to end.
        without_lock = ctypes.CDLL("libulpscope_capture", handle=handle)
        self.finish = without_lock.ulpscope_python_finish
        self.end_task = without_lock.ulpscope_python_end_task


_when_recording = []


def when_recording(function) -> None:
    """Calls `function` with the library once it records, before the hooks' next call of it."""
    if _library is not None:
        function(_library)
    else:
        _when_recording.append(function)


_at_begin = []
_at_end = []


def at_ends(begin, end) -> None:
    """Calls `begin` with the library each time a recording begins, and `end` when it ends."""
    _at_begin.append(begin)
    _at_end.append(end)


def _call(functions) -> None:
    for function in functions:
        function(_library)


def begin(handle: int) -> None:
    """The library with this handle records from now on."""
    global _library
    _library = _Library(handle)
    while _when_recording:
        _when_recording.pop(0)(_library)
    _call(_at_begin)


def end() -> None:
    """Nothing is recorded from now on."""
    global _library
    _call(_at_end)
    _library = None


def is_preloaded() -> bool:
    """Whether `ulpscope record` records this process."""
    return _preloaded is not None


def library():
    """The capture library, None while it does not record: it does from the program's first op on."""
    if _library is None and _preloaded is not None:
        handle = _preloaded()
        if handle:
            begin(handle)
    return _library


def text(value: str) -> bytes:
    """As C functions take it; what UTF-8 cannot say is escaped."""
    return value.encode("utf-8", "backslashreplace").replace(b"\0", b"\\0")


def finish() -> None:
    """The interpreter ends: sends what the run leaves before modules are taken apart."""
    if library() is not None:
        _call(_at_end)
        _library.finish()


def finish_before_exit() -> None:
    """Makes os._exit() send first what the run leaves."""
    leave = os._exit

    @functools.wraps(leave)
    def _exit(status):
        try:
            if _library is not None:
                _call(_at_end)
        finally:
            leave(status)

    _exit.__module__, _exit.__qualname__ = "os", "_exit"  # by which it is pickled
    os._exit = _exit
