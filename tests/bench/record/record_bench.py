#!/usr/bin/env python3
"""What recording costs: step time of a program recorded against the same program bare.

Bare and recorded runs alternate; each run's step time is the median interval between the lines that
the program prints per step, the first steps left out. Printed per configuration and mode: the median
of the ratios recorded/bare over all rounds, their range, and the CPU time of the writer per step.

    python3 tests/bench/record/record_bench.py --build build/release [--rounds 9] [--pin]
"""

import argparse
import os
import pty
import re
import resource
import shutil
import statistics
import subprocess
import tempfile
import time

WARM_UP = 3

CONFIGURATIONS = {
    "digits ResNet, width 16": ["digits_resnet", "--width", "16", "--steps", "30"],
    "digits ResNet, width 64": ["digits_resnet", "--width", "64", "--steps", "10"],
    "transformer, d 256, 4 layers": ["transformer_encoder", "--width", "256", "--layers", "4",
                                     "--steps", "10"],
    "LayerNorm MLP, width 16": ["layernorm_mlp", "--width", "16", "--layers", "8", "--steps", "150"],
}

MODES = {
    "digest": ["--level", "digest"],
    "digest, verify off": ["--level", "digest", "--verify", "off"],
    "layers": ["--level", "digest", "--capture", "layers"],
    "layers, stats": ["--level", "stats", "--capture", "layers"],
    "stats": ["--level", "stats"],
    "outside its steps": ["--level", "digest", "--steps", "1000000-"],
    "full": ["--level", "full"],
}


def step_time(command, cpus):
    """Median seconds between two step lines. A terminal makes the program print them at once."""
    reader, writer = pty.openpty()
    process = subprocess.Popen(command, stdout=writer, stderr=subprocess.DEVNULL,
                               stdin=subprocess.DEVNULL,
                               preexec_fn=lambda: os.sched_setaffinity(0, cpus))
    os.close(writer)
    moments, pending = [], b""
    while True:
        try:
            data = os.read(reader, 65536)
        except OSError:  # the terminal is gone with its last writer
            break
        if not data:
            break
        now = time.perf_counter()
        lines = (pending + data).split(b"\n")
        pending = lines.pop()
        moments += [now] * sum(bool(re.match(rb"step \d+ loss", line)) for line in lines)
    os.close(reader)
    process.wait()
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    intervals = [b - a for a, b in zip(moments, moments[1:])]
    return statistics.median(intervals[WARM_UP:]), len(moments)


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def measured(command, cpus):
    before = cpu_seconds()
    seconds, steps = step_time(command, cpus)
    return seconds, (cpu_seconds() - before) / steps


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, help="build folder with bin/ulpscope")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--pin", action="store_true", help="program and writer share one core")
    parser.add_argument("--only", default="", help="configurations whose name contains this")
    parser.add_argument("--modes", default="", help="modes whose name contains this")
    arguments = parser.parse_args()
    modes = {mode: options for mode, options in MODES.items() if arguments.modes in mode}
    binaries = os.path.join(arguments.build, "bin")
    cpus = {0} if arguments.pin else os.sched_getaffinity(0)

    print(f"{'configuration':30} {'mode':20} {'bare ms':>8} {'ratio':>6} {'range':>13} {'CPU ratio':>9}")
    for name, command in CONFIGURATIONS.items():
        if arguments.only not in name:
            continue
        program = [os.path.join(binaries, command[0]), *command[1:],
                   "--threads", str(arguments.threads)]
        bare, ratios = [], {mode: [] for mode in modes}
        cpu_ratios = {mode: [] for mode in modes}
        for _ in range(arguments.rounds):
            bare_seconds, bare_cpu = measured(program, cpus)
            bare.append(bare_seconds)
            for mode, options in modes.items():
                folder = tempfile.mkdtemp(prefix="ulpscope-bench-")
                recorded = [os.path.join(binaries, "ulpscope"), "record", *options,
                            "-o", os.path.join(folder, "dump"), "--", *program]
                seconds, cpu = measured(recorded, cpus)
                shutil.rmtree(folder)
                ratios[mode].append(seconds / bare_seconds)
                cpu_ratios[mode].append(cpu / bare_cpu)
        for mode in modes:
            low, high = min(ratios[mode]), max(ratios[mode])
            print(f"{name:30} {mode:20} {statistics.median(bare) * 1e3:8.2f} "
                  f"{statistics.median(ratios[mode]):6.3f} {low:6.3f}-{high:.3f} "
                  f"{statistics.median(cpu_ratios[mode]):9.3f}", flush=True)


if __name__ == "__main__":
    main()
