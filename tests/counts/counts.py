#!/usr/bin/env python3
"""What must not grow unnoticed, as counts that are the same on every run and machine: instructions of
the kernels per element, instructions that recording adds to a step, allocations that it makes on the
program's heap, bytes that it digests again. Instructions are counted by callgrind, whose processor has
AVX2 and not AVX-512. What must be counted in any case, or nothing was, is the lower bound.

    python3 tests/counts/counts.py --bin build/release/bin [--from-first-step LIBRARY] kernels|events|verified

Exit code 77 where valgrind is not installed.
"""

import argparse
import collections
import concurrent.futures
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

# Instructions for one float32 more, of each kernel. Lost vectorisation costs five times and more.
KERNELS = {"digest": 1.7, "statistics": 4.3, "same": 1.6, "sparse": 2.3, "dense": 8.8,
           "unrelated": 31.0}
INSTRUCTIONS_TO_READ = 1 / 8  # of a register full, per float32

INSTRUCTIONS_PER_STEP = 2_000_000, 9_520_000  # LibTorch's own work for an observer included
# Over those of a bare step, here 1,188 events in half a millisecond: fewer, because LibTorch alone sets states
# of threads that change nothing.
INSTRUCTIONS_IDLE = 0.94, 0.972
# What these need for the same calls depends on where the heap's blocks lie: a longer environment
# variable changes it by 0.07% of a step, an eighth of what recording adds there.
ALLOCATOR = re.compile(r"(_int_(free|malloc|memalign|realloc)|malloc|malloc_consolidate|free|calloc|realloc"
                       r"|unlink_chunk.*|alloc_perturb|free_perturb|sysmalloc|_mid_memalign|posix_memalign)$")

# Bytes digested again in one more step.
VERIFIED = {
    "layernorm_mlp --layers 8 --width 16": 269_076,
    "digits_resnet --width 8": 34_401_292,
}


def callgrind(command, *options, recorder=(), preload=None, number=1, wanted=slice(None)):
    """(function, callee or None) -> instructions of its own, or calls of the callee; a pair of these for each
    wanted part of the `number` into which the options divide the run."""
    environment = None
    if preload:
        environment, options = dict(os.environ, LD_PRELOAD=preload), ["--instr-atstart=no", *options]
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "profile")
        subprocess.run([*recorder, "valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", *options,
                        *command], check=True, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        parts = sorted(glob.glob(out + ".*"), key=lambda path: int(path.rpartition(".")[2]))
        assert len(parts) + 1 == number, f"{len(parts) + 1} parts"
        return [read_profile(path) for path in [*parts, out][wanted]]


def read_profile(path):
    names, own, calls = {}, collections.Counter(), collections.Counter()
    function = callee = None
    of_callee = False

    def name(number, text):
        if text:
            names[number] = text
        return names.get(number, number)

    with open(path, errors="replace") as profile:
        for line in profile:
            if match := re.match(r"(c?)fn=\((\d+)\)(?: (.*))?", line):
                if match[1]:
                    callee = name(match[2], match[3])
                else:
                    function = name(match[2], match[3])
            elif match := re.match(r"calls=(\d+)", line):
                calls[function, callee] += int(match[1])
                of_callee = True
            elif match := re.match(r"[+\-*\d]\S* (\d+)$", line):
                if not of_callee:
                    own[function] += int(match[1])
                of_callee = False
    return own, calls


def kernels(binaries):
    program = os.path.join(binaries, "count_kernels")
    few, many = 1 << 18, 1 << 20

    def for_one_more(kernel):
        totals = [sum(callgrind([program, kernel, str(count)])[0][0].values()) for count in (few, many)]
        return (totals[1] - totals[0]) / (many - few)

    base = for_one_more("none")
    failed = False
    for kernel, limit in KERNELS.items():
        failed |= report(f"kernel {kernel}: instructions per float32", for_one_more(kernel) - base,
                         (INSTRUCTIONS_TO_READ, limit))
    return failed


def in_allocator(own):
    return sum(count for function, count in own.items() if ALLOCATOR.match(str(function)))


class Steps:
    """What a run of the program did between its backward passes, once it has settled."""

    SETTLED, MEASURED = 10, 10
    PARTS = slice(SETTLED, SETTLED + MEASURED)
    COMMAND = ["layernorm_mlp", "--layers", "8", "--width", "16", "--threads", "1", "--steps",
               str(SETTLED + MEASURED + 1)]

    def __init__(self, binaries, library, recorder=(), wanted=PARTS):
        program, *flags = self.COMMAND
        self.parts = callgrind([os.path.join(binaries, program), *flags],
                               "--dump-before=torch::autograd::Engine::execute(*", recorder=recorder, preload=library,
                               number=self.SETTLED + self.MEASURED + 2, wanted=wanted)
        self.measured = self.parts if wanted == self.PARTS else self.parts[self.PARTS]

    def instructions(self):
        """Of a step on average; and those that are not the heap's."""
        every = sum(sum(own.values()) for own, _ in self.measured)
        heap = sum(in_allocator(own) for own, _ in self.measured)
        return every / self.MEASURED, (every - heap) / self.MEASURED


def our_allocations(parts):
    return sum(times for _, calls in parts for (function, callee), times in calls.items()
               if "ulpscope::capture" in str(function) and
               re.match(r"(malloc|calloc|realloc|operator new)", str(callee)))


def events(binaries, library, folder):
    def recorder(name, *options):
        return [os.path.join(binaries, "ulpscope"), "record", *options, "-o", os.path.join(folder, name), "--"]

    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        bare, idle, recorded = pool.map(lambda each: Steps(binaries, library, *each), (
            (), (recorder("idle", "--steps", "1000000-1000001"),), (recorder("recorded"), slice(None))))
    step, outside_allocator = bare.instructions()
    in_step = events_of(binaries, os.path.join(folder, "recorded"), Steps.SETTLED)
    failed = report(f"recording: instructions in a step of {in_step:,} events",
                    recorded.instructions()[0] - step, INSTRUCTIONS_PER_STEP)
    failed |= report("outside --steps: instructions, over those of a bare run",
                     1 + (idle.instructions()[1] - outside_allocator) / step, INSTRUCTIONS_IDLE)
    failed |= report("recording: allocations on the program's heap up to the last step",
                     our_allocations(recorded.parts), (1, None))
    return report(f"recording: allocations on the program's heap in {Steps.MEASURED} steps",
                  our_allocations(recorded.measured), (0, 0)) or failed


def events_of(binaries, dump, step):
    steps = subprocess.run([os.path.join(binaries, "ulpscope"), "inspect", dump, "steps", "--format", "json"],
                           check=True, capture_output=True, text=True).stdout
    return json.loads(steps)["steps"][step]["events"]


def verified(binaries, folder):
    failed = False
    for number, (program, limit) in enumerate(VERIFIED.items()):
        found = []
        for steps in (4, 6):
            dump = os.path.join(folder, f"verified-{number}-{steps}")
            name, *rest = program.split()
            weights = os.path.join(folder, "weights.pt")
            subprocess.run([os.path.join(binaries, "ulpscope"), "record", "-o", dump, "--",
                            os.path.join(binaries, name), *rest, "--threads", "1", "--steps", str(steps),
                            "--save", weights],
                           check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            found.append(verified_bytes(binaries, dump))
        # Each parameter is read in each step, and anything could have written to it.
        failed |= report(f"{program}: bytes verified per step", (found[1] - found[0]) / 2,
                         (os.path.getsize(weights), limit))
    return failed


def verified_bytes(binaries, dump):
    text = subprocess.run([os.path.join(binaries, "ulpscope"), "inspect", dump, "settings"], check=True,
                          capture_output=True, text=True).stdout
    return int(re.search(r"capture\.verified_bytes\s+(\d+)", text)[1])


def report(what, found, bounds):
    """Whether what was found is not within its bounds; None is no bound."""
    least, most = bounds
    print(f"{what}: {found:,.4f}, at least {least:,}" + (f", at most {most:,}" if most is not None else ""))
    return found < least or (most is not None and found > most)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--from-first-step", help="the library with which counting events begins there, and not with the program")
    parser.add_argument("what", choices=["kernels", "events", "verified"])
    arguments = parser.parse_args()
    if arguments.what != "verified" and not shutil.which("valgrind"):
        print("valgrind is not installed")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        failed = {"kernels": lambda: kernels(arguments.bin),
                  "events": lambda: events(arguments.bin, arguments.from_first_step, folder),
                  "verified": lambda: verified(arguments.bin, folder)}[arguments.what]()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
