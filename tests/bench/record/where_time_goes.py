"""Where recording spends processor time: samples of `perf record` over program and writer."""

import os
import re
import shutil
import subprocess
import tempfile

from measured_run import run

FREQUENCY = 2499
PROGRAMS = ["MLP of tiny tensors, width 16", "digits ResNet, width 16"]
STEPS_MORE = 4  # times the steps of a timed run, for enough samples

CAPTURE = "libulpscope_capture"
RUNTIME = r"libc\.so|libstdc\+\+|libm\.so|ld-linux|libpthread"

# (who, library, function, group): the first row that matches a sample names its group.
GROUPS = [
    ("program", CAPTURE, r"XXH|[dD]igest|core::(\(anonymous namespace\)::)?(Tree|start|update|finish|push|whole)",
     "capture: hashing"),
    ("program", CAPTURE, r"[sS]tatistics|core::\(anonymous namespace\)::(Floats|Integers|kernel)",
     "capture: statistics"),
    ("program", CAPTURE, r"^ulpscope::ring::|capture::Thread::|capture::Writer::",
     "capture: rows into the ring"),
    ("program", CAPTURE, r"CallStack|StackReader|RunningModules|ModuleClasses|ClassMembers|Symbol",
     "unwinding and what it reads"),
    ("program", "libgcc_s", "", "unwinding and what it reads"),
    ("program", "", r"_dl_find_object|dl_iterate_phdr", "unwinding and what it reads"),
    ("program", CAPTURE, r"StorageTable|GeometryTable|PointerMap|Regions|see_|storage",
     "capture: what is known of memory"),
    ("program", CAPTURE, "", "capture: callback, arguments, frames, modules"),
    ("program", "libulpscope_preload", "", "preload: jumps"),
    ("program", r"\[", "", "program: kernel"),
    ("program", RUNTIME, "", "program: C and C++ libraries"),
    ("program", "", "", "program: LibTorch and itself"),
    ("writer", "", r"ulpscope::ring::", "writer: reading the rings"),
    ("writer", "", r"ulpscope::dump::Journal|crc|XXH|[dD]igest", "writer: journal, digests"),
    ("writer", "ulpscope", r"", "writer: tables, templates, timeline"),
    ("writer", "hdf5", "", "writer: HDF5"),
    ("writer", r"\[", "", "writer: kernel"),
    ("writer", "", "", "writer: C and C++ libraries"),
]

OUTSIDE = ("unwinding and what it reads", "program: kernel", "program: C and C++ libraries",
           "program: LibTorch and itself")
FUNCTIONS = 12  # listed
NAME_LENGTH = 90

SAMPLE = re.compile(r"^\s*(.+?)\s+(\d+\.\d+):\s+[0-9a-f]+\s+(.*) \((.*)\)$")


def group_of(who, library, function):
    for group_who, group_library, group_function, group in GROUPS:
        if group_who == who and re.search(group_library, library) and re.search(group_function, function):
            return group
    raise AssertionError("the last row of each matches everything")


def samples(command, program, steps, cpus, folder):
    """Seconds of processor time per step by (group, function)."""
    data = os.path.join(folder, "perf.data")
    measured = run(["perf", "record", "-q", "-e", "cpu-clock", "-F", str(FREQUENCY), "-k", "CLOCK_MONOTONIC",
                    "-o", data, "--", *command], program, steps, cpus)
    begin, end = measured.window
    counted_steps = (end - begin) / measured.step
    text = subprocess.check_output(["perf", "script", "-i", data, "-F", "comm,time,ip,sym,dso"],
                                   text=True, errors="replace", stderr=subprocess.DEVNULL)
    seconds = {}
    for line in text.splitlines():
        found = SAMPLE.match(line)
        if not found or not begin <= float(found[2]) <= end:
            continue
        who = "writer" if found[1] == "ulpscope" else "program"
        key = group_of(who, os.path.basename(found[4]), found[3]), found[3]
        seconds[key] = seconds.get(key, 0.0) + 1 / FREQUENCY / counted_steps
    return seconds


def unusable(folder):
    """Why perf cannot be used here, or nothing."""
    if not shutil.which("perf"):
        return "perf is not installed"
    trial = subprocess.run(["perf", "record", "-q", "-e", "cpu-clock", "-o", os.path.join(folder, "trial"), "--",
                            "true"], capture_output=True, text=True, check=False)
    return trial.stderr.strip().splitlines()[-1] if trial.returncode else ""


def print_table(binaries, configurations, only, scratch):
    folder = tempfile.mkdtemp(prefix="ulpscope-bench-", dir=scratch)
    try:
        reason = unusable(folder)
        if reason:
            print(f"Where the time goes was not measured: {reason}.\n", flush=True)
            return
        for name in PROGRAMS:
            if only in name:
                print_program(name, binaries, *configurations[name], folder)
    finally:
        shutil.rmtree(folder)


def print_program(name, binaries, command, steps, folder):
    steps *= STEPS_MORE
    program = os.path.join(binaries, command[0])
    bare_command = [program, *command[1:], "--threads", "1", "--steps", str(steps)]
    cpus = os.sched_getaffinity(0)
    bare = samples(bare_command, program, steps, cpus, folder)
    recorded = samples([os.path.join(binaries, "ulpscope"), "record", "-o", os.path.join(folder, "dump"),
                        "--", *bare_command], program, steps, cpus, folder)
    shutil.rmtree(os.path.join(folder, "dump"))
    whole = sum(bare.values())
    print(f"Where the processor time of a step goes, {name}, 1 thread, level digest: samples of perf (cpu-clock), "
          "each in the function it fell into. What capture makes LibTorch and the C library do shows as more of theirs.\n")
    print("| where | bare | recorded | more, as a share of the bare step |\n| --- | --- | --- | --- |")
    for group in dict.fromkeys(row[3] for row in GROUPS):
        print_row(group, in_group(bare, group), in_group(recorded, group), whole)
    print_row("all", whole, sum(recorded.values()), whole)
    print(f"\nFunctions outside Ulpscope that take most more, {name}:\n")
    print("| function | bare | recorded | more |\n| --- | --- | --- | --- |")
    outside = [key for key in recorded
               if key[0] in OUTSIDE and "ulpscope::" not in key[1] and key[1] != "[unknown]"]
    for key in sorted(outside, key=lambda key: bare.get(key, 0.0) - recorded[key])[:FUNCTIONS]:
        print_row(f"`{key[1][:NAME_LENGTH]}`", bare.get(key, 0.0), recorded[key], whole)
    print(flush=True)


def in_group(seconds, group):
    return sum(value for key, value in seconds.items() if key[0] == group)


def print_row(name, before, after, whole):
    if before or after:
        print(f"| {name} | {before * 1e6:.0f} us | {after * 1e6:.0f} us | {(after - before) / whole:+.1%} |")
