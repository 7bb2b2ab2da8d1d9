#!/usr/bin/env python3
"""Runs a program bare and recorded and fails if it printed anything else or ended differently, if
there was nothing to notice (the program failed or printed nothing, or no op was recorded), or if
the dump is not sound.

    unnoticed.py --bin build/release/bin [--levels digest full --] PROGRAM
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

FLAGS = {
    "digits_resnet": [["--steps", "2"], ["--steps", "2", "--threads", "2"],
                      ["--steps", "2", "--workers", "2"], ["--steps", "2", "--validate", "64"]],
    "layernorm_mlp": [["--steps", "4"], ["--steps", "3", "--deterministic"]],
    "transformer_encoder": [["--steps", "2"], ["--steps", "2", "--flush-denormal"]],
    "checkpointed": [["--steps", "3", "--save", "{folder}/checkpoint.pt"]],
    "lbfgs": [["--steps", "2"], ["--steps", "2", "--line-search"]],
    "habits": [["--habit", "unordered-op", "--set", "threads.inter_op=3"],
               ["--habit", "recompute", "--set", "flag.deterministic_algorithms=warn"],
               ["--set", "2:flag.flush_denormal=on", "--set", "1:env.MKL_CBWR=COMPATIBLE"]],
    "inference_only": [["--steps", "4"], ["--steps", "4", "--no-grad"]],
}

MODES = {"digest": ["--level", "digest"],
         "unverified": ["--level", "digest", "--verify", "off"],
         "full": ["--level", "full"]}


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=250)
    return done.returncode, done.stdout


def record(ulpscope, options, dump, command):
    """How the program ended, and what the dump says of itself."""
    ended = run([ulpscope, "record", "-o", dump, *options, "--", *command])
    with open(os.path.join(dump, "status.json"), encoding="utf-8") as file:
        return ended, json.load(file)


def wrong_with(bare, recorded, status):
    """What is wrong with a recording, in sentences."""
    if recorded != bare:
        yield f"bare: {bare}\nrecorded: {recorded}"
    if not status["recorded"] or not status["complete"]:
        yield f"not recorded to its end: {status['reason']}"
    elif status["counts"]["events"] == 0:
        yield "no event was recorded"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--levels", nargs="+", choices=MODES, default=list(MODES))
    parser.add_argument("program")
    arguments = parser.parse_args()
    failed = 0
    for flags in FLAGS.get(arguments.program, [[]]):
        with tempfile.TemporaryDirectory(prefix="ulpscope-unnoticed-") as folder:
            command = [os.path.join(arguments.bin, arguments.program),
                       *(flag.format(folder=folder) for flag in flags)]
            words = " ".join([arguments.program, *flags])
            bare = run(command)
            if bare[0] != 0 or not bare[1]:
                print(f"{words}: FAILS without a recorder, too: {bare}")
                failed += 1
                continue
            for level in arguments.levels:
                recorded, status = record(os.path.join(arguments.bin, "ulpscope"), MODES[level],
                                          os.path.join(folder, level), command)
                wrong = list(wrong_with(bare, recorded, status))
                sound = run([os.path.join(arguments.bin, "ulpscope"), "verify", os.path.join(folder, level)])
                wrong += [sound[1]] if sound[0] != 0 else []
                failed += bool(wrong)
                print("\n".join([f"{words}, {level}: {'DIFFERS' if wrong else 'as bare'}, "
                                 f"{bare[1].splitlines()[-1]}", *wrong]))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
