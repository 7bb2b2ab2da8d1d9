#!/usr/bin/env python3
"""Records a pair of runs, compares them, and checks the answer against what is known and against what
the independent oracle says of the same pair.

    scenarios.py --bin build/release/bin --lib build/release/lib NAME
    scenarios.py ... --list        names of all scenarios
    scenarios.py ... --table       runs all of them and prints a Markdown table
"""

import argparse
import collections
import fcntl
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile

RESNET = ["digits_resnet", "--steps", "3"]
MLP = ["layernorm_mlp", "--steps", "3"]
INFERENCE = ["inference_only", "--steps", "3"]
TRANSFORMER = ["transformer_encoder", "--steps", "2"]
LSTM = ["lstm_copier", "--steps", "3"]
FORMS = ["forms", "--steps", "3"]
UNNORMALISED = FORMS + ["--norm", "none"]
HABITS = ["habits", "--habit"]
CUSTOM_OPS = ["custom_ops", "--steps", "2"]
ONE = ["--threads", "1"]
TWO = ["--threads", "2"]


class Scenario:
    """Two commands and what must come out: the verdict, and of the first finding those fields that
    are given. `findings` is the number of diverging ones. `captures` says what each run records.
    `oracle` is false where the two are known to speak of the same thing differently.
    `where_ops_part`: the first finding's module is the one that the ops of the same pair name, for
    which op it is depends on the machine."""

    def __init__(self, reference, candidate, verdict, level="digest", environment=None, cause=None,
                 oracle=True, reference_environment=None, captures=("ops", "ops"), findings=None,
                 where_ops_part=False, **first):
        self.commands = [reference, candidate]
        self.environments = [reference_environment or {}, environment or {}]
        self.verdict, self.level, self.cause, self.oracle = verdict, level, cause, oracle
        self.captures, self.findings = captures, findings
        self.where_ops_part = where_ops_part
        self.repeats = "--empty-half" not in reference
        self.first = first


def weights_from_file(program):
    """The same pair with weights from a file, so that drawing them cannot be the difference."""
    return program + ["--load-weights", "{weights}"]


def layers_only(reference, candidate, verdict, **known):
    """The same for two recordings of layers, of which the oracle knows nothing."""
    return Scenario(reference, candidate, verdict, oracle=False, captures=("layers", "layers"),
                    **known)


SCENARIOS = {}


def run(command, environment, **options):
    return subprocess.run(command, env={**os.environ, **environment}, text=True,
                          capture_output=True, timeout=300, **options)


# A finding of the oracle; `names` are the op and its callers, `what` says what differs.
Told = collections.namedtuple("Told", "kind step phase names what")


def to_told(line):
    parts = [part.strip() for part in line.split(" | ")]
    if parts[0].startswith("thread "):
        del parts[0]
    return Told(*parts[:3], names_in(parts[3]), parts[5])


def names_in(text):
    """Names of ops in a sentence, without their overloads."""
    return set(re.findall(r"\w+(?:::\w+)+", text))


class Run:
    """What is known of one command, each made when it is first asked for and kept in `folder`, which
    several processes may share."""

    def __init__(self, tools, command, environment, level, folder, weights_of=None):
        self.tools, self.environment, self.level, self.folder = tools, environment, level, folder
        self.weights_of = weights_of or self
        os.makedirs(folder, exist_ok=True)
        program, *self.flags = command
        self.program = os.path.join(tools.bin, program)

    def kept(self, name, make):
        """The text that `make` returned, here or in the process that came first."""
        path = os.path.join(self.folder, name + ".txt")
        with open(path, "a+", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            text = file.read()
            if not text:
                text = make()
                file.write(text)
            return text

    def command(self):
        weights = self.weights_of.weights() if "{weights}" in self.flags else None
        return [self.program, *(flag.format(weights=weights) for flag in self.flags)]

    def weights(self):
        path = os.path.join(self.folder, "weights.pt")
        self.kept("weights", lambda: last_line([self.program, "--steps", "1", "--save", path], {}))
        return path

    def bare(self):
        """The last line of what the program prints."""
        return self.kept("bare", lambda: last_line(self.command(), self.environment))

    def recorded(self, capture):
        """A dump, and the program's last line."""
        dump = os.path.join(self.folder, capture)
        record = [self.tools.ulpscope, "record", "--force", "--level", self.level, "--capture", capture, "-o", dump]
        return dump, self.kept(capture, lambda: last_line([*record, "--", *self.command()], self.environment))

    def heard(self):
        """The oracle's log, and the program's last line, which the oracle does not change either."""
        log = os.path.join(self.folder, "oracle")
        environment = {**self.environment, "LD_PRELOAD": self.tools.oracle, "ORACLE_LOG": log}
        return log, self.kept("heard", lambda: last_line(self.command(), environment))


def last_line(command, environment):
    done = run(command, environment)
    assert done.returncode == 0, f"{done.args} ended with {done.returncode}\n{done.stderr}"
    return done.stdout.splitlines()[-1]


class Tools:
    def __init__(self, bin_folder, lib_folder):
        self.bin = bin_folder
        self.ulpscope = os.path.join(bin_folder, "ulpscope")
        self.oracle = os.path.join(lib_folder, "liboracle.so")

    def compare(self, dumps):
        done = run([self.ulpscope, "compare", *dumps, "--format", "json"], {})
        assert done.stdout, done.stderr
        return json.loads(done.stdout), done.returncode


def runs_of(scenario, tools, references, folder):
    """The reference, which other scenarios may have as well, and the candidate, which is this one's own."""
    commands = scenario.commands
    key = json.dumps([commands[0], scenario.environments[0], scenario.level])
    shared = os.path.join(references, hashlib.sha256(key.encode()).hexdigest()[:16])
    reference = Run(tools, commands[0], scenario.environments[0], scenario.level, shared)
    candidate = Run(tools, commands[1], scenario.environments[1], scenario.level, os.path.join(folder, "candidate"),
                    weights_of=reference)
    return [reference, candidate]


def findings_of_oracle(runs):
    """The oracle's findings, the first ones first."""
    here = os.path.dirname(os.path.abspath(__file__))
    done = run([sys.executable, os.path.join(here, "..", "oracle", "oracle_diff.py"), "-n", "1000000",
                *(each.heard()[0] for each in runs)], {})
    assert done.returncode in (0, 1), done.stderr
    return [to_told(line) for line in done.stdout.splitlines()] if done.returncode == 1 else []


def describe(finding):
    if finding is None:
        return "no finding"
    place = "setup" if finding["step"] is None else f"step {finding['step']}"
    return (f"{finding['kind']}, {place}, {finding['phase']}, {finding['op']}, "
            f"module {finding['module']!r}")


def places(finding):
    """Steps and phases in which the oracle may see a finding: it has no modules, so what comes before a
    forward pass belongs to it, or without gradients to the optimizer before it, and what an optimizer
    does with gradients on to the next one."""
    step = finding["step"]
    if step is None:
        return {("-", "setup"), ("0", "forward")}
    if finding["phase"] in ("forward", "backward"):
        return {(str(step), finding["phase"])}
    return {(str(step - 1), "optimizer"), (str(step), "forward"),
            (str(step), "optimizer"), (str(step + 1), "forward")}


def agree(finding, told):
    """Whether the report and the oracle speak of the same: kind, step, phase and op."""
    if finding["kind"] != told.kind or (told.step, told.phase) not in places(finding):
        return False
    # Of many ops that one run has alone, the oracle lists the first six.
    alone = told.kind == "sequence" and ("..." in told.what or finding["op"] in names_in(told.what))
    return finding["op"] in told.names or alone


def against_oracle(report, oracle):
    """What the report and the oracle do not agree about, in sentences."""
    findings = report["findings"]
    if bool(findings) != bool(oracle):
        yield f"the oracle has {len(oracle)} findings, the report {describe(report['first'])}"
    elif oracle:
        if not any(agree(finding, oracle[0]) for finding in findings):
            yield f"the oracle's first is no finding of the report: {oracle[0]}"
        if report["first"] and not any(agree(report["first"], told) for told in oracle):
            yield f"the oracle does not have {describe(report['first'])}, but {oracle[:3]}"


def differences(scenario, report, code, oracle):
    """What is wrong with the answer, in sentences."""
    wrong = []
    first = report["first"]
    expected_code = {"identical": 0, "within": 0, "diverged": 1, "inconclusive": 2}[scenario.verdict]
    if report["verdict"] != scenario.verdict:
        wrong.append(f"verdict {report['verdict']}, expected {scenario.verdict}")
    if code != expected_code:
        wrong.append(f"exit code {code}, expected {expected_code}")
    for field, expected in scenario.first.items():
        given = None if first is None else first[field]
        if given != expected:
            wrong.append(f"first.{field} is {given!r}, expected {expected!r}")
    diverging = sum(finding["diverges"] for finding in report["findings"])
    if scenario.findings is not None and diverging != scenario.findings:
        wrong.append(f"{diverging} diverging findings, expected {scenario.findings}")
    for run in ("reference", "candidate"):
        if report["coverage"]["aligned"] > report[run]["events"]:
            wrong.append(f"more events aligned than the {run} has")
    causes = [cause["id"] for cause in report["causes"] if cause["finding"] == 0]
    if scenario.cause and scenario.cause not in causes[:3]:
        wrong.append(f"causes {causes}, expected {scenario.cause} among the first three")
    if scenario.oracle:
        wrong += against_oracle(report, oracle)
    return wrong


def check(name, tools, references):
    scenario = SCENARIOS[name]
    with tempfile.TemporaryDirectory(prefix="ulpscope-scenario-") as folder:
        runs = runs_of(scenario, tools, references or os.path.join(folder, "references"), folder)
        recorded = [each.recorded(capture) for each, capture in zip(runs, scenario.captures)]
        report, code = tools.compare([dump for dump, _ in recorded])
        oracle = findings_of_oracle(runs) if scenario.oracle else None
        if scenario.where_ops_part:
            ops, _ = tools.compare([each.recorded("ops")[0] for each in runs])
            scenario.first["module"] = ops["first"]["module"]
        wrong = differences(scenario, report, code, oracle)
        for index, (each, (_, last)) in enumerate(zip(runs, recorded)):
            unrecorded = each.heard()[1] if scenario.oracle else each.bare()
            if scenario.repeats and last != unrecorded:
                wrong.append(f"recording changed run {index}: {unrecorded} / {last}")
    return report, oracle, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--lib", required=True)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--references", help="a folder in which runs that scenarios have in common are kept")
    parser.add_argument("name", nargs="?")
    arguments = parser.parse_args()
    if arguments.list:
        print("\n".join(SCENARIOS))
        return 0
    tools = Tools(arguments.bin, arguments.lib)
    names = list(SCENARIOS) if arguments.table else [arguments.name]
    failed = 0
    if arguments.table:
        print("| scenario | verdict | first finding | causes | oracle | as expected |")
        print("|---|---|---|---|---|---|")
    for name in names:
        report, oracle, wrong = check(name, tools, arguments.references)
        failed += bool(wrong)
        if arguments.table:
            causes = ", ".join(cause["id"] for cause in report["causes"][:3])
            print(f"| {name} | {report['verdict']} | {describe(report['first'])} | {causes} | "
                  f"{' / '.join(oracle[0][:3]) if oracle else 'no finding'} | "
                  f"{'; '.join(wrong) or 'yes'} |", flush=True)
        else:
            print(f"{name}: {report['verdict']}, {describe(report['first'])}\n{report['summary']}")
            print(f"oracle: {oracle[:2] if SCENARIOS[name].oracle else 'not asked'}")
            for sentence in wrong:
                print(f"WRONG: {sentence}")
    return 1 if failed else 0


SCENARIOS.update({
    "identical-resnet": Scenario(RESNET + ONE, RESNET + ONE, "identical"),
    "identical-mlp": Scenario(MLP + ONE, MLP + ONE, "identical"),
    "identical-transformer": Scenario(TRANSFORMER + ONE, TRANSFORMER + ONE, "identical"),
    "threads-resnet": Scenario(RESNET + ONE, RESNET + TWO, "diverged", level="full",
                               cause="threads", kind="origin", step=0, phase="backward"),
    "threads-mlp": Scenario(MLP + ONE, MLP + TWO, "diverged", cause="threads", kind="origin"),
    "threads-transformer": Scenario(TRANSFORMER + ONE, TRANSFORMER + TWO, "diverged",
                                    cause="threads", kind="origin"),
    "isa-mlp": Scenario(weights_from_file(MLP) + ONE, weights_from_file(MLP) + ONE, "diverged",
                        environment={"ATEN_CPU_CAPABILITY": "default"}, cause="isa", kind="origin"),
    "extra-draw": Scenario(RESNET + ONE, RESNET + ONE + ["--extra-draw", "1"], "diverged",
                           cause="rng-shift", kind="rng", op="aten::bernoulli_", step=1,
                           phase="forward"),
    "data-order-resnet": Scenario(RESNET + ONE, RESNET + ONE + ["--sampler-seed", "2"], "diverged",
                                  kind="data", op="aten::clone", step=None),
    "data-order-mlp": Scenario(MLP + ONE, MLP + ONE + ["--sampler-seed", "2"], "diverged",
                               kind="arguments", op="aten::select", step=None),
    "swapped-samples-resnet": Scenario(RESNET + ONE, RESNET + ONE + ["--swap-samples", "1"],
                                       "diverged", kind="data", op="aten::clone", step=1,
                                       phase="data"),
    "swapped-samples-mlp": Scenario(MLP + ONE, MLP + ONE + ["--swap-samples", "1"], "diverged",
                                    kind="arguments", op="aten::select", step=1, phase="data"),
    "empty-overwritten": Scenario(MLP + ONE + ["--empty-overwritten"],
                                  MLP + ONE + ["--empty-overwritten"], "identical"),
    "layer-norm-eps": Scenario(MLP + ONE, MLP + ONE + ["--eps", "1e-6"], "diverged",
                               cause="argument", kind="arguments", op="aten::layer_norm",
                               step=0, phase="forward"),
    "batch-norm-momentum": Scenario(RESNET + ONE, RESNET + ONE + ["--momentum", "0.2"], "diverged",
                                    kind="arguments", step=0, phase="forward"),
    "raw-write-resnet": Scenario(RESNET + ONE, RESNET + ONE + ["--raw-write", "1"], "diverged",
                                 cause="external-write", kind="write", step=1, phase="forward",
                                 module="layer2.0.conv1"),
    "raw-write-transformer": Scenario(TRANSFORMER + ONE, TRANSFORMER + ONE + ["--raw-write", "1"],
                                      "diverged", cause="external-write", kind="write", step=1),
    "poked-activation": Scenario(MLP + ONE, MLP + ONE + ["--poke-activation", "1"], "diverged",
                                 cause="external-write", kind="write", step=1, phase="forward"),
    "other-seed": Scenario(MLP + ONE, MLP + ONE + ["--seed", "2"], "diverged", cause="rng-seed",
                           kind="rng", step=None),
    "unused-layer": Scenario(MLP + ONE, MLP + ONE + ["--unused-layer"], "diverged", step=None),
    "mkldnn-off": Scenario(RESNET + ONE, RESNET + ONE + ["--mkldnn", "0"], "diverged",
                           cause="backend", kind="origin", step=0, phase="forward"),
    # To the oracle the batch that one run counts, before its batch norm, is a finding of its own.
    "eval-mode": Scenario(RESNET + ONE, RESNET + ONE + ["--eval"], "diverged", cause="mode",
                          kind="arguments", step=0, phase="forward", op="aten::batch_norm",
                          oracle=False),
    "identical-lstm": Scenario(LSTM, LSTM, "identical"),
    "threads-lstm": Scenario(LSTM, LSTM + TWO, "diverged", cause="threads", kind="origin",
                             phase="backward"),
    "validation-pass": Scenario(LSTM, LSTM + ["--validate", "1"], "identical"),
    "validation-draws": Scenario(LSTM, LSTM + ["--validate-in-train-mode"], "diverged", step=1,
                                 phase="data", kind="rng", cause="rng-shift"),
    "poked-gradient": Scenario(LSTM, LSTM + ["--poke-gradient", "1"], "diverged", kind="write",
                               step=1, phase="optimizer", cause="external-write"),
    "adam-eps": Scenario(LSTM, LSTM + ["--adam-eps", "1e-7"], "diverged", kind="arguments",
                         step=0, phase="optimizer", cause="argument",
                         meaning="eps of Adam is 1e-08 and 1e-07"),
    "clip-norm": Scenario(LSTM, LSTM + ["--clip", "0.5"], "diverged", step=0, phase="optimizer"),
    "learning-rate": Scenario(MLP + ONE, MLP + ONE + ["--lr", "0.11"], "diverged",
                              kind="arguments", phase="optimizer", cause="argument",
                              meaning="lr of Adam is 0.001 and 0.11"),
    "isa-drawn-weights": Scenario(RESNET + ONE, RESNET + ONE, "diverged", kind="origin", step=None,
                                  environment={"ATEN_CPU_CAPABILITY": "default"}, cause="rng-device"),
    "onednn-isa-resnet": Scenario(RESNET + ONE, RESNET + ONE, "diverged", cause="isa", kind="origin",
                                  environment={"ONEDNN_MAX_CPU_ISA": "SSE41"}, phase="forward",
                                  op="aten::mkldnn_convolution", module="stem.0"),
    "onednn-isa-mlp": Scenario(MLP + ONE, MLP + ONE, "diverged", cause="isa", kind="origin",
                               environment={"ONEDNN_MAX_CPU_ISA": "SSE41"}, op="aten::gelu"),
    "mkl-cbwr": Scenario(MLP + ONE, MLP + ONE, "diverged", cause="isa", kind="origin",
                         environment={"MKL_CBWR": "COMPATIBLE"}, op="aten::addmm"),
    "order-of-modules": Scenario(RESNET + ONE, RESNET + ONE + ["--order-of-modules"], "diverged",
                                 kind="sequence", step=None, phase="setup", cause="init"),
    "unused-layer-resnet": Scenario(RESNET + ONE, RESNET + ONE + ["--unused-layer"], "diverged",
                                    kind="sequence", step=None, phase="setup", cause="init"),
    "uninitialised": Scenario(MLP + ONE + ["--empty-half"], MLP + ONE + ["--empty-half"],
                              "diverged", kind="data", op="aten::addmm", module="head",
                              reference_environment={"MALLOC_PERTURB_": "85"},
                              environment={"MALLOC_PERTURB_": "165"}, cause="uninitialised"),
    "overwritten": Scenario(RESNET + ONE + ["--empty-overwritten"],
                            RESNET + ONE + ["--empty-overwritten"], "identical", findings=0,
                            reference_environment={"MALLOC_PERTURB_": "85"},
                            environment={"MALLOC_PERTURB_": "165"}),
    "batch-norm-eps": Scenario(RESNET + ONE, RESNET + ONE + ["--eps", "1e-6"], "diverged",
                               kind="arguments", op="aten::batch_norm", module="stem.1", step=0,
                               cause="argument"),
    "dropout-p": Scenario(MLP + ONE, MLP + ONE + ["--dropout", "0.2"], "diverged", kind="arguments",
                          op="aten::dropout", module="input.dropout", cause="argument"),
    "mode-mlp": Scenario(MLP + ONE, MLP + ONE + ["--eval"], "diverged", kind="arguments",
                         op="aten::dropout", module="input.dropout", cause="mode"),
    "batch-size": Scenario(RESNET + ONE, RESNET + ONE + ["--batch", "16"], "diverged", step=None,
                           cause="batch-size"),
    "fewer-steps": Scenario(RESNET + ONE, ["digits_resnet", "--steps", "2", *ONE], "inconclusive",
                            findings=0),
    "sign-flips": Scenario(TRANSFORMER + ONE, TRANSFORMER + ONE + ["--flip-signs", "1"], "diverged",
                           kind="write", step=1, phase="forward", module="blocks.0.fc1",
                           cause="external-write", findings=1),
    "written-after-gelu": Scenario(TRANSFORMER + ONE, TRANSFORMER + ONE + ["--write-after-gelu", "1"],
                                   "diverged", kind="write", step=1, module="blocks.0.fc2",
                                   cause="external-write"),
    "extra-draw-transformer": Scenario(TRANSFORMER + ONE, TRANSFORMER + ONE + ["--extra-draw", "1"],
                                       "diverged", kind="rng", op="aten::bernoulli_", step=1,
                                       module="blocks.0.dropout", cause="rng-shift",
                                       findings=1),
    "transformer-eps": Scenario(TRANSFORMER + ONE, TRANSFORMER + ONE + ["--eps", "1e-6"], "diverged",
                                kind="arguments", op="aten::layer_norm", module="blocks.0.norm1",
                                step=0, cause="argument"),
    "rewritten-bits": Scenario(FORMS, FORMS + ["--attention", "fused"], "diverged", kind="sequence",
                               step=0, phase="forward", module="attention", cause="structure"),
    "rewritten-view": Scenario(FORMS, FORMS + ["--attention", "masked"], "diverged", kind="sequence",
                               step=0, phase="forward", module="attention", op="aten::ones"),
    "swapped-addends": Scenario(FORMS, FORMS + ["--residual", "swapped"], "diverged", kind="origin",
                                step=0, phase="forward", op="aten::sum", cause="layout"),
    "accumulated": Scenario(UNNORMALISED, UNNORMALISED + ["--micro-batches", "4"], "diverged",
                            level="full", cause="gradient-accumulation", oracle=False),
    "accumulated-unscaled": Scenario(UNNORMALISED, UNNORMALISED + ["--micro-batches", "4",
                                                                   "--unscaled"],
                                     "diverged", level="full", cause="scale", oracle=False),
    "never-zeroed": Scenario(FORMS, FORMS + ["--zero-grad", "never"], "diverged", kind="sequence",
                             step=1, phase="backward", cause="gradient-accumulation"),
    "clipped": Scenario(FORMS, FORMS + ["--clip", "0.01"], "diverged", kind="sequence", step=0,
                        phase="optimizer", cause="structure"),
    "adamw": Scenario(FORMS, FORMS + ["--optimizer", "adamw"], "diverged", kind="sequence", step=0,
                      phase="optimizer", op="aten::mul_", cause="structure", findings=1),
    "adam-lr": Scenario(FORMS, FORMS + ["--lr", "0.011"], "diverged", kind="arguments", step=0,
                        phase="optimizer", op="aten::addcdiv_", cause="argument", findings=1),
    "recompute": Scenario(HABITS + ["recompute-restored"], HABITS + ["recompute"], "diverged",
                          kind="rng", step=0, phase="backward", cause="recompute"),
    "half-epochs": Scenario(HABITS + ["none"], HABITS + ["half-epochs"], "diverged", cause="epoch",
                            step=2, phase="data"),
    "flush-in-thread": Scenario(HABITS + ["keep-in-thread"], HABITS + ["flush-in-thread"],
                                "diverged", cause="flush-denormal", kind="origin"),
    "layers-identical": layers_only(RESNET + ONE, RESNET + ONE, "identical", findings=0),
    "layers-identical-lstm": layers_only(LSTM, LSTM, "identical", findings=0),
    "layers-against-ops": Scenario(RESNET + ONE, RESNET + ONE, "identical", oracle=False,
                                   captures=("layers", "ops"), findings=0),
    "layers-threads": layers_only(RESNET + ONE, RESNET + TWO, "diverged", cause="threads",
                                  kind="origin", step=0, phase="backward", lane="autograd",
                                  where_ops_part=True),
    "layers-eps": layers_only(MLP + ONE, MLP + ONE + ["--eps", "1e-6"], "diverged", findings=1,
                              kind="origin", op="LayerNorm::forward", module="input.norm", step=0,
                              phase="forward"),
    "layers-other-seed": layers_only(MLP + ONE, MLP + ONE + ["--seed", "2"], "diverged", findings=1,
                                     kind="parameter", step=None, cause="init"),
    "layers-unused-layer": layers_only(MLP + ONE, MLP + ONE + ["--unused-layer"], "diverged",
                                       findings=1, kind="parameter", step=None, cause="init"),
    "layers-raw-write": layers_only(RESNET + ONE, RESNET + ONE + ["--raw-write", "1"], "diverged",
                                    findings=1, kind="origin", op="Conv2d::forward",
                                    module="layer2.0.conv1", step=1, phase="forward"),
    "layers-poked-activation": layers_only(MLP + ONE, MLP + ONE + ["--poke-activation", "1"],
                                           "diverged", findings=1, kind="origin",
                                           op="Mlp::forward", module="", step=1, phase="forward"),
    "layers-poked-scores": layers_only(INFERENCE + ONE, INFERENCE + ONE + ["--poke-scores"], "diverged"),
    "layers-data-order": layers_only(RESNET + ONE, RESNET + ONE + ["--sampler-seed", "2"],
                                     "diverged", findings=1, kind="data", op="ResNet::forward",
                                     step=0, phase="forward"),
    "layers-learning-rate": layers_only(MLP + ONE, MLP + ONE + ["--lr", "0.11"], "diverged",
                                        findings=1, kind="arguments", op="Adam::step", step=0,
                                        phase="optimizer", meaning="lr of Adam is 0.001 and 0.11"),
})

# Ops that the program itself has registered: what their kernels do is seen in their results alone.
SCENARIOS.update({
    f"custom-op-{op.strip('_')}": Scenario(CUSTOM_OPS, CUSTOM_OPS + ["--planted", op], "diverged",
                                           kind="origin", op=f"digits::{op}", step=None,
                                           oracle=op != "tally")
    for op in ("swish", "gate", "clip_", "blend", "tally")
})

if __name__ == "__main__":
    sys.exit(main())
