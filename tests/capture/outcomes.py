#!/usr/bin/env python3
"""Pairs of runs of which one changes what it leaves after its last step, or trains in threads.

    outcomes.py --bin build/release/bin ends      what `end_of_run` leaves; of each kind by every way to end
    outcomes.py --bin build/release/bin all-ends  all of that by every way to end
    outcomes.py --bin build/release/bin saved     a hyperparameter that is changed before the optimizer is saved
    outcomes.py --bin build/release/bin codes     programs that end with different exit codes
    outcomes.py --bin build/release/bin threads   models that threads train, by every way to share work
    outcomes.py --bin build/release/bin layers    the same of threads by their layers only
    outcomes.py --bin build/release/bin creation  threads that have nothing in common with their partners

That two runs leave the same is known from what they print: a digest that they take through pointers.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

# What happens after the last step: kind and op of the finding, none if the runs leave the same.
ENDS = {
    "none": None, "unused": None, "one": None, "twice": None, "copied": None,
    "clamp": ("sequence", "aten::clamp_"), "scale": ("sequence", "aten::mul_"),
    "average": ("sequence", "aten::copy_"), "set_data": ("sequence", "aten::mul"),
    "buffer": ("sequence", "aten::add_"), "gradient": ("sequence", "aten::mul_"),
    "held": ("sequence", "aten::add_"), "rebound": ("sequence", "aten::mul"),
    "draw": ("sequence", "aten::rand"), "raw": ("write", "end of run"),
    "raw-buffer": ("write", "end of run"), "raw-set_data": ("sequence", "aten::detach"),
    "raw-state": ("write", "end of run"), "raw-leaf": ("write", "end of run"),
    "raw-loaded": ("write", "end of run"), "raw-unread": None, "raw-output": ("write", "end of thread"),
    "seed": ("rng", "end of run"), "set-state": ("rng", "end of run"), "raw-draw": ("rng", "end of run"),
    "restored": None,
}
# What no op has written or read may matter or not.
UNREAD = {"raw-unread"}
# Of each kind: what a process does as it ends must not depend on them, nor what it leaves on whether it is recorded.
SOME_ENDS = ["none", "scale", "set_data", "buffer", "gradient", "held", "rebound", "draw", "raw", "raw-unread",
             "raw-output", "seed"]
# Ways of a run, and whether its objects are gone when its process ends.
WAYS = [([], True), (["--exit"], False), (["--quit"], False), (["--steps", "1"], True)]
MODES = ["parallel", "step-by-step", "in-turn", "parallel-for", "pool", "launch"]


class Session:
    def __init__(self, bin_folder, folder):
        self.bin, self.folder, self.failed = os.path.abspath(bin_folder), folder, 0

    def record_as_bare(self, name, *command, options=()):
        """What the program prints, which is what it prints bare."""
        printed = self.record(name, *command, options=options)
        bare = subprocess.run([os.path.join(self.bin, command[0]), *command[1:]], capture_output=True, text=True,
                              timeout=120)
        assert (bare.returncode, bare.stdout) == (0, printed), f"bare: {bare}, recorded: {printed}"
        return printed

    def record(self, name, *command, options=(), code=0):
        """What the program prints, which ends with this exit code."""
        program = [os.path.join(self.bin, command[0]), *command[1:]]
        dump = os.path.join(self.folder, name)
        if code != 0:
            program = ["sh", "-c", f'"$@" && exit {code}', "sh", *program]
        done = subprocess.run([os.path.join(self.bin, "ulpscope"), "record", "--force", "-o", dump,
                               *options, "--", *program], capture_output=True, text=True, timeout=120)
        assert done.returncode == code, done.stderr
        return done.stdout

    def compare(self, reference, candidate):
        dumps = [os.path.join(self.folder, name) for name in (reference, candidate)]
        done = subprocess.run([os.path.join(self.bin, "ulpscope"), "compare", *dumps, "--format",
                               "json"], capture_output=True, text=True, timeout=120)
        assert done.stdout, done.stderr
        return json.loads(done.stdout)

    def check(self, what, holds, report):
        self.failed += not holds
        print(f"{what}: {'as it is' if holds else 'WRONG'}: {report['summary']}")


def ends(session, of_other_ways=SOME_ENDS):
    for way, gone in WAYS:
        plain = session.record_as_bare("plain", "end_of_run", *way)
        for end in of_other_ways if way else ENDS:
            expected = ENDS[end]
            record = session.record if way or end not in SOME_ENDS else session.record_as_bare
            printed = record("other", "end_of_run", "--end", end, *way)
            same = expected is None and end not in UNREAD
            assert (printed == plain) == same, f"{end} leaves what it should not"
            report = session.compare("plain", "other")
            first = report["first"]
            found = first and (first["kind"], first["op"])
            verdict = ("inconclusive" if end in UNREAD else
                       "identical" if expected is None else "diverged")
            if end == "rebound" and gone:  # made by the last op
                verdict, found = "inconclusive", expected
            session.check(" ".join([end, *way]), report["verdict"] == verdict and found == expected,
                          report)


def saved(session):
    plain = session.record_as_bare("plain", "end_of_run", "--end", "saved")
    for end, same in (("saved-at-last", True), ("saved-lr", False)):
        printed = session.record_as_bare("other", "end_of_run", "--end", end)
        assert (printed == plain) == same, f"{end} leaves what it should not"
        report = session.compare("plain", "other")
        expected = report["verdict"] == "identical" if same else "lr of SGD is 0.1 and 0.05" in report["summary"]
        session.check(end, expected, report)
    for epoch in "34":
        session.record_as_bare(epoch, "end_of_run", "--end", f"saved-epoch-{epoch}")
    report = session.compare("3", "4")
    session.check("epoch", "epoch of torch::save is 3 and 4" in report["summary"], report)
    for end in ("saved-momenta", "saved-files", "saved-keys"):
        session.record_as_bare(end, "end_of_run", "--end", end)
        session.record_as_bare("exchanged", "end_of_run", "--end", f"{end}-exchanged")
        report = session.compare(end, "exchanged")
        session.check(end, report["verdict"] == "diverged" and
                      (report["first"]["op"] == "torch::save" or "last save of" in report["summary"]), report)
    session.record_as_bare("loaded", "end_of_run", "--end", "saved-loaded")
    for again in range(4):
        session.record_as_bare("again", "end_of_run", "--end", "saved-loaded")
        report = session.compare("loaded", "again")
        session.check(f"loaded, time {again + 1}", report["verdict"] == "identical" and not report["findings"], report)


def codes(session):
    for name, code in (("plain", 0), ("failing", 3), ("other", 3)):
        session.record(name, "end_of_run", code=code)
    for reference, candidate, verdict, known in (
            ("plain", "failing", "inconclusive", ["0", "3"]), ("failing", "other", "identical", None),
            ("plain@steps=0-1", "failing@steps=0-1", "identical", None)):
        report = session.compare(reference, candidate)
        said = [[setting["reference"], setting["candidate"]] for setting in report["environment"]
                if setting["key"] == "program.exit_code"]
        session.check(f"{reference} and {candidate}", report["verdict"] == verdict and
                      said == ([known] if known else []) and ("exit code 3" in report["summary"]) == bool(known), report)


def threads(session):
    for mode in MODES:
        for seeds in ([], ["--own-seeds"]):
            command = ["trainers", "--mode", mode, *seeds, "--steps", "3"]
            plain = session.record_as_bare("plain", *command, "--delays", "1")
            for delays in ("2", "3"):
                printed = session.record("other", *command, "--delays", delays)
                assert printed == plain
                report = session.compare("plain", "other")
                session.check(" ".join([*command[1:], delays]), report["verdict"] == "identical",
                              report)
            one = "0" if mode in ("step-by-step", "in-turn") else "2"
            printed = session.record("other", *command, "--delays", "4", "--scale", one,
                                     "--scale-step", "2")
            assert printed != plain
            report = session.compare("plain", "other")
            first = report["first"]
            session.check(" ".join([*command[1:], "scaled"]), report["verdict"] == "diverged" and
                          (first["kind"], first["op"]) == ("sequence", "aten::mul_"), report)


def layers(session):
    """A thread's step does not list the parameters that other threads are changing."""
    command = ["trainers", "--mode", "parallel", "--own-seeds", "--steps", "3"]
    session.record_as_bare("plain", *command, "--delays", "1", options=["--capture", "layers"])
    for delays in ("2", "3", "4", "5"):
        session.record("other", *command, "--delays", delays, options=["--capture", "layers"])
        report = session.compare("plain", "other")
        session.check(f"delays {delays}", report["verdict"] == "identical", report)


def creation(session):
    """Threads of which nothing is equal are partners by where and in which order they were created,
    whichever of them comes first: trainer i has seed 1 + i in one run and 1001 + i in the other."""
    command = ["trainers", "--mode", "parallel", "--own-seeds", "--steps", "3"]
    session.record_as_bare("plain", *command, "--seed", "1", "--delays", "1")
    for delays in ("5", "7", "9"):  # the last, the third, the second thread begins first
        session.record("other", *command, "--seed", "1001", "--delays", delays)
        report = session.compare("plain", "other")
        notes = [note for finding in report["findings"] for note in finding["notes"]]
        session.check(f"other seeds {delays}", report["verdict"] == "diverged" and all(
            f"the generator's seed is {1 + i} and {1001 + i}" in notes for i in range(4)), report)
    command = ["trainers", "--mode", "two-places", "--own-seeds", "--steps", "3"]
    session.record_as_bare("plain", *command, "--seed", "1")
    session.record("other", *command, "--seed", "1001", "--reversed")
    report = session.compare("plain", "other")
    notes = [note for finding in report["findings"] for note in finding["notes"]]
    session.check("created in another order", report["verdict"] == "diverged" and all(
        f"the generator's seed is {1 + i} and {1001 + i}" in notes for i in range(2)), report)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("part", choices=["ends", "all-ends", "saved", "codes", "threads", "layers", "creation"])
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ulpscope-outcomes-") as folder:
        session = Session(arguments.bin, folder)
        {"ends": ends, "all-ends": lambda session: ends(session, ENDS), "saved": saved, "codes": codes,
         "threads": threads, "layers": layers, "creation": creation}[arguments.part](session)
    return 1 if session.failed else 0


if __name__ == "__main__":
    sys.exit(main())
