#!/usr/bin/env python3
"""Pairs of runs that are the same computation: none of them may be called divergent.

    false_alarms.py --bin build/release/bin            checks all pairs
    false_alarms.py --bin build/release/bin --table    the same, as a Markdown table

That a pair is the same is known from what the programs print: every loss and the digest of the trained
model.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

FORMS = ["forms", "--steps", "2"]
PROGRAMS = [["digits_resnet", "--steps", "2", "--threads", "1"], ["layernorm_mlp", "--steps", "2"],
            ["transformer_encoder", "--steps", "2"], ["lstm_copier", "--steps", "2"], ["gan"], ["vae"],
            ["unet"], ["custom_functions"], ["lbfgs"], ["sparse_embeddings"], ["autocast"],
            ["gradient_accumulation"], ["mid_evaluation"], ["script_module"], ["moving_modules"],
            ["profiled"], ["own_callbacks"], ["inference_only"]]
REWRITES = ["--linear functional", "--linear matmul", "--linear addmm", "--attention einsum",
            "--activation relu_", "--activation clamp", "--flatten view", "--flatten reshape",
            "--residual 'in place'", "--zero-grad model", "--zero-grad fill", "--loss nll",
            "--contiguous", "--clone", "--detached-metrics"]


class Run:
    """A command and the circumstances in which it runs."""

    def __init__(self, command, prefix=(), environment=None, folder=None, copied=False, user=None):
        self.command, self.prefix, self.folder = list(command), list(prefix), folder
        self.environment, self.copied, self.user = environment or {}, copied, user


def pairs():
    """Name of each pair, both runs, and whether the op lists differ."""
    for command in PROGRAMS:
        yield f"{command[0]} twice", Run(command), Run(command), False
    mlp = PROGRAMS[1]
    yield "another directory", Run(mlp), Run(mlp, folder="elsewhere"), False
    yield "a copy of the program", Run(mlp), Run(mlp, copied=True), False
    yield "without address randomisation", Run(mlp), Run(mlp, ["setarch", "-R"]), False
    yield "another environment", Run(mlp), Run(mlp, environment={
        "HOME": "/", "LANG": "C", "TERM": "dumb", "A_LONG_NAME": "x" * 4000}), False
    yield "another priority", Run(mlp), Run(mlp, ["nice", "-n", "5"]), False
    yield "one processor", Run(mlp + ["--threads", "2"]), \
        Run(mlp + ["--threads", "2"], ["taskset", "-c", "0"]), False
    yield "other memory contents", Run(mlp, environment={"MALLOC_PERTURB_": "85"}), \
        Run(mlp, environment={"MALLOC_PERTURB_": "165"}), False
    ctc = FORMS + ["--loss", "ctc"]
    yield "sequences of different lengths, other memory contents", \
        Run(ctc, environment={"MALLOC_PERTURB_": "85"}), \
        Run(ctc, environment={"MALLOC_PERTURB_": "165"}), False
    yield "deterministic algorithms", Run(PROGRAMS[0]), Run(PROGRAMS[0] + ["--deterministic"]), False
    yield "denormals flushed where there are none", Run(mlp), Run(mlp + ["--flush-denormal"]), False
    for threads in ("1", "2"):
        yield f"{threads} threads load", Run(mlp), Run(mlp + ["--workers", threads]), False
    if os.getuid() == 0:
        yield "another user", Run(mlp), Run(mlp, user=65534, folder="elsewhere"), False
    yield "another build of the program", Run(FORMS), Run(["forms_unoptimised", *FORMS[1:]]), False
    for flags in REWRITES:
        words = [word.strip("'") for word in flags.split(" ", 1)]
        yield f"forms {flags}", Run(FORMS), Run(FORMS + words), flags != "--linear functional"
    yield "forms: one update at a time", Run(FORMS + ["--optimizer", "foreach"]), \
        Run(FORMS + ["--optimizer", "loop"]), True


class Session:
    """Records each candidate, and each reference once for all pairs that have it."""

    def __init__(self, bin_folder, folder):
        self.bin, self.folder = os.path.abspath(bin_folder), folder
        self.references = {}

    def record(self, run, dump):
        program, *flags = run.command
        path = os.path.join(self.bin, program)
        if run.copied:
            path = shutil.copy(path, self.folder)
        where = os.path.join(self.folder, run.folder or "here")
        os.makedirs(where, exist_ok=True)
        os.chmod(self.folder, 0o777)
        command = [os.path.join(self.bin, "ulpscope"), "record", "--force", "-o", dump, "--",
                   *run.prefix, path, *flags]
        done = subprocess.run(command, cwd=where, env={**os.environ, **run.environment}, text=True,
                              capture_output=True, timeout=300, user=run.user)
        assert done.returncode == 0, f"{done.args} ended with {done.returncode}\n{done.stderr}"
        return done.stdout

    def recorded(self, reference):
        """The dump of a reference, and what the program printed."""
        key = json.dumps(vars(reference))
        if key not in self.references:
            dump = os.path.join(self.folder, f"reference{len(self.references)}")
            self.references[key] = dump, self.record(reference, dump)
        return self.references[key]

    def compare(self, reference, candidate):
        first, expected = self.recorded(reference)
        second = os.path.join(self.folder, "candidate")
        printed = self.record(candidate, second)
        assert printed == expected, f"not the same computation:\n{expected}\n{printed}"
        done = subprocess.run([os.path.join(self.bin, "ulpscope"), "compare", first, second, "--format",
                               "json"], text=True, capture_output=True, timeout=300)
        shutil.rmtree(second)
        assert done.stdout, done.stderr
        return json.loads(done.stdout), done.returncode


def wrong_with(report, code, rewritten):
    wrong = []
    if report["verdict"] != "identical" or code != 0:
        wrong.append(report["summary"])
    wrong += [f"{finding['kind']} at {finding['op']} diverges" for finding in report["findings"]
              if finding["diverges"]]
    causes = [cause["id"] for cause in report["causes"]]
    if causes != (["harmless-rewrite"] if rewritten else []):
        wrong.append(f"causes {causes}")
    if rewritten and not report["findings"]:
        wrong.append("the other op list is not told")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--only", help="pairs whose name contains this")
    arguments = parser.parse_args()
    failed = count = 0
    if arguments.table:
        print("| pair | verdict | events | listed without diverging |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="ulpscope-same-") as folder:
        session = Session(arguments.bin, folder)
        for name, reference, candidate, rewritten in pairs():
            if arguments.only and arguments.only not in name:
                continue
            report, code = session.compare(reference, candidate)
            wrong = wrong_with(report, code, rewritten)
            count += 1
            failed += bool(wrong)
            if arguments.table:
                print(f"| {name} | {'; '.join(wrong) or report['verdict']} | "
                      f"{report['coverage']['aligned']} | {len(report['findings'])} |", flush=True)
            elif wrong:
                print(f"WRONG {name}: {'; '.join(wrong)}", flush=True)
    print(f"{count} pairs, {failed} false alarms")
    return 1 if failed or not count else 0


if __name__ == "__main__":
    sys.exit(main())
