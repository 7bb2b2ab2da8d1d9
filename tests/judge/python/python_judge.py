#!/usr/bin/env python3
"""Records pairs of small random Python programs and checks that IDENTICAL is said exactly where both
runs leave the same.

    python_judge.py --bin build/release/bin --seeds 20 --first 1     every mutation against every other
    python_judge.py --bin ... --first 17 --seeds 1 --verbose         what is said of each pair of one program

Each seed is a program (plans.py): run bare, recorded, recorded again, and recorded with each of its
mutations, all in this process by `ulpscope.record`.
"""

import argparse
import collections
import gc
import itertools
import os
import sys
import tempfile

import torch

import execution
import plans

FALSE_IDENTICAL, FALSE_DIVERGED, NOTICED = "false IDENTICAL", "not IDENTICAL, though equal", "the program notices"


def record(ulpscope, plan, dump):
    gc.collect()  # what the program before has left is not this one's
    with ulpscope.record(dump, force=True):
        run = execution.Execution(plan).run()
    return run.left()


def judged(verdict, differs, repeats):
    if differs:
        return {"diverged": "right", "identical": FALSE_IDENTICAL}.get(verdict, "inconclusive, differs")
    if verdict == "identical":
        return "right"
    return FALSE_DIVERGED if repeats else f"{verdict}, leaves the same"


def judge(ulpscope, seed, mutations, folder):
    """What each pair of runs of a program is, and in words."""
    plan = plans.plan(seed)
    bare = execution.Execution(plan).run().left()
    runs = []
    for number in (0, *range(mutations + 1)):
        mutated, what = plans.mutate(plan, number)
        dump = os.path.join(folder, str(len(runs)))
        left = record(ulpscope, mutated, dump)
        if number == 0 and (noticed := execution.difference(bare, left)):
            yield NOTICED, f"seed {seed}: {noticed}"
        runs.append((dump, number, what, left))
    for one, other in itertools.combinations(runs, 2):
        report = ulpscope.compare(one[0], other[0])
        differs = execution.difference(one[3], other[3])
        what = judged(report.verdict, differs, one[1] == other[1] == 0)
        yield what, (f"seed {seed}, {one[1]} ({one[2]}) and {other[1]} ({other[2]}): left differently: "
                     f"{', '.join(differs[:6]) or 'nothing'}\n    {report.summary}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--bin", required=True, help="where ulpscope is")
    parser.add_argument("--first", type=int, default=1, help="the first program")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--mutations", type=int, default=5, help="of each program (default 5)")
    parser.add_argument("--verbose", action="store_true", help="print what is said of each pair")
    arguments = parser.parse_args()
    os.environ["ULPSCOPE_BINARY"] = os.path.join(os.path.abspath(arguments.bin), "ulpscope")
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "lib", "python"))
    import ulpscope

    torch.set_num_threads(1)
    counts = collections.Counter()
    with tempfile.TemporaryDirectory(prefix="ulpscope-judge-") as folder:
        for seed in range(arguments.first, arguments.first + arguments.seeds):
            for what, words in judge(ulpscope, seed, arguments.mutations, folder):
                counts[what] += 1
                if arguments.verbose or what in (FALSE_IDENTICAL, FALSE_DIVERGED, NOTICED):
                    print(f"{what}: {words}", flush=True)
    for what, count in counts.most_common():
        print(f"{count:6} {what}")
    wrong = counts[FALSE_IDENTICAL] + counts[FALSE_DIVERGED] + counts[NOTICED]
    print(f"\n{counts.total()} pairs, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
