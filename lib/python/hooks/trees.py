"""Which modules the program has, and where in which tree: the paths of nn.Module.named_modules()."""

import ctypes
import os
import weakref

from . import capture, optimizers, tensors
from .weak import Known


class _Modules(Known):
    def removed(self, entry) -> None:
        for called, number in entry.freed:
            _free.setdefault(called, []).append(number)


_known = _Modules()  # _Module by module
_owners = {}  # id of a module -> weak reference to the one in which it was registered first
_most_owners = 1024  # then those that are gone are removed
_changed = set()  # ids of roots in which something has been registered since they were walked
_free = {}  # name or type of a root -> numbers of such roots that are gone
_stateless = {}  # type -> number of all roots of that type that have nothing inside
_walked_in = None  # the process that has walked last
_wrapper = None  # the type of what torch.compile makes of a module
_graph = None  # that of modules which are graphs of ops, as compilers make them


class _Module:
    """A module that a walk has found."""

    __slots__ = ("reference", "number", "root", "state", "freed")

    def __init__(self, number: int, root: int) -> None:
        self.reference = None
        self.number = number
        self.root = root
        self.state = ()  # of a root: the tensors of its tree by name
        self.freed = ()  # (name or type, number) of the roots that it has been, whose numbers are free once it is gone


def _knows(module, number: int, root: int) -> _Module:
    earlier = _known.of(module)
    known = _Module(number, root)
    if earlier is not None:
        known.freed = earlier.freed
    return _known.add(module, known)


def known_modules() -> dict:
    """The modules that walks have found, by their ids: objects with `reference` and `number`."""
    return _known


def follow_wrappers(module) -> None:
    """To be called when torch._dynamo.eval_frame has just been imported."""
    global _wrapper
    _wrapper = module.OptimizedModule


def follow_graphs(module) -> None:
    """To be called when torch.fx.graph_module has just been imported."""
    global _graph
    _graph = module.GraphModule


def is_of_compiler(library, module) -> bool:
    """Whether a compiler has made it of the program's modules, which are called by it no more."""
    if _graph is None or not issubclass(type(module), _graph) or _known.of(module) is not None:
        return False
    return _top_of(module) is module and library.in_compiled_code() != 0


def _is_wrapper(module) -> bool:
    """Whether it stands for a module that torch.compile was given, which has its names and its calls:
    an eager model and a compiled one are the same tree."""
    return type(module) is _wrapper


def wrapped(module):
    """The module that it stands for, itself if it is no wrapper."""
    return _part(module, "_modules").get("_orig_mod", module) if _is_wrapper(module) else module


def _is_replica(module) -> bool:
    """Whether DataParallel has made it of another module, whose calls its own are."""
    return module.__dict__.get("_is_replica") is True


def is_replicated(library, module, replica) -> None:
    number = number_of(library, module, False)
    known = _known.of(module)
    if known is not None:
        _knows(replica, number, known.root)


def is_registered(owner, module) -> None:
    """`owner` has been given a module."""
    if _is_wrapper(owner) or _is_replica(owner):
        return
    module = wrapped(module)
    global _owners, _most_owners
    key = id(module)
    earlier = _owners.get(key)
    if earlier is None or earlier() is None:
        _owners[key] = weakref.ref(owner)
    if len(_owners) > _most_owners:
        _owners = {key: each for key, each in _owners.items() if each() is not None}
        _most_owners = 2 * len(_owners) + 1024
    has_changed(owner)


def has_changed(module) -> None:
    """A module has been given a parameter, a buffer or a module."""
    if _is_replica(module):
        return
    known = _known.of(module)
    if known is not None:
        _changed.add(known.root)


def _top_of(module):
    """The outermost module in which it was registered."""
    met = set()
    while id(module) not in met:
        met.add(id(module))
        owner = _owners.get(id(module))
        owner = owner() if owner is not None else None
        if owner is None or not _has(owner, module):
            return module
        module = owner
    return module


def _has(owner, module) -> bool:
    return any(wrapped(each) is module for each in _part(owner, "_modules").values())


def _part(module, name: str) -> dict:
    part = module.__dict__.get(name)
    return part if isinstance(part, dict) else {}


class _Description:
    """The modules of a tree as (module, path, index of the one above) and its tensors as (tensor, name,
    is a buffer, index of its module), in the order of named_modules()."""

    def __init__(self, root) -> None:
        self.modules, self.state, self._met = [], [], set()
        self._visit(root, "", 0)

    def addresses(self) -> tuple:
        return tuple((name, tensors.address_of(tensor)) for tensor, name, _, _ in self.state)

    def _visit(self, module, path: str, above: int) -> None:
        if id(module) in self._met:
            return
        self._met.add(id(module))
        index = len(self.modules)
        self.modules.append((module, path, above))
        prefix = path + "." if path else ""
        for is_buffer, part in enumerate(("_parameters", "_buffers")):
            for name, tensor in _part(module, part).items():
                if tensor is not None:
                    self.state.append((tensor, prefix + name, is_buffer, index))
        for name, child in _part(module, "_modules").items():
            if child is not None:
                self._visit(wrapped(child), prefix + name, index)


def _type_of(module) -> str:
    return type(module).__name__


def watch(library, root, name: str) -> None:
    """Gives a root a name; an empty one is that of its class."""
    root = wrapped(root)
    before = _known.of(root)
    if before is not None and before.root == id(root) and name:
        library.forget_root(before.number)
    _learn(library, root, name)


def _learn(library, root, name: str = "", description=None) -> None:
    global _walked_in
    _walked_in = os.getpid()
    description = description or _Description(root)
    modules, state = description.modules, description.state
    kind = _type_of(root)
    before = _known.of(root)
    is_new = bool(name) or before is None or before.root != id(root)
    has_state = bool(name) or len(modules) > 1 or bool(state)
    if not has_state and kind in _stateless:
        _knows(root, _stateless[kind], id(root))
        return
    called = name or kind
    _known.remove_gone()
    free = _free.get(called) if is_new else None
    known_as = free.pop(0) if free else 0 if is_new else before.number
    described = library.root(known_as, capture.text(name))
    for module, path, above in modules:
        library.add_module(described, capture.text(path), capture.text(_type_of(module)), above)
    for tensor, path, is_buffer, index in state:
        address = tensors.address_of(tensor)
        if address is not None:
            library.add_tensor(described, address, capture.text(path), is_buffer, index)
    numbers = (ctypes.c_uint32 * len(modules))()
    library.learn(described, numbers)
    for (module, _, _), number in zip(modules, numbers):
        earlier = _known.of(module)
        if module is not root and earlier is not None and earlier.root == id(module):
            library.forget_root(earlier.number)
        _knows(module, number, id(root))
    known = _known[id(root)]
    known.state = description.addresses()
    if not has_state:
        _stateless[kind] = numbers[0]
    elif is_new:
        known.freed += ((called, numbers[0]),)
    _changed.discard(id(root))


def _roots():
    """Those that live and have been walked, with what is known of them."""
    for known in list(_known.values()):
        root = known.reference()
        if root is not None and known.root == id(root):
            yield root, known


def look_again(library) -> None:
    """The program ends: which tensors its modules have in the end, of those that have been called."""
    if _walked_in != os.getpid():  # a fork that has called none of them may have computed nothing
        return
    descriptions = {}
    for root, known in _roots():
        description = _Description(root)
        if known.root in _changed or description.addresses() != known.state:
            _learn(library, root, description=description)
        descriptions[id(root)] = description
    _name_kept(library, descriptions)


def _name_kept(library, descriptions) -> None:
    """Gradients and states of optimizers by the names of their parameters, as they are now."""
    library.forget_gradients()
    named = {}  # id of a parameter -> the parameter, its name and the number of its module
    for root, _ in _roots():
        description = descriptions.get(id(root)) or _Description(root)
        for tensor, name, is_buffer, index in description.state:
            owner = _known.of(description.modules[index][0])
            if is_buffer or owner is None or tensors.address_of(tensor) is None:
                continue
            named.setdefault(id(tensor), (tensor, name, owner.number))
    for parameter, name, module in named.values():
        gradient = parameter.grad if parameter.is_leaf else None
        address = None if gradient is None else tensors.address_of(gradient)
        if address is not None:
            library.keep(address, capture.text(name + ".grad"), False, module)
    for parameter, key, tensor in optimizers.states():
        address = tensors.address_of(tensor)
        if id(parameter) in named and address is not None:
            _, name, module = named[id(parameter)]
            library.keep(address, capture.text(f"{name}.{key}"), True, module)


def number_of(library, module, outermost: bool) -> int:
    """The module's number. Walks the tree that it belongs to if that is new or has changed.

    Args:
        outermost: no call of another module encloses this one.
    """
    known = _known.of(module)
    if known is None:
        _learn(library, _top_of(module))
        if _known.of(module) is None:
            _learn(library, module)
        known = _known.of(module)
    elif outermost and known.root in _changed:
        root = _known[known.root].reference() if known.root in _known else None
        _changed.discard(known.root)
        _learn(library, _top_of(module if root is None else root))
        known = _known.of(module) or known
    return known.number
