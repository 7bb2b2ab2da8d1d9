#!/usr/bin/env python3
"""Records pairs of runs that differ in rounding alone, and pairs with a fault, holds them against their
error budgets, and prints how much of it each op takes: the table of lib/compare/BUDGET.md. Fails where
a pair is not within its budget, or a fault is.

    budget.py --bin build/release/bin [NAME...]
"""

import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile

from scenarios import LSTM, MLP, ONE, RESNET, TRANSFORMER, TWO

DEFAULT = {"ATEN_CPU_CAPABILITY": "default"}
AVX2 = {"ATEN_CPU_CAPABILITY": "avx2"}
NO_ONEDNN = ["--mkldnn", "0"]
PROGRAMS = {"resnet": RESNET, "mlp": MLP, "transformer": TRANSFORMER, "lstm": LSTM}
WITH_WEIGHTS = {"resnet", "mlp", "transformer"}  # drawing them depends on the instruction set

# name: flags and environment of the reference, flags and environment of the candidate
VARIATIONS = {
    "threads": (ONE, {}, TWO, {}),
    "isa": (ONE, DEFAULT, ONE, AVX2),
    "onednn": (ONE, {}, ONE + NO_ONEDNN, {}),
    "eps": (ONE, {}, ONE + ["--eps", "1e-6"], {}),
}
FAULTS = {"mlp-eps"}
PAIRS = ["resnet-threads", "resnet-isa", "resnet-onednn", "mlp-threads", "mlp-isa", "mlp-onednn",
         "transformer-threads", "transformer-isa", "transformer-onednn", "lstm-threads", "lstm-isa",
         *FAULTS]


def run(command, environment):
    return subprocess.run(command, env={**os.environ, **environment}, text=True,
                          capture_output=True, timeout=600)


def compare(name, bin_folder, folder):
    program, variation = name.split("-")
    command = PROGRAMS[program]
    binary = os.path.join(bin_folder, command[0])
    flags = list(command[1:])
    if program in WITH_WEIGHTS:
        weights = os.path.join(folder, "weights.pt")
        run([binary, "--steps", "1", "--save", weights], {})
        flags += ["--load-weights", weights]
    left, left_environment, right, right_environment = VARIATIONS[variation]
    dumps = []
    for number, (extra, environment) in enumerate([(left, left_environment),
                                                   (right, right_environment)]):
        dumps.append(os.path.join(folder, str(number)))
        done = run([os.path.join(bin_folder, "ulpscope"), "record", "--level", "full", "-o",
                    dumps[-1], "--", binary, *flags, *extra], environment)
        assert done.returncode == 0, done.stderr
    done = run([os.path.join(bin_folder, "ulpscope"), "compare", *dumps, "--budget", "--format",
                "json"], {})
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


def rows(report):
    """Per op and kind of budget: how many results, the largest distance, and the largest share."""
    results = collections.defaultdict(list)
    for finding in report["findings"]:
        for tensor in finding["tensors"]:
            if finding["diverges"] and not tensor["equal"] and tensor["role"] != "input":
                difference = tensor["difference"] or {}
                budget = difference.get("budget") or {"why": "none is known", "used": None}
                results[finding["op"], budget["why"]].append(
                    (difference.get("ulp", {}).get("max", 0), budget["used"]))
    for (op, why), given in results.items():
        used = [share for _, share in given if share is not None]
        yield (f"`{op}`", why, str(len(given)), f"{max(ulp for ulp, _ in given):,}",
               f"{max(used):.2g}" if used else "none")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("name", nargs="*", help="program-variation, such as resnet-threads")
    arguments = parser.parse_args()
    names = arguments.name or PAIRS
    print("| pair | verdict | op | budget | results | largest ULP | largest share |")
    print("|---|---|---|---|---|---|---|")
    wrong = []
    for name in names:
        with tempfile.TemporaryDirectory(prefix="ulpscope-budget-") as folder:
            report = compare(name, arguments.bin, folder)
        expected = ["diverged"] if name in FAULTS else ["within", "identical"]
        if report["verdict"] not in expected:
            wrong.append(f"{name}: {report['summary']}")
        for row in rows(report):
            print(f"| {name} | {report['verdict']} | {' | '.join(row)} |", flush=True)
    print("\n".join(wrong), file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
