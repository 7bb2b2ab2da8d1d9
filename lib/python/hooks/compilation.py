"""torch.compile sees the program as it is without the hooks; what it computes to compile is not the
program's."""

import contextlib
import functools
import sys
import types

from . import capture
from .guard import failed

_torch = None
_untraced = []  # code of functions


def untraced(function):
    """Decorates a hook that runs no code of the program: Dynamo is kept out of what it calls, too."""
    _untraced.append(function.__code__)
    return function


def is_compiling() -> bool:
    """Whether Dynamo traces the caller, which then must do what it would without the hooks."""
    return _torch.compiler.is_compiling()


def _codes(value, package: str):
    """The code of a function or of a class's functions that belong to the package."""
    if getattr(value, "__module__", "").partition(".")[0] != package:
        return
    if isinstance(value, types.FunctionType):
        yield value.__code__
    elif isinstance(value, type):
        for each in vars(value).values():
            yield from _codes(getattr(each, "__func__", each), package)


def _with_inner(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _with_inner(constant)


def follow(module) -> None:
    """Keeps Dynamo out of the frames of all hooks. To be called when torch.nn.modules.module has
    just been imported."""
    from torch._C._dynamo.eval_frame import (
        _FrameAction,
        _FrameExecStrategy,
        set_code_exec_strategy,
    )

    global _torch
    _torch = module.torch
    strategy = _FrameExecStrategy(_FrameAction.SKIP, _FrameAction.DEFAULT)
    package = __name__.partition(".")[0]
    for name, each in list(sys.modules.items()):
        if name.partition(".")[0] != package:
            continue
        for value in list(vars(each).values()):
            for code in _codes(value, package):
                for inner in _with_inner(code):
                    set_code_exec_strategy(inner, strategy)
    for code in _untraced:
        set_code_exec_strategy(code, _FrameExecStrategy(_FrameAction.SKIP, _FrameAction.SKIP))


def _tell(begins: bool) -> None:
    try:
        library = capture.library()
        if library is not None:
            library.compiler(begins)
    except Exception as error:
        failed("a compilation", error)


@contextlib.contextmanager
def compiling():
    """What is computed inside is the compiler's, not the program's."""
    _tell(True)
    try:
        yield
    finally:
        _tell(False)


def follow_compilers(module) -> None:
    """To be called when torch._dynamo.callback has just been imported."""
    handler = module.CompilationCallbackHandler
    original = handler.install_callbacks
    triggers = (module.CallbackTrigger.DYNAMO, module.CallbackTrigger.LAZY_BACKWARD)

    @contextlib.contextmanager
    def install_callbacks(self, trigger, compile_id):
        with original(self, trigger, compile_id):
            if trigger not in triggers:
                yield
                return
            with compiling():
                yield

    handler.install_callbacks = functools.update_wrapper(install_callbacks, original, updated=())
