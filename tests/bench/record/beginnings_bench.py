#!/usr/bin/env python3
"""How long threads and processes take to begin while other threads keep the writer busy: recorded against
bare, in turn, in a table for README.md.

    cmake --build build/release --target beginnings
    python3 tests/bench/record/beginnings_bench.py --build build/release --rounds 5
"""

import argparse
import collections
import os
import re
import statistics
import subprocess
import tempfile

NAMES = {
    "thread": "thread's start to its first op",
    "fork": "call of fork()",
    "child": "child's first op",
    "op": "op of a busy thread, mean",
}


def run(command):
    """Microseconds of each kind of beginning, and what the recording says at its end."""
    done = subprocess.run(command, capture_output=True, text=True, check=True,
                          env={**os.environ, "OMP_NUM_THREADS": "1"})
    taken = collections.defaultdict(list)
    for line in done.stdout.splitlines():
        name, number = line.split()
        taken[name].append(float(number))
    return taken, done.stderr


def part(numbers, share):
    return sorted(numbers)[min(len(numbers) - 1, int(share * len(numbers)))]


def milliseconds(numbers):
    return " / ".join(f"{part(numbers, share) / 1000:.2f}" for share in (0.5, 0.99))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--beginnings", type=int, default=50)
    parser.add_argument("--busy", nargs="+", type=int, default=[0, 2])
    arguments = parser.parse_args()
    binaries = os.path.join(arguments.build, "bin")
    print("| busy threads | what | beginnings | bare, ms, 50 % / 99 % | recorded | ratio |")
    print("| --- | --- | --- | --- | --- | --- |")
    for busy in arguments.busy:
        command = [os.path.join(binaries, "beginnings"), "--busy", str(busy), "--beginnings",
                   str(arguments.beginnings)]
        bare, recorded = collections.defaultdict(list), collections.defaultdict(list)
        waited = []
        with tempfile.TemporaryDirectory(prefix="ulpscope-beginnings-") as folder:
            for number in range(arguments.rounds):
                for name, numbers in run(command)[0].items():
                    bare[name] += numbers
                taken, said = run([os.path.join(binaries, "ulpscope"), "record", "--force", "-o",
                                   os.path.join(folder, str(number)), "--", *command])
                for name, numbers in taken.items():
                    recorded[name] += numbers
                found = re.search(r"waited ([\d.]+ \w+)", said)
                waited.append(found[1] if found else "0 s")
        for name, label in NAMES.items():
            if name not in bare:
                continue
            ratio = statistics.median(recorded[name]) / statistics.median(bare[name])
            tail = part(recorded[name], 0.99) / part(bare[name], 0.99)
            print(f"| {busy} | {label} | {len(bare[name])} | {milliseconds(bare[name])} | "
                  f"{milliseconds(recorded[name])} | {ratio:.1f} / {tail:.1f} |", flush=True)
        print(f"busy {busy}: waited for room in rings: {', '.join(waited)}", flush=True)


if __name__ == "__main__":
    main()
