"""Values of dumps as ulpscope/arrays.hpp and `ulpscope export` give them, against h5py and NumPy, and
the programs of cli/docs/values.md: values.py --bin FOLDER --page PAGE CASE"""

import argparse
import os
import subprocess
import tempfile

import h5py
import numpy as np

from page import blocks

SEGMENT = "rank0000/segment-000000.h5"


def run(*command, cwd=None, env=None):
    return subprocess.run(command, cwd=cwd, env=env, check=True, text=True, stdout=subprocess.PIPE).stdout


def decoded_fp8(bits, exponent_bits, bias, kind):
    """The definitions of the OCP (ieee, fn) and of Graphcore and AMD (fnuz), in exact arithmetic."""
    mantissa_bits = 7 - exponent_bits
    sign = -1.0 if bits & 0x80 else 1.0
    exponent = (bits & 0x7F) >> mantissa_bits
    mantissa = bits & ((1 << mantissa_bits) - 1)
    if kind == "fnuz" and bits == 0x80 or kind == "fn" and bits & 0x7F == 0x7F:
        return np.nan
    if kind == "ieee" and exponent == (1 << exponent_bits) - 1:
        return np.nan if mantissa else sign * np.inf
    if exponent == 0:
        return sign * mantissa * 2.0 ** (1 - bias - mantissa_bits)
    return sign * ((1 << mantissa_bits) + mantissa) * 2.0 ** (exponent - bias - mantissa_bits)


FP8 = {"float8_e5m2": (5, 15, "ieee"), "float8_e4m3fn": (4, 7, "fn"),
       "float8_e5m2fnuz": (5, 16, "fnuz"), "float8_e4m3fnuz": (4, 8, "fnuz")}


def expected(dataset, dtype):
    """What a dataset holds, as h5py and NumPy read it."""
    array = np.asarray(dataset[()])
    if dtype in FP8:
        return np.array([decoded_fp8(int(bits), *FP8[dtype]) for bits in array.view(np.uint8).ravel()],
                        np.float32).reshape(array.shape)
    if dtype == "complex32":
        parts = [array[name].astype(np.float32) for name in array.dtype.names]
        return np.stack(parts, axis=-1).view(np.complex64)[..., 0]
    return array.astype(np.float32) if dtype in ("float16", "bfloat16") else array


def assert_equal(path, found, wanted, nan_payloads):
    assert found.dtype == wanted.dtype and found.shape == wanted.shape, (path, found.dtype, found.shape)
    if not nan_payloads:
        assert np.array_equal(np.isnan(found), np.isnan(wanted)), path
        found, wanted = found[~np.isnan(found)], wanted[~np.isnan(wanted)]
    assert found.tobytes() == wanted.tobytes(), path


def dtypes(work, options):
    """Every dtype has the bits that h5py reads."""
    lines = run(f"{options.bin}/print_values", f"{work}/dtypes").splitlines()
    with h5py.File(f"{work}/dtypes/{SEGMENT}", "r") as file:
        seen = set()
        for line in lines:
            path, dtype, in_memory, shape, array, view = line.split(" ")
            assert array == view, path
            sizes = tuple(int(size) for size in shape.strip("(,)").split(",") if size)
            found = np.frombuffer(bytes.fromhex(array[1:]), in_memory).reshape(sizes)
            assert_equal(path, found, expected(file[path], dtype), nan_payloads=dtype == in_memory)
            seen.add(dtype)
    assert len(seen) == 20 and len(lines) == 23, sorted(seen)


def npy(work, options):
    """`ulpscope export` writes the file that numpy.save writes of what h5py reads."""
    run(f"{options.bin}/ulpscope", "export", f"{work}/dtypes", "**", "-o", f"{work}/arrays")
    exported = 0
    with h5py.File(f"{work}/dtypes/{SEGMENT}", "r") as file:
        for folder, _, names in os.walk(f"{work}/arrays"):
            for name in names:
                path = os.path.join(folder, name)
                dataset = file[os.path.relpath(path, f"{work}/arrays")[:-len(".npy")]]
                found = np.load(path)
                exported += 1
                np.save(f"{work}/same.npy", found)
                with open(path, "rb") as ours, open(f"{work}/same.npy", "rb") as numpys:
                    assert ours.read() == numpys.read(), path
                if dataset.attrs["dtype"].decode() in ("bfloat16", *FP8):
                    found = found.view(np.uint8).ravel()
                    assert found.tobytes() == bytes(raw_bytes(dataset)), path
                else:
                    wanted = np.asarray(dataset[()])
                    assert found.shape == wanted.shape and found.tobytes() == wanted.tobytes(), path
    assert exported == 23, exported


def raw_bytes(dataset):
    """A dataset's bytes in the file, past all conversions."""
    with open(dataset.file.filename, "rb") as file:
        file.seek(dataset.id.get_offset())
        return file.read(dataset.id.get_storage_size())


def page_cpp(work, options):
    """The page's programs print what the page says. What the first one computes NumPy finds too."""
    outputs = [run(f"{options.bin}/page_program_{number}", cwd=work)
               for number in range(len(blocks(options.page, "cpp")))]
    for printed in outputs:
        assert printed in blocks(options.page, "text"), printed
    arrays = []
    for name in "ab":
        with h5py.File(f"{work}/runs/{name}/{SEGMENT}", "r") as file:
            arrays.append(file["steps/000003/forward/layer1.conv1/0/output.0"][()])
    a, b = arrays
    errors = np.abs(a - b).max(axis=(0, 2, 3)) / np.abs(a).max(axis=(0, 2, 3))
    assert np.allclose([float(word) for word in outputs[0].strip(" {}\n").split(",")], errors, rtol=0, atol=5.1e-7)


def page_python(work, options):
    """So do its programs in Python."""
    recipes = blocks(options.page, "python")
    assert recipes
    for shell in blocks(options.page, "sh"):
        run("bash", "-ec", shell, cwd=work, env={**os.environ, "PATH": f"{options.bin}:{os.environ['PATH']}"})
    for recipe in recipes:
        printed = run("/usr/bin/python3", "-c", recipe, cwd=work)
        assert printed in blocks(options.page, "text"), (recipe, printed)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, type=os.path.abspath)
    parser.add_argument("--page", required=True, type=os.path.abspath)
    parser.add_argument("case", choices=("dtypes", "npy", "page_cpp", "page_python"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        run(f"{options.bin}/write_values_dumps", work)
        globals()[options.case](work, options)


if __name__ == "__main__":
    main()
