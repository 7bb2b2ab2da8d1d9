#!/usr/bin/env python3
"""Changes one result of one op by one ULP, op after op, and checks that the comparison names it.

    mutations.py --bin build/release/bin --lib build/release/lib PROGRAM [FLAG...]
    mutations.py ... --ops 25 --table PROGRAM      at most 25 ops, as a Markdown table

What must come out is an `origin` at that op, or a `write` of what it left, and nothing else.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

# Ops that hand on what others computed.
NOT_PLANTED = re.compile(r"aten::(copy_|fill_|zero_|as_strided_|type_as|resize_as_)$")


class Program:
    def __init__(self, bin_folder, lib_folder, command, folder):
        self.bin, self.lib, self.folder = bin_folder, lib_folder, folder
        self.command = [os.path.join(bin_folder, command[0]), *command[1:]]

    def run(self, prefix, environment):
        # Only the program can load the library, and the recorder preloads one of its own.
        planted = ["sh", "-c", 'LD_PRELOAD="$0${LD_PRELOAD:+:$LD_PRELOAD}" exec "$@"',
                   os.path.join(self.lib, "libplant.so"), *self.command]
        done = subprocess.run([*prefix, *planted], text=True, capture_output=True, timeout=300,
                              env={**os.environ, **environment})
        assert done.returncode == 0, f"{done.args} ended with {done.returncode}\n{done.stderr}"
        return done.stdout.splitlines()[-1]

    def ops(self):
        """Name and number of calls of every op that can be changed."""
        path = os.path.join(self.folder, "ops")
        self.run([], {"PLANT_LIST": path})
        with open(path, encoding="ascii") as lines:
            return [(op, int(calls)) for op, calls in (line.split() for line in lines)
                    if not NOT_PLANTED.match(op)]

    def record(self, name, environment):
        dump = os.path.join(self.folder, name)
        prefix = [os.path.join(self.bin, "ulpscope"), "record", "--force", "--level", "digest",
                  "-o", dump, "--"]
        self.run(prefix, environment)
        return dump

    def compare(self, reference, candidate):
        done = subprocess.run([os.path.join(self.bin, "ulpscope"), "compare", reference, candidate,
                               "--format", "json"], text=True, capture_output=True, timeout=300)
        assert done.stdout, done.stderr
        return json.loads(done.stdout)


def wrong_with(report, op):
    """What is wrong with the answer, in sentences."""
    first = report["first"]
    if first is None:
        return [] if report["verdict"] == "identical" else [report["summary"]]
    wrong = []
    named = first["op"] if first["kind"] == "origin" else " ".join(first["notes"])
    if first["kind"] not in ("origin", "write") or not re.search(re.escape(op) + r"\b", named):
        wrong.append(f"first is {first['kind']} at {first['op']} ({'; '.join(first['notes'])})")
    further = [finding for finding in report["findings"][1:] if finding["diverges"]]
    for finding in further:
        wrong.append(f"also {finding['kind']} at {finding['op']}, step {finding['step']}")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--lib", required=True)
    parser.add_argument("--ops", type=int, help="no more than so many")
    parser.add_argument("--only", help="only this op")
    parser.add_argument("--call", type=int, help="this call of it; by default the one in the middle")
    parser.add_argument("--keep", help="leave the dumps in this folder")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    failed = unseen = 0
    with tempfile.TemporaryDirectory(prefix="ulpscope-mutation-") as folder:
        program = Program(arguments.bin, arguments.lib, arguments.command, arguments.keep or folder)
        ops = [pair for pair in program.ops() if arguments.only in (None, pair[0])]
        ops = ops[:arguments.ops]
        reference = program.record("reference", {})
        last = program.run([], {})
        for op, calls in ops:
            call = calls // 2 if arguments.call is None else arguments.call
            plant = {"PLANT": f"{op}:{call}"}
            report = program.compare(reference, program.record("candidate", plant))
            wrong = wrong_with(report, op)
            if report["first"] is None:
                unseen += 1
                if program.run([], plant) != last:
                    wrong.append("identical, though the trained model is another one")
            failed += bool(wrong)
            first = report["first"] or {"kind": "nothing", "op": "", "step": None, "module": None}
            print(f"{'WRONG' if wrong else 'ok   '} {op}, call {call} of {calls}: {first['kind']} "
                  f"{first['op']}, step {first['step']}, module {first['module']!r}", flush=True)
            for sentence in wrong:
                print(f"      {sentence}", flush=True)
    print(f"{len(ops)} ops, {len(ops) - failed} as planted, {unseen} of them without effect")
    return 1 if failed or unseen == len(ops) else 0


if __name__ == "__main__":
    sys.exit(main())
