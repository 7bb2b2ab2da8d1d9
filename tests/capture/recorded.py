#!/usr/bin/env python3
"""Records a program and checks that the recording says what is true of the program: how many steps it
made, which phases and roots they have; that a repeat compares as identical; that a planted fault is
named as the first finding.

    recorded.py --bin build/release/bin NAME
    recorded.py ... --list        names of all cases
    recorded.py ... --table       runs all of them and prints a Markdown table
"""

import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile

OP, MODULE = 1, 4
PREPARING = ("::to", "::load", "::reset", "::reset_parameters", "::flatten_parameters", "::train")
TRAINING = {"data", "forward", "backward", "optimizer"}

Event = collections.namedtuple(
    "Event", "rank lane role step position parent kind phase op root module")


class Case:
    """A program with flags and what is true of it. `fault` are flags that plant one difference,
    `first` what of the first finding is then known. `prepare` are flags of a run that comes before;
    {folder} in any flag is a folder that the runs share."""

    def __init__(self, program, flags, steps, phases, roots, fault, prepare=None, **first):
        self.program, self.flags, self.fault, self.prepare = program, flags, fault, prepare
        self.steps, self.phases, self.roots, self.first = steps, set(phases), set(roots), first


CASES = {}


def run(command, codes=(0,)):
    done = subprocess.run(command, capture_output=True, text=True, timeout=250)
    assert done.returncode in codes, f"{command} ended with {done.returncode}\n{done.stderr}"
    return done.stdout


def to_event(line):
    rank, lane, role, step, position, parent, kind, phase, op, root, module = line.split("\t")
    return Event(int(rank), int(lane), role, int(step), int(position),
                 None if parent == "-" else int(parent), int(kind), phase, op,
                 None if root == "-" else root, None if module == "-" else module)


class Recorder:
    def __init__(self, case, bin_folder, folder):
        self.case, self.bin, self.folder = case, bin_folder, folder

    def command(self, flags):
        program = os.path.join(self.bin, self.case.program)
        return [program, *(flag.format(folder=self.folder) for flag in flags)]

    def bare(self, flags):
        return run(self.command(flags))

    def record(self, name, flags):
        """The dump and what the program printed."""
        dump = os.path.join(self.folder, name)
        command = [os.path.join(self.bin, "ulpscope"), "record", "-o", dump, "--"]
        return dump, run([*command, *self.command(flags)])

    def events(self, dump):
        return [to_event(line) for line in
                run([os.path.join(self.bin, "list_events"), dump]).splitlines()]

    def compare(self, reference, candidate, *options):
        return json.loads(run([os.path.join(self.bin, "ulpscope"), "compare", reference, candidate,
                               "--format", "json", *options], codes=(0, 1, 2)))


def outermost_ops(events):
    """Ops that no other op calls, lane by lane in order."""
    inside = set()
    ops = []
    for event in events:
        key = (event.rank, event.lane, event.position)
        if (event.rank, event.lane, event.parent) in inside:
            inside.add(key)
        elif event.kind == OP:
            inside.add(key)
            ops.append(event)
    return ops


def attributed(events):
    """The share of outermost ops inside root forwards that have a module. A forward reaches from the
    first op of a root to the last one, with no other phase between."""
    known = total = waiting = 0
    for event in outermost_ops(events):
        if event.step < 0 or event.phase not in ("forward", "eval"):
            waiting = 0
        elif event.module is not None:
            known, total, waiting = known + 1, total + waiting + 1, 0
        elif total:
            waiting += 1
    return known / total if total else 0.0


def wrong_recording(case, events):
    steps = 1 + max((event.step for event in events), default=-1)
    phases = {event.phase for event in events if event.step >= 0}
    roots = {event.root for event in events if event.root is not None}
    for what, given, expected in (("steps", steps, case.steps), ("phases", phases, case.phases),
                                  ("roots", roots, case.roots)):
        if given != expected:
            yield f"{what}: {given}, expected {expected}"
    calls = {event.op for event in events if event.kind == MODULE and event.op.endswith(PREPARING)}
    if calls:
        yield f"calls of modules that are none: {calls}"


def describe(finding):
    if finding is None:
        return "no finding"
    place = "setup" if finding["step"] is None else f"step {finding['step']}"
    return (f"{finding['kind']}, {place}, {finding['phase']}, {finding['op']}, "
            f"{finding['root']} {finding['module']!r}")


def wrong_finding(case, report):
    if report["verdict"] != "diverged":
        yield f"with {case.fault}: {report['verdict']}, expected diverged"
    causes = [cause["id"] for cause in report["causes"] if cause["finding"] == 0]
    first = report["first"] or {}
    for field, expected in case.first.items():
        if field == "cause":
            if expected not in causes[:3]:
                yield f"causes {causes}, expected {expected} among the first three"
        elif first.get(field) != expected:
            yield f"first.{field} is {first.get(field)!r}, expected {expected!r}"


def check(name, bin_folder):
    """Everything of a case: a row of the table, what the report of the fault says, what is wrong."""
    case = CASES[name]
    with tempfile.TemporaryDirectory(prefix="ulpscope-recorded-") as folder:
        recorder = Recorder(case, bin_folder, folder)
        if case.prepare is not None:
            recorder.bare(case.prepare)
        bare = recorder.bare(case.flags)
        first, printed = recorder.record("first", case.flags)
        second, _ = recorder.record("second", case.flags)
        faulty, _ = recorder.record("faulty", case.flags + case.fault)
        events = recorder.events(first)
        repeat = recorder.compare(first, second)
        report = recorder.compare(first, faulty)
    wrong = [*wrong_recording(case, events), *wrong_finding(case, report)]
    if printed != bare:
        wrong.append(f"bare it prints\n{bare}recorded\n{printed}")
    if repeat["verdict"] != "identical":
        wrong.append(f"a repeat is {repeat['verdict']}: {describe(repeat['first'])}")
    row = (len(events), 1 + max(event.step for event in events), printed == bare,
           repeat["verdict"] == "identical", f"{attributed(events):.0%}")
    return row, report, wrong


def yes_or_no(value):
    return ("no", "yes")[value] if isinstance(value, bool) else str(value)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("name", nargs="?")
    arguments = parser.parse_args()
    if arguments.list:
        print("\n".join(CASES))
        return 0
    failed = 0
    if arguments.table:
        print("| program | events | steps | bare == recorded | identical repeat | ops with a module |")
        print("|---|---|---|---|---|---|")
    for name in CASES if arguments.table else [arguments.name]:
        row, report, wrong = check(name, arguments.bin)
        failed += bool(wrong)
        if arguments.table:
            print(f"| {name} | {' | '.join(map(yes_or_no, row))} |", flush=True)
        else:
            print(f"{name}: {', '.join(map(yes_or_no, row))}")
            print(f"fault: {report['verdict']}, {describe(report['first'])}\n{report['summary']}")
            causes = [cause["id"] for cause in report["causes"] if cause["finding"] == 0]
            print(f"causes of the first finding: {causes}")
        for sentence in wrong:
            print(f"WRONG: {name}: {sentence}", file=sys.stderr if arguments.table else sys.stdout)
    return 1 if failed else 0


CASES.update({
    "gan": Case("gan", ["--steps", "4"], 4, TRAINING, {"Generator", "Discriminator"},
                ["--generator-lr", "2e-3"], kind="arguments", step=0, phase="optimizer",
                root="Generator", module="fc1", cause="argument"),
    "successive": Case("trainers", ["--mode", "successive", "--steps", "3"], 12, TRAINING,
                       {"Model", "Model#2", "Model#3", "Model#4"},
                       ["--scale", "2", "--scale-step", "1"], kind="sequence", step=6,
                       op="aten::mul_"),
    "vae": Case("vae", ["--steps", "4"], 4, TRAINING | {"eval"}, {"Vae"}, ["--extra-draw", "2"],
                kind="rng", step=2, phase="forward", op="aten::normal_", cause="rng-shift"),
    "unet": Case("unet", ["--steps", "3"], 3, TRAINING, {"UNet"}, ["--bottom-eps", "1e-4"],
                 kind="arguments", step=0, phase="forward", op="aten::batch_norm",
                 module="bottom.norm1", cause="argument"),
    "unet_swapped": Case("unet", ["--steps", "2"], 2, TRAINING, {"UNet"}, ["--swap-skip"],
                         kind="arguments", step=0, phase="forward", op="aten::cat",
                         cause="argument"),
    "gradient_accumulation": Case("gradient_accumulation", ["--steps", "4"], 3, TRAINING,
                                  {"Perceptron"}, ["--swap-batches", "2"], kind="arguments",
                                  step=1, phase="data", op="aten::narrow"),
    "checkpointed": Case("checkpointed", ["--steps", "5", "--resume", "{folder}/checkpoint.pt"], 2,
                         TRAINING, {"ConvNet"}, ["--without-optimizer"],
                         prepare=["--steps", "3", "--save", "{folder}/checkpoint.pt"],
                         step=0, phase="optimizer", cause="resume"),
    # Threads share the requests in varying order, so nothing in them is a step.
    "inference_server": Case("inference_server", ["--steps", "4"], 0, set(), {"Classifier"},
                             ["--raw-write"], kind="write", op="aten::batch_norm", module="norm",
                             cause="external-write"),
    "custom_functions": Case("custom_functions", ["--steps", "4"], 4, TRAINING, {"Net"},
                             ["--slope", "1.6"], kind="arguments", step=0, phase="forward",
                             op="aten::mul", cause="argument"),
    "script_module": Case("script_module", ["--steps", "4"], 4, TRAINING, {"Classifier"},
                          ["--lr", "0.2"], kind="arguments", step=0, phase="optimizer",
                          cause="argument"),
    "data_workers": Case("data_workers", ["--steps", "4"], 4, TRAINING, {"Comparer"},
                         ["--order", "8"], kind="rng", step=None, op="aten::randperm",
                         cause="rng-seed"),
    "own_hdf5": Case("own_hdf5", ["--steps", "4"], 4, TRAINING, {"Autoencoder"},
                     ["--other-sample"], kind="data", step=1, op="aten::addmm",
                     module="encoder"),
    "own_callbacks": Case("own_callbacks", ["--steps", "3"], 3, TRAINING, {"Mixer"},
                          ["--dropout", "0.2"], kind="arguments", step=0, phase="forward",
                          op="aten::dropout", module="drop", cause="argument"),
    "profiled": Case("profiled", ["--steps", "4"], 4, TRAINING, {"Net"}, ["--eps", "1e-4"],
                     kind="arguments", step=0, phase="forward", op="aten::layer_norm",
                     module="norm", cause="argument"),
    "lbfgs": Case("lbfgs", ["--steps", "3"], 3, TRAINING, {"Logistic"}, ["--lr", "0.4"],
                  kind="arguments", step=0, phase="optimizer", cause="argument"),
    "sparse_embeddings": Case("sparse_embeddings", ["--steps", "4"], 4, TRAINING,
                              {"BagClassifier"}, ["--words-seed", "4"], kind="arguments", step=None,
                              op="aten::empty"),
    "autocast": Case("autocast", ["--steps", "3"], 3, TRAINING, {"Net"}, ["--float32-head"],
                     kind="sequence", step=0, phase="forward"),
    "moving_modules": Case("moving_modules", ["--steps", "2"], 6, TRAINING | {"eval"}, {"Stacked"},
                           ["--raw-write", "3"], kind="write", step=3, phase="forward",
                           module="blocks.1.norm", cause="external-write"),
    "moved_before_training": Case("moving_modules", ["--steps", "2", "--starts-double"], 6,
                                  TRAINING | {"eval"}, {"Stacked"}, ["--raw-write", "3"],
                                  kind="write", step=3, phase="forward", module="blocks.1.norm",
                                  cause="external-write"),
    "mid_evaluation": Case("mid_evaluation", ["--steps", "4"], 4, TRAINING | {"eval"}, {"Net"},
                           ["--stay-in-eval"], step=2, phase="forward", cause="mode"),
    "inference_only": Case("inference_only", ["--steps", "4"], 4, {"forward"}, {"Net"},
                           ["--eps", "1e-4"], kind="arguments", step=0, phase="forward",
                           op="aten::layer_norm", module="norm", cause="argument"),
    "inference_without_grad": Case("inference_only", ["--steps", "4", "--no-grad"], 4,
                                   {"eval"}, {"Net"}, ["--eps", "1e-4"], kind="arguments",
                                   step=0, phase="eval", op="aten::layer_norm", module="norm",
                                   cause="argument"),
})

if __name__ == "__main__":
    sys.exit(main())
