"""Python's and NumPy's random numbers: the digests of their generators' states as settings.

Both are MT19937 in memory that stays in place, which is read in a microsecond; asking for the states
takes fifty. Not seen there is half of a pair of normal numbers that NumPy keeps.
"""

import array
import ctypes
import hashlib
import random
import sys

from . import capture
from .guard import failed
from .imports import after_import

_WORDS = 624
_STATE_BYTES = 4 * _WORDS + 4  # and the position in them


class _Memory:
    """The words and the position of a generator that is alive as long as this."""

    def __init__(self, generator, address: int) -> None:
        self.generator = generator
        self.address = address

    def read(self) -> bytes:
        return ctypes.string_at(self.address, _STATE_BYTES)


def _memory_of_python(generator):
    """`struct { PyObject_HEAD int index; uint32_t state[624]; }` (CPython's _randommodule.c)."""
    memory = _Memory(generator, id(generator) + object.__basicsize__)
    words = generator.getstate()[1]
    expected = b"".join(word.to_bytes(4, sys.byteorder) for word in (words[-1], *words[:-1]))
    return memory if memory.read() == expected else None


def _memory_of_numpy(bits):
    """`struct { uint32_t key[624]; int pos; }` (NumPy's mt19937.h)."""
    if type(bits).__name__ != "MT19937":
        return None
    memory = _Memory(bits, bits.ctypes.state_address)
    state = bits.state["state"]
    expected = state["key"].tobytes() + int(state["pos"]).to_bytes(4, sys.byteorder)
    return memory if memory.read() == expected else None


class _Python:
    name = "python"

    @staticmethod
    def generator():
        return random._inst

    memory_of = staticmethod(_memory_of_python)

    @staticmethod
    def parts(memory: bytes) -> tuple:
        return memory[4:], int.from_bytes(memory[:4], sys.byteorder)

    @staticmethod
    def following(words: bytes) -> bytes:
        generator = random.Random()
        generator.setstate((3, (*memoryview(words).cast("I"), _WORDS), None))
        generator.getrandbits(32)
        return array.array("I", generator.getstate()[1][:_WORDS]).tobytes()

    @staticmethod
    def state(generator) -> bytes:
        # getstate() hashes to another number in each run: its None hashes to an address up to 3.11.
        return repr(generator.getstate()).encode()

    @staticmethod
    def kept(generator):
        """Half of a pair of normal numbers."""
        return generator.gauss_next


class _NumPy:
    name = "numpy"

    @staticmethod
    def generator():
        return sys.modules["numpy.random"].mtrand._rand._bit_generator

    memory_of = staticmethod(_memory_of_numpy)

    @staticmethod
    def parts(memory: bytes) -> tuple:
        return memory[:-4], int.from_bytes(memory[-4:], sys.byteorder)

    following = _Python.following

    @staticmethod
    def state(generator) -> bytes:
        return repr(generator.state).encode()

    @staticmethod
    def kept(generator):
        return None


class _Watch:
    """A generator's state as it was when it was last looked at."""

    def __init__(self, kind) -> None:
        self._kind = kind
        self._generator = None
        self._memory = None
        self._told = None  # the library that knows of `_seen`
        self._seen = self._first = self._read()

    def _read(self) -> tuple:
        generator = self._kind.generator()
        if generator is not self._generator:
            self._generator = generator
            self._memory = self._kind.memory_of(generator)
        state = self._kind.state(generator) if self._memory is None else self._memory.read()
        return state, self._kind.kept(generator)

    def look(self, library) -> None:
        state = self._read()
        if state == self._seen and (self._told is library or state == self._first):
            return
        self._seen, self._told = state, library
        library.setting(capture.text("note.rng." + self._kind.name), self._text(*state).encode())

    def _text(self, state: bytes, kept) -> str:
        """The digest of the words that are made at once, 624 of them, and which of these comes next."""
        if self._memory is None:
            return hashlib.blake2b(state + repr(kept).encode(), digest_size=16).hexdigest()
        words, position = self._kind.parts(state)
        if position == _WORDS:
            words, position = self._kind.following(words), 0
        half = "" if kept is None else f" and {kept!r}"
        return f"{hashlib.blake2b(words, digest_size=16).hexdigest()} at {position}{half}"


_watches = []


def look(library) -> None:
    """Notes the states that have changed since they were looked at. A generator that is neither
    seeded nor used starts with another state in each run, which means nothing."""
    for watch in _watches:
        watch.look(library)


def _look_guarded(library) -> None:
    try:
        look(library)
    except Exception as error:
        failed("the states of generators", error)


def follow() -> None:
    """To be called once, before the program can have used the generators."""
    _watches.append(_Watch(_Python))
    after_import("numpy.random", lambda module: _watches.append(_Watch(_NumPy)))

    def note_versions(library) -> None:
        library.setting(b"python.version", sys.version.split()[0].encode())
        library.setting(b"python.hash_randomization", str(sys.flags.hash_randomization).encode())
        if "numpy" in sys.modules:
            library.setting(b"numpy.version", sys.modules["numpy"].__version__.encode())

    capture.when_recording(note_versions)
    capture.at_both_ends(_look_guarded)
