"""What torch.save writes beside tensors: the keys under which they stand, whole numbers, members of enumerations,
dtypes, arrays and sets, of modules and other objects, too, and which tensors share memory. Other numbers and text may
be times, which differ in each run: of those only the order is compared.

`saved.file.N` is the digest of the keys of the N-th file that the main thread saves, `saved.file.N.numbers` its whole
numbers and flags, `saved.file.N.others` its other numbers and digests of its texts, `saved.file.N.name` its name
without folder and extension, `saved.file.N.path` the end of its path, `saved.file.N.tensors` how many of the events
`torch::save` it has, and `saved.keys.DIGEST` the keys, once (lib/compare/diff/outcomes/saved_files.hpp). Files of other threads
are `saved.file.tN`."""

import collections
import dataclasses
import enum
import functools
import hashlib
import itertools
import os
import sys
import threading
import types

from . import capture, compilation, tensors
from .guard import failed

_MOST_FILES = 1024
_MOST_VISITS = 1 << 17
_MOST_TEXT = 1 << 14
_DEEPEST = 32
_LONG_LIST = 64
_MOST_SHOWN = 32  # of a text
_ROUNDED = 5  # digits and point of a number that others may agree with by chance
_MOST_BITS = 1024
_HYPERPARAMETERS = "param_groups"  # recorded of the optimizer itself
_SEQUENCES = (list, tuple, collections.deque, range)
_SETS = (set, frozenset)
_VALUES = (int, float, complex, str, bytes, bytearray, type, BaseException, enum.Enum)
_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE

_files_of_main = itertools.count()
_files_of_others = itertools.count()
_told = set()  # digests of keys


def _parts_of(value):
    """The keys and parts of a container; None for what is no container."""
    kind = type(value)
    if issubclass(kind, dict):
        return list(dict.items(value))
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return list(zip(kind._fields, tuple.__iter__(value)))
    for sequence in _SEQUENCES:
        if issubclass(kind, sequence):
            return list(enumerate(sequence.__iter__(value)))
    if dataclasses.is_dataclass(kind) or kind is types.SimpleNamespace or kind is _class_in("argparse", "Namespace"):
        return list(vars(value).items()) if hasattr(value, "__dict__") else _fields_of(value)
    if _is_pickled_by_attributes(kind):
        attributes = object.__getattribute__(value, "__dict__")
        return [(name, part) for name, part in attributes.items() if name != "_compiled_call_impl"]
    return None


def _is_pickled_by_attributes(kind: type) -> bool:
    """An object of a class of Python's that does not say itself what is pickled of it, such as a module."""
    by_default = kind.__reduce_ex__ is object.__reduce_ex__ and kind.__reduce__ is object.__reduce__
    state = getattr(kind, "__getstate__", None)
    own_state = all(
        state is not getattr(known, "__getstate__", None) for known in (object, _class_in("torch.nn", "Module"))
    )
    has_attributes = kind.__flags__ & _HEAP_TYPE and kind.__dictoffset__ != 0
    return by_default and not own_state and has_attributes and not issubclass(kind, _VALUES)


def _is_long_list(value) -> bool:
    """Of numbers or text, all of one type."""
    if type(value) not in (list, tuple) or len(value) < _LONG_LIST:
        return False
    kinds = set(map(type, value))
    return len(kinds) == 1 and kinds <= {int, float, str, bool}


def _fields_of(value):
    """Of a dataclass with slots."""
    return [(field.name, getattr(value, field.name, None)) for field in dataclasses.fields(value)]


def _class_in(module: str, name: str):
    """None if the program has not imported it."""
    return getattr(sys.modules.get(module), name, None)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _is_array(value) -> bool:
    return issubclass(type(value), _class_in("numpy", "ndarray") or ())


def _array_digest(array):
    """Of its elements; None where they are no numbers."""
    has_numbers = array.dtype.kind in "biufcV" and not array.dtype.hasobject
    return _digest(_class_in("numpy", "ndarray").tobytes(array)) if has_numbers else None


class _Contents:
    """Of a container that is in it more often what stands there first, as of one that holds itself."""

    def __init__(self, saved) -> None:
        self.keys = []
        self.numbers = []
        self.others = []
        self._met = set()
        self._keys_of_storages = {}
        self._visits = 0
        self._visit("", saved, 0)

    def _visit(self, path: str, value, depth: int) -> None:
        self._visits += 1
        if self._visits > _MOST_VISITS:
            return
        if _is_long_list(value):
            return self._add_list(path, value)
        parts = _parts_of(value)
        if parts is None:
            self._add(path, value)
        elif id(value) in self._met:
            self.keys.append(f"{path}: again")
        elif depth < _DEEPEST:
            self._met.add(id(value))
            self._visit_parts(path, parts, depth)

    def _visit_parts(self, path: str, parts, depth: int) -> None:
        if not parts:
            self.keys.append(f"{path}: empty")
        for key, part in parts:
            name = _name_of_key(key)
            if name != _HYPERPARAMETERS:
                self._visit(f"{path}.{name}" if path else name, part, depth + 1)

    def _add_list(self, path: str, value) -> None:
        kind = type(value[0])
        self.keys.append(f"{path}: {len(value)} {kind.__name__}")
        if kind is int:
            self.numbers.append(f"{path}={_digest(','.join(map(hex, value)).encode())}")
        elif kind is not bool:
            self.others.append(f"{path}={_digest(repr(value).encode())}")

    def _add(self, path: str, value) -> None:
        kind = type(value)
        if issubclass(kind, int):
            number = _whole(value)
        elif issubclass(kind, enum.Enum):
            number = value._name_
        elif kind is _class_in("torch", "dtype"):
            number = str(value)
        elif kind is _class_in("torch.nn", "Parameter"):
            number = f"requires_grad {value.requires_grad}"
        elif kind in _SETS:
            number = f"set {_digest(repr(sorted(map(repr, value))).encode())}" if _is_plain(value) else None
        elif _is_array(value):
            number = _array_digest(value)
        elif issubclass(kind, (_class_in("numpy", "integer") or (), _class_in("numpy", "bool_") or ())):
            number = value.item()
        else:
            number = None
        self.keys.append(f"{path}: {_words_of(value)}")
        if number is not None:
            self.numbers.append(f"{path}={number}")
        elif kind is float and len(repr(value)) > _ROUNDED:
            self.others.append(f"{path}={value!r}")
        elif kind in (str, bytes):
            self.others.append(f"{path}={_text_words(value)}")
        self._note_shared(path, value)

    def _note_shared(self, path: str, value) -> None:
        storage = tensors.storage_of(value)
        if storage is None:
            return
        first = self._keys_of_storages.setdefault(storage, path)
        if first != path:
            self.numbers.append(f"{path}.memory={first}")


def _text_words(text) -> str:
    words = repr(text)
    return words if len(words) <= _MOST_SHOWN and "=" not in words else _digest(words.encode())


def _whole(number: int):
    """Of a subclass, such as an IntEnum, its number. Python refuses to print those of many digits."""
    plain = number if type(number) is bool else int.__index__(number)
    return plain if plain.bit_length() <= _MOST_BITS else _digest(hex(plain).encode())


def _name_of_key(key) -> str:
    if type(key) is int:
        return str(_whole(key))
    if type(key) in (bool, type(None)):
        return str(key)
    return key if type(key) is str else type(key).__name__


def _is_plain(elements) -> bool:
    return all(type(element) in (int, bool, str, bytes) for element in elements)


def _words_of(value) -> str:
    if _is_array(value):
        return f"{value.dtype.name} {list(value.shape)}"
    return tensors.words_of(value, with_place=True) or type(value).__name__


def _joined(lines) -> bytes:
    return capture.text("\n".join(line.replace("\n", " ") for line in lines))


def _text_of(numbers) -> bytes:
    """Of many the first, and one that stands for all."""
    text = _joined(numbers)
    if len(text) <= _MOST_TEXT:
        return text
    rest = b"\ndigest of all=" + _digest(text).encode()
    return text[: _MOST_TEXT - len(rest)].rpartition(b"\n")[0] + rest


class _Opened(threading.local):
    path = ""  # of the archive that torch.save has opened, and not yet written


_opened = _Opened()


def _path_of(file) -> str:
    """Its folder, name and extension; empty for a buffer."""
    if hasattr(file, "archive_name"):  # a writer of archives knows no more than the name
        path, _opened.path = _opened.path, ""
        return path
    path = os.fspath(file) if isinstance(file, (str, os.PathLike)) else getattr(file, "name", None)
    return "/".join(os.path.normpath(path).split(os.sep)[-2:]) if isinstance(path, str) else ""


def _noting_path(original):
    def _open_zipfile_writer(name_or_buffer):
        try:
            _opened.path = _path_of(name_or_buffer)
        except Exception as error:
            failed("the name of a file", error)
        return original(name_or_buffer)

    return functools.update_wrapper(_open_zipfile_writer, original, updated=())


def _next_file():
    """Its key in the settings; None where there are too many."""
    in_main = threading.current_thread() is threading.main_thread()
    number = next(_files_of_main if in_main else _files_of_others)
    return f"saved.file.{'' if in_main else 't'}{number}" if number < _MOST_FILES else None


def _tell(library, saved, file):
    """Returns the file's key in the settings, if it has one."""
    key = _next_file()
    if key is None:
        return None
    contents = _Contents(saved)
    keys = _joined(contents.keys)
    digest = hashlib.sha256(keys).hexdigest()[:32].encode()
    if digest not in _told:
        _told.add(digest)
        library.setting(b"saved.keys." + digest, keys[:_MOST_TEXT])
    library.setting(key.encode(), digest)
    path = _path_of(file)
    if path:
        library.setting(f"{key}.name".encode(), capture.text(os.path.splitext(os.path.basename(path))[0]))
        library.setting(f"{key}.path".encode(), capture.text(path))
    if contents.numbers:
        library.setting(f"{key}.numbers".encode(), _text_of(contents.numbers))
    if contents.others:
        library.setting(f"{key}.others".encode(), _text_of(contents.others))
    return key


class _Tensors:
    """Counts those that are saved with a file."""

    def __init__(self, library, key) -> None:
        self._library, self._key, self._before = library, key, library.saves()

    def tell(self) -> None:
        if self._key is not None:
            number = self._library.saves() - self._before
            self._library.setting(f"{self._key}.tensors".encode(), str(number).encode())


def _noted(original):
    def save(saved, file, *args, **kwargs):
        tensors_of_file = None
        try:
            library = None if compilation.is_compiling() else capture.library()
            if library is not None:
                tensors_of_file = _Tensors(library, _tell(library, saved, file))
        except Exception as error:
            failed("saving a file", error)
        result = original(saved, file, *args, **kwargs)
        try:
            if tensors_of_file is not None:
                tensors_of_file.tell()
        except Exception as error:
            failed("saving a file", error)
        return result

    return functools.update_wrapper(save, original, updated=())


def _begin(library) -> None:
    global _files_of_main, _files_of_others
    _files_of_main = itertools.count()
    _files_of_others = itertools.count()
    _told.clear()


def follow(serialization) -> None:
    """To be called when torch.serialization has just been imported. It writes its files by one of these functions."""
    capture.at_ends(_begin, lambda library: None)
    for name in ("_save", "_legacy_save"):
        original = getattr(serialization, name, None)
        if original is not None:
            setattr(serialization, name, _noted(original))
    opener = getattr(serialization, "_open_zipfile_writer", None)
    if opener is not None:
        serialization._open_zipfile_writer = _noting_path(opener)


def _note_memory(library, saved) -> None:
    """Of the CPU: tensors of other devices are copied first, by an op."""
    for tensor in saved.values():
        memory = tensors.memory_of(tensor)
        if memory is not None:
            library.saved(memory)


def _noted_safetensors(original, writes_file):
    """Of a function that writes the memory of tensors itself, which LibTorch does not see."""

    def save(*args, **kwargs):
        try:
            library = capture.library()
            saved = args[0] if args else kwargs.get("tensors")
            if library is not None and issubclass(type(saved), dict):
                saved = dict(sorted(dict.items(saved)))  # as it writes them
                file = args[1] if len(args) > 1 else kwargs.get("filename")
                tensors_of_file = _Tensors(library, _tell(library, saved, file if writes_file else None))
                _note_memory(library, saved)
                tensors_of_file.tell()
        except Exception as error:
            failed("saving a file of safetensors", error)
        return original(*args, **kwargs)

    return functools.update_wrapper(save, original, updated=())


def follow_safetensors(module) -> None:
    """To be called when safetensors.torch has just been imported."""
    module.save_file = _noted_safetensors(module.save_file, writes_file=True)
    module.save = _noted_safetensors(module.save, writes_file=False)
