#!/usr/bin/env python3
"""Records programs whose processes exchange tensors: repeats are identical whatever each process and
its backend wait for, and a difference planted in one process is found there first.

    distributed.py --bin build/release/bin [--repeats 20] [--sizes 2 4] [--launcher shell] NAMES...
    distributed.py ... --list        what a short run has

NAMES: a program, several that run one after the other in the same processes (separated by commas), or one of
those that --list prints.
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile

COLLECTIVES = ["barrier", "all_reduce", "all_reduce_in_parts", "all_reduce_twice", "all_reduce_sparse",
               "all_reduce_coalesced", "broadcast", "reduce", "all_gather", "all_gather_base",
               "all_gather_coalesced", "all_gather_into_tensors", "gather", "scatter", "reduce_scatter",
               "reduce_scatter_base", "reduce_scatter_tensors", "all_to_all_base", "all_to_all_uneven",
               "send_and_receive", "receive_from_any"]
# Called on a process group, which goes through the dispatcher, and on its backend directly.
EXCHANGES = [*COLLECTIVES, *(name + "_raw" for name in COLLECTIVES), "functional"]
TRAINING = ["data_parallel", "reducer", "sharded", "pipeline", "tensor_parallel"]
# Of the calls of a backend one of each kind. What is called twice relies on an order that the others do not need.
TOGETHER = {"exchanges": [*(name for name in COLLECTIVES if name not in ("all_reduce_twice", "barrier")), "functional"],
            "raw": ["all_reduce_raw", "all_reduce_sparse_raw", "all_gather_base_raw", "reduce_scatter_base_raw",
                    "send_and_receive_raw"],
            "barriers": ["barrier_raw", "barrier"],
            "in_order": ["all_reduce_twice", "all_reduce_twice_raw"],
            "training": TRAINING}

# Which ranks contribute something that is used, if not all do.
GIVERS = {"barrier": [], "broadcast": [1], "scatter": [0]}

LAUNCHERS = {
    "program": "{bin}/distributed launch {size} {name}",
    # What cluster scripts do.
    "shell": "export MEETING=$(mktemp -u) WORLD_SIZE={size}; ranks=; "
             "for r in $(seq 0 $(({size} - 1))); do RANK=$r {bin}/distributed run {name} & ranks=\"$ranks $!\"; "
             "done; failed=0; for p in $ranks; do wait $p || failed=1; done; rm -f $MEETING; exit $failed",
}
DELAYS = ["0", "0,20", "25,0,5", "3,0,0,40", "0,0,15"]


class Recorder:
    def __init__(self, bin_folder, folder, launcher, names, size):
        self.bin, self.folder = os.path.abspath(bin_folder), folder
        self.command = LAUNCHERS[launcher].format(bin=self.bin, size=size, name=",".join(names))
        self.size = size

    def bare(self, **environment):
        done = subprocess.run(["bash", "-c", self.command], capture_output=True, text=True, timeout=100,
                              check=True, env={**os.environ, **environment})
        return sorted(done.stdout.splitlines())

    def record(self, dump, **environment):
        """The dump and what the program printed."""
        dump = os.path.join(self.folder, dump)
        done = subprocess.run([os.path.join(self.bin, "ulpscope"), "record", "--force", "-o", dump, "--",
                               "bash", "-c", self.command],
                              capture_output=True, text=True, timeout=200, check=False,
                              env={**os.environ, **environment})
        assert done.returncode == 0, f"{self.command} ended with {done.returncode}\n{done.stderr}"
        with open(os.path.join(dump, "status.json"), encoding="utf-8") as file:
            status = json.load(file)
        assert status["complete"] and status["ranks"] == list(range(self.size)), status
        return dump, sorted(done.stdout.splitlines())

    def compare(self, reference, candidate):
        done = subprocess.run([os.path.join(self.bin, "ulpscope"), "compare", "--format", "json", reference,
                               candidate], capture_output=True, text=True, timeout=200, check=False)
        assert done.stdout, done.stderr
        return json.loads(done.stdout)


def wrong_repeats(recorder, reference, printed, repeats):
    bare = recorder.bare()
    if printed != bare:
        yield f"the program notices: {bare} became {printed}"
    for _, delays in zip(range(repeats), itertools.cycle(DELAYS)):
        candidate, printed = recorder.record("candidate", DELAYS=delays)
        report = recorder.compare(reference, candidate)
        if report["verdict"] != "identical":
            yield f"delays {delays}: {report['summary']}"


def programs_that_differ(rank, reference, candidate):
    """Those that print something else in a rank."""
    return {line.split()[0] for line in {*reference} ^ {*candidate} if f" rank {rank} " in line}


def wrong_plants(recorder, reference, before, ranks, step):
    """What is said of a rank that gives something else, and of those that are given it; `before`: what the
    reference printed."""
    for planted in ranks:
        candidate, printed = recorder.record("candidate", PLANT=f"{planted}@{step}", DELAYS=DELAYS[1])
        report = recorder.compare(reference, candidate)
        first = report["first"]
        if report["verdict"] != "diverged" or first is None or first["rank"] != planted:
            yield f"planted in rank {planted}: {report['summary']}"
            continue
        for rank in set(range(recorder.size)) - {planted}:
            differ = programs_that_differ(rank, before, printed)
            found = sum(finding["rank"] == rank and finding["diverges"] for finding in report["findings"])
            if found < len(differ):
                yield f"planted in rank {planted}: rank {rank} has {found} findings, but {sorted(differ)} differ"
        said = {cause["finding"]: cause for cause in report["causes"] if cause["confidence"] == "certain"}
        for number, finding in enumerate(report["findings"]):
            if finding["rank"] == planted or not finding["diverges"]:
                continue
            cause = said.get(number)
            if cause is None or cause["id"] != "collective":
                yield (f"planted in rank {planted}: rank {finding['rank']} says {finding['kind']} at "
                       f"{finding['op']}, cause {cause and cause['id']}")


def wrong_twin(recorder, reference, twin):
    """A backend that is called directly does what it does for the group."""
    candidate, _ = twin.record("twin")
    report = recorder.compare(reference, candidate)
    if report["verdict"] != "identical":
        yield f"asked through the group: {report['summary']}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--sizes", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--launcher", choices=[*LAUNCHERS], default="program")
    parser.add_argument("--plant", type=int, default=1, help="the step of what is planted")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("names", nargs="*", metavar="NAMES")
    arguments = parser.parse_args()
    if arguments.list:
        print("\n".join(TOGETHER))
        return 0
    failed = False
    for name, size in itertools.product(arguments.names or EXCHANGES + TRAINING, arguments.sizes):
        names = TOGETHER.get(name, name.split(","))
        givers = {rank for each in names for rank in GIVERS.get(each.removesuffix("_raw"), range(size))}
        with tempfile.TemporaryDirectory(prefix="ulpscope-distributed-") as folder:
            recorder = Recorder(arguments.bin, folder, arguments.launcher, names, size)
            reference, printed = recorder.record("reference", DELAYS=DELAYS[0])
            wrong = list(wrong_repeats(recorder, reference, printed, arguments.repeats))
            wrong += wrong_plants(recorder, reference, printed, givers, arguments.plant)
            # A barrier of a group makes a tensor for the dispatcher.
            if all(each.endswith("_raw") and each != "barrier_raw" for each in names):
                asked = [each.removesuffix("_raw") for each in names]
                twin = Recorder(arguments.bin, folder, arguments.launcher, asked, size)
                wrong += wrong_twin(recorder, reference, twin)
        for sentence in wrong:
            print(f"WRONG: {name} of {size} ranks: {sentence}", flush=True)
        failed = failed or bool(wrong)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
