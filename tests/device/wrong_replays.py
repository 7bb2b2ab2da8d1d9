#!/usr/bin/env python3
"""Replays every op that has an error budget and makes each answer wrong by a hundredth in its largest number:
the ops must be outside of their budgets then. With the right answers those of small programs are inside.

    wrong_replays.py --bin build/release/bin --lib build/release/lib [--share 0.01]

What is compared are two steps of one run. Their data differs, so all that follows is replayed.
"""

import argparse
import collections
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile

# Programs, and the steps of each that are compared.
PROGRAMS = {("device_ops", "--steps", "2"): ("0-7", "8-15"),
            ("layernorm_mlp", "--steps", "2"): ("0", "1"),
            ("digits_resnet", "--steps", "2", "--width", "8"): ("0", "1")}


def prepare(arguments, folder):
    """An `ulpscope` beside a replayer that is wrong, and the right replayer."""
    here = os.path.dirname(os.path.abspath(__file__))
    replayer = glob.glob(os.path.join(os.path.abspath(arguments.lib), "ulpscope-replay-*"))[0]
    for name in ("bin", "lib"):
        os.mkdir(os.path.join(folder, name))
    ulpscope = shutil.copy(os.path.join(arguments.bin, "ulpscope"), os.path.join(folder, "bin"))
    for library in glob.glob(os.path.join(os.path.abspath(arguments.lib), "*.so*")):
        os.symlink(library, os.path.join(folder, "lib", os.path.basename(library)))
    wrong = os.path.join(folder, "lib", os.path.basename(replayer))
    with open(wrong, "w", encoding="utf-8") as script:
        script.write(f"#!/bin/sh\nexec '{sys.executable}' '{here}/wrong_replayer.py'\n")
    os.chmod(wrong, 0o755)
    return ulpscope, replayer


def record(arguments, command, dump):
    subprocess.run([os.path.join(arguments.bin, "ulpscope"), "record", "--force", "--level", "full", "-o", dump,
                    "--", os.path.join(arguments.bin, command[0]), *command[1:], "--threads", "1"],
                   check=True, capture_output=True, timeout=300)


def budget(ulpscope, replayer, dumps, share):
    done = subprocess.run([ulpscope, "compare", *dumps, "--budget", "--format", "json"],
                          env={**os.environ, "WRONG_REPLAYER": replayer, "WRONG_SHARE": str(share)},
                          capture_output=True, text=True, timeout=600)
    assert done.stdout, done.stderr
    return json.loads(done.stdout)["budget"]


def judged(replay):
    return replay["inside"] + replay["outside"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--lib", required=True)
    parser.add_argument("--share", type=float, default=0.01, help="how wrong the answers are")
    arguments = parser.parse_args()
    results, outside, failed = collections.Counter(), collections.Counter(), 0
    with tempfile.TemporaryDirectory(prefix="ulpscope-replays-") as folder:
        ulpscope, replayer = prepare(arguments, folder)
        for command, steps in PROGRAMS.items():
            dump = os.path.join(folder, "dump")
            record(arguments, command, dump)
            dumps = [f"{dump}@steps={part}" for part in steps]
            wrong = budget(ulpscope, replayer, dumps, arguments.share)
            print(f"{command[0]}: {wrong['replay']}")
            # device_ops takes long; that its ops are inside is what budget.py looks at.
            right = budget(ulpscope, replayer, dumps, 0) if command[0] != "device_ops" else None
            if right and (right["replay"]["outside"] or judged(right["replay"]) != judged(wrong["replay"])):
                print(f"WRONG {command[0]}: with right answers {right['replay']}")
                failed += 1
            for row in wrong["ops"]:
                results[row["op"]] += row["results"]
                outside[row["op"]] += row["outside"]
    for op, count in results.items():
        # Where numbers cancel a hundredth of what is left is less than what was rounded: not in most calls.
        if 2 * outside[op] < count:
            print(f"WRONG {op}: {outside[op]} of {count} results are found")
            failed += 1
    print(f"{len(results)} ops, {outside.total()} of {results.total()} results are found")
    return 1 if failed or not results else 0


if __name__ == "__main__":
    sys.exit(main())
