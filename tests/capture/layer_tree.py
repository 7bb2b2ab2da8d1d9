#!/usr/bin/env python3
"""Records a program that saves its layers' values with torch::save, and compares every one, bit for
bit, with what h5py and h5dump read under its name in the recording. Needs h5py, not PyTorch.

    layer_tree.py --bin build/release/bin [-- COMMAND]

COMMAND is given the folder to save in as its last argument.
"""

import argparse
import glob
import os
import pickle
import subprocess
import sys
import tempfile
import zipfile

import h5py
import numpy

DTYPES = {"HalfStorage": "<f2", "BFloat16Storage": "<u2", "FloatStorage": "<f4",
          "DoubleStorage": "<f8", "ComplexFloatStorage": "<c8", "BoolStorage": "|b1",
          "LongStorage": "<i8"}


class Named:
    """Replaces a class that only PyTorch has."""

    def __init__(self, *arguments):
        self.arguments = arguments

    def __setstate__(self, state):
        self.state = state


class Reader(pickle.Unpickler):
    """Reads the one tensor of a file that torch::save wrote, without PyTorch."""

    def __init__(self, archive):
        self.archive = archive
        self.folder = next(name for name in archive.namelist() if name.endswith("data.pkl"))[:-8]
        self.tensors = []
        super().__init__(archive.open(self.folder + "data.pkl"))

    def persistent_load(self, identity):
        _, storage, key, _, _ = identity
        data = self.archive.read(f"{self.folder}data/{key}")
        return numpy.frombuffer(data, DTYPES[storage])

    def find_class(self, module, name):
        if name == "_rebuild_tensor_v2":
            return self.rebuild
        if name.endswith("Storage"):
            return name
        return type(name, (Named,), {})

    def rebuild(self, storage, offset, sizes, strides, *_):
        item = storage.itemsize
        array = numpy.lib.stride_tricks.as_strided(
            storage[offset:], sizes, [stride * item for stride in strides])
        self.tensors.append(array)
        return array


def saved(path):
    with zipfile.ZipFile(path) as archive:
        reader = Reader(archive)
        reader.load()
        (tensor,) = reader.tensors
        return tensor


def tree_path(name):
    """steps/000003/forward/conv/0/output.0 of step3.forward.conv.output."""
    step, phase, rest = name.split(".", 2)
    folder = f"steps/{int(step[4:]):06}/{phase}"
    if phase == "optimizer" or rest.endswith(".grad"):
        return f"{folder}/{rest}"
    layer, role = rest.rsplit(".", 1)
    return f"{folder}/{layer}/0/{role}.0"


def bits(array):
    return numpy.ascontiguousarray(array).tobytes()


def read(dataset):
    """What h5py reads; it widens bfloat16, which NumPy lacks, to float32."""
    array = dataset[()]
    if dataset.attrs["dtype"] in ("bfloat16", b"bfloat16"):
        return (array.view("<u4") >> 16).astype("<u2")
    return array


def dumped_by_h5dump(segment, path):
    """The dataset's bytes as h5dump writes them in binary."""
    with tempfile.NamedTemporaryFile() as file:
        subprocess.run(["h5dump", "-d", "/" + path, "-b", "FILE", "-o", file.name, segment],
                       check=True, capture_output=True)
        return file.read()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("command", nargs="*")
    arguments = parser.parse_args()
    command = arguments.command or [os.path.join(arguments.bin, "saved_layers"), "--steps", "3",
                                    "--folder"]
    wrong = compared = 0
    with tempfile.TemporaryDirectory(prefix="ulpscope-layers-") as folder:
        dump, files = os.path.join(folder, "dump"), os.path.join(folder, "files")
        os.mkdir(files)
        subprocess.run([os.path.join(arguments.bin, "ulpscope"), "record", "--level", "full", "-o",
                        dump, "--", *command, files], check=True)
        segments = sorted(glob.glob(os.path.join(dump, "rank0000", "segment-*.h5")))
        for path in sorted(glob.glob(os.path.join(files, "*.pt"))):
            name = os.path.basename(path)[:-3]
            expected = saved(path)
            found = None
            for segment in segments:
                with h5py.File(segment) as file:
                    if tree_path(name) in file:
                        found = read(file[tree_path(name)])
                        by_h5dump = dumped_by_h5dump(segment, tree_path(name))
            compared += 1
            if found is None:
                print(f"{name}: nothing at {tree_path(name)}")
                wrong += 1
            elif found.shape != expected.shape or bits(found) != bits(expected):
                print(f"{name}: {tree_path(name)} holds {found.dtype} {found.shape}, not what was saved")
                wrong += 1
            elif by_h5dump != bits(expected):
                print(f"{name}: h5dump reads other bytes from {tree_path(name)}")
                wrong += 1
    print(f"{compared} values compared, {wrong} differ")
    return 1 if wrong or not compared else 0


if __name__ == "__main__":
    sys.exit(main())
