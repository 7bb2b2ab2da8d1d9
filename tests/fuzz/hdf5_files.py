#!/usr/bin/python3
"""Changes files that h5py, PyTables and Keras' layout make, and compares each with the one that it was:

    hdf5_files.py ULPSCOPE INPUTS [--turns N] [--seed N] [--keep FOLDER]

ULPSCOPE is one with sanitizers. Each comparison must end with 0, 1 or 2 and a few lines at most, in bounded memory and
time, and no sanitizer may report anything but what HDF5 itself does in its process. INPUTS are the files that were found
so; they come first. --keep is where files that fail are left.
"""

import argparse
import glob
import io
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile

try:
    import h5py
    import numpy as np
    import tables
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

MEMORY = 3 << 30  # of each process, in bytes; AddressSanitizer takes some of it
SECONDS = 150     # two minutes are what a process of HDF5 has for an answer
LINES = 3
BLOCK = 64
OUR_CODE = re.compile(r"^ +#\d+ 0x[0-9a-f]+ (?:in .*ulpscope::|.*/(?:lib|cli)/[a-z/0-9_]+\.[ch]pp)")
OF_HDF5 = re.compile(r"^ +#\d+ 0x[0-9a-f]+ .*libhdf5|^ +#\d+ 0x[0-9a-f]+ in H5")


def with_h5py(path):
    with h5py.File(path, "w") as file:
        file["g/x"] = np.arange(100.0)
        file.create_dataset("g/y", data=np.arange(1000), chunks=(100,), compression="gzip", shuffle=True, fletcher32=True)
        file.create_dataset("g/z", data=np.arange(240, dtype="f4").reshape(20, 12), chunks=(8, 5), maxshape=(None, 12))
        file["t"] = np.array([(1, 2.0, (3, 4))], dtype=[("i", "i4"), ("f", "f8"), ("a", "i2", (2,))])
        file["s"] = "text"
        file["words"] = ["several", "words"]
        file["fixed"] = np.array([b"ab", b"c"])
        file["half"] = np.arange(10, dtype="f2")
        file["big"] = np.arange(10, dtype=">i8")
        file["yes"] = np.array([True, False])
        file["complex"] = np.array([1 + 2j])
        file["none"] = h5py.Empty("f4")
        file["link"] = h5py.SoftLink("/g/x")
        file["hard"] = file["g/x"]
        file["elsewhere"] = h5py.ExternalLink("other.h5", "/x")
        file.create_dataset("compact", data=np.arange(4), track_order=True)
        file.attrs["about"] = "attributes"


def newest(path):
    """The same in the format of newer libraries: other headers, indices of chunks, groups."""
    with h5py.File(path, "w", libver="latest") as file:
        for group in range(12):
            file.create_dataset(f"many/{group}/x", data=np.arange(group + 1.0))
        file.create_dataset("fixed", data=np.arange(64), chunks=(4,))
        file.create_dataset("extensible", data=np.arange(64), chunks=(4,), maxshape=(None,))
        file.create_dataset("tree", data=np.arange(64).reshape(8, 8), chunks=(2, 2), maxshape=(None, None))
        file.create_dataset("one", data=np.arange(64), chunks=(64,), compression="gzip")
        file["words"] = ["several", "words"]


def with_pytables(path):
    with tables.open_file(path, "w") as file:
        group = file.create_group("/", "group", "a group")
        file.create_array(group, "array", np.arange(12.0).reshape(3, 4), "an array")
        file.create_carray(group, "chunked", obj=np.arange(256, dtype="f4"), filters=tables.Filters(1, "zlib"))
        file.create_vlarray(group, "ragged", tables.Int32Atom()).append([1, 2, 3])
        table = file.create_table(group, "table", {"n": tables.Int32Col(), "x": tables.Float64Col(shape=(2,)),
                                                   "s": tables.StringCol(8), "c": tables.EnumCol(["a", "b"], "a", "uint8")})
        for number in range(5):
            table.row["n"] = number
            table.row.append()


def weights(path):
    """As Keras saves a model's weights."""
    with h5py.File(path, "w") as file:
        group = file.create_group("model_weights")
        group.attrs["layer_names"] = [b"dense", b"dense_1"]
        for layer in ("dense", "dense_1"):
            inner = group.create_group(f"{layer}/{layer}")
            inner["kernel:0"] = np.arange(32, dtype="f4").reshape(4, 8)
            inner["bias:0"] = np.zeros(8, "f4")
        file.create_group("optimizer_weights")["iteration:0"] = np.int64(7)


def keras(path):
    """A `.keras` archive: the file of weights is in the middle of another one."""
    with tempfile.TemporaryDirectory() as folder:
        inner = os.path.join(folder, "weights.h5")
        weights(inner)
        with open(inner, "rb") as file:
            archive_of(file.read(), path)


def archive_of(content, path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("config.json", "{}")
        archive.writestr("metadata.json", "{}")
        archive.writestr("model.weights.h5", content)


def changed(content, source, numbers):
    """One to four changes of bytes: bits, numbers, lengths, places."""
    content = bytearray(content)
    for _ in range(numbers.choice((1, 1, 2, 4))):
        if len(content) < 2 * BLOCK:
            break
        # Headers are in front; those of a small file's groups, behind data, are found by chance.
        at = numbers.randrange(min(len(content), numbers.choice((256, 4096, len(content)))))
        kind = numbers.randrange(7)
        if kind == 0:
            content[at] ^= 1 << numbers.randrange(8)
        elif kind == 1:
            content[at] = numbers.choice((0, 1, 0x7f, 0x80, 0xff, numbers.randrange(256)))
        elif kind == 2:
            width = numbers.choice((2, 4, 8))
            value = numbers.choice((0, 1, (1 << 8 * width) - 1, 1 << (8 * width - 1), len(content), numbers.getrandbits(8 * width)))
            content[at:at + width] = (value % (1 << 8 * width)).to_bytes(width, "little")
        elif kind == 3:
            del content[numbers.randrange(1, len(content)):]
        elif kind == 4:
            one, other = (numbers.randrange(len(content) // BLOCK) * BLOCK for _ in range(2))
            content[one:one + BLOCK], content[other:other + BLOCK] = content[other:other + BLOCK], content[one:one + BLOCK]
        elif kind == 5:
            other = numbers.randrange(len(content))
            content[at:at + BLOCK] = content[other:other + BLOCK]
        else:
            donor = numbers.randrange(max(len(source) - BLOCK, 1))
            content[at:at + BLOCK] = source[donor:donor + BLOCK]
    return bytes(content)


def reports_of_ours(folder):
    """What sanitizers have said, but of HDF5's own doing: its frames stand before ours where the stack begins."""
    found = []
    for name in sorted(glob.glob(os.path.join(folder, "said.*"))):
        with open(name, encoding="utf-8", errors="replace") as file:
            text = file.read()
        os.remove(name)
        for line in text.splitlines():
            if OF_HDF5.match(line):
                break
            if OUR_CODE.match(line):
                found.append(text)
                break
        else:
            if "hard rss limit" in text or "runtime error" in text:
                found.append(text)
    return found


class Comparison:
    """One run of ulpscope, and what is wrong with it."""

    def __init__(self, ulpscope, folder, names):
        options = f"log_path={folder}/said:exitcode=99:detect_leaks=1:allocator_may_return_null=1"
        environment = {**os.environ, "NO_COLOR": "1",
                       "ASAN_OPTIONS": f"{options}:max_allocation_size_mb=2048:hard_rss_limit_mb={MEMORY >> 20}",
                       "UBSAN_OPTIONS": f"{options}:print_stacktrace=1:halt_on_error=1"}
        begin = time.monotonic()
        process = subprocess.Popen([ulpscope, "compare", *names], cwd=folder, env=environment,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            output, errors = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            output, errors = process.communicate()
        self.seconds = time.monotonic() - begin
        self.code = process.returncode
        self.output, self.errors = (text.decode("utf-8", "replace") for text in (output, errors))
        self.reports = reports_of_ours(folder)

    def wrong(self):
        if self.reports:
            return "a sanitizer says:\n" + self.reports[0]
        if self.code not in (0, 1, 2):
            return f"exit code {self.code} after {self.seconds:.0f} s: {self.errors}"
        if len(self.errors.splitlines()) > LINES:
            return f"many lines: {self.errors}"
        if "should not" in self.errors:
            return self.errors
        if "for two minutes" in self.errors and self.seconds < 100:
            return f"two minutes in {self.seconds:.1f} s: {self.errors}"
        return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("ulpscope", type=os.path.abspath)
    parser.add_argument("inputs")
    parser.add_argument("--turns", type=int, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep")
    options = parser.parse_args()
    makers = {"h5py.h5": with_h5py, "newest.h5": newest, "pytables.h5": with_pytables, "weights.h5": weights,
              "model.keras": keras}
    codes, slowest, failed = {}, 0.0, 0
    with tempfile.TemporaryDirectory() as folder:
        sources = {}
        for name, make in makers.items():
            make(os.path.join(folder, name))
            with open(os.path.join(folder, name), "rb") as file:
                sources[name] = file.read()

        def check(names, what):
            nonlocal slowest, failed
            done = Comparison(options.ulpscope, folder, names)
            codes[done.code] = codes.get(done.code, 0) + 1
            slowest = max(slowest, done.seconds)
            wrong = done.wrong()
            if not wrong:
                return
            failed += 1
            print(f"{what}: {wrong}", flush=True)
            if options.keep:
                os.makedirs(options.keep, exist_ok=True)
                shutil.copy(os.path.join(folder, names[1]), os.path.join(options.keep, what.replace(" ", "_")))

        for name in sources:
            assert Comparison(options.ulpscope, folder, [name, name]).code in (0, 2), name
        for found in sorted(glob.glob(os.path.join(options.inputs, "*"))):
            copy = os.path.basename(found)
            shutil.copy(found, os.path.join(folder, copy))
            check([copy, copy], copy)
        for turn in range(options.turns):
            numbers = random.Random(f"{options.seed} {turn}")
            name = numbers.choice(sorted(sources))
            source = sources[numbers.choice(sorted(sources))]
            other = f"changed{os.path.splitext(name)[1]}"
            if name.endswith(".keras") and turn % 2:  # with a sound checksum, so that HDF5 reads it
                with zipfile.ZipFile(io.BytesIO(sources[name])) as archive:
                    archive_of(changed(archive.read("model.weights.h5"), source, numbers), os.path.join(folder, other))
            else:
                with open(os.path.join(folder, other), "wb") as file:
                    file.write(changed(sources[name], source, numbers))
            check([name, other], f"{name} seed {options.seed} turn {turn}")
    print(f"{sum(codes.values())} comparisons, by exit code {dict(sorted(codes.items()))}, slowest {slowest:.1f} s, "
          f"{failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
