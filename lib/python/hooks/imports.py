"""Runs functions right after a module has been imported, before anything else can use it."""

import sys

from .guard import failed

_waiting = {}


class _Finder:
    """First in sys.meta_path, for as long as a module is waited for."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name not in _waiting:
            return None
        for finder in _behind():
            find = getattr(finder, "find_spec", None)
            spec = None if find is None else find(name, path, target)
            if spec is not None:
                _run_after(spec, name)
                return spec
        return None


def _behind() -> list:
    """The finders that would be asked next: the program may have some of its own."""
    finders = list(sys.meta_path)
    return finders[finders.index(_Finder) + 1 :] if _Finder in finders else finders


def _run_after(spec, name) -> None:
    """The module may be looked for without being imported, and its import may fail and be tried again."""
    loader = spec.loader
    try:
        execute = loader.exec_module

        def exec_module(module):
            execute(module)
            del loader.exec_module
            function = _waiting.pop(name, None)
            if not _waiting and _Finder in sys.meta_path:
                sys.meta_path.remove(_Finder)
            if function is not None:
                _call(function, module)

        loader.exec_module = exec_module
    except Exception as error:
        failed(f"the import of {name}", error)


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
