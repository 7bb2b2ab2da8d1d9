"""An optimizer's hyperparameters, and of how many tensors, as arguments of its step (lib/core/argument_codec.hpp)."""

import struct
from operator import is_

from . import capture
from .weak import Known

_NONE, _INT, _DOUBLE, _BOOL, _STRING = 0, 1, 2, 3, 5
_INT_LIST, _DOUBLE_LIST, _STRING_LIST, _OPAQUE = 11, 12, 14, 15
_PLAIN = (float, int, bool, str, type(None))


class _LastStep:
    """Of an optimizer: its values, what they were written as where they can be known again, its counts."""

    __slots__ = ("reference", "values", "written", "counts")

    def __init__(self, values: list, written, counts: tuple) -> None:
        self.values = values
        self.written = written
        self.counts = counts


_known = Known()  # _LastStep by optimizer


class _Opaque(str):
    """The name of the type of a value that is not read: reading a tensor is an op."""


def _readable(value):
    if type(value) in _PLAIN:
        return value
    for kind in (float, int, str):  # NumPy's float64 is a float
        if isinstance(value, kind):
            return kind(value)
    if isinstance(value, (tuple, list)):
        return tuple(_readable(one) for one in value)
    return _Opaque(type(value).__name__)


def _string(value: str) -> bytes:
    text = capture.text(value)
    return struct.pack("<I", len(text)) + text


def _is_number(value) -> bool:
    return isinstance(value, (float, int)) and not isinstance(value, bool)


def _written(value) -> bytes:
    """The tag of the value, and the value."""
    if value is None:
        return struct.pack("<B", _NONE)
    if isinstance(value, bool):
        return struct.pack("<BB", _BOOL, value)
    if isinstance(value, float):
        return struct.pack("<Bd", _DOUBLE, value)
    if isinstance(value, int) and abs(value) < 2**63:
        return struct.pack("<Bq", _INT, value)
    if isinstance(value, tuple):
        if all(map(_is_number, value)):
            return struct.pack(f"<BI{len(value)}d", _DOUBLE_LIST, len(value), *value)
        words = b"".join(_string(str(one)) for one in value)
        return struct.pack("<BI", _STRING_LIST, len(value)) + words
    return struct.pack("<B", _OPAQUE if isinstance(value, _Opaque) else _STRING) + _string(
        str(value)
    )


def _of_groups(values):
    """One value where all groups of parameters agree, else a list of what each has."""
    first = values[0]
    if all(type(one) is type(first) and one == first for one in values):
        return first
    pairs = all(isinstance(one, tuple) for one in values)
    return sum(values, ()) if pairs else tuple(values)


def _text(value) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_text, value))}]"
    return str(value)


def _values(groups) -> list:
    return [value for group in groups for name, value in group.items() if name != "params"]


def changed(optimizer) -> dict:
    """What they were at the last step and are now, in words, of those that have changed since then; "params" is how
    many tensors each group has. Of a tensor, which is an outcome itself, nothing."""
    groups = optimizer.param_groups
    values = _values(groups)
    last = _known.of(optimizer)
    found = {}
    if last is None:
        return found
    counts = _counts(groups)
    if counts != last.counts:
        found["params"] = _text(_of_counts(last.counts)), _text(_of_counts(counts))
    before = last.values
    if len(values) != len(before) or all(map(is_, values, before)):
        return found
    names = [name for group in groups for name in group if name != "params"]
    for name in dict.fromkeys(names):
        pairs = [
            (_readable(old), _readable(new)) for each, old, new in zip(names, before, values) if each == name
        ]
        old, new = zip(*pairs)
        if old != new and not any(isinstance(value, _Opaque) for value in old + new):
            found[str(name)] = _text(_of_groups(old)), _text(_of_groups(new))
    return found


def _counts(groups) -> tuple:
    """How many tensors each group has."""
    return tuple(len(group["params"]) for group in groups)


def _of_counts(counts: tuple):
    """Of a single group its number."""
    return counts[0] if len(counts) == 1 else counts


def _written_counts(counts: tuple) -> bytes:
    if len(counts) == 1:
        return struct.pack("<Bq", _INT, counts[0])
    return struct.pack(f"<BI{len(counts)}q", _INT_LIST, len(counts), *counts)


def written(optimizer):
    """Names, joined by ',', and values of the hyperparameters of all groups of parameters, and how many tensors these
    have."""
    groups = optimizer.param_groups
    values = _values(groups)
    counts = _counts(groups)
    last = _known.of(optimizer)
    if (
        last is not None
        and last.written is not None
        and last.counts == counts
        and len(last.values) == len(values)
        and all(map(is_, last.values, values))
    ):
        return last.written
    names = [name for name in groups[0] if name != "params"]
    arguments = b"".join(
        struct.pack("<H", index)
        + _written(_of_groups([_readable(group.get(name)) for group in groups]))
        for index, name in enumerate(names)
    )
    arguments += struct.pack("<H", len(names)) + _written_counts(counts)
    text = ",".join(str(name).replace(",", "_") for name in (*names, "params"))
    result = capture.text(text), arguments
    plain = [isinstance(value, (*_PLAIN, tuple)) for value in values]
    # No tensor lives longer, and a list may be written to.
    kept = [value if is_plain else _readable(value) for value, is_plain in zip(values, plain)]
    _known.add(optimizer, _LastStep(kept, result if all(plain) else None, counts))
    return result
