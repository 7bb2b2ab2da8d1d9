"""Graphs that torch.compile makes one function of C++ of (cpp_wrapper), and models that AOTInductor has compiled: the
kernels that these call are functions of their own library, where no hook is."""

import functools
import hashlib
import sys
import threading

from . import kernels
from .guard import failed


class _Calls(threading.local):
    given = None  # the tensors of the call that is about to begin
    frames = None  # of the call that runs


_calls = _Calls()


def _begin(graph, given):
    try:
        return graph.begin_with(given)
    except Exception as error:
        failed("a compiled graph", error)
        return None


def _observed(function, code: str):
    graph = kernels.Graph("inductor::cpp_graph", hashlib.blake2b(code.encode(), digest_size=8).hexdigest())

    def inductor_entry(handles):
        given, _calls.given = _calls.given, None
        _calls.frames = _begin(graph, given or ())
        del given
        threw = True
        try:
            results = function(handles)
            threw = False
            return results
        finally:
            if threw:
                frames, _calls.frames = _calls.frames, None
                kernels.end_graph(frames, (), threw)

    return functools.update_wrapper(inductor_entry, function, updated=())


def _gives(original):
    """What a graph is given follows as handles of its tensors; inside of one they are an op's."""

    def unsafe_alloc_void_ptrs_from_tensors(tensors):
        if _calls.frames is None:
            _calls.given = tensors
        return original(tensors)

    return functools.update_wrapper(unsafe_alloc_void_ptrs_from_tensors, original, updated=())


def _takes(original):
    def alloc_tensors_by_stealing_from_void_ptrs(handles):
        results = original(handles)
        frames, _calls.frames = _calls.frames, None
        kernels.end_graph(frames, results, threw=False)
        return results

    return functools.update_wrapper(alloc_tensors_by_stealing_from_void_ptrs, original, updated=())


def _model_called(original):
    graph = kernels.Graph("inductor::aoti_model", "")

    def run(self, inputs, *arguments, **keywords):
        frames = _begin(graph, inputs)
        results, threw = (), True
        try:
            results = original(self, inputs, *arguments, **keywords)
            threw = False
            return results
        finally:
            kernels.end_graph(frames, results, threw)

    return functools.update_wrapper(run, original, updated=())


def follow(module) -> None:
    """To be called when torch._inductor.codecache has just been imported."""
    cache = module.CppWrapperCodeCache
    load = cache.load_pybinding

    def load_pybinding(cls, argtypes, main_code, *arguments, **keywords):
        function = load.__func__(cls, argtypes, main_code, *arguments, **keywords)
        kernels.is_generated(sys._getframe(1).f_code.co_filename)
        return _observed(function, main_code + str(keywords.get("kernel_code")))

    cache.load_pybinding = classmethod(functools.update_wrapper(load_pybinding, load, updated=()))
    handles = module.torch._C._aoti
    for name, announced in (("unsafe_alloc_void_ptrs_from_tensors", _gives),
                            ("alloc_tensors_by_stealing_from_void_ptrs", _takes)):
        setattr(handles, name, announced(getattr(handles, name)))


def follow_models(module) -> None:
    """To be called when torch._inductor.package.package has just been imported."""
    models = module.torch._C._aoti
    for kind, method in ((models.AOTIModelPackageLoader, "run"), (models.AOTIModelPackageLoader, "boxed_run")):
        setattr(kind, method, _model_called(getattr(kind, method)))
