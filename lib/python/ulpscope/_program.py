"""What a recorded program says about itself. While nothing is recorded no call has an effect."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Any, Iterable

if TYPE_CHECKING:
    import torch


def _hooks():
    """The hooks of the process, which `ulpscope record` or `record` has brought in; else None."""
    hooks = sys.modules.get("_ulpscope")
    return getattr(hooks, "program", None)


def watch(module: torch.nn.Module, name: str = "") -> None:
    """Names the modules, parameters and buffers of a root as its named_modules() does. Roots that are
    called are found without it.

    Args:
        name: of the root in reports; its class name if empty.
    """
    hooks = _hooks()
    if hooks is not None:
        hooks.watch(module, name)


def step() -> None:
    """Ends a step: what comes next belongs to the following one. Without any call, steps follow from
    the calls of root modules and from the steps of optimizers."""
    hooks = _hooks()
    if hooks is not None:
        hooks.step()


@contextlib.contextmanager
def scope(name: str):
    """Names what runs on this thread meanwhile: ops report it among their callers. A name that is the
    path of a module makes it a call of that module, which is how a direct `.forward()` gets one."""
    hooks = _hooks()
    if hooks is None:
        yield
        return
    with hooks.scope(name):
        yield


def note(key: str, value: Any) -> None:
    """Adds the setting `note.KEY` to the dump, from the current step on, as str(value)."""
    hooks = _hooks()
    if hooks is not None:
        hooks.note(key, str(value))


def note_rng(name: str, generator: Any) -> None:
    """Adds the digest of a generator's state as the setting `note.rng.NAME`, from the current step on.

    Args:
        generator: a random.Random, a numpy.random.Generator or RandomState, a torch.Generator, or
            its state as bytes.

    Raises:
        TypeError: it is none of these.
    """
    hooks = _hooks()
    if hooks is not None:
        hooks.note_rng(name, generator)


def note_batch(ids: Iterable[int]) -> None:
    """Notes which samples the step's batch has, as the setting `note.batch`: the ids, or the digest of
    more than 64."""
    hooks = _hooks()
    if hooks is not None:
        hooks.note_batch(ids)
