"""Steps of optimizers, and zero_grad."""

import functools
import threading
import weakref

from . import capture, compilation, generators, hyperparameters
from .guard import failed

_LIBRARY_OPTIMIZERS = "torch.optim."


class _Open(threading.local):
    def __init__(self) -> None:
        self.steps = {}  # id of an optimizer -> frames of its step


_open = _Open()


_numbers = {}  # id of an optimizer -> weak reference to it, and its number


def _number_of(library, optimizer) -> int:
    """Which one it is: a later one may have the id of one that is gone."""
    key = id(optimizer)
    known = _numbers.get(key)
    if known is None or known[0]() is not optimizer:

        def gone(reference) -> None:
            if key in _numbers and _numbers[key][0] is reference:
                del _numbers[key]

        known = _numbers[key] = (weakref.ref(optimizer, gone), library.new_object())
    return known[1]


def states():
    """What the optimizers that the program has used keep of each parameter: the parameter, a name and
    the value."""
    for reference, _ in list(_numbers.values()):
        optimizer = reference()
        state = None if optimizer is None else optimizer.__dict__.get("state")
        if not isinstance(state, dict):
            continue
        for parameter, kept in list(state.items()):
            if isinstance(kept, dict):
                for key, value in list(kept.items()):
                    yield parameter, key, value


def _name(optimizer, method: str) -> bytes:
    return capture.text(f"{type(optimizer).__name__}::{method}")


def _hyperparameters(optimizer):
    try:
        return hyperparameters.written(optimizer)
    except Exception as error:
        failed("an optimizer's hyperparameters", error)
        return b"", b""


@compilation.untraced
def _begin_step(optimizer, args, kwargs) -> None:
    if compilation.is_compiling():
        return
    try:
        library = capture.library()
        if library is None:
            return
        has_closure = len(args) > 1 or kwargs.get("closure") is not None
        trusted = type(optimizer).__module__.startswith(_LIBRARY_OPTIMIZERS) and not has_closure
        generators.look(library)
        names, values = _hyperparameters(optimizer)
        _open.steps[id(optimizer)] = library.begin_step(
            _name(optimizer, "step"),
            _number_of(library, optimizer),
            trusted,
            names,
            values,
            len(values),
        )
    except Exception as error:
        failed("an optimizer's step", error)


def _end(frames: int, threw: bool) -> None:
    library = capture.library()
    if frames and library is not None:
        library.end(frames, threw)


@compilation.untraced
def _end_step(optimizer, args, kwargs) -> None:
    if compilation.is_compiling():
        return
    try:
        _end(_open.steps.pop(id(optimizer), 0), False)
    except Exception as error:
        failed("an optimizer's step", error)


def _noted_zero_grad(original):
    def zero_grad(self, *args, **kwargs):
        frames = 0
        try:
            library = capture.library()
            if library is not None:
                frames = library.begin_zero_grad(_name(self, "zero_grad"), _number_of(library, self))
        except Exception as error:
            failed("zero_grad", error)
        threw = True
        try:
            result = original(self, *args, **kwargs)
            threw = False
            return result
        finally:
            if frames:
                try:
                    _end(frames, threw)
                except Exception as error:
                    failed("zero_grad", error)

    return functools.update_wrapper(zero_grad, original, updated=())


def follow(module) -> None:
    """To be called when torch.optim.optimizer has just been imported."""
    module.register_optimizer_step_pre_hook(_begin_step)
    module.register_optimizer_step_post_hook(_end_step)
    noted = _noted_zero_grad(module.Optimizer.zero_grad)
    module.Optimizer.zero_grad = module.torch._disable_dynamo(noted)
