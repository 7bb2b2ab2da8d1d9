"""Which objects are tensors. The capture library finds them among a call's arguments and results."""

from . import capture
from .guard import failed

_torch_c = None
_plain = ()


def follow(torch_c, tensor, parameter) -> None:
    """Takes tensors of these types and of no others."""
    global _torch_c, _plain
    _torch_c = torch_c
    _plain = (tensor, parameter)
    capture.when_recording(lambda library: library.tensors(tensor, parameter, _address_or_none))


def held_by(tensor):
    """The address of the TensorImpl that an object of any class holds; None if it is no tensor."""
    if not issubclass(type(tensor), _torch_c.TensorBase):
        return None
    with _torch_c.DisableTorchFunction():
        return _torch_c.TensorBase._cdata.__get__(tensor)


def address_of(tensor):
    """The address of its TensorImpl; None for subclasses, whose attributes run the program's code."""
    if type(tensor) not in _plain:
        return None
    if not _torch_c._is_torch_function_mode_enabled():
        return tensor._cdata
    with _torch_c.DisableTorchFunction():
        return tensor._cdata


def _address_or_none(tensor):
    """Raises what belongs to the program alone."""
    try:
        return address_of(tensor)
    except Exception as error:
        failed("a tensor's address", error)
        return None


def words_of(tensor, with_place=False):
    """Its dtype and shape, and on request where it is in its memory, unless it is all of it in order; None for what is
    no tensor, and for subclasses."""
    if type(tensor) not in _plain:
        return None
    with _torch_c.DisableTorchFunction():
        words = f"{str(tensor.dtype).removeprefix('torch.')} {list(tensor.shape)}"
        return words + _place_of(tensor) if with_place else words


def memory_of(tensor):
    """Where its storage begins; None for what is no strided tensor of the CPU, and for subclasses."""
    if type(tensor) not in _plain:
        return None
    with _torch_c.DisableTorchFunction():
        in_memory = tensor.device.type == "cpu" and _is_strided(tensor)
        return tensor.untyped_storage().data_ptr() if in_memory else None


def storage_of(tensor):
    """The address of its StorageImpl; None for what is no strided tensor, and for subclasses."""
    if type(tensor) not in _plain:
        return None
    with _torch_c.DisableTorchFunction():
        return tensor.untyped_storage()._cdata if _is_strided(tensor) else None


def _is_strided(tensor) -> bool:
    return str(tensor.layout) == "torch.strided" and not tensor.is_nested


def _place_of(tensor) -> str:
    if not _is_strided(tensor):
        return ""
    offset = tensor.storage_offset()
    strides = "" if tensor.is_contiguous() else f" strides {list(tensor.stride())}"
    return (f" at {offset}" if offset else "") + strides
