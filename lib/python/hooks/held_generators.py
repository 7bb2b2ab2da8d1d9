"""The random generators that a program holds when it ends: objects of `random.Random`, NumPy's
`Generator` and `RandomState`.

Each is known by its stream, which its seed decides: by the increment of a PCG64, the key of a Philox
or the numbers that an MT19937 makes at once. Of an SFC64, or of what another library makes the bits
with, no such thing is known.
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
    kind = type(bits).__name__ if type(bits).__module__.startswith("numpy.random.") else None
    if kind == "MT19937":
        state = bits.state["state"]
        words = [int(word) for word in state["key"]]
        return (name, *mt19937.stream_and_position(words, int(state["pos"]), kept))
    if kind in ("PCG64", "PCG64DXSM"):
        state = bits.state
        numbers = state["state"]
        stream, place = numbers["inc"], (numbers["state"],)
    elif kind == "Philox":
        state = bits.state
        stream, place = state["state"]["key"].tolist(), (state["state"]["counter"].tolist(), state["buffer_pos"])
    else:
        return None
    return name, _digest(kind, stream), _digest(*place, state["has_uint32"], state["uinteger"], kept)


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
    """The generators of each stream, "STREAM at POSITION, POSITION", by a name for them. How many these
    are is part of it: some may be waiting to be collected, which a second run has done already."""
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
            positions.setdefault((name, stream), []).append(position)
    return {
        f"{name}.{stream[:8]}" + (f".{len(places)}" if len(places) > 1 else ""): f"{stream} at {', '.join(sorted(places))}"
        for (name, stream), places in sorted(positions.items())[:_MOST]
    }
