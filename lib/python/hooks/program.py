"""What the program says itself (`import ulpscope`). While nothing is recorded no call has an effect."""

import array
import contextlib
import json
import random

from . import capture, generators, trees


def watch(module, name: str) -> None:
    capture.when_recording(lambda library: trees.watch(library, module, name))


def step() -> None:
    library = capture.library()
    if library is not None:
        generators.look(library)
        library.step()


@contextlib.contextmanager
def scope(name: str):
    library = capture.library()
    scope = library.begin_scope(capture.text(name)) if library is not None else None
    try:
        yield
    finally:
        if scope:
            library.end_scope(scope)


def note(key: str, value: str) -> None:
    library = capture.library()
    if library is not None:
        library.setting(capture.text("note." + key), capture.text(value))


def _state_of(generator) -> bytes:
    """The state of a generator as bytes that are the same for the same state."""
    if isinstance(generator, (bytes, bytearray, memoryview)):
        return bytes(generator)
    if isinstance(generator, random.Random):
        return repr(generator.getstate()).encode()
    bits = getattr(generator, "bit_generator", None)
    if bits is not None:
        return json.dumps(bits.state, sort_keys=True, default=lambda array: array.tolist()).encode()
    if hasattr(generator, "get_state"):
        state = generator.get_state()
        return state.numpy().tobytes() if hasattr(state, "numpy") else repr(state).encode()
    raise TypeError(f"{type(generator).__name__} is no generator and no bytes")


def note_rng(name: str, generator) -> None:
    state = _state_of(generator)
    library = capture.library()
    if library is not None:
        library.note_rng(capture.text(name), state, len(state))


def note_batch(ids) -> None:
    numbers = array.array("q", (int(each) for each in ids))
    library = capture.library()
    if library is not None:
        library.note_batch(numbers.tobytes(), len(numbers))
