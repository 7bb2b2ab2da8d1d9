"""The random generators that modules of the program hold by a name when it ends: `random.Random`,
NumPy's `Generator` and `RandomState`.

Each has a stream, which its seed decides: known by the increment of a PCG64, the key of a Philox or
the numbers that an MT19937 makes at once. Of an SFC64, or of what another library makes the bits
with, no such thing is known.
"""

import hashlib
import random
import sys
import types

from . import mt19937

_MOST = 256


def _digest(*parts) -> str:
    return hashlib.blake2b(repr(parts).encode(), digest_size=16).hexdigest()


def _of_python(generator) -> tuple:
    _, (*words, position), kept = generator.getstate()
    return mt19937.stream_and_position(words, position, kept)


def _of_bits(bits, kept=None):
    kind = type(bits).__name__ if type(bits).__module__.startswith("numpy.random.") else None
    if kind == "MT19937":
        state = bits.state["state"]
        return mt19937.stream_and_position([int(word) for word in state["key"]], int(state["pos"]), kept)
    if kind in ("PCG64", "PCG64DXSM"):
        state = bits.state
        numbers = state["state"]
        stream, place = numbers["inc"], (numbers["state"],)
    elif kind == "Philox":
        state = bits.state
        stream, place = state["state"]["key"].tolist(), (state["state"]["counter"].tolist(), state["buffer_pos"])
    else:
        return None
    return _digest(kind, stream), _digest(*place, state["has_uint32"], state["uinteger"], kept)


def _of_generator(generator):
    return _of_bits(generator.bit_generator)


def _of_random_state(generator):
    state = generator.get_state(legacy=False)
    return _of_bits(generator._bit_generator, state["gauss"] if state.get("has_gauss") else None)


def _reader(value, numpy_random):
    kind = type(value)
    if kind is random.Random and value is not random._inst:
        return _of_python
    if numpy_random is None:
        return None
    if kind is numpy_random.Generator:
        return _of_generator
    if kind is numpy_random.RandomState and value is not numpy_random.mtrand._rand:
        return _of_random_state
    return None


def states() -> dict:
    """ "STREAM at POSITION" by module and name."""
    numpy_random = sys.modules.get("numpy.random")
    found = {}
    seen = set()  # a module may have several names
    for module_name, module in list(sys.modules.items()):
        if type(module) is not types.ModuleType or id(module) in seen:
            continue
        seen.add(id(module))
        for name, value in list(vars(module).items()):
            read = _reader(value, numpy_random)
            known = None if read is None else read(value)
            if known is not None and len(found) < _MOST:
                found[f"{module_name}.{name}"] = "{} at {}".format(*known)
    return found
