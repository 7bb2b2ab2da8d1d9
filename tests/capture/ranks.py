#!/usr/bin/env python3
"""Records programs of several processes twice, in whatever order these begin to compute: the runs are
identical, and a difference planted in one process is found at its rank.

    ranks.py --bin build/release/bin [--repeats 20] CASE
    ranks.py ... --list        names of all cases
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile

SHELL = "for r in 0 1 2 3; do RANK=$r {bin}/ranks train & done; wait"
DELAYS = ["0,60,120,180", "180,120,60,0", "60,0,180,120", "0,0,0,0"]


class Case:
    """A command, which rank number each rank of it has and how they are matched. `plants` are names of
    ranks in PLANT and the number that the report gives them."""

    def __init__(self, command, ranks, matches, plants):
        self.command, self.ranks, self.matches, self.plants = command, ranks, matches, plants


FOUR = ["declared"] * 4
CASES = {
    # RANK decides, and a launcher that has LibTorch too but computes nothing is not a rank.
    "launcher": Case("{bin}/ranks launch", [0, 1, 2, 3], FOUR, {0: 0, 3: 3}),
    "computing-launcher": Case("{bin}/ranks launch compute", [0, 1, 2, 3, 4], FOUR + ["creation"], {0: 0}),
    "launcher-with-a-rank": Case("SLURM_PROCID=0 {bin}/ranks launch compute", [0, 1, 2, 3, 4],
                                 FOUR + ["creation"], {0: 0}),
    "shell": Case(SHELL, [0, 1, 2, 3], FOUR, {1: 1, 2: 2}),
    # These declare no rank.
    "workers": Case("{bin}/ranks workers", [0, 1, 2], ["creation"] * 3, {0: 0, 1: 1, 2: 2}),
    "workers-of-a-rank": Case("RANK=7 {bin}/ranks workers compute", [7, 8, 9, 10],
                              ["declared"] + ["creation"] * 3, {1: 9}),
    "workers-of-threads": Case("{bin}/ranks workers thread", [0, 1, 2], ["content"] * 3, {}),
    # A rank that is started again is distinguished from its earlier process.
    "restart": Case("{bin}/ranks restart", [0, 1, 2, 3, 4], ["declared"] * 5, {2: 2}),
}


class Recorder:
    def __init__(self, case, bin_folder, folder):
        self.case, self.bin, self.folder = case, os.path.abspath(bin_folder), folder

    def record(self, name, **environment):
        dump = os.path.join(self.folder, name)
        command = self.case.command.format(bin=self.bin)
        done = subprocess.run([os.path.join(self.bin, "ulpscope"), "record", "--force", "-o", dump, "--",
                               "bash", "-c", command],
                              capture_output=True, text=True, timeout=250, check=False,
                              env={**os.environ, **environment})
        assert done.returncode == 0, f"{command} ended with {done.returncode}\n{done.stderr}"
        with open(os.path.join(dump, "status.json"), encoding="utf-8") as file:
            return dump, json.load(file)

    def compare(self, reference, candidate):
        done = subprocess.run([os.path.join(self.bin, "ulpscope"), "compare", "--format", "json", reference,
                               candidate], capture_output=True, text=True, timeout=250, check=False)
        assert done.returncode in (0, 1, 2), done.stderr
        assert done.stdout, done.stderr
        return json.loads(done.stdout)


def check(recorder, repeats):
    case = recorder.case
    reference, status = recorder.record("reference", DELAYS=DELAYS[-1])
    if status["ranks"] != case.ranks or not status["complete"]:
        yield f"ranks {status['ranks']}, complete {status['complete']}: {status['reason']}"
    for _, delays in zip(range(repeats), itertools.cycle(DELAYS)):
        candidate, status = recorder.record("candidate", DELAYS=delays)
        report = recorder.compare(reference, candidate)
        matches = [pair["by"] for pair in report["rank_pairs"]]
        if report["verdict"] != "identical" or matches != case.matches:
            yield f"delays {delays}: {report['summary']}, matched by {matches}"
    for (rank, number), delays in zip(case.plants.items(), itertools.cycle(DELAYS)):
        candidate, status = recorder.record("candidate", PLANT=f"{rank}@2", DELAYS=delays)
        report = recorder.compare(reference, candidate)
        where = {finding["rank"] for finding in report["findings"]}
        if report["verdict"] != "diverged" or where != {number}:
            yield f"planted in {rank}: {report['summary']}, at ranks {where}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("case", nargs="?", choices=[*CASES])
    arguments = parser.parse_args()
    if arguments.list:
        print("\n".join(CASES))
        return 0
    with tempfile.TemporaryDirectory(prefix="ulpscope-ranks-") as folder:
        wrong = list(check(Recorder(CASES[arguments.case], arguments.bin, folder), arguments.repeats))
    for sentence in wrong:
        print(f"WRONG: {sentence}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
