"""Swaps of tensors (torch.utils.swap_tensors): two objects swap what they hold, which PyTorch refuses while anything
refers to that weakly, as the capture library does to parameters and buffers."""

import functools

from . import capture, compilation, tensors
from .guard import failed

_library = None  # that has recorded, and may do so no more


def _remember(library) -> None:
    global _library
    _library = library


def _begin(held):
    """What was held, for `_end`; None if there is nothing to end."""
    try:
        if _library is None:
            capture.library()
        if _library is None or len(held) != 2:
            return None
        addresses = [tensors.held_by(each) for each in held]
        if None in addresses:
            return None
        _library.begin_swap(*addresses)
        return addresses
    except Exception as error:
        failed("a swap of tensors", error)
        return None


def _end(held, before, threw: bool) -> None:
    try:
        _library.end_swap(*before, *(before if threw else map(tensors.address_of, held)))
    except Exception as error:
        failed("a swap of tensors", error)


def _noted(original):
    def _swap_tensor_impl(*held):
        if compilation.is_compiling():
            return original(*held)
        before = _begin(held)
        threw = True
        try:
            result = original(*held)
            threw = False
            return result
        finally:
            if before is not None:
                _end(held, before, threw)

    return functools.update_wrapper(_swap_tensor_impl, original, updated=())


def follow(torch_c) -> None:
    """To be called when torch.nn.modules.module has just been imported."""
    capture.when_recording(_remember)
    torch_c._swap_tensor_impl = _noted(torch_c._swap_tensor_impl)
