"""Which objects are tensors. The capture library finds them among a call's arguments and results."""

from . import capture

known = False  # whether the capture library knows
_torch_c = None
_plain = ()


def follow(torch_c, tensor, parameter) -> None:
    """Takes tensors of these types and of no others."""
    global _torch_c, _plain
    _torch_c = torch_c
    _plain = (tensor, parameter)


def address_of(tensor):
    """The address of its TensorImpl; None for subclasses, whose attributes run the program's code."""
    if type(tensor) not in _plain:
        return None
    if not _torch_c._is_torch_function_mode_enabled():
        return tensor._cdata
    with _torch_c.DisableTorchFunction():
        return tensor._cdata


def _first_in(value):
    kind = type(value)
    if kind in _plain:
        return value
    if kind is dict:
        value = value.values()
    elif kind is not tuple and kind is not list:
        return None
    return next((found for found in map(_first_in, value) if found is not None), None)


def learn(library, *values) -> None:
    """Shows the capture library the first tensor among these values."""
    global known
    example = _first_in(values)
    if example is None:
        return
    known = True
    if not library.tensors(*_plain, example, address_of(example)):
        library.notice(
            capture.text("Python's tensors are not as known: modules are recorded without their values")
        )
