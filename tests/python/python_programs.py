#!/usr/bin/env python3
"""Records the Python programs beside this file.

    python_programs.py --bin build/release/bin --torch build/torch CASE
    python_programs.py --list

`NAME`: the program prints the same bare and recorded, two recordings are IDENTICAL and nothing was
left out. Other cases are what is said about one program.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = ("cnn", "transformer", "trees", "habits", "threads", "compiled", "ranks", "saving",
            "visible", "swapped", "compiled_layers")


class Tools:
    """Runs programs and `ulpscope` in a folder of their own."""

    def __init__(self, arguments, folder):
        self.ulpscope = os.path.join(arguments.bin, "ulpscope")
        self.folder = folder
        self.python = arguments.python
        self.environment = dict(os.environ, PYTHONPATH=arguments.torch, PYTHONDONTWRITEBYTECODE="1")

    def run(self, *command):
        done = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False,
                              cwd=self.folder, env=self.environment)
        return done.returncode, done.stdout, done.stderr

    def command(self, program, *flags):
        return (self.python, os.path.join(HERE, "programs", program + ".py"), *flags)

    def record(self, name, program, *flags, options=()):
        """What the program ended with and printed, and the dump's status."""
        ended = self.run(self.ulpscope, "record", "-o", name, *options, "--",
                         *self.command(program, *flags))
        with open(os.path.join(self.folder, name, "status.json"), encoding="utf-8") as file:
            return ended[:2], json.load(file)

    def record_variants(self, program, variants, **options):
        """Records a program with each of these flags, by the names of the dumps, in processes that are forked from one
        (variants.py). What they are compared with is recorded by `record`, from its start."""
        lines = [json.dumps({"dump": os.path.join(self.folder, name), "flags": flags, "options": options})
                 for name, flags in variants.items()]
        done = subprocess.run((self.python, os.path.join(HERE, "variants.py"), self.command(program)[1]),
                              input="\n".join(lines), capture_output=True, text=True, timeout=280, check=False,
                              cwd=self.folder, env={**self.environment, "ULPSCOPE_BINARY": self.ulpscope})
        assert done.returncode == 0, done.stderr

    def events_of_steps(self, dump):
        text = self.run(self.ulpscope, "inspect", dump, "steps", "--format", "json")[1]
        return {each["step"]: each["events"] for each in json.loads(text)["steps"]}

    def compare(self, *dumps):
        code, text, errors = self.run(self.ulpscope, "compare", *dumps, "--format", "json")
        return code, json.loads(text) if text else errors


def unnoticed(tools, program):
    bare = tools.run(*tools.command(program))
    if bare[0] != 0 or "digest" not in bare[1]:
        yield f"bare, the program ended with {bare}"
    for name in ("first", "second"):
        recorded, status = tools.record(name, program)
        if recorded != bare[:2]:
            yield f"bare: {bare[:2]}\nrecorded: {recorded}"
        if not status["complete"] or status["notes"] or status["counts"]["steps"] == 0:
            yield f"status of the {name} dump: {status}"
    code, report = tools.compare("first", "second")
    if code != 0:
        yield f"two equal runs: {code} {json.dumps(report, indent=1)[:6000]}"


def called_modules(tools, dump):
    """{(root, path, type)} of the modules that have calls, as `inspect` prints their trees."""
    _, text, _ = tools.run(tools.ulpscope, "inspect", dump, "layers")
    found = set()
    for line in text.splitlines():
        words = line.split()
        if line.startswith("rank 0, "):
            root, above = words[-1], []
        elif line.startswith("module "):
            calls = slice(line.index("calls"), line.index("calls") + len("calls"))
        elif words:
            depth = (len(line) - len(line.lstrip())) // 2
            above[depth:] = [words[0]]
            if line[calls].strip():
                found.add((root, ".".join(above[1:]) or "(root)", words[1]))
    return found


def module_paths(tools):
    """Those of named_modules(), which the program prints for the modules that are called."""
    (_, printed), _ = tools.record("dump", "trees")
    expected = {tuple(line.split()[1:]) for line in printed.splitlines()
                if line.startswith("called ")}
    found = called_modules(tools, "dump")
    if not expected or found != expected:
        yield f"not found: {sorted(expected - found)}\nnot called: {sorted(found - expected)}"


def compiled_tree(tools):
    """A model that torch.compile was given keeps its names: it is the tree of the eager one."""
    tools.record("dump", "compiled")
    found = called_modules(tools, "dump")
    if ("Net", "(root)", "Net") not in found:
        yield f"not found: {found}"
    if any("_orig_mod" in path or "Optimized" in kind for _, path, kind in found):
        yield f"the wrapper has a name: {found}"


def calls_of_roots(tools, dump):
    """{(root, type): calls} as `inspect` prints them."""
    _, text, _ = tools.run(tools.ulpscope, "inspect", dump, "layers")
    roots = [line.split()[-1] for line in text.splitlines() if line.startswith("rank 0, ")]
    rows = [line.split() for line in text.splitlines() if line.startswith("(root) ")]
    return {(root, row[1]): int(row[2]) for root, row in zip(roots, rows)}


def compiled_models(tools):
    """A model of PyTorch's own classes is called, once each time, though its call is compiled too; its parameters have
    names and its updates are steps."""
    for backend in ("eager", "aot_eager"):
        for name, rate in (("reference", "0.1"), ("candidate", "0.2")):
            _, status = tools.record(backend + name, "compiled_layers", backend, rate)
            if status["counts"]["steps"] != 6:
                yield f"{backend}: {status['counts']['steps']} steps"
        calls = calls_of_roots(tools, backend + "reference")
        if calls != {("Sequential", "Sequential"): 3, ("Sequential#2", "Sequential"): 3}:
            yield f"{backend}: calls {calls}"
        code, report = tools.compare(backend + "reference", backend + "candidate")
        first = report["first"] or {"tensors": []}
        place = tuple(first.get(key) for key in ("op", "module", "phase", "step"))
        named = {tensor["name"] for tensor in first["tensors"]}
        if code != 1 or place != ("aten::add_", "0", "optimizer", 0) or "0.weight" not in named:
            yield f"{backend}: exit code {code}, {place}, {named}, {report['summary']}"


def learning_rate(tools):
    """Another learning rate is found in the first update of the first parameter."""
    for name, rate in (("reference", "0.1"), ("candidate", "0.2")):
        tools.record(name, "cnn", rate)
    code, report = tools.compare("reference", "candidate")
    first = report["findings"][0]
    place = (first["op"], first["module"], first["phase"], first["step"])
    if code != 1 or place != ("aten::add_", "conv", "optimizer", 0):
        yield f"found at {place}, exit code {code}"
    with open(os.path.join(HERE, "programs", "cnn.py"), encoding="utf-8") as file:
        line = 1 + [text.strip() for text in file].index("optimizer.step()")
    if (first["where"], first["source"]) != (f"cnn.py:{line}", "optimizer.step()"):
        yield f"called at {first['where']}, {first['source']}, not at line {line}"
    if first["file"] is not None:
        yield f"{first['file']} is not below where recording was started"
    if report["causes"][0]["id"] != "argument":
        yield f"causes: {report['causes']}"
    if first["meaning"] != "lr of SGD is 0.1 and 0.2":
        yield f"the meaning is {first['meaning']!r}"


def directories_of_files(tools):
    """A line's file is named from where recording was started."""
    models = shutil.copytree(os.path.join(HERE, "programs"), os.path.join(tools.folder, "models"))
    for name, rate in (("reference", "0.1"), ("candidate", "0.2")):
        tools.record(name, os.path.join(models, "cnn"), rate)
    first = tools.compare("reference", "candidate")[1]["first"]
    if first["file"] != "models/cnn.py":
        yield f"the file is {first['file']}"
    event = first["event"]["reference"]
    _, text, _ = tools.run(tools.ulpscope, "inspect", "reference", f"event:{event}")
    while caller := re.search(r"^called by +event (\d+)$", text, re.MULTILINE):
        _, text, _ = tools.run(tools.ulpscope, "inspect", "reference", f"event:{caller[1]}")
    if f"{first['where']} <module>: optimizer.step()\n" not in text:
        yield f"the stack is not shown without the directory: {text}"


def no_stacks(tools):
    """With --no-stacks no line is known; with --stacks both kinds are."""
    tools.record("reference", "cnn", "0.1", options=["--no-stacks"])
    tools.record("candidate", "cnn", "0.2", options=["--no-stacks"])
    first = tools.compare("reference", "candidate")[1]["first"]
    if first["where"] or first["source"]:
        yield f"called at {first['where']}: {first['source']}"


def python_generator(tools):
    """A value that depends on Python's generator: its state is the evidence."""
    tools.record("reference", "transformer", "0", "0")
    tools.record("candidate", "transformer", "1", "0")
    code, report = tools.compare("reference", "candidate")
    first = report["findings"][0]
    cause = report["causes"][0]
    if code != 1 or first["kind"] != "data" or cause["id"] != "data-content":
        yield f"exit code {code}, first finding {first}"
    if "note.rng.python" not in json.dumps(cause):
        yield f"no evidence of the generator: {cause}"


def moved_generators(tools):
    """A generator that one run draws from once more, or seeds, is an outcome, unless time decides how often."""
    for name, *flags in (("none", "none"), ("again", "none"), ("numpy", "numpy", "leave"), ("files", "files"),
                         ("thread", "none", "thread"), ("other_thread", "none", "thread"),
                         ("child", "none", "child"), ("other_child", "none", "child")):
        tools.record(name, "generators", *flags)
    tools.record_variants("generators", {
        **{which: [which] for which in ("python", "held", "seeded", "set_state", "by_chance", "more_files")},
        "by_chance_again": ["by_chance"]})
    for reference, candidate, code, generators in (
            ("none", "again", 0, []), ("none", "python", 1, ["python"]), ("none", "numpy", 1, ["numpy"]),
            ("none", "held", 1, ["__main__.held"]), ("none", "seeded", 1, ["generator 2 of the program"]),
            ("none", "set_state", 1, ["generator 2 of the program"]), ("by_chance", "by_chance_again", 0, []),
            ("files", "more_files", 1, ["python"]), ("thread", "other_thread", 2, []), ("child", "other_child", 0, [])):
        expected = (code, "rng", generators, ["rng-shift"]) if generators else (code, None, [], [])
        ended, report = tools.compare(reference, candidate)
        first = report["first"] or {"kind": None, "arguments": []}
        found = (ended, first["kind"], [argument["name"] for argument in first["arguments"]],
                 [cause["id"] for cause in report["causes"]])
        if found != expected:
            yield f"{reference} and {candidate}: {found}, {report['summary']}"


def early_batches(tools):
    """A batch that comes early is taken early: that changes nothing, and is not found instead of what does."""
    for name, flags in (("first", ("0", "0")), ("second", ("1", "0")), ("third", ("1", "1"))):
        tools.record(name, "loader", *flags)
    code, report = tools.compare("first", "second")
    if code != 0 or report["coverage"]["only_reference"] == 0:
        yield f"batches in another order: exit code {code}, {report['coverage']}"
    code, report = tools.compare("first", "third")
    first = report["first"] or {}
    if code != 1 or first["kind"] != "data" or "random.random()" not in first["source"]:
        yield f"exit code {code}, first finding {first}"


def other_workers(tools):
    """How many workers load the data changes nothing, unless they draw: each of them does that by itself."""
    runs = {"two": ["2", "0"], "three": ["3", "0"], "none": ["0", "0"], "one_and_two": ["1", "2"],
            "two_noisy": ["2", "0", "noise"], "three_noisy": ["3", "0", "noise"]}
    for name, flags in runs.items():
        tools.record(name, "workers", *flags)
    for one, other in (("two", "three"), ("two", "none"), ("one_and_two", "two")):
        code, report = tools.compare(one, other)
        if code != 0:
            yield f"{one} and {other}: exit code {code}, {report['summary']}"
    code, report = tools.compare("two_noisy", "three_noisy")
    found = [(finding["rank"], finding["kind"]) for finding in report["findings"] if finding["diverges"]]
    if code != 1 or found != [(0, "data")] or report["causes"][0]["id"] != "worker":
        yield f"exit code {code}, {report['summary']}, {found}"


def trained_once_more(tools):
    """A network that one run trains once more is found, though all random numbers after that are others."""
    for name, round_of_critic in (("reference", "-1"), ("first", "0"), ("third", "2")):
        tools.record(name, "critic", round_of_critic)
    for name in ("first", "third"):
        code, report = tools.compare("reference", name)
        first = report["first"] or {}
        found = [finding["op"] for finding in report["findings"] if finding["diverges"]]
        if code != 1 or first["kind"] != "sequence" or "real[4 * step" not in first["source"] or len(found) != 1:
            yield f"{name}: exit code {code}, {report['summary']}, {found}"


def inherited_memory(tools):
    """Workers of later epochs are forked with other gradients: the optimizer that made them is found."""
    tools.record("reference", "epochs", "0", "-1")
    tools.record("candidate", "epochs", "0.1", "-1")
    code, report = tools.compare("reference", "candidate")
    first = report["first"] or {}
    place = (first.get("rank"), first.get("phase"), first.get("step"))
    diverging = [finding for finding in report["findings"] if finding["diverges"]]
    if code != 1 or place != (0, "optimizer", 0) or len(diverging) != 1:
        yield f"found at {place}, exit code {code}: {report['summary']}"
    if "weight_decay of SGD" not in first.get("meaning", ""):
        yield f"the meaning is {first.get('meaning')!r}"


def written_after_fork(tools):
    """What a forked process writes into the memory it has from its creator is an outcome of its own."""
    for name, added in (("first", "0"), ("second", "0"), ("third", "1")):
        tools.record(name, "forked", added)
    code, report = tools.compare("first", "second")
    if code != 0:
        yield f"equal runs: {report['summary']}"
    code, report = tools.compare("first", "third")
    first = report["first"] or {"rank": None, "tensors": []}
    named = [tensor["name"] for tensor in first["tensors"] if not tensor["equal"]]
    if code != 1 or first["rank"] != 1 or named != ["weight"]:
        yield f"exit code {code}, rank {first['rank']}, tensors {named}: {report['summary']}"


def saved(tools):
    """What a program saves is an outcome, though nothing that it trains depends on it; its steps are where they are."""
    for name, factor in (("reference", "2"), ("candidate", "3")):
        status = tools.record(name, "saving", factor)[1]
        if status["counts"]["steps"] != 3:
            yield f"{status['counts']['steps']} steps"
    code, report = tools.compare("reference", "candidate")
    first = report["first"] or {}
    if code != 1 or (first["op"], first["step"]) != ("aten::mul", 0) or "* factor" not in first["source"]:
        yield f"exit code {code}, first finding {first}"


def given_values(tools):
    """Values of another run are given to ops, and not to the program's own memory: a file, an array."""
    tools.record("reference", "owned", "1", options=("--level", "full"))
    (code, printed), status = tools.record("candidate", "owned", "2", options=("--inject", "reference"))
    if code != 0 or "file 2.0 array 2.0" not in printed:
        yield f"exit code {code}, printed {printed}"
    if not any("of another run" in note for note in status["notes"]):
        yield f"notes {status['notes']}"
    if tools.compare("reference", "candidate")[1]["verdict"] == "identical":
        yield "a run whose results are not its own is identical"


def updates_in_lists(tools):
    """On another device optimizers update parameters in lists by default: that is no difference of the program, but
    another learning rate is one."""
    optimizers = ("SGD", "Adam", "RMSprop")
    tools.record_variants("updates", {f"{optimizer}-candidate": [optimizer, "foreach"] for optimizer in optimizers} |
                          {"other": ["Adam", "foreach", "0.02"]}, level="full")
    for optimizer in optimizers:
        tools.record(f"{optimizer}-reference", "updates", optimizer, "single", options=("--level", "full"))
        code, report = tools.compare(f"{optimizer}-reference", f"{optimizer}-candidate", "--budget")
        kinds = {finding["kind"] for finding in report["findings"]}
        if code != 0 or report["verdict"] != "within" or kinds != {"origin"} or "not judged" in report["summary"]:
            yield f"{optimizer}: exit code {code}, {report['summary']}, {kinds}"
        judged = [op["op"] for op in report["budget"]["ops"] if op["op"].startswith("aten::_foreach_")]
        if not judged:
            yield f"{optimizer}: no update of a list was judged"
    code, report = tools.compare("Adam-reference", "other", "--budget")
    first = report["first"] or {}
    if code != 1 or "lr of Adam is 0.01 and 0.02" not in first.get("meaning", ""):
        yield f"exit code {code}, first finding {first}"


def drawn_in_workers(tools):
    """What workers draw by themselves is found in the first of them, whose cause it is. What the training reads of that
    is no finding of its own."""
    for name in ("reference", "candidate"):
        tools.record(name, "loader", "-1", "1", "own")
    code, report = tools.compare("reference", "candidate")
    first = report["first"] or {}
    creator = [finding["op"] for finding in report["findings"] if finding["rank"] == 0 and finding["diverges"]]
    if code != 1 or first["rank"] != 1 or first["kind"] != "data" or "loader.py" not in first["where"]:
        yield f"exit code {code}, {report['summary']}"
    if creator or report["causes"][0]["id"] != "worker":
        yield f"of rank 0: {creator}, causes {report['causes'][:2]}"


def shared_memory(tools):
    """What shared memory holds when one of the processes that write it ends is a matter of chance."""
    for ends in ("late", "early"):
        tools.record(ends, "hogwild", ends)
    code, report = tools.compare("late", "early")
    if code != 0 or report["reference"]["ranks"] != 3:
        yield f"exit code {code}, {report['summary']}"


def received_memory(tools):
    """Memory of a process that has ended is what the one that received it leaves."""
    for number in ("1", "2"):
        tools.record(number, "received", number)
    code, report = tools.compare("1", "2")
    if code != 1:
        yield f"exit code {code}, {report['summary']}"


def containers(tools):
    """Tensors in containers of the program's own cross the boundaries of modules."""
    tools.record("first", "containers", "2", options=("--capture", "layers"))
    tools.record_variants("containers", {"second": ["2"], "third": ["2.5"]}, capture="layers")
    code, report = tools.compare("first", "second")
    if code != 0:
        yield f"equal runs: {report['summary']}"
    code, report = tools.compare("first", "third")
    first = report["first"] or {}
    if code != 1 or (first["step"], first["op"]) != (0, "Scale::forward"):
        yield f"exit code {code}: {report['summary']}"


def order_of_elements(tools):
    """NumPy reads a matrix in the order in which a tensor views its memory."""
    for name, how in (("reference", "2"), ("candidate", "transposed")):
        tools.record(name, "containers", how)
    code, report = tools.compare("reference", "candidate")
    if code != 1 or report["first"]["op"] != "aten::t":
        yield f"exit code {code}: {report['summary']}"


def iterations(tools):
    """What a program does in iteration 2 of its loop is found in step 2, in its phase."""
    places = {"batch": ("aten::mul", "data"), "micro": ("aten::mul", "data"), "target": ("aten::mul", "eval"),
              "state": ("aten::mul", "data"), "noise": ("aten::mul", "data"), "metric": ("aten::mul", "data"),
              "evaluation": ("aten::mul", "eval"), "average": ("aten::add_", "eval"), "zero": (None, None)}
    tools.record("reference", "iterations")
    tools.record_variants("iterations", {changed: [changed] for changed in places})
    for changed, (op, phase) in places.items():
        code, report = tools.compare("reference", changed)
        first = report["first"] or {}
        if code != 1 or first["step"] != 2 or (op and (first["op"], first["phase"]) != (op, phase)):
            yield f"{changed}: exit code {code}, {report['summary']}"


def folds(tools):
    """An optimizer that takes the place of one that is gone is another one: it alternates with none."""
    for moved in ("2", "3"):
        for _ in range(10):
            ended, status = tools.record(moved, "folds", moved, options=("--force",))
            if ended[0] != 75:
                break
        if ended[0] != 0 or status["counts"]["steps"] != 12:
            yield f"{moved}: {ended}, {status['counts']}"
    code, report = tools.compare("2", "3")
    if code != 0:
        yield f"exit code {code}, {report['summary']}"


def left_by_names(tools):
    """What a model has under its names in the end, and what it returns, are outcomes, although each of these values is
    there in both runs; so is what it holds where the shorter run ends."""
    expected = {"nothing": (0, None), "parameter": (1, "parameter"), "buffer": (1, "parameter"),
                "storage": (1, "parameter"), "loaded": (1, "parameter"), "returned": (1, "arguments"),
                "skipped": (1, "sequence")}
    tools.record("reference", "names", "nothing")
    tools.record_variants("names", {what: [what] for what in expected})
    for what, answer in expected.items():
        code, report = tools.compare("reference", what, "--allow-longer")
        first = report["first"] or {"kind": None}
        if (code, first["kind"]) != answer:
            yield f"{what}: exit code {code}, {report['summary']}"


def kept(tools):
    """Which tensors are gradients and states of optimizers in the end is an outcome, by the names of the parameters."""
    expected = {"nothing": None, "gradient": "0.weight.grad", "state": "0.weight.exp_avg",
                "swapped": "1.weight.exp_avg", "replaced": "1.weight.grad"}
    tools.record("reference", "kept", "nothing")
    tools.record_variants("kept", {what: [what] for what in expected})
    for what, name in expected.items():
        code, report = tools.compare("reference", what)
        named = [tensor["name"] for finding in report["findings"] for tensor in finding["tensors"]]
        if code != (0 if name is None else 1) or (name and name not in named):
            yield f"{what}: exit code {code}, tensors {named}, {report['summary']}"


def swapped_names(tools):
    """A parameter keeps its name when it holds another tensor, from then on."""
    tools.record("reference", "swapped", "0.1", "0.5")
    tools.record_variants("swapped", {"rate": ["0.2", "0.5"], "added": ["0.1", "0.25"]})
    for candidate, parameter, place in (("rate", "0.weight", ("aten::add_", "0", "optimizer", 7)),
                                        ("added", "3.weight", ("aten::add_", "3", "eval", 9))):
        code, report = tools.compare("reference", candidate)
        first = report["first"] or {"tensors": []}
        found = tuple(first.get(key) for key in ("op", "module", "phase", "step"))
        changed = {tensor["name"] for tensor in first["tensors"] if not tensor["equal"]} - {"other"}
        if code != 1 or found != place or changed != {parameter}:
            yield f"{candidate}: exit code {code}, {found}, {changed}, {report['summary']}"


def numpy_write(tools):
    """What NumPy writes after the last op of a tensor shows where the tensor is freed, or in the end."""
    kinds = (("unused", (2, None)), ("used", (2, None)), ("standing", (1, "write")), ("filled", (2, None)))
    tools.record_variants("numpy_write", {what + name: [what, times] for what, _ in kinds
                                          for name, times in (("equal", "0"), ("written", "1"))})
    for what, expected in kinds:
        tools.record(what + "reference", "numpy_write", what, "0")
        code, report = tools.compare(what + "reference", what + "equal")
        if code != 0:
            yield f"{what}, equal runs: exit code {code}, {report['summary']}"
        code, report = tools.compare(what + "reference", what + "written")
        if (code, (report["first"] or {}).get("kind")) != expected:
            yield f"{what}: exit code {code}, {report['summary']}"


def left_options(tools):
    """Hyperparameters that are changed after the last step are an outcome, also of an optimizer that is saved and gone,
    in whichever thread; so are groups of parameters."""
    places = ("standing", "saved", "threads")
    tools.record_variants("left_options", {where + name: [where, lr] for where in places
                                           for name, lr in (("equal", "0.1"), ("changed", "0.05"))})
    for where in places:
        tools.record(where + "reference", "left_options", where, "0.1")
        code, report = tools.compare(where + "reference", where + "equal")
        if code != 0:
            yield f"{where}, equal runs: exit code {code}, {report['summary']}"
        code, report = tools.compare(where + "reference", where + "changed")
        if code != 1 or "lr of SGD is 0.1 and 0.05" not in report["summary"]:
            yield f"{where}: exit code {code}, {report['summary']}"
    others = (
        ("grown", 1, "params of SGD is 2 and [2, 2]"),
        ("dampened", 1, "dampening of SGD is 0.0 and 0.5"),
        ("dropped", 0, "identical"),
    )
    for way, expected, words in others:
        for number in ("0", "0.5"):
            tools.record(way + number, "left_options", way, number)
        code, report = tools.compare(way + "0", way + "0.5")
        if code != expected or words not in report["summary"]:
            yield f"{way}: exit code {code}, {report['summary']}"


def saved_files(tools):
    """What a program saves beside tensors is an outcome: keys, whole numbers, arrays, sets. Other numbers may be times."""
    expected = (
        ("none", 0, "identical"),
        ("time", 0, "identical"),
        ("order", 0, "identical"),
        ("key", 1, "key of torch.save is model.0.weight: float32 [3, 3] and optimizer.state.0.momentum_buffer"),
        ("number", 1, "epoch of torch.save is 3 and 4"),
        ("array", 1, "random.1 of torch.save is "),
        ("set", 1, "skipped of torch.save is set "),
        ("record", 1, "options.layers of torch.save is 2 and 3"),
        ("counter", 1, "seen.cat of torch.save is 18446744073709551616 and 36893488147419103232"),
        ("thread", 1, "task of torch.save is 0 and 2"),
        ("less", 1, "key of torch.save is model.1.bias: float32 [3] and optimizer.state.0.momentum_buffer"),
        ("crossed", 2, "saves 2 tensors that"),
        ("mode", 1, "net.training of torch.save is True and False"),
        ("attribute", 1, "config.color of torch.save is RED and BLUE"),
        ("losses", 1, "losses.0 of torch.save is 0.71875 and 0.53125, losses.1 0.53125 and 0.71875"),
        ("classes", 1, "classes.0 of torch.save is 'cat' and 'dog', classes.1 'dog' and 'cat'"),
        ("other", 1, "best.memory of torch.save is model.0.bias and model.1.bias"),
        ("frozen", 1, "scale of torch.save is requires_grad True and requires_grad False"),
        ("names", 1, "last save of early of torch.save is in step 1 and in step 2"),
        ("again", 1, "last save of early of torch.save is in step 1 and in step 2"),
        ("folders", 1, "last save of own/weights.pt of torch.save is file 5 and file 6"),
    )
    tools.record("reference", "saved_files", "none")
    tools.record_variants("saved_files", {change: [change] for change, _, _ in expected})
    for change, code, words in expected:
        ended, report = tools.compare("reference", change)
        if ended != code or words not in report["summary"]:
            yield f"{change}: exit code {ended}, {report['summary']}"


def safetensors_files(tools):
    """What is saved with safetensors, which reads the memory of tensors past LibTorch, is an outcome."""
    expected = (
        ("equal", 0, "identical"),
        ("scaled", 1, "aten::mul of Linear runs in the candidate only"),
        ("half", 1, "aten::to of Linear runs in the candidate only"),
        ("less", 1, "key of torch.save is bias: float32 [2]"),
    )
    tools.record("none", "safetensors_files", tools.folder, "none")
    tools.record_variants("safetensors_files", {change: [tools.folder, change] for change, _, _ in expected})
    for change, code, words in expected:
        ended, report = tools.compare("none", change)
        if ended != code or words not in report["summary"]:
            yield f"{change}: exit code {ended}, {report['summary']}"


def preprocessed_batches(tools):
    """The process that draws the order of samples comes before the workers that it gives them to."""
    for name, seed in (("reference", "0"), ("equal", "0"), ("other", "1")):
        tools.record(name, "preprocessed_batches", seed)
    code, report = tools.compare("reference", "equal")
    if code != 0:
        yield f"equal runs: exit code {code}, {report['summary']}"
    code, report = tools.compare("reference", "other")
    first = report["first"]
    if code != 1 or (first["rank"], first["kind"], report["causes"][0]["id"]) != (0, "rng", "rng-seed"):
        yield f"another seed: exit code {code}, {first}, {report['summary']}"


def without_modules(tools):
    """Steps of programs that train tensors of no module, or call none that anybody sees."""
    runs = (("reference", "1.0"), ("equal", "1.0"), ("other", "1.5"))
    tools.record_variants("without_modules", {kind + name: [kind, factor] for kind in ("optimizer", "own")
                                              for name, factor in runs[1:]})
    for kind in ("optimizer", "own", "compiled"):
        # What compiles is recorded from its start.
        for name, factor in runs if kind == "compiled" else runs[:1]:
            tools.record(kind + name, "without_modules", kind, factor)
        code, report = tools.compare(kind + "reference", kind + "equal")
        if code != 0:
            yield f"{kind}: equal runs end with exit code {code}, {report['summary']}"
        code, report = tools.compare(kind + "reference", kind + "other")
        first = report["first"]
        found = first and (first["op"], first["step"], first["phase"])
        if code != 1 or found != ("aten::mul", 3, "forward") or report["reference"]["steps"] != 5:
            yield f"{kind}: exit code {code}, {found}, {report['summary']}"
        tools.record(kind + "window", "without_modules", kind, "1.0", options=("--steps", "2-3"))
        steps = {name: tools.events_of_steps(kind + name) for name in ("reference", "window")}
        if steps["window"] != {step: steps["reference"][step] for step in (2, 3)}:
            yield f"{kind}: --steps 2-3 holds {steps['window']} of {steps['reference']}"


def data_swapped(tools):
    """Parameters and buffers that take over each other's memory after the last op."""
    tools.record("none", "data_swapped", "none")
    tools.record_variants("data_swapped", {change: [change] for change in ("equal", "parameters", "buffers")})
    for change, code, name in (("equal", 0, ""), ("parameters", 1, "first.weight"), ("buffers", 1, "mean")):
        ended, report = tools.compare("none", change)
        if ended != code or name not in report["summary"]:
            yield f"{change}: exit code {ended}, {report['summary']}"


def with_other_factor(tools, program, is_found):
    """Equal runs of a program are equal, and one with another factor differs, first by what `is_found` says of it."""
    tools.record("reference", program, "1.0")
    tools.record_variants(program, {"equal": ["1.0"], "other": ["1.5"]})
    code, report = tools.compare("reference", "equal")
    if code != 0:
        yield f"equal runs: exit code {code}, {report['summary']}"
    code, report = tools.compare("reference", "other")
    if code != 1 or not is_found(report["first"]) or len(report["findings"]) != 1:
        yield f"another factor: exit code {code}, {report['first']}, {report['summary']}"


def backward_function(tools):
    """The line of an op in the backward of a function that Python defines."""
    return with_other_factor(tools, "backward_function", lambda first: "gradient * FACTOR" in first["source"])


def filled_in_parts(tools):
    """Memory that is not initialized differs in each run, which matters to nothing that fills it."""
    return with_other_factor(tools, "filled_in_parts", lambda first: (first["op"], first["step"]) == ("aten::mul", 1))


def sparse(tools):
    """What is computed with sparse matrices and gradients follows from what they are made of."""
    return with_other_factor(tools, "sparse", lambda first: (first["op"], first["step"]) == ("aten::mul", None))


def pools(tools):
    """Which process of a pool does which task depends on time: what they do is compared as a set, and what differs there
    is no finding."""
    flags = {"first": ("0", "-1"), "second": ("4", "-1"), "other": ("4", "3"), "written": ("4", "-1", "3")}
    kinds = ("fork", "joined", "spawn", "executor", "joblib", "multiprocess")
    for kind, name in [*(("fork", name) for name in flags), *((kind, "written") for kind in kinds[1:])]:
        ended, status = tools.record(kind + name, "pools", kind, *flags[name])
        if ended[0] != 0 or not status["complete"]:
            yield f"{kind}, {name}: ended with {ended}, {status}"
    for kind in kinds:
        code, report = tools.compare("forkfirst", kind + "written")
        if code != 2 or report["coverage"]["only_reference"] != 0 or report["causes"]:
            yield f"{kind}, a result written to: exit code {code}, {report['summary']}, {report['causes']}"
        if "tasks of a pool leave 1 tensor" not in report["summary"]:
            yield f"{kind}, a result written to: {report['summary']}"
    code, report = tools.compare("forkfirst", "forksecond")
    if code != 0 or report["coverage"]["only_reference"] != 0:
        yield f"equal runs: exit code {code}, {report['summary']}"
    code, report = tools.compare("forkfirst", "forkother")
    if code != 2 or "share their work differently" not in report["summary"] or report["causes"]:
        yield f"another number: exit code {code}, {report['summary']}, {report['causes']}"


def seeded_by_a_draw(tools):
    """Samplers take their seeds from the default generator: where that is shifted, other seeds are no finding."""
    tools.record("reference", "epochs", "0", "-1")
    tools.record("candidate", "epochs", "0", "1")
    code, report = tools.compare("reference", "candidate")
    kinds = {(finding["kind"], finding["rank"]) for finding in report["findings"] if finding["diverges"]}
    seeds = [cause for cause in report["causes"] if cause["id"] == "rng-seed"]
    if code != 1 or report["causes"][0]["id"] != "rng-shift" or seeds:
        yield f"causes {[cause['id'] for cause in report['causes']]}, exit code {code}"
    if ("sequence", 0) not in kinds or ("rng", 0) in kinds:
        yield f"kinds of findings: {kinds}"


def inductor(tools):
    """Generated kernels are events; compiling is none: whether code is generated or taken from a cache is no
    difference, and other code is found in the kernel that has it."""
    tools.environment["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(tools.folder, "cache")
    recorded = {}
    for name, eps, workers in (("generated", "1e-5", "2"), ("cached", "1e-5", "1"), ("other", "1e-3", "1")):
        tools.environment["TORCHINDUCTOR_COMPILE_THREADS"] = workers
        if name != "generated":  # what the processor can do is not tried out, in processes that import PyTorch, again
            tools.environment["TORCHINDUCTOR_VEC_ISA_OK"] = "1"
        recorded[name], status = tools.record(name, "inductor", eps)
        if status["notes"]:
            yield f"notes: {status['notes']}"
    bare = tools.run(*tools.command("inductor", "1e-5"))
    if recorded["generated"] != bare[:2] or recorded["cached"] != bare[:2]:
        yield f"bare: {bare}\nrecorded: {recorded}"
    code, report = tools.compare("generated", "cached")
    alone = report["coverage"]["only_reference"] + report["coverage"]["only_candidate"]
    if code != 0 or alone != 0 or report["coverage"]["not_compared"]["opaque"] != 0:
        yield f"generated and cached: exit code {code}, {report['coverage']}"
    code, report = tools.compare("cached", "other")
    first, causes = report["first"] or {}, [cause["id"] for cause in report["causes"] if cause["finding"] == 0]
    place = (first.get("kind"), first.get("step"), first.get("phase"), [each["name"] for each in first.get("arguments", [])])
    if code != 1 or place != ("arguments", 1, "forward", ["source"]) or causes[:1] != ["compiled"]:
        yield f"other code: exit code {code}, {place}, {causes}"
    if not str(first.get("op")).startswith("inductor::cpp_fused") or "norm" not in str(first.get("module")):
        yield f"other code: {first.get('op')} of {first.get('module')}"


def cpp_graphs(tools):
    """A graph that calls its kernels by itself is one event: what it is given, its code and what it returns."""
    recorded, status = tools.record("reference", "cpp_graphs", "1", "no")
    bare = tools.run(*tools.command("cpp_graphs", "1", "no"))
    if recorded != bare[:2] or status["notes"]:
        yield f"bare: {bare}\nrecorded: {recorded}, {status['notes']}"
    tools.record_variants("cpp_graphs", {"again": ["1", "no"], "other": ["2", "no"], "written": ["1", "written"]})
    for candidate, expected in (("again", None), ("other", ("arguments", 0, "source", "compiled")),
                                ("written", ("write", 1, None, "external-write"))):
        code, report = tools.compare("reference", candidate)
        first = report["first"]
        names = [each["name"] for each in first["arguments"]] if first else []
        found = first and (first["kind"], first["step"], names[0] if names else None, report["causes"][0]["id"])
        if (code, found) != (1 if expected else 0, expected) or (first and first["op"] != "inductor::cpp_graph"):
            yield f"{candidate}: exit code {code}, {found}: {report['summary']}"


def tuned(tools):
    """A kernel of Triton is an event with its numbers; how it is launched is a setting, and what is computed to
    find that out is none of the program's."""
    recorded = {}
    for name, flags in (("reference", ["1.0", "64", "2"]), ("other_launch", ["1.0", "128", "5"]),
                        ("other_number", ["2.0", "64", "2"])):
        recorded[name], status = tools.record(name, "tuned", *flags)
        if status["notes"]:
            yield f"notes: {status['notes']}"
    bare = tools.run(*tools.command("tuned", "1.0", "64", "2"))
    if recorded["reference"] != bare[:2]:
        yield f"bare: {bare}\nrecorded: {recorded['reference']}"
    code, report = tools.compare("reference", "other_launch")
    settings = [[each[key] for key in ("key", "reference", "candidate")] for each in report["environment"]]
    launch = ["triton.triton_poi_fused_add_0",
              *(f"XBLOCK={block}, num_stages=1, num_warps=4" for block in (64, 128))]
    alone = report["coverage"]["only_reference"] + report["coverage"]["only_candidate"]
    if code != 0 or alone != 0 or launch not in settings:
        yield f"launched in another way: exit code {code}, {report['coverage']}, {settings}"
    code, report = tools.compare("reference", "other_number")
    first = report["first"] or {}
    place = first.get("kind"), first.get("op"), [each["name"] for each in first.get("arguments", [])]
    changed = [each["role"] for each in first.get("tensors", []) if not each["equal"]]
    if code != 1 or place != ("arguments", "inductor::triton_poi_fused_add_0", ["numbers"]) or changed != ["mutated"]:
        yield f"another number: exit code {code}, {place}, {changed} differ"


def signals(tools):
    """An exception of the program's signal handler reaches the program, whatever code it interrupts."""
    bare = tools.run(*tools.command("signals"))
    recorded, status = tools.record("dump", "signals")
    if bare[:2] != (0, "caught 100\n") or recorded != bare[:2] or status["notes"]:
        yield f"bare: {bare}\nrecorded: {recorded}, {status['notes']}"


def interrupted(tools):
    """Whatever function of the hooks is called as a signal arrives."""
    bare = tools.run(*tools.command("interrupted"))
    recorded, status = tools.record("dump", "interrupted")
    if bare[:2] != (0, "lost []\n") or recorded != bare[:2] or status["notes"]:
        yield f"bare: {bare}\nrecorded: {recorded}, {status['notes']}"
    if len(status["ranks"]) < 100:
        yield f"{len(status['ranks'])} calls interrupted"


def broken(tools):
    """What fails in a hook is a notice, and the program goes on."""
    bare = tools.run(*tools.command("broken"))
    recorded, status = tools.record("dump", "broken")
    if bare[0] != 0 or recorded != bare[:2]:
        yield f"bare: {bare}\nrecorded: {recorded}"
    if status["counts"]["events"] == 0 or not any("hooks failed" in note for note in status["notes"]):
        yield f"no notice: {status}"


def hash_order(tools):
    """The set that has another order in the other run is named."""
    for name, seed in (("reference", "1"), ("candidate", "2")):
        tools.environment["PYTHONHASHSEED"] = seed
        tools.record(name, "sets")
    code, report = tools.compare("reference", "candidate")
    evidence = [each for cause in report["causes"] if cause["id"] == "hash-order" for each in cause["evidence"]]
    if code != 1 or not any("set __main__.classes has its elements in another order: " in each for each in evidence):
        yield f"exit code {code}, {report['summary']}, {report['causes']}"


def copied_generator(tools):
    """Workers that draw the same numbers are named by a check of one run; they, and not the process that reads what they
    made, are where the runs diverge."""
    results = {}
    for name in ("copied", "own"):
        tools.record(name, "copied", name)
        checks = json.loads(tools.run(tools.ulpscope, "inspect", name, "checks", "--format", "json")[1])["checks"]
        results[name] = {check["name"]: check["result"] for check in checks if check["name"] in ("workers", "replicas")}
    if results != {"copied": {"workers": "look", "replicas": "ok"}, "own": {"workers": "ok", "replicas": "ok"}}:
        yield f"checks: {results}"
    code, report = tools.compare("copied", "own")
    first = report["first"] or {}
    ranks = {finding["rank"] for finding in report["findings"] if finding["diverges"]}
    if code != 1 or (first.get("rank"), first.get("op")) != (1, "aten::add") or 0 in ranks:
        yield f"exit code {code}, ranks {ranks}: {report['summary']}"


def replaced(tools):
    """A program's own finder of modules is asked as before; where nn.Module.__call__ is another function, a notice says
    what that costs."""
    for what, calls, notices in (("finder", {("Sequential", "Sequential"): 2}, 0), ("call", {}, 1)):
        bare = tools.run(*tools.command("replaced", what))
        recorded, status = tools.record(what, "replaced", what)
        if bare[0] != 0 or recorded != bare[:2]:
            yield f"{what}: bare: {bare}\nrecorded: {recorded}"
        if status["counts"]["steps"] != 2 or calls_of_roots(tools, what) != calls or len(status["notes"]) != notices:
            yield f"{what}: {status}"


def without_hooks(tools):
    """Hooks that cannot be loaded are a notice: the program is recorded without what they say. A LibTorch without a capture
    library is not recorded, and which versions have one is said."""
    original = os.path.dirname(os.path.dirname(tools.ulpscope))
    copy = os.path.join(tools.folder, "copy")
    os.makedirs(os.path.join(copy, "lib", "python"))
    os.makedirs(os.path.join(copy, "bin"))
    for library in os.listdir(os.path.join(original, "lib")):
        if library.startswith("libulpscope"):
            shutil.copy(os.path.join(original, "lib", library), os.path.join(copy, "lib"))
    with open(os.path.join(copy, "lib", "python", "__init__.py"), "w", encoding="utf-8") as file:
        file.write("import not_there\n")
    tools.ulpscope = shutil.copy(tools.ulpscope, os.path.join(copy, "bin"))
    (code, _), status = tools.record("dump", "replaced", "finder")
    if code != 0 or status["counts"]["events"] == 0 or not any("not_there" in note for note in status["notes"]):
        yield f"exit code {code}: {status}"
    for library in os.listdir(os.path.join(copy, "lib")):
        if library.startswith("libulpscope_capture-"):
            os.rename(os.path.join(copy, "lib", library), os.path.join(copy, "lib", "libulpscope_capture-9.9.so"))
    (code, _), status = tools.record("other", "replaced", "finder")
    if code != 0 or status["recorded"] or "LibTorch 9.9 (there is no capture library for" not in status["reason"]:
        yield f"another version: exit code {code}: {status}"


# The first of backward whose sums threads share; whether a product of the head's size is shared depends on the
# processor.
SPLIT_AMONG_THREADS = ("aten::mm", "aten::convolution_backward")

# The first finding for what pairs.py plants: kind, op, module, phase, step, cause. None: any; a tuple: one of these.
PAIRS = {
    "transformer": {
        "threads": ("origin", None, None, "backward", 0, "threads"),
        "avx2": ("origin", "aten::_scaled_dot_product_flash_attention_for_cpu", "layers.0",
                 "forward", 0, "isa"),
        "ulp": ("write", "aten::linear", "layers.1.fc1", "forward", 2, "external-write"),
        "signs": ("write", "aten::linear", "layers.1.fc1", "forward", 2, "external-write"),
        "write": ("write", "aten::linear", "layers.1.fc2", "forward", 2, "external-write"),
        "rand": ("rng", "aten::bernoulli_", "layers.0.drop", "forward", 2, "rng-shift"),
        "eps": ("arguments", "aten::layer_norm", "layers.1.ln2", "forward", 2, "argument"),
        "swap": ("data", "aten::flatten", "", "forward", 2, "data-order"),
        "matmul": None,
        "none": None},
    "cnn": {
        "threads": ("origin", SPLIT_AMONG_THREADS, None, "backward", 0, "threads"),
        "avx2": ("origin", "aten::_log_softmax", None, "forward", 0, "isa"),
        "momentum": ("arguments", "aten::batch_norm", "layers.1.bn1", "forward", 2, "argument"),
        "matmul": None,
        "none": None}}


# Without AVX-512 there is AVX2 and ATen's plain kernels, which draw other numbers.
WITHOUT_VECTORS = ("origin", ("aten::uniform_", "aten::normal_"), None, "setup", None, "isa")


def fits(wanted, found):
    return wanted is None or found in (wanted if isinstance(wanted, tuple) else (wanted,))


def lower_capability():
    """An instruction set of ATen's kernels that the machine has, and that is not the one they take by themselves."""
    with open("/proc/cpuinfo") as cpu:
        return "avx2" if "avx512vl" in cpu.read().split() else "default"


def planted(tools, net):
    """What is planted is the first finding, with its cause; the others are identical (on a CPU `linear`
    and `matmul` of these sizes give the same bits)."""
    tools.record("reference", "pairs", net, "none", options=["--level", "full"])
    tools.record_variants("pairs", {plant: [net, plant] for plant in PAIRS[net] if plant != "avx2"}, level="full")
    tools.environment["ATEN_CPU_CAPABILITY"] = lower_capability()
    tools.record("avx2", "pairs", net, "avx2", options=["--level", "full"])
    for plant, expected in PAIRS[net].items():
        if plant == "avx2" and lower_capability() == "default":
            expected = WITHOUT_VECTORS
        code, report = tools.compare("reference", plant)
        if expected is None:
            if code != 0:
                yield f"{plant}: {report['summary']}"
            continue
        first = report["first"] or {}
        place = *(first.get(key) for key in ("kind", "op", "module", "phase", "step")), \
            report["causes"][0]["id"] if report["causes"] else None
        if code != 1 or not all(fits(wanted, found) for wanted, found in zip(expected, place)):
            yield f"{plant}: {place}, exit code {code}, not {expected}"


CASES = {"signals": signals, "interrupted": interrupted, "broken": broken, "replaced": replaced, "without_hooks": without_hooks,
         "hash_order": hash_order, "copied_generator": copied_generator, "planted_transformer": lambda tools: planted(tools, "transformer"),
         "planted_cnn": lambda tools: planted(tools, "cnn"),
         "module_paths": module_paths, "compiled_tree": compiled_tree, "compiled_models": compiled_models,
         "learning_rate": learning_rate,
         "no_stacks": no_stacks, "directories_of_files": directories_of_files,
         "python_generator": python_generator, "moved_generators": moved_generators, "early_batches": early_batches,
         "inherited_memory": inherited_memory, "written_after_fork": written_after_fork,
         "saved": saved, "updates_in_lists": updates_in_lists, "given_values": given_values, "seeded_by_a_draw": seeded_by_a_draw,
         "containers": containers, "order_of_elements": order_of_elements,
         "iterations": iterations, "folds": folds, "left_by_names": left_by_names, "kept": kept, "pools": pools,
         "left_options": left_options, "saved_files": saved_files, "other_workers": other_workers,
         "trained_once_more": trained_once_more, "safetensors_files": safetensors_files,
         "without_modules": without_modules, "preprocessed_batches": preprocessed_batches, "data_swapped": data_swapped, "backward_function": backward_function,
         "filled_in_parts": filled_in_parts, "sparse": sparse, "numpy_write": numpy_write,
         "swapped_names": swapped_names,
         "drawn_in_workers": drawn_in_workers, "shared_memory": shared_memory, "received_memory": received_memory,
         "inductor": inductor, "cpp_graphs": cpp_graphs, "tuned": tuned}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin")
    parser.add_argument("--torch", help="the folder that holds Python's package torch")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("case", nargs="?", choices=[*PROGRAMS, *CASES])
    arguments = parser.parse_args()
    if arguments.list:
        print("\n".join([*PROGRAMS, *CASES]))
        return 0
    arguments.bin, arguments.torch = map(os.path.abspath, (arguments.bin, arguments.torch))
    with tempfile.TemporaryDirectory(prefix="ulpscope-python-") as folder:
        tools = Tools(arguments, folder)
        case = CASES.get(arguments.case)
        wrong = list(case(tools) if case else unnoticed(tools, arguments.case))
    for sentence in wrong:
        print(sentence)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
