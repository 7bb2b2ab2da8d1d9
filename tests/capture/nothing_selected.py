#!/usr/bin/env python3
"""A recording that holds nothing of what was selected is said to, and fails with --require.

    nothing_selected.py --bin build/release/bin
"""

import argparse
import os
import subprocess
import sys
import tempfile

NOTHING = {
    "no step of --steps was reached": ["--steps", "100-200"],
    "no op that ran fits --ops nothing*": ["--ops", "nothing*"],
    "no module that ran fits --modules nothing*": ["--modules", "nothing*"],
}
SOMETHING = [["--steps", "1"], ["--ops", "addmm"], ["--modules", "head"], ["--steps", "setup"]]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    bin_folder = os.path.abspath(parser.parse_args().bin)
    wrong = []
    with tempfile.TemporaryDirectory(prefix="ulpscope-nothing-") as folder:
        def record(*options, program="layernorm_mlp"):
            done = subprocess.run(
                [os.path.join(bin_folder, "ulpscope"), "record", "--force", *options, "-o", os.path.join(folder, "dump"),
                 "--", program if os.path.isabs(program) else os.path.join(bin_folder, program)] +
                ([] if os.path.isabs(program) else ["--steps", "2"]),
                capture_output=True, text=True, check=False, timeout=100)
            return done.returncode, done.stderr

        for words, options in NOTHING.items():
            for require, expected in ((["--require"], 125), ([], 0)):
                code, text = record(*require, *options)
                if code != expected or words not in text:
                    wrong.append(f"{require + options}: exit code {code}, not {expected}: {text}")
        for options in SOMETHING:
            code, text = record("--require", *options)
            if code != 0 or "nothing was selected" in text:
                wrong.append(f"{options}: exit code {code}: {text}")
        if record("--require", program="/bin/true")[0] != 125:
            wrong.append("a program without LibTorch is no failure")
    return "\n".join(wrong) or None


if __name__ == "__main__":
    sys.exit(main())
