"""Python's and NumPy's random numbers: the digests of their generators' states as settings."""

import hashlib
import random
import struct
import sys

from . import capture
from .imports import after_import

_seen = {}  # what each generator's state was when it was last looked at


def _digest(*parts: bytes) -> str:
    return hashlib.blake2b(b"".join(parts), digest_size=16).hexdigest()


def _python_state() -> tuple:
    # getstate() hashes to another number in each run: its None hashes to an address up to 3.11.
    version, words, gauss = random.getstate()
    return words, repr((version, gauss))


def _numpy_state() -> tuple:
    state = sys.modules["numpy.random"].get_state(legacy=False)
    rest = (state["bit_generator"], state["state"]["pos"], state["has_gauss"], state["gauss"])
    return tuple(state["state"]["key"].tolist()), repr(rest)


def _look(library, name: str, state: tuple) -> None:
    mark = hash(state)
    if _seen.get(name) == mark:
        return
    _seen[name] = mark
    words, rest = state
    digest = _digest(struct.pack(f"{len(words)}Q", *words), rest.encode())
    library.setting(capture.text("note.rng." + name), digest.encode())


def look(library) -> None:
    """Notes the states that have changed since they were looked at. A generator that is neither
    seeded nor used starts with another state in each run, which means nothing."""
    _look(library, "python", _python_state())
    if "numpy.random" in sys.modules:
        _look(library, "numpy", _numpy_state())


def follow() -> None:
    """To be called once, before the program can have used the generators."""
    _seen["python"] = hash(_python_state())
    after_import("numpy.random", lambda module: _seen.update(numpy=hash(_numpy_state())))

    def note_versions(library) -> None:
        library.setting(b"python.version", sys.version.split()[0].encode())
        library.setting(b"python.hash_randomization", str(sys.flags.hash_randomization).encode())
        if "numpy" in sys.modules:
            library.setting(b"numpy.version", sys.modules["numpy"].__version__.encode())

    capture.when_recording(note_versions)
