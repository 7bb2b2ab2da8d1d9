"""What torch.save writes beside tensors: the keys under which they stand, and whole numbers. Other numbers and text may
be times, which differ in each run.

`saved.file.N` is the digest of the keys of the N-th file that the main thread saves, `saved.file.N.numbers` its whole
numbers and flags, and `saved.keys.DIGEST` the keys, once (lib/compare/diff/saved_files.hpp)."""

import collections
import functools
import hashlib
import itertools
import threading

from . import capture, compilation, tensors
from .guard import failed

_MOST_FILES = 1024
_MOST_VISITS = 1 << 17
_MOST_TEXT = 1 << 14
_DEEPEST = 32
_LARGEST = 1 << 63
_HYPERPARAMETERS = "param_groups"  # recorded of the optimizer itself
_DICTS = (dict, collections.OrderedDict, collections.defaultdict)

_files = itertools.count()
_told = set()  # digests of keys


class _Contents:
    """Of a container that is in it more often what stands there first, as of one that holds itself."""

    def __init__(self, saved) -> None:
        self.keys = []
        self.numbers = []
        self._met = set()
        self._visits = 0
        self._visit("", saved, 0)

    def _visit(self, path: str, value, depth: int) -> None:
        self._visits += 1
        if self._visits > _MOST_VISITS:
            return
        kind = type(value)
        if kind in _DICTS or kind in (list, tuple):
            if id(value) in self._met:
                self.keys.append(f"{path}: again")
            elif depth < _DEEPEST:
                self._met.add(id(value))
                self._visit_parts(path, value, depth)
            return
        self.keys.append(f"{path}: {tensors.words_of(value) or kind.__name__}")
        if kind in (int, bool) and abs(value) < _LARGEST:
            self.numbers.append(f"{path}={value}")

    def _visit_parts(self, path: str, value, depth: int) -> None:
        parts = list(value.items()) if type(value) in _DICTS else list(enumerate(value))
        if not parts:
            self.keys.append(f"{path}: empty")
        for key, part in parts:
            name = str(key) if type(key) in (str, int) else type(key).__name__
            if name != _HYPERPARAMETERS:
                self._visit(f"{path}.{name}" if path else name, part, depth + 1)


def _joined(lines) -> bytes:
    return capture.text("\n".join(line.replace("\n", " ") for line in lines))


def _text_of(numbers) -> bytes:
    """Of many the first, and one that stands for all."""
    text = _joined(numbers)
    if len(text) <= _MOST_TEXT:
        return text
    rest = b"\ndigest of all=" + hashlib.sha256(text).hexdigest()[:16].encode()
    return text[: _MOST_TEXT - len(rest)].rpartition(b"\n")[0] + rest


def _tell(library, saved) -> None:
    if threading.current_thread() is not threading.main_thread():
        return
    number = next(_files)
    if number >= _MOST_FILES:
        return
    contents = _Contents(saved)
    keys = _joined(contents.keys)
    digest = hashlib.sha256(keys).hexdigest()[:32].encode()
    if digest not in _told:
        _told.add(digest)
        library.setting(b"saved.keys." + digest, keys[:_MOST_TEXT])
    key = f"saved.file.{number}".encode()
    library.setting(key, digest)
    if contents.numbers:
        library.setting(key + b".numbers", _text_of(contents.numbers))


def _noted(original):
    def save(saved, *args, **kwargs):
        try:
            library = None if compilation.is_compiling() else capture.library()
            if library is not None:
                _tell(library, saved)
        except Exception as error:
            failed("saving a file", error)
        return original(saved, *args, **kwargs)

    return functools.update_wrapper(save, original, updated=())


def _begin(library) -> None:
    global _files
    _files = itertools.count()
    _told.clear()


def follow(serialization) -> None:
    """To be called when torch.serialization has just been imported. It writes its files by one of these functions."""
    capture.at_ends(_begin, lambda library: None)
    for name in ("_save", "_legacy_save"):
        original = getattr(serialization, name, None)
        if original is not None:
            setattr(serialization, name, _noted(original))
