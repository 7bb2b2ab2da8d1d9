#!/usr/bin/env python3
"""Plants faults in ops of a run whose bits differ everywhere from the other one's, and checks that the
comparison with error budgets names the op, and nothing where no fault is planted.

    faults.py --bin build/release/bin --lib build/release/lib --table
    faults.py ... --ops 6 --faults scale mlp     at most six ops of one program, one kind of fault

The runs differ by oneDNN on and off, or by one and two threads. A fault is found where the first
finding is the planted op, or an op that calls it, outside of its budget.
"""

import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "capture"))
from mutations import Program  # noqa: E402
from scenarios import LSTM, MLP, ONE, RESNET, TRANSFORMER, TWO  # noqa: E402

NO_ONEDNN = [*ONE, "--mkldnn", "0"]
PROGRAMS = {"mlp": (MLP, NO_ONEDNN), "resnet": (RESNET, NO_ONEDNN),
            "transformer": (TRANSFORMER, NO_ONEDNN), "lstm": (LSTM, TWO), "ops": (["device_ops"], TWO)}
ROUNDED_OPERANDS = {"aten::addmm", "aten::mm", "aten::bmm", "aten::convolution_backward",
                    "aten::_convolution", "aten::mkldnn_linear"}
FAULTS = ["scale", "zero", "element", "tf32", "bfloat16"]


def record(program, name, planted):
    dump = os.path.join(program.folder, name)
    prefix = [os.path.join(program.bin, "ulpscope"), "record", "--force", "--level", "full", "-o",
              dump, "--"]
    program.run(prefix, planted)
    return dump


def compare(program, reference, candidate):
    done = subprocess.run([os.path.join(program.bin, "ulpscope"), "compare", reference, candidate,
                           "--budget", "--format", "json"], text=True, capture_output=True,
                          timeout=600)
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


def ops_inside(program, dump, position):
    """Names of the op at a position of the main or autograd lane and of all that it calls."""
    listed = subprocess.run([os.path.join(program.bin, "list_events"), dump], text=True,
                            capture_output=True, timeout=300, check=True).stdout
    names, inside = set(), {str(position)}
    for line in listed.splitlines():
        _, _, _, _, event, parent, _, _, op, *_ = line.split("\t")
        if event in inside or parent in inside:
            inside.add(event)
            names.add(op)
    return names


def plants(ops, faults, most):
    """Pairs of what to plant and the op: a call in the middle, or every one for rounded operands."""
    chosen = ops if most is None else ops[::max(1, len(ops) // most)][:most]
    for fault in faults:
        rounds = fault in ("tf32", "bfloat16")
        for op, calls in ops if rounds else chosen:
            if rounds and op not in ROUNDED_OPERANDS:
                continue
            where = "all" if rounds else str(calls // 2)
            yield {"PLANT": f"{op}:{where}", "PLANT_FAULT": fault}, op, fault


def judge(report, op, fault, inner):
    """found, or why not in a word."""
    first = report["first"]
    if first is None or report["budget"]["outside"] == 0:
        if any(op in entry["reason"] for entry in report["budget"]["replay"]["reasons"]):
            return "unjudged"
        return "no model" if report["verdict"] == "inconclusive" else "inside: " + report["summary"]
    if first["kind"] == "origin" and (first["op"] == op or op in inner()):
        if fault in ("tf32", "bfloat16"):
            cause = "tf32" if fault == "tf32" else "reduced-precision"
            named = any(c["finding"] == 0 and c["id"] == cause for c in report["causes"])
            return "found" if named else "without its cause"
        return "found"
    return f"wrong: {first['kind']} {first['op']}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--lib", required=True)
    parser.add_argument("--ops", type=int, help="at most so many ops of a program")
    parser.add_argument("--faults", default=",".join(FAULTS))
    parser.add_argument("--table", action="store_true", help="as a Markdown table")
    parser.add_argument("program", nargs="*", help="of " + ", ".join(PROGRAMS))
    arguments = parser.parse_args()
    failed = False
    if arguments.table:
        print("| program | fault | planted | named | inside the budget | not judged | wrong |")
        print("|---|---|---|---|---|---|---|")
    for name in arguments.program or PROGRAMS:
        command, other = PROGRAMS[name]
        with tempfile.TemporaryDirectory(prefix="ulpscope-faults-") as folder:
            reference = record(Program(arguments.bin, arguments.lib, [*command, *ONE], folder),
                               "reference", {})
            program = Program(arguments.bin, arguments.lib, [*command, *other], folder)
            sound = compare(program, reference, record(program, "candidate", {}))
            if sound["budget"]["outside"]:
                print(f"{name}: without a fault: {sound['summary']}")
                failed = True
            counts = collections.defaultdict(collections.Counter)
            for planted, op, fault in plants(program.ops(), arguments.faults.split(","),
                                             arguments.ops):
                try:
                    candidate = record(program, "candidate", planted)
                except AssertionError:
                    continue  # the program itself refuses what the fault made of its data
                report = compare(program, reference, candidate)
                outcome = judge(report, op, fault, lambda: ops_inside(
                    program, candidate, report["first"]["event"]["candidate"]))
                kind = outcome.split(":")[0]
                counts[fault][kind] += 1
                failed = failed or kind in ("wrong", "without its cause")
                if not arguments.table or kind in ("wrong", "without its cause"):
                    print(f"{name}: {op} {fault}: {outcome}", flush=True)
            if arguments.table:
                for fault, count in counts.items():
                    print(f"| {name} | {fault} | {sum(count.values())} | {count['found']} | "
                          f"{count['inside']} | {count['unjudged'] + count['no model']} | "
                          f"{count['wrong'] + count['without its cause']} |", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
