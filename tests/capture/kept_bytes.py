#!/usr/bin/env python3
"""Records bytes of one step and one op and checks that they are there, as inputs and as results, and not elsewhere.

    kept_bytes.py --bin build/release/bin
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile

STEPS, STEP = 12, 5
NEAR = 3  # a recording may keep the bytes of so many steps more on each side
OP, OTHER = "aten::addmm", "aten::gelu"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    bin_folder = os.path.abspath(parser.parse_args().bin)

    def ulpscope(*arguments):
        return subprocess.run([os.path.join(bin_folder, "ulpscope"), *arguments], capture_output=True, text=True,
                              check=True, timeout=200).stdout

    def slots(dump, step, op):
        """The tensors of every call of an op in a step: whether their bytes were recorded."""
        events = re.findall(rf"^([\d,]+)\s+\w+\s+{op}\s", ulpscope("inspect", dump, str(step)), re.M)
        return [line.endswith("bytes recorded") for event in events
                for line in ulpscope("inspect", "--width", "1000", dump, f"{step}/{event}").splitlines()
                if re.match(r"  (input|output|mutated) ", line)]

    wrong = []
    with tempfile.TemporaryDirectory(prefix="ulpscope-kept-") as folder:
        dump = os.path.join(folder, "dump")
        ulpscope("record", "--level", "full", "--full-steps", str(STEP), "--full-ops", OP, "-o", dump, "--",
                 os.path.join(bin_folder, "layernorm_mlp"), "--steps", str(STEPS))
        kept = slots(dump, STEP, OP)
        if len(kept) < 12 or not all(kept):
            wrong.append(f"{kept.count(False)} of {len(kept)} tensors of {OP} in step {STEP} have no bytes")
        for step in (0, STEP - NEAR, STEP + NEAR + 1, STEPS - 1):
            if any(slots(dump, step, OP)):
                wrong.append(f"step {step} has bytes")
        others = slots(dump, STEP, OTHER)
        results = others[1::2]
        if not results or any(results):
            wrong.append(f"results of {OTHER} in step {STEP} have bytes, or there are none")
        ulpscope("verify", dump)
    return "\n".join(wrong) or None


if __name__ == "__main__":
    sys.exit(main())
