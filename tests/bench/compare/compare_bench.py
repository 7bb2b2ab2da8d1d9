#!/usr/bin/env python3
"""Time and peak memory of `ulpscope compare` on two synthetic dumps on disk, by scenario.

    cmake --build build/release --target ulpscope write_runs
    python3 tests/bench/compare/compare_bench.py --build build/release [--events 1000000]

A shape is a number of steps and of batches in each; a batch has 384 events and a step 27 more. Beside time and
memory it prints how many of the planted differences of structure were found: those with their own name
among the findings, and all of them among the events that only one run has.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import tempfile
import time

EVENTS_PER_BATCH = 411
SCENARIOS = ["identical", "scattered", "scattered-values", "values", "every-other", "evaluation",
             "shifted", "different"]


def measured(command):
    """Seconds, peak resident MiB, standard output."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    output = process.stdout.read()
    _, _, usage = os.wait4(process.pid, 0)
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, output


def found(report):
    """Sequence findings, those that are not listed included."""
    listed = sum(finding["kind"] == "sequence" for finding in report["findings"])
    for note in report["coverage"]["unseen"]:
        further = re.match(r"(\d+) further finding", note)
        listed += int(further[1]) if further else 0
    return listed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, help="build folder with bin/ulpscope")
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--differences", type=int, default=1000)
    parser.add_argument("--evaluations", type=int, default=6000, help="batches of an evaluation")
    parser.add_argument("--only", default="", help="scenarios whose name contains this")
    parser.add_argument("--shapes", default="many,one", help="many steps, one step")
    arguments = parser.parse_args()
    binaries = os.path.join(arguments.build, "bin")
    batches = arguments.events // EVENTS_PER_BATCH
    shapes = {"many": (batches, 1), "one": (1, batches)}

    print(f"{'scenario':17} {'steps':>5} {'events':>8} {'s':>6} {'CPU s':>6} {'MiB':>6} {'verdict':12} "
          f"{'findings':>8} {'planted':>7} {'alone':>13} {'planted':>11}")
    for shape in arguments.shapes.split(","):
        steps, per_step = shapes[shape]
        for scenario in SCENARIOS:
            if arguments.only not in scenario or (scenario == "shifted" and steps < 3):
                continue
            folder = tempfile.mkdtemp(prefix="ulpscope-bench-")
            planted = json.loads(subprocess.check_output(
                [os.path.join(binaries, "write_runs"), folder, scenario, str(steps), str(per_step),
                 str(arguments.evaluations if scenario == "evaluation" else arguments.differences)]))
            seconds, cpu, peak, output = measured(
                [os.path.join(binaries, "ulpscope"), "compare", os.path.join(folder, "a"),
                 os.path.join(folder, "b"), "--format", "json"])
            shutil.rmtree(folder)
            report = json.loads(output)
            coverage = report["coverage"]
            alone = f"{coverage['only_reference']}+{coverage['only_candidate']}"
            expected = f"{planted['only_reference']}+{planted['only_candidate']}"
            print(f"{scenario:17} {steps:5} {planted['events']:8} {seconds:6.1f} {cpu:6.1f} {peak:6.0f} "
                  f"{report['verdict']:12} {found(report):8} {planted['findings']:7} {alone:>13} "
                  f"{expected:>11}", flush=True)


if __name__ == "__main__":
    main()
