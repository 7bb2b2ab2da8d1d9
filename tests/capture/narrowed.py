#!/usr/bin/env python3
"""Records part of a run with --steps, --modules, --ops, --ignore or --keep-last and checks that it is what
the options say of a recording of all of it, that nothing is found between the two, and that a fault
inside of the part is named.

    narrowed.py --bin build/release/bin NAME
    narrowed.py ... --list        names of all cases
"""

import fnmatch
import os

import cases
from recorded import OP, Case, Recorder, run

STEPS = 6
MLP = Case("layernorm_mlp", ["--threads", "1", "--steps", str(STEPS)], STEPS, (), (), [])
FAULT_IN = "blocks.0.fc"  # what --raw-write changes


class Part:
    """Options, and which events they keep; `of_ops` where they leave only ops out. `steps` selects the
    same steps of a dump of the whole run, `fault` is a step in which a fault must be found."""

    def __init__(self, options, keeps, of_ops=False, steps=None, fault=None):
        self.options, self.keeps, self.of_ops = options, keeps, of_ops
        self.steps, self.fault = steps, fault


def inside(event, glob):
    """Whether an event belongs to a module of that name or to one inside of such a module."""
    if event.module is None:
        return False
    parts = event.module.split(".")
    return any(fnmatch.fnmatchcase(".".join(parts[:count]), glob)
               for count in range(1, len(parts) + 1))


PARTS = {
    "steps": Part(["--steps", "2-3"], lambda e: e.step in (2, 3), steps="2-3", fault=2),
    "steps-from": Part(["--steps", "4-"], lambda e: e.step >= 4, steps="4-5", fault=5),
    "steps-from-setup": Part(["--steps", "0-1"], lambda e: e.step <= 1, fault=1),
    "setup": Part(["--steps", "setup"], lambda e: e.step < 0),
    "keep-last": Part(["--keep-last", "2"], lambda e: e.step >= STEPS - 2, steps="4-5", fault=4),
    "modules": Part(["--modules", "blocks.*"], lambda e: inside(e, "blocks.*"), of_ops=True, fault=3),
    "two-modules": Part(["--modules", "blocks.0", "--modules", "head"],
                        lambda e: inside(e, "blocks.0") or inside(e, "head"), of_ops=True, fault=3),
    "ops": Part(["--ops", "aten::*mm*"], lambda e: "mm" in e.op, of_ops=True, fault=3),
    "ops-without-namespace": Part(["--ops", "addmm", "--ops", "gelu"],
                                  lambda e: e.op in ("aten::addmm", "aten::gelu"), of_ops=True, fault=3),
    "ignore": Part(["--ignore", "gelu*", "--ignore", "aten::bernoulli_"],
                   lambda e: "gelu" not in e.op and e.op != "aten::bernoulli_", of_ops=True, fault=3),
    "ignore-module": Part(["--ignore", "head"], lambda e: not inside(e, "head"), of_ops=True, fault=3),
    "ignore-wins": Part(["--modules", "blocks.*", "--ignore", "*.norm", "--ops", "*mm", "--ignore", "mm"],
                        lambda e: inside(e, "blocks.*") and not inside(e, "*.norm") and
                        e.op == "aten::addmm", of_ops=True, fault=3),
}


class Runs(Recorder):
    def __init__(self, part, bin_folder, folder):
        super().__init__(MLP, bin_folder, folder)
        self.part = part

    def narrowed(self, name, flags=()):
        dump = os.path.join(self.folder, name)
        run([os.path.join(self.bin, "ulpscope"), "record", *self.part.options, "-o", dump, "--",
             *self.command([*MLP.flags, *flags])])
        return dump

    def listed(self, dump):
        return [event for event in self.events(dump) if event.kind == OP or not self.part.of_ops]


def shown(events):
    """The events in order, but for numbers that depend on what else was recorded."""
    return [(event.role, event.step, event.phase, event.op, event.root, event.module)
            for event in events]


def differences(whole, narrowed, keeps):
    """What is wrong with the narrowed recording's events, in sentences."""
    expected = shown(event for event in whole if keeps(event))
    if not expected or len(expected) == len(whole):
        yield f"{len(expected)} of {len(whole)} events are no part of the run"
    given = shown(narrowed)
    if given != expected:
        yield (f"{len(given)} events, expected {len(expected)}; too many: "
               f"{sorted(set(given) - set(expected), key=str)[:5]}, missing: "
               f"{sorted(set(expected) - set(given), key=str)[:5]}")


def problems_beside(runs, whole, narrowed):
    """What is wrong where a recording of all of the run is compared with the narrowed one."""
    for reference, candidate in ((whole, narrowed), (narrowed, whole)):
        report = runs.compare(reference, candidate)
        selected = f"was recorded with {' '.join(runs.part.options[:2])}"
        if report["verdict"] != "inconclusive" or selected not in report["summary"]:
            yield f"{reference} and {candidate}: {report['summary']}"
        if report["findings"] or report["coverage"]["aligned"] < len(runs.listed(narrowed)):
            yield f"{reference} and {candidate}: {report['findings'][:1]}, {report['coverage']}"


def problems(runs):
    part = runs.part
    whole, _ = runs.record("whole", MLP.flags)
    narrowed = runs.narrowed("narrowed")
    yield from differences(runs.listed(whole), runs.listed(narrowed), part.keeps)
    if part.steps is not None:
        report = runs.compare(f"{whole}@steps={part.steps}", narrowed)
        if report["verdict"] != "identical" or report["coverage"]["aligned"] != len(runs.events(narrowed)):
            yield f"against the same steps of the whole run: {report['summary']}"
    if part.of_ops:
        yield from problems_beside(runs, whole, narrowed)
    if part.fault is not None:
        faulty = runs.narrowed("faulty", ["--raw-write", str(part.fault)])
        report = runs.compare(narrowed, faulty)
        first = report["first"] or {}
        found = first.get("kind"), first.get("step"), first.get("module")
        if report["verdict"] != "diverged" or found != ("write", part.fault, FAULT_IN):
            yield f"with a fault: {report['verdict']}, {found}: {report['summary']}"


if __name__ == "__main__":
    cases.main(__doc__, PARTS,
               lambda part, binaries, folder: problems(Runs(part, binaries, folder)))
