"""Runs functions right after a module has been imported, before anything else can use it."""

import sys
from importlib.machinery import PathFinder

from .guard import failed

_waiting = {}


class _Finder:
    """First in sys.meta_path, for as long as a module is waited for."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        function = _waiting.pop(name, None)
        if not _waiting and _Finder in sys.meta_path:
            sys.meta_path.remove(_Finder)
        if function is None:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            _run_after(spec.loader, function)
        return spec


def _run_after(loader, function) -> None:
    execute = loader.exec_module

    def exec_module(module):
        execute(module)
        del loader.exec_module
        _call(function, module)

    loader.exec_module = exec_module


def _call(function, module) -> None:
    try:
        function(module)
    except Exception as error:
        failed(f"the import of {module.__name__}", error)


def after_import(name: str, function) -> None:
    """Calls function(module) when `name` has been imported for the first time."""
    if name in sys.modules:
        _call(function, sys.modules[name])
        return
    _waiting[name] = function
    if _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)
