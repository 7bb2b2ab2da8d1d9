#!/usr/bin/env python3
"""What recording costs a model of many small modules, by their number and by how they are nested: recorded
against bare, in turn, in a table for README.md.

    cmake --build build/release --target ulpscope module_trees
    python3 tests/bench/record/module_trees_bench.py --build build/release --rounds 3
"""

import argparse
import os
import statistics
import tempfile

from measured_run import run

LAYERS_IN_ALL = 60000  # of the steps of one run
FEWEST_STEPS = 6
DEEPEST = 1000  # LibTorch recurs into nested modules


def shapes_of(size, wanted):
    return [shape for shape in wanted if shape != "nested" or size <= DEEPEST]


def one_round(ulpscope, command, steps, folder, cpus):
    """A bare run, and a recorded one."""
    bare = run(command, command[0], steps, cpus)
    recorded = run([ulpscope, "record", "--force", "-o", os.path.join(folder, "dump"), "--", *command], command[0],
                   steps, cpus)
    return bare, recorded


def ratios(rounds, take, against):
    return [take(recorded) / against(bare) for bare, recorded in rounds]


def cell(numbers):
    return f"{statistics.median(numbers):.2f} | {min(numbers):.2f}-{max(numbers):.2f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sizes", nargs="+", type=int, default=[100, 1000, 10000])
    parser.add_argument("--shapes", nargs="+", default=["flat", "tree", "nested"])
    parser.add_argument("--own", action="store_true", help="classes of the program's own")
    arguments = parser.parse_args()
    binaries, cpus = os.path.join(arguments.build, "bin"), os.sched_getaffinity(0)
    print("| layers | shape | bare step | pairs | step time | range | program | range | with writer | range |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for size in arguments.sizes:
        steps = max(FEWEST_STEPS, LAYERS_IN_ALL // size)
        for shape in shapes_of(size, arguments.shapes):
            command = [os.path.join(binaries, "module_trees"), "--modules", str(size), "--shape", shape, "--steps",
                       str(steps), *(["--own"] if arguments.own else [])]
            with tempfile.TemporaryDirectory(prefix="ulpscope-trees-") as folder:
                rounds = [one_round(os.path.join(binaries, "ulpscope"), command, steps, folder, cpus)
                          for _ in range(arguments.rounds)]
            bare = statistics.median(bare.step for bare, _ in rounds) * 1e3
            step = cell(ratios(rounds, lambda each: each.step, lambda each: each.step))
            program = cell(ratios(rounds, lambda each: each.program, lambda each: each.program))
            both = cell(ratios(rounds, lambda each: each.program + each.writer, lambda each: each.program))
            print(f"| {size:,} | {shape} | {bare:.3g} ms | {len(rounds)} | {step} | {program} | {both} |", flush=True)


if __name__ == "__main__":
    main()
