"""Calls of modules. nn.Module.__call__ is replaced: global forward hooks would break the graphs of
torch.compile and are not given keyword arguments."""

import functools
import sys
import threading
import types

from . import capture, compilation, generators, swaps, tensors, trees
from .guard import failed

_LIBRARY_MODULES = "torch.nn.modules."

_hooks = ()  # the dicts of hooks that hold for all modules
_script_module = None
_library_classes = {}
_module_class = None
_call = None  # what stands for nn.Module.__call__
_has_been_called = False


class _Calls(threading.local):
    depth = 0


_calls = _Calls()


def _is_traced() -> bool:
    """Until torch.compiler has been imported."""
    return False


def follow_tracing(module) -> None:
    """To be called when torch.compiler has just been imported."""
    global _is_traced
    _is_traced = module.is_dynamo_compiling


def _is_script(module) -> bool:
    """Its calls run in LibTorch's interpreter."""
    return isinstance(module.__dict__.get("_c"), _script_module)


@compilation.untraced
def _look(module, depth) -> int:
    """The module's number, that of the module which it wraps if it is a wrapper, 0 if it is not recorded. Asked if it
    is called inside no other module, or is not known."""
    global _has_been_called
    _has_been_called = True
    try:
        library = capture.library()
        kind = type(module)
        if kind not in _library_classes:
            _library_classes[kind] = kind.__module__.startswith(_LIBRARY_MODULES)
        module = trees.wrapped(module)
        if library is None or _is_script(module):
            return 0
        if depth == 0:
            generators.look(library)
        elif trees.is_of_compiler(library, module):
            return 0
        return trees.number_of(library, module, depth == 0)
    except Exception as error:
        failed("a call of a module", error)
        return 0


@compilation.untraced
def _begin_recording(module, args, kwargs, depth) -> int:
    """Until something is recorded."""
    try:
        if capture.library() is None or _begin is _begin_recording:
            return 0
    except Exception as error:
        failed("a call of a module", error)
        return 0
    return _begin(module, args, kwargs, depth)


_begin = _begin_recording
_end = None


def _follow_calls(library) -> None:
    global _begin, _end
    try:
        library.follow_modules(_look, trees.known_modules(), _library_classes, _hooks)
        begin, end = library.begin_module(), library.end_module()
        _begin, _end = begin, end
    except Exception as error:
        failed("calls of modules", error)


def _replacement(original):
    """Repeats the body of PyTorch's own function, which one frame more would make visible: recursion
    would end earlier, and warnings (`stacklevel`) would blame another line."""
    if original.__code__.co_names != ("_compiled_call_impl", "_call_impl"):
        raise RuntimeError("nn.Module.__call__ is not as known")

    def _wrapped_call_impl(self, *args, **kwargs):
        if _is_traced():
            return (self._call_impl if self._compiled_call_impl is None else self._compiled_call_impl)(*args, **kwargs)
        depth = _calls.depth
        frames = _begin(self, args, kwargs, depth)
        call = self._call_impl if self._compiled_call_impl is None else self._compiled_call_impl
        if frames == 0:
            return call(*args, **kwargs)
        result, threw = None, True
        try:
            _calls.depth = depth + 1
            result = call(*args, **kwargs)
            threw = False
            return result
        finally:
            _calls.depth = depth
            _end(frames, result, threw)

    return functools.update_wrapper(_wrapped_call_impl, original, updated=())


def _hold_instead(original, replacement) -> None:
    """Modules of PyTorch that have been imported already keep PyTorch's own function by a name: Dynamo asks by it
    whether a module's call is as known."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "torch" and isinstance(module, types.ModuleType):
            held = vars(module)
            held.update(dict.fromkeys([key for key, value in list(held.items()) if value is original], replacement))


def _apply_and_look(original):
    def _apply(self, *args, **kwargs):
        result = original(self, *args, **kwargs)
        if not compilation.is_compiling():
            trees.has_changed(self)
        return result

    return functools.update_wrapper(_apply, original, updated=())


def _replicate_and_look(original):
    def _replicate_for_data_parallel(self):
        replica = original(self)
        try:
            library = capture.library()
            if library is not None:
                trees.is_replicated(library, self, replica)
        except Exception as error:
            failed("a replica", error)
        return replica

    return functools.update_wrapper(_replicate_for_data_parallel, original, updated=())


def _look_again(library) -> None:
    try:
        if _module_class.__call__ is not _call and not _has_been_called:
            library.notice(b"the program has replaced nn.Module.__call__ by a function that does not call PyTorch's: "
                           b"calls of modules are not recorded")
        trees.look_again(library)
    except Exception as error:
        failed("what modules have in the end", error)


def follow(module) -> None:
    """To be called when torch.nn.modules.module has just been imported."""
    compilation.follow(module)
    capture.at_ends(lambda library: None, _look_again)
    global _hooks, _script_module, _module_class, _call
    tensors.follow(module.torch._C, module.torch.Tensor, module.Parameter)
    swaps.follow(module.torch._C)
    _hooks = (
        module._global_forward_hooks,
        module._global_forward_pre_hooks,
        module._global_backward_hooks,
        module._global_backward_pre_hooks,
    )
    _script_module = module.torch._C.ScriptModule
    capture.when_recording(_follow_calls)

    def registers_module(owner, name, child):
        if child is not None:
            trees.is_registered(owner, child)

    def registers_tensor(owner, name, tensor):
        trees.has_changed(owner)

    module.register_module_module_registration_hook(registers_module)
    module.register_module_parameter_registration_hook(registers_tensor)
    module.register_module_buffer_registration_hook(registers_tensor)
    module.Module._apply = _apply_and_look(module.Module._apply)
    module.Module._replicate_for_data_parallel = _replicate_and_look(module.Module._replicate_for_data_parallel)
    original = module.Module._wrapped_call_impl
    call = _replacement(original)
    module.Module._wrapped_call_impl = call
    module.Module.__call__ = call
    _module_class, _call = module.Module, call
    _hold_instead(original, call)
