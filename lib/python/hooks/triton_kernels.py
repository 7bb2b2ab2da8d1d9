"""Kernels of Triton: those that torch.compile generates for a GPU, and those of the program."""

import functools
import hashlib

from . import capture, kernels, tensors
from .compilation import compiling
from .guard import failed
from .weak import Known

_MOST_CONFIGS = 64  # of a kernel, that are said


def _said(value) -> str:
    """A number as in Python; of other objects the class, because they may print their address."""
    known = value is None or isinstance(value, (bool, int, float, str, tuple))
    return repr(value) if known else type(value).__name__


class _Tuned:
    """The names of a kernel's parameters that are chosen by measuring."""

    def __init__(self, names=()) -> None:
        self.reference = None
        self.names = names


class _Launches:
    """The launches of one kernel."""

    def __init__(self, name: str, source: str) -> None:
        self.reference = None
        self._kernel = kernels.Kernel(
            name, hashlib.blake2b(source.encode(), digest_size=8).hexdigest()
        )
        self._configs = set()

    def begin(self, arguments: dict, way_of, config: dict) -> int:
        """With arguments by their names, and what was chosen by measuring (it is a setting, not an argument)."""
        access, given, numbers = [], [], []
        for name, value in arguments.items():
            if tensors.address_of(value) is not None:
                access.append((name, way_of(name)))
                given.append(value)
            elif not callable(value):
                numbers.append(f"{name}={_said(value)}")
        frames = self._kernel.begin(tuple(access), given, ", ".join(numbers))
        if frames:
            self._say_config(numbers, config)
        return frames

    def _say_config(self, numbers: list, config: dict) -> None:
        text = ", ".join(f"{name}={_said(value)}" for name, value in sorted(config.items()))
        if not text or len(self._configs) == _MOST_CONFIGS or (tuple(numbers), text) in self._configs:
            return
        self._configs.add((tuple(numbers), text))
        library = capture.library()
        if library is not None:
            name = self._kernel.name.rpartition(":")[2]
            library.setting(capture.text("triton." + name), capture.text(text))


_launches = Known()  # _Launches by what launches
_tuned = Known()  # _Tuned by function


def _launches_of(launcher, name: str, source) -> _Launches:
    found = _launches.of(launcher)
    return found or _launches.add(launcher, _Launches(name, source if isinstance(source, str) else ""))


def _observed(original, begin):
    """The method `original`, whose event begins with what begin(self, arguments, keywords) says."""

    def run(self, *arguments, **keywords):
        frames = 0
        try:
            frames = begin(self, arguments, keywords)
        except Exception as error:
            failed("a Triton kernel", error)
        threw = True
        try:
            result = original(self, *arguments, **keywords)
            threw = False
            return result
        finally:
            kernels.end(frames, threw)

    return functools.update_wrapper(run, original, updated=())


def _measuring(original):
    """The method `original`, which launches kernels to see how long they take."""

    def measure(*arguments, **keywords):
        with compiling():
            return original(*arguments, **keywords)

    return functools.update_wrapper(measure, original, updated=())


def _measure(owner, *names: str) -> None:
    for name in names:
        setattr(owner, name, _measuring(getattr(owner, name)))


def _config_of(config) -> dict:
    return {**config.kwargs, "num_warps": config.num_warps, "num_stages": config.num_stages}


def _begin_generated(tuner, arguments, _keywords) -> int:
    function = tuner.fn
    launches = _launches_of(tuner, "inductor::" + function.__name__, function.src)
    written = tuner.mutated_arg_names

    def way_of(name: str) -> str:
        # What the program's own kernels write is not always known to the compiler.
        writes = tuner.custom_kernel or name in written or name.startswith(("out_ptr", "in_out_ptr"))
        return "w" if writes else "r"

    tuned = tuner.launchers if len(tuner.launchers) == 1 else ()
    return launches.begin(
        dict(zip(function.arg_names, arguments)),
        way_of,
        _config_of(tuned[0].config) if tuned else {},
    )


def follow_generated(module) -> None:
    """To be called when torch._inductor.runtime.triton_heuristics has just been imported."""
    tuner = module.CachingAutotuner
    tuner.run = _observed(tuner.run, _begin_generated)
    _measure(tuner, "autotune_to_one_config", "coordinate_descent_tuning")


def _begin_written(function, arguments, keywords) -> int:
    if keywords.get("warmup"):
        return 0
    named = dict(zip(function.arg_names, arguments))
    named.update((name, value) for name, value in keywords.items() if name != "warmup")
    tuned = (_tuned.of(function) or _Tuned()).names
    config = {name: named.pop(name) for name in tuned if name in named}
    launches = _launches_of(function, "triton::" + function.__name__, function.src)
    return launches.begin(named, lambda name: "w", config)


def _find_tuned(tuner, _arguments, _keywords) -> int:
    function = tuner.fn
    while hasattr(function, "fn") and not hasattr(function, "src"):
        function = function.fn
    tuned = _tuned.of(function) or _tuned.add(function, _Tuned())
    tuned.names = sorted(set().union(tuned.names, *(each.all_kwargs() for each in tuner.configs)))
    return 0


def follow_written(module) -> None:
    """To be called when triton.runtime.jit has just been imported."""
    module.JITFunction.run = _observed(module.JITFunction.run, _begin_written)


def follow_tuned(module) -> None:
    """To be called when triton.runtime.autotuner has just been imported."""
    tuner = module.Autotuner
    tuner.run = _observed(tuner.run, _find_tuned)
    _measure(tuner, "_bench")
