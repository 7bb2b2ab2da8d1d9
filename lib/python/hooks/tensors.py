"""The tensors among a call's arguments and results, as the capture library takes them."""

import struct

_MOST_TENSORS = 64
_MOST_DEPTH = 4

_packers = [struct.Struct(f"{count}Q") for count in range(_MOST_TENSORS + 1)]
_torch_c = None
_plain = ()


def follow(torch_c, *types) -> None:
    """Takes tensors of these types and of no others."""
    global _torch_c, _plain
    _torch_c = torch_c
    _plain = types


def address_of(tensor):
    """The address of its TensorImpl; None for subclasses, whose attributes run the program's code."""
    if type(tensor) not in _plain:
        return None
    if not _torch_c._is_torch_function_mode_enabled():
        return tensor._cdata
    with _torch_c.DisableTorchFunction():
        return tensor._cdata


def _collect(value, found: list, depth: int) -> None:
    kind = type(value)
    if kind in _plain:
        if len(found) < _MOST_TENSORS:
            found.append(address_of(value))
    elif depth == _MOST_DEPTH:
        return
    elif isinstance(value, (tuple, list)):
        for each in tuple.__iter__(value) if isinstance(value, tuple) else list.__iter__(value):
            _collect(each, found, depth + 1)
    elif isinstance(value, dict):
        for each in dict.values(value):
            _collect(each, found, depth + 1)


def packed(*values) -> tuple:
    """Addresses of the tensors in tuples, lists and dicts, in order, and how many they are. As C
    reads them: `TensorImpl* const*`, `size_t`."""
    found = []
    for value in values:
        _collect(value, found, 0)
    return _packers[len(found)].pack(*found), len(found)
