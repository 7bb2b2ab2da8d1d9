#!/usr/bin/env python3
"""Records programs with one habit each and checks what `ulpscope inspect DUMP checks` says of them: the
habit is seen, and nothing else is.

    habits.py --bin build/release/bin CASE
"""

import argparse
import os
import subprocess
import sys
import tempfile

STEPS = ["--steps", "8"]  # two epochs
CLEAN = {"seeds": "ok", "generators": "ok", "epochs": "ok", "order": "ok", "batches": "ok",
         "ops": "ok", "recompute": "ok"}

# What differs from CLEAN, and words that the check's lines must have.
CASES = {
    "none": (["none"], {}, {"epochs": "2 epochs of 4, 4 steps"}),
    "dropout": (["dropout"], {}, {}),
    "unseeded": (["unseeded"], {"seeds": "look"}, {"seeds": "no torch::manual_seed before it"}),
    "seeded-by-chance": (["seeded-by-chance"], {"seeds": "look"}, {"seeds": "differs in every run"}),
    "same-epochs": (["same-epochs"], {"order": "look"}, {"order": "steps 4 - 7 read what steps 0 - 3"}),
    "twin-workers": (["twin-workers"],
                     {"generators": "look", "epochs": "unseen", "batches": "look"},
                     {"batches": "step 1 trains on what step 0 had",
                      "generators": "thread 0 and thread 1 drew the same numbers"}),
    "threads-draw": (["threads-draw"], {"generators": "look"},
                     {"generators": "threads share the default generator"}),
    "recompute": (["recompute"], {"recompute": "look"},
                  {"recompute": "aten::dropout of dropout at event"}),
    "recompute-restored": (["recompute-restored"], {}, {"recompute": "as in forward"}),
    "unordered-op": (["unordered-op"], {"ops": "look"}, {"ops": "LibTorch says so itself"}),
    "half-epochs": (["half-epochs"], {}, {"epochs": "4 epochs of 2, 2, 2, 2 steps"}),
    "short-epoch": (["none", "--steps", "6"], {"epochs": "look"}, {"epochs": "the last one is shorter"}),
}

# Programs without these habits, although they evaluate, accumulate, and read the same data.
ORDINARY = ["layernorm_mlp", "transformer_encoder", "gan", "vae", "mid_evaluation", "lbfgs",
            "gradient_accumulation", "custom_functions", "sparse_embeddings", "inference_only"]


def output(command, **environment):
    done = subprocess.run(command, capture_output=True, text=True, timeout=250,
                          env={**os.environ, **environment})
    assert done.returncode == 0, f"{command} ended with {done.returncode}\n{done.stderr}"
    return done.stdout


class Recorder:
    def __init__(self, bin_folder, folder):
        self.bin, self.folder = bin_folder, folder

    def checks(self, command, *options):
        """The result and the words of each check; of several ranks those of the last, and `replicas`."""
        dump = os.path.join(self.folder, "dump")
        output([os.path.join(self.bin, "ulpscope"), "record", "--force", "-o", dump, *options, "--",
                *command])
        results, words, name = {}, {}, None
        for line in output([os.path.join(self.bin, "ulpscope"), "inspect", dump, "checks"]).splitlines():
            if line and not line.startswith((" ", "rank ")):
                name, results[name], words[name] = line.split(maxsplit=2)
            elif name:
                words[name] = f"{words.get(name, '')} {line.strip()}"
        return results, words

    def program(self, name, *flags):
        return [os.path.join(self.bin, name), *flags]


def habit(recorder, flags, differing, phrases):
    steps = flags[1:] or STEPS
    results, words = recorder.checks(
        recorder.program("habits", "--habit", flags[0], "--validate", *steps))
    expected = {**CLEAN, **differing}
    if results != expected:
        yield f"{results}, expected {expected}"
    for check, phrase in phrases.items():
        if phrase not in words[check]:
            yield f"{check}: {words[check]!r} without {phrase!r}"


def sequential(recorder):
    """Without an order that was drawn: epochs are not seen, that they are alike is."""
    results, words = recorder.checks(recorder.program("mid_evaluation", "--steps", "3"))
    if results["order"] != "ok" or results["epochs"] != "unseen":
        yield f"mid_evaluation: {results}"
    if "note(\"epoch\", ...)" not in words["epochs"]:
        yield f"what would show epochs is not said: {words['epochs']}"


def uneven_ranks(recorder):
    """32 samples over 3 replicas, and 33."""
    for sizes, expected in (((11, 11, 10), "look"), ((11, 11, 11), "ok")):
        habits = recorder.program("habits", "--steps", "2", "--batch")
        script = " & ".join(f"RANK={rank} {' '.join(habits)} {size}" for rank, size in enumerate(sizes))
        results, words = recorder.checks(["sh", "-c", f"{script} & wait"])
        if results.get("replicas") != expected:
            yield f"{sizes}: {results.get('replicas')}, expected {expected}"
        if expected == "look" and "11, 11, 10 samples" not in words["replicas"]:
            yield f"{sizes}: {words['replicas']}"


def layers(recorder):
    """Where only layers are recorded, what needs ops is said to be unseen."""
    results, _ = recorder.checks(recorder.program("habits", "--steps", "8", "--habit", "same-epochs"),
                                 "--capture", "layers")
    expected = {"seeds": "unseen", "generators": "unseen", "epochs": "unseen", "order": "look",
                "batches": "ok", "ops": "unseen", "recompute": "unseen"}
    if results != expected:
        yield f"{results}, expected {expected}"


def ordinary(recorder):
    for name in ORDINARY:
        results, words = recorder.checks(recorder.program(name))
        looks = {check: words[check] for check, result in results.items() if result == "look"}
        if looks:
            yield f"{name}: {looks}"


OTHERS = {"sequential": sequential, "uneven-ranks": uneven_ranks, "layers": layers,
          "ordinary": ordinary}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("case", choices=[*CASES, *OTHERS])
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ulpscope-checks-") as folder:
        recorder = Recorder(arguments.bin, folder)
        if arguments.case in CASES:
            wrong = list(habit(recorder, *CASES[arguments.case]))
        else:
            wrong = list(OTHERS[arguments.case](recorder))
    for sentence in wrong:
        print(f"WRONG: {sentence}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
