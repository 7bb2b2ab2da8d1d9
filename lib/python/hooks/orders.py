"""In which order the program's sets and dicts have their elements when it ends: that of a set of strings is another one
in each process, unless PYTHONHASHSEED is set, and what is filled from it takes that over."""

import os
import sys
import sysconfig
import types

from . import capture
from .guard import failed

_CONTAINERS = {set: "set", frozenset: "set", dict: "dict"}
_MOST = 64  # containers, and elements of one


def _folders() -> tuple:
    """Where modules are that the program has not written."""
    paths = {os.path.dirname(os.path.dirname(sys.modules["torch"].__file__)), *sysconfig.get_paths().values()}
    return tuple(path + os.sep for path in paths if path)


def _is_of_program(module, folders) -> bool:
    if type(module) is not types.ModuleType:
        return False
    file = vars(module).get("__file__")
    if not isinstance(file, str) or "-packages" + os.sep in file:
        return module is sys.modules.get("__main__")
    return module is sys.modules.get("__main__") or not file.startswith(folders)


def _elements(value):
    """Those of a set or dict of strings; None for anything else, and for one that has no order worth saying."""
    if type(value) not in _CONTAINERS or not 1 < len(value) <= _MOST:
        return None
    elements = list(value)
    return elements if all(type(each) is str for each in elements) else None


def _held(names: dict):
    """(name, container) of those to which a name refers, or an attribute of an object of the program's own class."""
    for name, value in list(names.items()):
        if name.startswith("__"):
            continue
        yield name, value
        kind = type(value)
        inner = getattr(value, "__dict__", None) if kind.__module__ == names.get("__name__") else None
        if type(inner) is dict:
            for attribute, each in list(inner.items()):
                if not attribute.startswith("_"):
                    yield f"{name}.{attribute}", each


def _tell(library) -> None:
    folders = _folders()
    told = 0
    met = set()  # a module may have several names
    for module_name, module in list(sys.modules.items()):
        if id(module) in met or module_name.partition(".")[0] == __package__ or not _is_of_program(module, folders):
            continue
        met.add(id(module))
        for name, value in _held(vars(module)):
            elements = _elements(value)
            if elements is None or told == _MOST:
                continue
            told += 1
            key = f"end.order.{_CONTAINERS[type(value)]}.{module_name}.{name}"
            library.setting(capture.text(key), capture.text(", ".join(elements)))


def _tell_at_end(library) -> None:
    processes = sys.modules.get("multiprocessing.process")
    if processes is not None and processes.parent_process() is not None:
        return  # it has the containers of the process that created it
    try:
        _tell(library)
    except Exception as error:
        failed("the order of containers", error)


def follow() -> None:
    capture.at_ends(lambda library: None, _tell_at_end)
