#!/usr/bin/env python3
"""Provokes what may go wrong around a recording and counts what survives it.

    faults.py --bin build/release/bin --lib build/release/lib [--brief] [--seed N] [GROUP...]

Without a group it does all. Prints a table; fails where anything was lost or did not survive.
"""

import argparse
import importlib
import random
import secrets
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # the sources stay as they are

import bench  # noqa: E402

GROUPS = ("kills", "writer", "disk", "program", "memory")
HEAD = ("fault", "tried", "survived", "lost", "worst wait", "")


def cells(row):
    return (row.fault, str(row.tried), str(row.sound), str(row.lost),
            f"{row.wait:.2f} s" if row.wait else "-", row.note)


def print_table(rows):
    lines = [HEAD, *map(cells, rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEAD))]
    for number, line in enumerate(lines):
        print("| " + " | ".join(text.ljust(width) for text, width in zip(line, widths)) + " |")
        if number == 0:
            print("|" + "|".join("-" * (width + 2) for width in widths) + "|")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--lib", required=True)
    parser.add_argument("--brief", action="store_true", help="a few of each, for every test run")
    parser.add_argument("--most", type=int, help="how often each fault is provoked, where not less")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1 << 32))
    parser.add_argument("--hdf5", help="a libhdf5 of another version, for the program to load")
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=", ".join(GROUPS))
    arguments = parser.parse_args()
    unknown = set(arguments.groups) - set(GROUPS)
    if unknown:
        parser.error(f"there is no group {', '.join(sorted(unknown))}")
    bench.adopt_orphans()
    print(f"seed {arguments.seed}", flush=True)
    rows = []
    for group in arguments.groups or GROUPS:
        begin = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="ulpscope-faults-") as folder:
            setting = bench.Bench(arguments.bin, arguments.lib, folder, arguments.brief,
                                  arguments.most, random.Random(f"{arguments.seed} {group}"),
                                  arguments.hdf5)
            for row in importlib.import_module(group).run(setting):
                rows.append(row)
                print(" ".join(cells(row)), flush=True)
                for failure in row.failures:
                    print(f"{row.fault}: {failure}", flush=True)
        print(f"{group}: {time.monotonic() - begin:.0f} s", flush=True)
    print_table(rows)
    return 1 if any(row.failures or row.lost for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
