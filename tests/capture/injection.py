#!/usr/bin/env python3
"""Gives a program the values of another run (`record --inject`): what hid behind the first difference shows, and
the reports say that the results are not the program's own.

    injection.py --bin build/release/bin [--twin FOLDER] NAME
    injection.py ... --list        names of all cases
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

MLP, RESNET = ["layernorm_mlp", "--steps", "2"], ["digits_resnet", "--steps", "1"]
CONVOLUTIONS = {"aten::_convolution", "aten::convolution_backward"}


class Bench:
    def __init__(self, bin_folder, ulpscope_folder, folder):
        self.bin, self.ulpscope_folder, self.folder = bin_folder, ulpscope_folder, folder

    def ulpscope(self, *arguments):
        return subprocess.run([os.path.join(self.ulpscope_folder, "ulpscope"), *arguments], capture_output=True, text=True,
                              timeout=250, cwd=self.folder)

    def record(self, name, program, *options, isa=None):
        """What the program prints."""
        program = [os.path.join(self.bin, program[0]), *program[1:]]
        if isa:
            program = ["env", f"ATEN_CPU_CAPABILITY={isa}", *program]
        done = self.ulpscope("record", "-o", name, *options, "--", *program)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def compare(self, reference, candidate):
        done = self.ulpscope("compare", "--format", "json", reference, candidate)
        assert done.stdout, done.stderr
        return json.loads(done.stdout)

    def notes(self, name):
        with open(os.path.join(self.folder, name, "status.json"), encoding="utf-8") as file:
            return json.load(file)["notes"]

    def modules_with(self, name, op):
        """The modules of an op in a dump, as events list them."""
        done = subprocess.run([os.path.join(self.bin, "list_events"), os.path.join(self.folder, name)],
                              capture_output=True, text=True, timeout=100)
        rows = [line.split("\t") for line in done.stdout.splitlines()]
        return {row[-1] for row in rows if row[-3] == op}


def places(report, kind="origin"):
    return {(finding["op"], finding["phase"], finding["module"])
            for finding in report["findings"] if finding["kind"] == kind and finding["diverges"]}


def equal_runs(bench):
    """Nothing is given where nothing differs; the verdict is not "identical" nevertheless."""
    plain = bench.record("a", MLP, "--level", "full")
    given = bench.record("b", MLP, "--inject", "a")
    if given != plain:
        yield "the program printed something else"
    report = bench.compare("a", "b")
    if report["verdict"] != "inconclusive" or report["findings"]:
        yield f"verdict {report['verdict']}, {len(report['findings'])} findings"
    if not any("nothing differed" in note for note in bench.notes("b")):
        yield f"the notes are {bench.notes('b')}"


def every_origin(bench):
    """Without oneDNN every convolution differs, forward and backward: each shows. One of a single pixel is a product
    of matrices, which need not differ."""
    bench.record("a", RESNET, "--level", "full")
    bench.record("plain", [*RESNET, "--mkldnn", "0"])
    bench.record("given", [*RESNET, "--mkldnn", "0"], "--inject", "a")
    modules = bench.modules_with("a", "aten::mkldnn_convolution")
    plain, given = bench.compare("a", "plain"), bench.compare("a", "given")
    if len(modules) < 5 or len(places(plain)) >= len(modules):
        yield f"{len(modules)} modules, {len(places(plain))} origins without values: the test shows nothing"
    for phase in ("forward", "backward"):
        found = {module for op, where, module in places(given) if op in CONVOLUTIONS and where == phase}
        if not found <= modules or any("shortcut" not in module for module in modules - found):
            yield f"{phase}: {sorted(found)}, not {sorted(modules)}"
    others = {place for place in places(given) if place[0] not in CONVOLUTIONS}
    if others:
        yield f"other origins: {others}"
    if given["candidate"]["injected"] != "op" or given["reference"]["injected"] is not None:
        yield "the report does not say that values were given"
    if plain["candidate"]["injected"] is not None:
        yield "the report of the plain run says that values were given"
    if not any("its results are not its own" in note for note in bench.notes("given")):
        yield f"the notes are {bench.notes('given')}"


def behind_another(bench, at):
    """What differs with two threads alone is found behind another epsilon, which comes first."""
    bench.record("a", MLP, "--level", "full")
    bench.record("threads", [*MLP, "--threads", "2"])
    bench.record("both", [*MLP, "--threads", "2", "--eps", "1e-6"])
    bench.record("given", [*MLP, "--threads", "2", "--eps", "1e-6"], "--inject", "a", "--inject-at", at)
    alone = bench.compare("a", "threads")
    first = alone["first"]
    hidden = (first["op"], first["phase"], first["module"])
    if hidden in places(bench.compare("a", "both")):
        yield f"{hidden} shows without values: the test shows nothing"
    given = bench.compare("a", "given")
    if hidden not in places(given):
        yield f"{hidden} is not among {places(given)}"
    if not any(op == "aten::layer_norm" for op, _, _ in places(given, "arguments")):
        yield f"the epsilon is not among {places(given, 'arguments')}"


def end_of_differences(bench):
    """At origins: a difference ends where it begins, so that the next step is as in the reference."""
    bench.record("a", MLP, "--level", "full")
    printed = bench.record("given", [*MLP, "--eps", "1e-6"], "--inject", "a", "--inject-at", "origins")
    other = bench.record("plain", [*MLP, "--eps", "1e-6"])
    if printed == other:
        yield "the program printed what it prints without values"
    given = bench.compare("a", "given")
    steps = {finding["step"] for finding in given["findings"] if finding["diverges"]}
    kinds = {finding["kind"] for finding in given["findings"] if finding["diverges"]}
    if steps != {0} or kinds != {"arguments"}:
        yield f"findings in steps {steps}, of kinds {kinds}"


def backward_elsewhere(bench):
    """Backward is given its values whichever thread runs it: on a GPU it is another one than on the CPU."""
    program = ["device_train", "--device", "cpu", "--steps", "1"]
    bench.record("a", program, "--level", "full")
    bench.record("same", program, "--inject", "a", isa="default")
    bench.record("other", [*program, "--backward-thread"], "--inject", "a", isa="default")
    same, other = places(bench.compare("a", "same")), places(bench.compare("a", "other"))
    if same != other or not any(phase == "backward" for _, phase, _ in same):
        yield f"on the same thread {same}, on another {other}"


def in_step(bench):
    """With an op more in every step, each step is still given its own values: the losses are the reference's."""
    program = ["layernorm_mlp", "--steps", "4", "--width", "16"]
    plain = bench.record("a", program, "--level", "full")
    given = bench.record("given", [*program, "--refactored-linear", "--eps", "1e-3"], "--inject", "a")
    other = bench.record("other", [*program, "--refactored-linear", "--eps", "1e-3"])
    losses = [[line for line in text.splitlines() if "loss" in line] for text in (plain, given, other)]
    if len(losses[0]) != 4 or losses[0] == losses[2]:
        yield f"losses {losses[0]} and {losses[2]}: the test shows nothing"
    if losses[1] != losses[0]:
        yield f"losses {losses[1]}, not {losses[0]}"


def odd_tensors(bench):
    """Tensors of all kinds, sparse, quantized and nested ones among them, of a program that differs in nothing."""
    plain = bench.record("a", ["odd_tensors"], "--level", "full")
    if bench.record("given", ["odd_tensors"], "--inject", "a") != plain:
        yield "the program printed something else"


def refusals(bench):
    bench.record("digests", MLP)
    for options, sentence in {
            ("--inject", "digests"): "holds no bytes",
            ("--inject", "nowhere"): "does not exist",
            ("--inject-at", "op"): "--inject-at needs the values of a dump",
            ("--inject", "digests", "--capture", "layers"): "--inject finds ops by their order",
            ("--inject", "digests", "--steps", "2-"): "--inject finds ops by their order",
            ("--inject", "digests", "--inject-at", "end"): "one of op, module, origins",
    }.items():
        done = bench.ulpscope("record", "-o", "x", *options, "--", "true")
        if done.returncode != 125 or sentence not in done.stderr:
            yield f"{options}: {done.returncode}, {done.stderr}"


CASES = {
    "equal": equal_runs,
    "every-origin": every_origin,
    "behind-op": lambda bench: behind_another(bench, "op"),
    "behind-module": lambda bench: behind_another(bench, "module"),
    "origins": end_of_differences,
    "backward": backward_elsewhere,
    "in-step": in_step,
    "odd-tensors": odd_tensors,
    "refusals": refusals,
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--twin", help="the folder of the ulpscope that takes every tensor for one on a device")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("name", nargs="?", choices=list(CASES))
    options = parser.parse_args()
    if options.list:
        return print("\n".join(CASES))
    with tempfile.TemporaryDirectory(prefix="ulpscope-injection-") as folder:
        bench = Bench(os.path.abspath(options.bin), os.path.abspath(options.twin or options.bin), folder)
        return "\n".join(CASES[options.name](bench)) or None


if __name__ == "__main__":
    sys.exit(main())
