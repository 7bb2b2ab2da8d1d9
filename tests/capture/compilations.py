#!/usr/bin/env python3
"""Records one program from three compilations and compares, op by op, which module each op is said to
belong to: not optimized, where every call has a frame; optimized with debug information, which says
what was inlined; and the same without it. An optimized program's ops belong to what the other one's
do, to a module around that, or to no known module; with debug information nearly all
belong to the same: all but the last of a forward, after the last call of a child, because if a class
has several modules the compiler need not keep which one it was any longer.

    compilations.py --bin build/release/bin NAME...
    compilations.py ... --table     prints a Markdown table of all programs
    compilations.py ... --recorder FOLDER   records with the ulpscope of a different build
"""

import argparse
import os
import subprocess
import sys
import tempfile

import recorded

MOST_UNKNOWN = 0.1  # of the ops that belong to a module, with debug information; all at ends of forwards
MOST_SENTENCES = 5

# Programs whose ops come in the same order every time.
FLAGS = {
    **{name: ["--threads", "1", "--steps", "2", "--validate", "8"]
       for name in ("digits_resnet", "layernorm_mlp", "transformer_encoder", "lstm_copier")},
    **{name: ["--steps", "3"]
       for name in ("gan", "vae", "unet", "custom_functions", "autocast", "mid_evaluation",
                    "inference_only", "forms", "faults", "gradient_accumulation", "checkpointed", "lbfgs",
                    "sparse_embeddings", "moving_modules", "script_module", "own_callbacks", "profiled",
                    "saved_layers", "habits", "own_hdf5", "inlined")},
    "nested": ["--steps", "3", "--nested"],
}
PROGRAMS = {"nested": "inlined"}


def described(event):
    return (f"step {event.step} {event.phase}: {event.op} of {place(event)} at {event.position}")


class Counts:
    def __init__(self):
        self.ops = self.unknown = self.outer = 0
        self.wrong = []
        self.early = []  # unknown, and its module's forward calls a child later

    def share(self):
        return self.unknown / self.ops if self.ops else 0.0

    def __str__(self):
        return f"{self.unknown} ({self.share():.1%}) | {self.outer}"


def place(event):
    return None if event.module is None else (event.root, event.module)


def is_around(outer, inner):
    return inner is not None and outer[0] == inner[0] and (
        outer[1] == "" or inner[1].startswith(outer[1] + "."))


def is_at_the_end(ops, index):
    """Whether the forward that an op belongs to calls no child after it."""
    own = place(ops[index])
    for op in ops[index + 1:]:
        if place(op) is None or not (place(op) == own or is_around(own, place(op))):
            break
        if place(op) != own:
            return False
    return True


def compared(oracle, other):
    """What the one says of ops for which the other has a module. None where they are other ops."""
    counts = Counts()
    lanes = sorted({(event.rank, event.lane) for event in oracle})
    for lane in lanes:
        pairs = [[event for event in events if (event.rank, event.lane) == lane]
                 for events in (oracle, other)]
        if [event.op for event in pairs[0]] != [event.op for event in pairs[1]]:
            return None
        for index, (expected, found) in enumerate(zip(*pairs)):
            counts.ops += expected.module is not None
            if place(found) == place(expected):
                continue
            if found.module is None:
                counts.unknown += 1
                if not is_at_the_end(pairs[0], index):
                    counts.early.append(described(expected))
            elif is_around(place(found), place(expected)):
                counts.outer += 1
            else:
                counts.wrong.append(f"{described(expected)} is of {place(found)}")
    return counts


class Recorder:
    def __init__(self, arguments, folder):
        self.bin, self.folder = arguments.bin, folder
        self.ulpscope = os.path.join(arguments.recorder or arguments.bin, "ulpscope")

    def program(self, name, suffix):
        return os.path.join(self.bin, f"{name}_{suffix}")

    def without_debug_information(self, program):
        """Optimized code is the same with debug information and without."""
        bare = os.path.join(self.folder, os.path.basename(program))
        subprocess.run(["strip", "--strip-debug", "-o", bare, program], check=True)
        return bare

    def ops(self, program, flags):
        dump = os.path.join(self.folder, "dump")
        recorded.run([self.ulpscope, "record", "--force", "-o", dump, "--", program, *flags])
        lines = recorded.run([os.path.join(self.bin, "list_events"), dump]).splitlines()
        return recorded.outermost_ops([recorded.to_event(line) for line in lines])


def check(name, arguments, folder):
    recorder = Recorder(arguments, folder)
    program = PROGRAMS.get(name, name)
    flags = FLAGS[name]
    optimised = recorder.program(program, "inlining")
    oracle = recorder.ops(recorder.program(program, "unoptimised"), flags)
    informed = compared(oracle, recorder.ops(optimised, flags))
    return compared(oracle, recorder.ops(recorder.without_debug_information(optimised), flags)), informed


def problems(name, bare, informed):
    if bare is None or informed is None:
        yield f"{name}: its compilations call other ops"
        return
    for what, counts in (("without", bare), ("with", informed)):
        for sentence in counts.wrong[:MOST_SENTENCES]:
            yield f"{name}, {what} debug information: {sentence}"
    if informed.ops == 0:
        yield f"{name}: no op has a module"
    for sentence in informed.early[:MOST_SENTENCES]:
        yield f"{name}: {sentence} is unknown"
    if informed.share() > MOST_UNKNOWN:
        yield f"{name}: of {informed.ops} ops of modules {informed.unknown} are unknown"


def row(name, bare, informed):
    if bare is None or informed is None:
        return f"| {name} | other ops | | | | | |"
    return f"| {name} | {informed.ops} | {bare} | {informed} | {len(bare.wrong) + len(informed.wrong)} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--recorder", help="where the ulpscope is that records")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("names", nargs="*", metavar="NAME")
    arguments = parser.parse_args()
    wrong = []
    if arguments.table:
        print("| program | ops of modules | without -g: unknown | of an outer module "
              "| with -g: unknown | of an outer module | wrong |")
        print("|---|---|---|---|---|---|---|")
    for name in arguments.names or FLAGS:
        with tempfile.TemporaryDirectory(prefix="ulpscope-compilations-") as folder:
            found = check(name, arguments, folder)
        if arguments.table:
            print(row(name, *found), flush=True)
        else:
            print(row(name, *found))
        wrong += problems(name, *found)
    for sentence in wrong:
        print(f"WRONG: {sentence}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
