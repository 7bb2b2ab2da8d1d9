#!/usr/bin/env python3
"""Records pairs of runs that differ in rounding alone, and pairs with a fault, holds them against their
error budgets, and prints how much of it each op takes: the tables of lib/compare/measure/BUDGET.md. Fails where
a pair is not within its budget, or a fault is.

    budget.py --bin build/release/bin [NAME...]             origins
    budget.py --bin build/release/bin --replayed [NAME...]  ops that were replayed
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
SSE41 = {"ONEDNN_MAX_CPU_ISA": "SSE41", "MKL_CBWR": "COMPATIBLE"}
OTHER_BLAS = {"MKL_CBWR": "COMPATIBLE"}
NO_ONEDNN = ["--mkldnn", "0"]
PROGRAMS = {"resnet": RESNET, "mlp": MLP, "transformer": TRANSFORMER, "lstm": LSTM,
            **{name: [name, "--steps", "3"] for name in ("unet", "vae", "gan", "autocast")},
            "ops": ["device_ops"],
            **{f"ops_{dtype}": ["device_ops", "--dtype", dtype]
               for dtype in ("bfloat16", "float16", "float64")}}
WITH_WEIGHTS = {"resnet", "mlp", "transformer"}  # drawing them depends on the instruction set

# name: flags and environment of the reference, flags and environment of the candidate
VARIATIONS = {
    "threads": (ONE, {}, TWO, {}),
    "isa": (ONE, DEFAULT, ONE, AVX2),
    "onednn": (ONE, {}, ONE + NO_ONEDNN, {}),
    "libraries": (ONE, {}, ONE, SSE41),
    "blas": (ONE, {}, ONE, OTHER_BLAS),
    "eps": (ONE, {}, ONE + ["--eps", "1e-6"], {}),
}
FAULTS = {"mlp-eps"}
PAIRS = ["resnet-threads", "resnet-isa", "resnet-onednn", "mlp-threads", "mlp-isa", "mlp-onednn",
         "transformer-threads", "transformer-isa", "transformer-onednn", "lstm-threads", "lstm-isa",
         "unet-threads", "unet-isa", "vae-isa", "gan-isa", "autocast-isa", "autocast-libraries", "ops-threads",
         "ops-isa", "ops-blas", "ops_bfloat16-isa", "ops_float16-isa", "ops_float16-blas",
         "ops_float64-isa", *sorted(FAULTS)]


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
                    (int(difference.get("ulp", {}).get("max", 0)), budget["used"]))
    for (op, why), given in results.items():
        used = [share for _, share in given if share is not None]
        yield (f"`{op}`", why, str(len(given)), f"{max(ulp for ulp, _ in given):,}",
               f"{max(used):.2g}" if used else "none")


def replayed_row(name, report):
    """How many ops were replayed, and which took most of its budget."""
    budget = report["budget"]
    replay = budget["replay"]
    ops = [op for op in budget["ops"] if op["largest_used"] is not None]
    most = max(ops, key=lambda op: op["largest_used"], default=None)
    unjudged = "; ".join(f"{entry['ops']}: {entry['reason']}" for entry in replay["reasons"])
    return [name, report["verdict"], str(replay["inside"]), str(replay["outside"]),
            unjudged or "0", f"`{most['op']}`" if most else "", most["why"] if most else "",
            f"{most['largest_used']:.2g}" if most else ""]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--replayed", action="store_true", help="of ops that were replayed")
    parser.add_argument("name", nargs="*", help="program-variation, such as resnet-threads")
    arguments = parser.parse_args()
    names = arguments.name or PAIRS
    if arguments.replayed:
        print("| pair | verdict | inside | outside | not judged | op that takes most | of | share |")
        print("|---|---|---|---|---|---|---|---|")
    else:
        print("| pair | verdict | op | budget | results | largest ULP | largest share |")
        print("|---|---|---|---|---|---|---|")
    wrong = []
    for name in names:
        with tempfile.TemporaryDirectory(prefix="ulpscope-budget-") as folder:
            report = compare(name, arguments.bin, folder)
        expected = ["diverged"] if name in FAULTS else ["within", "identical"]
        if report["verdict"] not in expected:
            wrong.append(f"{name}: {report['summary']}")
        if name not in FAULTS and report["budget"]["replay"]["outside"]:
            wrong.append(f"{name}: an op is outside of its budget: {report['summary']}")
        if arguments.replayed:
            print(f"| {' | '.join(replayed_row(name, report))} |", flush=True)
            continue
        for row in rows(report):
            print(f"| {name} | {report['verdict']} | {' | '.join(row)} |", flush=True)
    print("\n".join(wrong), file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
