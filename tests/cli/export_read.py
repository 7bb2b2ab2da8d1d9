"""What `ulpscope export` writes, read with NumPy and h5py: export_read.py ULPSCOPE DUMPS"""

import subprocess
import sys
import tempfile

import h5py
import numpy as np

ulpscope, dumps = sys.argv[1:]
fc_output = np.array([[1, 2, 3], [4, 5, 1e-45]], np.float32)
expected = {
    "setup/parameters/fc.weight": np.array([0.5, -0.25], np.float32),
    "steps/000000/backward/fc.weight.grad": np.array([0.125, 0.25], np.float32),
    "steps/000000/forward/fc/0/input.0": np.array([1, 2, 3, 4, 5, 6, 7, 8, 9, -0.0], np.float32),
    "steps/000000/forward/fc/0/output.0": fc_output,
    "steps/000000/forward/half/0/output.0": np.array([1.5, -2, np.inf], np.float32),
    "steps/000000/forward/half/0/output.1": np.array([1.5 - 2j], np.complex64),
}


def export(glob, output):
    subprocess.run([ulpscope, "export", "layers", glob, "-o", output], cwd=dumps, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def check_equal(name, actual, wanted):
    assert actual.dtype == wanted.dtype and actual.shape == wanted.shape, name
    assert actual.tobytes() == wanted.tobytes(), name


with tempfile.TemporaryDirectory() as folder:
    export("**", f"{folder}/all.h5")
    with h5py.File(f"{folder}/all.h5", "r") as file:
        found = []
        file.visititems(lambda name, item: found.append(name) if isinstance(item, h5py.Dataset) else None)
        assert sorted(found) == sorted(expected), found
        for name, wanted in expected.items():
            check_equal(name, file[name][()], wanted)

    export("**", f"{folder}/all")
    for name, wanted in expected.items():
        actual = np.load(f"{folder}/all/{name}.npy")
        if name.endswith("half/0/output.0"):
            wanted = np.array([0x3FC0, 0xC000, 0x7F80], np.uint16)
        check_equal(name, actual, wanted)

    # The value of an op in a different memory order.
    export("event:2/output.0", f"{folder}/one.npy")
    check_equal("event:2/output.0", np.load(f"{folder}/one.npy"), fc_output)
