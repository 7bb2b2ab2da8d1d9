"""Python's and NumPy's random numbers: the digests of their generators' states as settings.

Both are MT19937 in memory that stays in place, which is read in a microsecond; asking for the states
takes fifty. `begin.rng.NAME` is the state that a recording finds, whoever made it; `note.rng.NAME`
one that the program has made since PyTorch was imported; `end.rng.NAME` the one that it leaves, of
those that names in modules refer to, too. Half of a pair of normal numbers that NumPy keeps is in the
first and the last of these.
"""

import ctypes
import functools
import hashlib
import os
import random
import sys
import threading

from . import capture, held_generators, mt19937
from .guard import failed
from .imports import after_import

_STATE_BYTES = 4 * mt19937.WORDS + 4  # and the position in them
_MOST_SEEDS = 8  # noted before the recording begins


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
    is_seeded_by_fork = True

    @staticmethod
    def generator():
        return random._inst

    memory_of = staticmethod(_memory_of_python)

    @staticmethod
    def parts(memory: bytes) -> tuple:
        return memory[4:], int.from_bytes(memory[:4], sys.byteorder)

    @staticmethod
    def state(generator) -> bytes:
        # getstate() hashes to another number in each run: its None hashes to an address up to 3.11.
        return repr(generator.getstate()).encode()

    @staticmethod
    def kept(generator):
        """Half of a pair of normal numbers."""
        return generator.gauss_next

    kept_at_ends = kept


class _NumPy:
    name = "numpy"
    is_seeded_by_fork = False

    @staticmethod
    def generator():
        return sys.modules["numpy.random"].mtrand._rand._bit_generator

    memory_of = staticmethod(_memory_of_numpy)

    @staticmethod
    def parts(memory: bytes) -> tuple:
        return memory[:-4], int.from_bytes(memory[-4:], sys.byteorder)

    @staticmethod
    def state(generator) -> bytes:
        return repr(generator.state).encode()

    @staticmethod
    def kept(generator):
        return None

    @staticmethod
    def kept_at_ends(generator):
        state = sys.modules["numpy.random"].mtrand._rand.get_state(legacy=False)
        return state["gauss"] if state["has_gauss"] else None


class _Watch:
    """A generator's state as it was when it was last looked at."""

    def __init__(self, kind) -> None:
        self._kind = kind
        self._generator = None
        self._memory = None
        self.begun = False
        self._seeded = []
        self._seen = self._first = self._read()

    def _read(self) -> tuple:
        generator = self._kind.generator()
        if generator is not self._generator:
            self._generator = generator
            self._memory = self._kind.memory_of(generator)
        state = self._kind.state(generator) if self._memory is None else self._memory.read()
        return state, self._kind.kept(generator)

    def _tell(self, library, when: str, state: bytes, kept) -> None:
        library.setting(capture.text(when + ".rng." + self._kind.name), self._text(state, kept).encode())

    def _tell_end(self, library, when: str) -> None:
        self._tell(library, when, self._seen[0], self._kind.kept_at_ends(self._generator))

    def seeded(self) -> None:
        """The program has seeded it, from which it may draw before it is looked at again."""
        library = capture.library()
        if library is not None and self.begun:
            self.look(library)
        elif len(self._seeded) < _MOST_SEEDS:
            self._seeded.append(self._read())

    def begin(self, library) -> None:
        self.begun = True
        for state in self._seeded:
            self._tell(library, "note", *state)
        self._seeded.clear()
        self._seen = self._read()
        self._tell_end(library, "begin")
        if self._seen != self._first:
            self._tell(library, "note", *self._seen)

    def look(self, library) -> None:
        if not self.begun:
            return self.begin(library)
        state = self._read()
        if state != self._seen:
            self._seen = state
            self._tell(library, "note", *state)

    def end(self, library) -> None:
        if self.begun:
            self.look(library)
            self._tell_end(library, "end")
            self.begun = False

    def forked(self) -> None:
        """The child is recorded from its own beginning on, if it is."""
        self.begun = False
        self._seeded.clear()
        if self._kind.is_seeded_by_fork:
            self._first = self._read()

    def _text(self, state: bytes, kept) -> str:
        """The digest of the words that are made at once, 624 of them, and which of these comes next."""
        if self._memory is None:
            return hashlib.blake2b(state + repr(kept).encode(), digest_size=16).hexdigest()
        words, position = self._kind.parts(state)
        stream, place = mt19937.stream_and_position(memoryview(words).cast("I"), position, kept)
        return f"{stream} at {place}"


_watches = []
_most_threads = 1  # that were seen at once; any of them may draw


def _count_threads() -> None:
    global _most_threads
    _most_threads = max(_most_threads, len(threading._active))


def look(library) -> None:
    """Notes the states that have changed since they were looked at. A generator that is neither
    seeded nor used starts with another state in each run, which means nothing."""
    _count_threads()
    for watch in _watches:
        watch.look(library)


def _guarded(function):
    def guarded(*arguments) -> None:
        try:
            function(*arguments)
        except Exception as error:
            failed("the states of generators", error)

    return guarded


def _begin(library) -> None:
    for watch in _watches:
        watch.begin(library)


def _is_given_tasks() -> bool:
    """A process of multiprocessing, as a DataLoader and a Pool have: what leaves it are its results. Which
    tasks it did last, and how far it is ahead, depends on time."""
    processes = sys.modules.get("multiprocessing.process")
    return processes is not None and processes.parent_process() is not None


def _end(library) -> None:
    if _is_given_tasks():
        library.leave_out_generators()
        return
    if not any(watch.begun for watch in _watches):
        return
    _count_threads()
    if _most_threads > 1:
        library.setting(b"end.threads", str(_most_threads - 1).encode())
    for watch in _watches:
        watch.end(library)
    for name, state in held_generators.states().items():
        library.setting(capture.text("end.rng." + name), state.encode())


def _forked() -> None:
    global _most_threads
    _most_threads = 1
    for watch in _watches:
        watch.forked()


def _watch(kind, module) -> None:
    watch = _Watch(kind)
    _watches.append(watch)
    seed = module.seed
    note = _guarded(watch.seeded)

    @functools.wraps(seed)
    def seed_and_note(*arguments, **named):
        result = seed(*arguments, **named)
        note()
        return result

    # By which it is pickled.
    seed_and_note.__module__, seed_and_note.__qualname__ = module.__name__, "seed"
    module.seed = seed_and_note


def follow() -> None:
    """To be called once, as early as a program can be looked at."""
    _watch(_Python, random)
    after_import("numpy.random", lambda module: _watch(_NumPy, module))

    def note_versions(library) -> None:
        library.setting(b"python.version", sys.version.split()[0].encode())
        library.setting(b"python.hash_randomization", str(sys.flags.hash_randomization).encode())
        if "numpy" in sys.modules:
            library.setting(b"numpy.version", sys.modules["numpy"].__version__.encode())

    capture.when_recording(note_versions)
    capture.at_ends(_guarded(_begin), _guarded(_end))
    os.register_at_fork(after_in_child=_forked)
