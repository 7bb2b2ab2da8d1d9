"""The tensors that variables of the program's main module hold when it ends, by themselves or in lists, tuples and
dicts."""

import sys

from . import capture, tensors
from .guard import failed

_MOST_TENSORS = 4096
_MOST_DEEP = 4
_LONGEST_KEY = 64
_LONGEST_LIST = 1 << 16


def _parts(value, path: str):
    if type(value) in (list, tuple):
        return [(f"{path}[{index}]", part) for index, part in enumerate(value)]
    if type(value) is dict:
        return [(f"{path}[{key!r}]", part) for key, part in list(value.items())
                if type(key) in (str, int) and len(str(key)) <= _LONGEST_KEY]
    return ()


def _held(variables) -> list:
    """Paths and addresses, in the order of the variables."""
    found = []
    waiting = [(name, value, 0) for name, value in reversed(variables)]
    while waiting and len(found) < _MOST_TENSORS:
        path, value, depth = waiting.pop()
        address = tensors.address_of(value)
        if address is not None:
            found.append((path, address))
        elif depth < _MOST_DEEP:
            waiting += [(name, part, depth + 1) for name, part in reversed(_parts(value, path))]
    return found


def _tell(library) -> None:
    main = sys.modules.get("__main__")
    if main is None:
        return
    variables = [(name, value) for name, value in list(vars(main).items())
                 if type(name) is str and not name.startswith("__")]
    names = " ".join(name for name, _ in variables)
    if len(names) > _LONGEST_LIST:
        return
    library.setting(b"end.variables", capture.text(names))
    library.forget_variables()
    for path, address in _held(variables):
        library.keep_variable(address, capture.text(path))


def follow() -> None:
    def _end(library):
        try:
            _tell(library)
        except Exception as error:
            failed("what variables hold in the end", error)

    capture.at_ends(lambda library: None, _end)
