#!/usr/bin/env python3
"""Plants faults in ops of a run whose bits differ everywhere from the other one's, and checks that the
comparison with error budgets names the op, and nothing where no fault is planted.

    faults.py --bin build/release/bin --lib build/release/lib --table
    faults.py ... --ops 6 --faults scale mlp     at most six ops of one program, one kind of fault

The runs differ by oneDNN on and off, or by one and two threads. A fault is found where the first
finding is the planted op, or an op that calls it, outside of its budget. It fails where a fault that
changes what the program prints is not found, unless the op is one that nothing can judge.
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
# One draws, the other leaves a workspace that only oneDNN can read.
WITHOUT_BUDGET = {"aten::bernoulli_", "aten::mkldnn_rnn_layer"}
KINDS = ["found", "inside", "without effect", "refused", "not judged", "wrong"]


def record(program, name, planted):
    """The dump, and the last line that the program prints."""
    dump = os.path.join(program.folder, name)
    prefix = [os.path.join(program.bin, "ulpscope"), "record", "--force", "--level", "full", "-o",
              dump, "--"]
    return dump, program.run(prefix, planted)


def is_refused(program, planted):
    """Whether the program fails without a recorder, too: of what the fault made of its data."""
    try:
        program.run([], planted)
    except AssertionError:
        return True
    return False


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
    """One of KINDS, and why."""
    first = report["first"]
    reasons = " ".join(entry["reason"] for entry in report["budget"]["replay"]["reasons"])
    unjudged = report["verdict"] == "inconclusive" or op in reasons.replace(": ", " ").split()
    if first is None or report["budget"]["outside"] == 0:
        return "not judged" if unjudged else "inside", report["summary"]
    named = f"{first['kind']} {first['op']}"
    if first["kind"] != "origin" or (first["op"] != op and op not in inner()):
        return "not judged" if unjudged else "wrong", named
    if fault in ("tf32", "bfloat16"):
        cause = "tf32" if fault == "tf32" else "reduced-precision"
        if not any(c["finding"] == 0 and c["id"] == cause for c in report["causes"]):
            return "wrong", f"{named} without its cause"
    return "found", named


def unsound(report):
    """What is wrong with the answer about two runs that differ in rounding alone."""
    if report["verdict"] != "within" or report["budget"]["outside"]:
        return report["summary"]
    return None if report["findings"] else "no bit differs: a fault would stand alone"


class Planted:
    """A pair of runs of one program that differ in rounding, and what comes of faults in the second."""

    def __init__(self, bin_folder, lib_folder, name, folder):
        command, other = PROGRAMS[name]
        self.name = name
        self.program = Program(bin_folder, lib_folder, [*command, *other], folder)
        self.reference, _ = record(Program(bin_folder, lib_folder, [*command, *ONE], folder),
                                   "reference", {})
        sound, self.last_line = record(self.program, "candidate", {})
        self.unsound = unsound(compare(self.program, self.reference, sound))

    def outcome(self, planted, op, fault):
        """One of KINDS, and why."""
        try:
            candidate, last_line = record(self.program, "candidate", planted)
        except AssertionError as error:
            return ("refused", "") if is_refused(self.program, planted) else ("wrong", str(error))
        report = compare(self.program, self.reference, candidate)
        kind, why = judge(report, op, fault, lambda: ops_inside(
            self.program, candidate, report["first"]["event"]["candidate"]))
        if kind == "inside" and last_line == self.last_line:
            return "without effect", why
        return kind, why


def is_failure(kind, op):
    return kind in ("wrong", "inside") or (kind == "not judged" and op not in WITHOUT_BUDGET)


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
        print("| program | fault | planted | " + " | ".join(KINDS) + " |")
        print("|---" * (3 + len(KINDS)) + "|")
    for name in arguments.program or PROGRAMS:
        with tempfile.TemporaryDirectory(prefix="ulpscope-faults-") as folder:
            pair = Planted(arguments.bin, arguments.lib, name, folder)
            if pair.unsound:
                print(f"WRONG {name}: without a fault: {pair.unsound}")
                failed = True
            counts = {fault: collections.Counter() for fault in arguments.faults.split(",")}
            for planted, op, fault in plants(pair.program.ops(), counts, arguments.ops):
                kind, why = pair.outcome(planted, op, fault)
                counts[fault][kind] += 1
                wrong = is_failure(kind, op)
                failed = failed or wrong
                if not arguments.table or wrong:
                    print(f"{'WRONG ' if wrong else ''}{name}: {op} {fault}: {kind}: {why}", flush=True)
        for fault, count in counts.items():
            if not count["found"]:
                print(f"WRONG {name}: no fault of kind {fault} is found")
                failed = True
            if arguments.table:
                row = [name, fault, sum(count.values()), *(count[kind] for kind in KINDS)]
                print("| " + " | ".join(str(cell) for cell in row) + " |", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
