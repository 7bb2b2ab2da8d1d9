"""Steps of optimizers, and zero_grad."""

import functools
import itertools
import os
import threading

from . import capture, compilation, generators, hyperparameters
from .guard import failed
from .weak import Known

_LIBRARY_OPTIMIZERS = "torch.optim."
_MOST_LEFT = 1024


class _OfThread(threading.local):
    def __init__(self) -> None:
        self.steps = {}  # id of an optimizer -> frames of its step


_of_thread = _OfThread()
_of_main = itertools.count()
_of_others = itertools.count()


def _key() -> str:
    """By which its hyperparameters are noted, empty where so many are that they are not: the order in which the main
    thread uses them is the same in each run, that of other threads is not (lib/compare/diff/outcomes/left_options.hpp)."""
    of_main = threading.current_thread() is threading.main_thread()
    number = next(_of_main if of_main else _of_others)
    if number > _MOST_LEFT:
        return ""
    return f"{number}" if of_main else f"t{number}" if number < _MOST_LEFT else "t"


class _Used:
    """An optimizer that the program has used."""

    __slots__ = ("reference", "number", "process", "key", "saved")

    def __init__(self, number: int) -> None:
        self.reference = None
        self.number = number
        self.process = os.getpid()
        self.key = _key()
        self.saved = None  # what has been said of it as it was saved last


_known = Known()  # _Used by optimizer


def _used(library, optimizer) -> _Used:
    return _known.of(optimizer) or _known.add(optimizer, _Used(library.new_object()))


def _number_of(library, optimizer) -> int:
    return _used(library, optimizer).number


def _tell_changed(library, when: str, used: _Used, optimizer, told) -> dict:
    """Which hyperparameters are set otherwise since the last step, as far as that is not what has been told."""
    if not used.key or used.process != os.getpid():
        return told
    try:
        changed = {name: " -> ".join(pair) for name, pair in hyperparameters.changed(optimizer).items()}
    except Exception as error:
        failed("an optimizer's hyperparameters", error)
        return told
    key = f"{when}.optimizer.{used.key}"
    if told is None:
        library.setting(key.encode(), capture.text(type(optimizer).__name__))
        told = {}
    for name in told.keys() | changed.keys():
        if told.get(name, "") != changed.get(name, ""):
            library.setting(capture.text(f"{key}.{name}"), capture.text(changed.get(name, "")))
    return changed


def _begin(library) -> None:
    for used in list(_known.values()):
        used.saved = None


def _tell_left(library) -> None:
    for used in list(_known.values()):
        optimizer = used.reference()
        if optimizer is not None:
            _tell_changed(library, "end", used, optimizer, None)


def _noted_state_dict(original):
    """What a run saves of an optimizer may be all that it leaves of it: which ones still stand at the end can depend on
    when garbage is collected."""

    def state_dict(self, *args, **kwargs):
        try:
            library = capture.library()
            if library is not None:
                used = _used(library, self)
                used.saved = _tell_changed(library, "saved", used, self, used.saved)
        except Exception as error:
            failed("an optimizer's hyperparameters", error)
        return original(self, *args, **kwargs)

    return functools.update_wrapper(state_dict, original, updated=())


def states():
    """What the optimizers that the program has used keep of each parameter: the parameter, a name and
    the value."""
    for used in list(_known.values()):
        optimizer = used.reference()
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
        _of_thread.steps[id(optimizer)] = library.begin_step(
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
        _end(_of_thread.steps.pop(id(optimizer), 0), False)
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
    capture.at_ends(_begin, _tell_left)
    module.register_optimizer_step_pre_hook(_begin_step)
    module.register_optimizer_step_post_hook(_end_step)
    optimizer, untraced = module.Optimizer, module.torch._disable_dynamo
    optimizer.zero_grad = untraced(_noted_zero_grad(optimizer.zero_grad))
    optimizer.state_dict = untraced(_noted_state_dict(optimizer.state_dict))
