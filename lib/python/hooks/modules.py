"""Calls of modules. nn.Module.__call__ is replaced: global forward hooks would break the graphs of
torch.compile and are not given keyword arguments."""

import functools
import threading

from . import capture, compilation, generators, tensors, trees
from .guard import failed

_LIBRARY_MODULES = "torch.nn.modules."

_hooks = ()  # the dicts of hooks that hold for all modules
_script_module = None
_library_classes = {}


class _Calls(threading.local):
    depth = 0


_calls = _Calls()


def _only_library_code(module) -> bool:
    """Whether nothing of the program's runs inside the call, other modules aside."""
    kind = type(module)
    known = _library_classes.get(kind)
    if known is None:
        known = _library_classes[kind] = kind.__module__.startswith(_LIBRARY_MODULES)
    if not known:
        return False
    state = module.__dict__
    return not (
        state["_modules"]
        or state["_forward_hooks"]
        or state["_forward_pre_hooks"]
        or state["_backward_hooks"]
        or state["_backward_pre_hooks"]
        or "forward" in state
        or any(_hooks)
    )


def _is_script(module) -> bool:
    """Its calls run in LibTorch's interpreter."""
    return isinstance(module.__dict__.get("_c"), _script_module)


@compilation.untraced
def _begin(module, args, kwargs) -> int:
    library = capture.library()
    if library is None or _is_script(module) or trees.is_wrapper(module):
        return 0
    outermost = _calls.depth == 0
    if outermost:
        generators.look(library)
    number = trees.number_of(library, module, outermost)
    return library.begin_module(number, _only_library_code(module), outermost, args, kwargs)


@compilation.untraced
def _end(frames: int, result, threw: bool) -> None:
    library = capture.library()
    if library is not None:
        library.end_module(frames, threw, result)


def _replacement(original):
    """Repeats the body of PyTorch's own function, which one frame more would make visible: recursion
    would end earlier, and warnings (`stacklevel`) would blame another line."""
    if original.__code__.co_names != ("_compiled_call_impl", "_call_impl"):
        raise RuntimeError("nn.Module.__call__ is not as known")

    def _wrapped_call_impl(self, *args, **kwargs):
        frames = 0
        try:
            frames = _begin(self, args, kwargs)
        except Exception as error:
            failed("a call of a module", error)
        call = self._call_impl if self._compiled_call_impl is None else self._compiled_call_impl
        if frames == 0:
            return call(*args, **kwargs)
        depth = _calls.depth
        result, threw = None, True
        try:
            _calls.depth = depth + 1
            result = call(*args, **kwargs)
            threw = False
            return result
        finally:
            _calls.depth = depth
            try:
                _end(frames, result, threw)
            except Exception as error:
                failed("a call of a module", error)

    return functools.update_wrapper(_wrapped_call_impl, original, updated=())


def _apply_and_look(original):
    def _apply(self, *args, **kwargs):
        result = original(self, *args, **kwargs)
        if not compilation.is_compiling():
            trees.has_changed(self)
        return result

    return functools.update_wrapper(_apply, original, updated=())


def _look_again(library) -> None:
    try:
        trees.look_again(library)
    except Exception as error:
        failed("what modules have in the end", error)


def follow(module) -> None:
    """To be called when torch.nn.modules.module has just been imported."""
    compilation.follow(module)
    capture.at_ends(lambda library: None, _look_again)
    global _hooks, _script_module
    tensors.follow(module.torch._C, module.torch.Tensor, module.Parameter)
    _hooks = (
        module._global_forward_hooks,
        module._global_forward_pre_hooks,
        module._global_backward_hooks,
        module._global_backward_pre_hooks,
    )
    _script_module = module.torch._C.ScriptModule

    def registers_module(owner, name, child):
        if child is not None:
            trees.is_registered(owner, child)

    def registers_tensor(owner, name, tensor):
        trees.has_changed(owner)

    module.register_module_module_registration_hook(registers_module)
    module.register_module_parameter_registration_hook(registers_tensor)
    module.register_module_buffer_registration_hook(registers_tensor)
    module.Module._apply = _apply_and_look(module.Module._apply)
    call = _replacement(module.Module._wrapped_call_impl)
    module.Module._wrapped_call_impl = call
    module.Module.__call__ = call
