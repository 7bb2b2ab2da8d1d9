"""Kernels that torch.compile generates for the CPU."""

import functools
import hashlib
import re

from . import capture, kernels, tensors
from .guard import failed

_THREADS = re.compile(r"\bnum_threads\(\d+\)")
_SIGNATURE = re.compile(r"\bkernel\s*\(([^)]*)\)")


def _parameters(source: str, types) -> list:
    """(name, 'r' or 'w') of each pointer among a kernel's parameters, (name, None) of each number."""
    found = _SIGNATURE.search(source)
    names = [each.split()[-1].lstrip("*&") for each in found.group(1).split(",")] if found else []
    if len(names) != len(types):
        raise ValueError(f"{len(types)} types for the parameters {names}")
    return [
        (name, ("r" if kind.startswith("const ") else "w") if kind.endswith("*") else None)
        for name, kind in zip(names, types)
    ]


class _Observed:
    """A kernel that says when it is called."""

    def __init__(self, function, source: str, types) -> None:
        self._function = function
        parameters = _parameters(source, types)
        self._pointers = [place for place, (_, way) in enumerate(parameters) if way is not None]
        self._numbers = [(place, name) for place, (name, way) in enumerate(parameters) if way is None]
        self._access = tuple(each for each in parameters if each[1] is not None)
        code = _THREADS.sub("num_threads()", source)  # how many there are is a setting
        self._kernel = kernels.Kernel(
            "inductor::kernel", hashlib.blake2b(code.encode(), digest_size=8).hexdigest()
        )

    def name(self, name: str) -> None:
        self._kernel.name = "inductor::" + name

    def _begin(self, arguments) -> int:
        given = [arguments[place] for place in self._pointers]
        numbers = ", ".join(f"{name}={arguments[place]!r}" for place, name in self._numbers)
        return self._kernel.begin(self._access, given, numbers)

    def __call__(self, *arguments):
        frames = 0
        try:
            frames = self._begin(arguments)
        except Exception as error:
            failed("a compiled kernel", error)
        threw = True
        try:
            result = self._function(*arguments)
            threw = False
            return result
        finally:
            kernels.end(frames, threw)


def _observed(function, source: str, types):
    try:
        return _Observed(function, source, types)
    except Exception as error:
        failed("a compiled kernel", error)
        return function


def _announced(original):
    """An allocation of compiled code."""

    def allocate(*arguments):
        tensor = original(*arguments)
        try:
            library = capture.library()
            if library is not None:
                library.allocated(tensor)
        except Exception as error:
            failed("an allocation", error)
        return tensor

    return functools.update_wrapper(allocate, original, updated=())


def follow(module) -> None:
    """To be called when torch._inductor.async_compile has just been imported."""
    compiler = module.AsyncCompile
    load, wait = compiler.cpp_pybinding, compiler.wait

    def cpp_pybinding(self, argtypes, source_code):
        result = load(self, argtypes, source_code)
        if not isinstance(result, module.LambdaFuture):
            return _observed(result, source_code, argtypes)
        get = result.result_fn
        result.result_fn = lambda: _observed(get(), source_code, argtypes)
        return result

    def wait_and_name(self, scope):
        wait(self, scope)
        file = scope.get("__file__")
        if isinstance(file, str):
            kernels.is_generated(file)
        for name, each in list(scope.items()):
            if isinstance(each, _Observed):
                each.name(name)

    compiler.cpp_pybinding = functools.update_wrapper(cpp_pybinding, load, updated=())
    compiler.wait = functools.update_wrapper(wait_and_name, wait, updated=())
    guards = module.torch._C._dynamo.guards
    for name in ("_empty_strided_cpu", "_empty_strided_cuda"):
        setattr(guards, name, _announced(getattr(guards, name)))
