"""Kernels that run past LibTorch's dispatcher, as events."""

import ctypes

from . import capture, tensors
from .guard import failed


class Kernel:
    """What the capture library knows of a kernel.

    `code` identifies it: where two runs have other code, their bits may differ.
    """

    def __init__(self, name: str, code: str) -> None:
        self.name = name
        self._code = code
        self._known = {}
        self._known_to = None

    def _registered(self, library, access: tuple):
        """`access` is (name, 'r' or 'w') of each tensor: whether it is read, or written and perhaps read."""
        if self._known_to is not library:
            self._known = {}
            self._known_to = library
        number = self._known.get(access)
        if number is None:
            number = self._known[access] = library.kernel(
                capture.text(self.name),
                capture.text(",".join(name for name, _ in access)),
                "".join(way for _, way in access).encode(),
                self._code.encode(),
            )
        return number

    def begin(self, access: tuple, values: list, numbers: str) -> int:
        """It is called with these tensors and with these numbers. To be given to `end`."""
        library = capture.library()
        if library is None:
            return 0
        number = self._registered(library, access)
        return library.begin_kernel(number, values, capture.text(numbers))


class Graph(Kernel):
    """A graph that a compiler has made one function of: what it calls is not seen."""

    def begin_with(self, tensors):
        """It is called with these tensors. To be given to `end_graph`, None if there is nothing to end."""
        library = capture.library()
        if library is None:
            return None
        number = self._registered(library, (("inputs", "p"),))
        return library.begin_graph(number, *_addresses(tensors))


def is_generated(file: str) -> None:
    """A compiler has written this file: lines in it are not the program's."""
    capture.when_recording(lambda library: library.generated(capture.text(file)))


def _addresses(values) -> tuple:
    """Those of the tensors among them, and how many these are."""
    found = [address for address in map(tensors.address_of, values) if address is not None]
    return (ctypes.c_void_p * len(found))(*found), len(found)


def end_graph(frames, results, threw: bool) -> None:
    if frames is None:
        return
    try:
        library = capture.library()
        if library is not None:
            library.end_graph(frames, threw, *_addresses(results))
    except Exception as error:
        failed("a compiled graph", error)


def end(frames: int, threw: bool) -> None:
    if not frames:
        return
    try:
        library = capture.library()
        if library is not None:
            library.end_kernel(frames, threw)
    except Exception as error:
        failed("a compiled kernel", error)
