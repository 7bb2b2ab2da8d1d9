"""Segments whose HDF5 structure means harm, under a user block that fits them.

other_hdf5.py ULPSCOPE DUMPS MAKE_HOSTILE: no command opens a file outside of the dump, whatever the
HDF5 file refers to, and each ends and answers or refuses in a sentence with 512 MiB of memory.
"""

import collections
import os
import shutil
import subprocess
import sys
import tempfile

import h5py
import numpy

import commands

SEGMENT = "rank0000/segment-000000.h5"


def external_link(file, marker):
    del file["digests"]
    file["digests"] = h5py.ExternalLink(marker, "/digests")


def soft_links_in_a_circle(file, _):
    del file["ops"]
    file["ops"] = h5py.SoftLink("/also_ops")
    file["also_ops"] = h5py.SoftLink("/ops")


def soft_link_to_nowhere(file, _):
    del file["blocks"]
    file["blocks"] = h5py.SoftLink("/../../blocks")


def external_raw_data(file, marker):
    del file["digests"]
    file.create_dataset("digests", (64,), "u8", external=[(marker, 0, 512)])


def virtual_dataset(file, marker):
    layout = h5py.VirtualLayout((64,), "u8")
    layout[:] = h5py.VirtualSource(marker, "digests", (64,))
    del file["digests"]
    file.create_virtual_dataset("digests", layout)


def compressed(file, _):
    rows = file["template_events"][...]
    del file["template_events"]
    file.create_dataset("template_events", data=rows, chunks=True, compression="gzip")


def enormous_chunked(file, _):
    del file["digests"]
    file.create_dataset("digests", (1 << 60,), "u8", chunks=(1 << 20,), compression="gzip")


def of_another_type(file, _):
    del file["strings/offsets"]
    file["strings/offsets"] = "not a number"


def groups_in_a_circle(file, _):
    file["steps/again"] = file["/"]
    file["strings/self"] = file["strings"]


def deep_groups(file, _):
    group = file
    for _ in range(3000):
        group = group.create_group("g")


def huge_attributes(file, _):
    for name in ("level", "command", "incomplete_reason"):
        file.attrs[name] = numpy.array([b"x" * 60000] * 4)
        file["digests"].attrs.create(name, "y" * 60000)


def members_over_each_other(file, _):
    row = h5py.h5t.create(h5py.h5t.COMPOUND, 8)
    row.insert(b"low", 0, h5py.h5t.STD_U64LE)
    try:
        row.insert(b"high", 4, h5py.h5t.STD_U32LE)
    except (ValueError, RuntimeError):
        pass  # the library itself refuses to make one
    h5py.h5d.create(file.id, b"overlapping", row, h5py.h5s.create_simple((4,)))


def one_table_twice(file, _):
    file["events"] = file["digests"]
    file["content/bytes/again"] = file["digests"]


def without_tables(file, _):
    for name in list(file):
        del file[name]


CHANGES = [external_link, soft_links_in_a_circle, soft_link_to_nowhere, external_raw_data,
           virtual_dataset, compressed, enormous_chunked, of_another_type, groups_in_a_circle,
           deep_groups, huge_attributes, members_over_each_other, one_table_twice, without_tables]


def opened_outside(trace, allowed):
    """Files that a command opened in directories that are neither allowed nor the system's."""
    system = ("/etc/", "/lib", "/usr/", "/proc/", "/sys/", "/dev/")
    paths = []
    with open(trace, errors="replace") as lines:
        for line in lines:
            parts = line.split('"')
            if len(parts) > 1 and "= -1" not in parts[2] and not os.path.realpath(parts[1]).startswith((*system, *allowed)):
                paths.append(parts[1])
    return paths


def main():
    ulpscope, dumps = commands.begin(sys.argv)
    make_hostile = os.path.realpath(sys.argv[3])
    # Where `compare --budget` looks for the program that executes ops.
    own = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(ulpscope))), "lib")
    sound, other = os.path.join(dumps, "sound"), os.path.join(dumps, "other")
    if "sanitized" in os.environ:
        return 77  # strace and the leak checker cannot both watch; forged.py runs there
    rows, failures = collections.Counter(), []
    traced = commands.strace()
    for change in CHANGES:
        with tempfile.TemporaryDirectory() as work:
            dump = os.path.join(work, "dump")
            shutil.copytree(sound, dump)
            # Outside the dump, where following a reference would read.
            marker = os.path.join(work, "marker.h5")
            shutil.copy(os.path.join(other, SEGMENT), marker)
            segment = os.path.join(dump, SEGMENT)
            with h5py.File(segment, "r+") as file:
                change(file, marker)
            subprocess.run([make_hostile, "--reseal", segment], check=True)
            output = os.path.join(work, "output")
            os.mkdir(output)
            for arguments in commands.commands(dump, other, output):
                words = " ".join([change.__name__, *arguments]).replace(work + "/", "")
                trace = os.path.join(work, "trace") if traced else None
                try:
                    result = commands.run(ulpscope, arguments, trace)
                except subprocess.TimeoutExpired:
                    failures.append(f"{words}: does not end")
                    continue
                said = (result.stdout + result.stderr).decode(errors="replace")
                if result.returncode not in (0, 1, 2) or "please report" in said or "not enough memory" in said:
                    failures.append(f"{words}: exit code {result.returncode}: {said[-300:]}")
                if trace:
                    outside = opened_outside(trace, (dump, other, output, own))
                    failures += [f"{words}: opens {path}" for path in outside]
                rows[f"{arguments[0]}: exit code {result.returncode}"] += 1
    if not traced:
        print("strace cannot be used here: which files are opened was not seen")
    return commands.finish(rows, failures)


if __name__ == "__main__":
    sys.exit(main())
