"""The random generators that a program holds when it ends: objects of `random.Random`, NumPy's
`Generator` and `RandomState`.

Each is known by its stream, which its seed decides: by the increment of a PCG64, the key of a Philox
or the numbers that an MT19937 makes at once. Of an SFC64 no such thing is known.
"""

import gc
import hashlib
import random
import sys

from . import mt19937

_MOST = 64  # streams


def _digest(*parts) -> str:
    return hashlib.blake2b(repr(parts).encode(), digest_size=16).hexdigest()


def _of_python(generator) -> tuple:
    _, (*words, position), kept = generator.getstate()
    return ("python.Random", *mt19937.stream_and_position(words, position, kept))


def _of_bits(name: str, bits, kept=None):
    state = bits.state
    kind, numbers = state["bit_generator"], state["state"]
    if kind == "MT19937":
        words = [int(word) for word in numbers["key"]]
        return (name, *mt19937.stream_and_position(words, int(numbers["pos"]), kept))
    stream = numbers["inc"] if kind.startswith("PCG64") else numbers["key"].tolist() if kind == "Philox" else None
    if stream is None:
        return None
    position = (numbers["state"] if "inc" in numbers else numbers["counter"].tolist(), state.get("buffer_pos"),
                state["has_uint32"], state["uinteger"], kept)
    return name, _digest(kind, stream), _digest(*position)


def _of_generator(generator):
    return _of_bits("numpy.Generator", generator.bit_generator)


def _of_random_state(generator):
    state = generator.get_state(legacy=False)
    return _of_bits("numpy.RandomState", generator._bit_generator, state["gauss"] if state.get("has_gauss") else None)


def _kinds() -> dict:
    kinds = {random.Random: _of_python}
    if "numpy.random" in sys.modules:
        numpy_random = sys.modules["numpy.random"]
        kinds[numpy_random.Generator] = _of_generator
        kinds[numpy_random.RandomState] = _of_random_state
    return kinds


def states() -> dict:
    """What there is of each stream, "STREAM at POSITION, POSITION", by a name for it."""
    kinds = _kinds()
    own = [random._inst]
    if "numpy.random" in sys.modules:
        own.append(sys.modules["numpy.random"].mtrand._rand)
    held = [each for each in gc.get_objects() if type(each) in kinds and not any(each is one for one in own)]
    positions = {}
    for generator in held:
        known = kinds[type(generator)](generator)
        if known is not None:
            name, stream, position = known
            positions.setdefault((f"{name}.{stream[:8]}", stream), []).append(position)
    named = sorted(positions.items())[:_MOST]
    return {name: f"{stream} at {', '.join(sorted(places))}" for (name, stream), places in named}
