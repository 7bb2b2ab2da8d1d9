"""Reading the values of a dump."""

from __future__ import annotations

import builtins
import dataclasses
import json
import os
import tempfile
from typing import TYPE_CHECKING, Any, Iterator

from . import _installation
from ._errors import Error

if TYPE_CHECKING:
    import numpy
    import torch


@dataclasses.dataclass(frozen=True)
class Value:
    """What is known of a value without its bytes."""

    path: str
    dtype: str  #: PyTorch's name: "float32", "bfloat16"
    shape: tuple[int, ...]
    digest: str  #: 128 bits in hexadecimal digits


class Dump:
    """A dump's values, by their paths in the layer tree ("steps/000003/forward/layer1.conv1/0/output.0")
    or as slots of an event ("event:140913/output.0"). Their bytes are there at level full."""

    def __init__(self, path: str | os.PathLike) -> None:
        self.path = os.fspath(path)
        folder = self.path.partition("@")[0]
        try:
            with builtins.open(os.path.join(folder, "status.json"), encoding="utf-8") as file:
                self.status: dict[str, Any] = json.load(file)
        except (OSError, ValueError) as error:
            raise Error(f"'{folder}' is no dump: {error}") from error

    def __repr__(self) -> str:
        return f"Dump({self.path!r})"

    def values(self, glob: str = "**") -> list[Value]:
        """The values whose paths match; ** stands for any number of parts.

        Raises:
            Error: the dump cannot be read.
        """
        done = _installation.run("inspect", self.path, glob, "--width", "1000000", "--color", "never")
        lines = [line for line in done.stdout.splitlines() if line.strip()]
        if lines and lines[0].split()[0] == "value":  # one that was named, with all that is known of it
            fields = dict(line.split(None, 1) for line in lines[:3])
            return [_value(f"{fields['value']} {fields['tensor']} {fields['digest']}")]
        return [_value(line) for line in lines]

    def __iter__(self) -> Iterator[str]:
        return (value.path for value in self.values())

    def __getitem__(self, path: str) -> numpy.ndarray:
        """A value as an array in row-major order. bfloat16 and fp8, which NumPy lacks, are the unsigned
        integers of their bits.

        Raises:
            Error: there is no such value, or its bytes were not recorded.
        """
        import numpy

        with tempfile.TemporaryDirectory(prefix="ulpscope-") as folder:
            file = os.path.join(folder, "value.npy")
            done = _installation.run("export", self.path, path, "-o", file)
            if done.returncode != 0 or not os.path.exists(file):
                raise Error(done.stderr.strip().removeprefix("ulpscope: error: "))
            return numpy.load(file)

    def tensor(self, path: str) -> torch.Tensor:
        """A value as a tensor on the CPU, with its dtype.

        Raises:
            Error: there is no such value, or its bytes were not recorded.
        """
        import torch

        (value,) = self.values(path)
        dtype = getattr(torch, value.dtype, None)
        array = self[path]
        tensor = torch.from_numpy(array.copy())
        return tensor if dtype in (None, tensor.dtype) else tensor.view(dtype)


def _value(line: str) -> Value:
    path, rest = line.split(None, 1)
    described, _, digest = rest.rpartition(" ")
    dtype, _, shape = described.partition(" ")
    sizes = shape.strip().strip("[]")
    return Value(path, dtype, tuple(int(size) for size in sizes.split(",") if size.strip()), digest.strip())


def open(path: str | os.PathLike) -> Dump:
    """Opens a dump; a part may be selected: "runs/a@rank=2,steps=10-19".

    Raises:
        Error: it is no dump.
    """
    return Dump(path)
