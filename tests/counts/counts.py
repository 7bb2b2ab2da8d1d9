#!/usr/bin/env python3
"""What must not grow unnoticed, as counts that are the same on every run and machine: instructions of
the kernels per element, instructions that recording adds to a step, allocations that it makes on the
program's heap, bytes that it digests again. Instructions are counted by callgrind, whose processor has
AVX2 and not AVX-512. What must be counted in any case, or nothing was, is the lower bound.

    python3 tests/counts/counts.py --bin build/release/bin kernels|events|verified

Exit code 77 where valgrind is not installed.
"""

import argparse
import collections
import concurrent.futures
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

INSTRUCTIONS_PER_STEP = 2_000_000, 12_300_000  # LibTorch's own work for an observer included
INSTRUCTIONS_IDLE = 1.001, 1.008  # over those of a bare step, here 1,204 events in half a millisecond
# What these need for the same calls depends on where the heap's blocks lie: a longer environment
# variable changes it by 0.07% of a step, an eighth of what recording adds there.
ALLOCATOR = re.compile(r"(_int_(free|malloc|memalign|realloc)|malloc|malloc_consolidate|free|calloc|realloc"
                       r"|unlink_chunk.*|alloc_perturb|free_perturb|sysmalloc|_mid_memalign|posix_memalign)$")

# Bytes digested again in one more step.
VERIFIED = {
    "layernorm_mlp --layers 8 --width 16": 269_076,
    "digits_resnet --width 8": 34_401_292,
}


def callgrind(command, recorder=()):
    """(function, callee or None) -> instructions of its own, or calls of the callee."""
    with tempfile.NamedTemporaryFile(suffix=".callgrind") as out:
        subprocess.run([*recorder, "valgrind", "--tool=callgrind", f"--callgrind-out-file={out.name}",
                        *command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return read_profile(out.name)


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
        totals = [sum(callgrind([program, kernel, str(count)])[0].values()) for count in (few, many)]
        return (totals[1] - totals[0]) / (many - few)

    base = for_one_more("none")
    failed = False
    for kernel, limit in KERNELS.items():
        failed |= report(f"kernel {kernel}: instructions per float32", for_one_more(kernel) - base,
                         (INSTRUCTIONS_TO_READ, limit))
    return failed


def in_allocator(own):
    return sum(count for function, count in own.items() if ALLOCATOR.match(str(function)))


def events(binaries, folder):
    program = [os.path.join(binaries, "layernorm_mlp"), "--layers", "8", "--width", "16", "--threads", "1"]
    few, many = 10, 30
    commands = {steps: [*program, "--steps", str(steps)] for steps in (few, many)}
    record = [os.path.join(binaries, "ulpscope"), "record"]
    idle_options = ["--steps", "1000000-1000001"]
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        bare_profiles = list(pool.map(callgrind, commands.values()))
        idle_profiles = list(pool.map(
            lambda steps: callgrind(commands[steps], [*record, *idle_options, "-o",
                                                      os.path.join(folder, f"idle-{steps}"), "--"]),
            commands))
    bare = [sum(own.values()) for own, _ in bare_profiles]
    bare_heap = [in_allocator(own) for own, _ in bare_profiles]
    idle = [sum(own.values()) - in_allocator(own) for own, _ in idle_profiles]
    recorded, counted = [], []
    allocations = {few: collections.Counter(), many: collections.Counter()}
    for steps, command in commands.items():
        dump = os.path.join(folder, f"dump-{steps}")
        own, calls = callgrind(command, [*record, "-o", dump, "--"])
        recorded.append(sum(own.values()))
        counted.append(events_of(binaries, dump))
        for (function, callee), times in calls.items():
            ours = "ulpscope::capture" in str(function)
            if ours and re.match(r"(malloc|calloc|realloc|operator new)", str(callee)):
                allocations[steps][function] += times
    step = bare[1] - bare[0]
    in_step = (counted[1] - counted[0]) / (many - few)
    failed = report(f"recording: instructions in a step of {in_step:,.0f} events",
                    (recorded[1] - recorded[0] - step) / (many - few), INSTRUCTIONS_PER_STEP)
    outside_allocator = step - (bare_heap[1] - bare_heap[0])
    failed |= report("outside --steps: instructions, over those of a bare run",
                     1 + (idle[1] - idle[0] - outside_allocator) / step, INSTRUCTIONS_IDLE)
    failed |= report("recording: allocations on the program's heap from its beginning",
                     sum(allocations[few].values()), (1, None))
    more = allocations[many] - allocations[few]
    return report("recording: allocations on the program's heap in twenty steps",
                  sum(more.values()), (0, 0)) or failed


def events_of(binaries, dump):
    status = subprocess.run([os.path.join(binaries, "ulpscope"), "verify", dump], check=True,
                            capture_output=True, text=True).stdout
    return int(re.search(r"([\d,]+) events", status)[1].replace(",", ""))


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
    parser.add_argument("what", choices=["kernels", "events", "verified"])
    arguments = parser.parse_args()
    if arguments.what != "verified" and not shutil.which("valgrind"):
        print("valgrind is not installed")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        failed = {"kernels": lambda: kernels(arguments.bin),
                  "events": lambda: events(arguments.bin, folder),
                  "verified": lambda: verified(arguments.bin, folder)}[arguments.what]()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
